//! One tolerant pass over a feed's XML: damage between elements is skipped.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::field::{BestField, FeedField, TextType, words};
use super::scope::{Namespace, Scopes};
use super::{Feed, FeedEntry, date};
use crate::base::text::escape_controls;
use crate::formats::address::Address;
use crate::formats::html;

/// The note for a document that ends before its root element does.
pub(super) const CUT_NOTE: &str = "The feed is cut off; only the part before the cut is shown.";
/// The note for a document that is not well-formed XML.
pub(super) const DAMAGED_NOTE: &str =
    "The feed is damaged (not well-formed XML); the readable part is shown.";
/// How many open elements are searched for the start of an end tag.
const MAX_SEARCHED_ELEMENTS: usize = 64;
/// Depth to which namespace declarations are read; entries are never deeper.
const MAX_DECLARATION_DEPTH: usize = 12;
/// How often parsing restarts after unterminated markup: each restart may have scanned the whole rest.
const MAX_RESTARTS: usize = 50;
const MAX_TEXT_BYTES: usize = 256 * 1024;

pub(super) enum DocumentKind {
    Feed(Feed),
    /// Something with this root element; empty when it has none.
    Other(String),
}

/// A link as written, and the `xml:base` that applied to it.
type FeedLink = (String, Option<Address>);

/// An entry, or the feed itself, while it is being read.
#[derive(Debug, Default)]
struct FeedDraft {
    title: BestField<String>,
    date: BestField<String>,
    summary: BestField<String>,
    link: BestField<FeedLink>,
}

/// An element whose text is being read.
struct TextCapture<'a> {
    field: FeedField,
    depth: usize,
    style: TextType,
    text: String,
    /// The text after its start tag.
    inner: &'a str,
    from: usize,
    nested: bool,
    /// `isPermaLink` of a guid.
    permanent: Option<bool>,
    base: Option<Address>,
}

struct FeedWalk<'a> {
    text: &'a str,
    address: &'a Address,
    max_entries: usize,
    scopes: Scopes,
    /// Names of the open elements.
    open: Vec<&'a str>,
    atom: Option<bool>,
    feed: FeedDraft,
    entry: Option<(usize, FeedDraft)>,
    entries: Vec<(FeedDraft, usize)>,
    count: usize,
    capture: Option<TextCapture<'a>>,
    damaged: bool,
    root_closed: bool,
    root: String,
    restarts: usize,
}

pub(super) fn walk(text: &str, address: &Address, max_entries: usize) -> DocumentKind {
    let mut walk = FeedWalk {
        text,
        address,
        max_entries,
        scopes: Scopes::default(),
        open: Vec::new(),
        atom: None,
        feed: FeedDraft::default(),
        entry: None,
        entries: Vec::new(),
        count: 0,
        capture: None,
        damaged: false,
        root_closed: false,
        root: String::new(),
        restarts: 0,
    };
    let mut from = 0;
    while let Some(next) = walk.run(from) {
        from = next;
    }
    walk.finish()
}

impl<'a> FeedWalk<'a> {
    /// Parses from offset `from`; returns the offset at which the parser must restart.
    fn run(&mut self, from: usize) -> Option<usize> {
        let text = self.text.get(from..)?;
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        loop {
            let before = usize::try_from(reader.buffer_position()).ok()?;
            let rest = text.get(before..)?;
            if is_bare(rest) {
                self.damaged = true;
                self.words("<");
                return Some(from + before + 1);
            }
            let event = reader.read_event();
            let after = from + usize::try_from(reader.buffer_position()).ok()?;
            match event {
                Ok(Event::Eof) => return None,
                Ok(Event::Start(tag)) => self.start(&tag, from + before, after),
                Ok(Event::Empty(tag)) => {
                    self.start(&tag, from + before, after);
                    self.end(tag.name().0, after);
                }
                Ok(Event::End(tag)) => self.end(tag.name().0, from + before),
                Ok(Event::Text(part)) => {
                    self.damaged |= self.capture.is_some() && part.contains('&');
                    self.words(&part);
                }
                Ok(Event::CData(part)) => self.words(&part),
                Ok(Event::GeneralRef(name)) => self.words(&reference(&name)),
                Ok(_) => {}
                Err(_) => {
                    self.damaged = true;
                    return self.next_entry(from + before + 1);
                }
            }
            if self.root_closed || (self.atom.is_none() && !self.root.is_empty()) {
                return None;
            }
        }
    }

