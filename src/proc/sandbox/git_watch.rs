//! What git would run later, watched while a command of a model runs: configuration, hooks and attributes of the workspace's repositories. Changes are put
//! back, and what a command makes anew keeps only what runs nothing.
//!
//! Landlock knows no exceptions inside a folder that is writable, and without a writable `.git` no command could commit.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use super::linked_worktree::{LinkedWorktree, pointer};
use super::noted_files::{
    Noted, NotedFiles, Noting, Role, contents, difference, entries, keep_copies, names, open_base,
    put_back, remove_new,
};
use super::plain_git_text::{plain_config, plain_todo};
use super::repositories::{Elsewhere, MAX_FOLDERS, RepositorySearch, beneath, led_to, named_by};
use crate::base::text::escape_controls;

/// Most repositories of submodules that are looked at.
const MAX_MODULES: usize = 200;
/// How often it is looked at again after changes were put back.
const MAX_ROUNDS: usize = 5;

/// In a repository's folder: files that say what git runs, or from where it reads that.
const FILES: [(&str, Role); 5] = [
    ("config", Role::Config),
    ("config.worktree", Role::Config),
    ("info/attributes", Role::Whole),
    ("commondir", Role::CommonDir),
    ("rebase-merge/git-rebase-todo", Role::RebaseTodo),
];
/// In the folder of a linked worktree: also where its files are.
const WORKTREE_FILES: [(&str, Role); 4] = [
    ("config.worktree", Role::Config),
    ("commondir", Role::CommonDir),
    ("gitdir", Role::WorktreeFiles),
    ("rebase-merge/git-rebase-todo", Role::RebaseTodo),
];
/// Folders of a repository in which git writes to files that are there, as it does at its top.
const WRITTEN: [&str; 11] = [
    "NOTES_MERGE_WORKTREE",
    "info",
    "logs",
    "lost-found",
    "objects/info",
    "objects/pack",
    "rebase-apply",
    "rebase-merge",
    "refs",
    "rr-cache",
    "sequencer",
];
/// Where a repository keeps what belongs to its linked worktrees.
const WORKTREES: &str = "worktrees";
/// The folder of programs that git runs.
const HOOKS: &str = "hooks";
/// In the workspace: what other programs run or obey. It is told, and not put back.
const TOLD: [&str; 3] = [".mcp.json", ".envrc", ".vscode/tasks.json"];

/// What is watched.
#[derive(Debug, Clone, Default)]
pub(crate) struct WatchedPlaces {
    /// The workspace, a real path.
    pub dir: PathBuf,
    /// Real paths of other folders that commands may change, whose repositories are watched too.
    pub added: Vec<PathBuf>,
    /// Files of the workspace that Marvin itself obeys.
    pub files: Vec<PathBuf>,
    /// Folders of the workspace whose files a model obeys.
    pub folders: Vec<PathBuf>,
    /// Programs that Marvin starts outside the sandbox, from the workspace or absolute. They are put back too.
    pub programs: Vec<PathBuf>,
    /// The user's own configuration of git, whose relative paths lead into the workspace.
    pub user_config: Vec<PathBuf>,
}

/// A workspace as it was before a command.
#[derive(Debug)]
pub(crate) struct GitWatch {
    places: WatchedPlaces,
    /// The folders that changes are put back in, open: a command may put something else at their paths.
    bases: Vec<(PathBuf, OwnedFd)>,
    /// The folder of a linked worktree, which lies outside the workspace.
    linked: Option<LinkedWorktree>,
    /// The repositories that lie in the workspace or in an added folder, beside that of the workspace itself.
    repositories: RepositorySearch,
    /// Files and folders of the workspace that git's configuration names: programs, folders of hooks, and further configuration.
    named: Vec<PathBuf>,
    /// By path: in the workspace, or absolute.
    git: NotedFiles,
    told: NotedFiles,
}

/// What a command changed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WatchedChanges {
    /// What git runs.
    pub git: Vec<PathBuf>,
    /// What others run or obey.
    pub told: Vec<PathBuf>,
    /// More was made than is searched for repositories.
    pub is_cut: bool,
}

