//! Questions of the turn: one is open at a time, and the draft waits while the user writes why not.

use std::time::Duration;

use ratatui::crossterm::event::KeyEvent;

use super::App;
use crate::app::session::ui_update::ApprovalAnswer;
use crate::ui::keys::{self, Action, KeyContext};
use crate::ui::tui::ask::{KeyTarget, QuestionPrompt};

/// A key that comes sooner after one of the input was meant for that too.
const TYPING_PAUSE: Duration = Duration::from_millis(600);

impl App {
    /// A question is open, neither its comment nor a draft beside it is written.
    pub(super) fn takes_answer(&self) -> bool {
        self.key_target()
            .is_some_and(|target| target != KeyTarget::Draft)
    }

    /// Whom the next key is for; `None` when no question waits for one.
    pub(super) fn key_target(&self) -> Option<KeyTarget> {
        let question = self.open_question.as_ref()?;
        if question.declining {
            return None;
        }
        let is_covered = self.help.is_some() || self.overlay.is_some();
        let is_typing = (self.typed).is_some_and(|at| at.elapsed() < TYPING_PAUSE);
        Some(if !question.has_settled() || is_covered {
            KeyTarget::Unclear
        } else if question.is_chosen {
            KeyTarget::Question
        } else if !self.editor.is_empty() {
            KeyTarget::Draft
        } else if is_typing {
            KeyTarget::Unclear
        } else {
            KeyTarget::Question
        })
    }

    /// The state in which this key is pressed.
    pub(super) fn key_context(&self, key: &KeyEvent) -> KeyContext {
        let is_for_the_question = match self.key_target() {
            Some(KeyTarget::Question) => true,
            // What is open in the input takes its keys first.
            Some(KeyTarget::Draft) => {
                !self.editor.has_menu()
                    && self.editor.searching().is_none()
                    && keys::answers_beside_a_draft(key)
            }
            Some(KeyTarget::Unclear) | None => false,
        };
        match is_for_the_question {
            true => KeyContext::Question,
            false => self.editor.key_context(),
        }
    }

    /// The user writes why they decline.
    pub(super) fn is_declining(&self) -> bool {
        (self.open_question.as_ref()).is_some_and(|question| question.declining)
    }

    /// Gives the keys to the question, although there is a draft, or back to that.
    pub(super) fn choose_question(&mut self) {
        if let Some(question) = &mut self.open_question {
            question.is_chosen = !question.is_chosen && !self.editor.is_empty();
        }
    }

    /// Approves only a question that was shown in full.
    pub(super) fn approve(&mut self, verdict: ApprovalAnswer) {
        let question = self.open_question.as_ref();
        let is_once = question.is_some_and(|open| open.question.request.means_for_good().is_none());
        if verdict == ApprovalAnswer::Always && is_once {
            self.say("There is no always for this question: y agrees, n declines.");
        } else if question.is_some_and(QuestionPrompt::is_read) {
            self.answer(verdict);
        } else {
            self.say("Space or PgDn shows the rest; then y approves.");
        }
    }

    /// Scrolls the question by this many rows, or the conversation if the question fits.
    pub(super) fn scroll_question(
        &mut self,
        by: impl FnOnce(&QuestionPrompt) -> isize,
        chat: isize,
    ) {
        let scrolled = self.open_question.as_mut().is_some_and(|open_question| {
            let by = by(open_question);
            open_question.scroll(by)
        });
        if !scrolled {
            self.scroll(chat);
        }
    }

    /// Answers the question, and shows what comes of it.
    pub(super) fn answer(&mut self, verdict: ApprovalAnswer) {
        self.chat.go_to_end();
        if let Some(open_question) = self.open_question.take() {
            // The turn may already be over.
            let _ = open_question.question.reply.send(verdict);
        }
        self.next_question();
    }

    /// Nobody waits for the answers of some questions any more.
    pub(super) fn close_questions_that_are_over(&mut self) {
        self.waiting.retain(|question| !question.over.is_fired());
        let open = self.open_question.as_ref();
        if open.is_some_and(|open| open.question.over.is_fired()) {
            if self.is_declining() {
                self.restore_draft();
            }
            self.open_question = None;
            self.next_question();
        }
    }

    /// The text that a key is beside a question that came by itself: whoever types then means something else, unless it is an answer.
    pub(super) fn as_text(&self, key: &KeyEvent, action: Option<Action>) -> Option<Action> {
        let question = self.open_question.as_ref()?;
        let is_answer = !matches!(action, None | Some(Action::Always | Action::NoBecause));
        if is_answer || !question.is_a_plain_yes() {
            return None;
        }
        let typed = keys::action(key, KeyContext::Typing);
        typed.filter(|action| matches!(action, Action::Insert(_)))
    }

    pub(super) fn next_question(&mut self) {
        if self.open_question.is_some() {
            return;
        }
        let Some(question) = self.waiting.pop_front() else {
            return;
        };
        self.open_question = Some(QuestionPrompt::new(question, self.reason.clone()));
    }

    pub(super) fn restore_draft(&mut self) {
        let draft = std::mem::take(&mut self.draft);
        self.editor.set_text(&draft);
    }
}
