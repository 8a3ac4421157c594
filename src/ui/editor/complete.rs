//! Completion: the word at the cursor, its candidates, and the menu.

use std::borrow::Cow;

use super::paste::clean;
use crate::app::help;
use crate::app::theme_choice::ThemeChoice;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::tail;

/// How many bytes before the cursor are searched for the word.
const MAX_WORD_BYTES: usize = 4096;

/// Where candidates come from; by default each method returns none.
pub(crate) trait Sources {
    /// Commands and words that are valid at the beginning of the input, as they are typed (`/tools`, `preferences`). After `!` those with a slash are
    /// completed too.
    fn commands(&self) -> Vec<String> {
        Vec::new()
    }
    /// What one of [`Sources::commands`] does, in a line.
    fn about(&self, _command: &str) -> Option<Cow<'static, str>> {
        None
    }
    fn theme(&self) -> Option<ThemeChoice> {
        None
    }
    fn profiles(&self) -> Vec<String> {
        Vec::new()
    }
    fn providers(&self) -> Vec<String> {
        Vec::new()
    }
    fn models(&self, _provider: &str) -> Vec<String> {
        Vec::new()
    }
    /// Models of the provider that answers.
    fn own_models(&self) -> Vec<String> {
        Vec::new()
    }
    /// Words for the efforts that the model takes.
    fn efforts(&self) -> Vec<String> {
        Vec::new()
    }
    fn tools(&self) -> Vec<String> {
        Vec::new()
    }
    fn parameters(&self, _tool: &str) -> Vec<String> {
        Vec::new()
    }
    /// Words that may follow `line`, which calls a prompt of a server.
    fn prompt_words(&self, _line: &str, _typed: &str) -> Vec<String> {
        Vec::new()
    }
    /// The entries of the folder that `typed` points into (`src/ma` points into `src/`), each with that folder prefixed, folders ending in `/`.
    fn paths(&self, _typed: &str) -> Vec<String> {
        Vec::new()
    }
}

/// No candidates.
impl Sources for () {}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordKind {
    /// A command or word at the beginning of the input.
    Command,
    /// A path after `@`.
    Path,
    Profile,
    /// A provider, or a model of the one that answers.
    Provider,
    /// A model of this provider.
    Model(String),
    Effort,
    Theme,
    Topic,
    Tool,
    /// A parameter of this tool.
    Parameter(String),
    /// A word after this beginning of a line, which calls a prompt of a server.
    PromptWord(String),
}

/// The word before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CompletionWord {
    /// Where it begins in the text, with its `@`.
    pub start: usize,
    /// The typed part, without `@` and quote.
    pub typed: String,
    pub kind: WordKind,
}

/// The word that ends at `cursor`, if it can be completed.
pub(crate) fn word(text: &str, cursor: usize) -> Option<CompletionWord> {
    let before = text.get(..cursor)?;
    let near = tail(before, MAX_WORD_BYTES);
    let line = near.rsplit('\n').next().unwrap_or_default();
    let line_start = cursor - line.len();
    let make = |from: usize, typed: &str, kind| CompletionWord {
        start: line_start + from,
        typed: typed.to_owned(),
        kind,
    };
    if let Some((from, typed)) = quoted(line) {
        return Some(make(from, typed, WordKind::Path));
    }
    let from = line
        .char_indices()
        .rfind(|(_, c)| c.is_whitespace())
        .map_or(0, |(at, c)| at + c.len_utf8());
    let (head, typed) = line.split_at_checked(from)?;
    if let Some(path) = typed.strip_prefix('@') {
        return Some(make(from, path, WordKind::Path));
    }
    if line_start > 0 {
        return None;
    }
    let words: Vec<&str> = head.split_whitespace().collect();
    let command = words.first().map(|word| word.to_lowercase());
    let name = command.as_deref().map(|command| {
        let name = command.strip_prefix(['/', '!']);
        name.unwrap_or_default()
    });
    let kind = match (name, words.get(1..).unwrap_or_default()) {
        (None, _) if !typed.is_empty() => WordKind::Command,
        (Some("profile"), []) => WordKind::Profile,
        (Some("effort"), []) => WordKind::Effort,
        (Some("theme"), []) => WordKind::Theme,
        (Some("help"), []) => WordKind::Topic,
        (Some("model"), []) => WordKind::Provider,
        (Some("model"), [provider]) => WordKind::Model((*provider).to_owned()),
        (Some("tool" | "tools"), []) => WordKind::Tool,
        (Some("tool"), [tool, ..]) if !typed.contains('=') => {
            WordKind::Parameter((*tool).to_owned())
        }
        (Some(name), _) if name.contains(':') && head.trim_start().starts_with('/') => {
            WordKind::PromptWord(head.to_owned())
        }
        _ => return None,
    };
    Some(make(from, typed, kind))
}

