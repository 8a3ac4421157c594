//! The runs of a project: the one in its folder, those of its features, and those in worktrees of their own.

use std::sync::Arc;
use std::time::Duration;

use super::status::{self, RunState, RunStatus};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::shared_sort::SharedSort as _;
use crate::disk::beneath::Root;
use crate::disk::lock::LockState;
use crate::pipeline::feature::{self, FeatureName};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::{self, RunRecord};
use crate::pipeline::worktree::features::worktrees as own_features;
use crate::pipeline::worktree::record::{self as worktree_record, WorktreeKind, WorktreeRecord};
use crate::proc::git::repository;

/// The worktrees of runs that are there, the newest first.
fn worktrees(root: &Root) -> Vec<(WorktreeRecord, RunPlaces)> {
    let Ok(Some(found)) = repository::find(root.path()) else {
        return Vec::new();
    };
    let records = worktree_record::all(found.common()).into_iter().rev();
    records
        .filter(|record| record.kind == WorktreeKind::Run && record.root() != root.path())
        .filter(|record| record.is_there(found.common()))
        .filter_map(|record| {
            let places = record.places().ok()?;
            Some((record, places))
        })
        .collect()
}

/// The runs of features that were done in the folder itself, the newest first.
fn features(root: &Arc<Root>) -> Vec<RunPlaces> {
    let folders = feature::in_tree(root).into_iter().rev();
    folders
        .map(|folder| RunPlaces::of_feature(Arc::clone(root), &folder))
        .filter(status::is_known)
        .collect()
}

/// The status of every run of the project: those that run come first, then that of the folder itself, then the newest. Of the features that are done in the
/// folder itself the newest alone; `name` asks for one feature.
///
/// # Errors
/// There is none, or what is recorded cannot be read.
pub(crate) fn status(
    root: &Arc<Root>,
    name: Option<&FeatureName>,
    now: Duration,
) -> Outcome<RunStatus> {
    if name.is_some() {
        return status::status(&places_of(Arc::clone(root), name)?, now);
    }
    let mut found = Vec::new();
    let own = RunPlaces::of_project(Arc::clone(root));
    let own = match status::status(&own, now) {
        Err(problem) if problem.kind == ProblemKind::Missing => Some(problem),
        own => {
            found.push(own?);
            None
        }
    };
    for (at, places) in features(root).iter().enumerate() {
        let status = status::status(places, now)?;
        if at == 0 || status.state != RunState::Done {
            found.push(status);
        }
    }
    for (record, places) in worktrees(root) {
        match status::status(&places, now) {
            // It was made, and its run has not begun.
            Err(problem) if problem.kind == ProblemKind::Missing => {}
            status => {
                let mut status = status?;
                status.place.folder = Some(places.root.path().display().to_string());
                status.place.branch = Some(record.branch);
                found.push(status);
            }
        }
    }
    found.shared_sort_by_key(|status| match status.state {
        RunState::Running => 0,
        RunState::Paused | RunState::Failed | RunState::Dead => 1,
        RunState::Done => 2,
        // A state that was merged or cloned along says nothing of a run here.
        RunState::Recorded => 3,
    });
    let mut found = found.into_iter();
    match (found.next(), own) {
        (Some(first), _) => Ok(RunStatus {
            others: found.collect(),
            ..first
        }),
        (None, Some(problem)) => Err(problem),
        (None, None) => Err(status::no_run(
            root,
            "No run of the pipeline is recorded in",
        )),
    }
}

/// The run that somebody in `root` means: that of the feature `name`; without a name one that runs, else the one in the folder itself, else the newest.
///
/// # Errors
/// There is no such feature.
pub(crate) fn places_of(root: Arc<Root>, name: Option<&FeatureName>) -> Outcome<RunPlaces> {
    let mut found = worktrees(&root);
    if let Some(name) = name {
        // Another project of the repository may have a feature of that name.
        let own = own_features(&root);
        let is_meant = |record: &WorktreeRecord| {
            name.means(&record.feature) && own.iter().any(|own| own.name == record.name)
        };
        let there = found.into_iter().find(|(record, _)| is_meant(record));
        return match (there, feature::find(&root, name)) {
            (Some((_, places)), _) => Ok(places),
            (None, Some(folder)) => Ok(RunPlaces::of_feature(root, &folder)),
            (None, None) => Err(no_feature(&root, name)),
        };
    }
    let own = RunPlaces::of_project(Arc::clone(&root));
    let here = features(&root);
    if record::is_running(&root) {
        let is_held =
            |places: &RunPlaces| matches!(record::lock_state(places), Ok(LockState::Held(_)));
        return Ok(here.into_iter().find(is_held).unwrap_or(own));
    }
    let is_running = |(_, places): &(WorktreeRecord, RunPlaces)| record::is_running(&places.root);
    if let Some(at) = found.iter().position(is_running) {
        return Ok(found.swap_remove(at).1);
    }
    let newest = found
        .into_iter()
        .map(|(_, places)| places)
        .chain(here)
        .next();
    // One that is over is not what somebody means who has another one.
    let is_over = || {
        let record = RunRecord::read(&own);
        record.is_ok_and(|record| record.is_some_and(|own| own.finished || own.merged))
    };
    Ok(match newest {
        Some(newest) if !status::is_known(&own) || is_over() => newest,
        _ => own,
    })
}

fn no_feature(root: &Root, name: &FeatureName) -> Problem {
    let known = worktrees(root)
        .into_iter()
        .map(|(record, _)| record.feature);
    let mut known: Vec<String> = known
        .filter(|feature| !feature.is_empty())
        .chain(feature::in_tree(root))
        .collect();
    known.sort();
    known.dedup();
    let problem = Problem::missing(format!(
        "There is no feature {name} in {}.",
        root.path().display()
    ));
    match known.as_slice() {
        [] => problem
            .next("No feature was begun here: marvin --design-first --feature NAME begins one."),
        known => problem.next(format!("There are: {}.", known.join(", "))),
    }
}
