//! What git would run later, watched while a command of a model runs: configuration, hooks and attributes of the workspace's repositories. Changes are put
//! back, and what a command makes anew keeps only what runs nothing.
//!
//! Landlock knows no exceptions inside a folder that is writable, and without a writable `.git` no command could commit.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

pub(crate) use self::changes::{PutBack, WatchedChanges, list};
use super::folders::is_there;
use super::linked_worktree::{LinkedWorktree, pointer};
use super::noted_files::{
    Noted, NotedFiles, Noting, Role, SeenFolders, difference, keep_copies, open_base, put_back,
    remove_new,
};
use super::plain_git_text::{has_other_settings_of, plain_config, plain_todo, plain_worktree};
use super::repositories::{Elsewhere, MAX_FOLDERS, RepositorySearch, beneath, led_to, named_by};
use crate::base::text::escape_controls;

/// Most repositories of submodules that are looked at.
const MAX_MODULES: usize = 200;
/// How often it is looked at again after changes were put back.
const MAX_ROUNDS: usize = 5;

/// In a repository's folder: files that say what git runs, or from where it reads that.
const FILES: [(&str, Role); 5] = [
    ("config", Role::Config),
    ("config.worktree", Role::WorktreeConfig),
    ("info/attributes", Role::Whole),
    ("commondir", Role::CommonDir),
    ("rebase-merge/git-rebase-todo", Role::RebaseTodo),
];
/// In the folder of a linked worktree: also where its files are.
const WORKTREE_FILES: [(&str, Role); 4] = [
    ("config.worktree", Role::WorktreeConfig),
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
/// Where it keeps the repositories of submodules.
const MODULES: &str = "modules";
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
    /// Folders of repositories, as far as links were looked for in them.
    seen: SeenFolders,
    /// Those that could not be listed.
    closed: Vec<PathBuf>,
}

