//! The context of an element: its namespace, and the base address of relative links.

use crate::formats::address::Address;

/// Maximum number of namespace bindings. Real feeds have a dozen; without a limit a document could make every lookup slow.
const MAX_BINDINGS: usize = 128;

/// The vocabularies that describe entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    /// The feed's own.
    Core,
    Atom,
    Content,
    Dublin,
    Itunes,
    Media,
    Page,
    Other,
}

impl Namespace {
    fn of(uri: &str) -> Self {
        let uri = uri.trim().to_ascii_lowercase();
        let uri = uri.trim_end_matches(['/', '#']);
        match uri {
            "http://www.w3.org/2005/atom" | "http://purl.org/atom/ns" => Self::Atom,
            "http://purl.org/rss/1.0/modules/content" => Self::Content,
            "http://www.itunes.com/dtds/podcast-1.0.dtd" => Self::Itunes,
            "http://search.yahoo.com/mrss" => Self::Media,
            "http://www.w3.org/1999/xhtml" => Self::Page,
            ""
            | "http://purl.org/rss/1.0"
            | "http://my.netscape.com/rdf/simple/0.9"
            | "http://channel.netscape.com/rdf/simple/0.9" => Self::Core,
            _ if uri.starts_with("http://purl.org/dc/") => Self::Dublin,
            _ if uri.starts_with("http://backend.userland.com/") => Self::Core,
            _ if uri.starts_with("http://blogs.law.harvard.edu/tech/rss") => Self::Core,
            _ => Self::Other,
        }
    }

    /// The namespace that an undeclared prefix usually stands for.
    fn usual(prefix: &str) -> Self {
        match prefix {
            "atom" => Self::Atom,
            "content" => Self::Content,
            "dc" | "dcterms" => Self::Dublin,
            "itunes" => Self::Itunes,
            "media" => Self::Media,
            "xhtml" => Self::Page,
            _ => Self::Other,
        }
    }
}

/// The declarations in scope, each with the depth of its element.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    spaces: Vec<(usize, String, Namespace)>,
    bases: Vec<(usize, Address)>,
}

impl Scopes {
    /// A namespace declared by an element at `depth`: `xmlns:prefix`, or `xmlns` with an empty prefix.
    pub(super) fn declare(&mut self, depth: usize, prefix: &str, uri: &str) {
        if self.spaces.len() < MAX_BINDINGS {
            self.spaces
                .push((depth, prefix.to_owned(), Namespace::of(uri)));
        }
    }

    /// An `xml:base` of an element at `depth`; itself relative to the one around it, else to the document.
    pub(super) fn rebase(&mut self, depth: usize, base: &str, document: &Address) {
        let joined = self.base().unwrap_or(document).join(base);
        if let Some(joined) = joined.ok().filter(|_| self.bases.len() < MAX_BINDINGS) {
            self.bases.push((depth, joined));
        }
    }

    /// Drops the declarations of elements deeper than `depth`.
    pub(super) fn leave(&mut self, depth: usize) {
        while self.spaces.last().is_some_and(|(own, ..)| *own > depth) {
            self.spaces.pop();
        }
        while self.bases.last().is_some_and(|(own, _)| *own > depth) {
            self.bases.pop();
        }
    }

    /// The `xml:base` in scope.
    pub(super) fn base(&self) -> Option<&Address> {
        self.bases.last().map(|(_, base)| base)
    }

    /// The vocabulary of a prefix. Elements without one belong to the feed, unless an element below its root declares otherwise.
    pub(super) fn space(&self, prefix: &str) -> Namespace {
        let declared = self.spaces.iter().rev().find(|(_, own, _)| own == prefix);
        match declared {
            Some((depth, _, _)) if prefix.is_empty() && *depth <= 1 => Namespace::Core,
            Some((.., space)) => *space,
            None if prefix.is_empty() => Namespace::Core,
            None => Namespace::usual(prefix),
        }
    }
}
