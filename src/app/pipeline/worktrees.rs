//! The runs of a project: the one in its folder, those of its features, and those in worktrees of their own.

use std::sync::Arc;

use super::status::{self, RunState, RunStatus};
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::shared_sort::SharedSort as _;
use crate::disk::beneath::Root;
use crate::disk::lock::LockState;
use crate::pipeline::approval;
use crate::pipeline::feature::{self, FeatureName};
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record;
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

/// Whether a state is there, which may have come with a clone or a merge.
fn is_recorded(places: &RunPlaces) -> bool {
    let state = places.root.check(&places.state());
    state
        .and_then(|rel| places.root.exists(&rel))
        .unwrap_or(false)
}

/// The runs of features that were done in the folder itself, the newest first.
fn features(root: &Arc<Root>) -> Vec<RunPlaces> {
    let folders = feature::in_tree(root).into_iter().rev();
    folders
        .map(|folder| RunPlaces::of_feature(Arc::clone(root), &folder))
        .filter(|places| status::is_known(places) || is_recorded(places))
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
    env: &Env,
    clock: &Clock,
) -> Outcome<RunStatus> {
    if name.is_some() {
        return status::status(&places_of(Arc::clone(root), name)?, env, clock);
    }
    let mut found = Vec::new();
    let own = RunPlaces::of_project(Arc::clone(root));
    let own = match status::status(&own, env, clock) {
        Err(problem) if problem.kind == ProblemKind::Missing => Some(problem),
        own => {
            found.push(own?);
            None
        }
    };
    for (record, places) in worktrees(root) {
        match status::status(&places, env, clock) {
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
    for (at, places) in features(root).iter().enumerate() {
        let status = status::status(places, env, clock)?;
        let is_over = matches!(status.state, RunState::Done | RunState::Recorded);
        if at == 0 || !is_over {
            found.push(status);
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

/// The run that somebody in `root` means: that of the feature `name`; without a name that of the worktree in which they are, else one that runs, else one
/// that is not over: the one in the folder itself, or the newest; else the same among those that are.
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
    if let Some(own) = own_run(&root) {
        return Ok(own);
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
    let others: Vec<(RunPlaces, bool)> = found
        .into_iter()
        .map(|(record, places)| {
            let is_over = !record.merged.is_empty() || is_over(&places);
            (places, is_over)
        })
        .chain(here.into_iter().map(|places| {
            let is_over = is_over(&places);
            (places, is_over)
        }))
        .collect();
    let is_own_known = status::is_known(&own);
    if is_own_known && !is_over(&own) {
        return Ok(own);
    }
    let open = others.iter().position(|(_, is_over)| !is_over);
    // Whoever has another one does not mean one that is over.
    let mut others = others.into_iter();
    Ok(match others.nth(open.unwrap_or_default()) {
        Some((other, _)) => other,
        None => own,
    })
}

/// Where a run of `task` that is started in `root` goes on, or begins.
pub(crate) fn places_of_task(root: &Arc<Root>, task: &str) -> RunPlaces {
    let mut found = worktrees(root).into_iter();
    let of_task = found.find(|(record, _)| record.is_run_of(task));
    let goes_on = of_task.filter(|(record, _)| record.merged.is_empty());
    goes_on.map_or_else(
        || RunPlaces::of_project(Arc::clone(root)),
        |(_, places)| places,
    )
}

/// Whether nothing is left to do in a run; so it is where only the committed state says something of it.
fn is_over(places: &RunPlaces) -> bool {
    let record = record::known(places);
    record.is_ok_and(|record| record.is_none_or(|one| one.finished || one.merged))
}

/// The run whose work somebody in `root` approves: as [`places_of`], but one that waits for it, and for the approval of `point`, if that is given.
///
/// # Errors
/// There is no such feature; several runs wait, and none is named.
pub(crate) fn to_approve(
    root: &Arc<Root>,
    name: Option<&FeatureName>,
    point: Option<&str>,
) -> Outcome<RunPlaces> {
    let meant = places_of(Arc::clone(root), name)?;
    if name.is_some() || own_run(root).is_some() {
        return Ok(meant);
    }
    let point = point.map(approval::point).transpose()?;
    let waiting = |places: &RunPlaces| {
        let waiting = waiting(places)?;
        point
            .is_none_or(|point| point == waiting)
            .then_some(waiting)
    };
    let others = worktrees(root).into_iter().map(|(_, places)| places);
    let all = [RunPlaces::of_project(Arc::clone(root))].into_iter();
    let all = all.chain(others).chain(features(root));
    let mut waits: Vec<RunPlaces> = all.filter(|places| waiting(places).is_some()).collect();
    let is_of_folder = |one: &RunPlaces| one.feature().is_none() && one.root.path() == root.path();
    match waits.len() {
        0 => Ok(meant),
        1 => Ok(waits.remove(0)),
        // Its folder and the point are all that it is named by.
        _ if point.is_some() && waits.iter().any(is_of_folder) => {
            Ok(RunPlaces::of_project(Arc::clone(root)))
        }
        _ => {
            let problem = Problem::input("Several runs wait for an approval; which one is meant?");
            Err(waits.iter().fold(problem, |problem, places| {
                let point = waiting(places).unwrap_or_default();
                problem.next(places.command(&["approve", approval::name_of(&point)]))
            }))
        }
    }
}

/// The phase whose approval a run waits for.
fn waiting(places: &RunPlaces) -> Option<String> {
    let waiting = approval::read(places).ok()?.waiting;
    (!waiting.is_empty()).then_some(waiting)
}

/// The run whose worktree the folder is.
fn own_run(root: &Arc<Root>) -> Option<RunPlaces> {
    let record = worktree_record::of(root).filter(|record| record.kind == WorktreeKind::Run)?;
    (record.root() == root.path()).then(|| RunPlaces::of_feature(Arc::clone(root), &record.feature))
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