/// An open `@"…` at the end of `line`: its start and its content.
fn quoted(line: &str) -> Option<(usize, &str)> {
    let from = line.rfind("@\"")?;
    let free = line.get(..from)?.chars().next_back();
    let typed = line.get(from + 2..)?;
    (free.is_none_or(char::is_whitespace) && !typed.contains('"')).then_some((from, typed))
}

impl CompletionWord {
    /// Candidates: those that begin with the word (ignoring case), then those that contain it.
    pub(crate) fn candidates(&self, sources: &dyn Sources) -> Vec<String> {
        let all = match &self.kind {
            WordKind::Command if self.typed.starts_with('!') => {
                let commands = sources.commands().into_iter();
                let marked =
                    commands.filter_map(|name| Some(format!("!{}", name.strip_prefix('/')?)));
                marked.collect()
            }
            WordKind::Command => sources.commands(),
            WordKind::Path => sources.paths(&self.typed),
            WordKind::Profile => sources.profiles(),
            WordKind::Provider => [sources.providers(), sources.own_models()].concat(),
            WordKind::Theme => ThemeChoice::ALL
                .map(|(_, name, _)| name.to_owned())
                .to_vec(),
            WordKind::Topic => help::topics().map(|topic| topic.name.to_owned()).collect(),
            WordKind::Effort => sources.efforts(),
            WordKind::Model(provider) => sources.models(provider),
            WordKind::Tool => sources.tools(),
            WordKind::Parameter(tool) => sources.parameters(tool),
            WordKind::PromptWord(line) => sources.prompt_words(line, &self.typed),
        };
        let folder = match self.kind {
            WordKind::Path => self.typed.rfind('/').map_or(0, |slash| slash + 1),
            _ => 0,
        };
        // Files that are only similar come when nothing else fits.
        let similar = match self.kind {
            WordKind::Path => all.clone(),
            _ => Vec::new(),
        };
        let (folder, typed) = self.typed.split_at_checked(folder).unwrap_or_default();
        let typed = typed.to_lowercase();
        let mut ranked: Vec<(bool, String)> = all
            .into_iter()
            .filter(|candidate| fits_a_line(candidate))
            .filter_map(|candidate| {
                let name = candidate.strip_prefix(folder)?.to_lowercase();
                name.contains(&typed)
                    .then(|| (!name.starts_with(&typed), candidate))
            })
            .collect();
        // The sort is stable: within a rank the order of the source is kept.
        ranked.shared_sort_by_key(|(inside, _)| *inside);
        let ranked: Vec<String> = ranked.into_iter().map(|(_, candidate)| candidate).collect();
        if !ranked.is_empty() {
            return ranked;
        }
        similar.into_iter().filter(|one| fits_a_line(one)).collect()
    }