/// What became of changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PutBack {
    /// They could not be put back.
    pub failed: Vec<PathBuf>,
    /// Where the other versions are.
    pub kept: Option<PathBuf>,
}

/// A change of what git runs.
struct Change {
    /// What is to be there; none if nothing is.
    wanted: Option<Noted>,
    /// What is there is a folder.
    is_folder: bool,
}

impl GitWatch {
    /// Notes what is there now.
    pub(crate) fn note(places: WatchedPlaces) -> Self {
        Self::note_after(places, None)
    }

    /// The same after an earlier look: of the folders in which it searched for repositories only those that have changed are read again.
    pub(crate) fn note_after(mut places: WatchedPlaces, earlier: Option<Self>) -> Self {
        let (dir, added) = (&places.dir, &places.added);
        let earlier =
            earlier.filter(|watch| watch.places.dir == *dir && watch.places.added == *added);
        let repositories = match earlier {
            Some(watch) => watch.repositories.again(dir, added),
            None => RepositorySearch::of(dir, added),
        };
        let programs = places.programs.iter();
        places.programs = programs
            .filter_map(|path| beneath(&places.dir, path))
            .collect();
        let linked = LinkedWorktree::of(&places.dir);
        let own = linked.iter().flat_map(|it| [&it.own, &it.common]);
        let bases = own.chain(&places.added).chain([&places.dir]);
        let bases = bases.filter_map(|base| Some((base.clone(), open_base(base).ok()?)));
        let mut watch = Self {
            bases: bases.collect(),
            linked,
            repositories,
            places,
            named: Vec::new(),
            git: NotedFiles::new(),
            told: NotedFiles::new(),
        };
        watch.git = watch.git_now(None);
        watch.named = watch.named();
        if !watch.named.is_empty() {
            watch.git = watch.git_now(None);
        }
        watch.told = watch.told_now(None);
        watch
    }

    /// What is said where not all folders were searched for repositories.
    pub(crate) fn cut_words(&self) -> Option<String> {
        self.repositories.is_cut.then(|| {
            format!(
                "Not every folder of {} is searched for repositories of git: there are more than {MAX_FOLDERS}, or some lie too deep or cannot be read. What a command changes of the configuration and hooks of others is not put back.",
                escape_controls(&self.places.dir.display().to_string())
            )
        })
    }

    fn named(&self) -> Vec<PathBuf> {
        let dir = self.places.dir.as_path();
        let mut noting = Noting {
            dir,
            before: None,
            noted: NotedFiles::new(),
        };
        for path in &self.places.user_config {
            noting.file(path, Role::Config);
        }
        named_by(&self.git, &noting.noted, dir)
    }

    /// A command has ended: what git could not end in the sandbox of a linked worktree is ended.
    pub(crate) fn conclude(&self) {
        self.linked.iter().for_each(LinkedWorktree::conclude);
    }

    /// What is different now.
    pub(crate) fn changes(&self) -> WatchedChanges {
        let made = self.repositories.new_since(&self.places.dir);
        WatchedChanges {
            git: self.git_changes(&made).into_keys().collect(),
            told: difference(&self.told, &self.told_now(Some(&self.told))),
            is_cut: made.is_cut,
        }
    }

    fn git_changes(&self, made: &RepositorySearch) -> BTreeMap<PathBuf, Change> {
        let now = self.git_now(Some(made));
        let crowded: Vec<&PathBuf> = of_folders(&now).collect();
        let changed = difference(&self.git, &now).into_iter().filter_map(|path| {
            let found = now.get(&path);
            // The folder stands for what is in it.
            let is_hidden = |folder: &&PathBuf| path.starts_with(folder) && path != **folder;
            if crowded.iter().any(is_hidden) {
                return None;
            }
            let wanted = self.wanted(&path, found);
            let is_as_wanted = match (&wanted, found) {
                (Some(wanted), Some(found)) => wanted.is_in(found),
                (wanted, found) => wanted.is_none() && found.is_none(),
            };
            let is_folder = found.is_some_and(Noted::is_folder);
            (!is_as_wanted).then_some((path, Change { wanted, is_folder }))
        });
        changed.collect()
    }

