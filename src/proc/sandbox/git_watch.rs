//! What git would run later, watched while a command of a model runs: configuration, hooks and attributes of the workspace's repositories. Changes are put back.
//!
//! Landlock knows no exceptions inside a folder that is writable, and without a writable `.git` no command could commit.

use std::fs;
use std::path::{Path, PathBuf};

use super::linked_worktree::LinkedWorktree;
use super::noted_files::{NotedFiles, difference, keep_copies, names, note, note_folder, put_back};
use super::repositories::{named_by, nested};

/// Most repositories of submodules that are looked at.
const MAX_MODULES: usize = 200;
/// How often it is looked at again after changes were put back.
const MAX_ROUNDS: usize = 5;

/// In a repository's folder: files that say what git runs, or from where it reads that.
const FILES: [&str; 4] = ["config", "config.worktree", "info/attributes", "commondir"];
/// Where a repository keeps what belongs to its linked worktrees.
const WORKTREES: &str = "worktrees";
/// In the folder of a linked worktree: where its repository and its files are.
const POINTERS: [&str; 2] = ["commondir", "gitdir"];
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
}

/// A workspace as it was before a command.
#[derive(Debug)]
pub(crate) struct GitWatch {
    places: WatchedPlaces,
    /// The folder of a linked worktree, which lies outside the workspace.
    linked: Option<LinkedWorktree>,
    /// The `.git` of each repository: that of the workspace, and those that lie in it or in an added folder.
    repositories: Vec<PathBuf>,
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
}

/// What became of changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct PutBack {
    /// They could not be put back.
    pub failed: Vec<PathBuf>,
    /// Where the other versions are.
    pub kept: Option<PathBuf>,
}

impl GitWatch {
    /// Notes what is there now.
    pub(crate) fn note(places: WatchedPlaces) -> Self {
        let mut repositories = vec![PathBuf::from(".git")];
        repositories.extend(nested(&places.dir, &places.added));
        let mut watch = Self {
            linked: LinkedWorktree::of(&places.dir),
            places,
            repositories,
            named: Vec::new(),
            git: NotedFiles::new(),
            told: NotedFiles::new(),
        };
        watch.git = watch.git_now();
        watch.named = named_by(&watch.git, &watch.places.dir);
        watch.told = watch.told_now();
        watch
    }

    /// What is different now. A repository that was not there before is none of it: somebody has to make the first.
    pub(crate) fn changes(&self) -> WatchedChanges {
        let mut git = difference(&self.git, &self.git_now());
        git.retain(|path| self.counts(path));
        WatchedChanges {
            git,
            told: difference(&self.told, &self.told_now()),
        }
    }

    /// Whether a change of `path` is one of what git runs: worktrees are made and removed, by Marvin's own agents too, and repositories within others.
    fn counts(&self, path: &Path) -> bool {
        let mut repositories = self.repositories.iter();
        let Some(repository) = repositories.find(|repository| path.starts_with(repository)) else {
            return true;
        };
        let place = self.places.dir.join(repository);
        let is_nested = repository.as_path() != Path::new(".git");
        if is_nested && fs::symlink_metadata(place).is_err() {
            return false;
        }
        if !self.git.keys().any(|noted| noted.starts_with(repository)) {
            return false;
        }
        let worktrees = repository.join(WORKTREES);
        let Ok(rest) = path.strip_prefix(&worktrees) else {
            return true;
        };
        if !self.git.contains_key(path) {
            return !POINTERS.iter().any(|name| rest.ends_with(name));
        }
        let folder = self.places.dir.join(worktrees);
        let is_link = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink());
        let worktree = rest.iter().next();
        let is_there = worktree.is_some_and(|name| fs::symlink_metadata(folder.join(name)).is_ok());
        is_link || is_there
    }

    /// Makes `changed` what it was. What it is instead is copied into the new folder `keep` first: the user may have changed it while the command ran.
    pub(crate) fn put_back(&self, changed: &[PathBuf], keep: Option<&Path>) -> PutBack {
        let kept = keep.filter(|keep| keep_copies(&self.places.dir, changed, keep));
        let mut left = changed.to_vec();
        // Of a large folder not everything is seen at once.
        for _ in 0..MAX_ROUNDS {
            let failed = self.put_back_seen(&left);
            left = self.changes().git;
            if left.iter().all(|path| failed.contains(path)) {
                break;
            }
        }
        PutBack {
            failed: left,
            kept: kept.map(Path::to_owned),
        }
    }

    fn put_back_seen(&self, changed: &[PathBuf]) -> Vec<PathBuf> {
        let failed = |path: &&PathBuf| {
            let (base, rest) = self.base_of(path);
            put_back(base, rest, self.git.get(*path)).is_err()
        };
        // What is new goes first: it may be in the place of a folder.
        let is_new = |path: &&PathBuf| !self.git.contains_key(*path);
        let new = changed.iter().filter(is_new);
        let old = changed.iter().filter(|path| !is_new(path));
        new.chain(old).filter(failed).cloned().collect()
    }

    /// The folder that commands cannot replace, and the rest of the path in it.
    fn base_of<'a>(&'a self, path: &'a Path) -> (&'a Path, &'a Path) {
        let own = self.linked.iter().map(|linked| linked.own.as_path());
        let added = self.places.added.iter().map(PathBuf::as_path);
        let mut bases = own.chain(added);
        bases
            .find_map(|base| Some((base, path.strip_prefix(base).ok()?)))
            .unwrap_or((&self.places.dir, path))
    }

    fn git_now(&self) -> NotedFiles {
        let dir = self.places.dir.as_path();
        let mut git = NotedFiles::new();
        for repository in &self.repositories {
            let found = fs::symlink_metadata(dir.join(repository));
            if found.as_ref().is_ok_and(|found| found.is_dir()) {
                note_repository(dir, repository, &mut git);
                note_worktrees(dir, repository, &mut git);
                let mut modules = MAX_MODULES;
                note_modules(dir, &repository.join("modules"), &mut modules, 4, &mut git);
            } else if found.is_ok() {
                // A link, or the file that names the repository of a linked worktree or a submodule.
                note(dir, repository, &mut git);
            }
        }
        if let Some(linked) = &self.linked {
            for name in ["config.worktree", "commondir", "gitdir"] {
                note(dir, &linked.own.join(name), &mut git);
            }
        }
        git
    }

    fn told_now(&self) -> NotedFiles {
        let places = &self.places;
        let mut told = NotedFiles::new();
        let others = TOLD.iter().map(Path::new);
        for path in places.files.iter().map(PathBuf::as_path).chain(others) {
            note(&places.dir, path, &mut told);
        }
        for folder in &places.folders {
            note_folder(&places.dir, folder, 3, &mut told);
        }
        for path in &self.named {
            let found = fs::symlink_metadata(places.dir.join(path));
            match found.is_ok_and(|found| found.is_dir()) {
                true => note_folder(&places.dir, path, 1, &mut told),
                false => note(&places.dir, path, &mut told),
            }
        }
        told
    }
}