    /// Abandons the open elements of an entry and looks for the next entry.
    fn next_entry(&mut self, from: usize) -> Option<usize> {
        self.capture = None;
        self.restarts += 1;
        let rest = self
            .text
            .get(from..)
            .filter(|_| self.restarts <= MAX_RESTARTS)?;
        let name = if self.atom? { "entry" } else { "item" };
        let found = rest.match_indices(name).find_map(|(at, _)| {
            let before = rest.get(..at)?;
            let open = before.rfind('<')?;
            let prefix = before.get(open + 1..)?;
            let is_prefix = prefix.is_empty()
                || prefix.len() < 20
                    && prefix
                        .strip_suffix(':')
                        .is_some_and(|p| p.bytes().all(|b| b.is_ascii_alphanumeric()));
            let next = rest.get(at + name.len()..)?.chars().next()?;
            (is_prefix && (next == '>' || next.is_whitespace())).then_some(open)
        });
        // Without a next entry, `finish` handles the rest.
        let found = found?;
        self.close_entry();
        Some(from + found)
    }

    fn words(&mut self, text: &str) {
        if let Some(capture) = self
            .capture
            .as_mut()
            .filter(|own| own.text.len() < MAX_TEXT_BYTES)
        {
            capture.text.push_str(text);
        }
    }

    fn start(&mut self, tag: &BytesStart<'_>, before: usize, after: usize) {
        let length = tag.name().0.len();
        let name = self.text.get(before + 1..before + 1 + length);
        let name = name.unwrap_or_default();
        if let Some(capture) = &mut self.capture {
            capture.nested = true;
            self.open.push(name);
            return;
        }
        let depth = self.open.len() + 1;
        if depth <= MAX_DECLARATION_DEPTH {
            self.declarations(tag, depth);
        }
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let space = self.space(prefix);
        if self.atom.is_none() {
            match local.to_ascii_lowercase().as_str() {
                "feed" => self.atom = Some(true),
                "rss" | "rdf" | "channel" => self.atom = Some(false),
                _ => name.clone_into(&mut self.root),
            }
            self.open.push(name);
            return;
        }
        let is_entry = space == Namespace::Core
            && local.eq_ignore_ascii_case(if self.atom == Some(true) {
                "entry"
            } else {
                "item"
            });
        if is_entry {
            // Entries do not nest: the end tag of the first is missing.
            if let Some((depth, _)) = self.entry {
                self.damaged = true;
                self.open.truncate(depth.saturating_sub(1));
                self.close_entry();
            }
            self.open.push(name);
            self.count += 1;
            let mut draft = FeedDraft::default();
            let about = attribute(tag, "about").filter(|text| is_web(text));
            if let Some(about) = about {
                draft.link.offer(3, (about, None));
            }
            self.entry = Some((self.open.len(), draft));
            return;
        }
        self.open.push(name);
        if let Some(field) = self.field(space, local) {
            self.begin(tag, field, space, after);
        }
    }

    /// What an element holds, in its context.
    fn field(&self, space: Namespace, local: &str) -> Option<FeedField> {
        let depth = self.open.len();
        let field = FeedField::of(space, local);
        match &self.entry {
            // After the last wanted entry, entries are only counted.
            Some(_) if self.count > self.max_entries => None,
            Some((entry, _)) if depth == entry + 1 => field,
            // media:group/media:description is the only text of some feeds.
            Some(_) => {
                field.filter(|_| space == Namespace::Media && depth <= MAX_DECLARATION_DEPTH)
            }
            None => {
                let parent = depth.checked_sub(2).and_then(|at| self.open.get(at))?;
                let parent = parent.rsplit(':').next().unwrap_or_default();
                let own = match self.atom? {
                    true => depth == 2,
                    false => parent.eq_ignore_ascii_case("channel"),
                };
                field.filter(|field| own && matches!(field, FeedField::Title(_) | FeedField::Link))
            }
        }
    }

