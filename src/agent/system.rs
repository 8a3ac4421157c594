//! The system prompt, built for every request from prompts and facts.

use std::fmt::Write as _;

use super::{instructions, prompts};
use crate::base::marks::enclosed;
use crate::disk::beneath::Root;
use crate::tools::engine::context::SessionContext;

/// Facts about the user for the prompt; the floor above reads them from the profile's files.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserFacts {
    /// Preferences as text, one a line.
    pub preferences: String,
    /// Saved places as text, one a line.
    pub places: String,
    /// The last entries of the conversation, shortened, one a line.
    pub history: String,
    /// Commands that run in the background, one a line.
    pub jobs: String,
}

/// The prompt: Marvin's identity, the user, the project, and last what changes between requests, so that providers that cache prefixes can reuse as
/// much as possible.
pub(crate) fn prompt(world: &SessionContext, person: &UserFacts, coding: bool) -> String {
    let mut out = prompts::fill(prompts::IDENTITY, &[]);
    section(&mut out, "Preferences", &person.preferences);
    let _ = write!(out, "\n\n## Active profile\n{}", world.profile());
    section(&mut out, "Saved places", &person.places);
    if let Some(root) = world.working_dir.root() {
        project(&mut out, world, &root, coding);
    }
    let date = world.clock.now().strftime("%A, %-d %B %Y").to_string();
    section(&mut out, "Today", &date);
    section(&mut out, "Background jobs", &person.jobs);
    section(&mut out, "Recent conversation", &person.history);
    out
}

/// The rules of work in coding mode, and what the project says of itself in any.
fn project(out: &mut String, world: &SessionContext, root: &Root, coding: bool) {
    if coding {
        let dir = root.path().display().to_string();
        section(
            out,
            "Coding",
            &prompts::fill(prompts::CODING, &[("dir", &dir)]),
        );
    }
    if let Some((path, text)) = instructions::instructions(&world.paths, root) {
        document(
            out,
            &format!("Project instructions ({})", path.display()),
            &text,
        );
    }
    for (name, text) in instructions::documents(root) {
        document(out, name, &text);
    }
}

fn section(out: &mut String, heading: &str, text: &str) {
    if !text.trim().is_empty() {
        let _ = write!(out, "\n\n## {heading}\n{}", text.trim_end());
    }
}

/// A text from the project, fenced so that it reads as data.
fn document(out: &mut String, heading: &str, text: &str) {
    let _ = write!(
        out,
        "\n\n## {heading}\nThe following is a file of the project.\n{}",
        enclosed("document", "", text.trim_end())
    );
}
