//! Lists and shows tickets, in the script's format.

use std::fmt::Write as _;

use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::formats::front_matter::{FrontMatter, lines, squeezed};
use crate::store::tickets::folder::{Folder, Ticket};
use crate::store::tickets::graph::Graph;

/// The filter of a list: exact values; an empty one matches everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub status: String,
    pub assignee: String,
    pub tag: String,
}

impl Filter {
    fn lets(&self, ticket: &Ticket) -> bool {
        (self.status.is_empty() || ticket.status == self.status)
            && (self.assignee.is_empty() || ticket.assignee == self.assignee)
            && (self.tag.is_empty() || ticket.tags.contains(&squeezed(&self.tag)))
    }
}

/// How many files `closed` reads, newest first.
const CLOSED_WINDOW: usize = 100;

/// All tickets with their dependencies, one per line.
pub(crate) fn list(folder: &Folder, filter: &Filter, stop: &Cancel) -> Outcome<String> {
    let mut out = String::new();
    for ticket in folder.load(stop)?.iter().filter(|t| filter.lets(t)) {
        let _ = write!(
            out,
            "{:<8} [{}] - {}",
            ticket.id, ticket.status, ticket.title
        );
        arrow(&mut out, &ticket.deps);
    }
    Ok(out)
}

fn arrow(out: &mut String, deps: &[String]) {
    if !deps.is_empty() {
        let _ = write!(out, " <- [{}]", deps.join(", "));
    }
    out.push('\n');
}

/// The tickets that are ready, or with `waiting` the blocked ones and what blocks them.
pub(crate) fn to_do(
    folder: &Folder,
    waiting: bool,
    filter: &Filter,
    stop: &Cancel,
) -> Outcome<String> {
    let graph = Graph::new(folder.load(stop)?);
    let mut out = String::new();
    for ticket in graph.to_do(waiting).into_iter().filter(|t| filter.lets(t)) {
        let _ = write!(
            out,
            "{:<8} [P{}][{}] - {}",
            ticket.id, ticket.priority, ticket.status, ticket.title
        );
        arrow(&mut out, &graph.open_deps(ticket));
    }
    Ok(out)
}

/// The last `limit` tickets that were closed.
pub(crate) fn closed(
    folder: &Folder,
    limit: usize,
    filter: &Filter,
    stop: &Cancel,
) -> Outcome<String> {
    let mut newest = folder.newest()?;
    newest.truncate(CLOSED_WINDOW);
    let mut out = String::new();
    folder
        .load_some(&newest, stop)?
        .iter()
        .filter(|ticket| matches!(ticket.status.as_str(), "closed" | "done") && filter.lets(ticket))
        .take(limit)
        .for_each(|ticket| {
            let _ = writeln!(
                out,
                "{:<8} [{}] - {}",
                ticket.id, ticket.status, ticket.title
            );
        });
    Ok(out)
}

/// A ticket's file with its parent's title, and the related tickets.
///
/// # Errors
/// No such ticket; it cannot be read.
pub(crate) fn show(folder: &Folder, given: &str, stop: &Cancel) -> Outcome<String> {
    let name = folder.resolve(given)?;
    let bytes = folder.read(&name)?;
    let graph = Graph::new(folder.load(stop)?);
    let doc = FrontMatter::parse(&bytes);
    let ticket = Ticket::read(&doc).unwrap_or_else(|| Ticket {
        id: name.clone(),
        ..Ticket::default()
    });
    let mut out = String::with_capacity(bytes.len() + 200);
    let parent = graph.get(&ticket.parent).map(|parent| &parent.title);
    let mut in_front = false;
    for (n, (_, line)) in lines(&bytes).enumerate() {
        let text = String::from_utf8_lossy(line);
        if line == b"---" {
            in_front = n == 0;
        }
        out.push_str(&text);
        if let (true, true, Some(title)) = (in_front, line.starts_with(b"parent:"), parent)
            && !text.contains('#')
        {
            let _ = write!(out, "  # {title}");
        }
        out.push('\n');
    }
    let among = |keep: &dyn Fn(&Ticket) -> bool| -> Vec<String> {
        let found = graph.tickets.iter().filter(|t| keep(t));
        let mut ids: Vec<String> = found.map(|t| t.id.clone()).collect();
        ids.sort_unstable();
        ids
    };
    let blocking = among(&|other| !other.is_closed() && other.deps.contains(&ticket.id));
    let children = among(&|other| other.parent == ticket.id);
    for (heading, mut ids) in [
        ("Blockers", graph.open_deps(&ticket)),
        ("Blocking", blocking),
        ("Children", children),
        ("Linked", ticket.links.clone()),
    ] {
        ids.dedup();
        if ids.is_empty() {
            continue;
        }
        let _ = write!(out, "\n## {heading}\n\n");
        for id in ids {
            // A ticket whose file is missing still blocks, so it is listed without status and title.
            let (status, title) = graph
                .get(&id)
                .map_or(("", ""), |other| (&other.status, &other.title));
            let _ = writeln!(out, "- {id} [{status}] {title}");
        }
    }
    Ok(out)
}

/// One JSON object per ticket: its front matter in file order, lists as arrays, everything else as strings.
pub(crate) fn json_lines(folder: &Folder, stop: &Cancel) -> Outcome<String> {
    let objects = folder.map(&folder.names()?, stop, |bytes| {
        let doc = FrontMatter::parse(bytes);
        doc.get("id").filter(|id| !id.is_empty())?;
        Some(object(&doc))
    })?;
    Ok(objects.concat())
}

fn object(doc: &FrontMatter) -> String {
    let mut out = String::from("{");
    for (n, field) in doc.fields.iter().enumerate() {
        // For a duplicate key, the value that counts is written once.
        let later = doc.fields.iter().skip(n + 1);
        if later.into_iter().any(|other| other.key == field.key) {
            continue;
        }
        if out.len() > 1 {
            out.push(',');
        }
        let key = String::from_utf8_lossy(field.key).into_owned();
        let value = field.value();
        let value = match value.strip_prefix('[').and_then(|v| v.strip_suffix(']')) {
            Some(inner) => inner
                .split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .collect::<serde_json::Value>(),
            None => serde_json::Value::from(value.as_ref()),
        };
        let _ = write!(out, "{}:{value}", serde_json::Value::from(key));
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_the_files_order_and_escape_what_json_wants() {
        let doc = FrontMatter::parse(
            b"---\nid: a\nodd: \"x\\\ntags: [ui,  back end]\npriority: 2\nodd: y\n---\n",
        );
        assert_eq!(
            object(&doc),
            "{\"id\":\"a\",\"tags\":[\"ui\",\"back end\"],\"priority\":\"2\",\"odd\":\"y\"}\n"
        );
    }
}
