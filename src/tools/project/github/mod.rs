//! Module `github`: searches GitHub, and clones repositories for reading. Nothing of a clone is ever run.

mod name;
mod search;

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::base::params::choice;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, plural, thousands};
use crate::disk::beneath::{FileKind, ListingOptions, Root};
use crate::net::download::size;
use crate::net::services;
use crate::proc::git::Git;
use crate::proc::git::clone::{CloneRequest, is_there};
use crate::proc::program::find_program;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::read_budget::READ_WARN;
use crate::tools::engine::tool::tools;
use crate::tools::output::untrusted::fenced;
use crate::tools::project::search::{SearchQuery, hits};
use crate::tools::{OUTSIDE, READ};
use name::RepoName;

choice! {
    /// What to search.
    pub(crate) enum SearchType { Repositories = "repositories", Code = "code", Issues = "issues", Commits = "commits", Users = "users" }
}

/// The service that clones come from.
static CLONES: [&services::Service; 1] = [&services::GITHUB];

tools! { "github";
    /// Search GitHub.
    github_search(GithubSearch; READ.seconds(30).service("gh cli").open_world(true)) {
        /// search text with qualifiers
        query: String, example: "language:rust terminal";
        /// what to search
        search_type: SearchType = "repositories";
        /// how many
        max_results: u64 = 10, min: 1, max: 30;
    } => search::search, says ["search github for {query}"];

    /// Clone a repository for reading.
    github_clone(GithubClone; OUTSIDE.seconds(120).slow().saves_files().service("gh cli, git").asks(&CLONES).additive()) {
        /// owner/name or a GitHub URL
        repo: String, example: "rust-lang/rust";
        /// depth 1
        shallow: bool = true;
    } => clone, says ["clone {repo}"];

    /// Read a file of a cloned repository.
    github_read_file(GithubReadFile; READ.seconds(10)) {
        /// owner/name
        repo: String, example: "rust-lang/rust";
        /// file in the repository
        path: String, example: "README.md";
        /// first line, 0 = start
        start: u64 = 0;
        /// last line, 0 = end
        end: u64 = 0;
    } => read;

    /// Search a cloned repository.
    github_grep(GithubGrep; READ.seconds(30).service("ripgrep")) {
        /// owner/name
        repo: String, example: "rust-lang/rust";
        /// regular expression
        pattern: String, example: "fn main";
        /// file glob
        glob_filter: String = "";
        /// cap
        max_results: u64 = 30, min: 1, max: 100;
    } => grep;
}

/// Time limit of a clone; that of the call is a little longer.
const CLONE_TIMEOUT: Duration = Duration::from_secs(118);
/// A longer file is read in ranges.
const MAX_WHOLE_READ_BYTES: u64 = 512_000;
/// Maximum size of a file that is read at all.
const MAX_FILE_BYTES: u64 = 512 << 20;

fn base(ctx: &ToolContext) -> &str {
    services::service("github").map_or("", |service| service.base_in(&ctx.session.env))
}

/// The folder of a repository's clone, existing or not.
fn clone_path(ctx: &ToolContext, repo: &str) -> Outcome<(RepoName, PathBuf)> {
    let name = RepoName::parse(repo, base(ctx))?;
    let dest = ctx
        .session
        .paths
        .clones()?
        .join(&name.owner)
        .join(&name.repo);
    Ok((name, dest))
}

