//! Asks the user for approval before a tool does something they may not want.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::{bounded, select};

use super::inbox::{Inbox, Note};
use crate::app::session::ui_update::{Question, Verdict};
use crate::base::cancel::Cancel;
use crate::base::problem::{Kind, Outcome, Problem};
use crate::tools::engine::context::{Approve, Matter};

/// Whether there is a user to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    /// One sits at the terminal.
    Person,
    /// Standard input is a pipe: there is no one to ask.
    Nobody,
}

/// Asks through the session.
pub(super) struct Asker {
    asking: Asking,
    inbox: Arc<Inbox>,
    always: Mutex<HashSet<Matter>>,
}

impl Asker {
    pub(super) fn new(asking: Asking, inbox: Arc<Inbox>) -> Self {
        Self {
            asking,
            inbox,
            always: Mutex::default(),
        }
    }

    fn always(&self, matter: &Matter) -> bool {
        let always = self.always.lock().unwrap_or_else(PoisonError::into_inner);
        always.contains(matter)
    }
}

impl Approve for Asker {
    fn ask(&self, matter: Matter, stop: &Cancel) -> Outcome<()> {
        if self.asking == Asking::Nobody {
            return Err(refused_unasked(&matter));
        }
        if self.always(&matter) {
            return Ok(());
        }
        let (reply, answer) = bounded(1);
        let (wake, woken) = bounded::<()>(1);
        let _wake = stop.on_fire(move || {
            let _ = wake.try_send(());
        });
        self.inbox.put(Note::Question(Question {
            matter: matter.clone(),
            reply,
        }));
        let verdict = select! {
            recv(answer) -> verdict => verdict.unwrap_or(Verdict::No),
            recv(woken) -> _ => return Err(Problem::cancelled()),
        };
        match verdict {
            Verdict::Once => Ok(()),
            Verdict::Always => {
                let mut always = self.always.lock().unwrap_or_else(PoisonError::into_inner);
                always.insert(matter);
                Ok(())
            }
            Verdict::No => Err(declined(&matter).next(
                "Do not try it again in other words. Ask what they want, or go on without it.",
            )),
            Verdict::NoBecause(why) => Err(declined(&matter).next(format!("They say: {why}"))),
        }
    }
}

fn declined(matter: &Matter) -> Problem {
    let what = format!("The user declined to {}.", matter.act());
    Problem::new(Kind::Declined, what)
}

/// Without a user to ask the answer is no.
fn refused_unasked(matter: &Matter) -> Problem {
    Problem::refused(format!(
        "To {} needs the user's agreement, and standard input is not a terminal to ask on.",
        matter.act()
    ))
    .next("Run Marvin on a terminal, or with --non-interactive, which approves everything.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::thread;

    fn command(text: &str) -> Matter {
        Matter::Command {
            command: text.to_owned(),
            dir: PathBuf::from("/"),
        }
    }

    fn answer(inbox: &Inbox, verdict: Option<Verdict>) {
        for note in inbox.take() {
            if let (Note::Question(question), Some(verdict)) = (note, verdict.clone()) {
                question.reply.send(verdict).unwrap();
            }
        }
    }

    /// The approver's verdict when the user answers `verdict`; `None` drops the question.
    fn asked(
        asker: &Asker,
        inbox: &Inbox,
        rung: &crossbeam_channel::Receiver<()>,
        verdict: Option<Verdict>,
    ) -> Outcome<()> {
        thread::scope(|scope| {
            let asking = scope.spawn(|| asker.ask(command("make"), &Cancel::new()));
            rung.recv().unwrap();
            answer(inbox, verdict);
            asking.join().unwrap()
        })
    }

    #[test]
    fn yes_no_a_word_and_a_dropped_question() {
        let (inbox, rung) = Inbox::new();
        let asker = Asker::new(Asking::Person, Arc::clone(&inbox));
        assert!(asked(&asker, &inbox, &rung, Some(Verdict::Once)).is_ok());
        let no = asked(&asker, &inbox, &rung, Some(Verdict::No)).unwrap_err();
        assert!(no.one_line().contains("declined"));
        let why = Verdict::NoBecause("use just test".to_owned());
        let no = asked(&asker, &inbox, &rung, Some(why)).unwrap_err();
        assert!(no.one_line().contains("They say: use just test"));
        assert!(asked(&asker, &inbox, &rung, None).is_err());
        assert!(asked(&asker, &inbox, &rung, Some(Verdict::Always)).is_ok());
        assert!(
            asker.ask(command("make"), &Cancel::new()).is_ok(),
            "asked again after always"
        );
        assert!(inbox.take().is_empty());
    }

    #[test]
    fn a_fired_stop_sign_ends_the_wait_and_a_pipe_is_refused() {
        let (inbox, _rung) = Inbox::new();
        let stop = Cancel::new();
        stop.fire();
        let asker = Asker::new(Asking::Person, Arc::clone(&inbox));
        assert!(asker.ask(command("x"), &stop).unwrap_err().is_cancelled());
        let nobody = Asker::new(Asking::Nobody, inbox);
        let refused = nobody.ask(command("x"), &Cancel::new()).unwrap_err();
        assert!(refused.one_line().contains("--non-interactive"));
    }
}
