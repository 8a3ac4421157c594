//! `findings.jsonl` in the logs of a run: every finding of its reviews and what became of it, one JSON object a line; appended only.
//!
//! A line is a [`Finding`] with these fields. A later line with the same `id` takes the place of an earlier one; [`read`] has done that.
//!
//! | field | meaning |
//! |---|---|
//! | `id` | `TICKET/PHASE/SUBJECT/ROUND/REVIEWER/NUMBER`; what an interrupted round recorded is replaced when it is done again |
//! | `time` | when this line was written (RFC 3339, UTC) |
//! | `ticket` | the epic of the run; in a review of a code base its branch, such as `review/20261126-004241` |
//! | `phase` | the phase, such as `1a_review`; `review` in a review of a code base |
//! | `subject` | what was reviewed: `spec.md`, `ux.md`, `design.md`, `tests`, `code`, or `quality` in phase 5 |
//! | `round` | the round of the review, counted from 1 |
//! | `reviewer` | its name, such as `main`, `area-1`, `conformance` |
//! | `severity` | `blocker`, `major` or `minor` |
//! | `marked` | the reviewer said the severity; otherwise its report failed the subject without any, and counts as one blocker |
//! | `text` | the first line of the finding, or of such a report, at most 300 characters |
//! | `reviewed` | the commit that the reviewer read |
//! | `state` | see [`FindingState`]: `open`, `corrected`, `resolved` or `repeated` |
//! | `commit` | the commit with what the fixer changed who was given the finding; empty when there was none, or it changed nothing |
//!
//! Readers pass over lines that are cut short and over values that they do not know.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use serde::{Deserialize, Serialize};

use super::severity::{Severity, by_severity};
use crate::base::problem::{Outcome, Problem};
use crate::pipeline::places::RunPlaces;

const FILE: &str = "findings.jsonl";
/// Only so many bytes from the end are read.
const MAX_READ_BYTES: u64 = 16 << 20;

/// A finding of a reviewer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Finding {
    /// Unique in the file.
    pub id: String,
    /// When it was recorded (RFC 3339, UTC).
    pub time: String,
    /// The epic of the run, or the branch of a review.
    pub ticket: String,
    pub phase: String,
    pub subject: String,
    pub round: u64,
    pub reviewer: String,
    pub severity: Severity,
    /// The reviewer said the severity.
    pub marked: bool,
    /// Its first line.
    pub text: String,
    /// The commit that the reviewer read.
    pub reviewed: String,
    pub state: FindingState,
    /// The commit with the fixer's changes; may be empty.
    pub commit: String,
}

/// What became of a finding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FindingState {
    /// Nobody has corrected it: no fixer was asked, or it changed nothing.
    #[default]
    Open,
    /// A fixer was given it and changed files; its reviewer has not looked again.
    Corrected,
    /// Its reviewer has looked again, and does not name it any more.
    Resolved,
    /// Its reviewer names it again in a later round; that one counts.
    Repeated,
}

/// The findings of the project, in the order in which they were made; none when there is no file.
///
/// # Errors
/// The file cannot be read, or leads out of the project.
pub(crate) fn read(places: &RunPlaces) -> Outcome<Vec<Finding>> {
    let (root, path) = (&places.root, places.log(FILE));
    let rel = root.check(&path)?;
    if !root.exists(&rel)? {
        return Ok(Vec::new());
    }
    let mut file = root.open_read(&rel)?;
    let fail = |error| Problem::system(format!("Cannot read {path}"), error);
    let len = file.metadata().map_err(fail)?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(MAX_READ_BYTES)))
        .map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(MAX_READ_BYTES)
        .read_to_end(&mut bytes)
        .map_err(fail)?;
    let mut findings: Vec<Finding> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(finding) = serde_json::from_slice::<Finding>(line) else {
            continue;
        };
        let place = places.get(&finding.id).copied();
        match place.and_then(|place| findings.get_mut(place)) {
            Some(earlier) => *earlier = finding,
            None => {
                places.insert(finding.id.clone(), findings.len());
                findings.push(finding);
            }
        }
    }
    Ok(findings)
}

