//! What a session has chosen for the commands of its model, and the policy and environment that follow for one command.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::landlock_abi;
use super::linked_worktree::LinkedWorktree;
use super::policy::{Policy, SandboxMode};
use super::private_dir;
use crate::base::env::Env;
use crate::base::ids::stable_hash;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{
    MARVIN_SANDBOX, MARVIN_SANDBOX_ACTIVE, MARVIN_SANDBOX_EXCLUDE_TMP,
    MARVIN_SANDBOX_LOCAL_SOCKETS, MARVIN_SANDBOX_NETWORK, MARVIN_SANDBOX_NETWORK_ACTIVE,
    MARVIN_SANDBOX_WRITABLE,
};
use crate::base::word_list::WordList;

/// The folders for temporary files that everybody shares.
const SHARED_TMP: [&str; 2] = ["/tmp", "/var/tmp"];

/// Variables that lead to programs outside which would do what a command may not.
const SOCKETS: WordList = WordList(
    "SSH_AUTH_SOCK SSH_AGENT_PID DBUS_SESSION_BUS_ADDRESS WSL_INTEROP DISPLAY WAYLAND_DISPLAY XAUTHORITY",
);

/// A variable that names a cache, the folder beneath the cache folder of the sandbox, and beneath home where the cache is without the variable.
const CACHES: [(&str, &str, &str); 3] = [
    ("XDG_CACHE_HOME", "", ".cache"),
    ("npm_config_cache", "npm", ".npm"),
    ("GOCACHE", "go-build", ".cache/go-build"),
];

/// In a linked worktree nothing deletes a reference: that locks a file beside the configuration of the repository around it. A rebase of the usual kind deletes
/// one for each commit, and where it cannot, the worktree seems to be in the middle of a cherry-pick; this kind does without. See git-config(1).
const REBASE: [(&str, &str); 3] = [
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "rebase.backend"),
    ("GIT_CONFIG_VALUE_0", "apply"),
];

/// What was chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SandboxChoice {
    pub mode: SandboxMode,
    pub network: bool,
    /// Real paths of folders that may be changed beside the workspace.
    pub writable: Vec<PathBuf>,
    /// The shared folders for temporary files may not be changed.
    pub exclude_tmp: bool,
    pub local_sockets: bool,
    /// Nobody chose it: it is what holds where nobody reads what a model writes.
    pub is_default: bool,
}

/// Folders that commands must not be able to change, and where their caches may be.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserFolders {
    pub home: Option<PathBuf>,
    /// Marvin's own files.
    pub config: Option<PathBuf>,
    /// Marvin's cache.
    pub cache: Option<PathBuf>,
}

impl UserFolders {
    /// Why `dir`, a real path, is too much to be writable.
    pub(crate) fn objection(&self, dir: &Path) -> Option<String> {
        if dir == Path::new("/") {
            return Some("it is the whole system".to_owned());
        }
        let holds = |folder: &Option<PathBuf>| {
            let folder = folder.as_ref()?;
            let real = folder.canonicalize();
            real.as_deref()
                .unwrap_or(folder)
                .starts_with(dir)
                .then_some(())
        };
        if holds(&self.home).is_some() {
            return Some("it holds your home folder".to_owned());
        }
        let of_config = holds(&self.config).map(|()| "it holds Marvin's own files".to_owned());
        of_config.or_else(|| {
            let config = self.config.as_ref()?.canonicalize().ok()?;
            dir.starts_with(config)
                .then(|| "it belongs to Marvin's own files".to_owned())
        })
    }
}

/// The sandbox of a session.
#[derive(Debug, Default)]
pub(crate) struct SessionSandbox {
    /// None where each command is asked for, or the user types them.
    first: Option<SandboxChoice>,
    /// Stricter choices, to which the session can change.
    stricter: Vec<SandboxChoice>,
    /// Which of them counts; 0 is the first.
    now: AtomicUsize,
    folders: UserFolders,
}