    /// What each candidate does, where that is known.
    pub(crate) fn abouts(
        &self,
        candidates: &[String],
        sources: &dyn Sources,
    ) -> Vec<Option<Cow<'static, str>>> {
        let about = |candidate: &String| match self.kind {
            WordKind::Command => sources.about(&candidate.replacen('!', "/", 1)),
            WordKind::Theme => {
                let mut all = ThemeChoice::ALL.iter();
                let (choice, _, about) = all.find(|(_, name, _)| name == candidate)?;
                Some(match sources.theme() == Some(*choice) {
                    true => format!("{about} (in use)").into(),
                    false => Cow::Borrowed(*about),
                })
            }
            WordKind::Topic => {
                let topic = help::find(candidate);
                topic.map(|topic| Cow::Borrowed(topic.about))
            }
            _ => None,
        };
        candidates.iter().map(about).collect()
    }

    /// Whether the menu opens while the word is typed, without Tab.
    pub(super) fn opens_menu(&self) -> bool {
        self.kind == WordKind::Command && self.typed.starts_with('/')
    }

    /// The common prefix of all candidates, if it is longer than the typed part.
    pub(crate) fn common(&self, candidates: &[String]) -> Option<String> {
        let mut common = candidates.first()?.as_str();
        for candidate in candidates {
            let same = common
                .char_indices()
                .zip(candidate.chars())
                .find(|((_, a), b)| a != b)
                .map(|((at, _), _)| at)
                .unwrap_or_else(|| common.len().min(candidate.len()));
            common = common.get(..same)?;
        }
        let longer = common.len() > self.typed.len()
            && common
                .to_lowercase()
                .starts_with(&self.typed.to_lowercase());
        longer.then(|| common.to_owned())
    }

    /// How a candidate, or a prefix of one, is written in the text.
    pub(crate) fn written(&self, candidate: &str, whole: Completeness) -> String {
        let blanks = candidate.contains(char::is_whitespace);
        let open = candidate.ends_with(['/', ':']) || whole == Completeness::No;
        match self.kind {
            WordKind::Path if blanks && open => format!("@\"{candidate}"),
            WordKind::Path => mention(candidate),
            WordKind::Parameter(_) if whole == Completeness::Yes => format!("{candidate}="),
            _ => candidate.to_owned(),
        }
    }

    /// Whether a blank follows a completed candidate: not if the word may continue.
    pub(crate) fn ends_with(&self, candidate: &str) -> bool {
        match self.kind {
            // A folder, or a server whose resources follow.
            WordKind::Path => !candidate.ends_with(['/', ':']),
            WordKind::Parameter(_) => false,
            WordKind::PromptWord(_) => !candidate.ends_with('='),
            _ => true,
        }
    }
}

/// The mention that attaches the file at `path`.
fn mention(path: &str) -> String {
    match path.contains(char::is_whitespace) {
        true => format!("@\"{path}\""),
        false => format!("@{path}"),
    }
}

/// The mention of `path`, with blanks that make it a word of its own between `before` and `after`. `None` in the middle of something that goes on: a quote, a
/// path, another mention.
pub(super) fn mention_between(before: &str, path: &str, after: &str) -> Option<String> {
    let word = before.rsplit(char::is_whitespace).next()?;
    let end = match after.starts_with(char::is_whitespace) {
        true => "",
        false => " ",
    };
    let mention = format!("{}{end}", mention(path));
    if word == "@" {
        // It was typed for this.
        return mention.strip_prefix('@').map(str::to_owned);
    }
    let is_open =
        |c: char| !c.is_alphanumeric() && !matches!(c, '.' | ',' | ';' | ':' | '?' | '!' | ')');
    match word.chars().next_back() {
        None => Some(mention),
        Some(last) if is_open(last) || word.contains(['@', '/', '"']) => None,
        Some(_) => Some(format!(" {mention}")),
    }
}

/// Whether a candidate is written in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    /// Written in full.
    Yes,
    /// Only a prefix.
    No,
}

/// Whether the name can be typed on one line: file names may contain anything.
fn fits_a_line(candidate: &str) -> bool {
    !candidate.is_empty() && !candidate.contains(['\n', '\t', '"']) && clean(candidate) == candidate
}

/// The open menu of candidates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Menu {
    /// The candidates, best first.
    pub candidates: Vec<String>,
    /// What each of them does, where that is known.
    pub abouts: Vec<Option<Cow<'static, str>>>,
    /// The highlighted candidate.
    pub selected: Option<usize>,
    /// It is in the text: a key has chosen it, not the wheel.
    pub(super) is_written: bool,
    pub(super) word: CompletionWord,
}

impl Menu {
    pub(crate) fn candidate(&self) -> Option<&str> {
        let candidate = self.candidates.get(self.selected?)?;
        Some(candidate)
    }

    /// Selects the next or the previous candidate, wrapping around.
    pub(super) fn step(&mut self, forward: bool) {
        let count = self.candidates.len().max(1);
        self.selected = Some(match self.selected {
            None if forward => 0,
            None => count - 1,
            Some(at) if forward => (at + 1) % count,
            Some(at) => (at + count - 1) % count,
        });
    }

