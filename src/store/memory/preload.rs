//! The memory read ahead, while the first model of a reply thinks.

use std::thread;

use crossbeam_channel::bounded;

use super::{Files, MemoryStore, apply};

impl MemoryStore {
    /// Reads diary and graph side by side, of a large diary the index, and prepares the search in them, on a thread of its own. Whoever uses the memory
    /// meanwhile waits until both are there. A file that cannot be read is reported to whoever uses it.
    pub(crate) fn preload(&self) {
        let store = self.clone();
        let (locked, told) = bounded::<()>(1);
        let load = move || {
            let mut files = store.files();
            drop(locked);
            let dir = &store.0.dir;
            let Files {
                diary,
                graph,
                touches,
                ..
            } = &mut *files;
            thread::scope(|scope| {
                scope.spawn(|| {
                    let graph = graph.get(dir, None, |graph| apply(touches, graph));
                    let _ = graph.map(|graph| _ = graph.index());
                });
                if !diary.has_index(dir, None) {
                    let diary = diary.whole.get(dir, None, |_| ());
                    let _ = diary.map(|diary| _ = diary.index());
                }
            });
        };
        let started = thread::Builder::new().name("memory".to_owned()).spawn(load);
        if started.is_ok() {
            // Until it holds the lock, so that nobody begins to read one after the other.
            let _ = told.recv();
        }
    }
}
