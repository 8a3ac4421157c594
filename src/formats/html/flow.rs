//! Turns HTML tokens into text: white space collapses except in code, lines break at block elements, and lists, tables, quotes and headings keep a marker.

use super::tokens::{HtmlToken, OpenTag};

/// Elements whose content is not shown.
const HIDDEN: [&str; 8] = [
    "script", "style", "title", "template", "svg", "iframe", "object", "canvas",
];

/// How an element affects line breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockEdge {
    Inline,
    /// A line break before and after.
    Line,
    /// An empty line before and after.
    Part,
}

fn edge(name: &str) -> BlockEdge {
    match name {
        "p" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "blockquote" | "ul" | "ol"
        | "dl" | "table" | "figure" | "article" | "section" | "form" | "hr" => BlockEdge::Part,
        "div" | "li" | "tr" | "dt" | "dd" | "header" | "footer" | "main" | "nav" | "aside"
        | "figcaption" | "address" | "caption" | "option" | "details" | "summary" | "fieldset"
        | "legend" | "dialog" | "menu" | "textarea" | "body" => BlockEdge::Line,
        _ => BlockEdge::Inline,
    }
}

/// The text being built.
#[derive(Default)]
pub(super) struct TextFlow {
    out: String,
    /// The first title, as written.
    title: Option<String>,
    /// The title was closed; later ones are ignored.
    title_closed: bool,
    /// Headings get markers, and images are shown by their alternative text.
    page: bool,
    /// The open element whose content is hidden, and how often it is nested in itself.
    silent: Option<(String, usize)>,
    /// Line breaks due before the next word.
    pending_breaks: usize,
    /// Whether a space is due before the next word.
    pending_space: bool,
    /// Open elements that keep their white space.
    preformatted: usize,
    /// Whether a line break here directly follows `<pre>` and is ignored.
    pre_just_opened: bool,
    /// Open lists, each with its next number and whether it has had an item.
    lists: Vec<HtmlList>,
    /// Open block quotes.
    quotes: usize,
    /// Whether a definition is open.
    defining: bool,
    /// Marker of an item or heading, due before the next word.
    marker: Option<Marker>,
    /// Open tables, each with the number of cells in its current row.
    rows: Vec<usize>,
    /// Cell borders due before the next word.
    pending_borders: usize,
    /// Whether an open table row has had no word yet.
    row: bool,
}

struct HtmlList {
    next: Option<i64>,
    has_items: bool,
}

#[derive(Clone, Copy)]
enum Marker {
    Dash,
    Number(i64),
    Heading(usize),
}

/// Levels of lists and quotes that are indented; deeper ones look like the last.
const MAX_INDENT_LEVELS: usize = 8;
/// Maximum borders written at once: a row of empty cells is not text.
const MAX_BORDERS: usize = 40;

impl TextFlow {
    pub(super) fn page() -> Self {
        Self {
            page: true,
            ..Self::default()
        }
    }

    /// Processes the next token.
    pub(super) fn take(&mut self, piece: &HtmlToken<'_>) {
        if let Some((name, depth)) = &mut self.silent {
            match piece {
                HtmlToken::Open(tag) if tag.name() == name => *depth += 1,
                HtmlToken::Close(closed) if closed == name => {
                    *depth -= 1;
                    if *depth == 0 {
                        self.title_closed |= name == "title";
                        self.silent = None;
                    }
                }
                HtmlToken::Text(words) if name == "title" && !self.title_closed => {
                    if let Some(title) = &mut self.title {
                        title.push_str(words);
                    }
                }
                _ => {}
            }
            return;
        }
        match piece {
            HtmlToken::Open(tag) if HIDDEN.contains(&tag.name()) => {
                if tag.name() == "title" && self.title.is_none() {
                    self.title = Some(String::new());
                }
                self.silent = Some((tag.name().to_owned(), 1));
            }
            HtmlToken::Open(tag) => self.open(tag),
            HtmlToken::Close(name) => self.close(name),
            HtmlToken::Text(words) => self.words(words),
        }
    }

    /// The text, and the title when there is one.
    pub(super) fn finish(mut self) -> (String, Option<String>) {
        let finish = self.out.trim_end().len();
        self.out.truncate(finish);
        let title = self.title.map(|title| {
            let words: Vec<&str> = title.split_whitespace().collect();
            words.join(" ")
        });
        (self.out, title.filter(|title| !title.is_empty()))
    }

    fn words(&mut self, text: &str) {
        if self.preformatted > 0 {
            return self.code(text);
        }
        if text.starts_with(char::is_whitespace) {
            self.pending_space = true;
        }
        let mut any = false;
        for word in text.split_whitespace() {
            self.write_pending();
            self.out.push_str(word);
            self.pending_space = true;
            any = true;
        }
        if any && !text.ends_with(char::is_whitespace) {
            self.pending_space = false;
        }
    }

    /// Writes text whose white space is preserved.
    fn code(&mut self, text: &str) {
        let text = match self.pre_just_opened {
            true => text.strip_prefix('\n').unwrap_or(text),
            false => text,
        };
        self.pre_just_opened = false;
        if text.is_empty() {
            return;
        }
        self.write_pending();
        let margin = self.margin();
        if margin.is_empty() {
            self.out.push_str(text);
        } else {
            let margin = format!("\n{margin}");
            self.out.push_str(&text.replace('\n', &margin));
        }
    }

