//! What a repository's own configuration would have git do, and the settings that take it back.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::answer;
use super::launch::Launch;
use crate::base::error::{Outcome, Problem};
use crate::base::text;

/// Submodules in submodules that are looked at.
const DEEPEST: u8 = 4;
/// Ends of configuration keys whose values are programs, and what replaces a local value.
const PROGRAMS: [(&str, &str); 16] = [
    (".clean", ""),
    (".smudge", ""),
    (".process", ""),
    (".textconv", ""),
    (".command", ""),
    (".driver", ""),
    (".helper", ""),
    (".program", ""),
    (".cmd", ""),
    (".pager", ""),
    ("editor", ""),
    ("sshcommand", ""),
    ("gitproxy", ""),
    ("alternaterefscommand", ""),
    ("diff.external", ""),
    (".required", "false"),
];

/// The settings of a repository itself, not those of its user or of the machine.
#[derive(Debug, Default)]
pub(super) struct Config {
    entries: Vec<(String, Vec<u8>)>,
}

/// Reads the configuration as git sees it: included files and that of a linked worktree too.
///
/// # Errors
/// git cannot read it, or it cannot be run.
pub(super) fn read(launch: &Launch<'_>) -> Outcome<Config> {
    let mut config = Config::default();
    // Scope and setting take turns.
    let mut own = None;
    let list = ["config", "--list", "--includes", "--show-scope", "--null"];
    let done = launch.split(&list, &mut |piece| match own.take() {
        None => own = Some(matches!(piece, b"local" | b"worktree")),
        Some(false) => {}
        Some(true) => {
            let mut parts = piece.splitn(2, |byte| *byte == b'\n');
            let name = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
            let value = parts.next().unwrap_or_default().to_owned();
            config.entries.push((name, value));
        }
    })?;
    answer::said(&launch.dir, done)?;
    Ok(config)
}

impl Config {
    /// `-c` settings that take the place of every program that is named.
    ///
    /// # Errors
    /// A program is named in a way that cannot be overridden.
    pub(super) fn disarming(&self) -> Outcome<Vec<String>> {
        let mut settings: Vec<String> = Vec::new();
        for (name, _) in &self.entries {
            let lower = name.to_lowercase();
            let program = PROGRAMS.iter().find(|(end, _)| lower.ends_with(end));
            let replaced = program
                .map(|(_, value)| *value)
                .or_else(|| lower.starts_with("alias.").then_some(""));
            let Some(value) = replaced else { continue };
            // -c takes what is before the first `=` for the name, and bytes that are no text cannot be passed on; git itself
            // would then read the setting, so the call is refused.
            if name.contains(['=', char::REPLACEMENT_CHARACTER]) {
                return Err(Problem::refused(format!("The repository's configuration names a program in a way that cannot be switched off ({}).", text::visible(&text::clip(name, 80))))
                    .next("Remove that setting from .git/config."));
            }
            let setting = format!("{name}={value}");
            if settings.last() != Some(&setting) {
                settings.extend(["-c".to_owned(), setting]);
            }
        }
        Ok(settings)
    }

    /// True when objects may be missing that another repository has.
    pub(super) fn is_partial_clone(&self) -> bool {
        self.entries.iter().any(|(name, _)| {
            let name = name.to_lowercase();
            name == "extensions.partialclone"
                || (name.starts_with("remote.") && name.ends_with(".promisor"))
        })
    }

    /// Values of core.worktree that git may take; a linked worktree heeds them only when it has a configuration of its own.
    pub(super) fn worktrees(&self, linked: bool) -> Vec<PathBuf> {
        let values = |wanted: &'static str| {
            let entries = self.entries.iter();
            entries.filter(move |(name, _)| name.eq_ignore_ascii_case(wanted))
        };
        if linked && values("extensions.worktreeconfig").next().is_none() {
            return Vec::new();
        }
        values("core.worktree")
            .map(|(_, value)| PathBuf::from(OsStr::from_bytes(value)))
            .collect()
    }
}

/// The same settings for the submodules that are there below where `launch` runs, and for theirs.
///
/// # Errors
/// As [`read`] and [`Config::disarming`]; submodules lie too deep in each other.
pub(super) fn submodules(launch: &Launch<'_>) -> Outcome<Vec<String>> {
    let mut settings = Vec::new();
    collect(launch, DEEPEST, &mut settings)?;
    Ok(settings)
}

fn collect(launch: &Launch<'_>, depth: u8, settings: &mut Vec<String>) -> Outcome<()> {
    let mut found = Vec::new();
    let done = launch.split(&["ls-files", "--stage", "-z"], &mut |entry| {
        if let Some(path) = entry.strip_prefix(b"160000 ").and_then(after_tab) {
            found.push(launch.dir.join(Path::new(OsStr::from_bytes(path))));
        }
    })?;
    answer::said(&launch.dir, done)?;
    for sub in found.iter().filter(|sub| sub.join(".git").exists()) {
        if depth == 0 {
            return Err(Problem::refused(format!(
                "Submodules lie too deep in each other at {}.",
                sub.display()
            )));
        }
        let inside = launch.at(sub);
        settings.extend(read(&inside)?.disarming()?);
        collect(&inside, depth - 1, settings)?;
    }
    Ok(())
}

/// The path of an entry of `git ls-files --stage`.
fn after_tab(entry: &[u8]) -> Option<&[u8]> {
    let at = entry.iter().position(|byte| *byte == b'\t')?;
    entry.get(at + 1..)
}
