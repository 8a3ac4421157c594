//! The rows of a Markdown block: the events of pulldown-cmark, written with bullets, hanging indents and styles.

use super::block::displayed_number;
use super::highlight::HighlightState;
use super::table::Table;
use super::{code, lines};
use crate::ui::text::theme::Theme;
use crate::ui::text::wrap::{HangingIndent, prose, set_continued, text, words};
use crate::ui::text::{cell_mark, web_address, width};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use std::ops::Range;

/// Bullets by depth.
const BULLETS: [&str; 3] = ["• ", "◦ ", "▪ "];

pub(super) fn rule(width: usize, theme: &Theme) -> Line<'static> {
    Line::from(Span::styled("─".repeat(width), theme.dim))
}

/// Whether all of a block is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    Whole,
    /// Its last word may go on.
    Arriving,
}

pub(super) struct BlockLayout<'t> {
    theme: &'t Theme,
    width: usize,
    out: Vec<Line<'static>>,
    /// Inline text collected until the end of its paragraph.
    inline: Vec<Span<'static>>,
    /// Active styles, innermost last.
    styles: Vec<Style>,
    /// Prefixes of the rows, outermost first.
    frames: Vec<LayoutFrame>,
    /// The enclosing lists, outermost first: the number written last, and the number in the source.
    lists: Vec<Option<(u64, u64)>>,
    /// The enclosing links: address, title, start of their text.
    links: Vec<(String, String, usize)>,
    /// The code being collected, and the info string of its fence.
    code: Option<(String, String)>,
    table: Option<Table>,
    /// Where the last cell of the table ended in the source.
    cell: usize,
    /// The number of the item before this block.
    after: Option<(u64, u64)>,
    continued: bool,
    completeness: Completeness,
}

enum LayoutFrame {
    Blanks(usize),
    Quote,
    Item {
        mark: String,
        /// The marker has not been written yet.
        marker_pending: bool,
    },
}

impl LayoutFrame {
    fn has_pending_marker(&self) -> bool {
        matches!(self, Self::Item { marker_pending, .. } if *marker_pending)
    }
}

impl<'t> BlockLayout<'t> {
    pub(super) fn new(width: usize, theme: &'t Theme) -> Self {
        Self {
            theme,
            width,
            out: Vec::new(),
            inline: Vec::new(),
            styles: vec![theme.text],
            frames: Vec::new(),
            lists: Vec::new(),
            links: Vec::new(),
            code: None,
            table: None,
            cell: 0,
            after: None,
            continued: false,
            completeness: Completeness::Whole,
        }
    }

    /// Indents everything by some columns.
    pub(super) fn indented(mut self, columns: usize) -> Self {
        if columns > 0 {
            self.frames.push(LayoutFrame::Blanks(columns));
        }
        self
    }

    /// Continues a list after an item with this number.
    pub(super) fn numbered_after(mut self, after: Option<(u64, u64)>) -> Self {
        self.after = after;
        self
    }

    pub(super) fn completeness(mut self, completeness: Completeness) -> Self {
        self.completeness = completeness;
        self
    }

    /// Marks the block as the continuation of a table whose head is in an earlier block.
    pub(super) fn continued_table(mut self) -> Self {
        self.continued = true;
        self
    }

