//! Asks the user for approval before a tool does something they may not want.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded, select};

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
    state: Mutex<AskerState>,
}

#[derive(Default)]
struct AskerState {
    always: HashSet<ApprovalRequest>,
    /// Questions that wait for an answer, as an answer for good would mean them.
    waiting: Vec<(ApprovalRequest, Sender<ApprovalAnswer>)>,
}

impl Asker {
    pub(super) fn new(inbox: Arc<Inbox>) -> Self {
        Self {
            inbox,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, AskerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on the user agrees; so they do to what they were asked meanwhile.
    fn agree_for_good(&self, request: ApprovalRequest) {
        let mut state = self.state();
        for (waiting, settled) in &state.waiting {
            if *waiting == request {
                let _is_settled = settled.try_send(ApprovalAnswer::Once);
            }
        }
        state.always.insert(request);
    }
}

impl Approver for Asker {
    fn ask(&self, request: ApprovalRequest, stop: &Cancel) -> Outcome<()> {
        let general = request.clone().in_general();
        let (settled, settles) = bounded(1);
        {
            let mut state = self.state();
            if state.always.contains(&general) {
                return Ok(());
            }
            state.waiting.push((general.clone(), settled.clone()));
        }
        let answered = asked(&self.inbox, request.clone(), &settles, stop);
        let is_own =
            |(_, own): &(ApprovalRequest, Sender<ApprovalAnswer>)| own.same_channel(&settled);
        self.state().waiting.retain(|own| !is_own(own));
        match answered.ok_or_else(Problem::cancelled)? {
            ApprovalAnswer::Once => Ok(()),
            ApprovalAnswer::Always => {
                if request.means_for_good().is_some() {
                    self.agree_for_good(general);
                }
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

/// Shows a question and waits for its answer, which `settles` may bring instead of the user; none when `stop` fired. A question that was dropped was dismissed.
pub(super) fn asked(
    inbox: &Inbox,
    request: ApprovalRequest,
    settles: &Receiver<ApprovalAnswer>,
    stop: &Cancel,
) -> Option<ApprovalAnswer> {
    let (reply, answer) = bounded(1);
    let (wake, woken) = bounded::<()>(1);
    let _wake = stop.on_fire(move || {
        let _ = wake.try_send(());
    });
    let over = Cancel::new();
    inbox.send(WorkerEvent::Question(PendingQuestion {
        request,
        reply,
        over: over.clone(),
    }));
    let verdict = select! {
        recv(answer) -> verdict => return Some(verdict.unwrap_or(ApprovalAnswer::Dismissed)),
        recv(settles) -> verdict => verdict.ok(),
        recv(woken) -> _ => None,
    };
    // It is still on the screen.
    over.fire();
    inbox.send(WorkerEvent::QuestionOver);
    verdict
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
        woken: &Receiver<()>,
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
    fn an_answer_for_good_holds_for_what_waits_and_for_no_more_than_it_says() {
        let tool = |detail: &str, version: &[u8]| {
            let request = ApprovalRequest::new("Call?", "call", "wr of f");
            request
                .with_detail(detail.to_owned(), version)
                .for_good("this tool")
        };
        let (inbox, woken) = Inbox::new();
        let asker = Asker::new(Arc::clone(&inbox));
        let mut questions = Vec::new();
        let mut overs = 0;
        thread::scope(|scope| {
            let calls = ["x: 1", "x: 2"].map(|detail| {
                let (asker, request) = (&asker, tool(detail, b"1"));
                scope.spawn(move || asker.ask(request, &Cancel::new()))
            });
            let mut has_answered = false;
            while overs == 0 {
                woken.recv().unwrap();
                for (_, note) in inbox.take() {
                    match note {
                        WorkerEvent::Question(question) => questions.push(question),
                        WorkerEvent::QuestionOver => overs += 1,
                        _ => {}
                    }
                }
                if questions.len() == 2 && !has_answered {
                    questions[0].reply.send(ApprovalAnswer::Always).unwrap();
                    has_answered = true;
                }
            }
            assert!(calls.into_iter().all(|call| call.join().unwrap().is_ok()));
        });
        let over = questions.iter().map(|question| question.over.is_fired());
        assert_eq!(over.collect::<Vec<_>>(), [false, true]);
        assert!(asker.ask(tool("x: 3", b"1"), &Cancel::new()).is_ok());
        // What is no answer for good is none, and another definition is another tool.
        let once = || command("open").only_once();
        for (request, verdict) in [
            (tool("x: 1", b"2"), ApprovalAnswer::No),
            (once(), ApprovalAnswer::Always),
            (once(), ApprovalAnswer::No),
        ] {
            thread::scope(|scope| {
                let is_agreed = verdict == ApprovalAnswer::Always;
                let asking = scope.spawn(|| asker.ask(request, &Cancel::new()));
                let mut is_answered = false;
                while !is_answered {
                    woken.recv().unwrap();
                    for (_, note) in inbox.take() {
                        if let WorkerEvent::Question(question) = note {
                            question.reply.send(verdict.clone()).unwrap();
                            is_answered = true;
                        }
                    }
                }
                assert_eq!(asking.join().unwrap().is_ok(), is_agreed);
            });
        }
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
