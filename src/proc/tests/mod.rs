//! Tests of this folder against real processes, repositories and files.

mod child;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::SIGINT;
use signal_hook::flag::register_conditional_shutdown;

use crate::base::env::Env;

/// An environment with only the search path of this machine.
fn env() -> Env {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
    Env::from([("PATH", path.as_str())])
}

/// Lets programs that are started begin with SIGINT at its default: they inherit an ignored one, as a test runner in the background has it.
pub(crate) fn catch_interrupts() {
    let on = Arc::new(AtomicBool::new(true));
    register_conditional_shutdown(SIGINT, 130, on).expect("a handler");
}

/// A program of this text in `dir`. It is copied there by another process: had this one ever had it open for writing, a child that is started at the same time
/// could still have, and the system would not run it ("text file busy").
pub(crate) fn program(dir: &Path, name: &str, text: &str) -> PathBuf {
    let source = dir.join(format!("{name}.text"));
    std::fs::write(&source, text).unwrap();
    let path = dir.join(name);
    let mut install = std::process::Command::new("install");
    let status = install.args(["-m", "755"]).arg(&source).arg(&path).status();
    assert!(status.unwrap().success());
    std::fs::remove_file(source).unwrap();
    path
}

/// The same for a script of sh(1).
pub(crate) fn script(dir: &Path, name: &str, text: &str) -> PathBuf {
    program(dir, name, &format!("#!/bin/sh\n{text}\n"))
}
