//! The system prompt, built for every request from prompts and facts (contract/interfaces.md 11).

use std::fmt::Write as _;

use super::{instructions, prompts};
use crate::base::marks::enclosed;
use crate::tools::context::World;

/// What the session knows of the person; read from the profile's files by the floor above.
#[derive(Debug, Clone, Default)]
pub struct Person {
    /// Preferences as text, one a line.
    pub preferences: String,
    /// Saved places as text, one a line.
    pub places: String,
    /// The last entries of the conversation, shortened, one a line.
    pub history: String,
    /// Commands that run in the background, one a line.
    pub jobs: String,
}

/// The prompt: identity, preferences, profile, places, history, coding, project instructions, documents.
pub fn prompt(world: &World, person: &Person, coding: bool) -> String {
    let date = world.clock.now().strftime("%A, %-d %B %Y").to_string();
    let mut out = prompts::fill(prompts::IDENTITY, &[("date", &date)]);
    section(&mut out, "Preferences", &person.preferences);
    let _ = write!(out, "\n\n## Active profile\n{}", world.profile());
    section(&mut out, "Saved places", &person.places);
    section(&mut out, "Recent conversation", &person.history);
    let root = world.place.root().filter(|_| coding);
    if let Some(root) = &root {
        let dir = root.path().display().to_string();
        section(
            &mut out,
            "Coding",
            &prompts::fill(prompts::CODING, &[("dir", &dir)]),
        );
    }
    section(&mut out, "Background jobs", &person.jobs);
    let Some(root) = root else {
        return out;
    };
    if let Some((path, text)) = instructions::instructions(&world.paths, &root) {
        document(
            &mut out,
            &format!("Project instructions ({})", path.display()),
            &text,
        );
    }
    for (name, text) in instructions::documents(&root) {
        document(&mut out, name, &text);
    }
    out
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
