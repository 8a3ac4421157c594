//! `marvin memory`: what Marvin remembers about the user, and how it forgets it.

use std::io::{self, BufRead as _, IsTerminal};
use std::path::Path;

use super::out::{print, print_words, say_words};
use crate::app::memory::ProfileMemory;
use crate::app::memory::command::MemoryCommand;
use crate::app::profile;
use crate::app::settings::Settings;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::disk::paths::Paths;

pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<u8> {
    let command = MemoryCommand::parse(words)?;
    let paths = Paths::new(&settings.env);
    let name = profile::active(&paths);
    let memory = ProfileMemory::open(&paths, &name, &Clock::new(&settings.env))?;
    let dir = settings.process.current.as_deref();
    let outcome = answer(&memory, command, dir.unwrap_or_else(|| Path::new("")));
    for warning in memory.store.take_warnings() {
        say_words(&format!("Warning: {warning}\n"));
    }
    print_words(&outcome?)?;
    Ok(0)
}

fn answer(memory: &ProfileMemory, command: MemoryCommand, dir: &Path) -> Outcome<String> {
    let MemoryCommand::Forget { target, yes: false } = command else {
        return memory.run(&command, dir);
    };
    if !memory.has(&target)? {
        return memory.preview(&target);
    }
    print_words(&memory.preview(&target)?)?;
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(
            Problem::refused("Nothing was erased: nobody can be asked here.")
                .next("Add --yes to erase it."),
        );
    }
    print("\nErase this? [y/N] ")?;
    let mut line = String::new();
    io::stdin()
        .lock()
        .read_line(&mut line)
        .map_err(|error| Problem::system("Cannot read the answer", error))?;
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => memory.run(&MemoryCommand::Forget { target, yes: true }, dir),
        _ => Ok("Nothing was erased.\n".to_owned()),
    }
}