    /// Lays out this source.
    pub(super) fn run(mut self, source: &str) -> Vec<Line<'static>> {
        let options =
            Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        let Some(source) = without_definitions(source, options) else {
            return text(source, self.theme.text, self.width, 0);
        };
        for (event, range) in Parser::new_ext(&source, options).into_offset_iter() {
            self.event(event, range, &source);
        }
        self.flush();
        self.out
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>, source: &str) {
        match event {
            Event::Start(tag) => self.start(tag, range, source),
            Event::End(tag) => self.end(tag, range, source),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, self.style().patch(self.theme.code));
            }
            Event::InlineHtml(tag) if self.table.is_some() && is_break(&tag) => {
                self.text("\n", self.style());
            }
            Event::Html(text) | Event::InlineHtml(text) | Event::FootnoteReference(text) => {
                self.text(&text, self.style());
            }
            Event::SoftBreak | Event::HardBreak => self.text("\n", self.style()),
            Event::Rule => {
                self.blank_row(range.start, source);
                let (columns, hang) = self.hang();
                self.push_rows(vec![rule(columns, self.theme)], &hang);
            }
            Event::TaskListMarker(done) => {
                let mark = if done { "[x] " } else { "[ ] " };
                self.text(mark, self.theme.marker);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>, source: &str) {
        let style = self.style();
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.blank_row(range.start, source),
            Tag::Heading { level, .. } => {
                self.blank_row(range.start, source);
                let style = style.patch(self.theme.heading);
                self.styles.push(match level {
                    HeadingLevel::H1 => style.add_modifier(Modifier::UNDERLINED),
                    _ => style,
                });
            }
            Tag::BlockQuote(_) => {
                self.blank_row(range.start, source);
                self.frames.push(LayoutFrame::Quote);
                self.styles.push(style.patch(self.theme.quote));
            }
            Tag::CodeBlock(kind) => {
                self.blank_row(range.start, source);
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((info, String::new()));
            }
            Tag::List(_) => {
                self.flush();
                let before = self.after.take().filter(|_| self.lists.is_empty());
                self.lists.push(before);
            }
            Tag::Item => {
                self.blank_row(range.start, source);
                let mark = self.mark(source.get(range).unwrap_or_default());
                self.frames.push(LayoutFrame::Item {
                    mark,
                    marker_pending: true,
                });
            }
            Tag::Table(alignments) => {
                self.blank_row(range.start, source);
                self.table = Some(Table {
                    alignments,
                    rows: Vec::new(),
                    continued: self.continued,
                });
            }
            Tag::TableHead | Tag::TableRow => {
                self.cell = range.start;
                if matches!(tag, Tag::TableHead) {
                    self.styles.push(style.add_modifier(Modifier::BOLD));
                }
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.styles.push(style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(style.add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link {
                dest_url, title, ..
            }
            | Tag::Image {
                dest_url, title, ..
            } => {
                let style = style.patch(self.theme.link);
                self.styles.push(cell_mark::linked(style, &dest_url));
                let link = (dest_url.to_string(), title.to_string(), self.inline.len());
                self.links.push(link);
            }
            Tag::TableCell => {}
            // These extensions are not enabled, so they never occur.
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>, source: &str) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::Heading(_) => {
                self.flush();
                self.styles.pop();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.frames.pop();
                self.styles.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
            }
            TagEnd::Item => {
                if self
                    .frames
                    .last()
                    .is_some_and(LayoutFrame::has_pending_marker)
                {
                    self.text("", self.theme.text);
                }
                self.flush();
                self.frames.pop();
            }
            TagEnd::TableCell => {
                self.cell = range.end;
                let cell = with_bare_links(std::mem::take(&mut self.inline), self.completeness);
                if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut()) {
                    row.push(cell);
                }
            }
            TagEnd::TableHead => {
                self.styles.pop();
            }
            TagEnd::TableRow => {
                self.extra_cells(source.get(self.cell..range.end).unwrap_or_default());
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let (columns, hang) = self.hang();
                    self.push_rows(table.lay_out(columns, self.theme), &hang);
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                self.end_link();
            }
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or(self.theme.text)
    }

    fn text(&mut self, text: &str, style: Style) {
        self.inline.push(Span::styled(text.to_owned(), style));
    }

    /// The address after the link text, unless the text is the address.
    fn end_link(&mut self) {
        let Some((address, title, from)) = self.links.pop() else {
            return;
        };
        let spans = self.inline.get(from..).unwrap_or_default();
        let words: String = spans.iter().map(|span| span.content.as_ref()).collect();
        let note = |address: &str| {
            let bare = address.strip_prefix("mailto:").unwrap_or(address);
            let bare = bare.split_once("://").map_or(bare, |(_, rest)| rest);
            let words = words
                .split_once("://")
                .map_or(words.as_str(), |(_, rest)| rest);
            words.trim_end_matches('/') == bare.trim_end_matches('/')
        };
        let mut behind = if note(&address) {
            String::new()
        } else {
            address.clone()
        };
        if !title.is_empty() {
            behind = format!("{behind} \"{title}\"");
        }
        let behind = behind.trim();
        if !behind.is_empty() {
            let space = if words.is_empty() { "" } else { " " };
            let style = self.style().patch(self.theme.dim);
            self.text(&format!("{space}("), style);
            self.text(behind, cell_mark::linked(style, &address));
            self.text(")", style);
        }
    }

    /// Cells beyond the columns of the head: CommonMark drops them; they are shown here.
    fn extra_cells(&mut self, rest: &str) {
        let rest = rest.trim().trim_matches('|').trim();
        let style = self.style();
        if let Some(row) = self.table.as_mut().and_then(|table| table.rows.last_mut())
            && !rest.is_empty()
            && let Some(cell) = row.last_mut()
        {
            cell.push(Span::styled(format!(" | {rest}"), style));
        }
    }

    fn end_code(&mut self) {
        let Some((info, code)) = self.code.take() else {
            return;
        };
        let (columns, hang) = self.hang();
        let none = HangingIndent::default();
        let mut rows = vec![code::opening(&info, columns, &none, self.theme)];
        let state = HighlightState::default();
        rows.extend(code::rows(
            code.lines(),
            (&info, state),
            columns,
            &none,
            self.theme,
        ));
        rows.push(code::closing(columns, &none, self.theme));
        self.push_rows(rows, &hang);
    }

    /// The marker of an item: a bullet by depth, or its number as written, incremented when the source repeats a number.
    fn mark(&mut self, item: &str) -> String {
        let depth = self.lists.len().saturating_sub(1);
        let digits = item.bytes().take_while(u8::is_ascii_digit).count();
        let written = item.get(..digits).and_then(|number| number.parse().ok());
        let (Some(written), Some(list)) = (written, self.lists.last_mut()) else {
            let bullet = BULLETS.get(depth % BULLETS.len());
            return (*bullet.unwrap_or(&"- ")).to_owned();
        };
        let number = displayed_number(*list, written);
        *list = Some((written, number));
        let sign = item.get(digits..digits + 1).unwrap_or(".");
        format!("{number}{sign} ")
    }

    /// Adds an empty row if the source has a blank line before this position.
    fn blank_row(&mut self, offset: usize, source: &str) {
        self.flush();
        let marker_pending = self
            .frames
            .last()
            .is_some_and(LayoutFrame::has_pending_marker);
        if marker_pending || self.out.is_empty() || !blank_before(source, offset) {
            return;
        }
        let (_, hang) = self.hang();
        self.out.extend(words(&[], self.width, &hang));
    }

    /// Turns the collected inline text into rows.
    fn flush(&mut self) {
        if self.inline.is_empty() || self.table.is_some() {
            return;
        }
        let mut spans = std::mem::take(&mut self.inline);
        if let Some(last) = spans.last_mut()
            && last.content.ends_with('\n')
        {
            last.content = last.content.trim_end_matches('\n').to_owned().into();
        }
        let spans = with_bare_links(spans, self.completeness);
        let (_, hang) = self.hang();
        self.mark_written();
        self.out.extend(prose(&spans, self.width, &hang));
    }

    /// Adds rows that are already laid out.
    fn push_rows(&mut self, rows: Vec<Line<'static>>, hang: &HangingIndent) {
        self.mark_written();
        for (number, mut row) in rows.into_iter().enumerate() {
            if !hang.rest.is_empty() {
                set_continued(&mut row, false);
            }
            let before = if number == 0 { &hang.first } else { &hang.rest };
            let blank =
                row.spans.is_empty() && before.iter().all(|span| span.content.trim().is_empty());
            let spans = before.iter().cloned().chain(row.spans);
            self.out.push(if blank {
                Line::default()
            } else {
                Line::from(spans.collect::<Vec<_>>())
            });
        }
    }

    /// Marks the pending item markers as written.
    fn mark_written(&mut self) {
        for frame in &mut self.frames {
            if let LayoutFrame::Item { marker_pending, .. } = frame {
                *marker_pending = false;
            }
        }
    }

    /// The prefix of the next rows, and the columns that remain. If those were less than a third of the width, indentation is dropped; markers that would be
    /// lost with it get a row of their own.
    fn hang(&mut self) -> (usize, HangingIndent) {
        let mut hang = HangingIndent::default();
        for frame in &self.frames {
            let (first, rest) = match frame {
                LayoutFrame::Blanks(columns) => (Span::raw(" ".repeat(*columns)), None),
                LayoutFrame::Quote => (Span::styled("> ", self.theme.dim), None),
                LayoutFrame::Item {
                    mark,
                    marker_pending,
                } => {
                    let blanks = Span::raw(" ".repeat(width::of(mark)));
                    match marker_pending {
                        true => (Span::styled(mark.clone(), self.theme.marker), Some(blanks)),
                        false => (blanks, None),
                    }
                }
            };
            hang.rest.push(rest.unwrap_or_else(|| first.clone()));
            hang.first.push(first);
        }
        let taken = width::of_spans(&hang.first);
        let left = self.width.saturating_sub(taken);
        if taken == 0 || (left >= 2 && left >= self.width / 3) {
            return (left, hang);
        }
        if self.frames.iter().any(LayoutFrame::has_pending_marker) {
            hang.first.retain(|span| !span.content.trim().is_empty());
            let marks = words(&hang.first, self.width, &HangingIndent::default());
            self.out.extend(marks);
            self.mark_written();
        }
        (self.width, HangingIndent::default())
    }
}

