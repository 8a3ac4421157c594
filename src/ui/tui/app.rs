//! The state of the full-screen interface: user input becomes calls of the session, session updates become frames.

mod copy;
mod files;
mod lists;
mod questions;
mod updates;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::ask::{KeyTarget, QuestionPrompt};
use super::chat::{Chat, layout_ctx};
use super::colours::ScreenColours;
use super::frame_content::FrameContent;
use super::overlay::Overlay;
use super::part::Tone;
use super::view::{self, RowLayout};
use crate::app::session::Session;
use crate::app::session::ui_update::{ApprovalAnswer, PendingQuestion, ProgramToRun};
use crate::app::session::voice::VoiceKey;
use crate::base::problem;
use crate::ui::editor::{Editor, Outcome};
use crate::ui::interrupt::{INTERRUPTED, InterruptAction, Interrupts};
use crate::ui::keys::{self, Action, KeyContext};
use crate::ui::notify::{Attention, Occasion};
use crate::ui::sources::Candidates;
use crate::ui::term::screen::Screen;
use crate::ui::term::{Input, SignalEvent};
use crate::ui::text::theme::Theme;
use lists::UnaskedList;

/// Rows that PgUp and PgDn scroll.
const SCROLL_ROWS: isize = 10;
/// The exit status when the terminal is gone: 128 + SIGHUP.
const TERMINAL_GONE: u8 = 129;

/// Requests of the interface to the loop that owns the terminal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostAction {
    /// Stop this process until the shell wakes it.
    Suspend,
    /// Take over the terminal again after SIGCONT.
    Renew,
    /// Open a file of the session in the user's editor.
    Edit(PathBuf),
    /// Let this program have the terminal until it ends.
    Run(ProgramToRun),
    /// Open the input in the user's editor.
    EditInput,
    /// Ring the terminal's bell.
    Ring,
    /// Call the user back.
    Call(Occasion),
    /// The user is back.
    Calm,
    Repaint,
    Leave(u8),
}

/// A short message in the status line.
struct Flash {
    words: String,
    /// When it is no longer true; otherwise the next key ends it.
    end: Option<Instant>,
}

/// The full-screen interface.
pub(super) struct App {
    pub(super) session: Session,
    chat: Chat,
    editor: Editor,
    /// The editor has the history.
    recalled: bool,
    open_question: Option<QuestionPrompt>,
    /// Questions queued after the one that is shown.
    waiting: VecDeque<PendingQuestion>,
    /// The draft of the input, saved while the user writes a comment to the model.
    draft: String,
    help: Option<usize>,
    /// What covers the conversation and takes the keys.
    overlay: Option<Overlay>,
    /// A list that came by itself.
    unasked_list: UnaskedList,
    flash: Option<Flash>,
    /// What the key makes of all tool results when it is pressed again.
    unfolds_all: Option<bool>,
    /// The address that the key before this one has copied.
    copied_address: Option<String>,
    interrupts: Interrupts,
    attention: Attention,
    /// When the last key went into the input.
    typed: Option<Instant>,
    /// The latest text of the model.
    said: String,
    /// Its last sentence before the calls that run.
    reason: String,
    colours: ScreenColours,
    theme: Theme,
    placed: RowLayout,
    columns: usize,
    /// Text printed after the terminal is restored.
    pub(super) farewell: String,
    pub(super) host_actions: VecDeque<HostAction>,
}

impl App {
    pub(super) fn new(session: Session, colours: ScreenColours) -> Self {
        Self {
            session,
            chat: Chat::default(),
            editor: Editor::new(),
            recalled: false,
            open_question: None,
            waiting: VecDeque::new(),
            draft: String::new(),
            help: None,
            overlay: None,
            unasked_list: UnaskedList::default(),
            flash: None,
            unfolds_all: None,
            copied_address: None,
            interrupts: Interrupts::default(),
            attention: Attention::default(),
            typed: None,
            said: String::new(),
            reason: String::new(),
            theme: colours.theme(),
            colours,
            placed: RowLayout::default(),
            columns: 80,
            farewell: String::new(),
            host_actions: VecDeque::new(),
        }
    }

