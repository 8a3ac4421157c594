//! What flags and environment say about the sandbox of commands. A sub-agent is told by its parent, and can only hold its commands closer.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;
use crate::base::variables::{
    MARVIN_DEPTH, MARVIN_SANDBOX, MARVIN_SANDBOX_ACTIVE, MARVIN_SANDBOX_EXCLUDE_TMP,
    MARVIN_SANDBOX_LOCAL_SOCKETS, MARVIN_SANDBOX_NETWORK, MARVIN_SANDBOX_NETWORK_ACTIVE,
    MARVIN_SANDBOX_WRITABLE, Text,
};
use crate::disk::paths::Paths;
use crate::proc::sandbox::policy::SandboxMode;
use crate::proc::sandbox::session_sandbox::{SandboxChoice, SessionSandbox, UserFolders};

/// What is wrong with the sandbox's part of `config.yaml`, among the values that it sets. No variable can have this name.
pub(crate) const SANDBOX_FAULT: &str = "config.yaml=sandbox";

/// The flags as typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct SandboxFlags {
    pub mode: Option<SandboxMode>,
    /// `--sandbox-network`.
    pub network: Option<bool>,
}

impl SandboxFlags {
    /// `--sandbox`.
    ///
    /// # Errors
    /// There is no such mode.
    pub(crate) fn set_mode(&mut self, word: &str) -> Outcome<()> {
        self.mode = Some(SandboxMode::parse(word)?);
        Ok(())
    }

    /// `--sandbox-network`.
    ///
    /// # Errors
    /// It is neither on nor off.
    pub(crate) fn set_network(&mut self, word: &str) -> Outcome<()> {
        self.network = Some(on_or_off(word).ok_or_else(|| {
            Problem::input(format!(
                "--sandbox-network wants on or off, not \"{word}\"."
            ))
        })?);
        Ok(())
    }
}

/// What they mean together with the environment, before anything is looked at on the disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct SandboxSettings {
    flags: SandboxFlags,
    /// See [`SANDBOX_FAULT`].
    fault: Option<String>,
    mode: Option<String>,
    network: Option<String>,
    writable: Option<String>,
    /// Names of those of these variables that `config.yaml` sets: the environment beats it.
    of_file: Vec<&'static str>,
    exclude_tmp: bool,
    local_sockets: bool,
    /// The environment is that of a sub-agent: its parent has set it.
    is_inherited: bool,
    /// The sandbox that is around this process already.
    around: Option<(String, bool)>,
    /// Nobody reads the commands of this run, so that they are fenced unless somebody said otherwise.
    is_unattended: bool,
    /// Whoever drives the session may hold its commands closer while it runs.
    can_change: bool,
}

impl SandboxSettings {
    pub(super) fn new(flags: SandboxFlags, env: &Env, is_unattended: bool) -> Self {
        let set = |variable: Text| variable.read(env).map(str::to_owned);
        let around = set(MARVIN_SANDBOX_ACTIVE).map(|mode| {
            let network = MARVIN_SANDBOX_NETWORK_ACTIVE.read(env) != Some("off");
            (mode, network)
        });
        let texts = [
            MARVIN_SANDBOX,
            MARVIN_SANDBOX_NETWORK,
            MARVIN_SANDBOX_WRITABLE,
        ];
        let of_file = texts.iter().map(|variable| variable.name);
        Self {
            flags,
            of_file: of_file.filter(|name| env.is_below(name)).collect(),
            fault: env.get(SANDBOX_FAULT).map(str::to_owned),
            mode: set(MARVIN_SANDBOX),
            network: set(MARVIN_SANDBOX_NETWORK),
            writable: set(MARVIN_SANDBOX_WRITABLE),
            exclude_tmp: MARVIN_SANDBOX_EXCLUDE_TMP.read(env),
            local_sockets: MARVIN_SANDBOX_LOCAL_SOCKETS.read(env),
            is_inherited: MARVIN_DEPTH.read(env, &mut |_| {}) > 0,
            around,
            is_unattended,
            can_change: false,
        }
    }

    /// For flags that are typed after a command.
    pub(crate) fn flags(&mut self) -> &mut SandboxFlags {
        &mut self.flags
    }

    /// Somebody drives the sessions: they can change to stricter sandboxes, and read the commands, unless no mode has them asked about.
    pub(crate) fn let_change(&mut self, is_unattended: bool) {
        self.can_change = true;
        self.is_unattended = is_unattended;
    }

    /// Nobody reads the commands of this run.
    pub(crate) fn run_unattended(&mut self) {
        self.is_unattended = true;
    }

    /// Whether it holds commands that the user types too: they asked for it on the line, or a parent did.
    pub(crate) fn holds_for_the_user(&self) -> bool {
        let is_on_the_line = self.flags.mode.is_some() || self.flags.network.is_some();
        is_on_the_line || self.is_inherited
    }

