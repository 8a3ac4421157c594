//! The sandbox of commands that a model wrote: what they may change is held by the kernel.
//!
//! [`session_sandbox`] is what a session has chosen, and makes the policy and the environment of a command; [`policy`] is that policy; [`layer`] is Marvin
//! started once more in front of the command, where [`kernel`] sets Landlock's rules and a filter of system calls; [`report`] tells the layer's own failures
//! from the command's; [`words`] is what is said of it; [`git_watch`] puts back what git would run, in the repositories that [`repositories`] finds;
//! [`folders`] lists folders, and takes none that cannot be listed for an empty one; [`shared_work`] asks the system much at once. Entered by
//! [`super::child::ProgramSpec`]; chosen by `app`, used by `tools` and `pipeline`. It asks nobody and knows no tool.

mod folders;
pub(crate) mod git_watch;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod kernel;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
#[path = "no_kernel.rs"]
mod kernel;
pub(crate) mod layer;
mod linked_worktree;
mod noted_files;
mod plain_git_text;
pub(crate) mod policy;
pub(crate) mod private_dir;
pub(in crate::proc) mod report;
mod repositories;
pub(crate) mod session_sandbox;
mod shared_work;
pub(crate) mod words;

use std::path::Path;
use std::sync::OnceLock;
use std::thread;

use super::own_image;
use crate::base::problem::Problem;

/// What holds on this machine, asked of the kernel once: Landlock's version, or why nothing can hold commands.
pub(crate) fn landlock_abi() -> Result<u32, &'static str> {
    static ABI: OnceLock<Result<u32, String>> = OnceLock::new();
    let abi = ABI.get_or_init(try_kernel).as_ref();
    abi.copied().map_err(String::as_str)
}

fn try_kernel() -> Result<u32, String> {
    let abi = kernel::landlock_abi().map_err(|name| format!("Landlock: {name}"))?;
    if !Path::new(own_image::SELF).exists() {
        return Err("/proc is not mounted".to_owned());
    }
    // What is around this process may refuse any of the steps. They hold the thread that takes them.
    let trial =
        thread::Builder::new().spawn(move || kernel::try_steps(&policy::Policy::default(), abi));
    match trial.map(thread::JoinHandle::join) {
        Ok(Ok(Err(reason))) => Err(reason),
        // No thread, no trial: the layer tells of what fails then.
        _ => Ok(abi),
    }
}

/// The refusal of a command where nothing can hold it.
pub(crate) fn cannot_fence(reason: &str) -> Problem {
    Problem::refused(format!(
        "This system cannot fence commands ({reason}). Commands are refused."
    ))
    .next(UNFENCED)
}

/// What the layer says of a folder in whose place there is another now.
pub(in crate::proc) const REPLACED: &str = "is another folder by now";

/// What to do where nothing can hold commands.
pub(in crate::proc) const UNFENCED: &str = "To run them unfenced: --sandbox danger-full-access, or MARVIN_SANDBOX=danger-full-access; in a container of your own that is the usual choice.";
