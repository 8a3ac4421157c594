//! Clones a repository for reading: into a folder that is removed unless the clone is complete; nothing of the repository runs.
//!
//! The same allow-list of settings applies as for other calls (see [`super`]), so that no filter runs at the checkout, with one addition: the
//! user's own network settings (proxy, credential helper, ssh command). They apply to the one address that is cloned, which no repository chose,
//! and private repositories need them.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::allowed::FIXED;
use super::config::{self, Setting};
use super::launch::{EMPTY, FALSE, Launch};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec};
use crate::proc::child_env::git_env;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(300);
/// Prefix of the temporary folders that clones are made in.
const SCRATCH_PREFIX: &str = ".marvin-clone-";
/// A temporary folder older than this is abandoned: no clone runs that long.
const STALE_AGE: Duration = Duration::from_secs(3600);
/// What to clone, and with which program.
#[derive(Debug, Clone)]
pub(crate) struct CloneRequest<'a> {
    /// The repository's address.
    pub url: &'a str,
    /// Only the newest commit.
    pub shallow: bool,
    pub limit: Duration,
    /// The `gh` program and its name for the repository, if it fetches instead of git.
    pub gh: Option<(&'a Path, &'a str)>,
    /// Variables that only gh gets.
    pub gh_vars: Vec<(String, String)>,
}

impl CloneRequest<'_> {
    /// Clones to `dest`, which must not exist; `on_progress` is called with the number of bytes received.
    ///
    /// # Errors
    /// It failed or was cancelled; `dest` does not exist then.
    pub(crate) fn run(
        &self,
        dest: &Path,
        env: &Env,
        stop: &Cancel,
        on_progress: &(dyn Fn(u64) + Sync),
    ) -> Outcome<()> {
        let above = dest.parent().unwrap_or(Path::new("/"));
        let cannot =
            |error| Problem::system(format!("Cannot write into {}", above.display()), error);
        // Removed with its contents when dropped.
        let scratch = make_scratch(above).map_err(cannot)?;
        remove_stale(above);
        let launch = Launch::new(above, None, env, stop);
        let settings = config::read(&launch)?.replacements_but_network()?;
        let into = scratch.path().join("clone");
        let (ended, _linked) = stop.child();
        let output = std::thread::scope(|scope| {
            let (ended, into) = (&ended, &into);
            scope.spawn(move || {
                while ended.sleep(PROGRESS_INTERVAL) {
                    let bytes = total_bytes(&into.join(".git/objects/pack"));
                    if bytes > 0 {
                        on_progress(bytes);
                    }
                }
            });
            let run = self.prepared(into, above, env, &settings);
            let output = run.and_then(|run| run.run(stop));
            ended.fire();
            output
        })?
        .unless_cancelled()?;
        if !output.success() {
            return Err(clone_failed(self, &output));
        }
        fs::rename(&into, dest).map_err(|error| {
            Problem::system(format!("Cannot put the clone at {}", dest.display()), error)
        })
    }

    fn prepared(
        &self,
        into: &Path,
        above: &Path,
        env: &Env,
        settings: &[Setting],
    ) -> Outcome<ProgramSpec> {
        let mut vars = git_env(env);
        let scheme = self.url.split("://").next().unwrap_or_default();
        let more = [
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_ASKPASS", ""),
            ("SSH_ASKPASS", ""),
            ("GIT_LFS_SKIP_SMUDGE", "1"),
            (
                "GIT_ALLOW_PROTOCOL",
                if self.gh.is_some() {
                    "https:ssh"
                } else {
                    scheme
                },
            ),
            ("LC_ALL", "C"),
            ("NO_COLOR", "1"),
            EMPTY,
            FALSE,
        ];
        vars.retain(|(set, _)| more.iter().all(|(name, _)| set != name));
        vars.extend(more.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let into = into.to_string_lossy().into_owned();
        let depth = self.shallow.then_some("--depth=1");
        let options =
            depth
                .into_iter()
                .chain(["--template=", "--no-recurse-submodules", "--progress"]);
        let mut run = match self.gh {
            Some((gh, name)) => {
                // gh starts git itself, so the settings go into variables.
                let fixed = FIXED.iter().filter_map(|setting| setting.split_once('='));
                let fixed = fixed.map(|(name, value)| Ok((name, value)));
                let own = settings.iter().map(|setting| {
                    let name = std::str::from_utf8(&setting.name);
                    let value = std::str::from_utf8(&setting.value);
                    name.and_then(|name| value.map(|value| (name, value)))
                });
                let mut count = 0usize;
                for setting in fixed.chain(own) {
                    let (name, value) = setting.map_err(|error| {
                        Problem::config("A git setting has a name that is not valid text.")
                            .next("\"git config --list\" shows it.")
                            .because(error)
                    })?;
                    vars.push((format!("GIT_CONFIG_KEY_{count}"), name.to_owned()));
                    vars.push((format!("GIT_CONFIG_VALUE_{count}"), value.to_owned()));
                    count += 1;
                }
                vars.push(("GIT_CONFIG_COUNT".to_owned(), count.to_string()));
                vars.extend(self.gh_vars.iter().cloned());
                let words = ["repo", "clone", name, &into, "--"].into_iter();
                ProgramSpec::new(gh, words.chain(options), vars)
            }
            None => {
                let fixed = FIXED.map(|setting| ["-c".into(), OsString::from(setting)]);
                let words = fixed
                    .into_iter()
                    .flatten()
                    .chain(settings.iter().flat_map(Setting::arguments))
                    .chain(["clone".into()])
                    .chain(options.map(OsString::from))
                    .chain(["--".into(), self.url.into(), into.into()]);
                ProgramSpec::new("git", words, vars)
            }
        };
        run.dir = Some(above.to_owned());
        run.limit = self.limit;
        run.stdout = KeepLimits::ends(2048, 2048);
        run.stderr = KeepLimits::ends(2048, 8192);
        Ok(run)
    }
}