/// What is there now.
struct Now {
    git: NotedFiles,
    given_back: Vec<PathBuf>,
    closed: Vec<PathBuf>,
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
        let (repositories, seen) = match earlier {
            Some(watch) => (watch.repositories.again(dir, added), watch.seen),
            None => (RepositorySearch::of(dir, added), SeenFolders::new()),
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
            seen: SeenFolders::new(),
            closed: Vec::new(),
        };
        let mut noting = Noting::new(&watch.places.dir, Some(&seen));
        watch.note_repositories(&mut noting, None);
        let named = watch.named(&noting.noted);
        note_named(&mut noting, &named);
        let (git, seen, closed) = (noting.noted, noting.seen, noting.closed);
        (watch.git, watch.seen, watch.closed, watch.named) = (git, seen, closed, named);
        watch.told = watch.told_now(None);
        watch
    }

    /// What is said where not all folders were searched for repositories.
    pub(crate) fn cut_words(&self) -> Option<String> {
        let closed = self.repositories.closed.iter().chain(&self.closed);
        let is_cut = self.repositories.is_cut || closed.count() > 0;
        is_cut.then(|| {
            format!(
                "Not every folder of {} is searched for repositories of git: there are more than {MAX_FOLDERS}, or some lie too deep or cannot be read. What a command changes of the configuration and hooks of others is not put back.",
                escape_controls(&self.places.dir.display().to_string())
            )
        })
    }

    fn named(&self, noted: &NotedFiles) -> Vec<PathBuf> {
        let dir = self.places.dir.as_path();
        let mut noting = Noting::new(dir, None);
        for path in &self.places.user_config {
            noting.file(path, Role::Config);
        }
        named_by(noted, &noting.noted, dir)
    }

    /// A command has ended: what git could not end in the sandbox of a linked worktree is ended.
    pub(crate) fn conclude(&self) {
        self.linked.iter().for_each(LinkedWorktree::conclude);
    }

    /// What is different now. Rights to folders that a command has taken away are given back first: it may hide something there.
    pub(crate) fn changes(&self) -> WatchedChanges {
        let made = self.repositories.new_since(&self.places.dir);
        let now = self.now(&made);
        let unique = |folders: Vec<PathBuf>, others: &[PathBuf]| {
            let all: BTreeSet<PathBuf> = folders.into_iter().chain(others.to_owned()).collect();
            all.into_iter().collect::<Vec<_>>()
        };
        let mut closed = unique(now.closed, &made.closed);
        closed.retain(|path| !self.closed.contains(path));
        let git: Vec<PathBuf> = self.git_changes(&now.git).into_keys().collect();
        let mut found = now.git;
        found.retain(|path, _| git.binary_search(path).is_ok());
        WatchedChanges {
            git,
            found,
            told: difference(&self.told, &self.told_now(Some(&self.told))),
            is_cut: made.is_cut,
            given_back: unique(now.given_back, &made.given_back),
            closed: tops(closed),
        }
    }

    fn seen_changes(&self) -> BTreeMap<PathBuf, Change> {
        let made = self.repositories.new_since(&self.places.dir);
        self.git_changes(&self.now(&made).git)
    }

    fn git_changes(&self, now: &NotedFiles) -> BTreeMap<PathBuf, Change> {
        let crowded: Vec<&PathBuf> = of_folders(now).collect();
        let changed = difference(&self.git, now).into_iter().filter_map(|path| {
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
        let is_top = |value: &str| self.is_top_of(path, value);
        if let (Some(before), Some(now), Role::WorktreeConfig) = (before, now, role) {
            let settings = before.bytes.as_deref().zip(now.bytes.as_deref());
            if settings.is_some_and(|(before, now)| has_other_settings_of(before, now)) {
                return now.reduced(<[u8]>::to_vec);
            }
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
            Role::Whole | Role::Config | Role::WorktreeConfig | Role::RebaseTodo => {
                self.git.values().any(is_copy)
                    || of_folders(&self.git).any(|folder| path.starts_with(folder))
            }
        };
        match role {
            _ if is_left => Some(now.clone()),
            Role::Config => now.reduced(|text| plain_config(text, is_top)),
            Role::WorktreeConfig => now.reduced(|text| plain_worktree(text, is_top)),
            _ => None,
        }
    }

    /// Whether the repository or worktree to which `path` belonged is gone.
    fn is_gone(&self, path: &Path) -> bool {
        let is_there = |path: &Path| is_there(&self.places.dir.join(path));
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

    /// Whether `value`, the `core.worktree` in the configuration at `path`, is where the files of a submodule are: the folder whose `.git` leads back.
    fn is_top_of(&self, path: &Path, value: &str) -> bool {
        let dir = &self.places.dir;
        let Some(repository) = path.parent() else {
            return false;
        };
        let is_module = repository.parent().is_some_and(|above| {
            let mut parts = above.components();
            parts.any(|part| part.as_os_str() == MODULES)
        });
        let top = beneath(dir, &dir.join(repository).join(value));
        let Some(top) = top.filter(|_| is_module && Path::new(value).is_relative()) else {
            return false;
        };
        let is_real = dir.join(&top).canonicalize().ok() == Some(dir.join(&top));
        let leads_back = self.led_to(&top.join(".git"));
        is_real && leads_back.is_ok_and(|led_to| led_to == repository)
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

    /// The same with what a person has agreed to: exactly that, and not what is there by now.
    #[must_use]
    pub(crate) fn after_keeping(mut self, agreed: &WatchedChanges) -> Self {
        self.git.retain(|path, _| !agreed.git.contains(path));
        self.git.extend(agreed.found.clone());
        self
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
        let mut left = self.seen_changes();
        let mut aside = Vec::new();
        // Of a large folder not everything is seen at once.
        for _ in 0..MAX_ROUNDS {
            let failed = self.put_back_seen(&left, &mut aside);
            left = self.seen_changes();
            if left.keys().all(|path| failed.contains(path)) {
                break;
            }
        }
        PutBack {
            failed: left.into_keys().collect(),
            aside,
            kept: kept.map(Path::to_owned),
        }
    }

    fn put_back_seen(
        &self,
        changes: &BTreeMap<PathBuf, Change>,
        aside: &mut Vec<PathBuf>,
    ) -> Vec<PathBuf> {
        let mut is_failure = |(path, change): &(&PathBuf, &Change)| {
            let Some((base, rest)) = self.base_of(path) else {
                return true;
            };
            let is_new = !self.git.contains_key(*path);
            let done = match change.is_folder && change.wanted.is_none() {
                true => remove_new(base, rest, |name| self.git.contains_key(&path.join(name))),
                false => put_back(base, rest, change.wanted.as_ref(), !is_new).map(|folder| {
                    let name = folder.as_deref().and_then(Path::file_name);
                    aside.extend(name.map(|name| path.with_file_name(name)));
                }),
            };
            done.is_err()
        };
        // What is new goes first: it may be in the place of a folder.
        let is_new = |(path, _): &(&PathBuf, &Change)| !self.git.contains_key(*path);
        let new = changes.iter().filter(is_new);
        let old = changes.iter().filter(|change| !is_new(change));
        let failed = new.chain(old).filter(|change| is_failure(change));
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

    fn now(&self, made: &RepositorySearch) -> Now {
        let noting = Noting::new(&self.places.dir, Some(&self.seen));
        let mut noting = noting.after(&self.git, &self.closed);
        self.note_repositories(&mut noting, Some(made));
        note_named(&mut noting, &self.named);
        Now {
            git: noting.noted,
            given_back: noting.given_back,
            closed: noting.closed,
        }
    }

    /// Notes the repositories noted before, and those `made` since.
    fn note_repositories(&self, noting: &mut Noting<'_>, made: Option<&RepositorySearch>) {
        let own = PathBuf::from(".git");
        let made = made.into_iter().flat_map(|made| &made.found);
        let nested = self.repositories.found.iter().chain(made);
        for path in std::iter::once(&own).chain(nested) {
            let found = fs::symlink_metadata(self.places.dir.join(path));
            if found.as_ref().is_ok_and(|found| found.is_dir()) {
                note_repository(noting, path);
            } else if found.is_ok() {
                // A link, or the file that names the repository of a linked worktree or a submodule.
                noting.file(path, Role::GitFile);
                if let Ok(repository) = self.led_to(path) {
                    note_repository(noting, &repository);
                    // That of a linked worktree takes its configuration and hooks from the one around it.
                    let around = repository
                        .parent()
                        .filter(|above| above.ends_with(WORKTREES));
                    let around = around
                        .and_then(Path::parent)
                        .filter(|around| *around != own);
                    if let Some(around) = around {
                        note_repository(noting, around);
                    }
                }
            }
        }
        if let Some(linked) = &self.linked {
            note_worktree(noting, &linked.own);
            note_links(noting, &linked.common);
        }
        for program in &self.places.programs {
            let found = fs::symlink_metadata(self.places.dir.join(program));
            if !found.is_ok_and(|found| found.is_dir()) {
                noting.file(program, Role::Whole);
            }
        }
    }

    fn told_now(&self, before: Option<&NotedFiles>) -> NotedFiles {
        let places = &self.places;
        let mut noting = Noting::new(&places.dir, None);
        if let Some(before) = before {
            noting = noting.after(before, &self.closed);
        }
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

/// Those of `folders`, which are sorted, that are in no other.
fn tops(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    folders.dedup_by(|next, kept| next.starts_with(kept));
    folders
}

/// Notes what configurations name.
fn note_named(noting: &mut Noting<'_>, named: &[PathBuf]) {
    for path in named {
        let found = fs::symlink_metadata(noting.dir.join(path));
        match found.is_ok_and(|found| found.is_dir()) {
            true => noting.folder(path, 1),
            false => noting.file(path, Role::Whole),
        }
    }
}

/// Notes a repository, and those of its worktrees and submodules.
fn note_repository(noting: &mut Noting<'_>, repository: &Path) {
    note_own(noting, repository);
    let worktrees = repository.join(WORKTREES);
    for name in noting.names(&worktrees) {
        note_worktree(noting, &worktrees.join(name));
    }
    let mut modules = MAX_MODULES;
    note_modules(noting, &repository.join(MODULES), &mut modules, 4);
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
    let objects = repository.join("objects");
    // A link to one that other repositories share is none to look into.
    let has_objects = noting.open(&objects).is_some();
    let written = WRITTEN
        .iter()
        .filter(|name| has_objects || !name.starts_with("objects/"));
    let mut folders: Vec<PathBuf> = written.map(|name| repository.join(name)).collect();
    folders.push(repository.to_owned());
    while let Some(folder) = folders.pop() {
        let seen = noting.links(&folder);
        for name in seen.links {
            let path = folder.join(name);
            if !leads_to_reference(&noting.dir.join(&path)) {
                noting.file(&path, Role::Whole);
            }
        }
        if folder != repository {
            folders.extend(seen.folders.iter().map(|name| folder.join(name)));
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
    for name in noting.names(folder) {
        if *left == 0 {
            noting.closed.push(folder.to_owned());
            return;
        }
        let module = folder.join(name);
        if noting.open(&module).is_none() {
            continue;
        }
        if noting.dir.join(&module).join("HEAD").exists() {
            *left -= 1;
            note_own(noting, &module);
            if depth > 0 {
                note_modules(noting, &module.join(MODULES), left, depth - 1);
            }
        } else if depth > 0 {
            note_modules(noting, &module, left, depth - 1);
        }
    }
}

#[cfg(test)]
mod tests;
