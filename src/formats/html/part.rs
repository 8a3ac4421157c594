//! Selects one element of a page, and drops what surrounds its text.

use super::tokens::{HtmlToken, OpenTag, read};
use crate::base::text::single_spaced;

/// A simple selector: an element's name, an id and classes, all optional, as in `main`, `#menu`, `div.price.big`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    name: Option<String>,
    id: Option<String>,
    classes: Vec<String>,
}

impl Selector {
    /// Parses a selector; `None` for selectors that need a browser.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '#');
        if text.is_empty() || !text.chars().all(plain) {
            return None;
        }
        let mut selector = Self::default();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let sign = matches!(first, '.' | '#');
            let word = rest.strip_prefix(['.', '#']).unwrap_or(rest);
            let end = word.find(['.', '#']).unwrap_or(word.len());
            let (word, later) = word.split_at_checked(end)?;
            if word.is_empty() {
                return None;
            }
            match (sign, first) {
                (true, '#') => selector.id = Some(word.to_owned()),
                (true, _) => selector.classes.push(word.to_owned()),
                _ => selector.name = Some(word.to_ascii_lowercase()),
            }
            rest = later;
        }
        Some(selector)
    }

    fn fits(&self, tag: &OpenTag) -> bool {
        self.name.as_ref().is_none_or(|name| tag.name() == name)
            && self
                .id
                .as_deref()
                .is_none_or(|id| tag.attribute("id") == Some(id))
            && self.classes.iter().all(|class| tag.is(class))
    }
}

/// An open element, with the number of nested ones of the same name.
struct OpenDepth(String, usize);

impl OpenDepth {
    /// Processes a token; true when it closed the element.
    fn take(&mut self, piece: &HtmlToken<'_>) -> bool {
        match piece {
            HtmlToken::Open(tag) if tag.name() == self.0 => self.1 += 1,
            HtmlToken::Close(name) if *name == self.0 => self.1 -= 1,
            _ => {}
        }
        self.1 == 0
    }
}

/// Passes the tokens of the first element that matches `only` (without a selector, of the whole page) to `see`, without the elements named in `without`; true
/// when there is such an element.
pub(crate) fn part(
    html: &str,
    only: Option<&Selector>,
    without: &[&str],
    mut see: impl FnMut(&HtmlToken<'_>),
) -> bool {
    let mut found = only.is_none();
    let mut inside: Option<OpenDepth> = None;
    let mut over = false;
    let mut left_out: Option<OpenDepth> = None;
    read(html, |piece| {
        if over {
            return;
        }
        if let Some(depth) = &mut left_out {
            if depth.take(&piece) {
                left_out = None;
            }
            return;
        }
        if let Some(depth) = &mut inside {
            over = depth.take(&piece);
        } else if let (Some(only), HtmlToken::Open(tag)) = (only, &piece) {
            if !only.fits(tag) {
                return;
            }
            found = true;
            inside = Some(OpenDepth(tag.name().to_owned(), 1));
            see(&piece);
            return;
        } else if only.is_some() {
            return;
        }
        match &piece {
            HtmlToken::Open(tag) if without.contains(&tag.name()) => {
                left_out = Some(OpenDepth(tag.name().to_owned(), 1));
            }
            _ => see(&piece),
        }
    });
    found
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// Its text, on one line.
    pub text: String,
    /// Its target, as written.
    pub href: String,
}

/// Collects the links of a token stream.
#[derive(Default)]
pub(crate) struct Links {
    /// Complete links, in order.
    pub all: Vec<PageLink>,
    open: Option<PageLink>,
    silent: bool,
}

impl Links {
    /// Processes the next token.
    pub(crate) fn take(&mut self, piece: &HtmlToken<'_>) {
        match piece {
            HtmlToken::Open(tag) if tag.name() == "a" => {
                self.close();
                let href = tag.attribute("href").unwrap_or_default().trim();
                self.open = (!href.is_empty()).then(|| PageLink {
                    text: String::new(),
                    href: href.to_owned(),
                });
            }
            HtmlToken::Close("a") => self.close(),
            HtmlToken::Open(tag) if matches!(tag.name(), "script" | "style") => self.silent = true,
            HtmlToken::Close("script" | "style") => self.silent = false,
            HtmlToken::Open(tag) if tag.name() == "img" => {
                self.push_text(&format!(" {} ", tag.attribute("alt").unwrap_or_default()));
            }
            HtmlToken::Text(text) if !self.silent => self.push_text(text),
            HtmlToken::Open(_) | HtmlToken::Close(_) | HtmlToken::Text(_) => {}
        }
    }

    fn push_text(&mut self, text: &str) {
        if let Some(link) = &mut self.open {
            link.text.push_str(text);
        }
    }

    fn close(&mut self) {
        if let Some(mut link) = self.open.take() {
            link.text = single_spaced(&link.text);
            self.all.push(link);
        }
    }
}

/// The ids of elements in document order, at most `max`.
pub fn ids(html: &str, max: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    read(html, |piece| {
        if let HtmlToken::Open(tag) = piece
            && let Some(id) = tag.attribute("id")
            && found.len() < max
            && !id.trim().is_empty()
        {
            found.push(id.to_owned());
        }
    });
    found
}
