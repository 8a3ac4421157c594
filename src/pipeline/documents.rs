//! Phases 1a and 1b: the documents. Each is written by a child that may write this one file; whether it did is looked up in the file.

use std::io::Read;

use super::Run;
use super::child::{self, Access, ChildTask};
use super::context::{self, View};
use super::phase::PhaseEnd;
use super::places::DocumentKind;
use super::tier::Tier;
use super::{limits, phase_record, prompts, repository};
use crate::base::ids;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::template::fill;
use crate::base::text::thousands;
use crate::disk::beneath::{RelPath, Root};

/// A document that the pipeline writes.
pub(crate) struct Document {
    pub kind: DocumentKind,
    writer: &'static str,
    prompt: &'static str,
}

impl Document {
    /// Its path in the project of `run`.
    pub(crate) fn path(&self, run: &Run) -> String {
        run.places.document(self.kind)
    }
}

/// The product specification.
pub(crate) static SPEC: Document = Document {
    kind: DocumentKind::Spec,
    writer: "spec-writer",
    prompt: prompts::SPEC,
};
/// The user experience.
pub(crate) static UX: Document = Document {
    kind: DocumentKind::Ux,
    writer: "ux-writer",
    prompt: prompts::UX,
};
/// Architecture and test plan.
pub(crate) static DESIGN: Document = Document {
    kind: DocumentKind::Design,
    writer: "design-writer",
    prompt: prompts::DESIGN,
};

/// Phase 1a: the specification, then the user experience, whose writer reads it.
///
/// # Errors
/// A document cannot be written.
pub(crate) fn specify(run: &Run) -> Outcome<PhaseEnd> {
    write(run, &SPEC, "1a")?;
    write(run, &UX, "1a")?;
    Ok(PhaseEnd::Done)
}

/// Phase 1b: the architecture with its test plan.
///
/// # Errors
/// The document cannot be written.
pub(crate) fn design(run: &Run) -> Outcome<PhaseEnd> {
    write(run, &DESIGN, "1b")?;
    Ok(PhaseEnd::Done)
}

/// Smallest size of a document in bytes; a shorter one was not finished.
pub(crate) const MIN_BYTES: u64 = 1_000;

/// Writes a document that does not exist yet.
fn write(run: &Run, document: &Document, phase: &str) -> Outcome<()> {
    let path = document.path(run);
    let rel = run.root().check(&path)?;
    let mut is_there = state(run.root(), &rel)?.is_ok();
    if is_there && phase_record::was_writing(run, phase, &path) {
        // Long enough, but nobody knows whether its writer had come to the end.
        let kept = set_aside(run, &rel).unwrap_or_else(|| "nowhere".to_owned());
        run.warn(format!(
            "The writer of {path} was interrupted, so it is written again; what was there is in {kept}."
        ));
        is_there = false;
    }
    if is_there {
        return Ok(());
    }
    if super::state::is_done(&run.places, phase)? {
        phase_record::set_rewritten(run, &path)?;
    }
    phase_record::set_writing(run, phase, &path)?;
    let before = content(run.root(), &rel);
    let access = Access::WriteFiles(vec![path.clone()]);
    let writing = fill(prompts::WRITING, &[("min_bytes", &thousands(MIN_BYTES))]);
    let instructions = fill(
        &prompts::placed(run, document.prompt),
        &[("writing", &writing)],
    );
    let written = child::run(
        run,
        &ChildTask {
            label: document.writer.to_owned(),
            tier: Tier::PlanGen,
            prompt: context::prompt(run, &access, View::Project, &instructions),
            access,
            texts: View::Project.texts(),
            withhold: &[],
            limit: limits::DOCUMENT,
            after_failure: Some(&|| reset(run, &rel, before.as_deref())),
            check: &|_| state(run.root(), &rel).map_err(|problem| problem.one_line())?,
        },
    );
    if written.is_err() {
        reset(run, &rel, before.as_deref());
    }
    phase_record::set_writing(run, phase, "")?;
    if let Err(problem) = written {
        return Err(match problem.kind {
            ProblemKind::Cancelled => problem,
            _ => problem.next(format!("{path} was not written.")),
        });
    }
    repository::checkpoint(run, &format!("{}: written", document.kind.name()))
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

/// No document is larger.
const MAX_BYTES: u64 = 64 << 20;

/// What an ordinary file holds; `None` when there is none, or it is larger than any document.
pub(crate) fn content(root: &Root, rel: &RelPath) -> Option<Vec<u8>> {
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
    run.root().put(rel, before)
}

/// Makes a document what it was `before` an attempt that failed: half of one may be long enough to pass for a whole one. What the attempt wrote is set
/// aside. Returns what the next attempt is told about that; `None` when the document is as it was anyway.
pub(crate) fn reset(run: &Run, rel: &RelPath, before: Option<&[u8]>) -> Option<String> {
    let is_there = run.root().exists(rel).unwrap_or(false);
    // What no attempt touched is not ours to move.
    if is_there == before.is_some() && content(run.root(), rel).as_deref() == before {
        return None;
    }
    let kept = match is_there {
        true => set_aside(run, rel),
        false => None,
    };
    if let Some(before) = before
        && let Err(problem) = run.root().put(rel, before)
    {
        run.warn(format!(
            "{rel} could not be made what it was: {}",
            problem.one_line()
        ));
    }
    let kept = kept?;
    Some(fill(
        prompts::SET_ASIDE,
        &[("path", rel.as_str()), ("kept", &kept)],
    ))
}

/// Moves a document to the logs and returns where it is; `None` when it could not be kept, or not be removed.
pub(super) fn set_aside(run: &Run, rel: &RelPath) -> Option<String> {
    let keep = || -> Outcome<String> {
        let bytes = run.root().read(rel, MAX_BYTES)?;
        let name = rel.as_str().rsplit('/').next().unwrap_or_default();
        let stem = name.trim_end_matches(".md");
        let time = run.ctx.session.clock.now().timestamp();
        let path = run.places.log(&format!(
            "{stem}-{}-{}.left.md",
            time.strftime("%Y%m%d-%H%M%S"),
            ids::hex(2)
        ));
        run.root().create_new(&run.root().check(&path)?, &bytes)?;
        Ok(path)
    };
    let kept = keep();
    if let Err(problem) = run.root().remove_file(rel) {
        run.warn(format!(
            "What an attempt left could not be removed: {}",
            problem.one_line()
        ));
        return None;
    }
    kept.ok()
}
