//! A question over the conversation that one typed line answers. A secret is shown as dots, and never written anywhere from here.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use super::ask::rule;
use super::picker::PickerOutcome;
use crate::app::choice::{LinePrompt, TypedLine};
use crate::ui::keys::Action;
use crate::ui::text::clean::clean_line;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use crate::ui::text::wrap;

/// Longest line that is taken.
const MAX_LINE_CHARS: usize = 4_000;

/// The question and what was typed so far.
pub(super) struct LineInput {
    prompt: LinePrompt,
    typed: String,
}

impl LineInput {
    pub(super) fn new(prompt: LinePrompt) -> Self {
        Self {
            prompt,
            typed: String::new(),
        }
    }

    /// Adds the first line of a pasted text.
    pub(super) fn paste(&mut self, text: &str) {
        let line = clean_line(text.trim().lines().next().unwrap_or_default());
        line.chars().for_each(|c| self.insert(c));
    }

    fn insert(&mut self, c: char) {
        if self.typed.chars().count() < MAX_LINE_CHARS && !c.is_control() {
            self.typed.push(c);
        }
    }

    pub(super) fn act(&mut self, action: Action) -> PickerOutcome {
        match action {
            Action::Insert(c) => self.insert(c),
            Action::EraseBack => drop(self.typed.pop()),
            Action::KillLine | Action::KillWordBack | Action::KillBlankBack => self.typed.clear(),
            Action::Send if self.typed.trim().is_empty() => {}
            Action::Send => {
                let typed = TypedLine::new(std::mem::take(&mut self.typed));
                return PickerOutcome::Answered(Some(typed));
            }
            Action::Escape | Action::Cancel => return PickerOutcome::Answered(None),
            Action::Quit | Action::QuitIfEmpty | Action::Suspend | Action::Redraw => {
                return PickerOutcome::Pass;
            }
            _ => {}
        }
        PickerOutcome::Open
    }

    /// Its rows on a screen of this size: what is typed is always among them.
    pub(super) fn rows(&self, columns: usize, height: usize, theme: &Theme) -> Vec<Line<'static>> {
        let title = format!("{}: Enter, Esc goes back", self.prompt.title);
        let shown = match self.prompt.is_secret {
            true => "•".repeat(self.typed.chars().count()),
            false => self.typed.clone(),
        };
        let room = columns.saturating_sub(3);
        let input = Line::from(vec![
            Span::styled("› ", theme.accent),
            Span::styled(end_of(&shown, room), theme.text),
            Span::styled("▏", theme.accent),
        ]);
        let hint = clean_line(&self.prompt.hint);
        let mut rows = vec![rule(&title, columns, theme)];
        rows.extend(wrap::text(hint, theme.dim, columns, 0));
        rows.truncate(height.saturating_sub(1));
        rows.push(input);
        rows.truncate(height);
        rows
    }
}

/// The last part of a text that has room.
fn end_of(text: &str, columns: usize) -> String {
    let mut room = columns;
    let fitting = text.graphemes(true).rev().take_while(|cluster| {
        let left = room.checked_sub(width::of(cluster));
        room = left.unwrap_or(0);
        left.is_some()
    });
    let start: usize = fitting.map(str::len).sum();
    text.get(text.len() - start..)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::ColorMode;

    fn input(is_secret: bool) -> LineInput {
        LineInput::new(LinePrompt {
            title: "Key for openai".to_owned(),
            hint: "It is not shown.".to_owned(),
            is_secret,
        })
    }

    fn text(input: &LineInput, columns: usize, height: usize) -> Vec<String> {
        let rows = input.rows(columns, height, &Theme::new(ColorMode::None));
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_secret_is_only_dots_whatever_the_screen() {
        let mut input = input(true);
        input.paste("  sk-secret\nsecond line\n");
        input.act(Action::Insert('!'));
        for (columns, height) in [(1, 1), (10, 2), (40, 12), (80, 24)] {
            let rows = text(&input, columns, height);
            assert!(rows.len() <= height);
            assert!(!rows.concat().contains("sk"), "{rows:?}");
        }
        assert_eq!(text(&input, 80, 24)[2], "› ••••••••••▏");
        let PickerOutcome::Answered(Some(typed)) = input.act(Action::Send) else {
            panic!("no answer")
        };
        assert!(!format!("{typed:?}").contains("sk"));
        assert_eq!(typed.into_text(), "sk-secret!");
    }

    #[test]
    fn an_address_is_shown_and_its_end_is_in_view() {
        let mut input = input(false);
        input.paste("http://127.0.0.1:8000/v1");
        input.act(Action::EraseBack);
        assert!(text(&input, 40, 5)[2].contains("http://127.0.0.1:8000/v"));
        let narrow = text(&input, 12, 5);
        assert!(narrow.last().unwrap().ends_with("8000/v▏"), "{narrow:?}");
        input.act(Action::KillLine);
        assert_eq!(
            input.act(Action::Send),
            PickerOutcome::Open,
            "nothing is typed"
        );
        assert_eq!(input.act(Action::Escape), PickerOutcome::Answered(None));
    }
}
