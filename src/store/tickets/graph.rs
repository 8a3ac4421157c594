//! Tickets as a graph of dependencies: which are ready, which are blocked, where there are cycles.

use std::collections::{HashMap, HashSet};

use crate::base::shared_sort::SharedSort as _;
use crate::store::tickets::folder::Ticket;

/// All tickets, by their `id:`.
pub(crate) struct Graph {
    /// In file order.
    pub tickets: Vec<Ticket>,
    by_id: HashMap<String, usize>,
}

impl Graph {
    /// When two files have the same id, the later one counts, as in the script.
    pub(crate) fn new(tickets: Vec<Ticket>) -> Self {
        let by_id = tickets
            .iter()
            .enumerate()
            .map(|(index, ticket)| (ticket.id.clone(), index))
            .collect();
        Self { tickets, by_id }
    }

    pub(crate) fn index_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Ticket> {
        self.tickets.get(self.index_of(id)?)
    }

    /// The dependencies of a ticket that are not closed, including those whose file is missing.
    pub(crate) fn open_deps(&self, ticket: &Ticket) -> Vec<String> {
        let waits = |id: &&String| self.get(id).is_none_or(|dep| !dep.is_closed());
        ticket.deps.iter().filter(waits).cloned().collect()
    }

    /// Open and in-progress tickets, either the blocked ones (`waiting`) or the ready ones, by priority and id.
    pub(crate) fn to_do(&self, waiting: bool) -> Vec<&Ticket> {
        let mut found: Vec<&Ticket> = self
            .tickets
            .iter()
            .filter(|ticket| matches!(ticket.status.as_str(), "open" | "in_progress"))
            .filter(|ticket| self.open_deps(ticket).is_empty() != waiting)
            .collect();
        found.shared_sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id.cmp(&b.id)));
        found
    }

    /// The existing dependencies of a ticket, in file order.
    pub(crate) fn children(&self, index: usize) -> Vec<usize> {
        self.tickets
            .get(index)
            .map(|ticket| {
                ticket
                    .deps
                    .iter()
                    .filter_map(|id| self.index_of(id))
                    .collect()
            })
            .unwrap_or_default()
    }

    /// Whether `from` depends on `to`, directly or indirectly.
    pub(crate) fn reaches(&self, from: &str, to: &str) -> bool {
        let (Some(from), Some(to)) = (self.index_of(from), self.index_of(to)) else {
            return false;
        };
        let (mut left, mut seen) = (vec![from], HashSet::from([from]));
        while let Some(index) = left.pop() {
            if index == to {
                return true;
            }
            left.extend(
                self.children(index)
                    .into_iter()
                    .filter(|to| seen.insert(*to)),
            );
        }
        false
    }

    /// The dependency cycles among tickets that are not closed: one per back edge, each reported once, starting at its smallest id.
    pub(crate) fn cycles(&self) -> Vec<Vec<usize>> {
        let alive = |index: &usize| self.tickets.get(*index).is_some_and(|t| !t.is_closed());
        let mut order: Vec<usize> = self.by_id.values().copied().filter(alive).collect();
        order.shared_sort_by(|a, b| self.id(*a).cmp(self.id(*b)));
        let mut state = vec![VisitState::New; self.tickets.len()];
        let (mut found, mut told) = (Vec::new(), HashSet::new());
        for start in order {
            // The path to the current ticket, each with the dependencies not followed yet.
            let mut path: Vec<(usize, std::vec::IntoIter<usize>)> = Vec::new();
            let mut next = Some(start);
            while let Some(index) = next.take().or_else(|| step(&mut path, &mut state)) {
                match state.get(index).copied().unwrap_or(VisitState::Done) {
                    VisitState::Done => {}
                    VisitState::OnWay => {
                        let circle: Vec<usize> = path
                            .iter()
                            .map(|(node, _)| *node)
                            .skip_while(|node| *node != index)
                            .collect();
                        let circle = self.smallest_first(circle);
                        if told.insert(circle.clone()) {
                            found.push(circle);
                        }
                    }
                    VisitState::New => {
                        if let Some(mark) = state.get_mut(index) {
                            *mark = VisitState::OnWay;
                        }
                        let deps: Vec<usize> =
                            self.children(index).into_iter().filter(alive).collect();
                        path.push((index, deps.into_iter()));
                    }
                }
            }
        }
        found
    }

    fn smallest_first(&self, mut circle: Vec<usize>) -> Vec<usize> {
        let smallest = (0..circle.len())
            .min_by_key(|i| circle.get(*i).map_or("", |index| self.id(*index)))
            .unwrap_or_default();
        circle.rotate_left(smallest);
        circle
    }

    pub(crate) fn id(&self, index: usize) -> &str {
        self.tickets
            .get(index)
            .map_or("", |ticket| ticket.id.as_str())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum VisitState {
    New,
    OnWay,
    Done,
}

/// The next dependency to follow; tickets without further dependencies are popped.
fn step(
    path: &mut Vec<(usize, std::vec::IntoIter<usize>)>,
    state: &mut [VisitState],
) -> Option<usize> {
    loop {
        let (index, deps) = path.last_mut()?;
        if let Some(next) = deps.next() {
            return Some(next);
        }
        if let Some(mark) = state.get_mut(*index) {
            *mark = VisitState::Done;
        }
        path.pop();
    }
}

/// Priorities in order of urgency; anything but a number comes last.
fn rank(ticket: &Ticket) -> i64 {
    ticket.priority.parse().unwrap_or(i64::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Builds tickets from lines `id status dep dep`.
    pub(crate) fn graph(lines: &[&str]) -> Graph {
        Graph::new(
            lines
                .iter()
                .map(|line| {
                    let mut words = line.split(' ').map(str::to_owned);
                    let id = words.next().unwrap();
                    Ticket {
                        title: id.to_uppercase(),
                        priority: "2".into(),
                        id,
                        status: words.next().unwrap(),
                        deps: words.collect(),
                        ..Ticket::default()
                    }
                })
                .collect(),
        )
    }

    fn ids(graph: &Graph, waiting: bool) -> Vec<&str> {
        graph.to_do(waiting).iter().map(|t| t.id.as_str()).collect()
    }

    #[test]
    fn what_is_ready_and_what_waits() {
        let mut graph = graph(&[
            "a open b gone",
            "b closed",
            "c in_progress b",
            "d open c",
            "e odd",
            "f open",
        ]);
        graph.tickets[5].priority = "0".into();
        assert_eq!(ids(&graph, false), ["f", "c"]);
        assert_eq!(ids(&graph, true), ["a", "d"]);
        assert_eq!(graph.open_deps(&graph.tickets[0]), ["gone"]);
    }

    #[test]
    fn circles_are_told_once_and_closed_tickets_break_them() {
        let found = |lines: &[&str]| -> Vec<String> {
            let graph = graph(lines);
            graph
                .cycles()
                .iter()
                .map(|c| {
                    c.iter()
                        .map(|index| graph.id(*index))
                        .collect::<Vec<_>>()
                        .join(">")
                })
                .collect()
        };
        assert_eq!(
            found(&["c open a", "a open b", "b open c", "d open a d"]),
            ["a>b>c", "d"]
        );
        assert_eq!(found(&["a open b", "b closed a"]), [] as [&str; 0]);
        assert_eq!(
            found(&["a open b c", "b open a", "c open a"]),
            ["a>b", "a>c"]
        );
    }

    #[test]
    fn reaching_ends_in_circles_too() {
        let graph = graph(&["a open b", "b open a c", "c open"]);
        assert!(graph.reaches("a", "c") && graph.reaches("a", "a"));
        assert!(!graph.reaches("c", "a") && !graph.reaches("x", "a"));
    }
}