    /// True while the screen changes with time alone.
    pub(super) fn is_animated(&self) -> bool {
        let status = self.session.status();
        // A question that took no keys when it was drawn has to be drawn again, also if it takes them by now.
        let drawn = self.open_question.as_ref();
        let settles = drawn.is_some_and(|question| {
            !question.declining && question.key_target == KeyTarget::Unclear
        });
        self.chat.is_animated()
            || settles
            || status.running.iter().any(|command| !command.background)
            || status.voice.is_some_and(|voice| voice.phase.is_some())
    }

    /// Processes input from the user and the system.
    pub(super) fn input(&mut self, batch: Vec<Input>) {
        for input in batch {
            match input {
                Input::Key(key) if self.overlay.is_some() => {
                    if let Some(action) = keys::action(&key, KeyContext::Typing) {
                        self.act_in_overlay(action);
                    }
                }
                Input::Paste(text) if self.overlay.is_some() => {
                    self.overlay
                        .iter_mut()
                        .for_each(|overlay| overlay.paste(&text));
                }
                Input::Key(key) => {
                    self.welcome_back();
                    let mut situation = self.key_context(&key);
                    let mut action = keys::action(&key, situation);
                    if situation == KeyContext::Question
                        && let Some(text) = self.as_text(&key, action)
                    {
                        (situation, action) = (KeyContext::Typing, Some(text));
                    }
                    if situation != KeyContext::Question {
                        self.typed = Some(Instant::now());
                    }
                    if self.is_for_voice(action, situation) {
                        self.flash = None;
                    } else if let Some(action) = action {
                        self.flash = None;
                        self.act(action);
                    }
                }
                Input::Paste(text) if self.help.is_none() => {
                    self.session
                        .voice_key(VoiceKey::Typing, self.editor.is_empty());
                    if !self.mention(&text) {
                        self.editor.paste_folded(&text);
                    }
                }
                Input::Paste(_) => {}
                Input::Wheel(rows) => self.turn_wheel(rows),
                Input::Focus(focus) => {
                    self.attention.set_focus(focus);
                    if focus {
                        self.welcome_back();
                    }
                }
                Input::Background(colour) => {
                    self.colours.set_background(colour);
                    self.theme = self.colours.theme();
                }
                Input::Resize(_) => self.chat.realign(),
                Input::Signal(SignalEvent::Suspend) => {
                    self.host_actions.push_back(HostAction::Suspend);
                }
                Input::Signal(SignalEvent::Resume) => {
                    self.host_actions.push_back(HostAction::Renew);
                }
                Input::Signal(signal) => {
                    self.leave(signal.exit_status().unwrap_or(1));
                }
                Input::Gone => self.leave(TERMINAL_GONE),
            }
        }
        self.show_unasked_list();
        self.search_files();
    }

    /// Tells voice of a key. True when it was meant for that alone; keys that cancel do so by themselves.
    fn is_for_voice(&mut self, action: Option<Action>, context: KeyContext) -> bool {
        let key = match action {
            Some(Action::Cancel | Action::Escape) => return false,
            Some(Action::Send | Action::Insert(' ')) => VoiceKey::Enter,
            Some(action) if !keys::is_for_the_interface(action) => VoiceKey::Typing,
            _ => VoiceKey::Other,
        };
        let is_free = context != KeyContext::Question && self.help.is_none();
        is_free && self.session.voice_key(key, self.editor.is_empty())
    }

