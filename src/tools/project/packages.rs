//! Module `packages`: adds packages to the project in the working directory, with the package manager it uses.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use rustix::fs::OFlags;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, tail};
use crate::base::word_list::WordList;
use crate::disk::beneath::Root;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec};
use crate::proc::child_env::{command_env, search_path};
use crate::proc::program::find_for_command;
use crate::proc::sandbox::session_sandbox::CommandSandbox;
use crate::tools::PROGRAMS;
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::project::command_watch::watch;
use crate::tools::project::shell;

tools! { "packages", in_children;
    /// Add packages to the project.
    install_packages(InstallPackages; PROGRAMS.coding().seconds(900).slow().saves_files().service("uv").additive()) {
        /// names with optional versions
        packages: Vec<String>, example: "[\"requests\"]", alias: &["package", "names"];
        /// development dependency
        dev: bool = false;
        /// auto, uv, npm, cargo, pip (later upstream idea)
        manager: String = "auto";
    } => install, says ["install {packages}"];
}

/// Time limit for one package.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(120);
/// The interpreter that pip runs in.
const VENV_PYTHON: &str = ".venv/bin/python";
/// Maximum packages of one call.
const MAX_PACKAGES: usize = 20;
/// Variables that determine where packages come from; only the package manager gets them.
const SOURCES: WordList = WordList(
    "UV_DEFAULT_INDEX UV_INDEX_URL UV_INDEX UV_EXTRA_INDEX_URL UV_OFFLINE UV_PYTHON UV_NATIVE_TLS \
     PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_CONFIG_FILE NPM_CONFIG_REGISTRY NPM_CONFIG_USERCONFIG",
);

/// A package manager.
struct Manager {
    name: &'static str,
    /// A file that shows that a project uses it.
    marker_file: &'static str,
    /// Files that are restored when it fails or is cancelled.
    files: &'static [&'static str],
    /// The regular expression of a valid package name.
    name_pattern: &'static str,
    args: &'static [&'static str],
    dev: &'static [&'static str],
    install_hint: &'static str,
}

