//! Starts a child in a session of its own, without a controlling terminal.
//!
//! A process group alone is not enough: its members keep the terminal that Marvin draws on, so they can paint over the screen through `/dev/tty`,
//! and reading from it stops them (SIGTTIN) until the timeout. In a session of its own there is no `/dev/tty`: `ssh`, `sudo` and `git` report that
//! they cannot ask for a password, and exit. The session leader also leads a process group, so signals still reach the whole group.
//!
//! A child costs about a millisecond more than with `posix_spawn`, which std does not use with a `pre_exec` hook: half of what starting Marvin
//! itself as a helper would cost. git, of which a run of the pipeline starts hundreds, is set so that it asks for nothing, and gets a process group alone.
//!
//! Programs that the user runs deliberately in the terminal, such as their editor, are not started here.

use std::any::Any;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

use process_wrap::std::{CommandWrap, ProcessSession};

/// Starts `command` as the leader of a new process group, with the terminal of this process.
pub(super) fn spawn_in_new_group(mut command: Command) -> io::Result<Child> {
    command.process_group(0).spawn()
}

/// Starts `command` as the leader of a new session and process group; both have the child's process id.
pub(super) fn spawn_in_new_session(command: Command) -> io::Result<Child> {
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    // The wrapper would reap every process of the group itself; the rest of this folder works with the plain child.
    let child: Box<dyn Any> = command.spawn()?.into_inner();
    let child = child.downcast::<Child>();
    child
        .map(|child| *child)
        .map_err(|_| io::Error::other("the child is of an unknown kind"))
}