    /// The sandbox of a session whose `--add-dir` folders are `added`, real paths.
    ///
    /// # Errors
    /// A value is none, a folder may not be writable, or a sub-agent is to hold less than its parent.
    pub(crate) fn session(
        &self,
        added: &[PathBuf],
        paths: &Paths,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<SessionSandbox> {
        if let Some(fault) = &self.fault {
            return Err(Problem::config(fault.clone())
                .next("Mend the file; commands would be held less than it may say."));
        }
        let mode = self.mode.as_deref().map(SandboxMode::parse).transpose();
        let mode = mode.map_err(|problem| self.of_variable(problem, MARVIN_SANDBOX))?;
        let network = self.network.as_deref().map(|word| {
            on_or_off(word).ok_or_else(|| {
                let problem = Problem::input(format!("\"{word}\" is neither on nor off."));
                self.of_variable(problem, MARVIN_SANDBOX_NETWORK)
            })
        });
        let network = network.transpose()?;
        if self.is_inherited {
            self.check_not_weaker(mode, network)?;
            if mode == Some(SandboxMode::WorkspaceWrite) {
                self.check_not_wider(added, paths)?;
            }
        }
        // Who speaks of the network only wants a sandbox too.
        let by_network = self.flags.network.map(|_| SandboxMode::WorkspaceWrite);
        let mut chosen = self.flags.mode.or(mode).or(by_network);
        let network = self.flags.network.or(network);
        // A flag beats what a variable says beside it, and that what the file says; two of the same rank must not contradict each other.
        let is_beaten = self.flags.network.is_none()
            && (self.flags.mode.is_some()
                || self.is_of_file(MARVIN_SANDBOX_NETWORK) && !self.is_of_file(MARVIN_SANDBOX));
        let named = match self.flags.network {
            Some(_) => "--sandbox-network",
            None => self.place_of(MARVIN_SANDBOX_NETWORK),
        };
        match (chosen, network) {
            (Some(SandboxMode::DangerFullAccess), Some(false)) if !is_beaten => {
                return Err(Problem::input(format!(
                    "{named} off needs a sandbox, and danger-full-access is none."
                ))
                .next(format!(
                    "Give --sandbox workspace-write, or leave {named} out."
                )));
            }
            (Some(SandboxMode::ReadOnly), Some(true)) if !is_beaten => {
                return Err(Problem::input(format!(
                    "{named} on needs another sandbox: in read-only there is no network."
                ))
                .next(format!(
                    "Give --sandbox workspace-write, or leave {named} out."
                )));
            }
            _ => {}
        }
        let is_default = chosen.is_none();
        if is_default && self.is_unattended {
            chosen = Some(SandboxMode::WorkspaceWrite);
        }
        let mut is_open = true;
        if let Some((around, network)) = &self.around {
            // What holds this process holds its commands too, and nothing here can change that.
            let around = SandboxMode::parse(around).unwrap_or(SandboxMode::WorkspaceWrite);
            chosen = chosen.map(|mode| mode.min(around));
            is_open = *network;
        }
        let folders = UserFolders {
            home: paths.home().ok().map(Path::to_owned),
            config: paths.config().ok().map(Path::to_owned),
            cache: paths.cache().ok(),
        };
        let choice = |mode: SandboxMode, is_default, warn: &mut dyn FnMut(String)| {
            let writable = match mode {
                SandboxMode::WorkspaceWrite => self.writable(added, &folders, paths, warn)?,
                SandboxMode::ReadOnly | SandboxMode::DangerFullAccess => Vec::new(),
            };
            Outcome::Ok(SandboxChoice {
                mode,
                network: match mode {
                    SandboxMode::ReadOnly => false,
                    SandboxMode::WorkspaceWrite => is_open && network.unwrap_or(true),
                    SandboxMode::DangerFullAccess => is_open,
                },
                writable,
                exclude_tmp: self.exclude_tmp,
                local_sockets: self.local_sockets,
                is_default,
            })
        };
        let first = chosen.map(|mode| choice(mode, is_default, warn));
        let first = first.transpose()?;
        // One whose folders cannot be writable is not offered.
        let others = SandboxMode::ALL.into_iter().filter(|_| self.can_change);
        let others = others.filter_map(|mode| choice(mode, false, &mut |_| {}).ok());
        let others = others.collect();
        Ok(SessionSandbox::new(first, folders.clone()).changeable_to(others))
    }

    fn is_of_file(&self, variable: Text) -> bool {
        self.of_file.contains(&variable.name)
    }

    /// Where the user has set it.
    fn place_of(&self, variable: Text) -> &'static str {
        match variable.name {
            name if !self.is_of_file(variable) => name,
            name if name == MARVIN_SANDBOX.name => "sandbox.mode (config.yaml)",
            name if name == MARVIN_SANDBOX_NETWORK.name => "sandbox.network (config.yaml)",
            _ => "sandbox.writable (config.yaml)",
        }
    }

