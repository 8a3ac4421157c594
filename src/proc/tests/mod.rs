//! Tests of this folder against real processes, repositories and files.

mod child;

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
