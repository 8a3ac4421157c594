//! What every child is told before its own instructions: the project, the task, the documents, what it may do.

use std::time::Duration;

use super::Run;
use super::child::{Access, ChildTask};
use super::places::DocumentKind;
use super::prompts;
use super::shown_documents;
use super::tier::Tier;
use super::upstream;
use crate::base::marks::enclosed;
use crate::base::template::fill;
use crate::base::text::{counted, head};
use crate::disk::beneath::{ListingOptions, RelPath};
use crate::disk::paths::PROJECT_MEMORIES;
use crate::store::project_texts::ProjectTexts;

/// How much a child is shown of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Everything that there is to know.
    Project,
    /// Nothing but this document: the child judges it by itself.
    DocumentAlone(DocumentKind),
}

impl View {
    /// What the child's system prompt holds of the project. Never the documents: they are in its prompt, and once is enough.
    pub(crate) fn texts(self) -> ProjectTexts {
        match self {
            Self::Project => ProjectTexts::Instructions,
            Self::DocumentAlone(_) => ProjectTexts::None,
        }
    }
}

/// Characters of the memory index that every child sees.
const MEMORY_CHARS: usize = 2_000;
/// The listing in a prompt: three levels, at most 120 lines.
const LISTING: ListingOptions = ListingOptions {
    depth: 3,
    max_entries: 120,
    marvin: true,
    respect_gitignore: true,
    count: true,
};

/// A child's whole prompt: what it has to know, then its own `instructions`.
pub(crate) fn prompt(run: &Run, access: &Access, view: View, instructions: &str) -> String {
    let facts = match view {
        View::Project => project(run),
        View::DocumentAlone(kind) => shown_documents::part(run, &[kind]),
    };
    fill(
        prompts::CONTEXT,
        &[
            ("facts", &facts),
            ("access", &access_words(run, access)),
            ("no_mocks", prompts::NO_MOCKS.trim_end()),
            ("instructions", instructions.trim_end()),
        ],
    )
}

/// A piece of work for a child that may write everything and works for the run's ticket; a caller who knows what it must have done adds a check.
pub(crate) fn writer_task<'a>(
    run: &Run,
    label: &str,
    tier: Tier,
    limit: Duration,
    instructions: &str,
) -> ChildTask<'a> {
    let access = Access::Write {
        ticket: run.ticket.clone(),
    };
    ChildTask {
        label: label.to_owned(),
        tier,
        prompt: prompt(run, &access, View::Project, instructions),
        access,
        texts: View::Project.texts(),
        withhold: &[],
        limit,
        after_failure: None,
        check: &|_| Ok(()),
    }
}

/// Name and place, task, documents, files, upstream documents and memory, the texts between marks: they are data.
fn project(run: &Run) -> String {
    let dir = run.root().path();
    let name = dir.file_name().unwrap_or(dir.as_os_str());
    let mut parts = vec![
        format!("Name: {}\nDirectory: {}", name.display(), dir.display()),
        format!("## Task\n{}", enclosed("task", "", run.task.trim())),
        shown_documents::part(run, &DocumentKind::ALL),
    ];
    parts.retain(|part| !part.is_empty());
    if let Ok(listing) = run.root().listing(&RelPath::here(), &LISTING) {
        parts.push(format!("## Files\n{}", enclosed("listing", "", &listing)));
    }
    if let Some(upstream) = upstream(run) {
        parts.push(upstream);
    }
    let index = format!("{PROJECT_MEMORIES}/INDEX.md");
    parts.extend(extract(run, &index, MEMORY_CHARS));
    parts.join("\n\n")
}

/// The beginning of a file, or nothing when there is none.
fn extract(run: &Run, path: &str, most: usize) -> Option<String> {
    let text = beginning(run, path, most * 4)?;
    let shown: String = text.chars().take(most).collect();
    let is_whole = shown.len() == text.len();
    let note = match is_whole {
        true => String::new(),
        false => format!(
            "\nThis is its beginning, {}; read the file for the rest.",
            counted(most as u64, "character")
        ),
    };
    Some(format!(
        "## {path}\n{}{note}",
        enclosed("document", &format!("path=\"{path}\""), &shown)
    ))
}

/// The first `max` bytes of an ordinary file of the project as text; `None` when there is no such file, or nothing in it.
pub(crate) fn beginning(run: &Run, path: &str, max: usize) -> Option<String> {
    use std::io::Read;
    let rel = run.root().check(path).ok()?;
    // What is missing is no mistake whose neighbours are worth a look.
    if !run.root().exists(&rel).ok()? {
        return None;
    }
    let file = run.root().open_read(&rel).ok()?;
    let mut bytes = Vec::new();
    file.take(max as u64 + 4).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = head(&text, max);
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn upstream(run: &Run) -> Option<String> {
    let paths = upstream::paths(run);
    (!paths.is_empty()).then(|| {
        let about = match run.places.feature() {
            Some(_) => "These are of the project above and of the features before this one, to be looked up: what is built has to agree with them. They are read-only and no part of the project's code.",
            None => "These were copied in to be looked up. They are read-only and no part of the project's code.",
        };
        format!(
            "## Upstream documents\n{about}\n{}",
            enclosed("listing", "", &paths.join("\n"))
        )
    })
}

/// What the child may do, and what it has to do about tickets and commits.
fn access_words(run: &Run, access: &Access) -> String {
    match access {
        Access::Read | Access::Research => prompts::ACCESS_READ.trim_end().to_owned(),
        Access::WriteFiles(files) => fill(prompts::ACCESS_FILES, &[("files", &files.join(", "))]),
        Access::Write { ticket } => {
            let words = prompts::placed(run, prompts::ACCESS_WRITE);
            match ticket.as_str() {
                "" => words,
                ticket => format!("{words}\n{}", fill(prompts::TICKETS, &[("ticket", ticket)])),
            }
        }
    }
}
