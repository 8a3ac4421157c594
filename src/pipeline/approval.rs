//! Where a run waits for the user, and what was approved: `pipeline-approvals.json` in its logs, changed under a lock of its own, because an approval may come
//! from another terminal while the run holds the lock of the project.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::phase;
use super::places::RunPlaces;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::disk::beneath::Root;
use crate::disk::lock;

/// Names of points, and the phase after which each is.
pub(crate) const POINTS: [(&str, &str); 4] = [
    ("spec", "1a_review"),
    ("design", "1b_review"),
    ("tests", "2b"),
    ("code", "4a"),
];

const FILE: &str = "pipeline-approvals.json";
const CAP: u64 = 1 << 20;
/// Whoever changes the file has it for a moment.
const LOCK_WAIT: Duration = Duration::from_secs(5);

/// The phases that a list of points and phases means.
///
/// # Errors
/// A word is neither.
pub(crate) fn points(list: &str) -> Outcome<Vec<&'static str>> {
    let words = list.split(',').map(str::trim);
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    // Whoever gives the flag wants to be asked.
    let named = if words.is_empty() { vec![""] } else { words };
    named.into_iter().map(point).collect()
}

/// The phase that a point or the name of a phase means.
///
/// # Errors
/// It is neither.
pub(crate) fn point(word: &str) -> Outcome<&'static str> {
    if let Some((_, phase)) = POINTS.iter().find(|(name, _)| *name == word) {
        return Ok(phase);
    }
    phase::named(word).map(|phase| phase.name).map_err(|_| {
        let names = POINTS.map(|(name, _)| name);
        let problem = Problem::input(format!(
            "There is no point of approval \"{}\".",
            clip(&one_line(word), 40)
        ));
        problem.near(word, names).next(format!(
            "Points: {}; the name of a phase is one too.",
            names.join(", ")
        ))
    })
}

/// The name of the point after a phase: that of the phase where it has none.
pub(crate) fn name_of(phase: &str) -> &str {
    let point = POINTS.iter().find(|(_, after)| *after == phase);
    point.map_or(phase, |(name, _)| name)
}

/// What is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Approvals {
    /// The phase after which a run waits, or stopped to wait.
    pub waiting: String,
    pub approved: Vec<Approved>,
}

/// An approval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Approved {
    /// The phase whose work was approved.
    pub phase: String,
    /// When (RFC 3339, UTC).
    pub at: String,
    /// In which way, a few words.
    pub how: String,
}

impl Approvals {
    /// The approval of a phase's work.
    pub(crate) fn of(&self, phase: &str) -> Option<&Approved> {
        self.approved
            .iter()
            .find(|approved| approved.phase == phase)
    }
}

fn path(places: &RunPlaces) -> Outcome<PathBuf> {
    let root = &places.root;
    root.make_folder(&root.check(&places.logs())?)?;
    let rel = root.check_write(&places.log(FILE))?;
    Ok(root.path().join(rel.as_str()))
}

fn parse(places: &RunPlaces, bytes: &[u8]) -> Outcome<Approvals> {
    serde_json::from_slice(bytes).map_err(|error| {
        let path = places.log(FILE);
        Problem::config(format!("{path} cannot be read: {error}."))
            .next("Remove it; what was approved is asked again.")
    })
}

/// What is recorded in the project; nothing when there is no file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read(places: &RunPlaces) -> Outcome<Approvals> {
    let root = &places.root;
    let rel = root.check(&places.log(FILE))?;
    match root.exists(&rel)? {
        true => parse(places, &root.read(&rel, CAP)?),
        false => Ok(Approvals::default()),
    }
}

/// Changes what is recorded. Returns what is recorded then.
fn change(places: &RunPlaces, change: impl FnOnce(&mut Approvals)) -> Outcome<Approvals> {
    let mut now = Approvals::default();
    lock::update(&path(places)?, LOCK_WAIT, |bytes| {
        let before = bytes
            .as_deref()
            .map_or_else(|| Ok(Approvals::default()), |bytes| parse(places, bytes))?;
        now = before.clone();
        change(&mut now);
        Ok((now != before).then(|| serde_json::to_vec_pretty(&now).unwrap_or_default()))
    })?;
    Ok(now)
}

/// Records that a run waits after `phase`.
///
/// # Errors
/// It cannot be recorded.
pub(crate) fn wait(places: &RunPlaces, phase: &str) -> Outcome<()> {
    change(places, |all| phase.clone_into(&mut all.waiting)).map(drop)
}

