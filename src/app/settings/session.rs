//! Which session a run goes on with, or begins.

use super::CliArgs;
use crate::base::problem::{Outcome, Problem};
use crate::store::sessions::SessionId;

/// What the flags say about the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionFlags {
    /// `--continue`.
    pub latest: bool,
    /// `--resume`; empty without an id.
    pub resume: Option<String>,
    /// `--fork-session`.
    pub fork: bool,
    pub id: Option<SessionId>,
}

/// The session of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SessionChoice {
    New,
    /// The latest one of the folder.
    Latest,
    Named(String),
    /// The user chooses from a list.
    Pick,
}

impl SessionFlags {
    /// Which session is meant.
    pub(crate) fn choice(&self) -> SessionChoice {
        match &self.resume {
            Some(word) if word.trim().is_empty() => SessionChoice::Pick,
            Some(word) => SessionChoice::Named(word.clone()),
            None if self.latest => SessionChoice::Latest,
            None => SessionChoice::New,
        }
    }

    /// How the session begins, in the words of hooks (<https://docs.claude.com/en/docs/claude-code/hooks>, SessionStart).
    pub(crate) fn source(&self) -> &'static str {
        match (self.choice(), self.fork) {
            (SessionChoice::New, _) => "startup",
            (_, true) => "fork",
            (_, false) => "resume",
        }
    }

    /// Refuses combinations that make no sense.
    ///
    /// # Errors
    /// Which flags do not go together, and what to do instead.
    pub(crate) fn check(args: &CliArgs) -> Outcome<()> {
        let flags = &args.session;
        let goes_on = flags.latest || flags.resume.is_some();
        let any = goes_on || flags.fork || flags.id.is_some();
        let problem = if any && args.pipeline.is_wanted {
            Problem::input("--design-first keeps its own state and takes no session.")
                .next("Run the same command again to go on with it.")
        } else if flags.latest && flags.resume.is_some() {
            Problem::input("--continue and --resume both name a session.").next("Give one of them.")
        } else if flags.fork && !goes_on {
            Problem::input("--fork-session needs the session to copy.")
                .next("Give it with --continue or --resume ID.")
        } else if flags.id.is_some() && !args.non_interactive {
            Problem::input(
                "--session-id is only for --non-interactive: every other conversation is a session anyway.",
            )
        } else if flags.id.is_some() && goes_on && !flags.fork {
            Problem::input("--session-id names another session than --continue and --resume.").next(
                "Add --fork-session to go on with a copy under that ID, or leave one of them out.",
            )
        } else if args.non_interactive && flags.choice() == SessionChoice::Pick {
            Problem::input(
                "With --non-interactive nobody can choose a session: --resume needs an ID.",
            )
            .next("marvin sessions lists them.")
        } else if flags.choice() == SessionChoice::Pick && args.has_prompt() {
            Problem::input(
                "--resume without an ID shows a list first, so a prompt cannot follow at once.",
            )
            .next("Give the ID too; marvin sessions lists them.")
        } else {
            return Ok(());
        };
        Err(problem)
    }
}

/// The value of `--session-id`.
///
/// # Errors
/// It is not a UUID.
pub(super) fn id(value: &str) -> Outcome<SessionId> {
    SessionId::parse(value).ok_or_else(|| {
        let shown = crate::base::text::one_line(&crate::base::text::clip(value, 60));
        Problem::input(format!("--session-id wants a UUID, not \"{shown}\"."))
            .next("For example the output of uuidgen.")
    })
}
