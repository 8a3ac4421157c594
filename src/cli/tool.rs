//! `marvin tool` and `marvin tools`.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::out::{print, print_words, say_words, width};
use crate::app::direct_call::words::{DirectCommand, DirectRequest};
use crate::app::direct_call::{self, catalogue};
use crate::app::settings::Settings;
use crate::app::setup;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// `marvin tool NAME [key=value …] [--json '{…}'] [--working-dir DIR]`.
pub(super) fn run(words: &[String], mut settings: Settings) -> Outcome<u8> {
    let command = DirectCommand::read(words)?;
    if command.dir.is_some() {
        settings.working_dir.clone_from(&command.dir);
    }
    let session = direct_call::session(&settings)?;
    let (tool, args) = match command.resolve(&session)? {
        DirectRequest::Help(tool) => return print(&catalogue::help(&tool)).map(|()| 0),
        DirectRequest::Call { tool, args } => (tool, args),
    };
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    let output = direct_call::run(session, tool.name(), args, &stop);
    if output.failed {
        say_words(&format!("{}\n", output.text));
    } else {
        print_words(&format!("{}\n", output.text.trim_end_matches('\n')))?;
    }
    // After a signal the exit status is that of the signal, even if the tool returned a partial result.
    Ok(match signal.load(Ordering::SeqCst) {
        0 => u8::from(output.failed),
        signal => 128 + signal,
    })
}

/// `marvin tools [WORD] [--json]`: on a terminal the descriptions are broken to fit beside the names.
pub(super) fn list(words: &[String]) -> Outcome<String> {
    let text = catalogue::list(words, &setup::registry())?;
    let is_json = words.iter().any(|word| word == "--json");
    Ok(match width().filter(|_| !is_json) {
        Some(columns) => catalogue::broken(&text, columns),
        None => text,
    })
}

/// Ctrl-C, a hang-up and a closed standard output stop the tool and its children too: they are in process groups of their own and would keep running.
/// The value is the signal's number, 0 for none.
pub(super) fn stop_on_signals(stop: &Cancel) -> Arc<AtomicU8> {
    let came = Arc::new(AtomicU8::new(0));
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) {
        let (stop, came) = (stop.clone(), Arc::clone(&came));
        std::thread::spawn(move || {
            if let Some(signal) = signals.forever().next() {
                came.store(u8::try_from(signal).unwrap_or_default(), Ordering::SeqCst);
                stop.fire();
            }
        });
    }
    let stop = stop.clone();
    std::thread::spawn(move || {
        let stdout = std::io::stdout();
        // With no events requested only an error or hang-up wakes, which is what a closed pipe causes.
        let mut reader = [PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::empty())];
        while poll(&mut reader, None).is_err() {}
        stop.fire();
    });
    came
}
