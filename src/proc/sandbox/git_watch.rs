//! What git would run later, watched while a command of a model runs: configuration, hooks and attributes of the workspace's repositories. Changes are put back,
//! and what a command makes anew keeps only what runs nothing.
//!
//! Landlock knows no exceptions inside a folder that is writable, and without a writable `.git` no command could commit.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::linked_worktree::{LinkedWorktree, pointer};
use super::noted_files::{
    Noted, NotedFiles, Noting, Role, contents, difference, keep_copies, names, open_base, put_back,
    remove_new,
};
use super::plain_git_text::{plain_config, plain_todo};
use super::repositories::{Elsewhere, RepositorySearch, beneath, led_to, named_by};

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
    /// Files and folders of the workspace that git's configuration names.
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
        let mut places = places;
        let programs = places.programs.iter();
        places.programs = programs
            .filter_map(|path| beneath(&places.dir, path))
            .collect();
        let linked = LinkedWorktree::of(&places.dir);
        let own = linked.iter().map(|linked| &linked.own);
        let bases = own.chain(&places.added).chain([&places.dir]);
        let bases = bases.filter_map(|base| Some((base.clone(), open_base(base).ok()?)));
        let mut watch = Self {
            bases: bases.collect(),
            linked,
            repositories: RepositorySearch::of(&places.dir, &places.added),
            places,
            named: Vec::new(),
            git: NotedFiles::new(),
            told: NotedFiles::new(),
        };
        watch.git = watch.git_now(None);
        watch.named = watch.named();
        watch.told = watch.told_now(None);
        watch
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
        }
        for program in &self.places.programs {
            let found = fs::symlink_metadata(self.places.dir.join(program));
            if !found.is_ok_and(|found| found.is_dir()) {
                noting.file(program, Role::Whole);
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
        for path in &self.named {
            let found = fs::symlink_metadata(places.dir.join(path));
            match found.is_ok_and(|found| found.is_dir()) {
                true => noting.folder(path, 1),
                false => noting.file(path, Role::Whole),
            }
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

fn note_worktree(noting: &mut Noting<'_>, own: &Path) {
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
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn repository() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for folder in [".git/hooks", ".git/info", ".git/modules/a/b/hooks"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        fs::write(path.join(".git/config"), "[core]\n").unwrap();
        fs::write(path.join(".git/hooks/pre-commit"), "#!/bin/sh\n").unwrap();
        fs::write(path.join(".git/modules/a/b/HEAD"), "ref: x\n").unwrap();
        fs::write(path.join(".git/modules/a/b/config"), "[core]\n").unwrap();
        (dir, path)
    }

    fn watch_of(dir: &Path) -> GitWatch {
        GitWatch::note(WatchedPlaces {
            dir: dir.to_owned(),
            ..WatchedPlaces::default()
        })
    }

    /// Puts everything back, and says what could not be.
    fn undo(watch: &GitWatch) -> Vec<PathBuf> {
        let keep = tempfile::tempdir().unwrap();
        let changed = watch.changes().git;
        let done = watch.put_back(&changed, Some(&keep.path().join("kept")));
        done.failed
    }

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_git_would_run_is_put_back_and_the_rest_is_left() {
        let (_dir, path) = repository();
        let watch = watch_of(&path);
        assert_eq!(watch.changes(), WatchedChanges::default());
        fs::write(path.join(".git/HEAD"), "ref: y\n").unwrap();
        fs::write(path.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::remove_file(path.join(".git/hooks/pre-commit")).unwrap();
        fs::write(path.join(".git/hooks/post-commit"), "evil").unwrap();
        fs::write(path.join(".git/hooks/update.sample"), "never run").unwrap();
        fs::write(path.join(".git/commondir"), "/evil").unwrap();
        fs::write(path.join(".git/modules/a/b/config"), "evil").unwrap();
        fs::write(path.join(".git/info/attributes"), "* filter=evil").unwrap();
        fs::write(path.join(".envrc"), "evil").unwrap();
        let changes = watch.changes();
        let mut git = changes.git.clone();
        git.sort();
        let expected = [
            ".git/commondir",
            ".git/config",
            ".git/hooks/post-commit",
            ".git/hooks/pre-commit",
            ".git/info/attributes",
            ".git/modules/a/b/config",
        ];
        assert_eq!(git, paths(&expected));
        assert_eq!(changes.told, paths(&[".envrc"]));
        assert!(undo(&watch).is_empty());
        assert!(watch.changes().git.is_empty());
        let kept = fs::read_to_string(path.join(".git/hooks/pre-commit")).unwrap();
        assert_eq!(kept, "#!/bin/sh\n");
        assert_eq!(
            fs::read_to_string(path.join(".git/HEAD")).unwrap(),
            "ref: y\n"
        );
        assert!(path.join(".envrc").exists());
    }

    #[test]
    fn a_link_in_place_of_a_folder_leads_nothing_out() {
        let (_dir, path) = repository();
        let outside = tempfile::tempdir().unwrap();
        let watch = watch_of(&path);
        fs::rename(path.join(".git/hooks"), path.join("moved")).unwrap();
        symlink(outside.path(), path.join(".git/hooks")).unwrap();
        let changes = watch.changes();
        assert!(undo(&watch).is_empty(), "{changes:?}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert!(
            fs::symlink_metadata(path.join(".git/hooks"))
                .unwrap()
                .is_dir()
        );
        assert!(path.join(".git/hooks/pre-commit").exists());
        // The repository itself.
        fs::rename(path.join(".git"), path.join("moved2")).unwrap();
        symlink(outside.path(), path.join(".git")).unwrap();
        let changes = watch.changes();
        assert!(changes.git.contains(&PathBuf::from(".git/config")));
        undo(&watch);
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_folder_hides_nothing_and_worktrees_come_and_go() {
        let (_dir, path) = repository();
        let worktrees = path.join(".git/worktrees");
        for name in ["kept", "removed"] {
            fs::create_dir_all(worktrees.join(name)).unwrap();
            fs::write(worktrees.join(name).join("commondir"), "../..\n").unwrap();
        }
        let watch = watch_of(&path);
        // What git never runs hides nothing, however much of it there is.
        let hooks = path.join(".git/hooks");
        for n in 0..super::super::noted_files::MAX_FILES + 20 {
            match n % 2 {
                0 => fs::write(hooks.join(format!("{n}.sample")), "").unwrap(),
                _ => fs::create_dir(hooks.join(format!("folder{n}"))).unwrap(),
            }
        }
        fs::write(hooks.join("post-commit"), "evil").unwrap();
        assert_eq!(watch.changes().git, paths(&[".git/hooks/post-commit"]));
        for n in 0..super::super::noted_files::MAX_FILES + 20 {
            fs::write(hooks.join(format!("h{n}")), "evil").unwrap();
        }
        fs::write(hooks.join("pre-commit"), "evil").unwrap();
        assert_eq!(watch.changes().git, paths(&[".git/hooks"]));
        fs::create_dir(worktrees.join("new")).unwrap();
        fs::write(worktrees.join("new/commondir"), "../..\n").unwrap();
        fs::write(worktrees.join("kept/commondir"), "/evil\n").unwrap();
        fs::remove_dir_all(worktrees.join("removed")).unwrap();
        let changes = watch.changes();
        let kept = PathBuf::from(".git/worktrees").join("kept/commondir");
        assert!(changes.git.contains(&kept));
        assert!(undo(&watch).is_empty());
        let left = fs::read_dir(&hooks).unwrap().map(Result::unwrap);
        let left = left.filter(|entry| entry.file_type().unwrap().is_file());
        let names = left.map(|entry| entry.file_name().into_string().unwrap());
        let names: Vec<String> = names.filter(|name| !name.ends_with(".sample")).collect();
        assert_eq!(names, ["pre-commit"]);
        let hook = fs::read_to_string(hooks.join("pre-commit")).unwrap();
        assert_eq!(hook, "#!/bin/sh\n");
        let text = fs::read_to_string(path.join(&kept)).unwrap();
        assert_eq!(text, "../..\n");
        assert!(worktrees.join("new/commondir").exists());
        assert!(!worktrees.join("removed").exists());
    }

    #[test]
    fn a_hook_that_becomes_a_program_is_a_change_and_so_is_another_name_of_a_file() {
        let (_dir, path) = repository();
        let watch = watch_of(&path);
        let hook = path.join(".git/hooks/pre-commit");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let changes = watch.changes();
        assert_eq!(changes.git, paths(&[".git/hooks/pre-commit"]));
        undo(&watch);
        assert_eq!(hook.metadata().unwrap().permissions().mode() & 0o111, 0);

        // What is written to the other name later would be written here.
        fs::hard_link(path.join(".git/config"), path.join("other")).unwrap();
        assert_eq!(watch.changes().git, paths(&[".git/config"]));
        undo(&watch);
        fs::write(path.join("other"), "evil").unwrap();
        assert_eq!(watch.changes().git, paths(&[]));
    }

    #[test]
    fn what_a_command_makes_anew_keeps_only_what_runs_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        let put = |file: &str, text: &str| {
            let file = path.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        put("own/.git/config", "[core]\nsshCommand = mine\n");
        put("own/.git/hooks/pre-push", "mine");
        fs::create_dir(path.join("plain")).unwrap();
        let watch = watch_of(&path);
        let config = "[core]\n\tbare = false\n\tfsmonitor = evil\n[remote \"origin\"]\n\turl = x\n";
        for repository in [".git", "plain/.git", "new/deep/.git", "bare", "data"] {
            put(&format!("{repository}/HEAD"), "ref: refs/heads/main\n");
            put(&format!("{repository}/config"), config);
            put(&format!("{repository}/hooks/a.sample"), "");
            put(&format!("{repository}/hooks/post-commit"), "evil");
            for folder in ["objects", "refs"] {
                fs::create_dir(path.join(repository).join(folder)).unwrap();
            }
        }
        put("split/HEAD", "ref: refs/heads/main\n");
        put("split/commondir", "../elsewhere\n");
        put("linked/.git", "gitdir: ../data\n");
        put("hidden/config", "[core]\n\tfsmonitor = evil\n");
        put("hidden/worktrees/x/commondir", "../..\n");
        put("linked2/.git", "gitdir: ../hidden/worktrees/x\n");
        put("away/.git", "gitdir: /evil\n");
        put(".git/worktrees/good/commondir", "../..\n");
        put(".git/worktrees/bad/commondir", "../../../elsewhere\n");
        // What the user had is theirs in another place too.
        fs::rename(path.join("own"), path.join("moved")).unwrap();
        let mut changed = watch.changes().git;
        changed.sort();
        let expected = [
            ".git/config",
            ".git/hooks/post-commit",
            ".git/worktrees/bad/commondir",
            "away/.git",
            "bare/config",
            "bare/hooks/post-commit",
            "data/config",
            "data/hooks/post-commit",
            "hidden/config",
            "new/deep/.git/config",
            "new/deep/.git/hooks/post-commit",
            "plain/.git/config",
            "plain/.git/hooks/post-commit",
            "split/commondir",
        ];
        assert_eq!(changed, paths(&expected));
        assert!(undo(&watch).is_empty());
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
        for left in [".git/config", "bare/config", "new/deep/.git/config"] {
            assert_eq!(fs::read_to_string(path.join(left)).unwrap(), config);
        }
        assert!(path.join("linked/.git").exists() && !path.join("away/.git").exists());
        // The next command finds them.
        let watch = watch_of(&path);
        put("bare/hooks/post-commit", "evil");
        put("new/deep/.git/config", "evil");
        assert_eq!(watch.changes().git.len(), 2);
    }

    #[test]
    fn a_rebase_keeps_its_commits_and_no_command_that_is_new() {
        let (_dir, path) = repository();
        fs::create_dir_all(path.join(".git/rebase-merge")).unwrap();
        let todo = path.join(".git/rebase-merge/git-rebase-todo");
        fs::write(&todo, "pick 1 one\nexec mine\npick 2 two\n").unwrap();
        let watch = watch_of(&path);
        fs::write(&todo, "exec mine\npick 2 two\n").unwrap();
        assert_eq!(watch.changes().git, paths(&[]));
        fs::write(&todo, "x evil\nexec mine\npick 2 two\n").unwrap();
        assert!(undo(&watch).is_empty());
        let left = fs::read_to_string(&todo).unwrap();
        assert_eq!(left, "exec mine\npick 2 two\n");
        fs::remove_dir_all(path.join(".git/rebase-merge")).unwrap();
        assert_eq!(watch.changes().git, paths(&[]));
    }

    #[test]
    fn another_folder_in_the_place_of_the_workspace_is_left_alone() {
        let (_dir, path) = repository();
        let above = path.join("above");
        fs::create_dir_all(above.join("work/.git/hooks")).unwrap();
        fs::write(above.join("work/.git/config"), "[core]\n").unwrap();
        let (_other_dir, other) = repository();
        fs::create_dir_all(other.join("work/.git/hooks")).unwrap();
        fs::write(other.join("work/.git/hooks/pre-push"), "mine").unwrap();
        fs::write(other.join("work/.git/config"), "mine").unwrap();
        let watch = watch_of(&above.join("work"));
        fs::write(above.join("work/.git/config"), "evil").unwrap();
        fs::rename(&above, path.join("moved")).unwrap();
        symlink(&other, &above).unwrap();
        assert!(!undo(&watch).is_empty());
        for file in ["hooks/pre-push", "config"] {
            let text = fs::read_to_string(other.join("work/.git").join(file)).unwrap();
            assert_eq!(text, "mine");
        }
        let config = fs::read_to_string(path.join("moved/work/.git/config")).unwrap();
        assert_eq!(config, "[core]\n");
    }

    #[test]
    fn repositories_in_the_workspace_and_beside_it_are_watched_too() {
        let (_dir, path) = repository();
        let (_other_dir, other) = repository();
        for folder in ["sub/deep", "gone", "sub/module"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for folder in ["sub/deep/.git/hooks", "gone/.git"] {
            fs::create_dir_all(path.join(folder)).unwrap();
        }
        for config in ["sub/deep/.git/config", "gone/.git/config"] {
            fs::write(path.join(config), "[core]\n").unwrap();
        }
        fs::write(
            path.join("sub/module/.git"),
            "gitdir: ../../.git/modules/a/b\n",
        )
        .unwrap();
        let watch = GitWatch::note(WatchedPlaces {
            dir: path.clone(),
            added: vec![other.clone()],
            ..WatchedPlaces::default()
        });
        fs::write(path.join("sub/deep/.git/hooks/post-commit"), "evil").unwrap();
        fs::write(path.join("sub/module/.git"), "gitdir: /evil\n").unwrap();
        fs::write(other.join(".git/config"), "evil").unwrap();
        // What is removed or made whole is no change of what is run.
        fs::remove_dir_all(path.join("gone")).unwrap();
        fs::create_dir_all(path.join("new/.git")).unwrap();
        fs::write(path.join("new/.git/config"), "[core]\n").unwrap();
        let mut changed = watch.changes().git;
        changed.sort();
        let expected = [
            other.join(".git/config"),
            "sub/deep/.git/hooks/post-commit".into(),
            "sub/module/.git".into(),
        ];
        assert_eq!(changed, expected);
        let keep = tempfile::tempdir().unwrap();
        let keep = keep.path().join("kept");
        let done = watch.put_back(&changed, Some(&keep));
        assert_eq!(done.failed, paths(&[]));
        assert_eq!(done.kept.as_deref(), Some(keep.as_path()));
        assert_eq!(
            fs::read_to_string(other.join(".git/config")).unwrap(),
            "[core]\n"
        );
        assert!(!path.join("sub/deep/.git/hooks/post-commit").exists());
        assert!(!path.join("gone").exists() && path.join("new/.git/config").exists());
        let copy = fs::read_to_string(keep.join("sub%module%.git")).unwrap();
        assert_eq!(copy, "gitdir: /evil\n");
    }

    #[test]
    fn what_the_configuration_names_in_the_workspace_is_told() {
        let (_dir, path) = repository();
        let user = path.join("user.gitconfig");
        fs::write(&user, "[core]\n\thooksPath = made\n").unwrap();
        let module = path.join(".git/modules/a/b/hooks");
        fs::remove_dir(&module).unwrap();
        symlink("../../../../linked", &module).unwrap();
        let config = "[core]\n\thooksPath = .githooks\n\tfsmonitor = \"./tools/watch --fast\"\n\
            [diff \"x\"]\n\ttextconv = tools/text\n[alias]\n\tx = !evil\n[include]\n\tpath = ../own.config\n\
            [core]\n\tworktree = ..\n\tpager = less\n";
        fs::write(path.join(".git/config"), config).unwrap();
        fs::create_dir_all(path.join(".githooks")).unwrap();
        fs::create_dir_all(path.join("tools")).unwrap();
        for file in [
            ".githooks/pre-push",
            "tools/watch",
            "tools/text",
            "own.config",
        ] {
            fs::write(path.join(file), "before").unwrap();
        }
        let watch = GitWatch::note(WatchedPlaces {
            dir: path.clone(),
            user_config: vec![user],
            ..WatchedPlaces::default()
        });
        for folder in ["made", "linked"] {
            fs::create_dir(path.join(folder)).unwrap();
        }
        for file in [
            ".githooks/pre-push",
            "tools/watch",
            "tools/text",
            "own.config",
            "less",
            "made/pre-commit",
            "linked/pre-commit",
        ] {
            fs::write(path.join(file), "after").unwrap();
        }
        let mut changes = watch.changes();
        assert_eq!(changes.git, paths(&[]));
        changes.told.sort();
        let told = [
            ".githooks/pre-push",
            "linked/pre-commit",
            "made/pre-commit",
            "own.config",
            "tools/text",
            "tools/watch",
        ];
        assert_eq!(changes.told, paths(&told));
    }
}
