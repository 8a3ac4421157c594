//! What the Linux kernel holds: Landlock's rules about files, signals and sockets, a filter of system calls, and fewer capabilities.

mod capabilities;
mod filter;
mod landlock;

use std::fs::{self, File};
use std::os::fd::{AsRawFd as _, RawFd};

pub(super) use self::landlock::landlock_abi;
use super::policy::Policy;
use crate::base::problem::io_words;

/// Restricts this thread, and whatever it becomes, to `policy`.
pub(super) fn enter(policy: &Policy) -> Result<(), String> {
    let abi = landlock_abi()?;
    let abi = policy.max_abi.map_or(abi, |max| abi.min(max));
    if abi == 0 {
        return Err("Landlock is not there".to_owned());
    }
    landlock::restrict(policy, abi)?;
    capabilities::drop_all_but_kept()?;
    filter::apply(policy, abi)
}

/// Takes the steps of [`enter`] with the smallest of filters: whoever refuses one cannot see what is in it, and the kernel takes longest for what is in it.
pub(super) fn try_steps(policy: &Policy, abi: u32) -> Result<(), String> {
    landlock::restrict(policy, abi)?;
    capabilities::drop_all_but_kept()?;
    filter::apply_nothing()
}

/// Closes every descriptor but standard input, output and error, and `kept`: what was opened outside is no way out.
pub(super) fn close_inherited(kept: Option<&File>) -> Result<(), String> {
    let entries = fs::read_dir("/proc/self/fd")
        .map_err(|error| format!("/proc/self/fd cannot be read: {}", io_words(&error)))?;
    let numbers = entries.map_while(Result::ok).filter_map(|entry| {
        let number: RawFd = entry.file_name().to_str()?.parse().ok()?;
        (number > 2).then_some(number)
    });
    // The folder itself is closed by now and among them.
    let numbers: Vec<RawFd> = numbers.collect();
    let kept = kept.map(|file| file.as_raw_fd());
    for number in numbers.into_iter().filter(|number| Some(*number) != kept) {
        let _closed_already = nix::unistd::close(number);
    }
    Ok(())
}
