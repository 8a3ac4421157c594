//! Opens an address in the user's browser without waiting for it.

use std::path::PathBuf;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{Leftovers, ProgramSpec};
use crate::proc::child_env::command_env;
use crate::proc::program::{find_program, user_command};

/// Programs that open an address, the desktop's own first.
const PROGRAMS: [&str; 4] = ["xdg-open", "wslview", "sensible-browser", "open"];
/// A browser that was not running before runs inside the program that opens it, for as long as the user uses it.
const BROWSER_RUN_TIMEOUT: Duration = Duration::from_secs(7 * 86_400);

/// Starts the program that opens `url`; false when there is none.
pub(crate) fn open(env: &Env, url: &str) -> bool {
    PROGRAMS
        .iter()
        .find_map(|name| find_program(name, env))
        .is_some_and(|program| start(env, program, vec![url.to_owned()]))
}

/// The same with the command in `$BROWSER`, which gets the address as its last argument. Without it nothing is opened where nobody would see it: over ssh, or
/// without a display.
pub(crate) fn open_seen(env: &Env, url: &str) -> bool {
    if let Some(command) = env.get("BROWSER") {
        return user_command("BROWSER", command, env).is_ok_and(|(program, mut args)| {
            args.push(url.to_owned());
            start(env, program, args)
        });
    }
    let is_set = |name: &&str| env.get(name).is_some();
    let is_remote = ["SSH_CONNECTION", "SSH_TTY"].iter().any(is_set);
    let has_display = cfg!(target_os = "macos")
        || ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"]
            .iter()
            .any(is_set);
    !is_remote && has_display && open(env, url)
}

fn start(env: &Env, program: PathBuf, args: Vec<String>) -> bool {
    let mut run = ProgramSpec::new(program, args, command_env(env));
    run.limit = BROWSER_RUN_TIMEOUT;
    run.leftovers = Leftovers::Leave;
    run.stdout = KeepLimits::first(0);
    run.stderr = KeepLimits::first(0);
    run.dir = Some("/".into());
    // Neither the end nor the cancellation of the call closes the user's browser.
    std::thread::Builder::new()
        .name("browser".to_owned())
        .spawn(move || run.run(&Cancel::new()))
        .is_ok()
}
