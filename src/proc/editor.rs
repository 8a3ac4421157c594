//! Runs the user's editor on the terminal.

use std::ffi::OsStr;
use std::path::Path;

use super::foreground;
use super::program::find_program;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{EDITOR, VISUAL};
use crate::proc::child_env::command_env;

/// Editors to try when neither `EDITOR` nor `VISUAL` is set.
const FALLBACK_EDITORS: [&str; 3] = ["nano", "vim", "vi"];

/// Opens `path` in `$EDITOR`, else `$VISUAL`, and waits until the user closes it. The caller must have released the terminal.
pub(crate) fn edit(path: &Path, env: &Env) -> Outcome<()> {
    let words = match EDITOR.read(env).or_else(|| VISUAL.read(env)) {
        Some(text) => shlex::split(text).unwrap_or_default(),
        None => FALLBACK_EDITORS
            .iter()
            .find(|name| find_program(name, env).is_some())
            .map(|name| vec![(*name).to_owned()])
            .unwrap_or_default(),
    };
    let set = "Set EDITOR to the editor you use.";
    let (name, args) = words
        .split_first()
        .ok_or_else(|| Problem::missing("There is no editor.").next(set))?;
    let program = if name.contains('/') {
        Path::new(name).to_owned()
    } else {
        find_program(name, env)
            .ok_or_else(|| Problem::missing(format!("There is no program {name}.")).next(set))?
    };
    let args = args.iter().map(OsStr::new).chain([path.as_os_str()]);
    let args: Vec<&OsStr> = args.collect();
    foreground::run(&program, &args, command_env(env)).map_err(|problem| problem.next(set))
}
