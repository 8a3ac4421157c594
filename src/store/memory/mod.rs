//! What Marvin remembers about a user, one folder for each profile: a diary with one entry for each day, and a knowledge graph with facts.
//!
//! Two readable JSON files. They are read whole at the first use and again when another process has changed them; each change is made under one lock,
//! on what the files hold then, and written through a temporary file. A file that cannot be understood, or that a later version wrote, is set aside;
//! a record that cannot be understood is set aside alone. Of a large diary only the rows that are wanted are read, by an index ([`indexed_diary`]).
//! Nothing is written here before [`redact::scrub`] has masked the secrets in it.

mod diary;
mod diary_store;
mod erase;
mod exchange;
mod file;
mod graph;
mod graph_store;
mod indexed_diary;
mod listeners;
mod node;
mod node_index;
mod preload;
mod ranking;
mod row;
mod row_scanner;
mod row_vectors;
mod salvage;
mod saved;
#[cfg(test)]
mod tests;
mod text_form;
mod word_index;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;
use serde::Serialize;

use self::diary_store::StoredDiary;
pub(crate) use self::erase::{EraseTarget, Erasure, file_has_word, is_said_in_json};
pub(crate) use self::exchange::MemoryExport;
use self::file::{MemoryDir, MemoryFile};
use self::graph::Graph;
use self::listeners::Listeners;
pub(crate) use self::listeners::{ListenerGuard, Mutation};
pub(crate) use self::node::{Branch, MAX_DEPTH, Node, ROOT, SPLIT_TOKENS};
pub(crate) use self::row::{DiaryRow, DiarySource};
use self::row_vectors::RowVectors;
pub(crate) use self::row_vectors::text as vector_text;
pub(crate) use self::saved::SavedRows;
use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact;
use crate::base::text::single_spaced;
use crate::disk::paths::ProfilePaths;

/// The files in the folder of a memory, beside its lock.
const DIARY: &str = "diary.json";
const GRAPH: &str = "graph.json";
/// Embeddings; older and other builds may have left some too.
const VECTORS: &str = "vectors.json";
const INDEX: &str = "diary.index";

/// The version of both files.
const VERSION: u64 = 1;

/// The memory of one profile. Clones share it.
#[derive(Clone)]
pub(crate) struct MemoryStore(Arc<Inner>);

struct Inner {
    dir: MemoryDir,
    files: Mutex<Files>,
    mutations: Listeners<Mutation>,
    erasures: Listeners<EraseTarget>,
}

struct Files {
    diary: StoredDiary,
    graph: MemoryFile<Graph>,
    vectors: MemoryFile<RowVectors>,
    /// Uses of nodes that are not in the file yet: how often, and when last.
    touches: HashMap<String, (u64, Timestamp)>,
}

/// A part of a node that is split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewNode {
    pub name: String,
    pub description: String,
    pub facts: Vec<String>,
}

impl MemoryStore {
    /// The memory of the profile; nothing is read or created yet. Whoever opens it in this process has the same one, so that listeners hear of every
    /// change.
    pub(crate) fn open(profile: &ProfilePaths, clock: &Clock) -> Self {
        static OPEN: Mutex<Vec<(PathBuf, Weak<Inner>)>> = Mutex::new(Vec::new());
        let mut all = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, memory)| memory.strong_count() > 0);
        let path = profile.memory();
        let open = all.iter().find(|(other, _)| *other == path);
        if let Some(memory) = open.and_then(|(_, memory)| memory.upgrade()) {
            return Self(memory);
        }
        let memory = Self::open_alone(profile, clock);
        all.push((path, Arc::downgrade(&memory.0)));
        memory
    }

    /// [`MemoryStore::open`] as another process would.
    pub(crate) fn open_alone(profile: &ProfilePaths, clock: &Clock) -> Self {
        Self(Arc::new(Inner {
            dir: MemoryDir {
                path: profile.memory(),
                clock: clock.clone(),
                warnings: Mutex::default(),
            },
            files: Mutex::new(Files {
                diary: StoredDiary::new(),
                graph: MemoryFile::new(GRAPH),
                vectors: MemoryFile::new(VECTORS),
                touches: HashMap::new(),
            }),
            mutations: Listeners::default(),
            erasures: Listeners::default(),
        }))
    }

    /// What the user should know about the files, once.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        let warnings = &self.0.dir.warnings;
        std::mem::take(&mut warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.dir.clock.now().timestamp()
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.0.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `listener` after each change of the graph by this process, until the guard is dropped.
    pub(crate) fn on_mutation(
        &self,
        listener: impl Fn(&Mutation) + Send + Sync + 'static,
    ) -> ListenerGuard {
        self.0.mutations.register(listener)
    }

    /// Calls `listener` with what the user wants to be forgotten, until the guard is dropped: whoever holds a copy drops it.
    pub(crate) fn on_erase(
        &self,
        listener: impl Fn(&EraseTarget) + Send + Sync + 'static,
    ) -> ListenerGuard {
        self.0.erasures.register(listener)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let files = self.files.get_mut().unwrap_or_else(PoisonError::into_inner);
        if files.touches.is_empty() || !files.graph.path(&self.dir).exists() {
            return;
        }
        // Counters only: nobody has to know when they cannot be written.
        let Ok(lock) = self.dir.lock() else {
            return;
        };
        let touches = &files.touches;
        let read = files
            .graph
            .get(&self.dir, Some(&lock), |graph| apply(touches, graph));
        if read.is_ok() {
            let _ = files.graph.write(&self.dir, &lock);
        }
    }
}

/// Counts uses that are not in the file yet.
fn apply(touches: &HashMap<String, (u64, Timestamp)>, graph: &mut Graph) {
    for (id, (times, at)) in touches {
        graph.touch(id, *times, *at);
    }
}

/// A text on one line, its secrets masked.
fn clean(text: &str) -> String {
    redact::scrub(&single_spaced(text))
}

/// What is said about a file of another version.
fn unknown(version: u64) -> String {
    format!("version {version} is not known here")
}

/// A file with the fields of `head` and a list, one record a line: readable, and small changes stay small.
fn lines_of<T: Serialize>(head: &impl Serialize, name: &str, records: &[T]) -> Outcome<Vec<u8>> {
    let fail = |error| Problem::internal("The memory is not JSON.").because(error);
    let mut out = serde_json::to_vec(head).map_err(fail)?;
    out.pop();
    out.extend_from_slice(format!(",\"{name}\":[").as_bytes());
    for (place, record) in records.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut out, record).map_err(fail)?;
    }
    out.extend_from_slice(b"\n]}\n");
    Ok(out)
}
