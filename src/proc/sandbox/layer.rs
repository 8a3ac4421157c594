//! Marvin in front of a sandboxed command: `marvin sandbox-exec POLICY -- COMMAND…` restricts itself and becomes the command.
//!
//! It runs before flags and settings are read, in a process that has one thread. What it opens it opens before it restricts itself, by handle.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use super::kernel;
use super::policy::Policy;
use super::report::LAYER_FAILED;
use crate::base::problem::io_words;

/// The first argument that makes Marvin the layer.
pub(crate) const SUBCOMMAND: &str = "sandbox-exec";

/// The arguments with which Marvin becomes `program`, whose arguments are to follow.
pub(in crate::proc) fn arguments(policy: String, program: &OsStr) -> [OsString; 4] {
    [
        SUBCOMMAND.into(),
        policy.into(),
        "--".into(),
        program.to_owned(),
    ]
}

/// Becomes the command in `args`, restricted. Returns only when that failed.
pub(crate) fn run(args: &[OsString]) -> u8 {
    let mut report = None;
    let reason = enter(args, &mut report);
    let told = report.is_some_and(|mut report: File| report.write_all(reason.as_bytes()).is_ok());
    if !told {
        let _closed = writeln!(io::stderr(), "The sandbox could not be set up: {reason}");
    }
    LAYER_FAILED
}

/// Why the command was not started.
fn enter(args: &[OsString], report: &mut Option<File>) -> String {
    let [policy, dashes, program, args @ ..] = args else {
        return format!("{SUBCOMMAND} needs a policy, -- and a command");
    };
    if dashes != "--" {
        return format!("{SUBCOMMAND} needs -- before the command");
    }
    let Some(policy) = policy.to_str() else {
        return "the policy is not UTF-8".to_owned();
    };
    let policy = match Policy::parse(policy) {
        Ok(policy) => policy,
        Err(reason) => return reason,
    };
    if let Some(number) = policy.report {
        // A handle of its own, which closes when the command starts.
        let path = format!("/proc/self/fd/{number}");
        match OpenOptions::new().write(true).open(&path) {
            Ok(file) => *report = Some(file),
            Err(error) => return format!("{path} cannot be opened: {}", io_words(&error)),
        }
    }
    let restricted = kernel::close_inherited(report.as_ref()).and_then(|()| kernel::enter(&policy));
    if let Err(reason) = restricted {
        return reason;
    }
    let error = Command::new(program).args(args).exec();
    format!(
        "{} cannot be started: {}",
        program.to_string_lossy(),
        io_words(&error)
    )
}
