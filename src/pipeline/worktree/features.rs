//! The features of a repository with those that are built in worktrees: where each of them is, and the number of the next.

use std::path::Path;
use std::sync::Arc;

use super::record::{self, WorktreeKind, WorktreeRecord};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;
use crate::disk::beneath::Root;
use crate::pipeline::feature::{FeatureName, find, in_tree, logged};
use crate::pipeline::places::{RunPlaces, number};
use crate::pipeline::record as run_record;
use crate::proc::git::repository;
use crate::tools::engine::context::ToolContext;

/// The worktrees in which features of the project in `root` are built, the oldest first. A repository may have several projects, each in a folder.
pub(crate) fn worktrees(root: &Root) -> Vec<WorktreeRecord> {
    let Some(found) = repository::find(root.path()).ok().flatten() else {
        return Vec::new();
    };
    let folder = found
        .top()
        .and_then(|top| root.path().strip_prefix(top).ok());
    let folder = folder.unwrap_or(Path::new(""));
    let mut records = record::all(found.common());
    records.retain(|record| {
        record.kind == WorktreeKind::Run && !record.feature.is_empty() && record.folder == folder
    });
    records
}

/// The newest of the worktrees in `known` in which the feature is built that `name` means.
pub(super) fn worktree_of(known: &[WorktreeRecord], name: &FeatureName) -> Option<WorktreeRecord> {
    let mut known = known.iter().rev();
    known.find(|record| name.means(&record.feature)).cloned()
}

/// Where the feature `name` of the project in `root` keeps what: in its folder, else in a new one with the next free number.
///
/// # Errors
/// The name has the number of another feature, or of none.
pub(crate) fn places(root: &Arc<Root>, name: &FeatureName) -> Outcome<RunPlaces> {
    Ok(RunPlaces::of_feature(
        Arc::clone(root),
        &folder(root, name)?,
    ))
}

/// The same for a run that begins now in `root` itself: its number is nobody else's from now on.
///
/// # Errors
/// The feature is being built in a worktree; as [`places`].
pub(crate) fn begin_in_place(
    ctx: &ToolContext,
    root: &Arc<Root>,
    name: &FeatureName,
) -> Outcome<RunPlaces> {
    let _lock = match repository::find(root.path())? {
        Some(found) => record::lock(found.common(), &ctx.stop)?,
        None => run_record::lock_features(root, &ctx.stop)?,
    };
    if let Some(own) = worktree_of(&worktrees(root), name).filter(|one| one.merged.is_empty()) {
        return match own.root() == root.path() {
            true => Ok(RunPlaces::of_feature(Arc::clone(root), &own.feature)),
            false => Err(is_elsewhere(&own)),
        };
    }
    let places = places(root, name)?;
    root.make_folder(&root.check(&places.folder())?)?;
    Ok(places)
}

/// The problem when a run in the folder itself would do again what one in a worktree does.
pub(super) fn is_elsewhere(record: &WorktreeRecord) -> Problem {
    let what = match record.feature.as_str() {
        "" => "A run of this task".to_owned(),
        feature => format!("The feature {feature}"),
    };
    Problem::refused(format!(
        "{what} was begun in a worktree, {}, on the branch {}, and is not merged.",
        escape_controls(&record.path.to_string_lossy()),
        record.branch
    ))
    .next("The same command without --in-place and --branch goes on there.")
    .next(format!(
        "To have what there is first: {}",
        record.command(&["merge", &record.name, "--force"])
    ))
    .next(format!(
        "To begin it from its start: {}",
        record.command(&["worktrees", "--remove", &record.name, "--force"])
    ))
}

/// The folder of a feature: the one that the project has, whoever wrote what is in it, else that of a run which has written nothing yet or whose branch is not
/// checked out, else a new one.
///
/// # Errors
/// As [`places`].
pub(super) fn folder(root: &Root, name: &FeatureName) -> Outcome<String> {
    let logged = logged(root);
    let known = find(root, name).or_else(|| {
        let mut logged = logged.iter().rev();
        logged.find(|folder| name.means(folder)).cloned()
    });
    match known {
        Some(folder) => Ok(folder),
        None => next(root, name, logged),
    }
}

/// The folder of a new feature. Numbers of features that are built elsewhere are taken, too, and those that are `logged`.
///
/// # Errors
/// `name` begins with a number itself.
fn next(root: &Root, name: &FeatureName, logged: Vec<String>) -> Outcome<String> {
    if name.number().is_some() {
        return Err(
            Problem::missing(format!("There is no feature {name} here."))
                .next("A new one gets its number by itself: leave that out."),
        );
    }
    let elsewhere = worktrees(root).into_iter().map(|record| record.feature);
    let known = in_tree(root).into_iter().chain(elsewhere).chain(logged);
    let last = known.filter_map(|folder| number(&folder)).max();
    let next = last.unwrap_or_default().checked_add(1).ok_or_else(|| {
        Problem::limit("The features have used up all numbers.")
            .next("Rename the one with the largest number in specs/.")
    })?;
    Ok(format!("{next:03}-{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_feature_gets_the_next_number_and_a_known_one_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let root = Arc::new(Root::open(dir.path()).unwrap());
        let name = |name: &str| FeatureName::parse(name).unwrap();
        let folder = |word: &str| places(&root, &name(word)).unwrap().folder();
        assert_eq!(folder("login"), "specs/001-login");
        for known in ["001-login", "007-search", "notes", "12-old"] {
            std::fs::create_dir_all(dir.path().join("specs").join(known)).unwrap();
        }
        std::fs::write(dir.path().join("specs/099-file"), "").unwrap();
        assert_eq!(in_tree(&root), ["001-login", "007-search"]);
        assert_eq!(folder("login"), "specs/001-login");
        assert_eq!(folder("007-search"), "specs/007-search");
        assert_eq!(folder("export"), "specs/008-export");
        // A run that has written no document yet, or whose branch is not checked out.
        std::fs::create_dir_all(dir.path().join(".marvin/logs/012-notes")).unwrap();
        assert_eq!(folder("notes"), "specs/012-notes");
        assert_eq!(folder("export"), "specs/013-export");
        let ctx = ToolContext::for_tests(crate::base::env::Env::default());
        let begun = begin_in_place(&ctx, &root, &name("export")).unwrap();
        assert_eq!(begun.folder(), "specs/013-export");
        assert_eq!(folder("import"), "specs/014-import");
        let problem = places(&root, &name("003-export")).unwrap_err().one_line();
        assert!(problem.contains("no feature 003-export"), "{problem}");
    }
}
