//! Who wants to know what happens to a memory.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    pub node: String,
    /// `None` for the root and for nodes below no branch.
    pub branch: Option<Branch>,
}

type Listener<E> = Arc<dyn Fn(&E) + Send + Sync>;

/// Listeners to events of one kind. Clones share them.
pub(super) struct Listeners<E>(Arc<Mutex<Registered<E>>>);

struct Registered<E> {
    next: u64,
    all: Vec<(u64, Listener<E>)>,
}

/// Keeps a listener registered.
#[must_use = "the listener is unregistered when the guard is dropped"]
pub(crate) struct ListenerGuard(Box<dyn Fn() + Send + Sync>);

impl Drop for ListenerGuard {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl<E> Default for Listeners<E> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Registered {
            next: 0,
            all: Vec::new(),
        })))
    }
}

impl<E: 'static> Listeners<E> {
    pub(super) fn register(&self, listener: impl Fn(&E) + Send + Sync + 'static) -> ListenerGuard {
        let mut registered = locked(&self.0);
        let id = registered.next;
        registered.next += 1;
        registered.all.push((id, Arc::new(listener)));
        let all = Arc::clone(&self.0);
        ListenerGuard(Box::new(move || {
            locked(&all).all.retain(|(other, _)| *other != id);
        }))
    }

    /// Tells everybody. A listener that panics harms nobody else: what it is told about is on the disk already.
    pub(super) fn notify(&self, events: &[E]) {
        let all: Vec<Listener<E>> = {
            let registered = locked(&self.0);
            registered.all.iter().map(|(_, one)| one.clone()).collect()
        };
        for event in events {
            for listener in &all {
                let _ = catch_unwind(AssertUnwindSafe(|| listener(event)));
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
