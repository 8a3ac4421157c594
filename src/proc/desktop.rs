//! Desktop notifications (notify-send(1), osascript(1)).

use std::path::Path;
use std::time::Duration;

use super::child::ProgramSpec;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls, escape_markup};
use crate::proc::child_env;

/// Shows a notification that stays until it is closed. Title and body are text, never markup, options or shell.
///
/// # Errors
/// There is no program for it, no session bus, or no notification service on the bus.
pub(crate) fn notify(env: &Env, title: &str, body: &str, stop: &Cancel) -> Outcome<()> {
    let title = without_nul(title);
    let mut run = if cfg!(target_os = "macos") {
        let script = "display notification (item 2 of argv) with title (item 1 of argv)";
        let words = ["-e", "on run argv", "-e", script, "-e", "end run"].map(str::to_owned);
        let args = words.into_iter().chain([title, without_nul(body)]);
        ProgramSpec::new("osascript", args, child_env::command_env(env))
    } else {
        // Many servers read the body as markup.
        let words = ["-a", "Marvin", "-u", "critical", "--"].map(str::to_owned);
        let args = words
            .into_iter()
            .chain([title, escape_markup(&without_nul(body))]);
        ProgramSpec::new("notify-send", args, desktop_env(env))
    };
    run.limit = Duration::from_secs(5);
    let output = run.run(stop).map_err(|problem| {
        problem.next("Desktop notices need notify-send, of the package libnotify-bin.")
    })?;
    if output.success() {
        return Ok(());
    }
    let words = output.stderr.text();
    let words = words.trim().lines().next().unwrap_or_default();
    Err(Problem::system(
        "No notice on the desktop",
        std::io::Error::other(clip(&escape_controls(words), 200)),
    ))
}

/// Cron has no session bus in its environment; the usual socket works if it exists.
fn desktop_env(env: &Env) -> Vec<(String, String)> {
    let mut vars = child_env::command_env(env);
    let name = "DBUS_SESSION_BUS_ADDRESS";
    if !vars.iter().any(|(other, _)| other == name) {
        let user = rustix::process::getuid().as_raw();
        let folder = env
            .get("XDG_RUNTIME_DIR")
            .map_or_else(|| format!("/run/user/{user}"), str::to_owned);
        let socket = format!("{folder}/bus");
        if Path::new(&socket).exists() {
            vars.push((name.into(), format!("unix:path={socket}")));
        }
    }
    vars
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "")
}
