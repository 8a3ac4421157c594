//! What is done inside of each phase in progress: its files as they were, its finished parts, its finished rounds. A run that was interrupted goes on
//! from there instead of paying for them again. It is in the folder of logs, so no commit has it, and it is a help only: without it more is repeated.
//! Several are in progress when the review of an edited document is repeated before the phase in which the run is.

use std::collections::BTreeMap;
use std::mem;

use serde::{Deserialize, Serialize};

use super::Run;
use super::files::{self, FileStates};
use super::phase::Phase;
use crate::base::ids;
use crate::base::problem::Outcome;
use crate::disk::beneath::RelPath;

const FILE: &str = "phase.json";
/// Largest record in bytes.
const CAP: u64 = 64 << 20;

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct PhaseRecord {
    /// The project's files when it began.
    files: Option<FileStates>,
    /// Its parts that are done.
    parts: Vec<String>,
    /// The last finished round of each of its loops, by the name of what the loop is about.
    rounds: BTreeMap<String, u64>,
    /// What the rounds of each of its loops told the next ones.
    told: BTreeMap<String, Vec<String>>,
    /// The document whose writer is at work.
    writing: String,
}

/// The phases in progress, and what is of no phase alone.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Progress {
    /// By their names.
    phases: BTreeMap<String, PhaseRecord>,
    /// Of a file with one phase, which earlier versions wrote: its name; the rest of it stands beside.
    #[serde(skip_serializing)]
    phase: String,
    /// Documents that were written again after a review of them, and not reviewed since.
    rewritten: Vec<String>,
    /// The documents as the last phase left them.
    documents: BTreeMap<String, LeftDocument>,
    /// The commit before the user edited a document that was reviewed.
    edited: BTreeMap<String, String>,
}

/// A document as a phase left it.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct LeftDocument {
    /// Changes with its content.
    digest: u64,
    /// A commit that has it so.
    commit: String,
}

impl Progress {
    /// The document at `path` is reviewed from the first round on.
    fn review_again(&mut self, path: &str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        for phase in self.phases.values_mut() {
            phase.rounds.remove(name);
        }
        if !self.rewritten.iter().any(|own| own == path) {
            self.rewritten.push(path.to_owned());
        }
    }
}

fn path(run: &Run) -> Outcome<RelPath> {
    run.root().check(&run.places.log(FILE))
}

fn read(run: &Run) -> Progress {
    let bytes = path(run).and_then(|rel| run.root().read(&rel, CAP));
    bytes
        .ok()
        .and_then(|bytes| parse(&bytes))
        .unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Option<Progress> {
    let mut progress: Progress = serde_json::from_slice(bytes).ok()?;
    let one = mem::take(&mut progress.phase);
    if !one.is_empty() {
        let record = serde_json::from_slice(bytes).ok()?;
        progress.phases.insert(one, record);
    }
    Some(progress)
}

/// The record of `phase`.
fn of(run: &Run, phase: &str) -> PhaseRecord {
    read(run).phases.remove(phase).unwrap_or_default()
}

/// Writes what is known of the phases in progress; there is no file for nothing.
fn write(run: &Run, progress: &Progress) -> Outcome<()> {
    let rel = path(run)?;
    if *progress != Progress::default() {
        let bytes = serde_json::to_vec(progress).unwrap_or_default();
        return run.root().put(&rel, &bytes);
    }
    match run.root().exists(&rel)? {
        true => run.root().remove_file(&rel),
        false => Ok(()),
    }
}

/// Changes what is known, and writes it down if that is news.
fn update(run: &Run, change: impl FnOnce(&mut Progress)) -> Outcome<()> {
    let before = read(run);
    let mut progress = before.clone();
    change(&mut progress);
    match progress == before {
        true => Ok(()),
        false => write(run, &progress),
    }
}

fn change(run: &Run, phase: &str, change: impl FnOnce(&mut PhaseRecord)) -> Outcome<()> {
    update(run, |progress| {
        change(progress.phases.entry(phase.to_owned()).or_default());
    })
}

/// The project's files as they were when `phase` began for the first time: what a child had done before an interruption would otherwise look as if it had
/// done nothing.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn files_at_start(run: &Run, phase: &str) -> Outcome<FileStates> {
    if let Some(kept) = of(run, phase).files {
        return Ok(kept);
    }
    let now = files::states(run.root(), &run.ctx.stop);
    change(run, phase, |record| record.files = Some(now.clone()))?;
    Ok(now)
}

/// Does a part of a phase, unless it is recorded as done.
///
/// # Errors
/// As `work`; the record cannot be written.
pub(crate) fn once(
    run: &Run,
    phase: &str,
    part: &str,
    work: impl FnOnce() -> Outcome<()>,
) -> Outcome<()> {
    if of(run, phase).parts.iter().any(|done| done == part) {
        return Ok(());
    }
    work()?;
    change(run, phase, |record| record.parts.push(part.to_owned()))
}

/// How many rounds about `subject` are over.
pub(crate) fn rounds(run: &Run, phase: &str, subject: &str) -> u64 {
    let record = of(run, phase);
    record.rounds.get(subject).copied().unwrap_or_default()
}

/// Records that a round about `subject` is over.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn save_round(run: &Run, phase: &str, subject: &str, number: u64) -> Outcome<()> {
    change(run, phase, |record| {
        record.rounds.insert(subject.to_owned(), number);
    })
}

/// What earlier rounds about `subject` told the next ones, the latest at the end.
pub(crate) fn told(run: &Run, phase: &str, subject: &str) -> Vec<String> {
    let mut record = of(run, phase);
    record.told.remove(subject).unwrap_or_default()
}

