//! `marvin mcp`: Marvin's tools for other programs.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::tool::stop_on_signals;
use crate::app::direct_call;
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{did_you_mean, one_line};
use crate::mcp::server::own::Own;
use crate::mcp::server::{Server, stdio};

/// What can follow `serve`.
const FLAGS: [&str; 3] = ["--working-dir", "--tools", "--read-only"];

/// `marvin mcp serve …`.
pub(super) fn run(words: &[String], mut settings: Settings) -> Outcome<u8> {
    let Some((command, words)) = words.split_first() else {
        return Err(usage("A command is missing."));
    };
    if command != "serve" {
        return Err(usage(&format!(
            "There is no command \"{}\".",
            one_line(command)
        )));
    }
    let is_read_only = read(words, &mut settings)?;
    let mut session = direct_call::session(&settings)?;
    session.policy.readonly |= is_read_only;
    let server = Server::new(Box::new(Own::new(Arc::new(session))));
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    stdio::serve(
        Arc::new(server),
        BufReader::new(io::stdin()),
        io::stdout(),
        &stop,
    );
    Ok(match signal.load(Ordering::SeqCst) {
        0 => 0,
        signal => 128 + signal,
    })
}

/// Reads the words after `serve`; whether only tools that change nothing are wanted.
fn read(words: &[String], settings: &mut Settings) -> Outcome<bool> {
    let mut is_read_only = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (word.as_str(), None),
        };
        let mut value = || {
            let value = value.clone().or_else(|| words.next().cloned());
            value.ok_or_else(|| usage(&format!("{name} needs a value.")))
        };
        match name {
            "--working-dir" => settings.working_dir = Some(PathBuf::from(value()?)),
            "--tools" => settings.tools = Some(value()?),
            "--read-only" => is_read_only = true,
            _ => {
                let problem = usage(&format!("There is no flag {} here.", one_line(word)));
                return Err(match did_you_mean(name, FLAGS) {
                    Some(near) => problem.next(near),
                    None => problem,
                });
            }
        }
    }
    Ok(is_read_only)
}

fn usage(words: &str) -> Problem {
    Problem::input(words)
        .next("Usage: marvin mcp serve [--working-dir DIR] [--tools GROUP,…] [--read-only]")
}
