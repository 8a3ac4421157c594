//! Systems other than Linux on x86-64 and 64-bit ARM: nothing holds commands there, so they are refused as on a kernel without Landlock.

use std::fs::File;

use super::policy::Policy;

pub(super) fn landlock_abi() -> Result<u32, String> {
    Err("not on this system".to_owned())
}

pub(super) fn enter(_policy: &Policy) -> Result<(), String> {
    landlock_abi().map(drop)
}

pub(super) fn try_steps(_policy: &Policy, _abi: u32) -> Result<(), String> {
    landlock_abi().map(drop)
}

pub(super) fn close_inherited(_kept: Option<&File>) -> Result<(), String> {
    Ok(())
}