    /// What is to be at `path`, where `now` is: what was there, or of what is new as much as runs nothing. Worktrees and repositories are made and removed, by
    /// Marvin's own agents too.
    fn wanted(&self, path: &Path, now: Option<&Noted>) -> Option<Noted> {
        let before = self.git.get(path);
        let role = before.or(now)?.role;
        if role == Role::RebaseTodo {
            let known = before.and_then(|before| before.bytes.as_deref());
            return now?.reduced(|text| plain_todo(text, known.unwrap_or_default()));
        }
        if let Some(before) = before {
            let is_gone = now.is_none() && self.is_gone(path);
            return (!is_gone).then(|| before.clone());
        }
        let now = now?;
        let is_copy = |noted: &Noted| noted.role == role && noted.has_content_of(now);
        let is_left = match role {
            Role::GitFile => self.led_to(path).is_ok(),
            Role::CommonDir => self.is_own_worktree(path),
            Role::WorktreeFiles => true,
            // What was moved or copied within the workspace; and where there were too many files it is not known which are new.
            Role::Whole | Role::Config | Role::RebaseTodo => {
                self.git.values().any(is_copy)
                    || of_folders(&self.git).any(|folder| path.starts_with(folder))
            }
        };
        match role {
            _ if is_left => Some(now.clone()),
            Role::Config => now.reduced(plain_config),
            _ => None,
        }
    }

    /// Whether the repository or worktree to which `path` belonged is gone.
    fn is_gone(&self, path: &Path) -> bool {
        let is_there = |path: &Path| fs::symlink_metadata(self.places.dir.join(path)).is_ok();
        let nested = self.repositories.found.iter();
        let mut nested = nested.filter(|repository| path.starts_with(repository));
        if nested.any(|repository| !is_there(repository)) {
            return true;
        }
        let mut folders = path.ancestors().skip(1);
        let worktree = folders.find(|folder| {
            let worktrees = folder.parent().filter(|above| above.ends_with(WORKTREES));
            worktrees.is_some_and(|above| {
                fs::symlink_metadata(self.places.dir.join(above)).is_ok_and(|found| found.is_dir())
            })
        });
        worktree.is_some_and(|worktree| !is_there(worktree))
    }

    fn led_to(&self, path: &Path) -> Result<PathBuf, Elsewhere> {
        led_to(&self.places.dir, &self.places.added, path)
    }

    /// Whether `path`, the `commondir` of a worktree, names the repository that the worktree's folder lies in.
    fn is_own_worktree(&self, path: &Path) -> bool {
        let own = self.places.dir.join(path);
        let Some(own) = own.parent() else {
            return false;
        };
        let named = pointer(&own.join("commondir")).unwrap_or_default();
        let above = own.parent().filter(|above| above.ends_with(WORKTREES));
        let repository = above.and_then(Path::parent);
        repository.is_some_and(|repository| {
            let named = own.join(named.trim()).canonicalize();
            named.is_ok_and(|named| repository.canonicalize().is_ok_and(|real| real == named))
        })
    }

    /// Whether one of [`WatchedPlaces::programs`] is among `changed`.
    pub(crate) fn has_program(&self, changed: &[PathBuf]) -> bool {
        changed
            .iter()
            .any(|path| self.places.programs.contains(path))
    }

