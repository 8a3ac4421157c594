//! Tables as sentences: each row says its cells with the headings of their columns.

/// The table whose lines are being read.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The headings, once a line with cells was read.
    headings: Vec<String>,
}

impl Table {
    /// A line of a table as it is spoken: `Some(None)` for the headings and the rule below them. `None` when it belongs to no table, which ends one.
    pub(super) fn row(&mut self, line: &str) -> Option<Option<String>> {
        let inside = line
            .strip_prefix('|')
            .and_then(|line| line.strip_suffix('|'));
        let Some(cells) = inside.map(cells).filter(|cells| !cells.is_empty()) else {
            self.headings.clear();
            return None;
        };
        if self.headings.is_empty() {
            self.headings = cells;
            return Some(None);
        }
        let is_rule =
            |cell: &String| cell.contains('-') && cell.trim_matches([':', '-']).is_empty();
        if cells.iter().all(is_rule) {
            return Some(None);
        }
        let said = self
            .headings
            .iter()
            .zip(&cells)
            .filter(|(_, cell)| !cell.is_empty());
        let said = said.map(|(heading, cell)| match heading.is_empty() {
            true => cell.clone(),
            false => format!("{heading}: {cell}"),
        });
        let row = said.collect::<Vec<String>>().join(", ");
        Some((!row.is_empty()).then(|| format!("{row}.")))
    }
}

/// The cells between bars; a bar after a backslash is a part of one.
fn cells(inside: &str) -> Vec<String> {
    let bare = inside.replace("\\|", "\u{0}");
    let cells = bare.split('|');
    cells
        .map(|cell| cell.trim().replace('\u{0}', "|"))
        .collect()
}
