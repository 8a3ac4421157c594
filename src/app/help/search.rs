//! `marvin help -s WORD`: where the texts say something.

use std::collections::BTreeSet;

use super::layout::{self, Style};
use super::markup::Block;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, nearest, one_line};

/// A text that is searched: its name and its blocks.
pub(crate) type Document = (String, Vec<Block>);

/// The parts of the documents in which all `words` occur, below the name of their document.
///
/// # Errors
/// There are none; the nearest words that occur are named.
pub(crate) fn search(
    documents: &[Document],
    words: &[String],
    columns: usize,
    is_bold: bool,
) -> Outcome<String> {
    let found: Vec<String> = words
        .iter()
        .flat_map(|word| word.split_whitespace())
        .map(str::to_lowercase)
        .collect();
    if found.is_empty() {
        return Err(Problem::input("There is no word to search for.")
            .next("For example: marvin help -s proxy"));
    }
    let style = Style { is_bold, found };
    let mut out = String::new();
    for (name, blocks) in documents {
        let hits = hits(blocks, &style.found);
        if hits.is_empty() {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&layout::text(
            &[Block::Heading(name.clone())],
            columns,
            &Style {
                is_bold,
                found: Vec::new(),
            },
        ));
        let text = layout::text(&hits, columns.saturating_sub(2), &style);
        for line in text.lines() {
            out.push_str(if line.is_empty() { "" } else { "  " });
            out.push_str(line);
            out.push('\n');
        }
    }
    if out.is_empty() {
        return Err(nothing(documents, &style.found));
    }
    Ok(out)
}

/// The paragraphs, items, rows and lines of code in which all words occur, after the heading that they stand below.
fn hits(blocks: &[Block], words: &[String]) -> Vec<Block> {
    let fits = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let mut hits = Vec::new();
    let mut title: Option<&Block> = None;
    for block in blocks {
        let hit = match block {
            Block::Section(_) | Block::Heading(_) => {
                title = Some(block);
                continue;
            }
            Block::Rows(rows) => {
                let rows: Vec<_> = rows
                    .iter()
                    .filter(|(term, text)| fits(&format!("{term} {text}").replace('`', "")))
                    .cloned()
                    .collect();
                (!rows.is_empty()).then_some(Block::Rows(rows))
            }
            Block::Code(lines) => {
                let lines: Vec<String> = lines.iter().filter(|line| fits(line)).cloned().collect();
                (!lines.is_empty()).then_some(Block::Code(lines))
            }
            Block::Paragraph(_) | Block::Item(_) => fits(&block.words()).then(|| block.clone()),
        };
        if let Some(hit) = hit {
            hits.extend(title.take().cloned());
            hits.push(hit);
        }
    }
    hits
}

fn nothing(documents: &[Document], words: &[String]) -> Problem {
    let texts: Vec<String> = documents
        .iter()
        .flat_map(|(_, blocks)| blocks.iter().map(|block| block.words().to_lowercase()))
        .collect();
    let known: BTreeSet<&str> = texts
        .iter()
        .flat_map(|text| text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))))
        .filter(|word| word.chars().count() > 2)
        .collect();
    let shown = one_line(&clip(&words.join(" "), 60));
    if words
        .iter()
        .all(|word| texts.iter().any(|text| text.contains(word.as_str())))
    {
        return Problem::missing(format!("No part of the help has all of \"{shown}\"."))
            .next("Search for fewer words.");
    }
    let problem = Problem::missing(format!("The help says nothing about \"{shown}\"."));
    let mut near: Vec<&str> = Vec::new();
    for word in words.iter().filter(|word| !known.contains(word.as_str())) {
        near.extend(nearest(word, known.iter().copied()));
    }
    match near.as_slice() {
        [] => problem.next("marvin help lists the topics."),
        near => problem.next(format!("Nearest words: {}.", near.join(", "))),
    }
}
