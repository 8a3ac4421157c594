//! Search in the graph: words as parts of names, descriptions and facts.

use std::collections::HashMap;

use memchr::memmem::Finder;

use super::node::Node;

/// Fields of a node, as bits.
const NAME: u8 = 1;
const DESCRIPTION: u8 = 2;
const DATA: u8 = 4;
/// What a word is worth that is in these fields: three points for a name or description each, one for the facts.
fn worth(fields: u8) -> u32 {
    let has = |field: u8| u32::from(fields & field != 0);
    3 * has(NAME) + 3 * has(DESCRIPTION) + has(DATA)
}

/// What stands between white space in all nodes, each once.
///
/// A word without white space is in a text if it is in one of these, and there are far fewer of them than there is text.
#[derive(Debug, Default)]
pub(super) struct NodeIndex {
    /// In lower case, a line each.
    pieces: String,
    /// Where each line begins.
    starts: Vec<usize>,
    /// Where each line occurs: nodes and their fields.
    places: Vec<Vec<(u32, u8)>>,
    nodes: usize,
}

impl NodeIndex {
    pub(super) fn new(nodes: &[Node]) -> Self {
        let mut index = Self {
            nodes: nodes.len(),
            ..Self::default()
        };
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for (node, number) in nodes.iter().zip(0_u32..) {
            let fields = [
                (&node.name, NAME),
                (&node.description, DESCRIPTION),
                (&node.data, DATA),
            ];
            for (text, field) in fields {
                for piece in text.to_lowercase().split_whitespace() {
                    let at = match numbers.get(piece) {
                        Some(at) => *at,
                        None => index.add_piece(piece, &mut numbers),
                    };
                    let Some(places) = index.places.get_mut(at) else {
                        continue;
                    };
                    match places.last_mut() {
                        Some((last, fields)) if *last == number => *fields |= field,
                        _ => places.push((number, field)),
                    }
                }
            }
        }
        index
    }

    fn add_piece(&mut self, piece: &str, numbers: &mut HashMap<String, usize>) -> usize {
        let at = self.starts.len();
        self.starts.push(self.pieces.len());
        self.pieces.push_str(piece);
        self.pieces.push('\n');
        self.places.push(Vec::new());
        numbers.insert(piece.to_owned(), at);
        at
    }

    /// The score of each node: 0 when it has none of the words.
    pub(super) fn scores(&self, words: &[String]) -> Vec<u32> {
        let mut wanted: Vec<String> = words
            .iter()
            .flat_map(|word| {
                word.split_whitespace()
                    .map(str::to_lowercase)
                    .collect::<Vec<_>>()
            })
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut scores = vec![0_u32; self.nodes];
        let mut fields = vec![0_u8; self.nodes];
        for word in &wanted {
            fields.fill(0);
            self.mark(word, &mut fields);
            for (score, fields) in scores.iter_mut().zip(&fields) {
                *score += worth(*fields);
            }
        }
        scores
    }

    /// Notes for each node in which fields the word is.
    fn mark(&self, word: &str, marks: &mut [u8]) {
        let finder = Finder::new(word.as_bytes());
        let mut from = 0;
        while let Some(at) = self
            .pieces
            .as_bytes()
            .get(from..)
            .and_then(|rest| finder.find(rest))
        {
            // The line in which the word was found, then on with the next one.
            let next = self.starts.partition_point(|start| *start <= from + at);
            for (node, fields) in self.places.get(next - 1).into_iter().flatten() {
                if let Some(mark) = marks.get_mut(*node as usize) {
                    *mark |= fields;
                }
            }
            match self.starts.get(next) {
                Some(start) => from = *start,
                None => break,
            }
        }
    }
}
