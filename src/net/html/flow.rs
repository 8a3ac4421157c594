//! Pieces of HTML flowing into text: white space collapses but in code, lines break where blocks do.

use super::tokens::{Piece, read};

/// Elements whose content is not for reading.
const SILENT: [&str; 8] = [
    "script", "style", "title", "template", "svg", "iframe", "object", "canvas",
];
/// Elements with an empty line around them.
const PARTS: [&str; 18] = [
    "p",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "dl",
    "table",
    "figure",
    "article",
    "section",
    "form",
    "hr",
];
/// Elements that begin and end a line.
const BLOCKS: [&str; 14] = [
    "div",
    "li",
    "tr",
    "dt",
    "dd",
    "header",
    "footer",
    "main",
    "nav",
    "aside",
    "figcaption",
    "address",
    "caption",
    "option",
];

/// `html` as text.
pub(super) fn text(html: &str) -> String {
    let mut flow = Flow::default();
    // The silent element that is open, and how often it is open in itself.
    let mut silent: Option<(String, usize)> = None;
    read(html, |piece| match (&mut silent, piece) {
        (Some((name, depth)), Piece::Open(tag)) if tag.name() == name => *depth += 1,
        (Some((name, depth)), Piece::Close(closed)) if closed == name => {
            *depth -= 1;
            if *depth == 0 {
                silent = None;
            }
        }
        (Some(_), _) => {}
        (None, Piece::Open(tag)) if SILENT.contains(&tag.name()) => {
            silent = Some((tag.name().to_owned(), 1));
        }
        (None, Piece::Open(tag)) => flow.open(tag.name()),
        (None, Piece::Close(name)) => flow.close(name),
        (None, Piece::Text(words)) => flow.words(words),
    });
    let end = flow.out.trim_end().len();
    flow.out.truncate(end);
    flow.out
}

/// Text that is being put together.
#[derive(Default)]
struct Flow {
    out: String,
    /// Line breaks that the next word brings.
    breaks: usize,
    /// A space that the next word brings.
    space: bool,
    /// Elements that are open and keep their white space.
    kept: usize,
    /// The line break behind `<pre>` is none.
    fresh: bool,
}

impl Flow {
    fn words(&mut self, text: &str) {
        if self.kept > 0 {
            let text = match self.fresh {
                true => text.strip_prefix('\n').unwrap_or(text),
                false => text,
            };
            self.fresh = false;
            if !text.is_empty() {
                self.due();
                self.out.push_str(text);
            }
            return;
        }
        if text.starts_with(char::is_whitespace) {
            self.space = true;
        }
        for word in text.split_whitespace() {
            self.due();
            self.out.push_str(word);
            self.space = true;
        }
        if !text.ends_with(char::is_whitespace) && !text.is_empty() {
            self.space = false;
        }
    }

    /// Writes the breaks or the space that are due before a word.
    fn due(&mut self) {
        if self.out.is_empty() {
            self.breaks = 0;
        } else if self.breaks > 0 {
            let there = self.out.len() - self.out.trim_end_matches('\n').len();
            for _ in there..self.breaks {
                self.out.push('\n');
            }
            self.breaks = 0;
        } else if self.space && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        self.space = false;
    }

    fn open(&mut self, name: &str) {
        self.edge(name);
        match name {
            "br" => self.breaks = (self.breaks + 1).min(2),
            "pre" | "textarea" => {
                self.kept += 1;
                self.fresh = true;
            }
            "li" => {
                self.due();
                self.out.push_str("- ");
            }
            "td" | "th" => self.space = true,
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if matches!(name, "pre" | "textarea") {
            self.kept = self.kept.saturating_sub(1);
            self.fresh = false;
        }
        self.edge(name);
    }

    fn edge(&mut self, name: &str) {
        let breaks = match PARTS.contains(&name) {
            true => 2,
            false => usize::from(BLOCKS.contains(&name)),
        };
        self.breaks = self.breaks.max(breaks);
    }
}
