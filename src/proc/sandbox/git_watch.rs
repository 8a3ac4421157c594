//! What git would run later, watched while a command of a model runs: configuration, hooks and attributes of the workspace's repository. Changes are put back.
//!
//! Landlock knows no exceptions inside a folder that is writable, and without a writable `.git` no command could commit. Everything is opened part by part
//! without following links: a command may have put a link where a folder was, and what is put back must not land elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};

use super::linked_worktree::LinkedWorktree;

/// Largest file that is kept to be put back.
const MAX_KEPT_BYTES: u64 = 1 << 20;
/// Most repositories of submodules that are looked at.
const MAX_MODULES: usize = 200;
/// Most files of one folder.
const MAX_FILES: usize = 500;
/// How often it is looked at again after changes were put back.
const MAX_ROUNDS: usize = 5;

/// In a repository's folder: files that say what git runs, or from where it reads that.
const FILES: [&str; 4] = ["config", "config.worktree", "info/attributes", "commondir"];
/// Where a repository keeps what belongs to its linked worktrees.
const WORKTREES: &str = ".git/worktrees";
/// In the folder of a linked worktree: where its repository and its files are.
const POINTERS: [&str; 2] = ["commondir", "gitdir"];
/// The folder of programs that git runs.
const HOOKS: &str = "hooks";
/// In the workspace: what other programs run or obey. It is told, and not put back.
const TOLD: [&str; 3] = [".mcp.json", ".envrc", ".vscode/tasks.json"];
/// The folder of the workspace whose files a model obeys.
const SKILLS: &str = ".agents/skills";

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Noted {
    mode: u32,
    /// None: larger than what is kept.
    bytes: Option<Vec<u8>>,
    stamp: Stamp,
}

/// What the system says of a file; equal means that it was not written since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

/// A workspace as it was before a command.
#[derive(Debug)]
pub(crate) struct GitWatch {
    dir: PathBuf,
    /// The folder of a linked worktree, which lies outside the workspace.
    linked: Option<LinkedWorktree>,
    /// Files of the workspace that Marvin itself obeys.
    own: Vec<PathBuf>,
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

impl GitWatch {
    /// Notes what is there now in the workspace `dir`, a real path; `own` are files there that Marvin itself obeys.
    pub(crate) fn note(dir: &Path, own: Vec<PathBuf>) -> Self {
        let mut watch = Self {
            dir: dir.to_owned(),
            linked: LinkedWorktree::of(dir),
            own,
            git: NotedFiles::new(),
            told: NotedFiles::new(),
        };
        (watch.git, watch.told) = watch.look();
        watch
    }

    /// What is different now. A repository that was not there before is none of it: somebody has to make the first.
    pub(crate) fn changes(&self) -> WatchedChanges {
        let (git, told) = self.look();
        WatchedChanges {
            git: match self.git.is_empty() {
                true => Vec::new(),
                false => {
                    let mut changed = difference(&self.git, &git);
                    changed.retain(|path| self.counts(path));
                    changed
                }
            },
            told: difference(&self.told, &told),
        }
    }

    /// Whether a change of `path` is one of what git runs: worktrees are made and removed, by Marvin's own agents too.
    fn counts(&self, path: &Path) -> bool {
        let Ok(rest) = path.strip_prefix(WORKTREES) else {
            return true;
        };
        if !self.git.contains_key(path) {
            return !POINTERS.iter().any(|name| rest.ends_with(name));
        }
        let folder = self.dir.join(WORKTREES);
        let is_link = fs::symlink_metadata(&folder).is_ok_and(|found| found.is_symlink());
        let worktree = rest.iter().next();
        let is_there = worktree.is_some_and(|name| fs::symlink_metadata(folder.join(name)).is_ok());
        is_link || is_there
    }

    /// Makes `changed` what it was, and returns what could not be put back.
    pub(crate) fn put_back(&self, changed: &[PathBuf]) -> Vec<PathBuf> {
        let mut left = changed.to_vec();
        // Of a large folder not everything is seen at once.
        for _ in 0..MAX_ROUNDS {
            let failed = self.put_back_seen(&left);
            left = self.changes().git;
            if left.iter().all(|path| failed.contains(path)) {
                break;
            }
        }
        left
    }

