//! Module `shell`: commands in the working directory.

use std::path::PathBuf;
use std::time::Duration;

use super::context::{Ctx, Matter};
use super::{WRITE, scratch};
use crate::base::error::{Outcome, Problem};
use crate::disk::beneath::Root;
use crate::proc::shell;

crate::tools! { "shell";
    /// Run a shell command in the working directory.
    run_command(RunCommand; WRITE.coding().seconds(60).long("timeout")) {
        /// shell text
        command: String, example: "cargo test", alias: &["cmd"];
        /// seconds
        timeout: u64 = 60, min: 1, alias: &["timeout_s", "seconds"];
    } => run, says ["run {command}"];
}

/// The project's log folder.
const LOGS: &str = ".marvin/logs";

/// Words that delete at once; a nudge towards care, not protection (contract/sharp-edges.md, Processes).
const NUDGED: [&str; 3] = ["rm", "rmdir", "unlink"];

/// Where long output goes: the project's log folder, or the profile's when a link leads the former out of the project.
fn logs(ctx: &Ctx, root: &Root) -> Outcome<PathBuf> {
    let inside = root.check(LOGS).and_then(|rel| root.exists(&rel)).is_ok();
    if inside {
        return Ok(root.path().join(LOGS));
    }
    let profile = ctx.world.paths.profile(&ctx.world.profile())?;
    Ok(profile.logs())
}

fn run(ctx: &Ctx, args: RunCommand) -> Outcome<String> {
    let command = args.command.trim();
    let first = command.split_whitespace().next().unwrap_or_default();
    if first.is_empty() {
        return Err(Problem::input("The command is empty.").next("For example: cargo test"));
    }
    if NUDGED.contains(&first) {
        return Err(Problem::refused(format!("{first} as the first word of a command is refused, because agents have deleted the wrong files with it."))
            .next("Restore files with git_checkout, or leave them and say so."));
    }
    if first == "tk" && ctx.world.env.get("MARVIN_TICKET").is_some() {
        return Err(
            Problem::refused("Tickets are not handled through the shell.")
                .next("Use the ticket tools."),
        );
    }
    let root = ctx.root()?;
    ctx.approve(Matter::Command {
        command: command.to_owned(),
        dir: root.path().to_owned(),
    })?;
    let spill = logs(ctx, &root)?;
    let said = shell::run(
        command,
        root.path(),
        &ctx.world.env,
        Duration::from_secs(args.timeout.min(24 * 3600)),
        &spill,
        &ctx.stop,
    );
    // Long output has made the folder.
    if spill.is_dir() {
        scratch::hide(ctx);
    }
    match said {
        // A failure, so that nobody takes it for the whole output.
        Ok(text) if ctx.stop.is_fired() => Err(Problem::cancelled().facts(text)),
        said => said,
    }
}
