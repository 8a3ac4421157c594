//! Markup inside a line.

/// Elements whose tags are not spoken. Other words in angle brackets are placeholders and types.
const ELEMENTS: &str = "a abbr article aside audio b big blockquote body br button center cite code col dd del details div dl dt em figcaption figure \
font footer h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label li link main mark meta nav ol option p pre q s samp script section select \
small source span strike strong style sub summary sup svg table tbody td textarea tfoot th thead time title tr tt u ul var video wbr";
/// Longest tag in bytes.
const MAX_TAG_BYTES: usize = 2_000;

/// A character of a line; those of code are no markup.
#[derive(Clone, Copy)]
struct Cell {
    c: char,
    is_code: bool,
}

/// `line` without emphasis, code marks and tags.
pub(super) fn plain(line: &str) -> String {
    if !line.contains(['*', '_', '~', '`', '<']) {
        return line.to_owned();
    }
    let mut cells = without_tags(without_code_marks(line));
    for mark in ["***", "**", "__", "~~", "*", "_"] {
        cells = without_mark(cells, mark);
    }
    cells.iter().map(|cell| cell.c).collect()
}

/// Code between equally many backticks is text.
fn without_code_marks(line: &str) -> Vec<Cell> {
    let chars: Vec<char> = line.chars().collect();
    let ticks = |at: usize| chars.iter().skip(at).take_while(|c| **c == '`').count();
    // The runs of backticks, each with its length.
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let len = ticks(at);
        if len > 0 {
            runs.push((at, len));
        }
        at += len.max(1);
    }
    let mut cells = Vec::with_capacity(chars.len());
    let push = |cells: &mut Vec<Cell>, from: usize, to: usize, is_code: bool| {
        let chars = chars.get(from..to).unwrap_or_default();
        cells.extend(chars.iter().map(|c| Cell { c: *c, is_code }));
    };
    let mut from = 0;
    let mut next = 0;
    while let Some((start, len)) = runs.get(next).copied() {
        // Few lengths occur, so the search for the next equal one is cut short.
        let later = runs.iter().enumerate().skip(next + 1).take(64);
        match later
            .map(|(i, run)| (i, *run))
            .find(|(_, (_, other))| *other == len)
        {
            Some((i, (end, _))) => {
                push(&mut cells, from, start, false);
                push(&mut cells, start + len, end, true);
                from = end + len;
                next = i + 1;
            }
            None => next += 1,
        }
    }
    push(&mut cells, from, chars.len(), false);
    cells
}

fn without_tags(cells: Vec<Cell>) -> Vec<Cell> {
    let mut out = Vec::with_capacity(cells.len());
    let mut at = 0;
    while let Some(cell) = cells.get(at) {
        let len = if cell.c == '<' && !cell.is_code {
            tag_len(&cells, at)
        } else {
            0
        };
        if len == 0 {
            out.push(*cell);
        }
        at += len.max(1);
    }
    out
}

/// Characters of the tag or comment at a place; 0 when it is none.
fn tag_len(cells: &[Cell], at: usize) -> usize {
    let inside: String = cells
        .iter()
        .skip(at + 1)
        .take(MAX_TAG_BYTES)
        .take_while(|cell| !cell.is_code && cell.c != '>' && cell.c != '<')
        .map(|cell| cell.c)
        .collect();
    let len = inside.chars().count() + 2;
    if cells.get(at + len - 1).is_none_or(|cell| cell.c != '>') {
        return 0;
    }
    let is_comment = inside.starts_with("!--") && inside.ends_with("--");
    let name = inside.strip_prefix('/').unwrap_or(&inside);
    let name = name
        .split(|c: char| c.is_whitespace() || c == '/')
        .next()
        .unwrap_or_default();
    let is_element = ELEMENTS
        .split_whitespace()
        .any(|element| name.eq_ignore_ascii_case(element));
    // Words that are no attributes stand between two signs of comparison.
    let attributes = inside.trim_start_matches('/').get(name.len()..);
    let attributes = attributes.unwrap_or_default().trim().trim_end_matches('/');
    let is_tag = attributes.is_empty() || attributes.contains('=');
    if is_comment || is_element && is_tag {
        len
    } else {
        0
    }
}

/// Removes pairs of a mark; what they enclose stays.
fn without_mark(cells: Vec<Cell>, mark: &str) -> Vec<Cell> {
    let Some(sign) = mark.chars().next() else {
        return cells;
    };
    let width = mark.len();
    let char_at = |at: Option<usize>| at.and_then(|at| cells.get(at)).map(|cell| cell.c);
    let is_sign = |at: Option<usize>| {
        at.and_then(|at| cells.get(at))
            .is_some_and(|cell| cell.c == sign && !cell.is_code)
    };
    // Exactly as many signs as the mark has.
    let is_mark = |at: usize| {
        (at..at + width).all(|at| is_sign(Some(at)))
            && !is_sign(at.checked_sub(1))
            && !is_sign(Some(at + width))
    };
    let is_space = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    let opens = |at: usize| {
        let (before, after) = (char_at(at.checked_sub(1)), char_at(Some(at + width)));
        // Inside words an underscore is a part of the name, and between digits a star multiplies.
        let is_inside = if sign == '_' {
            is_word(before)
        } else {
            is_digit(before) && is_digit(after)
        };
        is_mark(at) && !is_space(after) && !is_inside
    };
    let closes = |at: usize| {
        let (before, after) = (char_at(at.checked_sub(1)), char_at(Some(at + width)));
        let is_inside = if sign == '_' {
            is_word(after)
        } else {
            is_digit(before) && is_digit(after)
        };
        is_mark(at) && !is_space(before) && !is_inside
    };
    let mut removed: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < cells.len() {
        if !opens(at) {
            at += 1;
            continue;
        }
        // Without a closing mark for this one, there is none for any later one.
        let Some(end) = (at + width..cells.len()).find(|end| closes(*end)) else {
            break;
        };
        removed.extend((at..at + width).chain(end..end + width));
        at = end + width;
    }
    let mut removed = removed.into_iter().peekable();
    let kept = cells
        .iter()
        .enumerate()
        .filter(|(at, _)| removed.next_if_eq(at).is_none());
    kept.map(|(_, cell)| *cell).collect()
}
