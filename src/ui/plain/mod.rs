//! The plain interface: the same conversation as lines, for any terminal, screen reader or pipe (contract/interfaces.md 13).
//!
//! Output never moves the cursor. On a terminal the line being typed is edited by rustyline; a pipe is read line by line, and its
//! end is the end of the session.

mod print;
mod read;
mod watch;

use std::io::{self, IsTerminal};

use crossbeam_channel::{Receiver, after, never, select};

use crate::app::session::Session;
use crate::app::session::approve::Asking;
use crate::app::session::show::{Question, Show, Verdict};
use crate::app::settings::Low;
use crate::app::setup::Start;
use crate::app::stream::say;
use crate::base::env::Env;
use crate::base::error::Problem;
use crate::proc::editor;
use crate::ui::term::Caught;
use print::Printer;
use read::{Line, Reader};
use watch::Watch;

/// What a second Ctrl-C at the prompt means.
const INTERRUPTED: u8 = 130;

/// Runs the conversation to its end; returns the exit status.
pub(super) fn run(low: Low, start: Start, first: &str) -> u8 {
    let terminal = start.stdin_is_terminal && io::stdout().is_terminal();
    let asking = if start.stdin_is_terminal {
        Asking::Person
    } else {
        Asking::Nobody
    };
    let env = start.env.clone();
    let opened = Session::open(low, start, asking).and_then(|(session, bell)| {
        let watch = Watch::start(session.stopper())?;
        Ok((session, bell, watch))
    });
    let (session, bell, watch) = match opened {
        Ok(opened) => opened,
        Err(problem) => return failed(&problem),
    };
    let mut plain = Plain {
        bell,
        watch,
        reader: Reader::new(terminal, session.world()),
        printer: Printer::new(terminal, &env),
        env,
        session,
        leave: None,
    };
    let status = plain.talk(first);
    plain.printer.end_line();
    if let Some(words) = plain.session.close() {
        say(&words);
    }
    status
}

fn failed(problem: &Problem) -> u8 {
    say(&format!("Error: {}", problem.one_line()));
    1
}

struct Plain {
    session: Session,
    bell: Receiver<()>,
    watch: Watch,
    reader: Reader,
    printer: Printer,
    env: Env,
    /// The status to leave with, once leaving is decided.
    leave: Option<u8>,
}

impl Plain {
    /// The conversation; `first` is what the command line says.
    fn talk(&mut self, first: &str) -> u8 {
        self.until_idle();
        if !first.trim().is_empty() && self.leave.is_none() {
            self.session.submit(first);
            self.until_idle();
        }
        let mut warned = false;
        loop {
            if let Some(status) = self.leave {
                return status;
            }
            if self.printer.gone() {
                return 1;
            }
            self.reader.remember(|| self.session.history());
            let shell = self.session.status().shell.is_some();
            let prompt = if shell { "$ " } else { "You: " };
            match self.read(prompt) {
                Line::Text(line) => {
                    warned = false;
                    self.session.submit(&line);
                    self.until_idle();
                }
                Line::End => return 0,
                Line::Interrupted if warned => return INTERRUPTED,
                Line::Interrupted => {
                    warned = true;
                    self.printer.system("Ctrl-C once more leaves.");
                }
            }
        }
    }

    /// Reads a line; a signal that comes meanwhile ends the process.
    fn read(&mut self, prompt: &str) -> Line {
        let _reading = self.watch.reading();
        self.reader.line(prompt, &mut self.printer)
    }

    /// Shows what comes until nothing runs any more.
    fn until_idle(&mut self) {
        let mut interrupted = false;
        loop {
            self.session.receive();
            for show in self.session.shows() {
                self.show(show);
            }
            if self.leave.is_some() || self.printer.gone() || !self.session.busy() {
                return;
            }
            let late = self.session.deadline().map_or_else(never, |deadline| {
                after(deadline.saturating_duration_since(std::time::Instant::now()))
            });
            select! {
                recv(self.bell) -> _ => {}
                recv(late) -> _ => {}
                recv(self.watch.signals) -> signal => match signal {
                    Ok(Caught::Interrupt) if interrupted || !self.session.cancel() => {
                        self.leave = Some(INTERRUPTED);
                    }
                    Ok(Caught::Interrupt) => interrupted = true,
                    Ok(signal) => self.leave = signal.exit_status(),
                    Err(_) => self.leave = Some(1),
                }
            }
        }
    }

    fn show(&mut self, show: Show) {
        match show {
            Show::Ask(question) => self.ask(question),
            Show::Edit(path) => match editor::edit(&path, &self.env) {
                Ok(()) => self.session.edited(&path),
                Err(problem) => self.printer.error(&problem),
            },
            Show::Leave(words) => {
                if !words.is_empty() {
                    self.printer.system(&words);
                }
                self.leave = Some(0);
            }
            show => self.printer.show(show),
        }
    }

    /// Asks the person; end of input and Ctrl-C mean no.
    fn ask(&mut self, question: Question) {
        self.printer.question(&question);
        let answer = self.read("Agreed? y once, a always this, n no, e no and say why: ");
        let verdict = match answer {
            Line::Text(text) => match text.trim().to_lowercase().as_str() {
                "" | "y" | "yes" => Verdict::Once,
                "a" | "always" => Verdict::Always,
                "e" => match self.read("Why not: ") {
                    Line::Text(why) if !why.trim().is_empty() => Verdict::NoBecause(why),
                    _ => Verdict::No,
                },
                _ => Verdict::No,
            },
            Line::End | Line::Interrupted => Verdict::No,
        };
        // The turn may be over meanwhile.
        let _ = question.reply.send(verdict);
    }
}