const PYTHON: &str = r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?(\[[A-Za-z0-9._, -]*\])?\s*((===?|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+(\s*,\s*(===?|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+)*)?$";

static MANAGERS: [Manager; 4] = [
    Manager {
        name: "uv",
        marker_file: "pyproject.toml",
        files: &["pyproject.toml", "uv.lock"],
        name_pattern: PYTHON,
        args: &["add"],
        dev: &["--dev"],
        install_hint: "Install it: see https://docs.astral.sh/uv/, or \"pipx install uv\".",
    },
    Manager {
        name: "npm",
        marker_file: "package.json",
        files: &["package.json", "package-lock.json"],
        name_pattern: r"^(@[a-z0-9][a-z0-9._-]*/)?[a-zA-Z0-9][a-zA-Z0-9._-]*(@[A-Za-z0-9^~<>=.*+_-]+)?$",
        args: &["install", "--no-fund", "--no-audit"],
        dev: &["--save-dev"],
        install_hint: "Install the package npm (Node.js).",
    },
    Manager {
        name: "cargo",
        marker_file: "Cargo.toml",
        files: &["Cargo.toml", "Cargo.lock"],
        name_pattern: r"^[A-Za-z0-9][A-Za-z0-9_-]*(@[A-Za-z0-9^~<>=.*+_-]+)?$",
        args: &["add"],
        dev: &["--dev"],
        install_hint: "Install Rust: the package cargo, or rustup.",
    },
    Manager {
        name: "pip",
        marker_file: "requirements.txt",
        files: &[],
        name_pattern: PYTHON,
        args: &[
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
        ],
        dev: &[],
        install_hint: "Install the package python3-venv.",
    },
];

fn install(ctx: &ToolContext, args: InstallPackages) -> Outcome<String> {
    let root = ctx.root()?;
    let packages: Vec<&str> = args.packages.iter().map(|name| name.trim()).collect();
    if packages.is_empty() || packages.iter().all(|name| name.is_empty()) {
        return Err(
            Problem::input("No packages are named.").next("For example packages [\"requests\"].")
        );
    }
    if packages.len() > MAX_PACKAGES {
        return Err(Problem::limit(format!(
            "{} packages are too many; the limit is {MAX_PACKAGES}.",
            packages.len()
        )));
    }
    let manager = choose_manager(&root, args.manager.trim())?;
    for name in &packages {
        check(manager, name)?;
    }
    let program = program(ctx, manager, &root)?;
    let commands: Vec<String> = packages
        .iter()
        .map(|name| shown(manager, &arguments(manager, name, args.dev)))
        .collect();
    // Package installers run other people's code.
    let request = ApprovalRequest::new(
        "Install these packages?",
        "install these packages",
        commands.join("\n"),
    );
    let sandbox = shell::sandbox_for(ctx, root.path())?;
    match &sandbox {
        Some(sandbox) if !sandbox.policy.network => {
            return Err(Problem::refused(
                "Packages come from the network, and commands have none here.",
            )
            .next("The caller can allow it: --sandbox-network on."));
        }
        Some(_) => {}
        None => ctx.approve(request.in_dir(root.path()))?,
    }
    let sandbox = sandbox.as_ref();
    let mut lines = Vec::new();
    let mut installed = 0;
    for (index, name) in packages.iter().enumerate() {
        ctx.progress(format!("{name} ({} of {})", index + 1, packages.len()));
        // Packages bring scripts of their own along.
        let watch = watch(ctx, sandbox, &root);
        let outcome = install_one(ctx, manager, &program, &root, sandbox, name, args.dev);
        let remarks = watch.map(|watch| watch.settle(ctx));
        let remarks = remarks.unwrap_or_default();
        match outcome {
            Ok(Ok(what)) => {
                installed += 1;
                lines.push(format!("{name}: {what}{remarks}"));
            }
            Ok(Err(reason)) => lines.push(format!("{name}: not installed. {reason}{remarks}")),
            Err(problem) if remarks.is_empty() => return Err(problem),
            Err(problem) => return Err(problem.facts(remarks.trim())),
        }
    }
    if installed == 0 {
        return Err(Problem::input(format!(
            "{} installed nothing.\n{}",
            manager.name,
            lines.join("\n")
        )));
    }
    Ok(lines.join("\n"))
}

/// The requested package manager, or the one that the project's files indicate.
fn choose_manager(root: &Root, requested: &str) -> Outcome<&'static Manager> {
    let names: Vec<&str> = MANAGERS
        .iter()
        .map(|install_one| install_one.name)
        .collect();
    let requested = requested.to_ascii_lowercase();
    if !matches!(requested.as_str(), "" | "auto") {
        return MANAGERS
            .iter()
            .find(|install_one| install_one.name == requested)
            .ok_or_else(|| {
                let problem = Problem::input(format!(
                    "\"{}\" is not a supported package manager here.",
                    clip(&escape_controls(&requested), 40)
                ));
                let one_of = names.join(", ");
                problem.near(&requested, names).next(format!(
                    "One of: auto, {one_of}. Nothing is installed with sudo."
                ))
            });
    }
    // uv itself searches parent folders for a project.
    let above = root
        .path()
        .ancestors()
        .any(|dir| dir.join("pyproject.toml").is_file());
    let is_marked = |install_one: &&Manager| root.path().join(install_one.marker_file).is_file();
    let found = MANAGERS.iter().find(is_marked);
    let venv = root.path().join(".venv").is_dir();
    match found {
        Some(found) => Ok(found),
        None if above => Ok(&MANAGERS[0]),
        None if venv => Ok(&MANAGERS[3]),
        None => Err(Problem::missing(format!(
            "No project file was found in {} (pyproject.toml, package.json, Cargo.toml, requirements.txt).",
            root.path().display()
        ))
        .next("For Python, run_command with \"uv init --bare\" makes a pyproject.toml; or name the manager.")),
    }
}

fn check(manager: &Manager, name: &str) -> Outcome<()> {
    let good =
        Regex::new(manager.name_pattern).is_ok_and(|name_pattern| name_pattern.is_match(name));
    if good && name.len() <= 200 {
        return Ok(());
    }
    let shown = clip(&escape_controls(name), 80);
    Err(Problem::refused(format!("\"{shown}\" is not a package name for {}.", manager.name))
        .next("Give a name with an optional version, such as \"requests>=2.31\" (Python) or \"left-pad@1.3.0\" (npm, cargo); no options, addresses or paths."))
}

fn program(ctx: &ToolContext, manager: &Manager, root: &Root) -> Outcome<PathBuf> {
    if manager.name == "pip" {
        let python = root.path().join(VENV_PYTHON);
        return if python.is_file() {
            Ok(python)
        } else {
            Err(Problem::missing(format!(
                "{} has no virtual environment in .venv.",
                root.path().display()
            ))
            .next("run_command with \"python3 -m venv .venv\" makes one."))
        };
    }
    let path = search_path(&ctx.session.env);
    find_for_command(manager.name, &path).ok_or_else(|| {
        Problem::missing(format!("The program {} was not found.", manager.name))
            .next(manager.install_hint)
    })
}

/// The arguments that add one package.
fn arguments<'a>(manager: &'a Manager, name: &'a str, dev: bool) -> Vec<&'a str> {
    let mut arguments: Vec<&str> = manager.args.to_vec();
    if dev {
        arguments.extend(manager.dev);
    }
    arguments.extend(["--", name]);
    arguments
}

/// The command line that adds one package, in shell syntax.
fn shown(manager: &Manager, arguments: &[&str]) -> String {
    let program = if manager.name == "pip" {
        VENV_PYTHON
    } else {
        manager.name
    };
    let all = std::iter::once(program).chain(arguments.iter().copied());
    shlex::try_join(all).unwrap_or_else(|_| arguments.join(" "))
}

/// Installs one package; the inner error is the manager's message.
fn install_one(
    ctx: &ToolContext,
    manager: &Manager,
    program: &Path,
    root: &Root,
    sandbox: Option<&CommandSandbox>,
    name: &str,
    dev: bool,
) -> Outcome<Result<String, String>> {
    let env = &ctx.session.env;
    let mut vars = command_env(env);
    let fixed = [
        ("UV_NO_PROGRESS", "1"),
        ("NO_COLOR", "1"),
        ("npm_config_yes", "true"),
        ("CARGO_TERM_COLOR", "never"),
    ];
    let own = SOURCES
        .iter()
        .filter_map(|name| Some((name, env.get(name)?)));
    let more: Vec<(&str, &str)> = own.chain(fixed).collect();
    vars.retain(|(set, _)| more.iter().all(|(name, _)| set != name));
    vars.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    if let Some(sandbox) = sandbox {
        sandbox.adjust(&mut vars);
    }
    let mut run = ProgramSpec::new(program, arguments(manager, name, dev), vars);
    run.sandbox = sandbox.map(|sandbox| sandbox.policy.clone());
    run.dir = Some(root.path().to_owned());
    run.limit = INSTALL_TIMEOUT;
    run.supervisor.clone_from(&ctx.session.supervisor);
    run.stdout = KeepLimits::ends(4096, 8192);
    run.stderr = KeepLimits::ends(4096, 16 * 1024);
    let before = ProjectSnapshot::of(manager, root);
    let output = run.run_watched(&ctx.stop, &mut |lines| ctx.output(lines))?;
    if !output.success() {
        before.restore();
    }
    let output = output.unless_cancelled()?;
    Ok(if output.success() {
        Ok(success_line(&output, name))
    } else if output.timed_out {
        Err(output.ending())
    } else {
        Err(failure_reason(&output))
    })
}

/// The original contents of the project's files: a manager that is stopped leaves them half changed. None: there was no such file.
struct ProjectSnapshot(Vec<(PathBuf, Option<PlainFile>)>);

impl ProjectSnapshot {
    fn of(manager: &Manager, root: &Root) -> Self {
        let files = manager.files.iter().filter_map(|name| {
            let path = root.path().join(name);
            match PlainFile::read(&path) {
                Ok(file) => Some((path, Some(file))),
                Err(error) if error.kind() == ErrorKind::NotFound => Some((path, None)),
                // A link, a pipe or what cannot be read is left alone.
                Err(_) => None,
            }
        });
        Self(files.collect())
    }

    fn restore(&self) {
        for (path, noted) in &self.0 {
            let _ = match noted {
                Some(noted) => match PlainFile::read(path) {
                    Ok(now) if now.bytes == noted.bytes => Ok(()),
                    _ => noted.put(path),
                },
                None => fs::remove_file(path),
            };
        }
    }
}

/// A regular file.
struct PlainFile {
    bytes: Vec<u8>,
    permissions: Permissions,
}

impl PlainFile {
    /// Neither through a link nor from a pipe, which would block.
    fn read(path: &Path) -> io::Result<Self> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or_default())
            .open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self {
            bytes,
            permissions: about.permissions(),
        })
    }

    /// Puts it in the place of whatever has the name now: a link there is replaced, and what it leads to is not written.
    fn put(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
        let mut fresh = tempfile::Builder::new()
            .prefix(".marvin-")
            .tempfile_in(folder)?;
        fresh.write_all(&self.bytes)?;
        fresh.as_file().set_permissions(self.permissions.clone())?;
        fresh.persist(path).map_err(|failed| failed.error)?;
        Ok(())
    }
}

