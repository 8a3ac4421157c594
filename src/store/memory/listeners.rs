//! Who wants to know about changes of the graph.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use super::node::Branch;

/// What was done to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MutationAction {
    Create,
    Update,
    Append,
    Delete,
}

/// A change of the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mutation {
    pub action: MutationAction,
    /// The id of the node.
    pub node: String,
    /// `None` for the root and for nodes below no branch.
    pub branch: Option<Branch>,
}

type Listener = Arc<dyn Fn(&Mutation) + Send + Sync>;

#[derive(Default)]
pub(super) struct Listeners {
    next: u64,
    all: Vec<(u64, Listener)>,
}

/// Keeps a listener registered.
#[must_use = "the listener is unregistered when the guard is dropped"]
pub(crate) struct ListenerGuard {
    listeners: Arc<Mutex<Listeners>>,
    id: u64,
}

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        let mut listeners = locked(&self.listeners);
        listeners.all.retain(|(id, _)| *id != self.id);
    }
}

fn locked(listeners: &Mutex<Listeners>) -> std::sync::MutexGuard<'_, Listeners> {
    listeners.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn register(listeners: &Arc<Mutex<Listeners>>, listener: Listener) -> ListenerGuard {
    let mut all = locked(listeners);
    let id = all.next;
    all.next += 1;
    all.all.push((id, listener));
    ListenerGuard {
        listeners: listeners.clone(),
        id,
    }
}

/// Tells everybody. A listener that panics harms nobody else: what it is told about is on the disk already.
pub(super) fn notify(listeners: &Mutex<Listeners>, mutations: &[Mutation]) {
    let all: Vec<Listener> = {
        let listeners = locked(listeners);
        listeners.all.iter().map(|(_, one)| one.clone()).collect()
    };
    for mutation in mutations {
        for listener in &all {
            let _ = catch_unwind(AssertUnwindSafe(|| listener(mutation)));
        }
    }
}