    fn act(&mut self, action: Action) {
        if action != Action::UnfoldAll {
            self.unfolds_all = None;
        }
        if action != Action::CopyAddress {
            self.copied_address = None;
        }
        if self.help.is_some() && self.act_in_help(action) {
            return;
        }
        // Ctrl-C cancels what is running, whatever is open.
        if action == Action::Cancel && self.is_animated() {
            return self.cancel();
        }
        if matches!(action, Action::Up | Action::Search) {
            if action == Action::Up && self.editor.is_empty() && self.take_back() {
                return;
            }
            self.recall();
        }
        match self.editor.act(action, &Candidates(self.session.context())) {
            Outcome::Changed if action == Action::Up => self.take_back_shown(),
            Outcome::Nothing | Outcome::Changed => {}
            Outcome::Submit(text) => self.submit(&text),
            Outcome::Pass(action) => self.pass(action),
        }
    }

    /// Handles actions that the editor leaves to the interface.
    fn pass(&mut self, action: Action) {
        match action {
            Action::Escape => self.escape(),
            Action::Cancel => self.cancel(),
            Action::Quit => self.leave(0),
            Action::QuitIfEmpty if self.editor.is_empty() => self.leave(0),
            Action::QuitIfEmpty => {
                self.say("Ctrl-D quits when the input is empty, Ctrl-Q at once.");
            }
            Action::Suspend => self.host_actions.push_back(HostAction::Suspend),
            Action::Redraw => self.host_actions.push_back(HostAction::Repaint),
            Action::PageUp => self.scroll(-self.page()),
            Action::PageDown => self.scroll(self.page()),
            Action::TenUp => self.scroll(-self.ten()),
            Action::TenDown => self.scroll(self.ten()),
            Action::ScrollUp => self.scroll(-1),
            Action::ScrollDown => self.scroll(1),
            Action::Top => self.chat.go_to_top(),
            Action::Bottom => self.chat.go_to_end(),
            Action::Help => self.help = Some(0),
            Action::CopyReply => self.copy(self.session.reply().map(str::to_owned), "reply"),
            Action::CopyCode => self.copy_code(),
            Action::CopyAddress => self.copy_address(),
            Action::Unfold => {
                let unfolded = self.chat.unfold();
                if !unfolded {
                    self.say("There is no tool result to unfold.");
                }
            }
            Action::UnfoldAll => self.unfold_more(),
            Action::Thinking => self.toggle_thinking(),
            Action::PasteClipboard => {
                self.session.paste_clipboard();
                if self.session.is_pasting() {
                    self.say("Reading the clipboard; Esc stops.");
                }
            }
            Action::OpenEditor => self.host_actions.push_back(HostAction::EditInput),
            Action::Yes => self.approve(ApprovalAnswer::Once),
            Action::ChooseQuestion => self.choose_question(),
            Action::Always => self.approve(ApprovalAnswer::Always),
            Action::QuestionUp => self.scroll_question(|_| -1, -1),
            Action::QuestionDown => self.scroll_question(|_| 1, 1),
            Action::QuestionPageUp => {
                self.scroll_question(|open_question| -open_question.page(), -self.ten());
            }
            Action::QuestionPageDown => self.scroll_question(QuestionPrompt::page, self.ten()),
            Action::No => self.answer(ApprovalAnswer::No),
            Action::Dismiss => self.answer(ApprovalAnswer::Dismissed),
            Action::NoBecause => {
                if let Some(open_question) = &mut self.open_question {
                    open_question.declining = true;
                    self.draft = self.editor.whole_text();
                    self.editor.set_text("");
                }
            }
            // The editor's own; named, so that a new action without an effect does not compile.
            Action::Insert(_)
            | Action::Send
            | Action::Newline
            | Action::Left
            | Action::Right
            | Action::WordLeft
            | Action::WordRight
            | Action::LineStart
            | Action::LineEnd
            | Action::Up
            | Action::Down
            | Action::EraseBack
            | Action::EraseForward
            | Action::KillWordBack
            | Action::KillBlankBack
            | Action::KillWordForward
            | Action::KillLine
            | Action::KillToEnd
            | Action::Yank
            | Action::YankPop
            | Action::UnfoldPaste
            | Action::Undo
            | Action::Redo
            | Action::Search
            | Action::Complete
            | Action::CompleteBack => {}
        }
    }

