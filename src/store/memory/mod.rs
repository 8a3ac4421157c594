//! What Marvin remembers about a user, one folder for each profile: a diary with one entry for each day, and a knowledge graph with facts.
//!
//! Two readable JSON files. They are read whole at the first use and again when another process has changed them; each change is made under one lock,
//! on what the files hold then, and written through a temporary file. A file that cannot be understood, or that a later version wrote, is set aside.
//! Nothing is written here before [`redact::scrub`] has masked the secrets in it.

mod diary;
mod erase;
mod exchange;
mod file;
mod graph;
mod listeners;
mod node;
mod node_index;
mod ranking;
mod row;
mod row_vectors;
mod saved;
#[cfg(test)]
mod tests;
mod text_form;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use jiff::Timestamp;
use jiff::civil::Date;
use serde::Serialize;

use self::diary::Diary;
pub(crate) use self::erase::{EraseTarget, Erasure, file_has_word};
pub(crate) use self::exchange::MemoryExport;
use self::file::{MemoryDir, MemoryFile};
use self::graph::Graph;
use self::listeners::Listeners;
pub(crate) use self::listeners::{ListenerGuard, Mutation, MutationAction};
pub(crate) use self::node::{Branch, MAX_DEPTH, Node, ROOT, SPLIT_TOKENS};
pub(crate) use self::row::{DiaryRow, DiarySource};
use self::row_vectors::RowVectors;
pub(crate) use self::row_vectors::text as vector_text;
pub(crate) use self::saved::SavedRows;
use crate::base::clock::Clock;
use crate::base::embedding::Embedding;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::single_spaced;
use crate::base::{redact, words};
use crate::disk::paths::ProfilePaths;

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
    diary: MemoryFile<Diary>,
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
                diary: MemoryFile::new("diary.json"),
                graph: MemoryFile::new("graph.json"),
                vectors: MemoryFile::new("vectors.json"),
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

    // The diary.

    /// The rows, the oldest first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn diary_all(&self) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.rows().to_vec())
    }

    /// The row of a day and source.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn diary_get(&self, date: Date, source: DiarySource) -> Outcome<Option<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.get(date, source).cloned())
    }

    /// The `k` rows from `from` to `to` (both days included) that fit the words best, the newest first. If there are days but no hits, the newest rows of
    /// those days.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn diary_search(
        &self,
        words: &[String],
        from: Option<Date>,
        to: Option<Date>,
        k: usize,
    ) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.search(words, from, to, k, None))
    }

    /// [`MemoryStore::diary_search`] by meaning too: `near` is what is looked for, as a vector of `model`.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn diary_search_near(
        &self,
        words: &[String],
        (model, near): (&str, &Embedding),
        from: Option<Date>,
        to: Option<Date>,
        k: usize,
    ) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let Files { diary, vectors, .. } = &mut *files;
        let diary = diary.get(&self.0.dir, None, |_| ())?;
        let vectors = vectors.get(&self.0.dir, None, |_| ())?;
        let cosines = vectors.cosines(model, near, diary.rows());
        Ok(diary.search(words, from, to, k, Some(&cosines)))
    }

    /// At most `max` rows that have no vector of `model` yet, the newest first.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn rows_without_vector(&self, model: &str, max: usize) -> Outcome<Vec<DiaryRow>> {
        let mut files = self.files();
        let Files { diary, vectors, .. } = &mut *files;
        let rows = diary.get(&self.0.dir, None, |_| ())?.rows();
        let vectors = vectors.get(&self.0.dir, None, |_| ())?;
        Ok(vectors.missing(model, rows, max))
    }

    /// Keeps vectors of rows, by `model`.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    pub(crate) fn add_row_vectors(
        &self,
        model: &str,
        added: &[(DiaryRow, Embedding)],
    ) -> Outcome<()> {
        let dir = &self.0.dir;
        let mut files = self.files();
        let lock = dir.lock()?;
        let Files { diary, vectors, .. } = &mut *files;
        let rows = diary.get(dir, Some(&lock), |_| ())?.rows();
        vectors
            .get(dir, Some(&lock), |_| ())?
            .add(model, added, rows);
        vectors.write(dir, &lock)
    }

    /// Which rows of the conversation are in the diary.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn saved_rows(&self) -> Outcome<SavedRows> {
        let mut files = self.files();
        let diary = files.diary.get(&self.0.dir, None, |_| ())?;
        Ok(diary.saved.clone())
    }

    /// Adds the row, or replaces the one of its day and source; the time of creation stays.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    #[cfg(test)]
    pub(crate) fn diary_put(&self, row: DiaryRow) -> Outcome<()> {
        self.change_diary(|diary| {
            diary.put(row);
            Ok(((), true))
        })
    }

    /// [`MemoryStore::diary_put`], if the row of the day still is `before` and none of the rows of the conversation that it tells, which were said at
    /// `said`, is in the diary; false when another process was quicker, and nothing is written then.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    pub(crate) fn diary_replace(
        &self,
        before: Option<&DiaryRow>,
        row: DiaryRow,
        said: &[Timestamp],
    ) -> Outcome<bool> {
        self.change_diary(|diary| {
            let is_told = said.iter().any(|at| diary.saved.names(*at));
            if is_told || diary.get(row.date, row.source) != before {
                return Ok((false, false));
            }
            diary.put(row);
            diary.saved.add(said);
            Ok((true, true))
        })
    }

    /// Changes the diary under the lock; `change` also says whether there is something to write.
    fn change_diary<R>(&self, change: impl FnOnce(&mut Diary) -> Outcome<(R, bool)>) -> Outcome<R> {
        let dir = &self.0.dir;
        let mut files = self.files();
        let lock = dir.lock()?;
        let changed = change(files.diary.get(dir, Some(&lock), |_| ())?);
        match changed {
            Ok((result, true)) => files.diary.write(dir, &lock).map(|()| result),
            Ok((result, false)) => Ok(result),
            Err(problem) => {
                files.diary.invalidate();
                Err(problem)
            }
        }
    }

    // The graph.

    /// Looks something up in the graph.
    fn graph<R>(&self, look: impl FnOnce(&mut Graph) -> R) -> Outcome<R> {
        let mut files = self.files();
        let Files { graph, touches, .. } = &mut *files;
        let graph = graph.get(&self.0.dir, None, |graph| apply(touches, graph))?;
        Ok(look(graph))
    }

    /// All nodes, in no order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn nodes(&self) -> Outcome<Vec<Node>> {
        self.graph(|graph| graph.nodes().to_vec())
    }

    /// # Errors
    /// The file cannot be read.
    pub(crate) fn node(&self, id: &str) -> Outcome<Option<Node>> {
        self.graph(|graph| graph.get(id).cloned())
    }

    /// The children of a node, the most used first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn children(&self, id: &str) -> Outcome<Vec<Node>> {
        let now = self.now();
        self.graph(|graph| graph.children(id, now).into_iter().cloned().collect())
    }

    /// The nodes above, the root first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn ancestors(&self, id: &str) -> Outcome<Vec<Node>> {
        self.graph(|graph| graph.ancestors(id).into_iter().cloned().collect())
    }

    /// The branch of a node; `None` for the root, and for a node that hangs on nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn branch(&self, id: &str) -> Outcome<Option<Branch>> {
        self.graph(|graph| graph.branch(id))
    }

    /// The `k` nodes that fit the words best; each of them counts as used.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn search_nodes(&self, words: &[String], k: usize) -> Outcome<Vec<Node>> {
        let hits = self.find_nodes(words, k)?;
        for node in &hits {
            self.touch(&node.id)?;
        }
        Ok(hits)
    }

    /// [`MemoryStore::search_nodes`] for a person who looks around: nothing counts as used.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn find_nodes(&self, words: &[String], k: usize) -> Outcome<Vec<Node>> {
        let now = self.now();
        self.graph(|graph| graph.search(words, k, now))
    }

    /// The node counts as used. It is written with the next change, or by [`MemoryStore::flush`].
    ///
    /// # Errors
    /// The file cannot be read.
    pub(crate) fn touch(&self, id: &str) -> Outcome<()> {
        let now = self.now();
        let mut files = self.files();
        let Files { graph, touches, .. } = &mut *files;
        let graph = graph.get(&self.0.dir, None, |graph| apply(touches, graph))?;
        graph.touch(id, 1, now);
        let touch = touches.entry(id.to_owned()).or_insert((0, now));
        *touch = (touch.0 + 1, touch.1.max(now));
        Ok(())
    }

    /// Writes which nodes were used.
    ///
    /// # Errors
    /// The lock or the disk.
    pub(crate) fn flush(&self) -> Outcome<()> {
        let mut files = self.files();
        if files.touches.is_empty() || !files.graph.path(&self.0.dir).exists() {
            // Counters alone are no reason for a file.
            files.touches.clear();
            return Ok(());
        }
        drop(files);
        self.change_graph(|_| Ok(((), Some(Vec::new()))))
    }

    /// A new node.
    ///
    /// # Errors
    /// There is no such parent, it is the root or too deep, or the name is empty; the lock or the disk.
    #[cfg(test)]
    pub(crate) fn create(
        &self,
        parent: &str,
        name: &str,
        description: &str,
        facts: &[String],
    ) -> Outcome<Node> {
        let now = self.now();
        self.change_graph(|graph| {
            let id = create(graph, parent, name, description, facts, now)?;
            let node = graph.get(&id).cloned().unwrap_or_default();
            let created = mutation(graph, MutationAction::Create, &id);
            Ok((node, Some(vec![created])))
        })
    }

    /// Replaces name and description of a node.
    ///
    /// # Errors
    /// There is no such node; the lock or the disk.
    #[cfg(test)]
    pub(crate) fn update(&self, id: &str, name: &str, description: &str) -> Outcome<()> {
        let now = self.now();
        self.change_graph(|graph| {
            let old = graph.get(id).cloned();
            let Some(old) = old.filter(|node| node.id != ROOT) else {
                return Err(Problem::missing(format!(
                    "There is no node \"{id}\" that can be changed."
                )));
            };
            let described = Node::new(id, None, &clean(name), &clean(description), now);
            if let Some(node) = graph.get_mut(id) {
                *node = Node {
                    name: described.name,
                    description: described.description,
                    updated: now,
                    ..old
                };
            }
            let updated = mutation(graph, MutationAction::Update, id);
            Ok(((), Some(vec![updated])))
        })
    }

    /// Replaces the facts of a node, if they still are `before`; false when another process has changed them meanwhile, and nothing is written then.
    ///
    /// # Errors
    /// There is no such node; the lock or the disk.
    pub(crate) fn replace_facts(&self, id: &str, before: &str, facts: &[String]) -> Outcome<bool> {
        let now = self.now();
        self.change_graph(|graph| {
            if graph.get(id).is_some_and(|node| node.data != before) {
                return Ok((false, None));
            }
            graph.set_data(id, data(facts), now)?;
            let updated = mutation(graph, MutationAction::Update, id);
            Ok((true, Some(vec![updated])))
        })
    }

    /// Adds facts to a node; those that it has already are left out. Returns the added ones.
    ///
    /// # Errors
    /// There is no such node; the lock or the disk.
    pub(crate) fn append(&self, id: &str, facts: &[String]) -> Outcome<Vec<String>> {
        let now = self.now();
        self.change_graph(|graph| {
            let added = append(graph, id, facts, now)?;
            let change =
                (!added.is_empty()).then(|| vec![mutation(graph, MutationAction::Append, id)]);
            Ok((added, change))
        })
    }

    /// Gives parts of a node's facts to new nodes below it, and it the `summary`, if its facts still are `before`; false when another process has
    /// changed them meanwhile, and nothing is written then.
    ///
    /// # Errors
    /// There is no such node, or it is too deep; the lock or the disk.
    pub(crate) fn split(
        &self,
        id: &str,
        before: &str,
        summary: &str,
        parts: &[NewNode],
    ) -> Outcome<bool> {
        let now = self.now();
        self.change_graph(|graph| {
            if graph.get(id).is_some_and(|node| node.data != before) {
                return Ok((false, None));
            }
            graph.set_data(id, data(&[summary.to_owned()]), now)?;
            let mut changes = vec![mutation(graph, MutationAction::Update, id)];
            for part in parts {
                let made = create(graph, id, &part.name, &part.description, &part.facts, now)?;
                changes.push(mutation(graph, MutationAction::Create, &made));
            }
            Ok((true, Some(changes)))
        })
    }

    /// Deletes a node; its children move up.
    ///
    /// # Errors
    /// There is no such node, or it is the root or a branch; the lock or the disk.
    #[cfg(test)]
    pub(crate) fn delete(&self, id: &str) -> Outcome<()> {
        self.change_graph(|graph| {
            let deleted = mutation(graph, MutationAction::Delete, id);
            graph.delete(id)?;
            Ok(((), Some(vec![deleted])))
        })
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

    /// Changes the graph under the lock; `change` also returns what the listeners are told, or `None` when there is nothing to write.
    fn change_graph<R>(
        &self,
        change: impl FnOnce(&mut Graph) -> Outcome<(R, Option<Vec<Mutation>>)>,
    ) -> Outcome<R> {
        let dir = &self.0.dir;
        let mut guard = self.files();
        let lock = dir.lock()?;
        let files = &mut *guard;
        let graph = files
            .graph
            .get(dir, Some(&lock), |graph| apply(&files.touches, graph))?;
        let (result, mutations) = match change(graph) {
            Ok((result, Some(mutations))) => (result, mutations),
            Ok((result, None)) => return Ok(result),
            Err(problem) => {
                files.graph.invalidate();
                return Err(problem);
            }
        };
        files.graph.write(dir, &lock)?;
        files.touches.clear();
        drop(lock);
        // A listener may use the memory.
        drop(guard);
        self.0.mutations.notify(&mutations);
        Ok(result)
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

fn mutation(graph: &Graph, action: MutationAction, id: &str) -> Mutation {
    Mutation {
        action,
        node: id.to_owned(),
        branch: graph.branch(id),
    }
}

fn create(
    graph: &mut Graph,
    parent: &str,
    name: &str,
    description: &str,
    facts: &[String],
    now: Timestamp,
) -> Outcome<String> {
    graph.create(parent, &clean(name), &clean(description), data(facts), now)
}

fn append(graph: &mut Graph, id: &str, facts: &[String], now: Timestamp) -> Outcome<Vec<String>> {
    let old = graph.get(id).map(|node| node.data.clone());
    let old = old.unwrap_or_default();
    let mut known: HashSet<String> = old.lines().map(words::fold).collect();
    let added: Vec<String> = facts
        .iter()
        .map(|fact| clean(fact))
        .filter(|fact| !fact.is_empty() && known.insert(words::fold(fact)))
        .collect();
    if added.is_empty() && graph.get(id).is_some() {
        return Ok(added);
    }
    let lines: Vec<&str> = [old.trim_end()]
        .into_iter()
        .chain(added.iter().map(String::as_str))
        .filter(|line| !line.is_empty())
        .collect();
    graph.set_data(id, lines.join("\n"), now)?;
    Ok(added)
}

/// Facts as a node holds them: one a line, none twice.
fn data(facts: &[String]) -> String {
    let mut known = HashSet::new();
    let lines: Vec<String> = facts
        .iter()
        .map(|fact| clean(fact))
        .filter(|fact| !fact.is_empty() && known.insert(words::fold(fact)))
        .collect();
    lines.join("\n")
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
