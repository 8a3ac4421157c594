//! The memory as one file: for a backup, for another machine, or to read.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::graph::Graph;
use super::graph_store::{append, create, mutation};
use super::listeners::MutationAction;
use super::node::{Branch, MAX_DEPTH, Node, ROOT};
use super::row::DiaryRow;
use super::{Files, MemoryStore, VERSION, apply, text_form, unknown};
use crate::base::problem::{Outcome, Problem};
use crate::base::words;

/// Everything that is remembered. A diary or a graph alone is read as one, too.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MemoryExport {
    version: u64,
    #[serde(with = "text_form", default)]
    exported: Timestamp,
    #[serde(default)]
    pub rows: Vec<DiaryRow>,
    /// The knowledge graph.
    #[serde(default)]
    pub nodes: Vec<Node>,
}

impl MemoryExport {
    /// # Errors
    /// The bytes are not such a file, or one of another version.
    pub(crate) fn parse(bytes: &[u8]) -> Outcome<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let wrong = |why: String| {
            Problem::input(format!("The file is not an export of a memory: {why}."))
                .next("marvin memory export writes one.")
        };
        let export: Self =
            serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?;
        if export.version != VERSION {
            return Err(wrong(unknown(export.version)));
        }
        match super::graph::strange(&export.nodes) {
            Some(why) => Err(wrong(why)),
            None => Ok(export),
        }
    }
}

/// What an import brought.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct ImportCount {
    /// Days that were not in the diary.
    pub new_rows: usize,
    /// Days that were, and say more now.
    pub changed_rows: usize,
    pub new_nodes: usize,
    pub new_facts: usize,
}

impl MemoryStore {
    /// # Errors
    /// The files cannot be read.
    pub(crate) fn export(&self) -> Outcome<MemoryExport> {
        Ok(MemoryExport {
            version: VERSION,
            exported: self.now(),
            rows: self.diary_all()?,
            nodes: self.nodes()?,
        })
    }

    /// Adds what an export says to what is remembered; nothing of either is lost. Days that both know get both summaries; nodes are the same if their names
    /// and those above them are.
    ///
    /// # Errors
    /// The lock or the disk; the files are then as they were.
    pub(crate) fn import(&self, export: MemoryExport) -> Outcome<ImportCount> {
        let now = self.now();
        let dir = &self.0.dir;
        let mut guard = self.files();
        let lock = dir.lock()?;
        let files = &mut *guard;
        let mut count = ImportCount::default();
        let diary = files.diary.whole.get(dir, Some(&lock), |_| ())?;
        for row in &export.rows {
            let imported = DiaryRow {
                created: row.created,
                updated: row.updated,
                ..DiaryRow::new(row.date, row.source, &row.summary, &row.topics, now)
            };
            match diary.get(row.date, row.source).cloned() {
                None => {
                    count.new_rows += 1;
                    diary.put(imported);
                }
                Some(old) => {
                    let mut both = old.clone();
                    both.combine(&imported);
                    count.changed_rows += usize::from(both != old);
                    diary.put(both);
                }
            }
        }
        let Files { graph, touches, .. } = files;
        let graph = graph.get(dir, Some(&lock), |graph| apply(touches, graph))?;
        let changed = match add_nodes(graph, export.nodes, now, &mut count) {
            Ok(changed) => changed,
            Err(problem) => {
                files.diary.whole.invalidate();
                files.graph.invalidate();
                return Err(problem);
            }
        };
        let mutations: Vec<_> = changed
            .iter()
            .map(|id| mutation(graph, MutationAction::Append, id))
            .collect();
        let written = files
            .diary
            .whole
            .write(dir, &lock)
            .and_then(|()| files.graph.write(dir, &lock));
        if let Err(problem) = written {
            files.diary.whole.invalidate();
            files.graph.invalidate();
            return Err(problem);
        }
        files.touches.clear();
        drop(lock);
        drop(guard);
        self.0.mutations.notify(&mutations);
        Ok(count)
    }
}

/// Adds nodes to the graph; returns the ids of those that changed.
fn add_nodes(
    graph: &mut Graph,
    nodes: Vec<Node>,
    now: Timestamp,
    count: &mut ImportCount,
) -> Outcome<Vec<String>> {
    let imported = Graph::of(nodes, now);
    let mut own: HashMap<String, String> = HashMap::new();
    let mut open: Vec<String> = Branch::ALL.map(|branch| branch.id().to_owned()).into();
    for id in &open {
        own.insert(id.clone(), id.clone());
    }
    // Nodes that hang on nothing come below the world: nothing else is known about them.
    for node in imported.nodes() {
        if node.id != ROOT && imported.depth(&node.id).is_none() {
            let hangs = node.parent.as_deref().and_then(|id| imported.get(id));
            if hangs.is_none() {
                let id = place(graph, Branch::World.id(), node, now, count)?;
                own.insert(node.id.clone(), id);
                open.push(node.id.clone());
            }
        }
    }
    let mut changed = Vec::new();
    while let Some(id) = open.pop() {
        let (Some(node), Some(target)) = (imported.get(&id), own.get(&id).cloned()) else {
            continue;
        };
        let facts: Vec<String> = node.facts().map(ToOwned::to_owned).collect();
        let added = append(graph, &target, &facts, now)?;
        count.new_facts += added.len();
        if !added.is_empty() {
            changed.push(target.clone());
        }
        for child in imported.children(&id, now) {
            if !own.contains_key(&child.id) {
                let place = place(graph, &target, child, now, count)?;
                own.insert(child.id.clone(), place);
                open.push(child.id.clone());
            }
        }
    }
    Ok(changed)
}

/// The node below `parent` that has the name of an imported one; it is made if there is none. Where the graph is too deep it is the parent itself.
fn place(
    graph: &mut Graph,
    parent: &str,
    node: &Node,
    now: Timestamp,
    count: &mut ImportCount,
) -> Outcome<String> {
    let name = words::fold(&node.name);
    let same = graph
        .children(parent, now)
        .into_iter()
        .find(|child| words::fold(&child.name) == name)
        .map(|child| child.id.clone());
    if let Some(id) = same {
        return Ok(id);
    }
    let too_deep = graph.depth(parent).is_none_or(|depth| depth >= MAX_DEPTH);
    if too_deep || name.is_empty() {
        return Ok(parent.to_owned());
    }
    let id = create(graph, parent, &node.name, &node.description, &[], now)?;
    count.new_nodes += 1;
    if let Some(made) = graph.get_mut(&id) {
        made.accesses = node.accesses;
        made.last_access = node.last_access;
        made.created = node.created;
    }
    Ok(id)
}