    fn submit(&mut self, text: &str) {
        if self.session.is_pasting() {
            self.editor.set_text(text);
            return self.say("The clipboard is still being read; Esc stops.");
        }
        if self.is_declining() {
            self.restore_draft();
            return self.answer(ApprovalAnswer::NoBecause(text.trim().to_owned()));
        }
        if self.recalled {
            self.editor.remember(text.trim());
        }
        self.chat.go_to_end();
        self.session.submit(text);
        self.receive();
    }

    fn escape(&mut self) {
        if self.is_declining() {
            self.restore_draft();
            match &mut self.open_question {
                // What is written is no reason for a no, so that it is not sent says nothing yet.
                Some(open) if open.question.request.is_open() => open.declining = false,
                _ => self.answer(ApprovalAnswer::No),
            }
        } else if self.session.cancel() {
            self.receive();
        } else if !self.editor.is_empty() {
            self.clear_draft();
            self.say("Cleared; Up restores it.");
        }
    }

    /// Clears the input. Its text becomes the newest history entry, for this run only.
    fn clear_draft(&mut self) {
        let draft = self.editor.whole_text().trim().to_owned();
        if !draft.is_empty() {
            self.recall();
            self.editor.remember(&draft);
        }
        self.editor.clear();
    }

    fn cancel(&mut self) {
        if self.is_declining() {
            self.restore_draft();
            let is_open =
                (self.open_question.as_ref()).is_some_and(|open| open.question.request.is_open());
            return self.answer(match is_open {
                true => ApprovalAnswer::Dismissed,
                false => ApprovalAnswer::No,
            });
        }
        let draft = !self.editor.is_empty();
        let pressed = self.interrupts.press(&mut self.session, draft);
        // Messages that waited come back to the input.
        self.receive();
        match pressed {
            InterruptAction::Leave => self.leave(INTERRUPTED),
            InterruptAction::Stopped if !self.editor.is_empty() => self.say("Stopped."),
            InterruptAction::Stopped => self.offer("Stopped. Press Ctrl-C again to quit."),
            InterruptAction::Idle if draft => {
                self.clear_draft();
                self.offer("Ctrl-C again to quit; Up restores it.");
            }
            InterruptAction::Idle => self.offer("Press Ctrl-C again to quit."),
        }
    }

    /// Moves the last queued message back into the input.
    fn take_back(&mut self) -> bool {
        let text = self.session.take_back();
        if let Some(text) = &text {
            self.editor.set_text(text);
        }
        text.is_some()
    }

    /// Takes the last queued message from the queue when the walk through the history has come to it: it must not be sent twice.
    fn take_back_shown(&mut self) {
        let is_shown = |queued: Cow<'_, str>| queued == self.editor.whole_text();
        if self.session.queue().last().is_some_and(is_shown) && self.session.take_back().is_some() {
            self.say("Taken back from the queue.");
        }
    }

    fn recall(&mut self) {
        if !std::mem::replace(&mut self.recalled, true) {
            self.editor.set_history(self.session.history());
        }
    }

    /// Ten rows, or a page where fewer are visible: none may be jumped over.
    fn ten(&self) -> isize {
        self.page().min(SCROLL_ROWS)
    }

