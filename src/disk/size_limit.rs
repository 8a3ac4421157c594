//! A file that would grow beyond the limit of the process (`ulimit -f`): an error of the write, not the end of Marvin.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

/// Makes a write beyond the limit fail with an error. Without this the system sends SIGXFSZ, whose default is to end the process in
/// the middle of the write. A handler, not "ignore": that would be inherited by child processes, a handler is not.
pub(crate) fn report_as_error() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Where the system has no handler left, the default stays.
        let _ = flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)));
    });
}