    /// The files among `changed` with what is in them now.
    pub(crate) fn contents<'a>(
        &'a self,
        changed: &'a [PathBuf],
    ) -> impl Iterator<Item = (&'a PathBuf, Vec<u8>)> {
        contents(&self.places.dir, changed)
    }

    /// The same with what is there now of what is told: it was told.
    #[must_use]
    pub(crate) fn after_telling(mut self) -> Self {
        self.told = self.told_now(Some(&self.told));
        self
    }

    /// Makes what was changed what it was. What it is instead is copied into the new folder `keep` first: the user may have changed it while the command ran.
    pub(crate) fn put_back(&self, changed: &[PathBuf], keep: Option<&Path>) -> PutBack {
        let kept = keep.filter(|keep| keep_copies(&self.places.dir, changed, keep));
        let seen = || self.git_changes(&self.repositories.new_since(&self.places.dir));
        let mut left = seen();
        // Of a large folder not everything is seen at once.
        for _ in 0..MAX_ROUNDS {
            let failed = self.put_back_seen(&left);
            left = seen();
            if left.keys().all(|path| failed.contains(path)) {
                break;
            }
        }
        PutBack {
            failed: left.into_keys().collect(),
            kept: kept.map(Path::to_owned),
        }
    }

    fn put_back_seen(&self, changes: &BTreeMap<PathBuf, Change>) -> Vec<PathBuf> {
        let failed = |(path, change): &(&PathBuf, &Change)| {
            let Some((base, rest)) = self.base_of(path) else {
                return true;
            };
            let is_new = !self.git.contains_key(*path);
            let done = match change.is_folder && change.wanted.is_none() {
                true => remove_new(base, rest, |name| self.git.contains_key(&path.join(name))),
                false => put_back(base, rest, change.wanted.as_ref(), !is_new),
            };
            done.is_err()
        };
        // What is new goes first: it may be in the place of a folder.
        let is_new = |(path, _): &(&PathBuf, &Change)| !self.git.contains_key(*path);
        let new = changes.iter().filter(is_new);
        let old = changes.iter().filter(|change| !is_new(change));
        let failed = new.chain(old).filter(failed);
        failed.map(|(path, _)| path.clone()).collect()
    }

    /// The folder in which `path` is put back, and the rest of the path in it.
    fn base_of<'a>(&'a self, path: &'a Path) -> Option<(&'a OwnedFd, &'a Path)> {
        let mut bases = self.bases.iter();
        bases.find_map(|(base, handle)| match path.is_absolute() {
            true => Some((handle, path.strip_prefix(base).ok()?)),
            false => (*base == self.places.dir).then_some((handle, path)),
        })
    }

    /// What is there: of the repositories noted before, and of those `made` since.
    fn git_now(&self, made: Option<&RepositorySearch>) -> NotedFiles {
        let mut noting = Noting {
            dir: &self.places.dir,
            before: made.map(|_| &self.git),
            noted: NotedFiles::new(),
        };
        let own = PathBuf::from(".git");
        let made = made.into_iter().flat_map(|made| &made.found);
        let nested = self.repositories.found.iter().chain(made);
        for path in std::iter::once(&own).chain(nested) {
            let found = fs::symlink_metadata(self.places.dir.join(path));
            if found.as_ref().is_ok_and(|found| found.is_dir()) {
                note_repository(&mut noting, path);
            } else if found.is_ok() {
                // A link, or the file that names the repository of a linked worktree or a submodule.
                noting.file(path, Role::GitFile);
                if let Ok(repository) = self.led_to(path) {
                    note_repository(&mut noting, &repository);
                    // That of a linked worktree takes its configuration and hooks from the one around it.
                    let around = repository
                        .parent()
                        .filter(|above| above.ends_with(WORKTREES));
                    let around = around
                        .and_then(Path::parent)
                        .filter(|around| *around != own);
                    if let Some(around) = around {
                        note_repository(&mut noting, around);
                    }
                }
            }
        }
        if let Some(linked) = &self.linked {
            note_worktree(&mut noting, &linked.own);
            note_links(&mut noting, &linked.common);
        }
        for program in &self.places.programs {
            let found = fs::symlink_metadata(self.places.dir.join(program));
            if !found.is_ok_and(|found| found.is_dir()) {
                noting.file(program, Role::Whole);
            }
        }
        for path in &self.named {
            let found = fs::symlink_metadata(self.places.dir.join(path));
            match found.is_ok_and(|found| found.is_dir()) {
                true => noting.folder(path, 1),
                false => noting.file(path, Role::Whole),
            }
        }
        noting.noted
    }

    fn told_now(&self, before: Option<&NotedFiles>) -> NotedFiles {
        let places = &self.places;
        let mut noting = Noting {
            dir: &places.dir,
            before,
            noted: NotedFiles::new(),
        };
        let others = TOLD.iter().map(Path::new);
        for path in places.files.iter().map(PathBuf::as_path).chain(others) {
            noting.file(path, Role::Whole);
        }
        for folder in &places.folders {
            noting.folder(folder, 3);
        }
        noting.noted
    }
}

