//! The dependency tree of a ticket, in the layout of `tk dep tree`.

use crate::base::shared_sort::SharedSort as _;
use crate::store::tickets::graph::Graph;

/// How many steps are spent on exact depths in cycles; beyond that, back edges are ignored.
const EXACT: usize = 100_000;
/// Longest tree in lines: `--full` repeats tickets, and their number can double with each level.
const LINES: usize = 100_000;

/// A ticket's position below the root.
#[derive(Debug, Clone, Copy, Default)]
struct TicketDepth {
    /// Length of the longest path from the root; `None` when there is none.
    own: Option<usize>,
    /// The greatest depth in its subtree, counted from the root, as the script counts.
    below: usize,
}

/// The tree of the ticket at `root`, line by line; with `full` every occurrence, else each ticket at its deepest position.
pub(crate) fn draw(graph: &Graph, root: usize, full: bool) -> String {
    let depths = measure(graph, root);
    let mut pen = TreeWriter {
        graph,
        depths,
        full,
        printed: vec![false; graph.tickets.len()],
        on_way: vec![false; graph.tickets.len()],
        out: String::new(),
    };
    pen.draw(root);
    pen.out
}

struct TreeWriter<'a> {
    graph: &'a Graph,
    depths: Vec<TicketDepth>,
    full: bool,
    printed: Vec<bool>,
    on_way: Vec<bool>,
    out: String,
}

/// A line still to be written.
struct TreeLine {
    index: usize,
    depth: usize,
    /// Bytes of the prefix that belong to this line.
    indent: usize,
    last: bool,
}

impl TreeWriter<'_> {
    fn draw(&mut self, root: usize) {
        let (mut way, mut prefix) = (Vec::new(), String::new());
        let mut left = vec![TreeLine {
            index: root,
            depth: 0,
            indent: 0,
            last: true,
        }];
        let mut count = 0;
        while let Some(line) = left.pop() {
            for node in way.drain(line.depth.min(way.len())..) {
                set(&mut self.on_way, node, false);
            }
            prefix.truncate(line.indent);
            if self.skips(line.index, line.depth) {
                continue;
            }
            count += 1;
            if count > LINES {
                self.out
                    .push_str("… cut here: the tree has more lines. Ask without --full.\n");
                return;
            }
            let connector = match (line.depth, line.last) {
                (0, _) => "",
                (_, true) => "└── ",
                (_, false) => "├── ",
            };
            if let Some(ticket) = self.graph.tickets.get(line.index) {
                self.out.push_str(&prefix);
                self.out.push_str(connector);
                for part in [&ticket.id, " [", &ticket.status, "] ", &ticket.title, "\n"] {
                    self.out.push_str(part);
                }
            }
            if line.depth > 0 {
                prefix.push_str(if line.last { "    " } else { "│   " });
            }
            set(&mut self.printed, line.index, true);
            set(&mut self.on_way, line.index, true);
            way.push(line.index);
            let children = self.children(line.index, line.depth + 1);
            let end = children.len();
            for (i, index) in children.into_iter().enumerate().rev() {
                left.push(TreeLine {
                    index,
                    depth: line.depth + 1,
                    indent: prefix.len(),
                    last: i + 1 == end,
                });
            }
        }
    }

    /// Whether a ticket is omitted here: it would repeat, or its position is deeper.
    fn skips(&self, index: usize, depth: usize) -> bool {
        let own = self.depths.get(index).and_then(|depth| depth.own);
        let again = self.printed.get(index) == Some(&true);
        self.on_way.get(index) == Some(&true) || (!self.full && (again || own != Some(depth)))
    }

    fn children(&self, index: usize, depth: usize) -> Vec<usize> {
        let mut children = self.graph.children(index);
        children.retain(|child| !self.skips(*child, depth));
        let below = |index: &usize| self.depths.get(*index).map_or(0, |depth| depth.below);
        children.shared_sort_by(|a, b| {
            below(a)
                .cmp(&below(b))
                .then_with(|| self.graph.id(*a).cmp(self.graph.id(*b)))
        });
        children.dedup();
        children
    }
}

fn set(marks: &mut [bool], index: usize, to: bool) {
    if let Some(mark) = marks.get_mut(index) {
        *mark = to;
    }
}

/// The depth of every ticket below `root`.
fn measure(graph: &Graph, root: usize) -> Vec<TicketDepth> {
    let walk = TreeWalk::new(graph, root);
    let mut depths = vec![TicketDepth::default(); graph.tickets.len()];
    let exact = walk.goes_back && exactly(graph, root, &mut depths);
    if !exact {
        depths.fill(TicketDepth::default());
        put(&mut depths, root, 0);
        for index in walk.finished.iter().rev() {
            let own = own(&depths, *index).unwrap_or_default();
            for child in walk.onward(graph, *index) {
                put(&mut depths, child, own + 1);
            }
        }
    }
    // Deepest first, so that everything below is known.
    for index in &walk.finished {
        let below = walk
            .onward(graph, *index)
            .filter_map(|child| depths.get(child).map(|depth| depth.below))
            .chain(own(&depths, *index))
            .max();
        if let Some(depth) = depths.get_mut(*index) {
            depth.below = below.unwrap_or_default();
        }
    }
    depths
}

fn own(depths: &[TicketDepth], index: usize) -> Option<usize> {
    depths.get(index).and_then(|depth| depth.own)
}

fn put(depths: &mut [TicketDepth], index: usize, own: usize) {
    if let Some(depth) = depths.get_mut(index) {
        depth.own = depth.own.max(Some(own));
    }
}