/// Forgets that a run waits after `phase`.
///
/// # Errors
/// It cannot be recorded.
pub(crate) fn unwait(places: &RunPlaces, phase: &str) -> Outcome<()> {
    let forget = |all: &mut Approvals| {
        if all.waiting == phase {
            all.waiting.clear();
        }
    };
    change(places, forget).map(drop)
}

/// Forgets that a run waited before `next`, which is begun.
///
/// # Errors
/// It cannot be recorded.
pub(crate) fn pass(places: &RunPlaces, next: &str) -> Outcome<()> {
    let waiting = read(places)?.waiting;
    if waiting.is_empty() || phase::position(&waiting) >= phase::position(next) {
        return Ok(());
    }
    change(places, |all| all.waiting.clear()).map(drop)
}

/// Records an approval, unless there is one. Returns the one that counts: the first.
///
/// # Errors
/// It cannot be recorded.
pub(crate) fn approve(places: &RunPlaces, phase: &str, at: String, how: &str) -> Outcome<Approved> {
    let own = Approved {
        phase: phase.to_owned(),
        at,
        how: how.to_owned(),
    };
    let all = change(places, |all| {
        if all.of(phase).is_none() {
            all.approved.push(own.clone());
        }
        if all.waiting == phase {
            all.waiting.clear();
        }
    })?;
    Ok(all.of(phase).cloned().unwrap_or(own))
}

/// Forgets what is recorded about phases: their work is done again.
///
/// # Errors
/// It cannot be recorded.
pub(crate) fn withdraw(places: &RunPlaces, is_gone: impl Fn(&str) -> bool) -> Outcome<()> {
    if read(places)? == Approvals::default() {
        return Ok(());
    }
    let forget = |all: &mut Approvals| {
        all.approved.retain(|approved| !is_gone(&approved.phase));
        if is_gone(&all.waiting) {
            all.waiting.clear();
        }
    };
    change(places, forget).map(drop)
}

/// Asks the user on a terminal.
pub(crate) trait ApprovalPrompt: fmt::Debug + Send + Sync {
    /// Waits for a decision, as long as it takes; an approval from elsewhere, of which `is_approved` knows, is one too.
    ///
    /// # Errors
    /// The run was stopped.
    fn ask(
        &self,
        pending: &PendingApproval<'_>,
        is_approved: &dyn Fn() -> bool,
        stop: &Cancel,
    ) -> Outcome<UserDecision>;
}

/// What waits for approval.
#[derive(Debug)]
pub(crate) struct PendingApproval<'a> {
    pub phase: &'static str,
    pub about: &'static str,
    /// What there is to read: the paths of the phase's documents.
    pub documents: &'a [String],
    /// The project.
    pub root: &'a Root,
}

/// What the user decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UserDecision {
    GoOn,
    /// They may have edited documents.
    Edited,
    /// Something is wrong: in this document, if the phase has some.
    Wrong {
        document: Option<String>,
        words: String,
    },
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_and_phases_are_read_and_slips_are_named() {
        assert_eq!(points("design, tests,3").unwrap(), ["1b_review", "2b", "3"]);
        for nothing in ["", " , "] {
            let problem = points(nothing).unwrap_err().one_line();
            assert!(problem.contains("spec, design, tests"), "{problem}");
        }
        let problem = points("desing").unwrap_err().one_line();
        assert!(
            problem.contains("desing") && problem.contains("design"),
            "{problem}"
        );
        assert_eq!((name_of("1b_review"), name_of("4b")), ("design", "4b"));
    }

    #[test]
    fn the_first_of_two_approvals_counts_and_redone_work_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        wait(&places, "1b_review").unwrap();
        let approve = |at: &str| {
            approve(&places, "1b_review", at.to_owned(), "here")
                .unwrap()
                .at
        };
        let both = std::thread::scope(|scope| {
            let other = scope.spawn(|| approve("yesterday"));
            (approve("today"), other.join().unwrap())
        });
        assert_eq!(both.0, both.1);
        let all = read(&places).unwrap();
        assert_eq!((all.approved.len(), all.waiting.as_str()), (1, ""));
        wait(&places, "2b").unwrap();
        pass(&places, "2b").unwrap();
        assert_eq!(read(&places).unwrap().waiting, "2b");
        pass(&places, "3").unwrap();
        assert_eq!(read(&places).unwrap().waiting, "");
        withdraw(&places, |phase| phase == "2b").unwrap();
        assert!(read(&places).unwrap().of("1b_review").is_some());
        withdraw(&places, |phase| phase == "1b_review").unwrap();
        assert_eq!(read(&places).unwrap(), Approvals::default());
    }
}
