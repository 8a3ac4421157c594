//! Material next to a checkout, for tests that read it where it exists.

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The folder `../shared`. Without one, prints on standard error, past the test harness's capture, that `test` skips.
pub fn shared(test: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    if path.is_dir() {
        return Some(path);
    }
    skip(test, "../shared is not beside this checkout");
    None
}

/// Says that `test` does not run here and why. The print macros would be swallowed for a test that passes.
pub fn skip(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}
