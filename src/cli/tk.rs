//! `marvin tk`: the command line of the `tk` ticket script, for Marvin's tickets.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use super::out::{print_words, say_words};
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_TICKET;
use crate::proc::editor;
use crate::store::tickets::location::TicketLocation;
use crate::tools::engine::ticket_gate::TicketGate;
use crate::tools::personal::tickets::command::{Caller, TicketCli};

/// Largest note from standard input, in bytes.
const NOTE_CAP: u64 = 16 * 1024 * 1024;

pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<u8> {
    let current = settings.process.current.clone().ok_or_else(|| {
        Problem::missing("The current directory is gone.").next("Change to one that exists.")
    })?;
    let stop = Cancel::new();
    super::tool::stop_on_signals(&stop);
    let clock = Clock::new(&settings.env);
    let cli = TicketCli {
        location: TicketLocation::from(&settings.env, &current),
        current,
        env: &settings.env,
        clock: &clock,
        stop: &stop,
    };
    let output = cli.run(words, &mut CliCaller { env: &settings.env });
    print_words(&output.out)?;
    say_words(&output.err);
    Ok(output.status)
}

struct CliCaller<'a> {
    env: &'a Env,
}

impl Caller for CliCaller<'_> {
    fn note(&mut self) -> Outcome<Option<String>> {
        if io::stdin().is_terminal() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        io::stdin()
            .lock()
            .take(NOTE_CAP + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| Problem::system("Cannot read the note", error))?;
        if bytes.len() as u64 > NOTE_CAP {
            return Err(Problem::limit(format!(
                "the note is larger than {} MiB, so nothing was added",
                NOTE_CAP >> 20
            ))
            .next("Keep such a text in a file of its own, and its name in the note."));
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok(Some(text.trim_end_matches('\n').to_owned()))
    }

    fn edit(&mut self, path: &Path) -> Outcome<bool> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(false);
        }
        editor::edit(path, self.env).map(|()| true)
    }

    fn before_create(&mut self) -> Outcome<()> {
        // A user's own command needs no check. A child process that calls this instead of the tool is checked as the tool would be.
        match MARVIN_TICKET.read(self.env) {
            Some(_) => TicketGate::default().first(),
            None => Ok(()),
        }
    }
}
