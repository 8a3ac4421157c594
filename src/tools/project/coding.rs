//! Module `coding`: the working directory, its tree, and searching it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::problem::{Outcome, Problem};
use crate::disk::beneath::{ListingOptions, Root};
use crate::disk::paths::{PROJECT_FOLDER, TICKETS};
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::project::search::{SearchQuery, search};
use crate::tools::project::{program_folders, secret_folders};
use crate::tools::{Effect, MEMORY, READ, ToolOk};

tools! { "coding", in_children;
    /// Choose the directory all coding tools work in.
    set_working_dir(SetWorkingDir; MEMORY.coding().seconds(5).idempotent()) {
        /// absolute path (the one place an absolute path is allowed); ~ expands
        path: String, example: "~/src/project";
    } => set_dir;

    /// Report the working directory.
    get_working_dir(GetWorkingDir; READ.coding().seconds(5)) {
    } => get_dir, says ["where are you", "working directory", "pwd"];

    /// Regular-expression search in the project.
    code_grep(CodeGrep; READ.direct().coding().seconds(30).service("ripgrep")) {
        /// regular expression
        pattern: String, example: "fn main";
        /// file name glob
        glob_filter: String = "*", example: "*.rs", alias: &["glob", "include"];
        /// lines around a hit
        context_lines: u32 = 2, min: 0, alias: &["context"];
        /// cap on hits
        max_results: u32 = 20, min: 1, alias: &["limit"];
    } => grep, says ["find {pattern}", "grep {pattern}", "search for {pattern}"];

    /// Show the directory tree.
    tree(TreeArgs; READ.direct().coding().seconds(15)) {
        /// relative directory
        path: String = ".", example: "src";
        /// levels
        max_depth: u32 = 3, min: 1, alias: &["depth"];
        /// hide ignored files
        respect_gitignore: bool = true;
    } => show_tree, says ["show the tree", "show the files", "tree", "list files", "list files in {path}"];
}

/// Maximum lines of a tree.
const TREE_LINES: usize = 1_000;

fn set_dir(ctx: &ToolContext, args: SetWorkingDir) -> Outcome<ToolOk> {
    let root = approved_folder(ctx, &args.path)?;
    let dir = root.path().to_owned();
    ctx.session.working_dir.set(root, false);
    Ok(ToolOk::from(format!("Working directory: {}", dir.display())).and(Effect::WorkingDir(dir)))
}

/// The project that a tool is told to work in: the working directory unless another folder is given.
///
/// # Errors
/// There is none, this process may not work there, or the user does not want it.
pub(super) fn project(ctx: &ToolContext, given: Option<&str>) -> Outcome<Arc<Root>> {
    match given.map(str::trim).filter(|path| !path.is_empty()) {
        None => ctx.root(),
        Some(path) if path.starts_with(['/', '~']) => approved_folder(ctx, path).map(Arc::new),
        Some(path) => {
            let root = ctx.root()?;
            root.inner(&root.check(path)?).map(Arc::new)
        }
    }
}

/// The folder at an absolute path, as one to work in: inside the one that this process is bound to, no folder of secrets, no part that the fence closes,
/// and approved by the user when it lies outside the current one.
fn approved_folder(ctx: &ToolContext, path: &str) -> Outcome<Root> {
    let given = path;
    let path = expand(ctx, given);
    if !path.is_absolute() {
        return Err(Problem::input(format!("{given} is not an absolute path."))
            .next("Give it from the root, or from ~."));
    }
    let root = Root::open(&path)?;
    if let Some(bound) = ctx.session.working_dir.bound()
        && !bound.holds(&root)?
    {
        return Err(Problem::refused(format!(
            "{} lies outside {}, to which this process is bound.",
            root.path().display(),
            bound.path().display()
        ))
        .next("Choose a directory inside it."));
    }
    // What the user calls themselves, they want.
    if !ctx.approval.is_user_invoked() {
        secret_folders::check(&root, ctx)?;
    }
    if let Some(part) = guarded_part(ctx, &root)? {
        return Err(Problem::refused(format!(
            "{} cannot be the working directory: it belongs to {part}, and the fence around it would be gone.",
            root.path().display()
        ))
        .next("Stay in the project's folder; ticket tools, git tools and paths such as .marvin/spec.md reach what may be reached."));
    }
    let is_inside = match ctx.session.working_dir.root() {
        Some(now) => now.holds(&root)?,
        None => false,
    };
    if !is_inside {
        program_folders::check(&root, ctx)?;
        ctx.approve(ApprovalRequest::new(
            "Work in this directory?",
            "change the working directory",
            root.path(),
        ))?;
    }
    Ok(match ctx.session.working_dir.first() {
        Some(first) => root.keeping_closed(&first),
        None => root,
    })
}

