//! What covers the conversation and takes the keys: a list to choose from, or a question for a line.

use ratatui::text::Line;

use super::line_prompt::LineInput;
use super::picker::{Picker, PickerOutcome};
use crate::app::choice::ChoiceKind;
use crate::ui::keys::Action;
use crate::ui::text::theme::Theme;

pub(super) enum Overlay {
    List(Picker),
    Line(LineInput),
}

impl Overlay {
    /// What the list is of, if it is one.
    pub(super) fn kind(&self) -> Option<ChoiceKind> {
        match self {
            Self::List(picker) => Some(picker.kind()),
            Self::Line(_) => None,
        }
    }

    pub(super) fn act(&mut self, action: Action) -> PickerOutcome {
        match self {
            Self::List(picker) => picker.act(action),
            Self::Line(input) => input.act(action),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        match self {
            Self::List(picker) => picker.filter(text),
            Self::Line(input) => input.paste(text),
        }
    }

    /// Turns the wheel by this many rows.
    pub(super) fn turn(&mut self, rows: isize) {
        match self {
            Self::List(picker) => picker.turn(rows),
            Self::Line(_) => {}
        }
    }

    /// Its rows where all of them fit and nothing is filtered.
    pub(super) fn all_rows(&self) -> usize {
        match self {
            Self::List(picker) => picker.all_rows(),
            Self::Line(_) => 0,
        }
    }

    pub(super) fn rows(
        &mut self,
        columns: usize,
        height: usize,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        match self {
            Self::List(picker) => picker.rows(columns, height, theme),
            Self::Line(input) => input.rows(columns, height, theme),
        }
    }
}
