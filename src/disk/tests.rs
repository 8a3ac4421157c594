//! What tests of this folder need of the file system.

use std::path::Path;
use std::process::Command;

/// Runs a test in a file system of 64 KiB; needs the right to mount one.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(super) fn small_disk(test: impl FnOnce(&Path)) {
    /// Unmounts when dropped, also when the test fails.
    struct Mounted(tempfile::TempDir);
    impl Drop for Mounted {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(dir.path())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        eprintln!("skipped: no right to mount a small file system");
        return;
    }
    let disk = Mounted(dir);
    test(disk.0.path());
}

/// Makes a named pipe.
pub(super) fn make_fifo(path: &Path) {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}
