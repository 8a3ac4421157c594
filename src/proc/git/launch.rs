//! How git is started: no terminal, no pager, no hooks, no network, nothing that runs by itself.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::error::Outcome;
use crate::proc::capture::Keep;
use crate::proc::child::{Done, Run};
use crate::proc::scrub::git_env;

/// Bytes kept of git's output.
const OUTPUT: usize = 64 * 1024;
/// One call of git.
const LIMIT: Duration = Duration::from_secs(30);
/// Settings that no repository may choose.
const FIXED: [&str; 15] = [
    "core.quotePath=false",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.askPass=",
    "commit.gpgSign=false",
    "tag.gpgSign=false",
    "log.showSignature=false",
    "submodule.recurse=false",
    // An identity that git makes up of the account and the host name depends on the machine and is nobody's choice.
    "user.useConfigOnly=true",
    // Clearing up runs gc.recentObjectsHook, and would go on in the background; git before 2.29 asks only the first of these.
    "gc.auto=0",
    "gc.autoDetach=false",
    "maintenance.auto=false",
    "maintenance.autoDetach=false",
    // A transport that runs any command is never wanted.
    "protocol.ext.allow=never",
];
/// Variables that git gets besides the caller's harmless ones.
const VARIABLES: [(&str, &str); 8] = [
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
];

/// git in one directory, with the settings of this file.
#[derive(Debug)]
pub(super) struct Launch<'a> {
    /// Where it runs.
    pub(super) dir: PathBuf,
    /// The caller's environment.
    pub(super) env: &'a Env,
    stop: &'a Cancel,
    ceiling: Option<PathBuf>,
}

impl<'a> Launch<'a> {
    /// git in `dir`, looking for its repository nowhere at or above `ceiling`.
    pub(super) fn new(dir: &Path, ceiling: Option<&Path>, env: &'a Env, stop: &'a Cancel) -> Self {
        Self {
            dir: dir.to_owned(),
            env,
            stop,
            ceiling: ceiling.map(Path::to_owned),
        }
    }

    /// The same in `top`, whose repository must be right there.
    pub(super) fn at(&self, top: &Path) -> Self {
        Self::new(top, top.parent(), self.env, self.stop)
    }

    /// Runs git with these arguments.
    pub(super) fn run<S: Into<String>>(&self, args: impl IntoIterator<Item = S>) -> Outcome<Done> {
        self.prepared(args).run(self.stop)?.unless_cancelled()
    }

    /// Runs git and hands on each piece of its output that a NUL ends, however many there are.
    pub(super) fn split(&self, args: &[&str], each: &mut dyn FnMut(&[u8])) -> Outcome<Done> {
        self.prepared(args.iter().copied())
            .run_split(self.stop, 0, &mut |piece| {
                each(piece);
                ControlFlow::Continue(())
            })?
            .unless_cancelled()
    }

    fn prepared<S: Into<String>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        let mut env = git_env(self.env);
        env.retain(|(set, _)| VARIABLES.iter().all(|(name, _)| set != name));
        env.extend(VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned())));
        // The variable is a list: a path with a colon, or one that is no text, cannot be named in it.
        let ceiling = self.ceiling.as_deref().and_then(Path::to_str);
        if let Some(ceiling) = ceiling.filter(|path| !path.contains(':')) {
            env.push(("GIT_CEILING_DIRECTORIES".to_owned(), ceiling.to_owned()));
        }
        let fixed = FIXED.map(|fixed| ["-c".to_owned(), fixed.to_owned()]);
        let mut run = Run::new(
            "git",
            std::iter::once("--no-pager".to_owned())
                .chain(fixed.into_iter().flatten())
                .chain(args.into_iter().map(Into::into)),
            env,
        );
        run.dir = Some(self.dir.clone());
        run.limit = LIMIT;
        run.stdout = Keep::ends(OUTPUT / 2, OUTPUT / 2);
        run.stderr = Keep::ends(4096, 4096);
        run
    }
}
