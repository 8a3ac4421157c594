//! The memory as text for a person.

use std::fmt::Write as _;
use std::path::Path;

use jiff::tz::TimeZone;

use super::command::Page;
use crate::base::problem::Outcome;
use crate::base::text::{clip, one_line, plural};
use crate::store::memory::{
    Branch, DiaryRow, DiarySource, Erasure, MAX_DEPTH, MemoryStore, Node, ROOT,
};
use crate::store::sessions::SessionId;

/// Facts of a node that a search shows, and their characters.
const MAX_FACTS: usize = 5;
const MAX_FACT_CHARS: usize = 300;
/// Characters of an entry in the list of what is erased.
const MAX_PREVIEW_CHARS: usize = 160;

/// Sessions that are listed by their IDs.
const MAX_SESSIONS: usize = 8;

/// Sessions in one line.
pub(super) fn sessions(ids: &[SessionId]) -> String {
    let shown: Vec<&str> = ids
        .iter()
        .take(MAX_SESSIONS)
        .map(SessionId::short)
        .collect();
    let more = match ids.len() > MAX_SESSIONS {
        true => ", …",
        false => "",
    };
    format!(
        "{}: {}{more}",
        plural(ids.len(), "session"),
        shown.join(", ")
    )
}

/// Entries of the diary, one a line.
pub(super) fn diary(rows: &[DiaryRow]) -> String {
    let mut out = String::new();
    if !rows.is_empty() {
        out.push_str("Diary\n");
    }
    for row in rows {
        let spoken = match row.source {
            DiarySource::Text => "",
            DiarySource::Voice => " (spoken)",
        };
        let _ = write!(out, "  {}{spoken}  {}", row.date, one_line(&row.summary));
        if !row.topics.is_empty() {
            let _ = write!(out, " [{}]", one_line(&row.topics.join(", ")));
        }
        out.push('\n');
    }
    out
}

/// The nodes in the order of the tree, with their depth below a branch; none when there are no facts.
pub(super) fn places(store: &MemoryStore) -> Outcome<Vec<(usize, Node)>> {
    let nodes = store.nodes()?;
    let fixed = |node: &Node| node.id == ROOT || Branch::of_id(&node.id).is_some();
    let is_empty = |node: &Node| fixed(node) && node.facts().next().is_none();
    if nodes.iter().all(is_empty) {
        return Ok(Vec::new());
    }
    let mut places = Vec::new();
    for branch in Branch::ALL {
        subtree(store, branch.id(), 0, &mut places)?;
    }
    // What somebody changed by hand may hang on nothing.
    for node in nodes {
        if !fixed(&node) && store.branch(&node.id)?.is_none() {
            places.push((0, node));
        }
    }
    Ok(places)
}

fn subtree(
    store: &MemoryStore,
    id: &str,
    depth: usize,
    places: &mut Vec<(usize, Node)>,
) -> Outcome<()> {
    let Some(node) = store.node(id)?.filter(|_| depth <= MAX_DEPTH) else {
        return Ok(());
    };
    places.push((depth, node));
    for child in store.children(id)? {
        subtree(store, &child.id, depth + 1, places)?;
    }
    Ok(())
}

/// The places of a page with their facts, below those above the first one.
pub(super) fn graph(places: &[(usize, Node)], page: Page) -> String {
    let shown = page.of(places.len());
    let (before, _) = places.split_at(shown.start);
    let shown = places.get(shown).unwrap_or_default();
    let mut above: Vec<String> = Vec::new();
    let mut depth = shown.first().map_or(0, |(depth, _)| *depth);
    for (other, node) in before.iter().rev() {
        if *other < depth {
            depth = *other;
            let indent = "  ".repeat(depth);
            above.push(format!("{indent}{} …\n", one_line(&node.name)));
        }
    }
    let mut out = String::new();
    if !above.is_empty() {
        out.push('\n');
    }
    out.extend(above.into_iter().rev());
    for (depth, node) in shown {
        write_node(node, *depth, &mut out);
    }
    out
}

fn write_node(node: &Node, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    if depth == 0 {
        out.push('\n');
    }
    let day = node.updated.to_zoned(TimeZone::UTC).date();
    let _ = writeln!(
        out,
        "{indent}{} ({}, changed {day})",
        one_line(&node.name),
        one_line(&node.id)
    );
    for fact in node.facts() {
        let _ = writeln!(out, "{indent}  - {}", one_line(fact));
    }
}

/// `User > Pets`.
fn path(store: &MemoryStore, node: &Node) -> Outcome<String> {
    let above = store.ancestors(&node.id)?;
    let names = above.iter().filter(|above| above.id != ROOT);
    let names: Vec<&str> = names.chain([node]).map(|node| node.name.as_str()).collect();
    Ok(one_line(&names.join(" > ")))
}

/// Nodes with the facts that have one of the words in them.
pub(super) fn found_nodes(
    store: &MemoryStore,
    nodes: &[Node],
    words: &[String],
) -> Outcome<String> {
    let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let mut out = String::new();
    for node in nodes {
        let _ = writeln!(out, "{} ({})", path(store, node)?, one_line(&node.id));
        let fits = |fact: &&str| {
            let fact = fact.to_lowercase();
            words.iter().any(|word| fact.contains(word))
        };
        let mut facts: Vec<&str> = node.facts().filter(fits).collect();
        if facts.is_empty() {
            facts = node.facts().collect();
        }
        for fact in facts.iter().take(MAX_FACTS) {
            let _ = writeln!(out, "  - {}", one_line(&clip(fact, MAX_FACT_CHARS)));
        }
    }
    Ok(out)
}

/// What is erased, a line each.
pub(super) fn erasure(erasure: &Erasure) -> String {
    let mut out = String::new();
    let mut line = |kind: &str, text: &str| {
        let _ = writeln!(
            out,
            "  {kind:<6} {}",
            one_line(&clip(text, MAX_PREVIEW_CHARS))
        );
    };
    for row in &erasure.rows {
        line("diary", &format!("{}  {}", row.date, row.summary));
    }
    for (node, fact) in &erasure.facts {
        line("fact", &format!("{node}: {fact}"));
    }
    for node in &erasure.nodes {
        line("node", node);
    }
    for file in &erasure.files {
        line("file", &file_name(file));
    }
    out
}

/// The last part of a path.
pub(super) fn file_name(path: &Path) -> String {
    one_line(&path.file_name().unwrap_or_default().to_string_lossy())
}
