//! `marvin memory`: what Marvin remembers about the user, and how it forgets it.

use std::io::{self, BufRead as _, IsTerminal, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::out::{print, print_words, say_words};
use super::tool::stop_on_signals;
use crate::app::memory::ProfileMemory;
use crate::app::memory::command::MemoryCommand;
use crate::app::memory::maintain::maintain;
use crate::app::settings::Settings;
use crate::app::{profile, setup};
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::NullSink;
use crate::disk::paths::Paths;
use crate::tools::engine::context::ToolContext;

pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<u8> {
    let command = MemoryCommand::parse(words)?;
    let paths = Paths::new(&settings.env);
    let name = profile::active(&paths);
    let memory = ProfileMemory::open(&paths, &name, &Clock::new(&settings.env))?;
    if command.needs_model() {
        return with_model(&command, &memory, settings);
    }
    let dir = settings.process.current.as_deref();
    let outcome = answer(&memory, command, dir.unwrap_or_else(|| Path::new("")));
    for warning in memory.store.take_warnings() {
        say_words(&format!("Warning: {warning}\n"));
    }
    print_words(&outcome?)?;
    Ok(0)
}

/// Runs a command that needs a model; each entry is told on standard output as it is done.
fn with_model(command: &MemoryCommand, memory: &ProfileMemory, settings: &Settings) -> Outcome<u8> {
    let mut warn = |text: String| say_words(&format!("Warning: {text}\n"));
    let session = Arc::new(setup::session(settings, &mut warn)?);
    let spending = setup::spending(settings, &session.clock, &mut warn)?;
    let target = setup::model_target(&settings.model.choice, &spending, &settings.env, &mut warn)?;
    let stop = Cancel::new();
    let signal = stop_on_signals(&stop);
    let ctx = ToolContext::new(Arc::clone(&session), stop, Arc::new(NullSink));
    let outcome = maintain(
        command,
        &memory.store,
        &ctx,
        &Arc::new(target),
        &mut |line| {
            let _ = print_words(&(line + "\n"));
        },
    );
    for notice in session
        .save_usage()
        .into_iter()
        .chain(memory.store.take_warnings())
    {
        warn(notice);
    }
    match signal.load(Ordering::SeqCst) {
        0 => print(&outcome?).map(|()| 0),
        signal => Ok(128 + signal),
    }
}

fn answer(memory: &ProfileMemory, command: MemoryCommand, dir: &Path) -> Outcome<String> {
    let MemoryCommand::Forget {
        target,
        everywhere,
        yes: false,
    } = command
    else {
        return memory.run(&command, dir);
    };
    let preview = memory.preview(&target, everywhere)?;
    if !memory.has(&target, everywhere)? {
        return Ok(preview);
    }
    print_words(&preview)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(
            Problem::refused("Nothing was erased: nobody can be asked here.")
                .next("Add --yes to erase it."),
        );
    }
    print("\nErase this? [y/N] ")?;
    // A line without an end stays in the buffer, and the user would answer a question that they do not see.
    io::stdout()
        .flush()
        .map_err(|error| Problem::system("Cannot write to standard output", error))?;
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Problem::system("Cannot read the answer", error))?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => {
            let confirmed = MemoryCommand::Forget {
                target,
                everywhere,
                yes: true,
            };
            memory.run(&confirmed, dir)
        }
        _ => Ok("Nothing was erased.\n".to_owned()),
    }
}