/// Records findings, new ones or known ones in another state.
///
/// # Errors
/// The disk is full or not writable, or the path leads out of the project.
pub(super) fn append(places: &RunPlaces, findings: &[Finding]) -> Outcome<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let mut lines = String::new();
    for finding in findings {
        let line = serde_json::to_string(finding)
            .map_err(|error| Problem::internal(format!("A finding is no JSON: {error}.")))?;
        lines.push_str(&line);
        lines.push('\n');
    }
    let root = &places.root;
    let rel = root.check_write(&places.log(FILE))?;
    if !root.exists(&rel)? {
        return root.create_new(&rel, lines.as_bytes());
    }
    let mut last = [b'\n'];
    let mut file = root.open_read(&rel)?;
    if file.seek(SeekFrom::End(-1)).is_ok() {
        let _ = file.read_exact(&mut last);
    }
    if last != *b"\n" {
        // A killed process has left half of a line.
        lines.insert(0, '\n');
    }
    root.append(&rel, lines.as_bytes()).map(drop)
}

/// How many findings of each severity a run made, and how many of them nobody has corrected; `None` when it made none.
pub(crate) fn summary(findings: &[Finding], ticket: &str) -> Option<String> {
    let own = |state: Option<FindingState>| {
        let some = findings.iter().filter(move |finding| {
            finding.ticket == ticket
                && finding.state != FindingState::Repeated
                && state.is_none_or(|state| finding.state == state)
        });
        by_severity(some.map(|finding| finding.severity))
    };
    let found = own(None)?;
    let open = match own(Some(FindingState::Open)) {
        Some(open) => format!("open: {open}"),
        None => "none is open".to_owned(),
    };
    let unseen = own(Some(FindingState::Corrected))
        .map(|unseen| format!("; corrected, and not reviewed again: {unseen}"));
    Some(format!("{found}; {open}{}.", unseen.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, severity: Severity, state: FindingState) -> Finding {
        Finding {
            id: id.to_owned(),
            ticket: "cl-1".to_owned(),
            severity,
            state,
            text: "It is\nwrong.".to_owned(),
            ..Finding::default()
        }
    }

    #[test]
    fn a_later_line_takes_the_place_of_an_earlier_one_and_torn_lines_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        assert_eq!(read(&places).unwrap(), []);
        let first = finding("1", Severity::Blocker, FindingState::Open);
        let second = finding("2", Severity::Minor, FindingState::Open);
        append(&places, &[first.clone(), second.clone()]).unwrap();
        let file = dir.path().join(places.log(FILE));
        std::fs::OpenOptions::new()
            .append(true)
            .open(&file)
            .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"id\":\"3\xc3"))
            .unwrap();
        let resolved = Finding {
            state: FindingState::Resolved,
            commit: "abc".to_owned(),
            ..first
        };
        append(&places, std::slice::from_ref(&resolved)).unwrap();
        assert_eq!(read(&places).unwrap(), [resolved, second]);
        append(&places, &[]).unwrap();
        assert!(std::fs::read(&file).unwrap().ends_with(b"}\n"));
    }

    #[test]
    fn the_summary_counts_what_was_found_and_what_is_open() {
        let all = [
            finding("1", Severity::Blocker, FindingState::Repeated),
            finding("2", Severity::Blocker, FindingState::Resolved),
            finding("3", Severity::Major, FindingState::Open),
            finding("4", Severity::Minor, FindingState::Corrected),
            finding("5", Severity::Blocker, FindingState::Resolved),
        ];
        assert_eq!(
            summary(&all, "cl-1").unwrap(),
            "2 blockers, 1 major, 1 minor; open: 1 major; corrected, and not reviewed again: 1 minor."
        );
        assert_eq!(
            summary(&all[..2], "cl-1").unwrap(),
            "1 blocker; none is open."
        );
        assert_eq!(summary(&all, "cl-2"), None);
        assert_eq!(summary(&[], "cl-1"), None);
    }
}
