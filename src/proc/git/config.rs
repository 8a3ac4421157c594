//! The configuration of repository, user and machine, and the settings that override everything not listed in [`super::allowed`].
//!
//! All settings are read by one process, and what is not listed is overridden on the command line of every further call, unknown names included, the user's own
//! too: their identity, line endings and ignore rules are used; their pager, editor, difftool and helpers are not. Settings that cannot be overridden (format,
//! extensions, core.worktree, and trace targets, which only the user can set) are data.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use super::launch::{EMPTY, FALSE, Launch};
use super::{allowed, output};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, thousands};

/// The origin of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The user or the machine's administrator.
    User,
    /// The repository, a file that it includes, or the settings of a worktree.
    Repository,
}

/// Blame's lists of commits: the setting has several values, and none overrides another.
const IGNORED_REVISIONS: &[u8] = b"blame.ignorerevsfile";
/// Maximum number of overrides, and their total size in bytes: they are arguments of every call, and git takes disproportionately long over many.
const MAX_REPLACEMENTS: usize = 1000;
const MAX_REPLACEMENT_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone)]
struct ConfigEntry {
    scope: Scope,
    name: Vec<u8>,
    value: Vec<u8>,
}

/// A setting for git's command line, where it overrides those of the files.
pub(super) struct Setting {
    pub(super) name: Vec<u8>,
    pub(super) value: Vec<u8>,
}

/// All settings that git finds where it runs, in order: the last one of a name counts.
#[derive(Debug, Clone, Default)]
pub(super) struct GitConfig {
    entries: Vec<ConfigEntry>,
}

/// Reads the configuration as git sees it, with included files and that of a linked worktree. Reading it runs nothing.
pub(super) fn read(launch: &Launch<'_>) -> Outcome<GitConfig> {
    let mut config = GitConfig::default();
    // Scope and setting alternate. Settings of this call itself have the scope "command" and are skipped.
    let mut scope = None;
    let list = ["config", "--list", "--includes", "--show-scope", "--null"];
    let output = launch.split(&list, None, &mut |piece| match scope.take() {
        None => {
            scope = Some(match piece {
                b"command" => None,
                b"system" | b"global" => Some(Scope::User),
                _ => Some(Scope::Repository),
            });
        }
        Some(None) => {}
        Some(Some(scope)) => {
            let mut parts = piece.splitn(2, |byte| *byte == b'\n');
            config.entries.push(ConfigEntry {
                scope,
                name: parts.next().unwrap_or_default().to_owned(),
                value: parts.next().unwrap_or_default().to_owned(),
            });
        }
    })?;
    output::git_output(&launch.dir, output)?;
    Ok(config)
}

impl GitConfig {
    /// The overrides of everything that is not allowed.
    ///
    /// # Errors
    /// `Refused` when there are too many.
    pub(super) fn replacements(&self) -> Outcome<Vec<Setting>> {
        self.replacements_but(|_| false)
    }

    /// The same for a git call that fetches from the network: the user's own settings may say how to reach it.
    pub(super) fn replacements_but_network(&self) -> Outcome<Vec<Setting>> {
        self.replacements_but(|entry| {
            entry.scope == Scope::User && allowed::is_network(&entry.name)
        })
    }

    fn replacements_but(&self, also: impl Fn(&ConfigEntry) -> bool) -> Outcome<Vec<Setting>> {
        let mut seen = HashSet::new();
        let mut settings = Vec::new();
        for entry in &self.entries {
            let of_the_user = allowed::is_user_setting(&entry.name);
            if allowed::is_data(&entry.name)
                || allowed::is_fixed(&entry.name)
                || (of_the_user && entry.scope == Scope::User)
                || also(entry)
                || !seen.insert(&entry.name)
            {
                continue;
            }
            let users = of_the_user
                .then(|| self.last(&entry.name, Some(Scope::User)))
                .flatten();
            settings.push(Setting {
                name: entry.name.clone(),
                value: users.map_or_else(
                    || allowed::replacement(&entry.name).as_bytes().to_owned(),
                    <[u8]>::to_owned,
                ),
            });
        }
        let bytes: usize = settings.iter().map(|setting| setting.name.len()).sum();
        if settings.len() > MAX_REPLACEMENTS || bytes > MAX_REPLACEMENT_BYTES {
            return Err(Problem::refused(format!(
                "git's configuration holds {} settings that would have to be switched off here, more than a normal one has.",
                thousands(settings.len() as u64)
            ))
            .next("\"git config --list --show-origin\" shows where they are; remove those of the repository."));
        }
        Ok(settings)
    }