    fn put_back_seen(&self, changed: &[PathBuf]) -> Vec<PathBuf> {
        let failed = |path: &&PathBuf| {
            let base = self.linked.as_ref().map(|linked| linked.own.as_path());
            let (base, rest) = match base.and_then(|own| Some((own, path.strip_prefix(own).ok()?)))
            {
                Some((own, rest)) => (own, rest),
                None => (self.dir.as_path(), path.as_path()),
            };
            put_back(base, rest, self.git.get(*path)).is_err()
        };
        // What is new goes first: it may be in the place of a folder.
        let is_new = |path: &&PathBuf| !self.git.contains_key(*path);
        let new = changed.iter().filter(is_new);
        let old = changed.iter().filter(|path| !is_new(path));
        new.chain(old).filter(failed).cloned().collect()
    }

    fn look(&self) -> (NotedFiles, NotedFiles) {
        let dir = self.dir.as_path();
        let mut git = NotedFiles::new();
        let repository = PathBuf::from(".git");
        let found = fs::symlink_metadata(dir.join(&repository));
        if found.as_ref().is_ok_and(|found| found.is_dir()) {
            note_repository(dir, &repository, &mut git);
            note_worktrees(dir, &mut git);
            let mut modules = MAX_MODULES;
            note_modules(dir, &repository.join("modules"), &mut modules, 4, &mut git);
        } else if found.is_ok() {
            // A link, or the file that names a linked worktree's repository.
            note(dir, &repository, &mut git);
        }
        if let Some(linked) = &self.linked {
            for name in ["config.worktree", "commondir", "gitdir"] {
                note(dir, &linked.own.join(name), &mut git);
            }
        }
        let mut told = NotedFiles::new();
        let others = TOLD.iter().map(Path::new);
        for path in self.own.iter().map(PathBuf::as_path).chain(others) {
            note(dir, path, &mut told);
        }
        note_folder(dir, Path::new(SKILLS), 3, &mut told);
        (git, told)
    }
}

fn difference(before: &BTreeMap<PathBuf, Noted>, after: &BTreeMap<PathBuf, Noted>) -> Vec<PathBuf> {
    let is_same = |path: &PathBuf, noted: &Noted| {
        after.get(path).is_some_and(|found| {
            let is_untouched = found.stamp == noted.stamp;
            let is_equal = found.bytes.is_some() && found.bytes == noted.bytes;
            found.mode == noted.mode && (is_untouched || is_equal)
        })
    };
    let gone = before.iter().filter(|(path, noted)| !is_same(path, noted));
    let gone = gone.map(|(path, _)| path.clone());
    let new = after.keys().filter(|path| !before.contains_key(*path));
    gone.chain(new.cloned()).collect()
}

type NotedFiles = BTreeMap<PathBuf, Noted>;

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

fn note_worktrees(dir: &Path, notes: &mut NotedFiles) {
    let folder = Path::new(WORKTREES);
    for name in names(&dir.join(folder)) {
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

fn note_folder(dir: &Path, folder: &Path, depth: usize, notes: &mut NotedFiles) {
    for name in names(&dir.join(folder)) {
        let path = folder.join(name);
        match fs::symlink_metadata(dir.join(&path)) {
            Ok(found) if found.is_dir() && depth > 1 => note_folder(dir, &path, depth - 1, notes),
            Ok(found) if !found.is_dir() => note(dir, &path, notes),
            _ => {}
        }
    }
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let entries = is_folder.then(|| fs::read_dir(folder).ok()).flatten();
    let names = entries.into_iter().flatten().take(MAX_FILES);
    names
        .map_while(Result::ok)
        .map(|entry| entry.file_name())
        .collect()
}

fn note(dir: &Path, path: &Path, notes: &mut NotedFiles) {
    let place = dir.join(path);
    let Ok(found) = fs::symlink_metadata(&place) else {
        return;
    };
    let bytes = if found.is_symlink() {
        use std::os::unix::ffi::OsStrExt as _;
        fs::read_link(&place)
            .ok()
            .map(|link| link.as_os_str().as_bytes().to_vec())
    } else if found.is_file() && found.len() <= MAX_KEPT_BYTES {
        read(&place)
    } else {
        None
    };
    let stamp = Stamp {
        inode: found.ino(),
        size: found.len(),
        changed: (found.ctime(), found.ctime_nsec()),
    };
    let noted = Noted {
        mode: found.mode(),
        bytes,
        stamp,
    };
    notes.insert(path.to_owned(), noted);
}

fn read(path: &Path) -> Option<Vec<u8>> {
    // Neither a link nor a pipe that was put there since.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    let mut file = File::from(file).take(MAX_KEPT_BYTES + 1);
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Makes the file at `path` beneath `base` what it was, or removes it when there was none.
fn put_back(base: &Path, path: &Path, noted: Option<&Noted>) -> io::Result<()> {
    let folder = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut at: OwnedFd = rustix::fs::open(base, folder, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for part in path.parent().unwrap_or(Path::new("")) {
        let is_folder = statat(&at, part, AtFlags::SYMLINK_NOFOLLOW)
            .map(|found| rustix::fs::FileType::from_raw_mode(found.st_mode).is_dir());
        match (is_folder, noted) {
            (Ok(true), _) => {}
            // What is to be removed is gone already.
            (_, None) => return Ok(()),
            (Ok(false), Some(_)) => {
                unlinkat(&at, part, AtFlags::empty())?;
                mkdirat(&at, part, Mode::from_raw_mode(0o755))?;
            }
            (Err(_), Some(_)) => mkdirat(&at, part, Mode::from_raw_mode(0o755))?,
        }
        at = openat(&at, part, folder, Mode::empty())?;
    }
    let Some(noted) = noted else {
        return match unlinkat(&at, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        };
    };
    let bytes = noted.bytes.as_ref().ok_or(io::ErrorKind::FileTooLarge)?;
    let kind = rustix::fs::FileType::from_raw_mode(noted.mode);
    let fresh = format!(".marvin-{}", crate::base::ids::hex(6));
    if kind.is_symlink() {
        use std::os::unix::ffi::OsStrExt as _;
        rustix::fs::symlinkat(std::ffi::OsStr::from_bytes(bytes), &at, &fresh)?;
    } else {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(noted.mode & 0o7777);
        let mut file = File::from(openat(&at, &fresh, flags, mode)?);
        file.write_all(bytes)?;
        rustix::fs::fchmod(&file, mode)?;
    }
    // A folder in its place stays, and is told.
    renameat(&at, &fresh, &at, name).inspect_err(|_| {
        let _left = unlinkat(&at, &fresh, AtFlags::empty());
    })?;
    Ok(())
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

    fn paths(list: &[&str]) -> Vec<PathBuf> {
        list.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_git_would_run_is_put_back_and_the_rest_is_left() {
        let (_dir, path) = repository();
        let watch = GitWatch::note(&path, Vec::new());
        assert_eq!(watch.changes(), WatchedChanges::default());
        fs::write(path.join(".git/HEAD"), "ref: y\n").unwrap();
        fs::write(path.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::remove_file(path.join(".git/hooks/pre-commit")).unwrap();
        fs::write(path.join(".git/hooks/post-commit"), "evil").unwrap();
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
        assert!(watch.put_back(&changes.git).is_empty());
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
        let watch = GitWatch::note(&path, Vec::new());
        fs::rename(path.join(".git/hooks"), path.join("moved")).unwrap();
        symlink(outside.path(), path.join(".git/hooks")).unwrap();
        let changes = watch.changes();
        assert!(watch.put_back(&changes.git).is_empty(), "{changes:?}");
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
        watch.put_back(&changes.git);
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_folder_hides_nothing_and_worktrees_come_and_go() {
        let (_dir, path) = repository();
        let worktrees = path.join(WORKTREES);
        for name in ["kept", "removed"] {
            fs::create_dir_all(worktrees.join(name)).unwrap();
            fs::write(worktrees.join(name).join("commondir"), "../..\n").unwrap();
        }
        let watch = GitWatch::note(&path, Vec::new());
        for n in 0..MAX_FILES + 20 {
            fs::write(path.join(format!(".git/hooks/h{n}")), "evil").unwrap();
        }
        fs::create_dir(worktrees.join("new")).unwrap();
        fs::write(worktrees.join("new/commondir"), "../..\n").unwrap();
        fs::write(worktrees.join("kept/commondir"), "/evil\n").unwrap();
        fs::remove_dir_all(worktrees.join("removed")).unwrap();
        let changes = watch.changes();
        let kept = PathBuf::from(WORKTREES).join("kept/commondir");
        assert!(changes.git.contains(&kept));
        assert!(watch.put_back(&changes.git).is_empty());
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
        let watch = GitWatch::note(&path, Vec::new());
        let hook = path.join(".git/hooks/pre-commit");
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let changes = watch.changes();
        assert_eq!(changes.git, paths(&[".git/hooks/pre-commit"]));
        watch.put_back(&changes.git);
        assert_eq!(hook.metadata().unwrap().permissions().mode() & 0o111, 0);

        let empty = tempfile::tempdir().unwrap();
        let watch = GitWatch::note(empty.path(), Vec::new());
        fs::create_dir(empty.path().join(".git")).unwrap();
        fs::write(empty.path().join(".git/config"), "[core]\n").unwrap();
        assert!(watch.changes().git.is_empty());
    }
}