/// Folders with more files than are noted.
fn of_folders(noted: &NotedFiles) -> impl Iterator<Item = &PathBuf> {
    let folders = noted.iter().filter(|(_, noted)| noted.is_folder());
    folders.map(|(path, _)| path)
}

/// Notes a repository, and those of its worktrees and submodules.
fn note_repository(noting: &mut Noting<'_>, repository: &Path) {
    note_own(noting, repository);
    let worktrees = repository.join(WORKTREES);
    for name in names(&noting.dir.join(&worktrees)) {
        note_worktree(noting, &worktrees.join(name));
    }
    let mut modules = MAX_MODULES;
    note_modules(noting, &repository.join("modules"), &mut modules, 4);
}

fn note_own(noting: &mut Noting<'_>, repository: &Path) {
    note_links(noting, repository);
    for (name, role) in FILES {
        noting.file(&repository.join(name), role);
    }
    let hooks = repository.join(HOOKS);
    match fs::symlink_metadata(noting.dir.join(&hooks)) {
        Ok(found) if found.is_dir() => noting.folder(&hooks, 1),
        // A link in its place leads to other programs.
        Ok(_) => noting.file(&hooks, Role::Whole),
        Err(_) => {}
    }
}

/// Notes links through which git would write elsewhere: what it logs of a branch whose name is a command would run in a shell's start file. References may be
/// links to others; see `core.preferSymlinkRefs` in git-config(1).
fn note_links(noting: &mut Noting<'_>, repository: &Path) {
    let objects = fs::symlink_metadata(noting.dir.join(repository.join("objects")));
    let has_objects = objects.is_ok_and(|found| found.is_dir());
    let written = WRITTEN
        .iter()
        .filter(|name| has_objects || !name.starts_with("objects/"));
    let mut folders: Vec<PathBuf> = written.map(|name| repository.join(name)).collect();
    folders.push(repository.to_owned());
    while let Some(folder) = folders.pop() {
        for (name, kind) in entries(&noting.dir.join(&folder)).into_iter().flatten() {
            if kind.is_symlink() {
                let path = folder.join(name);
                if !leads_to_reference(&noting.dir.join(&path)) {
                    noting.file(&path, Role::Whole);
                }
            } else if kind.is_dir() && folder != repository {
                folders.push(folder.join(name));
            }
        }
    }
}

fn leads_to_reference(link: &Path) -> bool {
    let target = fs::read_link(link).unwrap_or_default();
    target.starts_with("refs") && !target.components().any(|part| part == Component::ParentDir)
}

fn note_worktree(noting: &mut Noting<'_>, own: &Path) {
    note_links(noting, own);
    for (name, role) in WORKTREE_FILES {
        noting.file(&own.join(name), role);
    }
}

/// Repositories of submodules, whose names may have several parts.
fn note_modules(noting: &mut Noting<'_>, folder: &Path, left: &mut usize, depth: usize) {
    for name in names(&noting.dir.join(folder)) {
        if *left == 0 {
            return;
        }
        let module = folder.join(name);
        let place = noting.dir.join(&module);
        if !fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
            continue;
        }
        if place.join("HEAD").exists() {
            *left -= 1;
            note_own(noting, &module);
            if depth > 0 {
                note_modules(noting, &module.join("modules"), left, depth - 1);
            }
        } else if depth > 0 {
            note_modules(noting, &module, left, depth - 1);
        }
    }
}

#[cfg(test)]
mod tests;
