//! Splits a streaming reply into bounded blocks, so that finished text is never laid out again.
//!
//! Every line is examined once, when it is complete. A block is at most [`LINES`] lines and about [`BYTES`] bytes: long code, lists and tables become several
//! blocks, each with the state that its layout needs from those before. Where blocks end depends on the text alone, not on how it was chunked.

use super::block::{Block, BlockKind, displayed_number};
use super::highlight::{self, HighlightState};
use super::lines::{self, Fence, LineStart};
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum lines of a block.
pub(crate) const LINES: usize = 64;
/// Maximum bytes of a block, except for the newline of its last line.
pub(crate) const BYTES: usize = 8 * 1024;
/// Maximum bytes of a line; a longer one is cut.
const MAX_LINE_BYTES: usize = 4 * 1024;
/// Number of lines of a list after which the next item begins a new block.
const MAX_LIST_LINES: usize = 16;

/// Splits a reply that arrives in chunks into blocks.
#[derive(Clone, Debug, Default)]
pub struct BlockSplitter {
    /// The open block: complete lines, then the one that is arriving.
    text: String,
    /// Where the arriving line begins.
    line: usize,
    /// Where the last complete line begins.
    last: usize,
    /// Number of complete lines.
    lines: usize,
    /// Bytes of blank lines at the start.
    head: usize,
    /// Bytes of blank lines at the end of the complete lines, in a list.
    blanks: usize,
    /// The arriving line is the rest of one that was cut.
    cut_line: bool,
    /// The kind of the open block, by its complete lines.
    open: OpenBlock,
    /// Columns the open block is indented.
    indent: usize,
    /// The open list, across its blocks.
    list: Option<MarkdownList>,
    /// Whether something was emitted, and whether it needs an empty row after it.
    before: Option<bool>,
    /// Blank lines were emitted as a block of their own.
    gap: bool,
    /// The next block continues at the point where the last one was cut.
    cut: bool,
}

#[derive(Clone, Debug, Default)]
enum OpenBlock {
    #[default]
    Nothing,
    Paragraph,
    List(Option<(u64, u64)>),
    Quote,
    Table(Option<Arc<str>>),
    Code(CodeBlock),
}

#[derive(Clone, Debug)]
struct CodeBlock {
    fence: Fence,
    info: Arc<str>,
    opens: bool,
    state: HighlightState,
}

#[derive(Clone, Copy, Debug)]
struct MarkdownList {
    /// Columns before the markers of its items.
    indent: usize,
    /// The number written last, and the number in the source.
    number: Option<(u64, u64)>,
}