impl SessionSandbox {
    pub(crate) fn new(choice: Option<SandboxChoice>, folders: UserFolders) -> Self {
        Self {
            first: choice,
            folders,
            ..Self::default()
        }
    }

    /// Adds choices to which the session can change. One that is not stricter than the first is left out.
    #[must_use]
    pub(crate) fn changeable_to(mut self, choices: Vec<SandboxChoice>) -> Self {
        let first = self.mode();
        self.stricter = choices;
        self.stricter.retain(|choice| choice.mode < first);
        self
    }

    /// What counts from the next command on.
    pub(crate) fn choice(&self) -> Option<&SandboxChoice> {
        match self.now.load(Ordering::Relaxed).checked_sub(1) {
            None => self.first.as_ref(),
            Some(at) => self.stricter.get(at),
        }
    }

    /// How much commands may do.
    pub(crate) fn mode(&self) -> SandboxMode {
        self.choice()
            .map_or(SandboxMode::DangerFullAccess, |choice| choice.mode)
    }

    /// The modes to which the session can change, the strictest first.
    pub(crate) fn modes(&self) -> Vec<SandboxMode> {
        let first = (self.first.as_ref()).map_or(SandboxMode::DangerFullAccess, |one| one.mode);
        let stricter = self.stricter.iter().map(|choice| choice.mode);
        let known: Vec<_> = stricter.chain([first]).collect();
        let all = SandboxMode::ALL.into_iter();
        all.filter(|mode| known.contains(mode)).collect()
    }

    /// Whether somebody has said that commands run as in this mode; else they run so because each is asked about.
    pub(crate) fn is_decided(&self, mode: SandboxMode) -> bool {
        self.first.is_some() || mode != SandboxMode::DangerFullAccess
    }

    /// Changes to one of [`SessionSandbox::modes`] from the next command on; any other is that of the beginning.
    pub(crate) fn change(&self, mode: SandboxMode) {
        let stricter = self.stricter.iter().position(|choice| choice.mode == mode);
        self.now
            .store(stricter.map_or(0, |at| at + 1), Ordering::Relaxed);
    }

    /// The choice, where it holds anything.
    pub(crate) fn fence(&self) -> Option<&SandboxChoice> {
        self.choice()
            .filter(|choice| choice.mode != SandboxMode::DangerFullAccess)
    }

    /// The variables that a Marvin which this process starts takes as its own.
    pub(crate) fn child_variables(&self) -> Vec<(String, String)> {
        let Some(choice) = self.choice() else {
            return Vec::new();
        };
        let mut variables = vec![
            (MARVIN_SANDBOX.name, choice.mode.word().to_owned()),
            (
                MARVIN_SANDBOX_NETWORK.name,
                on_or_off(choice.network).to_owned(),
            ),
        ];
        let writable = choice.writable.iter().filter_map(|path| path.to_str());
        let writable = writable.collect::<Vec<_>>().join(":");
        if !writable.is_empty() {
            variables.push((MARVIN_SANDBOX_WRITABLE.name, writable));
        }
        for (is_set, variable) in [
            (choice.exclude_tmp, MARVIN_SANDBOX_EXCLUDE_TMP),
            (choice.local_sockets, MARVIN_SANDBOX_LOCAL_SOCKETS),
        ] {
            if is_set {
                variables.push((variable.name, "1".to_owned()));
            }
        }
        let owned = |(name, value): (&str, String)| (name.to_owned(), value);
        variables.into_iter().map(owned).collect()
    }

    /// The sandbox of a command that nobody is asked about, as [`SessionSandbox::for_command`]: where nothing was chosen it may change its folder alone, with
    /// the network open, if this system can hold it.
    ///
    /// # Errors
    /// As [`SessionSandbox::for_command`].
    pub(crate) fn for_unasked_command(
        &self,
        dir: &Path,
        env: &Env,
    ) -> Outcome<Option<CommandSandbox>> {
        match landlock_abi() {
            Ok(_) => self.for_unread_command(dir, env),
            Err(_) => self.for_command(dir, env),
        }
    }

