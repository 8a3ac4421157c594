//! `marvin hooks`: the hooks that run here, and those of another program's settings as a file of Marvin's.

use std::fmt::Write as _;
use std::path::Path;

use crate::app::extensions::{self, ReadHooks};
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::disk::paths::{PROJECT_HOOKS, Paths};
use crate::store::trusted_projects::{ProjectFolder, TrustKind, TrustedProjects};
use crate::tools::engine::hooks::file::{self, MAX_FILE_BYTES};

/// `marvin hooks [import FILE]`: what is printed.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => list(settings),
        ["import", path] => import(Path::new(path)),
        _ => Err(Problem::input("marvin hooks cannot read these words.")
            .next("Usage: marvin hooks [import FILE]")),
    }
}

fn import(path: &Path) -> Outcome<String> {
    let text = open::text(path, MAX_FILE_BYTES)
        .map_err(|error| Problem::system(format!("Cannot read {}", path.display()), error))?;
    let (hooks, left_out) = file::import(&text).map_err(|mut problem| {
        problem.what = format!("{}: {}", path.display(), problem.what);
        problem
    })?;
    for words in left_out {
        say(&format!("Left out: {words}"));
    }
    Ok(format!("{hooks:#}\n"))
}

fn list(settings: &Settings) -> Outcome<String> {
    let paths = Paths::new(&settings.env);
    let mut text = String::new();
    if settings.access.without_hooks {
        text.push_str("Hooks are switched off here (--no-hooks, MARVIN_NO_HOOKS).\n");
    }
    if let Some(read) = extensions::user_hooks(&paths) {
        add(&mut text, &paths.hooks()?, "", &read);
    }
    if let Some(current) = &settings.process.current {
        let folder = ProjectFolder::around(current);
        if let Some(read) = extensions::project_hooks(&folder) {
            let known = TrustedProjects::read(&paths)?;
            let state = match known.agrees(&folder, TrustKind::Hook, &read.digest) {
                true => " (trusted)",
                false => " (not trusted, so they do not run)",
            };
            add(&mut text, &folder.path.join(PROJECT_HOOKS), state, &read);
        }
    }
    if text.is_empty() {
        text = format!(
            "There are no hooks. They are in {} and a project's {PROJECT_HOOKS}; marvin help hooks says more.\n",
            paths.hooks()?.display()
        );
    }
    Ok(text)
}

fn add(text: &mut String, path: &Path, state: &str, read: &ReadHooks) {
    let _ = writeln!(text, "{}{state}", path.display());
    match &read.hooks {
        Ok(hooks) => {
            for hook in hooks {
                let _ = writeln!(text, "  {}", hook.line());
            }
        }
        Err(problem) => {
            let _ = writeln!(text, "  cannot be used: {}", problem.one_line());
        }
    }
}