/// The guarded part of a project in which `root` lies: of this session's project by identity, of any other by its path. Links were resolved when it was opened.
fn guarded_part(ctx: &ToolContext, root: &Root) -> Outcome<Option<&'static str>> {
    let place = &ctx.session.working_dir;
    let projects: Vec<Arc<Root>> = [place.root(), place.first(), place.bound()]
        .into_iter()
        .flatten()
        .collect();
    for project in &projects {
        if let Some(part) = project.closed_part(root)? {
            return Ok(Some(part));
        }
    }
    // Parent folders are not part of a project: a checkout may be inside a .marvin folder.
    let below = projects
        .iter()
        .find_map(|project| root.path().strip_prefix(project.path()).ok())
        .unwrap_or(root.path());
    let named = |part: &&str| {
        below
            .iter()
            .any(|name| name.eq_ignore_ascii_case(OsStr::new(part)))
    };
    Ok([TICKETS, ".git", PROJECT_FOLDER].into_iter().find(named))
}

fn expand(ctx: &ToolContext, path: &str) -> PathBuf {
    let home = || ctx.session.env.get("HOME").map(Path::new);
    match path.strip_prefix('~') {
        Some("") => home().map_or_else(|| PathBuf::from(path), Path::to_owned),
        Some(rest) if rest.starts_with('/') => home().map_or_else(
            || PathBuf::from(path),
            |home| home.join(rest.trim_start_matches('/')),
        ),
        _ => PathBuf::from(path),
    }
}

fn get_dir(ctx: &ToolContext, _: GetWorkingDir) -> Outcome<String> {
    Ok(match ctx.root() {
        Ok(root) => root.path().display().to_string(),
        Err(problem) => problem.one_line(),
    })
}

fn grep(ctx: &ToolContext, args: CodeGrep) -> Outcome<String> {
    // An absolute glob is about a folder beside the working directory.
    let (root, glob) = ctx.folder_of(&args.glob_filter)?;
    let is_beside = matches!(glob, Cow::Owned(_));
    let what = SearchQuery {
        pattern: &args.pattern,
        glob: if glob == "." { "*" } else { &glob },
        context: args.context_lines.min(50) as usize,
        max: args.max_results.min(1_000) as usize,
    };
    let found = search(&root, &what, &ctx.session.env, &ctx.stop)?;
    Ok(match is_beside {
        true => format!("In {}:\n{found}", root.path().display()),
        false => found,
    })
}