    /// The same, whether this system can hold it or not: where it cannot, the command does not run.
    ///
    /// # Errors
    /// As [`SessionSandbox::for_command`].
    pub(crate) fn for_unread_command(
        &self,
        dir: &Path,
        env: &Env,
    ) -> Outcome<Option<CommandSandbox>> {
        if self.choice().is_some() {
            return self.for_command(dir, env);
        }
        let choice = SandboxChoice {
            mode: SandboxMode::WorkspaceWrite,
            network: true,
            is_default: true,
            ..SandboxChoice::default()
        };
        Self::new(Some(choice), self.folders.clone()).for_command(dir, env)
    }

    /// The sandbox of a command that runs in `dir`, a real path; none when it runs outside.
    ///
    /// # Errors
    /// `dir` may not be writable, no folder for temporary files can be made, or a path is not UTF-8.
    pub(crate) fn for_command(&self, dir: &Path, env: &Env) -> Outcome<Option<CommandSandbox>> {
        let Some(choice) = self.fence() else {
            return Ok(None);
        };
        let tmp = private_dir::path()?;
        let linked = LinkedWorktree::of(dir);
        let mut writable = vec![tmp.clone()];
        let mut caches = tmp.join("cache");
        if choice.mode == SandboxMode::WorkspaceWrite {
            if let Some(objection) = self.folders.objection(dir) {
                return Err(Problem::refused(format!(
                    "Commands cannot be held to {}: {objection}.",
                    dir.display()
                ))
                .next("Start Marvin in the project's own folder (or name that with --working-dir), or with --sandbox read-only or danger-full-access (or MARVIN_SANDBOX in its environment)."));
            }
            linked.iter().for_each(LinkedWorktree::prepare);
            writable.extend(self.writable_in(dir));
            if let Some(own) = self.cache_of(dir) {
                writable.push(own.clone());
                caches = own;
            }
        }
        writable.dedup();
        let text = |path: &PathBuf| {
            path.to_str().map(str::to_owned).ok_or_else(|| {
                Problem::input(format!(
                    "The folder {} cannot be made writable for commands: its name is not UTF-8.",
                    path.display()
                ))
                .next("Rename it.")
            })
        };
        let writable = writable.iter().map(text).collect::<Outcome<Vec<_>>>()?;
        let policy = Policy {
            mode: choice.mode,
            network: choice.network,
            local_sockets: choice.local_sockets,
            writable,
            ..Policy::default()
        };
        Ok(Some(CommandSandbox {
            set: self.variables(choice, (&tmp, &caches), linked.is_some(), env),
            policy,
        }))
    }

    /// What commands that run in `dir`, a real path, may change beside folders that the sandbox makes for them.
    pub(crate) fn writable_in(&self, dir: &Path) -> Vec<PathBuf> {
        let fence = self.fence();
        let Some(choice) = fence.filter(|choice| choice.mode == SandboxMode::WorkspaceWrite) else {
            return Vec::new();
        };
        // Where it is too much no command runs.
        let mut writable = Vec::new();
        writable.extend(
            self.folders
                .objection(dir)
                .is_none()
                .then(|| dir.to_owned()),
        );
        let linked = LinkedWorktree::of(dir);
        writable.extend(linked.iter().flat_map(LinkedWorktree::writable));
        writable.extend(choice.writable.iter().filter(|path| path.exists()).cloned());
        if !choice.exclude_tmp {
            let shared = SHARED_TMP.iter().map(Path::new);
            let shared = shared.filter_map(|path| path.canonicalize().ok());
            // A home folder or Marvin's own files may lie there too.
            writable.extend(shared.filter(|path| self.folders.objection(path).is_none()));
        }
        writable
    }

    /// The cache folder of the commands in `dir`: one that was shared with the outside would carry code out.
    fn cache_of(&self, dir: &Path) -> Option<PathBuf> {
        let base = self.folders.cache.as_ref()?.join("sandbox");
        let hash = stable_hash(&dir.to_string_lossy());
        let name = format!("{hash:016x}");
        fs::create_dir_all(base.join(&name)).ok()?;
        let own = base.canonicalize().ok()?.join(name);
        // A link in its place would make another folder writable.
        let is_its_own = own.canonicalize().ok()? == own;
        (is_its_own && self.folders.objection(&own).is_none()).then_some(own)
    }

