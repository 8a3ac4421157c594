//! RSS (<https://www.rssboard.org/rss-specification>) and Atom (RFC 4287) as found in practice: bytes, a content type and an address become titles,
//! dates, summaries and links.
//!
//! `walk` reads the elements, `scope` their namespaces and bases, `field` their texts, `date` their dates, `page` the feeds that a web page names.

mod date;
mod field;
mod page;
mod scope;
mod walk;

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE};

use super::address::Address;
use super::charset;
pub(crate) use page::NamedFeed;

/// How far into the document the XML declaration is searched for: broken servers print warnings before it.
const MAX_JUNK_BYTES: usize = 64 * 1024;

/// A feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feed {
    /// Its title on one line; empty when it has none.
    pub title: String,
    /// The page it belongs to.
    pub link: Option<String>,
    /// Its first entries, in document order.
    pub entries: Vec<FeedEntry>,
    /// How many entries it has.
    pub count: usize,
    /// What was wrong with the document, as a sentence.
    pub note: Option<&'static str>,
}

/// An entry of a feed. Each text is on one line, without tags and control characters, and empty when missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedEntry {
    pub title: String,
    /// When it appeared: `2026-05-01 12:30 +02:00`, or as written if that is not a date.
    pub date: String,
    pub summary: String,
    /// Its address, absolute if possible.
    pub link: Option<String>,
}

/// Why a document is not a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoFeed {
    /// It is a web page, which names these feeds.
    Page(Vec<NamedFeed>),
    /// It is XML with this root element.
    Other(String),
    /// A feed that is malformed before its first entry.
    Broken,
    /// It is something else.
    Unreadable,
}

/// Reads a feed fetched from `address`, and at most `max_entries` of its entries.
pub fn read(
    bytes: &[u8],
    content_type: &str,
    address: &Address,
    max_entries: usize,
) -> Result<Feed, NoFeed> {
    let text = decoded(bytes, content_type);
    let (text, has_controls) = without_controls(&text);
    let start = text.find("<?xml").unwrap_or_default();
    let mut found = walk::walk(text.get(start..).unwrap_or(&text), address, max_entries);
    if let (walk::DocumentKind::Other(_), Some(start)) = (&found, root(&text)) {
        found = walk::walk(text.get(start..).unwrap_or_default(), address, max_entries);
    }
    match found {
        walk::DocumentKind::Feed(mut feed) => {
            if has_controls {
                feed.note.get_or_insert(walk::DAMAGED_NOTE);
            }
            match feed.count == 0 && feed.note.is_some() {
                true => Err(NoFeed::Broken),
                false => Ok(feed),
            }
        }
        walk::DocumentKind::Other(root) => Err(match page::feeds(&text, &root, address) {
            Some(named) => NoFeed::Page(named),
            None if root.is_empty() => NoFeed::Unreadable,
            None => NoFeed::Other(root),
        }),
    }
}

/// The document as text: by the header, a byte-order mark, the declaration (which may follow junk), else UTF-8.
fn decoded(bytes: &[u8], content_type: &str) -> String {
    // XML in two-byte characters without a byte-order mark begins with one of these (XML 1.0, appendix F).
    let utf16 = match bytes {
        [b'<', 0, ..] => Some(UTF_16LE),
        [0, b'<', ..] => Some(UTF_16BE),
        _ => None,
    };
    if let Some(encoding) = utf16 {
        return encoding.decode(bytes).0.into_owned();
    }
    // By the standards the header beats the mark; but a mark that all bytes agree with is no accident, and wrong headers are common.
    if let Some((encoding, mark)) = Encoding::for_bom(bytes)
        && let Some(named) = charset::named(content_type)
        && encoding.decode(bytes).2
    {
        return named
            .decode_without_bom_handling(bytes.get(mark..).unwrap_or_default())
            .0
            .into_owned();
    }
    let head = bytes.get(..MAX_JUNK_BYTES).unwrap_or(bytes);
    let declaration = memchr::memmem::find(head, b"<?xml");
    match declaration.filter(|_| Encoding::for_bom(bytes).is_none()) {
        Some(at) => charset::decoded(bytes.get(at..).unwrap_or(bytes), content_type),
        None => charset::decoded(bytes, content_type),
    }
}

/// The text without the characters that XML does not allow, and whether there were some.
fn without_controls(text: &str) -> (String, bool) {
    let is_forbidden = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    let kept: String = text.chars().filter(|c| !is_forbidden(*c)).collect();
    let has_controls = kept.len() != text.len();
    (kept, has_controls)
}

/// Where the root of a feed begins if something else precedes it.
fn root(text: &str) -> Option<usize> {
    let begins = |name: &&str| {
        let pos = text.find(*name)?;
        let next = text.get(pos + name.len()..)?.chars().next()?;
        (next.is_whitespace() || next == '>').then_some(pos)
    };
    ["<rss", "<rdf:RDF", "<feed"].iter().find_map(begins)
}

#[cfg(test)]
mod tests;
