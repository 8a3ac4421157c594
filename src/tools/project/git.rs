//! Module `git`: the repository in the working directory.

use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text;
use crate::base::variables::{MARVIN_BRANCH, MARVIN_TICKET};
use crate::disk::beneath::Root;
use crate::disk::paths::PROJECT_FOLDER;
use crate::proc::git::Git;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::ticket_gate::TicketGate;
use crate::tools::engine::tool::tools;
use crate::tools::engine::write_allowlist;
use crate::tools::project::{git_index, scratch};
use crate::tools::{PROGRAMS, READ};

tools! { "git", in_children;
    /// Short status with branch.
    git_status(GitStatus; READ.direct().coding().seconds(30).service("git")) {
    } => status, says ["git status", "status"];

    /// Show changes.
    git_diff(GitDiff; READ.direct().coding().seconds(30).service("git")) {
        /// index instead of working tree
        staged: bool = false, alias: &["cached"];
        /// limit to one file
        path: Option<String>, example: "src/main.rs";
    } => diff, says ["git diff", "show the changes", "diff"];

    /// Stage and commit.
    git_commit(GitCommit; PROGRAMS.coding().seconds(60).saves_files().service("git").additive().open_world(false)) {
        /// commit message
        message: String, example: "Retry once when the connection was reset";
        /// stage everything first
        add_all: bool = true;
    } => commit, says ["commit {message}"];

    /// Recent commits.
    git_log(GitLog; READ.direct().coding().seconds(30).service("git")) {
        /// how many
        max_count: u64 = 10, min: 1, alias: &["count", "limit", "n"];
        /// one line each
        oneline: bool = true;
    } => log, says ["git log", "show the log"];

    /// Who last changed each line.
    git_blame(GitBlame; READ.coding().seconds(30).service("git")) {
        /// relative path
        path: String, example: "src/main.rs";
        /// optional range start
        start_line: Option<u64>;
        /// optional range end
        end_line: Option<u64>;
    } => blame;

    /// List branches.
    git_branch(GitBranch; READ.coding().seconds(30).service("git")) {
    } => branches, says ["git branch", "list branches"];

    /// Switch branch or commit, or restore a file.
    git_checkout(GitCheckout; PROGRAMS.coding().seconds(30).saves_files().service("git").open_world(false)) {
        /// branch, commit or path
        target: String, example: "main", alias: &["branch"];
        /// make a new branch
        create_branch: bool = false, alias: &["create", "new"];
    } => checkout;
}

/// A longer file is blamed only in ranges.
const MAX_WHOLE_BLAME_BYTES: u64 = 10_240;

/// git in the working directory.
fn git<'a>(ctx: &'a ToolContext, root: &Root) -> Outcome<Git<'a>> {
    Git::open(root.path(), &ctx.session.env, &ctx.stop)
}

fn status(ctx: &ToolContext, _: GitStatus) -> Outcome<String> {
    git(ctx, &*ctx.root()?)?.status()
}

fn diff(ctx: &ToolContext, args: GitDiff) -> Outcome<String> {
    let root = ctx.root()?;
    let path = args
        .path
        .as_deref()
        .filter(|path| !path.is_empty())
        .map(|path| root.check(path))
        .transpose()?;
    git(ctx, &root)?.diff(args.staged, path.as_ref().map(|path| path.as_str()))
}

fn commit(ctx: &ToolContext, args: GitCommit) -> Outcome<String> {
    not_empty("commit message", &args.message, "Say what changed and why.")?;
    let message = with_tickets(ctx, &args.message);
    let root = ctx.root()?;
    if args.add_all && root.path().join(PROJECT_FOLDER).is_dir() {
        // Files written before the repository existed are excluded now.
        scratch::hide(ctx);
    }
    let _index = git_index::hold(root.path(), &ctx.stop)?;
    let git = git(ctx, &root)?;
    match MARVIN_BRANCH.read(&ctx.session.env) {
        // A run commits what lies in its folder.
        Some(branch) => {
            check_branch(&git, branch)?;
            git.commit_beneath(&message, args.add_all)
        }
        None => git.commit(&message, args.add_all),
    }
}