fn clone(ctx: &ToolContext, args: GithubClone) -> Outcome<String> {
    let (name, dest) = clone_path(ctx, &args.repo)?;
    let present = || {
        format!(
            "{name} is already present: {}{}.",
            dest.display(),
            branch_note(ctx, &dest)
        )
    };
    // In this order: a clone of another call appears at once and whole.
    if dest.symlink_metadata().is_ok() {
        if is_there(&dest) {
            return Ok(present());
        }
        return Err(
            Problem::refused(format!("{} exists and is not a clone.", dest.display()))
                .next("Move or remove it, then clone again."),
        );
    }
    let env = &ctx.session.env;
    let base = base(ctx);
    let url = format!("{base}/{name}.git");
    let on_progress = |bytes| ctx.progress(format!("{} received", size(bytes)));
    let full = name.to_string();
    let with_git = CloneRequest {
        url: &url,
        shallow: args.shallow,
        limit: CLONE_TIMEOUT,
        gh: None,
        gh_vars: Vec::new(),
    };
    // gh can read private repositories, but only if it is signed in and clones come from GitHub itself.
    let is_github = services::service("github").is_some_and(|service| service.base == base);
    let gh = find_program("gh", env).filter(|gh| is_github && signed_in(ctx, gh));
    let gh_result = gh.as_ref().map(|gh| {
        let clone = CloneRequest {
            gh: Some((gh, &full)),
            gh_vars: search::variables(env),
            ..with_git.clone()
        };
        clone.run(&dest, env, &ctx.stop, &on_progress)
    });
    let output = match gh_result {
        Some(Err(problem)) if !problem.is_cancelled() && !is_there(&dest) => None,
        output => output,
    };
    let output = output.unwrap_or_else(|| with_git.run(&dest, env, &ctx.stop, &on_progress));
    if let Err(problem) = output {
        // Several calls may clone at once: the first complete clone wins.
        if !problem.is_cancelled() && is_there(&dest) {
            return Ok(present());
        }
        drop(dest.parent().map(std::fs::remove_dir));
        return Err(problem);
    }
    let depth = if args.shallow {
        "only the newest commit"
    } else {
        "with its history"
    };
    let head = Git::open(&dest, env, &ctx.stop).and_then(|git| git.head());
    if let Ok((_, false)) = head {
        return Ok(format!(
            "Cloned {name} to {}. The repository is empty: it has no commits yet.",
            dest.display()
        ));
    }
    Ok(format!(
        "Cloned {name} to {} ({depth}{}). github_read_file and github_grep read it.",
        dest.display(),
        branch_note(ctx, &dest)
    ))
}

/// The branch of a clone, or that it is empty.
fn branch_note(ctx: &ToolContext, dest: &Path) -> String {
    let head = Git::open(dest, &ctx.session.env, &ctx.stop).and_then(|git| git.head());
    match head {
        Ok((_, false)) => ", an empty repository".to_owned(),
        Ok((Some(branch), true)) => format!(", branch {}", escape_controls(&branch)),
        Ok((None, true)) | Err(_) => String::new(),
    }
}

fn signed_in(ctx: &ToolContext, gh: &Path) -> bool {
    let mut run = search::gh(gh, &ctx.session.env, vec!["auth".into(), "status".into()]);
    run.limit = Duration::from_secs(10);
    run.run(&ctx.stop).is_ok_and(|output| output.success())
}

/// Opens a clone with a fence around it.
fn open_clone(ctx: &ToolContext, repo: &str) -> Outcome<(RepoName, Root)> {
    let (name, dest) = clone_path(ctx, repo)?;
    if !is_there(&dest) {
        let known = present(&ctx.session.paths.clones()?);
        let problem = Problem::missing(format!("{name} is not cloned."));
        let problem = problem.near(&name.to_string(), known.iter().map(String::as_str));
        return Err(problem.next(format!("Call github_clone with repo \"{name}\" first.")));
    }
    let root = Root::open(&dest)?.called(format!("clone of {name}"));
    Ok((name, root))
}

/// The names of existing clones.
fn present(clones: &Path) -> Vec<String> {
    let inside = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names = Vec::new();
    for owner in inside(clones).take(1_000) {
        for repo in inside(&owner.path()).take(1_000) {
            let names_of =
                |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            if is_there(&repo.path()) {
                names.push(format!("{}/{}", names_of(&owner), names_of(&repo)));
            }
        }
    }
    names
}

