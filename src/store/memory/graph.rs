//! The knowledge graph: a tree of nodes with facts below three branches.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::file::Content;
use super::node::{Branch, MAX_DEPTH, Node, ROOT};
use super::node_index::NodeIndex;
use super::ranking::best;
use super::salvage::{Damage, salvage};
use super::{VERSION, lines_of};
use crate::base::clock::Clock;
use crate::base::ids;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, one_line};

#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    children: HashMap<String, Vec<usize>>,
    /// Made at the first search, and dropped by a change.
    index: Option<NodeIndex>,
}

#[derive(Deserialize)]
struct GraphFile {
    version: u64,
    #[serde(default)]
    nodes: Vec<Node>,
}

impl Content for Graph {
    fn parse(bytes: &[u8], clock: &Clock) -> (Self, Option<Damage>) {
        let now = clock.now().timestamp();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if bytes.trim_ascii().is_empty() {
            return (Self::of(Vec::new(), now), None);
        }
        let (nodes, damage) = match serde_json::from_slice::<GraphFile>(bytes) {
            Ok(file) if file.version != VERSION => {
                (None, Some(Damage::Whole(super::unknown(file.version))))
            }
            Ok(file) => (Some(file.nodes), None),
            Err(problem) => salvaged(bytes, problem.to_string()),
        };
        let nodes = nodes.unwrap_or_default();
        match strange(&nodes) {
            None => (Self::of(nodes, now), damage),
            Some(why) => (Self::of(Vec::new(), now), Some(Damage::Whole(why))),
        }
    }

    fn bytes(&self) -> Outcome<Vec<u8>> {
        #[derive(Serialize)]
        struct GraphHead {
            version: u64,
        }
        lines_of(&GraphHead { version: VERSION }, "nodes", &self.nodes)
    }
}

/// The nodes of a file that is broken for the reason `why`, as far as they can be read.
fn salvaged(bytes: &[u8], why: String) -> (Option<Vec<Node>>, Option<Damage>) {
    let parts = salvage::<Node>(bytes, "nodes", &why).filter(|parts| {
        let head: Result<GraphFile, _> = serde_json::from_slice(&parts.head);
        head.is_ok_and(|head| head.version == VERSION)
    });
    match parts {
        Some(parts) => (Some(parts.records), Some(parts.damage)),
        None => (None, Some(Damage::Whole(why))),
    }
}

/// What shows that the nodes are of a version with another idea of the tree.
pub(super) fn strange(nodes: &[Node]) -> Option<String> {
    for node in nodes {
        let branch = Branch::of_id(&node.id);
        let below_root = node.parent.as_deref() == Some(ROOT);
        if node.id == ROOT {
            if !node.data.trim().is_empty() {
                return Some("its root holds facts of its own".to_owned());
            }
        } else if below_root && branch.is_none() {
            return Some(format!(
                "\"{}\" is no branch that this version knows",
                one_line(&clip(&node.id, 40))
            ));
        } else if !below_root && branch.is_some() {
            return Some(format!("the branch \"{}\" is not below the root", node.id));
        }
    }
    None
}

impl Graph {
    /// The graph of these nodes; root and branches are added where they are missing.
    pub(super) fn of(nodes: Vec<Node>, now: Timestamp) -> Self {
        let mut graph = Self {
            nodes,
            ..Self::default()
        };
        let mut seen = HashSet::new();
        for node in &mut graph.nodes {
            // An id twice, or none: somebody copied a node in an editor.
            if node.id.is_empty() || !seen.insert(node.id.clone()) {
                let first = std::mem::replace(&mut node.id, ids::hex(8));
                if node.parent.as_deref() == Some(ROOT) {
                    node.parent = Some(first);
                }
            }
            if node.id == ROOT {
                node.parent = None;
            }
            let data = std::mem::take(&mut node.data);
            node.set_data(data);
        }
        if !seen.contains(ROOT) {
            let root = Node::new(ROOT, None, "Root", "Everything that is known.", now);
            graph.nodes.push(root);
        }
        for branch in Branch::ALL {
            if !seen.contains(branch.id()) {
                graph.nodes.push(Node::new(
                    branch.id(),
                    Some(ROOT),
                    branch.name(),
                    branch.description(),
                    now,
                ));
            }
        }
        graph.changed();
        graph
    }

