//! Starting a child in a session of its own, without a controlling terminal.
//!
//! A process group alone is not enough: its members keep the terminal that Marvin draws on, so `/dev/tty` lets them paint over the
//! screen, and reading from it stops them (SIGTTIN) until the limit. In a session of its own there is no `/dev/tty`: `ssh`, `sudo`
//! and `git` say that they cannot ask for a password, and end. The session's leader leads a process group too, so signals still
//! reach the whole group.
//!
//! A child costs about a millisecond more than by `posix_spawn`, which std leaves for a hook before `exec`: half of what starting
//! Marvin itself as a helper would cost.
//!
//! Programs that the user runs on purpose in the terminal, as their editor, are not started here.

use std::any::Any;
use std::io;
use std::process::{Child, Command};

use process_wrap::std::{CommandWrap, ProcessSession};

/// Starts `command` as the leader of a new session and process group; both have the child's process id.
///
/// # Errors
/// As [`Command::spawn`].
pub(super) fn spawn_in_new_session(command: Command) -> io::Result<Child> {
    let mut command = CommandWrap::from(command);
    command.wrap(ProcessSession);
    // The wrapper reaps every process of the group by its own waiting; the plain child is what the rest of this folder works with.
    let child: Box<dyn Any> = command.spawn()?.into_inner();
    let child = child.downcast::<Child>();
    child
        .map(|child| *child)
        .map_err(|_| io::Error::other("the child is of an unknown kind"))
}
