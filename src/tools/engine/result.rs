//! A tool's result: text for the model, effects for the session, and how it ended.

use std::path::PathBuf;

use crate::chat::display::Display;
use crate::chat::event::CallEnd;

/// The result of a successful tool.
#[derive(Debug, Default)]
pub struct ToolOk {
    /// The text for the model.
    pub text: String,
    /// Effects for the session to apply.
    pub effects: Vec<Effect>,
    /// What a screen may paint of it.
    pub display: Option<Display>,
    /// How it ended: a program that it ran may have failed.
    pub end: CallEnd,
}

impl From<String> for ToolOk {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl ToolOk {
    /// Adds what a screen may paint.
    #[must_use]
    pub fn showing(mut self, display: Display) -> Self {
        self.display = Some(display);
        self
    }

    /// Adds an effect.
    #[must_use]
    pub fn and(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// A change of the session that a tool requests; tools never hold the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The working directory changed; the prompt must be rebuilt.
    WorkingDir(PathBuf),
    /// Leave after this reply, with this text.
    Exit(String),
    /// The stored conversation was compacted; load it again.
    HistoryCompacted,
    /// This profile is the active one now: load it, build the prompt again and send the message that caused it again, once.
    SwitchProfile(String),
}

impl Effect {
    /// True for a switch of the profile.
    pub fn switches(&self) -> bool {
        matches!(self, Self::SwitchProfile(_))
    }
}
