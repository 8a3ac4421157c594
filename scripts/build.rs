//! How the program is linked.
//!
//! A position-independent executable of this size spends a fifth of a one-shot run on relocating itself: some 40,000 pointers in tables
//! of text, on pages that every process then has to copy. On Linux with glibc the release build is therefore linked at a fixed
//! address, as Go's programs are. Stack, heap and libraries stay randomised, and `unsafe` code is forbidden here.
//! `MARVIN_BUILD_PIE=1` at build time keeps the executable position-independent.
//!
//! The compiler's run-time library (unwinding, for a tool that panics) is linked in where the system has it as an archive: one
//! library less to find, map and set up at every start.

use std::env::var;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=scripts/build.rs");
    println!("cargo::rerun-if-env-changed=MARVIN_BUILD_PIE");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if !(is("PROFILE", "release")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu"))
    {
        return;
    }
    if !is("MARVIN_BUILD_PIE", "1") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    let native = var("HOST") == var("TARGET");
    if let Ok(folder) = var("OUT_DIR")
        && native
        && has_archive()
        && std::fs::write(Path::new(&folder).join("libgcc_s.so"), INSTEAD).is_ok()
    {
        println!("cargo::rustc-link-search=native={folder}");
    }
}

/// What the linker reads when the standard library asks for `gcc_s`.
const INSTEAD: &str = "/* GNU ld script */\nINPUT(-lgcc_eh -lgcc)\n";

/// True when the C compiler that links knows `libgcc_eh.a`: it answers with a path then, else with the bare name.
fn has_archive() -> bool {
    Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output()
        .is_ok_and(|answer| {
            let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
            Path::new(&path).is_absolute() && Path::new(&path).exists()
        })
}