fn read(ctx: &ToolContext, args: GithubReadFile) -> Outcome<String> {
    let (name, root) = open_clone(ctx, &args.repo)?;
    let rel = root.check(match args.path.trim() {
        "" | "/" => ".",
        path => path,
    })?;
    if rel.is_here() || root.metadata(&rel)?.kind == FileKind::Folder {
        let options = ListingOptions {
            max_entries: 200,
            count: true,
            ..ListingOptions::SHORT
        };
        return Ok(format!(
            "{name}: {}\n{}",
            rel.as_str(),
            root.listing(&rel, &options)?
        ));
    }
    if args.end != 0 && args.end < args.start {
        return Err(Problem::input(format!(
            "{name}: end {} is before start {}.",
            args.end, args.start
        )));
    }
    let file = root.open_read(&rel)?;
    let bytes = file.metadata().map_or(0, |about| about.len());
    if bytes > MAX_FILE_BYTES || (bytes > MAX_WHOLE_READ_BYTES && args.start == 0 && args.end == 0)
    {
        return Err(Problem::limit(format!(
            "{name}: {} has {} bytes; files over {} are read in ranges.",
            rel.as_str(),
            thousands(bytes),
            thousands(MAX_WHOLE_READ_BYTES)
        ))
        .next("For example start 1, end 200; github_grep finds the place."));
    }
    let from = args.start.max(1);
    let to = if args.end == 0 { u64::MAX } else { args.end };
    let mut out = String::new();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    let (mut number, mut left) = (0u64, READ_WARN);
    let mut cut = false;
    while number < to {
        line.clear();
        let count = reader
            .read_until(b'\n', &mut line)
            .map_err(|error| Problem::system(format!("Cannot read {}", rel.as_str()), error))?;
        if count == 0 {
            break;
        }
        ctx.stop.check()?;
        number += 1;
        if number == 1 && line.iter().take(8_000).any(|byte| *byte == 0) {
            return Err(Problem::input(format!(
                "{name}: {} is binary.",
                rel.as_str()
            )));
        }
        if number >= from {
            let text = String::from_utf8_lossy(&line);
            let shown = format!(
                "{number}. {}\n",
                escape_controls(text.trim_end_matches(['\n', '\r']))
            );
            if shown.len() > left {
                cut = true;
                break;
            }
            left -= shown.len();
            out.push_str(&shown);
        }
    }
    if out.is_empty() && !cut {
        return Ok(match number {
            0 => format!("{name}: {} is empty.", rel.as_str()),
            _ => format!(
                "{name}: {} has {}; there is no line {from}.",
                rel.as_str(),
                plural(usize::try_from(number).unwrap_or(usize::MAX), "line")
            ),
        });
    }
    let mut result = format!(
        "{name}: {} ({} bytes)\n{}",
        rel.as_str(),
        thousands(bytes),
        fenced(&format!("a file of {name}"), &out)
    );
    if cut {
        result.push_str(&format!(
            "\n[Cut before line {number}; continue with start {number}.]"
        ));
    }
    Ok(result)
}

fn grep(ctx: &ToolContext, args: GithubGrep) -> Outcome<String> {
    let (name, root) = open_clone(ctx, &args.repo)?;
    if args.pattern.is_empty() {
        return Err(Problem::input("The pattern is empty.").next("For example: fn main"));
    }
    let glob = match args.glob_filter.trim() {
        "" => "*",
        glob => glob,
    };
    let query = SearchQuery {
        pattern: &args.pattern,
        glob,
        context: 0,
        max: usize::try_from(args.max_results).unwrap_or(30),
    };
    let (found, more) = hits(&root, &query, &ctx.session.env, &ctx.stop)?;
    if found.is_empty() {
        return Ok(format!(
            "No hits for {} in {name}.",
            clip(&escape_controls(&args.pattern), 100)
        ));
    }
    let lines: Vec<String> = found
        .iter()
        .map(|line| clip(line.trim_end(), 400))
        .collect();
    let mut out = fenced(
        &format!("files of {name}"),
        &escape_controls(&lines.join("\n")),
    );
    if more {
        out.push_str(&format!(
            "\n[More than {}; narrow the pattern or the glob.]",
            plural(found.len(), "hit")
        ));
    }
    Ok(out)
}
