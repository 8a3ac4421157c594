//! Starts git: no terminal, no pager, no hooks, no network, no background work, nothing of the caller's `GIT_*`.

use std::ffi::OsString;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::allowed::FIXED;
use super::output;
use super::repository::Repository;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec, Stdin};
use crate::proc::child_env::git_env;

/// Bytes kept of git's output.
const OUTPUT_BYTES: usize = 64 * 1024;
/// Time limit for one call of git.
const GIT_TIMEOUT: Duration = Duration::from_secs(30);
/// The same for one that writes the files of a whole repository.
const SLOW_GIT_TIMEOUT: Duration = Duration::from_secs(600);
/// Variables that git gets in addition to the caller's harmless ones.
const VARIABLES: [(&str, &str); 10] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "true"),
    ("LC_ALL", "C"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // A path is a path: no `:/` to the repository's top, no wildcard that restores everything.
    ("GIT_LITERAL_PATHSPECS", "1"),
    // Fetching missing objects starts the program of remote.*.uploadpack, which -c cannot replace. Older git knows only the
    // second of these, which leaves no way to talk to another repository.
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_ALLOW_PROTOCOL", "none"),
    EMPTY,
    FALSE,
];
/// Values for settings whose names -c does not accept.
pub(super) const EMPTY: (&str, &str) = ("MARVIN_GIT_EMPTY", "");
pub(super) const FALSE: (&str, &str) = ("MARVIN_GIT_FALSE", "false");

/// git in one directory, with the settings of this file.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    /// Its working directory.
    pub(super) dir: PathBuf,
    /// The caller's environment.
    pub(super) env: &'a Env,
    pub(super) stop: &'a Cancel,
    ceiling: Option<PathBuf>,
    limit: Duration,
    /// The index that it uses in place of the repository's own.
    index: Option<String>,
}

impl<'a> Launch<'a> {
    /// git in `dir`; the search for its repository stops below `ceiling`.
    pub(super) fn new(dir: &Path, ceiling: Option<&Path>, env: &'a Env, stop: &'a Cancel) -> Self {
        Self {
            dir: dir.to_owned(),
            env,
            stop,
            ceiling: ceiling.map(Path::to_owned),
            limit: GIT_TIMEOUT,
            index: None,
        }
    }

    /// The same with time for a whole repository.
    pub(super) fn slow(&self) -> Self {
        Self {
            limit: SLOW_GIT_TIMEOUT,
            ..self.at(&self.dir)
        }
    }

    /// The same repository, from `dir`.
    pub(super) fn at(&self, dir: &Path) -> Self {
        Self {
            index: self.index.clone(),
            ..Self::new(dir, self.ceiling.as_deref(), self.env, self.stop)
        }
    }

    /// The same with the file `index` for its index.
    pub(super) fn with_index(&self, index: &str) -> Self {
        Self {
            index: Some(index.to_owned()),
            limit: self.limit,
            ..self.at(&self.dir)
        }
    }

    /// Runs git with these arguments.
    pub(super) fn run<S: Into<OsString>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Outcome<ProgramOutput> {
        self.prepared(args).run(self.stop)?.unless_cancelled()
    }

    /// Runs git with these arguments and `input` on standard input.
    pub(super) fn feed<S: Into<OsString>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: Vec<u8>,
    ) -> Outcome<ProgramOutput> {
        let mut run = self.prepared(args);
        run.stdin = Stdin::Bytes(input);
        run.run(self.stop)?.unless_cancelled()
    }

    /// Runs git and passes on each NUL-terminated chunk of its output, however many there are.
    pub(super) fn split<S: Into<OsString> + Clone>(
        &self,
        args: &[S],
        input: Option<Vec<u8>>,
        on_chunk: &mut dyn FnMut(&[u8]),
    ) -> Outcome<ProgramOutput> {
        let mut run = self.prepared(args.iter().cloned());
        run.stdin = input.map_or(Stdin::Null, Stdin::Bytes);
        run.run_split(self.stop, 0, &mut |chunk| {
            on_chunk(chunk);
            ControlFlow::Continue(())
        })?
        .unless_cancelled()
    }

    /// The ceiling as GIT_CEILING_DIRECTORIES can express it: the variable is a list of text, so a path with a colon or one that is not UTF-8 cannot be in it.
    fn nameable_ceiling(&self) -> Option<&str> {
        let ceiling = self.ceiling.as_deref().and_then(Path::to_str);
        ceiling.filter(|path| !path.contains(':'))
    }

    /// Makes sure that git uses `repository` and not a repository above it, where GIT_CEILING_DIRECTORIES cannot express the path.
    ///
    /// # Errors
    /// `Missing` when git finds another repository or none.
    pub(super) fn confirm(&self, repository: &Repository) -> Outcome<()> {
        if self.ceiling.is_none() || self.nameable_ceiling().is_some() {
            return Ok(());
        }
        let mut found = Vec::new();
        let output = ["rev-parse", "--absolute-git-dir"];
        let done = self.split(&output, None, &mut |chunk| found.extend_from_slice(chunk))?;
        output::git_output(&self.dir, done)?;
        if found.strip_suffix(b"\n") == Some(repository.git().as_os_str().as_bytes()) {
            return Ok(());
        }
        Err(output::no_repository(&self.dir))
    }

    fn prepared<S: Into<OsString>>(&self, args: impl IntoIterator<Item = S>) -> ProgramSpec {
        let mut env = git_env(self.env);
        env.retain(|(names, _)| VARIABLES.iter().all(|(name, _)| names != name));
        env.extend(VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())));
        if let Some(ceiling) = self.nameable_ceiling() {
            env.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling.to_owned()));
        }
        if let Some(index) = &self.index {
            env.push(("GIT_INDEX_FILE".to_owned(), index.clone()));
        }
        let fixed = FIXED.map(|setting| [OsString::from("-c"), OsString::from(setting)]);
        let mut run = ProgramSpec::new(
            "git",
            std::iter::once(OsString::from("--no-pager"))
                .chain(fixed.into_iter().flatten())
                .chain(args.into_iter().map(Into::into)),
            env,
        );
        run.dir = Some(self.dir.clone());
        run.limit = self.limit;
        run.may_keep_terminal = true;
        run.stdout = KeepLimits::ends(OUTPUT_BYTES / 2, OUTPUT_BYTES / 2);
        run.stderr = KeepLimits::ends(4096, 4096);
        run
    }
}
