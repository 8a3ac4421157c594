//! The process group of a child, signalled as long as its number is the child's.

use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process_group};

use super::child_pid::pid_of;
use super::descendants::LeftGroup;

/// The child's process group, until the child is reaped.
#[derive(Clone)]
pub(super) struct ProcessGroup(Arc<Mutex<GroupState>>);

struct GroupState {
    leader: Option<Pid>,
    /// Those that left the group are to end with it, and were not looked for yet.
    ends_left: bool,
    left: LeftGroup,
}

impl ProcessGroup {
    pub(super) fn of(child: &Child, ends_left: bool) -> Self {
        Self(Arc::new(Mutex::new(GroupState {
            leader: pid_of(child),
            ends_left,
            left: LeftGroup::default(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, GroupState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals every process of the group. Failure means that none is left.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.state().leader {
            let _none_left = kill_process_group(leader, signal);
        }
    }

    /// Tells it to end. Who has left the group is looked for before: nobody knows afterwards whose children they were.
    pub(super) fn end(&self) {
        let mut state = self.state();
        if let (Some(leader), true) = (state.leader, std::mem::take(&mut state.ends_left)) {
            state.left = LeftGroup::of(leader);
            state.left.signal(Signal::TERM);
        }
        drop(state);
        self.signal(Signal::TERM);
    }

    pub(super) fn forget(&self) {
        let mut state = self.state();
        state.leader = None;
        state.left.signal(Signal::KILL);
    }
}