    fn begin(&mut self, tag: &BytesStart<'_>, field: FeedField, space: Namespace, after: usize) {
        let atom = self.atom == Some(true) || space == Namespace::Atom;
        let kind = attribute(tag, "type").unwrap_or_default();
        let base = self.scopes.base().cloned();
        let mut link = |rank: u8, text: Option<String>| {
            let text = text.filter(|text| !text.trim().is_empty());
            let draft = match &mut self.entry {
                Some((_, draft)) => draft,
                None => &mut self.feed,
            };
            if let Some(text) = text {
                draft.link.offer(rank, (text, base.clone()));
            }
        };
        match field {
            FeedField::Link => {
                let rel = attribute(tag, "rel").unwrap_or_default();
                let rank = match rel.rsplit('/').next().unwrap_or_default().trim() {
                    "" | "alternate" if space == Namespace::Atom => Some(2),
                    "" | "alternate" => Some(0),
                    "related" | "via" => Some(5),
                    _ => None,
                };
                if let Some(rank) = rank {
                    link(rank, attribute(tag, "href"));
                }
            }
            FeedField::Enclosure => link(6, attribute(tag, "url")),
            FeedField::Content(_) => link(5, attribute(tag, "src")),
            _ => {}
        }
        let style = if atom {
            TextType::of(&kind)
        } else {
            TextType::Escaped
        };
        let permanent = attribute(tag, "ispermalink")
            .or(attribute(tag, "isPermaLink"))
            .map(|text| text.trim().eq_ignore_ascii_case("true"));
        self.capture = Some(TextCapture {
            field,
            depth: self.open.len(),
            style: match attribute(tag, "mode").as_deref() {
                Some("base64") => TextType::Data,
                Some("escaped") => TextType::Escaped,
                _ => style,
            },
            text: String::new(),
            inner: self.text.get(after..).unwrap_or_default(),
            from: after,
            nested: false,
            permanent,
            base,
        });
    }

    fn end(&mut self, name: &str, before: usize) {
        let depth = match self.open.last() {
            Some(own) if *own == name => self.open.len(),
            _ => {
                // Elements without an end tag are closed with the surrounding one; an end tag without a start is ignored.
                self.damaged |= self.capture.is_none();
                let near = self.open.len().saturating_sub(MAX_SEARCHED_ELEMENTS);
                let found = self.open.iter().skip(near).rposition(|own| *own == name);
                let entry = self.entry.as_ref().map(|(depth, _)| *depth);
                let closes = entry.filter(|depth| self.open.get(depth - 1) == Some(&name));
                match found.map(|at| near + at + 1).or(closes) {
                    Some(depth) => depth,
                    None => return,
                }
            }
        };
        if self.capture.as_ref().is_some_and(|own| depth <= own.depth) {
            self.damaged |= self.capture.as_ref().is_some_and(|own| depth < own.depth);
            self.complete(before);
        }
        if self
            .entry
            .as_ref()
            .is_some_and(|(entry, _)| depth <= *entry)
        {
            self.close_entry();
        }
        self.open.truncate(depth.saturating_sub(1));
        self.scopes.leave(self.open.len());
        self.root_closed = self.open.is_empty();
    }

    /// Stores the captured text when its element is closed.
    fn complete(&mut self, before: usize) {
        let Some(capture) = self.capture.take() else {
            return;
        };
        let length = before.saturating_sub(capture.from);
        let raw = capture.inner.get(..length).unwrap_or_default();
        let marked = capture.nested && !raw.contains("<![CDATA[");
        let read = |style| match marked {
            true => words(raw, TextType::Escaped),
            false => words(&capture.text, style),
        };
        let draft = match &mut self.entry {
            Some((_, draft)) => draft,
            None => &mut self.feed,
        };
        let offer = |best: &mut BestField<String>, rank, text: String| {
            if !text.is_empty() {
                best.offer(rank, text);
            }
        };
        match capture.field {
            FeedField::Title(rank) => offer(&mut draft.title, rank, read(capture.style)),
            FeedField::Summary(rank) | FeedField::Content(rank) => {
                offer(&mut draft.summary, rank, read(capture.style));
            }
            FeedField::Date(rank) => {
                offer(&mut draft.date, rank, date::shown(&read(TextType::Plain)));
            }
            FeedField::Link | FeedField::Guid | FeedField::Id => {
                let text = capture.text.trim().to_owned();
                let rank = match (capture.field, capture.permanent) {
                    (FeedField::Link, _) => Some(0),
                    (FeedField::Guid, Some(true)) => Some(1),
                    (FeedField::Guid, Some(false)) => None,
                    _ => is_web(&text).then_some(4),
                };
                if let Some(rank) = rank.filter(|_| !text.is_empty()) {
                    draft.link.offer(rank, (text, capture.base));
                }
            }
            FeedField::Enclosure => {}
        }
    }

    fn close_entry(&mut self) {
        self.capture = None;
        if let Some((_, draft)) = self.entry.take().filter(|_| self.count <= self.max_entries) {
            self.entries.push((draft, self.count));
        }
    }