    fn page(&self) -> isize {
        isize::try_from(self.placed.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    fn scroll(&mut self, by: isize) {
        let queue: Vec<String> = self.session.queue().map(Cow::into_owned).collect();
        let layout_ctx = layout_ctx(self.columns, &self.theme, Instant::now());
        self.chat.scroll(by, self.placed.height, &queue, layout_ctx);
    }

    fn welcome_back(&mut self) {
        if self.attention.comes_back() {
            self.host_actions.push_back(HostAction::Calm);
        }
    }

    /// An arrow key would walk through the history or the draft.
    pub(super) fn arrows_edit(&self) -> bool {
        let is_free = self.help.is_none() && self.overlay.is_none() && !self.takes_answer();
        is_free && !self.editor.has_menu()
    }

    /// Scrolls what is on the screen; never the history of the input.
    fn turn_wheel(&mut self, rows: isize) {
        if let Some(overlay) = &mut self.overlay {
            overlay.turn(rows);
        } else if let Some(at) = &mut self.help {
            *at = at.saturating_add_signed(rows);
        } else if self.takes_answer() || !self.editor.turn_menu(rows) {
            self.scroll_question(|_| rows, rows);
        }
    }

    /// Ends the program with this status.
    fn leave(&mut self, status: u8) {
        self.host_actions.push_back(HostAction::Leave(status));
    }

    fn say(&mut self, words: &str) {
        self.flash = Some(Flash {
            words: words.to_owned(),
            end: None,
        });
    }

    /// Says what another Ctrl-C does, for as long as it does that.
    fn offer(&mut self, words: &str) {
        self.flash = Some(Flash {
            words: words.to_owned(),
            end: self.interrupts.end(),
        });
    }

    /// When the message in the status line ends by itself.
    pub(super) fn flash_end(&self) -> Option<Instant> {
        self.flash.as_ref()?.end
    }

    /// Ends that message when its time is over. True when the screen changes.
    pub(super) fn expire_flash(&mut self) -> bool {
        let is_over = self.flash_end().is_some_and(|end| Instant::now() >= end);
        if is_over {
            self.flash = None;
        }
        is_over
    }

    /// Shows a failure that does not belong to the session.
    pub(super) fn failed(&mut self, words: &str) {
        self.chat.add(Tone::Error, words);
    }

    /// The input's text, for the user's editor.
    pub(super) fn draft(&self) -> String {
        self.editor.whole_text()
    }

    /// Another program had the screen: a question must be shown again before a key answers it.
    pub(super) fn hidden(&mut self) {
        if let Some(open_question) = &mut self.open_question {
            open_question.hidden();
        }
    }

    /// The text from the user's editor.
    pub(super) fn set_draft(&mut self, text: &str) {
        self.editor.set_text(text.trim_end_matches('\n'));
    }

    /// The user closed a file of the session in their editor.
    pub(super) fn edited(&mut self, path: &Path) {
        self.session.edited(path);
        self.receive();
    }

    /// A program that had the terminal has ended.
    pub(super) fn program_ended(&mut self, ended: problem::Outcome<()>) {
        self.session.program_ended(ended);
        self.receive();
    }

    pub(super) fn draw<W: Write>(&mut self, screen: &mut Screen<W>) -> std::io::Result<usize> {
        let status = self.session.status();
        let queue: Vec<String> = self.session.queue().map(Cow::into_owned).collect();
        let clock = self.session.context().clock.hour_minute();
        let key_target = self.key_target().unwrap_or_default();
        if let Some(open_question) = &mut self.open_question {
            open_question.key_target = key_target;
        }
        let buffer = screen.frame();
        self.columns = usize::from(buffer.area.width);
        let scene = FrameContent {
            chat: &mut self.chat,
            editor: &mut self.editor,
            open_question: self.open_question.as_mut(),
            help: self.help.as_mut(),
            overlay: self.overlay.as_mut(),
            status: &status,
            flash: self.flash.as_ref().map(|flash| flash.words.as_str()),
            queue: &queue,
            clock: &clock,
            theme: &self.theme,
            now: Instant::now(),
        };
        let drawn = view::draw(scene, buffer, &self.placed);
        self.placed = drawn.placed;
        let written = screen.flush(drawn.cursor, drawn.scroll.as_ref())?;
        if let Some(open_question) = &mut self.open_question {
            open_question.painted();
        }
        Ok(written)
    }
}