/// A temporary folder for one clone in `above`. The loop: another failing call may remove `above` while it is empty.
fn make_scratch(above: &Path) -> std::io::Result<tempfile::TempDir> {
    let mut left = 3u8;
    loop {
        fs::create_dir_all(above)?;
        let made = tempfile::Builder::new()
            .prefix(SCRATCH_PREFIX)
            .tempdir_in(above);
        match made {
            Err(reason) if reason.kind() == std::io::ErrorKind::NotFound && left > 0 => left -= 1,
            made => return made,
        }
    }
}

/// Removes folders left behind long ago by clones that were killed.
fn remove_stale(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let old = entry.metadata().and_then(|about| about.modified());
        let old = old.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > STALE_AGE));
        // A link is not followed: it is not a folder.
        let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if old
            && folder
            && entry
                .file_name()
                .to_string_lossy()
                .starts_with(SCRATCH_PREFIX)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Total size of the files in a folder.
fn total_bytes(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .map(|about| about.len())
        .sum()
}

fn clone_failed(clone: &CloneRequest<'_>, output: &ProgramOutput) -> Problem {
    if output.timed_out {
        return Problem::timeout(format!("git clone {}.", output.ending()))
            .next("Nothing was kept. A shallow clone is smaller.");
    }
    let git_output = output.stderr.text();
    let words: Vec<&str> = git_output
        .lines()
        .filter(|line| {
            ["fatal:", "error:", "remote: "]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .collect();
    let words = if words.is_empty() {
        git_output.trim().to_owned()
    } else {
        words.join(" ")
    };
    let lower = words.to_lowercase();
    let problem = |kind: fn(String) -> Problem| {
        kind(format!(
            "{} could not be cloned: {}",
            clone.url,
            clip(&escape_controls(&words), 500)
        ))
    };
    let missing = [
        "not found",
        "does not exist",
        "could not read username",
        "not appear to be a git",
    ];
    if missing.iter().any(|sign| lower.contains(sign)) {
        problem(Problem::missing)
            .next("Check owner and name with github_search; for a private repository sign in with \"gh auth login\".")
    } else if lower.contains("no space left") {
        problem(Problem::limit).next("Make room first.")
    } else {
        problem(Problem::network).next("Check the network connection, or try again later.")
    }
}

/// True for a finished clone: a folder with a repository in it.
pub(crate) fn is_there(dest: &Path) -> bool {
    dest.join(".git").join("HEAD").is_file()
}
