//! What is checked out, read from the repository's files: no process is started for it, and a run of the pipeline asks before every commit. Where git keeps its
//! references otherwise (packed, in tables, HEAD as a symbolic link), git is asked.

use std::path::{Component, Path};

use super::repository::{self, Repository};
use crate::base::open;

/// Largest file of a reference in bytes.
const CAP: u64 = 4096;
/// What HEAD begins with when a branch is checked out.
const ON_BRANCH: &str = "ref: refs/heads/";
/// The branch in HEAD where references are in tables (<https://git-scm.com/docs/reftable>).
const IN_TABLES: &str = ".invalid";

/// What HEAD says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HeadFile {
    /// A branch is checked out; its commit, if a file of its own has it.
    Branch(String, Option<String>),
    /// A commit is.
    Detached(String),
}

/// The commit that is checked out in the repository around `dir`; `None` when that takes git, or there is none.
pub(crate) fn commit(dir: &Path) -> Option<String> {
    match read(&repository::find(dir).ok()??)? {
        HeadFile::Branch(_, id) => id,
        HeadFile::Detached(id) => Some(id),
    }
}

/// The commit at which `branch` is, where it is checked out in the repository around `dir`; `None` also when that takes git.
pub(crate) fn commit_on(dir: &Path, branch: &str) -> Option<String> {
    match read(&repository::find(dir).ok()??)? {
        HeadFile::Branch(name, id) if name == branch => id,
        _ => None,
    }
}

/// Reads HEAD; `None` when that takes git.
pub(super) fn read(repository: &Repository) -> Option<HeadFile> {
    let text = text_of(&repository.git().join("HEAD"))?;
    let Some(branch) = text.strip_prefix(ON_BRANCH) else {
        return id_in(&text).map(HeadFile::Detached);
    };
    let path = Path::new(branch);
    let is_name = branch != IN_TABLES
        && !branch.is_empty()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    if !is_name {
        return None;
    }
    let file = repository.common().join("refs/heads").join(path);
    let id = text_of(&file).and_then(|text| id_in(&text));
    Some(HeadFile::Branch(branch.to_owned(), id))
}

/// The text of a file that is no link.
fn text_of(path: &Path) -> Option<String> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = String::from_utf8(open::bytes(path, CAP).ok()?).ok()?;
    Some(text.trim_end().to_owned())
}

fn id_in(text: &str) -> Option<String> {
    let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_owned())
}
