//! The markup of the topics: a small part of Markdown.
//!
//! `# ` begins a section, which is one of its own in the manual page, and `## ` a part of one. Lines that begin with `- ` are items, with four blanks code,
//! with `| ` rows of a term and its text. A line `{{name}}` stands for a table of the program. Other lines are paragraphs, which end at an empty line.
//! Backticks mark what is typed.

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    Section(String),
    Heading(String),
    Paragraph(String),
    Item(String),
    Code(Vec<String>),
    /// Terms with their explanations.
    Rows(Vec<(String, String)>),
}

impl Block {
    /// Its text on one line, without marks.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Section(text)
            | Self::Heading(text)
            | Self::Paragraph(text)
            | Self::Item(text) => text.replace('`', ""),
            Self::Code(lines) => lines.join("\n"),
            Self::Rows(rows) => {
                let rows = rows.iter().map(|(term, text)| format!("{term} {text}"));
                rows.collect::<Vec<_>>().join("\n").replace('`', "")
            }
        }
    }
}

/// Splits `source` into blocks; `table` returns what a `{{name}}` stands for.
pub(crate) fn parse(source: &str, table: &dyn Fn(&str) -> Option<Vec<Block>>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // A paragraph or an item takes further lines until an empty one.
    let mut is_open = false;
    for line in source.lines() {
        if line.trim().is_empty() {
            is_open = false;
            continue;
        }
        let mut opens = false;
        if let Some(title) = line.strip_prefix("# ") {
            blocks.push(Block::Section(title.to_owned()));
        } else if let Some(title) = line.strip_prefix("## ") {
            blocks.push(Block::Heading(title.to_owned()));
        } else if let Some(name) = slot(line) {
            match table(name) {
                Some(rows) => blocks.extend(rows),
                None => blocks.push(Block::Paragraph(line.to_owned())),
            }
        } else if let Some(code) = line.strip_prefix("    ") {
            match blocks.last_mut() {
                Some(Block::Code(lines)) => lines.push(code.to_owned()),
                _ => blocks.push(Block::Code(vec![code.to_owned()])),
            }
        } else if let Some(row) = row(line) {
            match blocks.last_mut() {
                Some(Block::Rows(rows)) => rows.push(row),
                _ => blocks.push(Block::Rows(vec![row])),
            }
        } else if let Some(item) = line.strip_prefix("- ") {
            blocks.push(Block::Item(item.to_owned()));
            opens = true;
        } else {
            opens = true;
            match blocks.last_mut() {
                Some(Block::Paragraph(text) | Block::Item(text)) if is_open => {
                    text.push(' ');
                    text.push_str(line.trim());
                }
                _ => blocks.push(Block::Paragraph(line.to_owned())),
            }
        }
        is_open = opens;
    }
    blocks
}

/// The name in a line `{{name}}`.
fn slot(line: &str) -> Option<&str> {
    line.trim().strip_prefix("{{")?.strip_suffix("}}")
}

/// The cells of a line `| term | text |`.
fn row(line: &str) -> Option<(String, String)> {
    let cells = line.strip_prefix("| ")?.trim_end().strip_suffix(" |")?;
    let (term, text) = cells.split_once(" | ")?;
    Some((term.trim().to_owned(), text.trim().to_owned()))
}
