//! Which elements hold a title, a date, a summary or a link, and which one wins if there are several.

use super::scope::Namespace;
use crate::base::text::{escape_controls, single_spaced};
use crate::formats::html;

/// Maximum bytes of a summary that are read; only its beginning is ever shown.
const MAX_SUMMARY_BYTES: usize = 64 * 1024;

/// What an element holds. The lowest rank wins; among equals, the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FeedField {
    Title(u8),
    Summary(u8),
    /// Content, which other elements may hold as well.
    Content(u8),
    Date(u8),
    Link,
    Guid,
    Id,
    Enclosure,
}

impl FeedField {
    /// The field of an element of an entry or of the feed itself.
    pub(super) fn of(space: Namespace, name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        Some(match (space, name.as_str()) {
            (Namespace::Core, "title") => Self::Title(0),
            (Namespace::Dublin, "title") => Self::Title(1),
            (Namespace::Core, "description" | "summary" | "tagline") => Self::Summary(0),
            (Namespace::Atom, "summary") => Self::Summary(1),
            (Namespace::Core, "content") => Self::Content(2),
            (Namespace::Content, "encoded") => Self::Summary(3),
            (Namespace::Atom, "content") => Self::Content(3),
            (Namespace::Page, "body") => Self::Summary(4),
            (Namespace::Dublin, "description") => Self::Summary(5),
            (Namespace::Itunes, "summary") => Self::Summary(6),
            (Namespace::Itunes, "subtitle") => Self::Summary(7),
            (Namespace::Media, "description") => Self::Summary(8),
            (Namespace::Core, "pubdate" | "published" | "issued") => Self::Date(0),
            (Namespace::Atom, "published") | (Namespace::Dublin, "date" | "issued") => {
                Self::Date(1)
            }
            (Namespace::Core, "updated" | "modified" | "created" | "date") => Self::Date(2),
            (Namespace::Atom, "updated") | (Namespace::Dublin, "modified" | "created") => {
                Self::Date(3)
            }
            (Namespace::Core | Namespace::Atom, "link") => Self::Link,
            (Namespace::Core, "guid") => Self::Guid,
            (Namespace::Core, "id") => Self::Id,
            (Namespace::Core, "enclosure") => Self::Enclosure,
            _ => return None,
        })
    }
}

/// The best candidate so far.
#[derive(Debug)]
pub(super) struct BestField<T>(Option<(u8, T)>);

impl<T> Default for BestField<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> BestField<T> {
    pub(super) fn offer(&mut self, rank: u8, value: T) {
        if self.0.as_ref().is_none_or(|(own, _)| rank < *own) {
            self.0 = Some((rank, value));
        }
    }

    pub(super) fn take(&mut self) -> Option<T> {
        self.0.take().map(|(_, value)| value)
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

/// How the text of an element is encoded (RFC 4287 section 3.1; Atom 0.3 had media types).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextType {
    Plain,
    /// HTML, escaped once.
    Escaped,
    /// Binary: pictures, archives.
    Data,
}

impl TextType {
    /// By the `type` of an Atom element.
    pub(super) fn of(kind: &str) -> Self {
        let kind = kind.trim().to_ascii_lowercase();
        match kind.as_str() {
            "" | "text" | "text/plain" => Self::Plain,
            kind if kind.contains("html") || kind.ends_with("xml") => Self::Escaped,
            kind if kind.starts_with("text/") => Self::Plain,
            _ => Self::Data,
        }
    }
}

/// The text of an element on one line: markup removed once, HTML entities decoded once.
pub(super) fn words(text: &str, style: TextType) -> String {
    let text = text
        .get(..text.floor_char_boundary(MAX_SUMMARY_BYTES))
        .unwrap_or_default();
    let line = match style {
        TextType::Plain => single_spaced(text),
        TextType::Escaped => html::line(text),
        TextType::Data => String::new(),
    };
    escape_controls(&line)
}