/// Somebody may have checked out another branch while a run works on its own.
fn check_branch(git: &Git<'_>, wanted: &str) -> Outcome<()> {
    match git.off_branch(wanted)? {
        None => Ok(()),
        Some((why, _)) => Err(Problem::refused(format!("{why} Nothing was committed."))
            .next(format!(
                "If you moved away from it yourself, go back with git_checkout, target \"{wanted}\", and commit then."
            ))
            .next("Else leave the files as they are and end; the run stops and tells the user how to go on.")),
    }
}

/// A sub-agent's commits name the ticket that it created for its work, and the one that this belongs to.
fn with_tickets(ctx: &ToolContext, message: &str) -> String {
    let Some(parent) = MARVIN_TICKET.read(&ctx.session.env) else {
        return message.to_owned();
    };
    let own = ctx.session.modules.get::<TicketGate>().own();
    let own = own.filter(|own| own != parent);
    let missing: Vec<String> = own
        .as_deref()
        .into_iter()
        .chain([parent])
        .filter(|id| !message.contains(id))
        .map(|id| format!("Ticket: {id}"))
        .collect();
    match missing.is_empty() {
        true => message.to_owned(),
        false => format!("{}\n\n{}", message.trim_end(), missing.join("\n")),
    }
}

fn log(ctx: &ToolContext, args: GitLog) -> Outcome<String> {
    git(ctx, &*ctx.root()?)?.log(args.max_count.min(1_000), args.oneline)
}

fn blame(ctx: &ToolContext, args: GitBlame) -> Outcome<String> {
    let root = ctx.root()?;
    let rel = root.check(&args.path)?;
    let size = root
        .open_read(&rel)?
        .metadata()
        .map_or(0, |meta| meta.len());
    let range = match (args.start_line, args.end_line) {
        (None, None) if size > MAX_WHOLE_BLAME_BYTES => {
            return Err(Problem::limit(format!(
                "{} has {} bytes; files over 10 KB are blamed in ranges.",
                rel.as_str(),
                text::thousands(size)
            ))
            .next("For example start_line 1, end_line 50."));
        }
        (None, None) => None,
        (from, to) => {
            let from = from.unwrap_or(1).max(1);
            Some((from, to.unwrap_or(from + 200).max(from)))
        }
    };
    git(ctx, &root)?.blame(rel.as_str(), range)
}

fn branches(ctx: &ToolContext, _: GitBranch) -> Outcome<String> {
    git(ctx, &*ctx.root()?)?.branches()
}

fn checkout(ctx: &ToolContext, args: GitCheckout) -> Outcome<String> {
    let root = ctx.root()?;
    if let Some(own) = MARVIN_BRANCH.read(&ctx.session.env)
        && args.target != own
        && (args.create_branch || git(ctx, &root)?.commit_named(&args.target)?.is_some())
    {
        return Err(Problem::refused(format!(
            "This run works on the branch \"{own}\", and on no other."
        ))
        .next("Stay on it. git_checkout restores a file that is named by its path, such as ./README.md."));
    }
    if args.create_branch {
        return git(ctx, &root)?.create_branch(&args.target);
    }
    // It is neither a branch nor a commit, so it is a path: that is a write to a file.
    let path = root.check_write(&args.target).and_then(|rel| {
        write_allowlist::may_write(&ctx.session, &root, &rel)?;
        Ok(rel.as_str().to_owned())
    });
    match (git(ctx, &root), path) {
        (Ok(git), path) => git.checkout(&args.target, || path),
        // Without a repository nothing can be a branch; a path that leaves the working directory is reported as such.
        (Err(_), Err(problem)) | (Err(problem), Ok(_)) => Err(problem),
    }
}
