//! One option for the linker: the relative relocations of a position-independent executable, packed.
//!
//! Every start relocates some 26,000 pointers in tables of text. Packed, the list of them takes 8 KB instead of 0.6 MB that every start
//! would read. A loader older than glibc 2.36 refuses such a program, so the option is given only where the system that builds has
//! that version, and the program runs there or on a newer one. musl is left alone.

use std::env::var;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=scripts/build.rs");
    let is = |name, value| var(name).is_ok_and(|found| found == value);
    let on_glibc = is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if on_glibc && var("HOST") == var("TARGET") && glibc() >= Some((2, 36)) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this system's C library; none when it is not glibc.
fn glibc() -> Option<(u32, u32)> {
    let answer = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(answer.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let digits = minor.split('.').next()?;
    Some((major.parse().ok()?, digits.parse().ok()?))
}