    fn variables(
        &self,
        choice: &SandboxChoice,
        (tmp, caches): (&Path, &Path),
        is_linked: bool,
        env: &Env,
    ) -> Vec<(String, String)> {
        let mut set = vec![
            ("TMPDIR".to_owned(), tmp.display().to_string()),
            (
                MARVIN_SANDBOX_ACTIVE.name.to_owned(),
                choice.mode.word().to_owned(),
            ),
            (
                MARVIN_SANDBOX_NETWORK_ACTIVE.name.to_owned(),
                on_or_off(choice.network).to_owned(),
            ),
        ];
        if !choice.network {
            // npm would look names up again for half a minute.
            set.push(("npm_config_fetch_retries".to_owned(), "0".to_owned()));
        }
        if is_linked {
            set.extend(REBASE.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        for (name, own, beneath_home) in CACHES {
            let named = env.get(name).map(PathBuf::from);
            let usual = || Some(self.folders.home.as_ref()?.join(beneath_home));
            let is_writable = named.or_else(usual).is_some_and(|cache| {
                let real = cache.canonicalize().unwrap_or(cache);
                choice.writable.iter().any(|path| real.starts_with(path))
            });
            if !is_writable {
                set.push((name.to_owned(), caches.join(own).display().to_string()));
            }
        }
        set
    }
}

/// The sandbox of one command.
#[derive(Debug, Clone)]
pub(crate) struct CommandSandbox {
    pub policy: Policy,
    set: Vec<(String, String)>,
}

impl CommandSandbox {
    /// Makes of a command's variables those that it gets inside.
    pub(crate) fn adjust(&self, variables: &mut Vec<(String, String)>) {
        variables.retain(|(name, _)| {
            let is_set = self.set.iter().any(|(own, _)| own == name);
            let is_socket = !self.policy.local_sockets && SOCKETS.has(name);
            !is_set && !is_socket
        });
        variables.extend(self.set.iter().cloned());
    }
}

/// As flags and variables say it.
pub(crate) fn on_or_off(is_on: bool) -> &'static str {
    match is_on {
        true => "on",
        false => "off",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(mode: SandboxMode) -> SandboxChoice {
        SandboxChoice {
            mode,
            network: true,
            ..SandboxChoice::default()
        }
    }

    #[test]
    fn a_session_changes_to_what_holds_more_and_back_and_children_with_it() {
        use SandboxMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};
        let all = || SandboxMode::ALL.map(choice).to_vec();
        for (first, modes) in [
            (None, &[ReadOnly, WorkspaceWrite, DangerFullAccess][..]),
            (
                Some(DangerFullAccess),
                &[ReadOnly, WorkspaceWrite, DangerFullAccess],
            ),
            (Some(WorkspaceWrite), &[ReadOnly, WorkspaceWrite]),
            (Some(ReadOnly), &[ReadOnly]),
        ] {
            let begun = SessionSandbox::new(first.map(choice), UserFolders::default());
            assert_eq!(begun.modes(), [begun.mode()]);
            let sandbox = begun.changeable_to(all());
            assert_eq!(sandbox.modes(), modes, "{first:?}");
            let before = sandbox.child_variables();
            for mode in modes {
                sandbox.change(*mode);
                assert_eq!(sandbox.mode(), *mode);
                let told = sandbox.child_variables().into_iter();
                let told = told.filter(|(name, _)| name == MARVIN_SANDBOX.name);
                let told: Vec<String> = told.map(|(_, mode)| mode).collect();
                match sandbox.is_decided(*mode) {
                    true => assert_eq!(told, [mode.word()]),
                    false => assert!(told.is_empty()),
                }
            }
            // What holds less than the beginning is the beginning.
            sandbox.change(DangerFullAccess);
            assert_eq!(sandbox.child_variables(), before, "{first:?}");
        }
    }
}
