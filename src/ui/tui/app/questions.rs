//! Questions of the turn: one is open at a time, and the draft waits while the user writes why not.

use super::App;
use crate::app::session::ui_update::Verdict;
use crate::ui::tui::ask::QuestionPrompt;

impl App {
    /// A question is open, and not its comment.
    pub(super) fn takes_answer(&self) -> bool {
        (self.open_question.as_ref()).is_some_and(|question| !question.declining)
    }

    /// Approves only a question that was shown in full.
    pub(super) fn approve(&mut self, verdict: Verdict) {
        if self
            .open_question
            .as_ref()
            .is_some_and(QuestionPrompt::is_read)
        {
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

    pub(super) fn answer(&mut self, verdict: Verdict) {
        if let Some(open_question) = self.open_question.take() {
            // The turn may already be over.
            let _ = open_question.question.reply.send(verdict);
        }
        self.next_question();
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
