//! `marvin tool` and `marvin tools`.

use signal_hook::consts::{SIGINT, SIGTERM};

use super::out::print;
use crate::app::by_hand::words::{Asked, read};
use crate::app::by_hand::{self, catalogue};
use crate::app::setup::Start;
use crate::app::stream::say;
use crate::base::cancel::Cancel;
use crate::base::error::Outcome;

/// `marvin tool NAME [key=value …] [--json '{…}'] [--working-dir DIR]`.
pub(super) fn run(words: &[String], start: Start) -> Outcome<u8> {
    let (tool, args, dir) = match read(words)? {
        Asked::Help(tool) => return print(&catalogue::help(tool)).map(|()| 0),
        Asked::Call { tool, args, dir } => (tool, args, dir),
    };
    let stop = Cancel::new();
    stop_on_signals(&stop);
    let output = by_hand::run(&start, tool.name, args, dir.as_deref(), &stop)?;
    if output.failed {
        say(&output.text);
        return Ok(1);
    }
    print(&format!("{}\n", output.text.trim_end_matches('\n')))?;
    Ok(0)
}

/// Ctrl-C ends the tool and its children instead of this process alone.
fn stop_on_signals(stop: &Cancel) {
    if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM]) {
        let stop = stop.clone();
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                stop.fire();
            }
        });
    }
}