/// The source with every link definition escaped to text: they would be invisible otherwise, and references to them are shown as written anyway.
/// `None` when that does not converge.
fn without_definitions(source: &str, options: Options) -> Option<String> {
    let mut source = source.to_owned();
    for _ in 0..8 {
        if !source.contains("]:") {
            return Some(source);
        }
        let parser = Parser::new_ext(&source, options);
        let definitions = parser.reference_definitions().iter();
        let mut places: Vec<usize> = definitions
            .map(|(_, definition)| definition.span.start)
            .collect();
        if places.is_empty() {
            return Some(source);
        }
        places.sort_unstable();
        for push_rows in places.into_iter().rev() {
            let bracket = source.get(push_rows..).and_then(|rest| rest.find('['));
            source.insert(push_rows + bracket.unwrap_or_default(), '\\');
        }
    }
    None
}

/// The spans with links where an address is written out. One that may go on is no link yet: every length of it would be an address of its own.
fn with_bare_links(spans: Vec<Span<'static>>, completeness: Completeness) -> Vec<Span<'static>> {
    let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
    let mut addresses = web_address::all(&text);
    let may_go_on = |address: &mut Range<usize>| {
        let behind = text.get(address.end..).unwrap_or_default();
        !behind.contains(char::is_whitespace)
    };
    if completeness == Completeness::Arriving {
        addresses.pop_if(may_go_on);
    }
    if addresses.is_empty() {
        return spans;
    }
    let mut out = Vec::with_capacity(spans.len() + 2 * addresses.len());
    let mut at = 0;
    for span in spans {
        let end = at + span.content.len();
        if cell_mark::is_linked(span.style) {
            out.push(span);
            at = end;
            continue;
        }
        // Where this span is cut, and the address of each piece.
        let mut from = at;
        for address in &addresses {
            let (start, stop) = (address.start.max(from), address.end.min(end));
            let (Some(before), Some(inside)) = (text.get(from..start), text.get(start..stop))
            else {
                continue;
            };
            out.push(Span::styled(before.to_owned(), span.style));
            let whole = text.get(address.clone()).unwrap_or_default();
            let style = cell_mark::linked(span.style, whole);
            out.push(Span::styled(inside.to_owned(), style));
            from = stop;
        }
        out.push(Span::styled(
            text.get(from..end).unwrap_or_default().to_owned(),
            span.style,
        ));
        at = end;
    }
    out.retain(|span| !span.content.is_empty());
    out
}

fn is_break(tag: &str) -> bool {
    let name = tag.trim_matches(['<', '>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

/// Whether the line before the one at this position is blank, apart from quote markers.
fn blank_before(source: &str, offset: usize) -> bool {
    let before = source.get(..offset).unwrap_or_default();
    let Some(end) = before.rfind('\n') else {
        return false;
    };
    let above = before.get(..end).unwrap_or_default();
    let line = above.rsplit('\n').next().unwrap_or_default();
    lines::is_blank(line.trim_start_matches([' ', '>']))
}
