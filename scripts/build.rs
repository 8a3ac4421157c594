//! How the program is linked.
//!
//! A position-independent executable of this size spends a fifth of a one-shot run on relocating itself: some 40,000 pointers in tables
//! of text, on pages that every process then has to copy. On Linux with glibc the release build is therefore linked at a fixed
//! address, as Go's programs are. Stack, heap and libraries stay randomised, and `unsafe` code is forbidden here.
//! `MARVIN_BUILD_PIE=1` at build time keeps the executable position-independent.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=scripts/build.rs");
    println!("cargo::rerun-if-env-changed=MARVIN_BUILD_PIE");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !is("MARVIN_BUILD_PIE", "1")
    {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}