    /// Moves the highlight by this many rows, no further than to an end.
    pub(super) fn turn(&mut self, rows: isize) {
        let last = self.candidates.len().saturating_sub(1);
        let at = match self.selected {
            Some(at) => Some(at.saturating_add_signed(rows)),
            None => rows.unsigned_abs().checked_sub(1).filter(|_| rows > 0),
        };
        self.selected = at.map(|at| at.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_end(text: &str) -> Option<(usize, String, WordKind)> {
        word(text, text.len()).map(|word| (word.start, word.typed, word.kind))
    }

    fn is(text: &str, start: usize, typed: &str, kind: WordKind) {
        assert_eq!(
            at_end(text),
            Some((start, typed.to_owned(), kind)),
            "{text:?}"
        );
    }

    #[test]
    fn the_word_at_the_cursor_is_found_with_its_kind() {
        is("!to", 0, "!to", WordKind::Command);
        is("pref", 0, "pref", WordKind::Command);
        is("!profile ", 9, "", WordKind::Profile);
        is("!MODEL g", 7, "g", WordKind::Provider);
        is("!effort m", 8, "m", WordKind::Effort);
        is("!model groq ll", 12, "ll", WordKind::Model("groq".into()));
        is("!tool we", 6, "we", WordKind::Tool);
        is(
            "/Notes:sum up fi",
            14,
            "fi",
            WordKind::PromptWord("/Notes:sum up ".into()),
        );
        is(
            "!tool tree pa",
            11,
            "pa",
            WordKind::Parameter("tree".into()),
        );
        is("look at @src/ma", 8, "src/ma", WordKind::Path);
        is("look at @\"my no", 8, "my no", WordKind::Path);
        is("\u{e9}t\u{e9}\n@", 6, "", WordKind::Path);
        for none in [
            "",
            "two words",
            "line\n!to",
            "to me@home",
            "!tool tree path=x",
            "@\"a b\" x",
        ] {
            assert_eq!(at_end(none), None, "{none:?}");
        }
    }

    struct Some3;
    impl Sources for Some3 {
        fn profiles(&self) -> Vec<String> {
            ["homework", "Work", "workshop", "bad\x1b[2J", "a\nb"]
                .map(str::to_owned)
                .to_vec()
        }
        fn paths(&self, typed: &str) -> Vec<String> {
            assert!(typed.starts_with("src/"), "{typed}");
            ["src/Main.rs", "src/mail box/", "src/domain.rs"]
                .map(str::to_owned)
                .to_vec()
        }
    }

    #[test]
    fn prefix_matches_come_before_substring_matches() {
        let word = word("!profile work", 13).unwrap();
        assert_eq!(word.candidates(&Some3), ["Work", "workshop", "homework"]);
    }

    #[test]
    fn names_with_control_characters_are_no_candidates() {
        let word = word("!profile ", 9).unwrap();
        assert_eq!(word.candidates(&Some3), ["homework", "Work", "workshop"]);
    }

    #[test]
    fn paths_match_in_their_folder_and_are_quoted_for_blanks() {
        let word = word("see @src/ma", 11).unwrap();
        let candidates = word.candidates(&Some3);
        assert_eq!(
            candidates,
            ["src/Main.rs", "src/mail box/", "src/domain.rs"]
        );
        assert_eq!(
            word.written("src/Main.rs", Completeness::Yes),
            "@src/Main.rs"
        );
        assert_eq!(
            word.written("src/mail box/", Completeness::Yes),
            "@\"src/mail box/",
            "open: the path goes on"
        );
        assert_eq!(word.written("a b", Completeness::Yes), "@\"a b\"");
        assert!(word.ends_with("a b") && !word.ends_with("src/mail box/"));
    }

    #[test]
    fn a_mention_is_a_word_of_its_own() {
        for (before, path, after, expected) in [
            ("", "a.png", "", Some("@a.png ")),
            ("see ", "/a b.png", "", Some("@\"/a b.png\" ")),
            ("see:\n", "/a.png", " please", Some("@/a.png")),
            ("what is this?", "/a.png", "", Some(" @/a.png ")),
            ("see @", "/a b.png", "", Some("\"/a b.png\" ")),
            ("see \"", "/a.png", "\"", None),
            ("cp=", "/a.png", "", None),
            ("/home/me", "/a.png", "", None),
            ("see @dir", "/a.png", "", None),
        ] {
            let mention = mention_between(before, path, after);
            assert_eq!(mention.as_deref(), expected, "{before:?} {after:?}");
        }
    }

    #[test]
    fn the_common_prefix_extends_the_typed_text() {
        let word = word("!to", 3).unwrap();
        let list = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<Vec<_>>();
        assert_eq!(
            word.common(&list(&["!tools", "!tool"])).as_deref(),
            Some("!tool")
        );
        assert_eq!(word.common(&list(&["!tools", "!undo"])), None);
        assert_eq!(word.common(&[]), None);
    }
}
