//! The process id of a child, and learning of its exit without giving the id up.

use std::io;
use std::process::Child;
use std::thread;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// The id of a child; that of its process group too, when it leads one.
pub(super) fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Calls `tell` on a thread of its own when the child has exited. The child stays a zombie, so its id is not reused.
pub(super) fn on_exit(pid: Option<Pid>, tell: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let pid = pid.ok_or_else(|| io::Error::other("no process id"))?;
    thread::Builder::new()
        .name("child-watch".into())
        .spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
            tell();
        })
        .map(drop)
}