    fn of_variable(&self, problem: Problem, variable: Text) -> Problem {
        problem.next(format!("It is in {}.", self.place_of(variable)))
    }

    fn check_not_weaker(&self, mode: Option<SandboxMode>, network: Option<bool>) -> Outcome<()> {
        if let (Some(own), Some(of_parent)) = (self.flags.mode, mode)
            && own > of_parent
        {
            return Err(weaker("--sandbox", of_parent.word()));
        }
        if self.flags.network == Some(true) && network == Some(false) {
            return Err(weaker("--sandbox-network", "network off"));
        }
        Ok(())
    }

    /// A folder of its own would be one that its parent's commands may not change. Its workspace it was given.
    fn check_not_wider(&self, added: &[PathBuf], paths: &Paths) -> Outcome<()> {
        let (of_parent, _) = self.listed(paths)?;
        let is_wider = |path: &&PathBuf| !of_parent.iter().any(|open| path.starts_with(open));
        match added.iter().find(is_wider) {
            Some(path) => Err(weaker(
                &format!("--add-dir {}", path.display()),
                "not that folder",
            )),
            None => Ok(()),
        }
    }

    /// Real paths of the folders that the variable lists, and those of it that do not exist.
    fn listed(&self, paths: &Paths) -> Outcome<(Vec<PathBuf>, Vec<&str>)> {
        let (mut real, mut missing) = (Vec::new(), Vec::new());
        let listed = self.writable.iter().flat_map(|list| list.split(':'));
        for path in listed.filter(|path| !path.is_empty()) {
            let folder = further_folder(path.as_ref(), None, paths);
            let folder =
                folder.map_err(|problem| self.of_variable(problem, MARVIN_SANDBOX_WRITABLE));
            match folder? {
                Some((_, folder)) => real.push(folder),
                None => missing.push(path),
            }
        }
        Ok((real, missing))
    }

    /// Real paths of the folders that may be changed beside the workspace.
    fn writable(
        &self,
        added: &[PathBuf],
        folders: &UserFolders,
        paths: &Paths,
        warn: &mut dyn FnMut(String),
    ) -> Outcome<Vec<PathBuf>> {
        let mut writable = Vec::new();
        let (listed, missing) = self.listed(paths)?;
        for path in missing {
            warn(format!(
                "The folder {path}, which commands may change, does not exist."
            ));
        }
        for real in added.iter().cloned().chain(listed) {
            if let Some(objection) = folders.objection(&real) {
                return Err(Problem::config(format!(
                    "Commands in the sandbox cannot be allowed to change {}: {objection}.",
                    real.display()
                ))
                .next("Name the folders in it that they need (--add-dir, MARVIN_SANDBOX_WRITABLE), or give --sandbox danger-full-access."));
            }
            if real.to_string_lossy().contains(':') {
                // In the variable by which children are told it would be two others.
                return Err(Problem::config(format!(
                    "Commands in the sandbox cannot be allowed to change {}: its name has a colon.",
                    real.display()
                ))
                .next("Rename it, or name a folder that holds it."));
            }
            if !writable.contains(&real) {
                writable.push(real);
            }
        }
        Ok(writable)
    }
}

/// `on` or `off` as a word.
pub(crate) fn on_or_off(word: &str) -> Option<bool> {
    match word.trim() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}

/// A folder that may be changed beside the workspace, as an absolute path and without links; none where nothing is there. A tilde is the home directory.
///
/// # Errors
/// It is no folder.
pub(crate) fn further_folder(
    path: &Path,
    current: Option<&Path>,
    paths: &Paths,
) -> Outcome<Option<(PathBuf, PathBuf)>> {
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let given = match (path.strip_prefix("~"), paths.home()) {
        (Ok(rest), Ok(home)) => home.join(rest),
        _ => current.map_or_else(|| path.to_owned(), |current| current.join(path)),
    };
    let real = given.canonicalize().and_then(|real| match real.is_dir() {
        true => Ok(real),
        false => Err(ErrorKind::NotADirectory.into()),
    });
    match real {
        Ok(real) => Ok(Some((given, real))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let shown = escape_controls(&given.display().to_string());
            let what = format!("Commands cannot be allowed to change {shown}");
            Err(Problem::system(what, error))
        }
    }
}

fn weaker(flag: &str, of_parent: &str) -> Problem {
    Problem::refused(format!(
        "{flag} would hold the commands of this sub-agent less than the Marvin that started it, which has {of_parent}."
    ))
    .next("Leave it out; a stricter one can be given.")
}