fn show_tree(ctx: &ToolContext, args: TreeArgs) -> Outcome<String> {
    // Models that mean the whole project often give an empty path.
    let path = Some(args.path.as_str()).filter(|path| !path.is_empty());
    let (root, path) = ctx.folder_of(path.unwrap_or("."))?;
    let rel = root.check(&path)?;
    root.listing(
        &rel,
        &ListingOptions {
            depth: args.max_depth as usize,
            max_entries: TREE_LINES,
            marvin: false,
            respect_gitignore: args.respect_gitignore,
            count: true,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::base::problem::ProblemKind;
    use crate::tools::engine::approval::Approval;
    use std::fs;

    fn set(ctx: &ToolContext, path: &Path) -> Outcome<ToolOk> {
        let path = path.display().to_string();
        set_dir(ctx, SetWorkingDir { path })
    }

    fn ctx(dir: &Path, is_bound: bool) -> ToolContext {
        ctx_with(Env::default(), dir, is_bound)
    }

    fn ctx_with(env: Env, dir: &Path, is_bound: bool) -> ToolContext {
        let ctx = ToolContext::for_tests(env);
        let root = Root::open(dir).unwrap();
        ctx.session.working_dir.set(root, is_bound);
        ctx
    }

    #[test]
    fn a_bound_process_stays_below_its_directory() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join("sub/deep")).unwrap();
        fs::create_dir_all(work.join(".git/hooks")).unwrap();
        fs::create_dir(dir.path().join("work-next")).unwrap();
        std::os::unix::fs::symlink("../../work-next", work.join("sub/out")).unwrap();
        let ctx = ctx(&work, true);
        for (path, is_allowed) in [
            ("work/sub/deep", true),
            ("work/sub", true),
            ("work", true),
            (".", false),
            ("work-next", false),
            ("work/sub/out", false),
            ("work/.git/hooks", false),
        ] {
            let answer = set(&ctx, &dir.path().join(path));
            assert_eq!(answer.is_ok(), is_allowed, "{path}: {answer:?}");
        }
        assert!(ctx.root().unwrap().path().ends_with("work"));
    }

    #[test]
    fn choosing_the_parent_folder_does_not_open_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir_all(work.join(".tickets")).unwrap();
        fs::write(work.join(".tickets/t-1.md"), "a ticket").unwrap();
        let ctx = ctx(&work, false);
        set(&ctx, dir.path()).unwrap();
        let root = ctx.root().unwrap();
        let ticket = root.check("work/.tickets/t-1.md").unwrap();
        assert!(root.read(&ticket, 99).is_err());
        assert!(set(&ctx, &work.join(".tickets")).is_err());
        set(&ctx, &work).unwrap();
    }

    /// A home with keys, a project and a configuration folder, and the context of a chat in the project.
    fn home_with_secrets(dir: &Path) -> ToolContext {
        for name in [
            ".ssh/keys",
            ".gnupg",
            ".aws",
            ".config/gh",
            ".config/other",
            "work/sub",
            "marvin/profiles",
        ] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, dir.join(at)).unwrap();
        link(".ssh", "keys-link");
        link("../../.ssh/keys", "work/sub/link");
        link(".gnupg", ".moved-gnupg");
        let text = |path: &Path| path.display().to_string();
        let env = Env::from([
            ("HOME", text(dir).as_str()),
            ("MARVIN_CONFIG_DIR", text(&dir.join("marvin")).as_str()),
        ]);
        ctx_with(env, &dir.join("work"), false)
    }

    #[test]
    fn the_model_chooses_no_folder_of_secrets_and_none_that_holds_one() {
        let dir = tempfile::tempdir().unwrap();
        let ctx = home_with_secrets(dir.path());
        let choose = |ctx: &ToolContext, path: &str| {
            set_dir(
                ctx,
                SetWorkingDir {
                    path: path.to_owned(),
                },
            )
            .map(drop)
        };
        for path in
            "~/.ssh ~/.ssh/ ~/.ssh/keys ~/work/../.ssh ~/keys-link ~/work/sub/link ~/.gnupg \
            ~/.moved-gnupg ~/.aws ~/.config/gh ~/marvin ~/marvin/profiles /proc/self /proc /sys \
            /dev /proc/self/root/sys ~ ~/.config /"
                .split_ascii_whitespace()
        {
            let problem = choose(&ctx, path).unwrap_err();
            assert_eq!(problem.kind, ProblemKind::Refused, "{path}: {problem}");
            assert!(
                problem.one_line().contains("--working-dir"),
                "{path}: {problem}"
            );
        }
        assert!(ctx.root().unwrap().path().ends_with("work"));
        for path in ["~/work/sub", "~/.config/other", "~/work"] {
            choose(&ctx, path).unwrap();
        }
        // Other tools that take a folder use the same check.
        assert!(project(&ctx, Some("~/.ssh")).is_err());
        let by_user = ToolContext {
            approval: Approval::UserInvoked,
            ..ctx
        };
        choose(&by_user, "~/.ssh").unwrap();
    }
}
