//! A tool's result: text for the model, effects for the session, and how it ended.

use std::path::PathBuf;

use crate::chat::display::Display;
use crate::chat::event::CallEnd;
use crate::chat::image::Image;

/// The result of a successful tool.
#[derive(Debug, Default)]
pub struct ToolOk {
    pub text: String,
    /// Images for models that see; the text names them.
    pub images: Vec<Image>,
    /// Changes that the session has to make.
    pub effects: Vec<Effect>,
    /// What a screen can show of it.
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
    /// Adds something for a screen to show.
    #[must_use]
    pub fn showing(mut self, display: Display) -> Self {
        self.display = Some(display);
        self
    }

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
    /// End the program after this reply, with this text.
    Exit(String),
    /// The stored conversation was compacted and has to be loaded again.
    HistoryCompacted,
    /// The answer is given: the turn ends with this round.
    Answered,
    /// This profile is active now: load it, build the prompt again, and send the message that caused the switch once more.
    SwitchProfile(String),
}

impl Effect {
    pub fn switches(&self) -> bool {
        matches!(self, Self::SwitchProfile(_))
    }
}