/// Adds to what is told the next round about `subject`, of which the latest `most` are kept.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn add_told(
    run: &Run,
    phase: &str,
    subject: &str,
    words: String,
    most: usize,
) -> Outcome<()> {
    change(run, phase, |record| {
        let told = record.told.entry(subject.to_owned()).or_default();
        told.push(words);
        told.drain(..told.len().saturating_sub(most));
    })
}

/// Whether the writer of the document at `path` was interrupted at work.
pub(crate) fn was_writing(run: &Run, phase: &str, path: &str) -> bool {
    of(run, phase).writing == path
}

/// Records which document is being written; none when it is empty.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn set_writing(run: &Run, phase: &str, path: &str) -> Outcome<()> {
    change(run, phase, |record| path.clone_into(&mut record.writing))
}

/// Whether the document at `path` was written again and has to be reviewed again.
pub(crate) fn is_rewritten(run: &Run, path: &str) -> bool {
    read(run).rewritten.iter().any(|own| own == path)
}

/// Records that the document at `path` is written again after its review.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn set_rewritten(run: &Run, path: &str) -> Outcome<()> {
    let mut record = read(run);
    record.rewritten.retain(|own| own != path);
    record.rewritten.push(path.to_owned());
    write(run, &record)
}

/// Records that the document at `path` is reviewed.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn set_reviewed(run: &Run, path: &str) -> Outcome<()> {
    let mut record = read(run);
    record.rewritten.retain(|own| own != path);
    record.edited.remove(path);
    write(run, &record)
}

fn digest(run: &Run, path: &str) -> Option<u64> {
    let bytes = run.root().read(&run.root().check(path).ok()?, CAP).ok()?;
    Some(ids::stable_hash(&String::from_utf8_lossy(&bytes)))
}

/// Records how the document at `path` is now, as `commit` has it.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn save_document(run: &Run, path: &str, commit: &str) -> Outcome<()> {
    let mut record = read(run);
    let left = digest(run, path).map(|digest| LeftDocument {
        digest,
        commit: commit.to_owned(),
    });
    let before = record.documents.get(path);
    let before = before.map(|left| (left.digest, !left.commit.is_empty()));
    match left {
        // The first commit that has it will do.
        Some(left) if before == Some((left.digest, true)) => return Ok(()),
        Some(left) => {
            record.documents.insert(path.to_owned(), left);
        }
        None => {
            record.documents.remove(path);
        }
    }
    write(run, &record)
}

/// Records that the document at `path` has to be reviewed again if it is not as the last phase left it. True when this is news.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn mark_edited(run: &Run, path: &str) -> Outcome<bool> {
    let mut record = read(run);
    if record.rewritten.iter().any(|own| own == path) {
        // It is under review already: what changed is that review's.
        return Ok(false);
    }
    let Some(left) = record.documents.get(path).cloned() else {
        return Ok(false);
    };
    match digest(run, path) {
        Some(digest) if digest != left.digest => {
            record.edited.entry(path.to_owned()).or_insert(left.commit);
            // From now on this is how it is; no commit is known that has it so.
            let left = LeftDocument {
                digest,
                commit: String::new(),
            };
            record.documents.insert(path.to_owned(), left);
            record.review_again(path);
            write(run, &record).map(|()| true)
        }
        _ => Ok(false),
    }
}

/// Records that the document at `path` is corrected after its review, and has to be reviewed again; `commit` is the one before.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn set_corrected(run: &Run, path: &str, commit: &str) -> Outcome<()> {
    let mut record = read(run);
    record.edited.insert(path.to_owned(), commit.to_owned());
    record.review_again(path);
    write(run, &record)
}

/// The commit before the document at `path` was edited by the user.
pub(crate) fn edited_since(run: &Run, path: &str) -> Option<String> {
    read(run).edited.remove(path)
}

/// Forgets what is done inside of `phases`, and the documents that are written again: the user wants them done again.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn forget(run: &Run, phases: &[&Phase], documents: &[String]) -> Outcome<()> {
    update(run, |progress| {
        for phase in phases {
            progress.phases.remove(phase.name);
        }
        for path in documents {
            progress.documents.remove(path);
            progress.edited.remove(path);
            progress.rewritten.retain(|own| own != path);
        }
    })
}

/// Forgets every other phase, because the run has come to `phase`: those before it are done, and one behind it was begun before the user set the state back.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn keep_only(run: &Run, phase: &str) -> Outcome<()> {
    update(run, |progress| {
        progress.phases.retain(|name, _| name == phase);
    })
}

/// Forgets a phase that is done.
///
/// # Errors
/// The record cannot be written.
pub(crate) fn end_phase(run: &Run, phase: &str) -> Outcome<()> {
    update(run, |progress| drop(progress.phases.remove(phase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_one_phase_is_read() {
        let old = r#"{"phase":"2a","files":{"tests/a.rs":7},"parts":["written"],"rounds":{"tests":1},"told":{},"writing":"","rewritten":["ux.md"],"documents":{},"edited":{}}"#;
        let progress = parse(old.as_bytes()).unwrap();
        let record = &progress.phases["2a"];
        assert_eq!(record.parts, ["written"]);
        assert_eq!(record.rounds["tests"], 1);
        assert!(record.files.is_some());
        assert_eq!(progress.rewritten, ["ux.md"]);
        let written = serde_json::to_vec(&progress).unwrap();
        assert_eq!(parse(&written).unwrap(), progress);
    }
}
