//! Documents that the work must agree with, for children to read: those of the project above are copied before the first phase, and nobody here changes
//! them, because the fence refuses to write below their folder. A feature has those of the project and of its other features besides: where they are, and
//! copies in its logs of those that are built elsewhere and not merged.

use std::path::Path;
use std::sync::Arc;

use super::places::RunPlaces;
use super::worktree::features;
use super::{Run, feature, worktree};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::beneath::{DirEntry, Root};
use crate::disk::paths::{FEATURES, PROJECT_UPSTREAM};

/// Documents that are copied when they are there.
const NAMES: [&str; 8] = [
    "MARVIN_API_SPEC.md",
    "MARVIN_SPEC.md",
    "MARVIN_DESIGN.md",
    "TOOLS.md",
    "SHARP_EDGES.md",
    "REFERENCE.md",
    "WEB_SPEC.md",
    "WEB_DESIGN.md",
];
/// Every folder may have one of these, so it is copied only from a project: a folder with another document or a repository.
const README: &str = "README.md";
/// Largest document in bytes.
const CAP: u64 = 5 << 20;

/// Copies the documents of the folder above the project, and of the program's, into `.marvin/upstream`: those that are new or newer than their copy. One
/// that is a link or cannot be read is told and left out.
///
/// # Errors
/// A copy cannot be written.
pub(crate) fn copy(run: &Run) -> Outcome<()> {
    // In a worktree, the one above the folder from which it was made.
    let origin = worktree::record::of(run.root()).map(|record| record.origin);
    let project = origin.as_deref().unwrap_or(run.root().path());
    let folders = [project.parent(), run.program.parent()];
    for folder in folders.into_iter().flatten() {
        for name in documents(folder) {
            copy_one(run, &folder.join(name), name)?;
        }
    }
    copy_features(run)
}

/// The folder of copies, in the logs.
const UNMERGED: &str = "upstream";

/// Copies what other features have written so far: those that are built in worktrees, and those that were merged after the branch of this one began.
fn copy_features(run: &Run) -> Outcome<()> {
    let Some(own) = run.places.feature() else {
        return Ok(());
    };
    let root = run.root();
    let here = feature::in_tree(root);
    let mut others: Vec<RunPlaces> = Vec::new();
    let origin = worktree::record::of(root).and_then(|own| Root::open(&own.origin).ok());
    if let Some(origin) = origin.map(Arc::new) {
        let merged = feature::in_tree(&origin).into_iter();
        others.extend(merged.map(|name| RunPlaces::of_feature(Arc::clone(&origin), &name)));
    }
    let built = features::worktrees(root).into_iter();
    others.extend(built.filter_map(|record| record.places().ok()));
    for places in others {
        let name = places.feature().unwrap_or_default();
        if name == own || here.iter().any(|here| here == name) {
            continue;
        }
        for path in left_by(&places) {
            let text = places
                .root
                .check(&path)
                .and_then(|rel| places.root.read(&rel, CAP));
            match text {
                Ok(text) => {
                    let to = run.places.log(&format!("{UNMERGED}/{path}"));
                    root.put(&root.check(&to)?, &text)?;
                }
                Err(problem) => run.warn(format!("{path} is not copied: {}", problem.one_line())),
            }
        }
    }
    Ok(())
}

/// The paths of the documents that children may look up.
pub(crate) fn paths(run: &Run) -> Vec<String> {
    let root = run.root();
    let mut paths = names_in(root, PROJECT_UPSTREAM);
    let Some(own) = run.places.feature() else {
        return paths;
    };
    paths.extend(left_by(&RunPlaces::of_project(Arc::clone(root))));
    let here = feature::in_tree(root);
    for other in here.iter().filter(|other| *other != own) {
        paths.extend(left_by(&RunPlaces::of_feature(Arc::clone(root), other)));
    }
    let copies = run.places.log(&format!("{UNMERGED}/{FEATURES}"));
    for other in names_in(root, &copies) {
        let is_here = here.iter().any(|here| other.ends_with(&format!("/{here}")));
        if !is_here {
            paths.extend(names_in(root, &other));
        }
    }
    paths
}

/// What is in a folder, by its path.
fn names_in(root: &Root, folder: &str) -> Vec<String> {
    let list = || -> Outcome<Vec<DirEntry>> {
        let rel = root.check(folder)?;
        match root.exists(&rel)? {
            true => root.list(&rel),
            false => Ok(Vec::new()),
        }
    };
    let names = list().unwrap_or_default().into_iter();
    names
        .map(|entry| format!("{folder}/{}", entry.name))
        .collect()
}

/// The documents and the list of tests that a run has left.
fn left_by(places: &RunPlaces) -> Vec<String> {
    let is_there = |path: &String| {
        let rel = places.root.check(path);
        rel.is_ok_and(|rel| places.root.exists(&rel).unwrap_or(false))
    };
    let documents = places.documents().into_iter();
    documents.chain(places.tests()).filter(is_there).collect()
}

fn documents(folder: &Path) -> Vec<&'static str> {
    let mut found: Vec<&str> = NAMES
        .into_iter()
        .filter(|name| folder.join(name).is_file())
        .collect();
    let is_project = !found.is_empty() || folder.join(".git").exists();
    if is_project && folder.join(README).is_file() {
        found.push(README);
    }
    found
}

fn copy_one(run: &Run, from: &Path, name: &str) -> Outcome<()> {
    let folder = run.root().path().join(PROJECT_UPSTREAM);
    atomic::make_folder(&folder, Access::Private)?;
    let to = folder.join(name);
    let is_link = to.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    let is_inside = folder
        .canonicalize()
        .is_ok_and(|folder| folder.starts_with(run.root().path()));
    if is_link || !is_inside {
        return Err(Problem::refused(format!(
            "{PROJECT_UPSTREAM} leads out of the project through a symbolic link."
        ))
        .next("Remove the link."));
    }
    // Whoever made the repository chose where it leads; what is copied goes to a provider and into commits.
    if from.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
        run.warn(format!(
            "{} is not copied, because it is a symbolic link.",
            from.display()
        ));
        return Ok(());
    }
    let age = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    if to.exists() && age(&to) >= age(from) {
        return Ok(());
    }
    match open::text(from, CAP) {
        Ok(text) if text.contains('\0') => {
            run.warn(format!("{} is not copied: it is no text.", from.display()));
            Ok(())
        }
        Ok(text) => atomic::write(&to, text.as_bytes(), Access::Private),
        Err(error) => {
            run.warn(format!("{} is not copied: {error}.", from.display()));
            Ok(())
        }
    }
}
