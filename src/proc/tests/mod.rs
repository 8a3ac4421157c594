//! Tests of this folder against real processes, repositories and files.

mod child;

use crate::base::env::Env;

/// An environment with only the search path of this machine.
fn env() -> Env {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".into());
    Env::from([("PATH", path.as_str())])
}
