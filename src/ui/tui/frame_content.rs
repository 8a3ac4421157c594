//! What a frame is drawn from.

use std::time::Instant;

use super::ask::QuestionPrompt;
use super::chat::Chat;
use super::overlay::Overlay;
use crate::app::session::ui_update::SessionStatus;
use crate::ui::editor::Editor;
use crate::ui::text::theme::Theme;

/// Everything that a frame shows.
pub(super) struct FrameContent<'a> {
    pub(super) chat: &'a mut Chat,
    pub(super) editor: &'a mut Editor,
    pub(super) open_question: Option<&'a mut QuestionPrompt>,
    /// The scroll position of the help, if it is open.
    pub(super) help: Option<&'a mut usize>,
    /// What covers the conversation, if anything does.
    pub(super) overlay: Option<&'a mut Overlay>,
    pub(super) status: &'a SessionStatus,
    pub(super) flash: Option<&'a str>,
    pub(super) queue: &'a [String],
    pub(super) clock: &'a str,
    pub(super) theme: &'a Theme,
    pub(super) now: Instant,
}
