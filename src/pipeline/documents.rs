//! Phases 1a and 1b: the documents. Each is written by a child that may write this one file; whether it did is looked up in the file.

use std::io::Read;

use super::Run;
use super::child::{self, Access, ChildTask};
use super::context::{self, View};
use super::phase::PhaseEnd;
use super::tier::Tier;
use super::{limits, prompts, repository};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::template::fill;
use crate::base::text::thousands;
use crate::disk::beneath::{RelPath, Root};
use crate::disk::paths::{DESIGN_DOCUMENT, SPEC_DOCUMENT, UX_DOCUMENT};

/// A document that the pipeline writes.
pub(crate) struct Document {
    /// Its path.
    pub path: &'static str,
    /// Its name in messages and histories.
    pub name: &'static str,
    writer: &'static str,
    prompt: &'static str,
}

/// The product specification.
pub(crate) static SPEC: Document = Document {
    path: SPEC_DOCUMENT,
    name: "spec.md",
    writer: "spec-writer",
    prompt: prompts::SPEC,
};
/// The user experience.
pub(crate) static UX: Document = Document {
    path: UX_DOCUMENT,
    name: "ux.md",
    writer: "ux-writer",
    prompt: prompts::UX,
};
/// Architecture and test plan.
pub(crate) static DESIGN: Document = Document {
    path: DESIGN_DOCUMENT,
    name: "design.md",
    writer: "design-writer",
    prompt: prompts::DESIGN,
};

/// Phase 1a: the specification, then the user experience, whose writer reads it.
///
/// # Errors
/// A document cannot be written.
pub(crate) fn specify(run: &Run) -> Outcome<PhaseEnd> {
    write(run, &SPEC)?;
    write(run, &UX)?;
    Ok(PhaseEnd::Done)
}

/// Phase 1b: the architecture with its test plan.
///
/// # Errors
/// The document cannot be written.
pub(crate) fn design(run: &Run) -> Outcome<PhaseEnd> {
    write(run, &DESIGN)?;
    Ok(PhaseEnd::Done)
}

/// Smallest size of a document in bytes; a shorter one was not finished.
pub(crate) const MIN_BYTES: u64 = 1_000;

/// Writes a document that does not exist yet.
fn write(run: &Run, document: &Document) -> Outcome<()> {
    let rel = run.root.check(document.path)?;
    if state(&run.root, &rel)?.is_ok() {
        return Ok(());
    }
    let before = content(&run.root, &rel);
    let access = Access::WriteFiles(vec![document.path.to_owned()]);
    let writing = fill(prompts::WRITING, &[("min_bytes", &thousands(MIN_BYTES))]);
    let instructions = fill(document.prompt, &[("writing", &writing)]);
    let written = child::run(
        run,
        &ChildTask {
            label: document.writer.to_owned(),
            tier: Tier::PlanGen,
            prompt: context::prompt(run, &access, View::Project, &instructions),
            access,
            withhold: &[],
            limit: limits::DOCUMENT,
            check: &|_| {
                let found = state(&run.root, &rel).map_err(|problem| problem.one_line())?;
                found.inspect_err(|_| discard(run, &rel, before.as_deref()))
            },
        },
    );
    if let Err(problem) = written {
        discard_unfinished(run, &rel, before.as_deref());
        return Err(match problem.kind {
            ProblemKind::Cancelled => problem,
            _ => problem.next(format!("{} was not written.", document.path)),
        });
    }
    repository::checkpoint(run, &format!("{}: written", document.name))
}

/// Whether `rel` is a document: an ordinary file inside the project, of text, of at least [`MIN_BYTES`]. Otherwise a sentence that says what is wrong.
///
/// # Errors
/// Something that no child can replace is in its place: a folder, a link, a device. Nothing is removed that the pipeline did not write.
pub(crate) fn state(root: &Root, rel: &RelPath) -> Outcome<Result<(), String>> {
    let in_the_way = |what: &str| {
        Problem::refused(format!("{rel} is a {what}, no ordinary file."))
            .next("Move it away, so that the document can be written.")
    };
    if root.goes_through_link(rel) {
        return Err(in_the_way("link, or lies behind one"));
    }
    if !root.exists(rel)? {
        return Ok(Err(format!("{rel} does not exist.")));
    }
    let kind = root.kind_name(rel)?;
    if kind != "file" {
        return Err(in_the_way(kind));
    }
    let mut file = root.open_read(rel)?;
    let len = file
        .metadata()
        .map_err(|error| Problem::system(format!("Cannot look at {rel}"), error))?
        .len();
    if len < MIN_BYTES {
        return Ok(Err(format!(
            "{rel} has {} bytes; a document needs at least {}.",
            thousands(len),
            thousands(MIN_BYTES)
        )));
    }
    let mut beginning = vec![0; 64 << 10];
    let read = file
        .read(&mut beginning)
        .map_err(|error| Problem::system(format!("Cannot read {rel}"), error))?;
    beginning.truncate(read);
    // A character may be cut at the end of what was read.
    let is_text = match std::str::from_utf8(&beginning) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    if !is_text || beginning.contains(&0) {
        return Ok(Err(format!("{rel} is not text.")));
    }
    Ok(Ok(()))
}

/// What an ordinary file holds; `None` when there is none, or it is larger than any document.
pub(crate) fn content(root: &Root, rel: &RelPath) -> Option<Vec<u8>> {
    const MAX_BYTES: u64 = 64 << 20;
    root.read(rel, MAX_BYTES).ok()
}

/// Puts a document back that is none any more.
///
/// # Errors
/// There is nothing to put back, or it cannot be written.
pub(crate) fn put_back(
    run: &Run,
    rel: &RelPath,
    before: Option<&[u8]>,
    words: &str,
) -> Outcome<()> {
    let before = before.ok_or_else(|| Problem::missing(words.to_owned()))?;
    run.warn(format!(
        "{words} It was put back as it was before the fixer."
    ));
    run.root.put(rel, before)
}

/// Removes what an attempt left, when it is no document.
fn discard_unfinished(run: &Run, rel: &RelPath, before: Option<&[u8]>) {
    if matches!(state(&run.root, rel), Ok(Err(_))) {
        discard(run, rel, before);
    }
}

/// Removes a file that differs from what was there before the first attempt: a file that no attempt touched is not ours to remove.
fn discard(run: &Run, rel: &RelPath, before: Option<&[u8]>) {
    let is_left = run.root.exists(rel).unwrap_or(false);
    if is_left
        && content(&run.root, rel).as_deref() != before
        && let Err(problem) = run.root.remove_file(rel)
    {
        run.warn(format!(
            "What an attempt left could not be removed: {}",
            problem.one_line()
        ));
    }
}