/// Longest paths without repeats, by trying all; false when there are too many.
fn exactly(graph: &Graph, root: usize, depths: &mut [TicketDepth]) -> bool {
    let (mut way, mut left) = (Vec::new(), vec![(root, 0)]);
    let mut on_way = vec![false; graph.tickets.len()];
    for _ in 0..EXACT {
        let Some((index, depth)) = left.pop() else {
            return true;
        };
        for node in way.drain(depth..) {
            set(&mut on_way, node, false);
        }
        put(depths, index, depth);
        set(&mut on_way, index, true);
        way.push(index);
        let children = graph.children(index).into_iter();
        left.extend(
            children
                .filter(|child| on_way.get(*child) == Some(&false))
                .map(|child| (child, depth + 1)),
        );
    }
    false
}

/// A walk over everything below a root.
struct TreeWalk {
    /// In post-order.
    finished: Vec<usize>,
    /// Position of each ticket in that order.
    place: Vec<usize>,
    /// Some dependency points back to an ancestor.
    goes_back: bool,
}

impl TreeWalk {
    fn new(graph: &Graph, root: usize) -> Self {
        const UNSEEN: usize = usize::MAX;
        const ON_WAY: usize = usize::MAX - 1;
        let mut walk = Self {
            finished: Vec::new(),
            place: vec![UNSEEN; graph.tickets.len()],
            goes_back: false,
        };
        let mut way: Vec<(usize, std::vec::IntoIter<usize>)> = Vec::new();
        let mut next = Some(root);
        loop {
            if let Some(index) = next.take() {
                match walk.place.get_mut(index) {
                    Some(place) if *place == UNSEEN => {
                        *place = ON_WAY;
                        way.push((index, graph.children(index).into_iter()));
                    }
                    Some(place) => walk.goes_back |= *place == ON_WAY,
                    None => {}
                }
            }
            let Some((index, deps)) = way.last_mut() else {
                return walk;
            };
            next = deps.next();
            if next.is_none() {
                if let Some(place) = walk.place.get_mut(*index) {
                    *place = walk.finished.len();
                }
                walk.finished.push(*index);
                way.pop();
            }
        }
    }

    /// The dependencies of a ticket without back edges: those that were finished before it.
    fn onward(&self, graph: &Graph, index: usize) -> impl Iterator<Item = usize> {
        let own = self.place.get(index).copied().unwrap_or_default();
        graph
            .children(index)
            .into_iter()
            .filter(move |child| self.place.get(*child).is_some_and(|place| *place < own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tickets::graph::tests::graph;

    fn tree(lines: &[&str], full: bool) -> String {
        let graph = graph(lines);
        draw(&graph, 0, full)
    }

    #[test]
    fn the_known_shapes() {
        let lines = ["a open z c", "z open c", "c closed"];
        assert_eq!(
            tree(&lines, false),
            "a [open] A\n└── z [open] Z\n    └── c [closed] C\n"
        );
        assert_eq!(
            tree(&lines, true),
            "a [open] A\n├── c [closed] C\n└── z [open] Z\n    └── c [closed] C\n"
        );
    }

    #[test]
    fn shallow_children_come_first_and_missing_ones_not_at_all() {
        let lines = [
            "a open d gone b c",
            "b open e",
            "c open",
            "d open",
            "e open",
        ];
        let wanted =
            "a [open] A\n├── c [open] C\n├── d [open] D\n└── b [open] B\n    └── e [open] E\n";
        assert_eq!(tree(&lines, false), wanted);
        let wanted =
            "a [open] A\n├── b [open] B\n│   └── d [open] D\n└── c [open] C\n    └── e [open] E\n";
        assert_eq!(
            tree(
                &["a open b c", "b open d", "c open e", "d open", "e open"],
                false
            ),
            wanted
        );
    }

    #[test]
    fn a_dependency_written_twice_is_drawn_once() {
        let lines = ["a open b b", "b open"];
        let wanted = "a [open] A\n└── b [open] B\n";
        assert_eq!(
            (tree(&lines, false), tree(&lines, true)),
            (wanted.into(), wanted.into())
        );
    }

    #[test]
    fn circles_end() {
        let lines = ["a open a b", "b open a c", "c open b"];
        let wanted = "a [open] A\n└── b [open] B\n    └── c [open] C\n";
        assert_eq!(
            (tree(&lines, false), tree(&lines, true)),
            (wanted.into(), wanted.into())
        );
        // Every ticket depends on every other: depths are approximate, but the walk ends.
        let all: Vec<String> = (0..40).map(|i| format!("t{i}")).collect();
        let lines: Vec<String> = all
            .iter()
            .map(|id| format!("{id} open {}", all.join(" ")))
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert!(tree(&lines, false).lines().count() > 1);
    }

    #[test]
    fn a_tree_that_doubles_with_each_level_is_cut() {
        let lines: Vec<String> = (0..40)
            .map(|i| format!("t{i} open t{} t{}", i + 1, i + 1).replacen("t40 t40", "x", 1))
            .collect();
        let twice: Vec<String> = (0..40)
            .flat_map(|i| {
                [
                    format!("l{i} open l{} r{}", i + 1, i + 1),
                    format!("r{i} open l{} r{}", i + 1, i + 1),
                ]
            })
            .collect();
        for lines in [lines, twice] {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert!(tree(&lines, true).lines().count() <= LINES + 1);
            assert!(tree(&lines, false).lines().count() <= 80);
        }
    }
}