    fn space(&self, prefix: &str) -> Namespace {
        match self.scopes.space(prefix) {
            Namespace::Atom if self.atom == Some(true) => Namespace::Core,
            space => space,
        }
    }

    fn declarations(&mut self, tag: &BytesStart<'_>, depth: usize) {
        for attribute in tag.html_attributes().with_checks(false).flatten() {
            let key = attribute.key.0;
            if key == "xmlns" {
                self.scopes
                    .declare(depth, "", &html::entities(&attribute.value));
            } else if let Some(prefix) = key.strip_prefix("xmlns:") {
                self.scopes
                    .declare(depth, prefix, &html::entities(&attribute.value));
            } else if key == "xml:base" {
                let base = html::entities(&attribute.value);
                self.scopes.rebase(depth, &base, self.address);
            }
        }
    }

    fn finish(mut self) -> DocumentKind {
        if self.atom.is_none() {
            return DocumentKind::Other(self.root);
        }
        let cut = !self.root_closed;
        // The last entry of a truncated document counts if it already has a title.
        match self.entry.take() {
            Some((_, draft)) if draft.title.is_none() => self.count -= 1,
            entry => {
                self.entry = entry;
                self.close_entry();
            }
        }
        let link = self.feed.link.take();
        let own = link
            .as_ref()
            .and_then(|link| absolute(link, None, self.address));
        let base = own.as_ref().and_then(|link| Address::parse(link).ok());
        let entries = self.entries.into_iter().map(|(mut draft, _)| FeedEntry {
            title: draft.title.take().unwrap_or_default(),
            date: draft.date.take().unwrap_or_default(),
            summary: draft.summary.take().unwrap_or_default(),
            link: draft
                .link
                .take()
                .and_then(|link| absolute(&link, base.as_ref(), self.address)),
        });
        DocumentKind::Feed(Feed {
            title: self.feed.title.take().unwrap_or_default(),
            link: own,
            entries: entries.collect(),
            count: self.count,
            note: match (cut, self.damaged) {
                (true, _) => Some(CUT_NOTE),
                (false, true) => Some(DAMAGED_NOTE),
                (false, false) => None,
            },
        })
    }
}

/// Schemes a feed must not link to.
const UNUSABLE_SCHEMES: [&str; 4] = ["javascript", "vbscript", "data", "file"];

/// A link as an absolute address, resolved against `xml:base`, else the feed's home page, else the document.
fn absolute((text, base): &FeedLink, page: Option<&Address>, document: &Address) -> Option<String> {
    let text = escape_controls(&text.split_whitespace().collect::<Vec<_>>().join("%20"));
    let scheme = text.split([':', '/', '?', '#']).next().unwrap_or_default();
    let after = text.get(scheme.len()..).unwrap_or_default();
    let letters = |b: u8| b.is_ascii_alphanumeric() || b"+-.".contains(&b);
    if after.starts_with(':') && scheme.bytes().all(letters) {
        let strange = UNUSABLE_SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
        return (!strange).then_some(text);
    }
    let base = base.as_ref().or(page).unwrap_or(document);
    let fragment = text.find('#').and_then(|at| text.get(at..));
    Some(match base.join(&text) {
        Ok(address) => format!("{address}{}", fragment.unwrap_or_default()),
        Err(_) => text,
    })
}

fn is_web(text: &str) -> bool {
    let lower = text.get(..8).unwrap_or(text).to_ascii_lowercase();
    lower.starts_with("http://") || lower.starts_with("https://")
}

/// True when a text begins with a `<` that is not markup.
fn is_bare(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('<')
        && !chars
            .next()
            .is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | ':' | '/' | '!' | '?'))
}

/// The replacement of a reference. Entities defined by the document are never expanded, which makes XML bombs harmless.
fn reference(name: &str) -> String {
    match name {
        "amp" => "&".to_owned(),
        "lt" => "<".to_owned(),
        "gt" => ">".to_owned(),
        "quot" => "\"".to_owned(),
        "apos" => "'".to_owned(),
        name => decimal(name).map_or_else(|| html::entities(&format!("&{name};")), String::from),
    }
}

/// The character with this code point, unless HTML remaps it.
fn decimal(name: &str) -> Option<char> {
    let number: u32 = name.strip_prefix('#')?.parse().ok()?;
    char::from_u32(number).filter(|_| number >= 0xa0)
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag
        .html_attributes()
        .with_checks(false)
        .flatten()
        .find(|own| own.key.local_name().into_inner() == name)?;
    Some(html::entities(&found.value))
}