    /// Brings up to date what is known about the nodes together.
    fn changed(&mut self) {
        self.by_id.clear();
        self.children.clear();
        for (at, node) in self.nodes.iter().enumerate() {
            self.by_id.insert(node.id.clone(), at);
            if let Some(parent) = &node.parent {
                self.children.entry(parent.clone()).or_default().push(at);
            }
        }
        self.index = None;
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(super) fn get(&self, id: &str) -> Option<&Node> {
        self.nodes.get(*self.by_id.get(id)?)
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Node> {
        self.index = None;
        self.nodes.get_mut(*self.by_id.get(id)?)
    }

    fn existing(&mut self, id: &str) -> Outcome<&mut Node> {
        self.get_mut(id).ok_or_else(|| no_such_node(id))
    }

    /// The children of a node, the most used first.
    pub(super) fn children(&self, id: &str, now: Timestamp) -> Vec<&Node> {
        let places = self.children.get(id).into_iter().flatten();
        let mut children: Vec<(f64, &Node)> = places
            .filter_map(|at| self.nodes.get(*at))
            .map(|node| (node.decayed_score(now), node))
            .collect();
        // Stable: equal ones stay in the order of the file.
        children.shared_sort_by(|(a, _), (b, _)| b.total_cmp(a));
        children.into_iter().map(|(_, node)| node).collect()
    }

    /// The nodes above, the root first. A circle of a file that was changed by hand ends after as many levels as there can be.
    pub(super) fn ancestors(&self, id: &str) -> Vec<&Node> {
        let mut above = Vec::new();
        let mut next = self.get(id).and_then(|node| node.parent.as_deref());
        while let Some(node) = next.and_then(|id| self.get(id)) {
            if above.len() > MAX_DEPTH {
                break;
            }
            above.push(node);
            next = node.parent.as_deref();
        }
        above.reverse();
        above
    }

    /// The branch of a node; `None` for the root, and where no branch is found above.
    pub(super) fn branch(&self, id: &str) -> Option<Branch> {
        let own = Branch::of_id(id);
        own.or_else(|| {
            let above = self.ancestors(id);
            above.iter().rev().find_map(|node| Branch::of_id(&node.id))
        })
    }

    /// Levels below the root; `None` when the node hangs on nothing.
    pub(super) fn depth(&self, id: &str) -> Option<usize> {
        let above = self.ancestors(id);
        let hangs = id == ROOT || above.first().is_some_and(|node| node.id == ROOT);
        hangs.then_some(above.len())
    }

    /// Makes a node; returns its id.
    pub(super) fn create(
        &mut self,
        parent: &str,
        name: &str,
        description: &str,
        data: String,
        now: Timestamp,
    ) -> Outcome<String> {
        if self.get(parent).is_none() {
            return Err(no_such_node(parent));
        }
        if parent == ROOT {
            return Err(Problem::refused(
                "The root has the three branches only: user, directives and world.",
            )
            .next("Create the node below one of them."));
        }
        if self.depth(parent).is_none_or(|depth| depth >= MAX_DEPTH) {
            return Err(Problem::limit(format!(
                "The graph is at most {MAX_DEPTH} levels deep."
            )));
        }
        if name.trim().is_empty() {
            return Err(Problem::input("A node needs a name."));
        }
        let mut node = Node::new(ids::hex(8), Some(parent), name, description, now);
        node.set_data(data);
        let id = node.id.clone();
        self.nodes.push(node);
        self.changed();
        Ok(id)
    }

    /// Changes the facts of a node.
    pub(super) fn set_data(&mut self, id: &str, data: String, now: Timestamp) -> Outcome<()> {
        if id == ROOT {
            return Err(Problem::refused("The root holds no facts."));
        }
        let node = self.existing(id)?;
        node.set_data(data);
        node.updated = now;
        Ok(())
    }

    /// Removes a node; its children move up to its parent.
    #[cfg(test)]
    pub(super) fn delete(&mut self, id: &str) -> Outcome<()> {
        if id == ROOT || Branch::of_id(id).is_some() {
            return Err(Problem::refused(format!(
                "\"{id}\" is a fixed part of the graph and cannot be deleted."
            )));
        }
        if self.get(id).is_none() {
            return Err(no_such_node(id));
        }
        self.remove(&HashSet::from([id.to_owned()]));
        Ok(())
    }

    /// Removes nodes, root and branches excepted; what is below them and stays moves up.
    pub(super) fn remove(&mut self, ids: &HashSet<String>) {
        let goes = |id: &str| ids.contains(id) && id != ROOT && Branch::of_id(id).is_none();
        let parents: HashMap<String, Option<String>> = self
            .nodes
            .iter()
            .filter(|node| goes(&node.id))
            .map(|node| (node.id.clone(), node.parent.clone()))
            .collect();
        for node in &mut self.nodes {
            // Not more often than there are nodes: a file that was changed by hand may have a circle.
            for _ in 0..=parents.len() {
                let above = node.parent.as_deref().and_then(|id| parents.get(id));
                match above {
                    Some(above) => node.parent.clone_from(above),
                    None => break,
                }
            }
        }
        self.nodes.retain(|node| !goes(&node.id));
        self.changed();
    }

    /// The ids of a node and of all below it.
    pub(super) fn subtree(&self, id: &str) -> HashSet<String> {
        let mut ids = HashSet::new();
        let mut open = vec![id.to_owned()];
        while let Some(id) = open.pop() {
            let below = self.children.get(&id).into_iter().flatten();
            let below = below.filter_map(|at| self.nodes.get(*at));
            if ids.insert(id) {
                open.extend(below.map(|node| node.id.clone()));
            }
        }
        ids
    }

    /// A use of a node. It is no change of what the graph says.
    pub(super) fn touch(&mut self, id: &str, times: u64, at: Timestamp) {
        let node = self.by_id.get(id).and_then(|at| self.nodes.get_mut(*at));
        if let Some(node) = node {
            node.accesses = node.accesses.saturating_add(times);
            node.last_access = node.last_access.max(at);
        }
    }

    /// What is searched; made when it is wanted first.
    pub(super) fn index(&mut self) -> &NodeIndex {
        let nodes = &self.nodes;
        self.index.get_or_insert_with(|| NodeIndex::new(nodes))
    }

    /// The `k` nodes that fit the words best, without the root.
    pub(super) fn search(&mut self, words: &[String], k: usize, now: Timestamp) -> Vec<Node> {
        let mut scores = self.index().scores(words);
        if let Some(score) = self.by_id.get(ROOT).and_then(|root| scores.get_mut(*root)) {
            *score = 0;
        }
        let least = least_of_best(&scores, k);
        let hits = scores.iter().zip(&self.nodes);
        let hits = hits
            .filter(|(score, _)| **score >= least)
            .map(|(score, node)| (*score, node.decayed_score(now), node));
        let best = best(hits, k, |a, b| {
            let order = b.0.cmp(&a.0).then(b.1.total_cmp(&a.1));
            order.then_with(|| a.2.id.cmp(&b.2.id))
        });
        best.into_iter().map(|(_, _, node)| node.clone()).collect()
    }
}

/// The least score of the best `k`, and at least 1: few nodes have it, and only those are compared by what takes longer.
fn least_of_best(scores: &[u32], k: usize) -> u32 {
    let mut scores = scores.to_vec();
    let least = match k.checked_sub(1) {
        Some(last) if last < scores.len() => {
            let (_, least, _) = scores.select_nth_unstable_by(last, |a, b| b.cmp(a));
            *least
        }
        _ => 1,
    };
    least.max(1)
}

fn no_such_node(id: &str) -> Problem {
    Problem::missing(format!("There is no node \"{}\".", one_line(&clip(id, 60))))
        .next("marvin memory show lists the nodes with their ids.")
}
