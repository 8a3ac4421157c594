//! Lists to choose from with arrows and by typing: what an interface is given to show one.

use serde::Serialize;

/// What a list is of, and so what choosing does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChoiceKind {
    /// `/resume`.
    Sessions,
    Models,
    Themes,
    /// The ways to a language model.
    SetUp,
    /// The providers whose key can be entered.
    KeyProviders,
    /// The models of a server of the user's own.
    ServerModels,
    /// Whether what the project brings along may act.
    Trust,
}

impl ChoiceKind {
    /// It is a question, which is answered or closed before anything else is done: a step of setting up a model, or whether the project is trusted.
    pub(crate) fn is_question(self) -> bool {
        matches!(
            self,
            Self::SetUp | Self::KeyProviders | Self::ServerModels | Self::Trust
        )
    }
}

/// The answers to the question about a project that agree to what it brings along.
pub(crate) const TRUST: &str = "yes";
pub(crate) const THIS_SESSION: &str = "session";

/// A row of a list: every text is one line.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct ChoiceRow {
    /// What the command takes for it.
    pub id: String,
    /// Columns before the title.
    pub lead: String,
    /// More of them, where there is room.
    pub detail: String,
    pub title: String,
    /// After the title, where there is room.
    pub note: String,
    pub is_current: bool,
    /// What a filter looks for besides the title and the note.
    pub more_words: String,
}

impl ChoiceRow {
    /// Whether choosing it agrees to what the list shows.
    pub(crate) fn agrees(&self) -> bool {
        [TRUST, THIS_SESSION].contains(&self.id.as_str())
    }

    /// True when every word of `filter` occurs in the row.
    pub(crate) fn fits(&self, filter: &str) -> bool {
        let all = format!("{} {} {}", self.title, self.note, self.more_words);
        has_all_words(&all, filter)
    }
}

/// True when every word of `filter` occurs in `text`, whatever the case.
pub(crate) fn has_all_words(text: &str, filter: &str) -> bool {
    let (text, filter) = (text.to_lowercase(), filter.to_lowercase());
    filter.split_whitespace().all(|word| text.contains(word))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChoiceList {
    pub kind: ChoiceKind,
    pub rows: Vec<ChoiceRow>,
    /// How to get more of them.
    pub hint: String,
    /// The same as text, for an interface where nothing is chosen with arrows.
    pub listing: String,
}

/// A question that one typed line answers.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct LinePrompt {
    pub title: String,
    /// What the line is for, or why the one before was refused.
    pub hint: String,
    /// What is typed is not shown, and kept nowhere but where it belongs.
    pub is_secret: bool,
}

/// The line that was typed. It may be a secret, so it shows itself nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct TypedLine(String);

impl TypedLine {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl std::fmt::Debug for TypedLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TypedLine")
    }
}

/// Before what is in use, and before what is not.
pub(super) fn mark(is_current: bool) -> &'static str {
    if is_current { "*" } else { " " }
}
