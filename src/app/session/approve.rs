//! Asks the user for approval before a tool does something they may not want.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{bounded, select};

use super::inbox::Inbox;
use super::worker_event::WorkerEvent;
use crate::app::session::ui_update::{ApprovalAnswer, PendingQuestion};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::tools::engine::approval::{ApprovalRequest, Approver};

/// Whether there is a user who can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskMode {
    /// Somebody is at the terminal.
    Person,
    /// Standard input is a pipe, so nobody can answer.
    Nobody,
}

/// Asks the user through the session.
pub(super) struct Asker {
    inbox: Arc<Inbox>,
    always: Mutex<HashSet<ApprovalRequest>>,
}

impl Asker {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self {
            inbox,
            always: Mutex::default(),
        }
    }

    fn always(&self, request: &ApprovalRequest) -> bool {
        let always = self.always.lock().unwrap_or_else(PoisonError::into_inner);
        always.contains(&request.clone().in_general())
    }
}

impl Approver for Asker {
    fn ask(&self, request: ApprovalRequest, stop: &Cancel) -> Outcome<()> {
        if self.always(&request) {
            return Ok(());
        }
        let (reply, answer) = bounded(1);
        let (wake, woken) = bounded::<()>(1);
        let _wake = stop.on_fire(move || {
            let _ = wake.try_send(());
        });
        self.inbox.send(WorkerEvent::Question(PendingQuestion {
            request: request.clone(),
            reply,
        }));
        let verdict = select! {
            recv(answer) -> verdict => verdict.unwrap_or(ApprovalAnswer::No),
            recv(woken) -> _ => return Err(Problem::cancelled()),
        };
        match verdict {
            ApprovalAnswer::Once => Ok(()),
            ApprovalAnswer::Always => {
                let mut always = self.always.lock().unwrap_or_else(PoisonError::into_inner);
                always.insert(request.in_general());
                Ok(())
            }
            ApprovalAnswer::No | ApprovalAnswer::Dismissed => Err(declined(&request).next(
                "Do not try it again in other words. Ask what they want, or go on without it.",
            )),
            ApprovalAnswer::NoBecause(reason) => {
                Err(declined(&request).next(format!("They say: {reason}")))
            }
        }
    }
}

fn declined(request: &ApprovalRequest) -> Problem {
    let what = format!("The user declined to {}.", request.act());
    Problem::new(ProblemKind::Declined, what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn command(text: &str) -> ApprovalRequest {
        ApprovalRequest::new("Run this command?", "run this command", text)
    }

    fn answer(inbox: &Inbox, verdict: Option<ApprovalAnswer>) {
        for (_, note) in inbox.take() {
            if let (WorkerEvent::Question(question), Some(verdict)) = (note, verdict.clone()) {
                question.reply.send(verdict).unwrap();
            }
        }
    }

    /// The result of asking when the user answers with `verdict`; `None` drops the question unanswered.
    fn ask_and_answer(
        asker: &Asker,
        inbox: &Inbox,
        woken: &crossbeam_channel::Receiver<()>,
        verdict: Option<ApprovalAnswer>,
    ) -> Outcome<()> {
        thread::scope(|scope| {
            let asking = scope.spawn(|| asker.ask(command("make"), &Cancel::new()));
            woken.recv().unwrap();
            answer(inbox, verdict);
            asking.join().unwrap()
        })
    }

    #[test]
    fn yes_no_a_word_and_a_dropped_question() {
        let (inbox, woken) = Inbox::new();
        let asker = Asker::new(Arc::clone(&inbox));
        assert!(ask_and_answer(&asker, &inbox, &woken, Some(ApprovalAnswer::Once)).is_ok());
        let no = ask_and_answer(&asker, &inbox, &woken, Some(ApprovalAnswer::No)).unwrap_err();
        assert!(no.one_line().contains("declined"));
        let reason = ApprovalAnswer::NoBecause("use just test".to_owned());
        let no = ask_and_answer(&asker, &inbox, &woken, Some(reason)).unwrap_err();
        assert!(no.one_line().contains("They say: use just test"));
        assert!(ask_and_answer(&asker, &inbox, &woken, None).is_err());
        assert!(ask_and_answer(&asker, &inbox, &woken, Some(ApprovalAnswer::Always)).is_ok());
        assert!(
            asker.ask(command("make"), &Cancel::new()).is_ok(),
            "asked again after always"
        );
        assert!(inbox.take().is_empty());
    }

    #[test]
    fn a_fired_stop_sign_ends_the_wait() {
        let (inbox, _rung) = Inbox::new();
        let stop = Cancel::new();
        stop.fire();
        let asker = Asker::new(Arc::clone(&inbox));
        assert!(asker.ask(command("x"), &stop).unwrap_err().is_cancelled());
    }
}
