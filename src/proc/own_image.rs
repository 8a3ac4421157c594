//! Marvin's own file as this process started from it. Commands of a model may replace the one at its path, where that lies in a folder that they may change.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What runs here, also when it was replaced or removed since. In a child it is that child's.
pub(super) const SELF: &str = "/proc/self/exe";

/// The path of this executable, as it was when this was first asked, which is when the process starts.
pub(crate) fn path() -> Option<&'static Path> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    OWN.get_or_init(|| std::env::current_exe().ok()).as_deref()
}

/// A command that starts `program`; if that is this executable, then the one that runs.
pub(super) fn command(program: &Path) -> Command {
    let image = image(program);
    let mut command = Command::new(image);
    if image != program {
        command.arg0(program);
    }
    command
}

/// `program`, or where the running one is, if it is this executable.
pub(super) fn image(program: &Path) -> &Path {
    let running = Path::new(SELF);
    match path() == Some(program) && running.exists() {
        true => running,
        false => program,
    }
}