    fn last(&self, name: &[u8], scope: Option<Scope>) -> Option<&[u8]> {
        let mut entries = self.entries.iter().rev();
        entries
            .find(|entry| entry.name == name && scope.is_none_or(|scope| scope == entry.scope))
            .map(|entry| entry.value.as_slice())
    }

    /// The value of a setting, unless it is empty.
    pub(super) fn value(&self, name: &str) -> Option<String> {
        let value = self.last(name.as_bytes(), None)?;
        let value = String::from_utf8_lossy(value).trim().to_owned();
        (!value.is_empty()).then_some(value)
    }

    /// Names of the filters with a configured program; none of them runs here.
    pub(super) fn filters(&self) -> BTreeSet<Vec<u8>> {
        let program = |entry: &ConfigEntry| {
            let rest = entry.name.strip_prefix(b"filter.")?;
            let name = [&b".clean"[..], b".smudge", b".process"]
                .iter()
                .find_map(|end| rest.strip_suffix(*end))?;
            (!entry.value.is_empty()).then(|| name.to_owned())
        };
        self.entries.iter().filter_map(program).collect()
    }

    /// Checks the files of `blame.ignoreRevsFile`: git reads each in any case, and quotes lines that it cannot parse. A repository may only name
    /// its own files, below `top`.
    ///
    /// # Errors
    /// `Refused` when one is anywhere else.
    pub(super) fn check_ignored_revisions(&self, top: &Path) -> Outcome<()> {
        let lists = self
            .entries
            .iter()
            .filter(|entry| entry.name == IGNORED_REVISIONS);
        for entry in lists.filter(|entry| !entry.value.is_empty()) {
            let named = Path::new(OsStr::from_bytes(&entry.value));
            // git replaces these prefixes by a home folder or its own installation folder.
            let expands = [&b"~"[..], b"%(", b":("]
                .iter()
                .any(|start| entry.value.starts_with(start));
            let of_the_user = entry.scope == Scope::User && (named.is_absolute() || expands);
            let inside = || {
                let file = top.join(named).canonicalize();
                !expands && file.map_or(true, |file| file.starts_with(top))
            };
            if of_the_user || inside() {
                continue;
            }
            return Err(Problem::refused(format!(
                "blame.ignoreRevsFile names a file outside of the repository, {}; git would repeat its lines.",
                escape_controls(&named.to_string_lossy())
            ))
            .next("Remove that setting, or put the list into the project."));
        }
        Ok(())
    }

    /// True when objects may be missing that another repository has.
    pub(super) fn is_partial_clone(&self) -> bool {
        self.entries.iter().any(|entry| {
            entry.name == b"extensions.partialclone"
                || (entry.name.starts_with(b"remote.") && entry.name.ends_with(b".promisor"))
        })
    }

    /// Values of core.worktree that git may use; a linked worktree respects them only when it has a configuration of its own.
    pub(super) fn worktrees(&self, linked: bool) -> Vec<PathBuf> {
        let values = |wanted: &'static [u8]| {
            let own = self.entries.iter().filter(|e| e.scope == Scope::Repository);
            own.filter(move |entry| entry.name == wanted)
        };
        if linked && values(b"extensions.worktreeconfig").next().is_none() {
            return Vec::new();
        }
        values(b"core.worktree")
            .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.value)))
            .collect()
    }
}

impl Setting {
    /// The command-line arguments for this setting.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let (name, value) = (self.name.as_slice(), self.value.as_slice());
        if !name.contains(&b'=') {
            return vec![
                "-c".into(),
                OsString::from_vec([name, b"=", value].concat()),
            ];
        }
        // -c splits at the first `=`, this at the last. git before 2.31 does not know it and fails, which is better than obeying the setting. Names with a `=`
        // only ever get one of these two values.
        let variable = if value.is_empty() { EMPTY.0 } else { FALSE.0 };
        vec![OsString::from_vec(
            [b"--config-env=", name, b"=", variable.as_bytes()].concat(),
        )]
    }
}
