//! A file that would grow beyond the process's limit (`ulimit -f`) is a write error, not the end of Marvin.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

/// Makes a write beyond the limit fail with an error. Otherwise the system sends SIGXFSZ, whose default is to end the process in the middle of the write. A
/// handler, not "ignore": child processes inherit the latter but not the former.
pub(crate) fn report_as_error() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If no handler can be installed, the default stays.
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    });
}
