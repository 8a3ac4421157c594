//! Asks the user on the terminal whether a run may go on: yes, after an edit, after a correction, or not now.

use std::io::{self, IsTerminal, Read};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};

use super::summary::foreign;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::pipeline::approval::{ApprovalPrompt, PendingApproval, UserDecision, name_of};
use crate::pipeline::worktree::record;
use crate::proc::editor;

/// How often a stop is looked for: there is little time to say how the run ended.
const LOOK: Duration = Duration::from_millis(25);
/// An approval from elsewhere is looked for this much more seldom.
const LOOKS_PER_APPROVAL: u32 = 12;
/// Longest line that is read.
const MAX_LINE_BYTES: usize = 64 << 10;

/// Asks on standard error, and reads standard input.
#[derive(Debug)]
pub(super) struct TerminalPrompt {
    env: Env,
}

impl TerminalPrompt {
    /// The terminal of this process, if somebody sits there.
    pub(super) fn of(settings: &Settings) -> Option<Self> {
        let is_there = settings.process.stdin_is_terminal
            && io::stderr().is_terminal()
            && !settings.is_leashed();
        is_there.then(|| Self {
            env: settings.env.clone(),
        })
    }

    fn edit(&self, pending: &PendingApproval<'_>, document: &str) {
        let path = pending.root.path().join(document);
        if let Err(problem) = editor::edit(&path, &self.env) {
            say(&problem.one_line());
        }
    }
}

/// What a line of the user's means.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    GoOn,
    Edit,
    Wrong,
    Stop,
    Other,
}

fn reply(line: &str) -> Reply {
    match line.trim().to_ascii_lowercase().as_str() {
        "g" | "go" | "y" | "yes" => Reply::GoOn,
        "e" | "edit" => Reply::Edit,
        "w" | "wrong" => Reply::Wrong,
        "s" | "stop" | "q" | "n" | "no" => Reply::Stop,
        _ => Reply::Other,
    }
}

impl ApprovalPrompt for TerminalPrompt {
    fn ask(
        &self,
        pending: &PendingApproval<'_>,
        is_approved: &dyn Fn() -> bool,
        stop: &Cancel,
    ) -> Outcome<UserDecision> {
        let documents = pending.documents;
        // What was typed while the phase worked is no answer to what nobody had read.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        say(&format!(
            "\nPhase {} ({}) is done and waits for your approval ({}).",
            pending.phase,
            pending.about,
            name_of(pending.phase)
        ));
        // The user is elsewhere when the run has a worktree.
        let there = record::of(pending.root).map(|record| record.root().display().to_string());
        let there = there.map(|dir| format!(" In {}", one_line(&dir)));
        let there = there.unwrap_or_default();
        match documents {
            [] => say(&format!(
                "Read: the commits of the run (git log -p).{there}"
            )),
            documents => say(&format!("Read: {}{there}", documents.join(", "))),
        }
        let edit = match documents {
            [] => "",
            _ => "e edit a document, ",
        };
        loop {
            say(&format!("g go on, {edit}w say what is wrong, s stop here:"));
            let line = match read_line(is_approved, stop)? {
                Line::Text(line) => line,
                Line::Approved => {
                    say("It was approved elsewhere.");
                    return Ok(UserDecision::GoOn);
                }
                Line::End => return Ok(UserDecision::Stop),
            };
            match reply(&line) {
                Reply::GoOn => return Ok(UserDecision::GoOn),
                Reply::Stop => return Ok(UserDecision::Stop),
                Reply::Edit if !documents.is_empty() => {
                    if let Some(document) = which(documents, is_approved, stop)? {
                        self.edit(pending, &document);
                        return Ok(UserDecision::Edited);
                    }
                }
                Reply::Wrong => {
                    let document = match documents {
                        [] => None,
                        documents => match which(documents, is_approved, stop)? {
                            Some(document) => Some(document),
                            None => continue,
                        },
                    };
                    say("What is wrong? One line; an empty one goes back.");
                    if let Line::Text(words) = read_line(&|| false, stop)?
                        && !words.trim().is_empty()
                    {
                        return Ok(UserDecision::Wrong { document, words });
                    }
                }
                Reply::Edit | Reply::Other => {
                    say(&format!("\"{}\" is none of these.", foreign(line.trim())));
                }
            }
        }
    }
}

/// Which document is meant; asks when there are several. `None` when none was named.
fn which(
    documents: &[String],
    is_approved: &dyn Fn() -> bool,
    stop: &Cancel,
) -> Outcome<Option<String>> {
    if let [only] = documents {
        return Ok(Some(only.clone()));
    }
    for (number, document) in (1..).zip(documents) {
        say(&format!("  {number} {document}"));
    }
    say("Which one?");
    let Line::Text(line) = read_line(is_approved, stop)? else {
        return Ok(None);
    };
    let found = named(documents, line.trim());
    if found.is_none() {
        say(&format!("\"{}\" is none of these.", foreign(line.trim())));
    }
    Ok(found.cloned())
}

/// The document with this number, path or name.
fn named<'a>(documents: &'a [String], line: &str) -> Option<&'a String> {
    let number = line
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    let by_number = number.and_then(|at| documents.get(at));
    by_number.or_else(|| {
        let mut paths = documents.iter();
        paths.find(|path| *path == line || path.rsplit('/').next() == Some(line))
    })
}

/// What came from the terminal.
enum Line {
    Text(String),
    /// Somebody approved in another way.
    Approved,
    /// There is nothing more to read.
    End,
}

/// Waits for a line: a person may answer after a day.
fn read_line(is_approved: &dyn Fn() -> bool, stop: &Cancel) -> Outcome<Line> {
    let stdin = io::stdin();
    let mut line = Vec::new();
    let look = Timespec::try_from(LOOK).ok();
    let fail = |error: io::Error| Problem::system("Cannot read the terminal", error);
    for look_number in (0..LOOKS_PER_APPROVAL).cycle() {
        stop.check()?;
        if look_number == 0 && line.is_empty() && is_approved() {
            return Ok(Line::Approved);
        }
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut ready, look.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(fail(error.into())),
        }
        // One byte at a time: what is typed ahead belongs to the next question.
        let mut byte = [0];
        match unbuffered(&stdin, &mut byte).map_err(fail)? {
            0 if line.is_empty() => return Ok(Line::End),
            0 => break,
            _ if byte == [b'\n'] => break,
            _ if line.len() < MAX_LINE_BYTES => line.extend(byte),
            _ => {}
        }
    }
    Ok(Line::Text(String::from_utf8_lossy(&line).into_owned()))
}

fn unbuffered(stdin: &io::Stdin, byte: &mut [u8; 1]) -> io::Result<usize> {
    struct Raw<'a>(&'a io::Stdin);
    impl Read for Raw<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            Ok(rustix::io::read(self.0, bytes)?)
        }
    }
    Raw(stdin).read(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_a_letter_or_a_word() {
        for (line, meant) in [
            ("g\n", Reply::GoOn),
            (" Yes ", Reply::GoOn),
            ("edit", Reply::Edit),
            ("w", Reply::Wrong),
            ("no", Reply::Stop),
            ("", Reply::Other),
            ("perhaps", Reply::Other),
        ] {
            assert_eq!(reply(line), meant, "{line}");
        }
    }
}