fn note_repository(dir: &Path, repository: &Path, notes: &mut NotedFiles) {
    for name in FILES {
        note(dir, &repository.join(name), notes);
    }
    let hooks = repository.join(HOOKS);
    match fs::symlink_metadata(dir.join(&hooks)) {
        Ok(found) if found.is_dir() => note_folder(dir, &hooks, 1, notes),
        // A link in its place leads to other programs.
        Ok(_) => note(dir, &hooks, notes),
        Err(_) => {}
    }
}

fn note_worktrees(dir: &Path, repository: &Path, notes: &mut NotedFiles) {
    let folder = repository.join(WORKTREES);
    for name in names(&dir.join(&folder)) {
        let own = folder.join(name);
        for name in POINTERS.into_iter().chain(["config.worktree"]) {
            note(dir, &own.join(name), notes);
        }
    }
}

/// Repositories of submodules, whose names may have several parts.
fn note_modules(dir: &Path, folder: &Path, left: &mut usize, depth: usize, notes: &mut NotedFiles) {
    for name in names(&dir.join(folder)) {
        if *left == 0 {
            return;
        }
        let module = folder.join(name);
        let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if !is_folder(&dir.join(&module)) {
            continue;
        }
        if dir.join(&module).join("HEAD").exists() {
            *left -= 1;
            note_repository(dir, &module, notes);
            if depth > 0 {
                note_modules(dir, &module.join("modules"), left, depth - 1, notes);
            }
        } else if depth > 0 {
            note_modules(dir, &module, left, depth - 1, notes);
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
        for n in 0..super::super::noted_files::MAX_FILES + 20 {
            fs::write(path.join(format!(".git/hooks/h{n}")), "evil").unwrap();
        }
        fs::create_dir(worktrees.join("new")).unwrap();
        fs::write(worktrees.join("new/commondir"), "../..\n").unwrap();
        fs::write(worktrees.join("kept/commondir"), "/evil\n").unwrap();
        fs::remove_dir_all(worktrees.join("removed")).unwrap();
        let changes = watch.changes();
        let kept = PathBuf::from(".git/worktrees").join("kept/commondir");
        assert!(changes.git.contains(&kept));
        assert!(undo(&watch).is_empty());
        let hooks = fs::read_dir(path.join(".git/hooks")).unwrap();
        assert_eq!(hooks.count(), 1);
        let text = fs::read_to_string(path.join(&kept)).unwrap();
        assert_eq!(text, "../..\n");
        assert!(worktrees.join("new/commondir").exists());
        assert!(!worktrees.join("removed").exists());
    }

    #[test]
    fn a_hook_that_becomes_a_program_is_a_change_and_a_new_repository_is_none() {
        let (_dir, path) = repository();
        let watch = watch_of(&path);
        let hook = path.join(".git/hooks/pre-commit");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let changes = watch.changes();
        assert_eq!(changes.git, paths(&[".git/hooks/pre-commit"]));
        undo(&watch);
        assert_eq!(hook.metadata().unwrap().permissions().mode() & 0o111, 0);

        let empty = tempfile::tempdir().unwrap();
        let watch = watch_of(empty.path());
        fs::create_dir(empty.path().join(".git")).unwrap();
        fs::write(empty.path().join(".git/config"), "[core]\n").unwrap();
        assert!(watch.changes().git.is_empty());
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
        let watch = watch_of(&path);
        for file in [
            ".githooks/pre-push",
            "tools/watch",
            "tools/text",
            "own.config",
            "less",
        ] {
            fs::write(path.join(file), "after").unwrap();
        }
        let mut changes = watch.changes();
        assert_eq!(changes.git, paths(&[]));
        changes.told.sort();
        let told = [
            ".githooks/pre-push",
            "own.config",
            "tools/text",
            "tools/watch",
        ];
        assert_eq!(changes.told, paths(&told));
    }
}