    /// The margin of every line here, except the first of an item.
    fn margin(&self) -> String {
        let quotes = self.quotes.min(MAX_INDENT_LEVELS);
        let lists = self.lists.len().min(MAX_INDENT_LEVELS) + usize::from(self.defining);
        if quotes + lists == 0 {
            return String::new();
        }
        "> ".repeat(quotes) + &"  ".repeat(lists)
    }

    /// Writes what is due before a word: breaks and a margin, an item marker, a cell border, or a space.
    fn write_pending(&mut self) {
        self.row = false;
        let begins = self.out.is_empty() || self.pending_breaks > 0;
        if begins {
            if self.out.is_empty() {
                self.pending_breaks = 0;
            }
            let there = self.out.len() - self.out.trim_end_matches('\n').len();
            for _ in there..self.pending_breaks {
                self.out.push('\n');
            }
            self.pending_breaks = 0;
            let mut margin = self.margin();
            if matches!(self.marker, Some(Marker::Dash | Marker::Number(_))) {
                margin.truncate(margin.len().saturating_sub(2));
            }
            self.out.push_str(&margin);
        }
        if self.marker.is_some() && !begins && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        match self.marker.take() {
            Some(Marker::Dash) => self.out.push_str("- "),
            Some(Marker::Number(number)) => self.out.push_str(&format!("{number}. ")),
            Some(Marker::Heading(level)) => {
                self.out.push_str(&"#".repeat(level));
                self.out.push(' ');
            }
            None => {}
        }
        if self.pending_borders > 0 {
            let first = if begins { "| " } else { " | " };
            self.out.push_str(first);
            self.out.push_str(&"| ".repeat(self.pending_borders - 1));
            self.pending_borders = 0;
        } else if self.pending_space && !begins && !self.out.ends_with(char::is_whitespace) {
            self.out.push(' ');
        }
        self.pending_space = false;
    }

    fn open(&mut self, tag: &OpenTag) {
        let name = tag.name();
        self.edge(name);
        match name {
            // The first word of an item or a cell has not come yet.
            "br" if self.marker.is_none() && self.pending_borders == 0 => {
                self.pending_breaks = (self.pending_breaks + 1).min(2);
            }
            "pre" | "textarea" => {
                self.preformatted += 1;
                self.pre_just_opened = true;
            }
            "ul" | "menu" => self.lists.push(HtmlList {
                next: None,
                has_items: false,
            }),
            "ol" => {
                let start = tag
                    .attribute("start")
                    .and_then(|text| text.trim().parse().ok());
                self.lists.push(HtmlList {
                    next: Some(start.unwrap_or(1)),
                    has_items: false,
                });
            }
            "li" => self.item(tag),
            "dt" => self.defining = false,
            "dd" => self.defining = true,
            "blockquote" => self.quotes += 1,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if self.page => {
                let level = name.strip_prefix('h').and_then(|text| text.parse().ok());
                // A heading inside an item or a cell keeps the marker of that item or cell.
                if self.marker.is_none() && self.pending_borders == 0 {
                    self.marker = level.map(Marker::Heading);
                }
            }
            "table" => self.rows.push(0),
            "tr" => {
                self.pending_borders = 0;
                if let Some(cells) = self.rows.last_mut() {
                    *cells = 0;
                    self.row = true;
                }
            }
            "td" | "th" => self.cell(),
            "img" | "area" if self.page => {
                let words = tag.attribute("alt").unwrap_or_default();
                if words.chars().any(char::is_alphanumeric) {
                    self.words(words);
                    self.pending_space = true;
                }
            }
            _ => {}
        }
    }

    fn item(&mut self, tag: &OpenTag) {
        self.marker = Some(Marker::Dash);
        let Some(list) = self.lists.last_mut() else {
            return;
        };
        // Items are not separated by empty lines, whatever blocks they contain.
        if list.has_items {
            self.pending_breaks = 1;
        }
        list.has_items = true;
        if let Some(next) = &mut list.next {
            let value = tag
                .attribute("value")
                .and_then(|text| text.trim().parse().ok());
            let number = value.unwrap_or(*next);
            *next = number.saturating_add(1);
            self.marker = Some(Marker::Number(number));
        }
    }

    fn cell(&mut self) {
        let Some(cells) = self.rows.last_mut() else {
            self.pending_space = true;
            return;
        };
        *cells += 1;
        // This cell takes the place of a pending heading or item marker.
        self.marker = None;
        if *cells > 1 {
            if !self.row {
                self.pending_breaks = 0;
            }
            self.pending_borders = (self.pending_borders + 1).min(MAX_BORDERS);
        }
    }

    fn close(&mut self, name: &str) {
        match name {
            "pre" | "textarea" => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.pre_just_opened = false;
            }
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.marker = None;
            }
            "li" => self.marker = None,
            "dd" | "dl" => self.defining = false,
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                if matches!(self.marker, Some(Marker::Heading(_))) {
                    self.marker = None;
                }
            }
            "tr" => (self.pending_borders, self.row) = (0, false),
            "table" => {
                self.rows.pop();
                (self.pending_borders, self.row) = (0, false);
            }
            _ => {}
        }
        self.edge(name);
    }

    /// Breaks the line as the element requires, but not before the first word of an item or a cell.
    fn edge(&mut self, name: &str) {
        let wanted = match edge(name) {
            BlockEdge::Inline => return,
            BlockEdge::Line => 1,
            BlockEdge::Part if matches!(name, "ul" | "ol") && !self.lists.is_empty() => 1,
            BlockEdge::Part => 2,
        };
        let has_items = self.marker.is_none() && self.pending_borders == 0 && !self.row;
        if has_items || name == "tr" {
            self.pending_breaks = self.pending_breaks.max(wanted);
        }
    }
}
