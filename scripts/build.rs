//! How the program is linked.
//!
//! A position-independent executable of this size spends a fifth of a one-shot run on relocating itself: some 40,000 pointers in tables
//! of text, on pages that every process then has to copy. On Linux with glibc the release build is therefore linked at a fixed
//! address, as Go's programs are. Stack, heap and libraries stay randomised, and `unsafe` code is forbidden here.
//! `MARVIN_BUILD_PIE=1` at build time keeps the executable position-independent.
//!
//! What a one-shot run executes is a twelfth of the program, in a hundred places: half a start-up was spent on mapping pages for it. The
//! linker puts those functions together; `scripts/startup.txt` names them, and `scripts/startup.sh` writes that list.
//!
//! The compiler's run-time library (unwinding, for a tool that panics) is linked in where the system has it as an archive: one
//! library less to find, map and set up at every start.

use std::env::var;
use std::fs;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=scripts/build.rs");
    println!("cargo::rerun-if-changed={LIST}");
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
    let Ok(out) = var("OUT_DIR") else { return };
    let out = Path::new(&out);
    if var("HOST") == var("TARGET")
        && has_archive()
        && fs::write(out.join("libgcc_s.so"), INSTEAD).is_ok()
    {
        println!("cargo::rustc-link-search=native={}", out.display());
    }
    // Only for the linker that it was tried with: the compiler's own for this processor, unless somebody chose another.
    if is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_ENCODED_RUSTFLAGS", "")
        && var("RUSTC_LINKER").is_err()
        && let Some(script) = together()
        && fs::write(out.join("startup.ld"), script).is_ok()
    {
        // One word, for a path may hold commas.
        let script = out.join("startup.ld");
        println!("cargo::rustc-link-arg-bins=-T{}", script.display());
    }
}

/// The functions of a start.
const LIST: &str = "scripts/startup.txt";

/// A linker script that puts the listed functions before all others.
fn together() -> Option<String> {
    let list = fs::read_to_string(LIST).ok()?;
    let names = list
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let sections: String = names.map(|name| format!("    *(.text.{name})\n")).collect();
    Some(format!(
        "SECTIONS {{\n  .text.startup : {{\n{sections}  }}\n}} INSERT BEFORE .text;\n"
    ))
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
