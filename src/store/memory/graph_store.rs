//! The knowledge graph of the store: facts are looked up, added, merged and moved, each change under the lock.

use std::collections::HashSet;

use jiff::Timestamp;

use super::graph::Graph;
use super::listeners::{Mutation, MutationAction};
#[cfg(test)]
use super::node::ROOT;
use super::node::{Branch, Node};
use super::{Files, MemoryStore, NewNode, apply, clean};
use crate::base::problem::Outcome;
#[cfg(test)]
use crate::base::problem::Problem;
use crate::base::words;

impl MemoryStore {
    /// Looks something up in the graph.
    fn graph<R>(&self, look: impl FnOnce(&mut Graph) -> R) -> Outcome<R> {
        let mut files = self.files();
        let Files { graph, touches, .. } = &mut *files;
        let graph = graph.get(&self.0.dir, None, |graph| apply(touches, graph))?;
        Ok(look(graph))
    }

    /// All nodes, in no order.
    pub(crate) fn nodes(&self) -> Outcome<Vec<Node>> {
        self.graph(|graph| graph.nodes().to_vec())
    }

    /// # Errors
    /// The file cannot be read.
    pub(crate) fn node(&self, id: &str) -> Outcome<Option<Node>> {
        self.graph(|graph| graph.get(id).cloned())
    }

    /// The children of a node, the most used first.
    pub(crate) fn children(&self, id: &str) -> Outcome<Vec<Node>> {
        let now = self.now();
        self.graph(|graph| graph.children(id, now).into_iter().cloned().collect())
    }

    /// The nodes above, the root first.
    pub(crate) fn ancestors(&self, id: &str) -> Outcome<Vec<Node>> {
        self.graph(|graph| graph.ancestors(id).into_iter().cloned().collect())
    }

    /// The branch of a node; `None` for the root, and for a node that hangs on nothing.
    pub(crate) fn branch(&self, id: &str) -> Outcome<Option<Branch>> {
        self.graph(|graph| graph.branch(id))
    }

    /// The `k` nodes that fit the words best; each of them counts as used.
    pub(crate) fn search_nodes(&self, words: &[String], k: usize) -> Outcome<Vec<Node>> {
        let hits = self.find_nodes(words, k)?;
        for node in &hits {
            self.touch(&node.id)?;
        }
        Ok(hits)
    }

    /// [`MemoryStore::search_nodes`] for a person who looks around: nothing counts as used.
    pub(crate) fn find_nodes(&self, words: &[String], k: usize) -> Outcome<Vec<Node>> {
        let now = self.now();
        self.graph(|graph| graph.search(words, k, now))
    }

    /// The node counts as used. It is written with the next change, or by [`MemoryStore::flush`].
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

pub(super) fn mutation(graph: &Graph, action: MutationAction, id: &str) -> Mutation {
    Mutation {
        action,
        node: id.to_owned(),
        branch: graph.branch(id),
    }
}

pub(super) fn create(
    graph: &mut Graph,
    parent: &str,
    name: &str,
    description: &str,
    facts: &[String],
    now: Timestamp,
) -> Outcome<String> {
    graph.create(parent, &clean(name), &clean(description), data(facts), now)
}

pub(super) fn append(
    graph: &mut Graph,
    id: &str,
    facts: &[String],
    now: Timestamp,
) -> Outcome<Vec<String>> {
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