/// What was installed, by the manager's output.
fn success_line(output: &ProgramOutput, name: &str) -> String {
    let output_text = format!("{}\n{}", output.stderr.text(), output.stdout.text());
    let bare: String = name
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .collect();
    let is_same = |text: &str| {
        let plain = |text: &str| text.replace(['_', '.'], "-").to_lowercase();
        plain(text) == plain(&bare)
    };
    let line = output_text.lines().find_map(|line| {
        let success_line = line.trim().strip_prefix("+ ")?;
        let (own, version) = success_line.split_once("==")?;
        is_same(own).then(|| format!("{own} {version}"))
    });
    match line {
        Some(line) => format!("installed ({}).", escape_controls(&line)),
        None => "installed.".to_owned(),
    }
}

/// Why the installation failed: the lines that explain it, else the end of the output.
fn failure_reason(output: &ProgramOutput) -> String {
    let output_text = format!("{}\n{}", output.stdout.text(), output.stderr.text());
    if output_text.contains("No `pyproject.toml` found") {
        return "There is no pyproject.toml here or above; run_command with \"uv init --bare\" makes one.".to_owned();
    }
    let signs = [
        "cause:",
        "hint:",
        "error",
        "ERROR",
        "npm error",
        "× ",
        "╰─▶",
        "Because",
    ];
    let lines: Vec<&str> = output_text
        .lines()
        .map(str::trim)
        .filter(|line| signs.iter().any(|marker_file| line.contains(marker_file)))
        .take(8)
        .collect();
    let arguments = if lines.is_empty() {
        output_text.trim().to_owned()
    } else {
        lines.join(" ")
    };
    escape_controls(tail(&arguments, 600)).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stopped_manager_left_is_put_back_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let theirs = outside.path().join("theirs");
        fs::write(&theirs, "theirs").unwrap();
        let file = dir.path().join("pyproject.toml");
        fs::write(&file, "mine").unwrap();
        let root = Root::open(dir.path()).unwrap();
        let before = ProjectSnapshot::of(&MANAGERS[0], &root);
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink(&theirs, &file).unwrap();
        fs::write(dir.path().join("uv.lock"), "half").unwrap();
        before.restore();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "theirs");
        assert!(file.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
        assert!(!dir.path().join("uv.lock").exists());
    }

    #[test]
    fn only_package_names_are_accepted() {
        let ok = |manager: usize, name: &str| check(&MANAGERS[manager], name).is_ok();
        for name in [
            "six",
            "requests>=2.31,<3",
            "uvicorn[standard]==0.30.*",
            "a",
            "zope.interface",
            "x ~= 1.0",
        ] {
            assert!(ok(0, name) && ok(3, name), "{name}");
        }
        for name in ["left-pad", "@types/node@20", "react@^18.2.0"] {
            assert!(ok(1, name), "{name}");
        }
        assert!(ok(2, "serde@1.0"));
        for name in [
            "",
            "-r",
            "--index-url=x",
            "six; rm -rf /",
            "x @ https://evil.test/x.whl",
            "git+https://e/x",
            "./x",
            "/x",
            "../x",
            "a b",
            "x\0",
            "$(id)",
            "six\n--pre",
            "https://e/x",
            "@",
            "x@file:../y",
            "x@git+ssh://e",
            "\u{e9}",
            "x>=$(id)",
        ] {
            for manager in &MANAGERS {
                assert!(
                    check(manager, name).is_err(),
                    "{name:?} for {}",
                    manager.name
                );
            }
        }
    }
}