impl BlockSplitter {
    /// Adds a chunk of cleaned text; blocks that it completes are appended to `done`.
    pub fn push(&mut self, text: &str, done: &mut Vec<Block>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (line, ends) = match rest.find('\n') {
                Some(at) => (rest.get(..at).unwrap_or_default(), true),
                None => (rest, false),
            };
            let room = (MAX_LINE_BYTES + self.line)
                .min(BYTES)
                .saturating_sub(self.text.len());
            let take = line.floor_char_boundary(room);
            self.text.push_str(line.get(..take).unwrap_or_default());
            if take < line.len() {
                self.overflow(done);
            } else if ends {
                self.text.push('\n');
                self.end_line(done);
            }
            let consumed = take + usize::from(take == line.len() && ends);
            rest = rest.get(consumed..).unwrap_or_default();
        }
    }

    /// The unfinished end as it looks now: at most one block. A partly written fence is left out.
    pub fn open(&self) -> Option<Block> {
        let line = self.text.get(self.line..).unwrap_or_default();
        let mut text = self.text.as_str();
        let half = match &self.open {
            OpenBlock::Code(code) => !self.cut_line && code.fence.maybe_closed_by(line),
            _ => !line.trim().is_empty() && line.trim().bytes().all(|byte| byte == b'`'),
        };
        if half {
            text = self.text.get(..self.line).unwrap_or_default();
        }
        if text.is_empty() || (lines::is_blank(text) && !matches!(self.open, OpenBlock::Code(_))) {
            return None;
        }
        let mut sketch = Self {
            text: String::new(),
            open: self.open.clone(),
            ..*self
        };
        if matches!(self.open, OpenBlock::Nothing) && self.cut_line {
            sketch.open = OpenBlock::Paragraph;
        } else if matches!(self.open, OpenBlock::Nothing) && !half {
            sketch.begin(line, lines::start(line));
        }
        Some(sketch.block(text.to_owned(), false))
    }

    /// Ends the reply: what is open is finished as it is, and the next reply may begin.
    pub fn finish(&mut self, done: &mut Vec<Block>) {
        if self.line < self.text.len() {
            self.end_line(done);
        }
        if !self.text.is_empty() {
            self.emit(self.text.len(), false, done);
        }
        *self = Self::default();
    }

    /// The next character does not fit: emits the complete lines, or cuts the line if there are none.
    fn overflow(&mut self, done: &mut Vec<Block>) {
        if self.line > 0 {
            self.flush(done);
            return;
        }
        if matches!(self.open, OpenBlock::Nothing) {
            let line = self.text.clone();
            match lines::start(&line) {
                LineStart::Fence(..) => self.open = OpenBlock::Paragraph,
                start => self.begin(&line, start),
            }
        }
        let at = cut(&self.text);
        self.emit(at, false, done);
        (self.cut_line, self.cut) = (true, true);
    }

    /// Processes a complete line.
    fn end_line(&mut self, done: &mut Vec<Block>) {
        let from = self.line;
        let whole = self.text.get(from..).unwrap_or_default();
        let line = whole.strip_suffix('\n').unwrap_or(whole).to_owned();
        self.lines += 1;
        self.line = self.text.len();
        let cut_line = std::mem::take(&mut self.cut_line);
        if let OpenBlock::Code(code) = &self.open {
            if !cut_line && code.fence.closed_by(&line) && lines::indent(&line) < self.indent + 4 {
                self.emit(self.line, true, done);
                self.open = OpenBlock::Nothing;
                return;
            }
        } else if cut_line {
            self.open = OpenBlock::Paragraph;
        } else if lines::is_blank(&line) {
            self.blank(from, done);
        } else {
            self.text_line(from, &line, done);
        }
        self.last = self.last_line();
        if self.lines >= LINES || self.text.len() >= BYTES {
            self.flush(done);
        }
    }

    /// Emits complete lines although their block may continue; blank lines after them wait for the next line.
    fn flush(&mut self, done: &mut Vec<Block>) {
        let blanks = std::mem::take(&mut self.blanks);
        self.emit(self.line - blanks, false, done);
        self.head = blanks;
        self.cut = true;
    }

    /// Searches backwards for the start of the last complete line.
    fn last_line(&self) -> usize {
        let whole = self.text.get(..self.line).unwrap_or_default();
        let body = whole.strip_suffix('\n').unwrap_or(whole);
        body.rfind('\n').map_or(0, |at| at + 1)
    }

    fn blank(&mut self, from: usize, done: &mut Vec<Block>) {
        match self.open {
            OpenBlock::List(_) => self.blanks += self.line - from,
            OpenBlock::Nothing => self.head = self.line,
            OpenBlock::Paragraph | OpenBlock::Quote | OpenBlock::Table(_) | OpenBlock::Code(_) => {
                if from > 0 {
                    self.emit(from, false, done);
                }
                self.open = OpenBlock::Nothing;
                self.head = self.line;
            }
        }
    }

    fn text_line(&mut self, from: usize, line: &str, done: &mut Vec<Block>) {
        let start = lines::start(line);
        if let (OpenBlock::Paragraph, LineStart::Text | LineStart::Item { .. }) =
            (&self.open, start)
        {
            let above = self.text.get(self.last..from).unwrap_or_default();
            if lines::delimits(above.trim_end(), line) {
                return self.table(done);
            }
        }
        if self.joins(line, start) {
            self.blanks = 0;
            if let (OpenBlock::List(_), LineStart::Item { number, .. }) = (&self.open, start) {
                self.count(lines::indent(line), number);
            }
            if matches!(self.open, OpenBlock::Paragraph) && lines::underlines(line) {
                self.emit(self.line, false, done);
                self.open = OpenBlock::Nothing;
            }
            return;
        }
        let end = from - self.blanks;
        if end > 0 && !matches!(self.open, OpenBlock::Nothing) {
            self.emit(end, false, done);
            self.head = self.blanks;
        }
        self.blanks = 0;
        self.open = OpenBlock::Nothing;
        self.begin(line, start);
        if matches!(start, LineStart::Heading | LineStart::Rule)
            && matches!(self.open, OpenBlock::Nothing)
        {
            self.emit(self.line, false, done);
        }
    }

    /// Begins a table with the last line and the one before it as its head.
    fn table(&mut self, done: &mut Vec<Block>) {
        if self.last > self.head {
            self.emit(self.last, false, done);
        }
        self.open = OpenBlock::Table(None);
    }

    /// Whether the line belongs to the open block.
    fn joins(&self, line: &str, start: LineStart<'_>) -> bool {
        let indent = lines::indent(line);
        match &self.open {
            OpenBlock::Nothing => false,
            OpenBlock::Code(_) => true,
            OpenBlock::Paragraph => match start {
                LineStart::Text => true,
                LineStart::Fence(..) | LineStart::Heading | LineStart::Quote => indent >= 4,
                LineStart::Rule => indent >= 4 || lines::underlines(line),
                LineStart::Item { number, empty, .. } => {
                    indent >= 4 || empty || number.is_some_and(|number| number != 1)
                }
            },
            OpenBlock::Quote => matches!(start, LineStart::Quote | LineStart::Text),
            OpenBlock::Table(_) => matches!(start, LineStart::Text),
            OpenBlock::List(_) => {
                let base = self.list.map_or(0, |list| list.indent);
                let inside = indent >= base + 2;
                match start {
                    _ if indent < self.indent => false,
                    LineStart::Fence(..) => false,
                    LineStart::Item { .. } => inside || self.lines <= MAX_LIST_LINES,
                    LineStart::Text => inside || self.blanks == 0,
                    LineStart::Heading | LineStart::Rule | LineStart::Quote => inside,
                }
            }
        }
    }

    fn begin(&mut self, line: &str, start: LineStart<'_>) {
        let indent = lines::indent(line);
        self.indent = 0;
        let inside = self.list.is_some_and(|list| indent >= list.indent + 2);
        let item = matches!(start, LineStart::Item { .. }) && (self.list.is_some() || indent < 4);
        if !inside && !item {
            self.list = None;
        }
        self.open = match start {
            LineStart::Fence(fence, info) if inside || indent < 4 => {
                self.indent = indent;
                OpenBlock::Code(CodeBlock {
                    fence,
                    info: info.into(),
                    opens: true,
                    state: HighlightState::default(),
                })
            }
            LineStart::Item { number, .. } if item => {
                if inside {
                    self.indent = indent;
                    OpenBlock::List(None)
                } else {
                    let after = self.list.and_then(|list| list.number);
                    self.list.get_or_insert(MarkdownList {
                        indent,
                        number: None,
                    });
                    self.count(indent, number);
                    OpenBlock::List(after)
                }
            }
            _ if inside => {
                self.indent = indent;
                OpenBlock::List(None)
            }
            LineStart::Heading | LineStart::Rule if indent < 4 => OpenBlock::Nothing,
            LineStart::Quote if indent < 4 => OpenBlock::Quote,
            LineStart::Fence(..)
            | LineStart::Heading
            | LineStart::Rule
            | LineStart::Item { .. }
            | LineStart::Quote
            | LineStart::Text => OpenBlock::Paragraph,
        };
    }

    /// Gives the next number to an item of the list itself, not of a nested one.
    fn count(&mut self, indent: usize, number: Option<u64>) {
        if let Some(list) = &mut self.list
            && indent < list.indent + 2
        {
            list.number = number.map(|written| (written, displayed_number(list.number, written)));
        }
    }

    /// Emits the first `end` bytes as a block.
    fn emit(&mut self, end: usize, closes: bool, done: &mut Vec<Block>) {
        let rest = self.text.split_off(end);
        let text = std::mem::replace(&mut self.text, rest);
        let body = text.get(self.head..).unwrap_or_default().to_owned();
        let block = self.block(text, closes);
        self.line = self.line.saturating_sub(end);
        self.last = self.last.saturating_sub(end);
        let whole = self.text.get(..self.line).unwrap_or_default();
        self.lines = whole.bytes().filter(|byte| *byte == b'\n').count();
        if !whole.is_empty() && !whole.ends_with('\n') {
            self.lines += 1;
        }
        self.head = 0;
        self.cut = false;
        if block.kind == BlockKind::Blank {
            self.gap = true;
        } else {
            self.before = Some(block.kind.needs_empty_row());
            self.gap = false;
        }
        match &mut self.open {
            OpenBlock::Table(head) => {
                if head.is_none() {
                    *head = Some(
                        body.split_inclusive('\n')
                            .take(2)
                            .collect::<String>()
                            .into(),
                    );
                }
            }
            OpenBlock::Code(code) => {
                let skip = usize::from(std::mem::take(&mut code.opens));
                let grammar = highlight::grammar(&code.info);
                for line in body.lines().skip(skip) {
                    highlight::line(grammar, &mut code.state, line, |_, _| {});
                }
            }
            OpenBlock::Nothing | OpenBlock::Paragraph | OpenBlock::List(_) | OpenBlock::Quote => {
                self.open = OpenBlock::Nothing;
            }
        }
        done.push(block);
    }

    fn block(&self, text: String, closes: bool) -> Block {
        let kind = match &self.open {
            OpenBlock::Nothing => match lines::start(text.get(self.head..).unwrap_or_default()) {
                _ if lines::is_blank(&text) => BlockKind::Blank,
                LineStart::Rule => BlockKind::Rule,
                _ => BlockKind::Heading,
            },
            OpenBlock::Paragraph => BlockKind::Paragraph,
            OpenBlock::List(after) => BlockKind::List { after: *after },
            OpenBlock::Quote => BlockKind::Quote,
            OpenBlock::Table(head) => BlockKind::Table { head: head.clone() },
            OpenBlock::Code(code) => BlockKind::Code {
                info: Arc::clone(&code.info),
                opens: code.opens,
                closes,
                state: code.state,
            },
        };
        let written = self.head > 0 || self.gap;
        let empty_row = !self.cut
            && self.list.is_none()
            && (kind.needs_empty_row() || kind == BlockKind::Heading || self.before == Some(true));
        Block {
            gap: self.before.is_some()
                && kind != BlockKind::Blank
                && !kind.continues_previous()
                && (written || empty_row),
            text,
            kind,
            indent: self.indent,
        }
    }
}

/// Where to cut a line that is too long: after a blank near its end, or else before its last cluster.
fn cut(line: &str) -> usize {
    let near = line.floor_char_boundary(line.len().saturating_sub(256));
    let tail = line.get(near..).unwrap_or_default();
    if let Some(at) = tail.rfind(' ').filter(|at| near + at > 0) {
        return near + at + 1;
    }
    let last = tail.grapheme_indices(true).next_back();
    match last {
        Some((at, _)) if near + at > 0 => near + at,
        _ => line.len(),
    }
}

#[cfg(test)]
mod tests;
