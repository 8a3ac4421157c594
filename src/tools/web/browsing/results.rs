//! Parses a result page of DuckDuckGo, HTML or lite edition: the results, or the reason why there are none. Title and snippet are paired within one block.

use std::mem;

use super::link;
use crate::base::text::{clip, one_line};
use crate::formats::html::{self, HtmlToken, OpenTag};

/// Maximum results that are read; a page has ten or thirty.
const MAX_RESULTS: usize = 60;
/// Maximum characters of a title and of a snippet.
const MAX_TITLE_CHARS: usize = 200;
const MAX_SNIPPET_CHARS: usize = 600;
/// Elements whose content is not text.
const HIDDEN_ELEMENTS: [&str; 5] = ["script", "style", "template", "textarea", "title"];
/// The text of a page without results.
const NO_RESULTS: [&str; 2] = ["No results.", "No more results."];

/// A parsed page.
#[derive(Debug, Default)]
pub struct ResultPage {
    pub hits: Vec<Hit>,
    /// It is a bot check.
    pub robot: bool,
    /// It says that there are no results.
    pub none: bool,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its title, on one line; its address when it has none.
    pub title: String,
    /// Its address, without DuckDuckGo's wrapper.
    pub url: String,
    /// Its snippet, on one line; may be empty.
    pub snippet: String,
}

/// Parses a page, however malformed.
pub fn read(page: &str) -> ResultPage {
    let mut reader = ResultsReader::default();
    html::read(page, |piece| reader.see(piece));
    reader.end_block();
    reader.page
}

#[derive(Default)]
struct ResultsReader {
    page: ResultPage,
    block: ResultBlock,
    /// The part of the block that the current text belongs to, and its element.
    part: Option<(ResultPart, String)>,
    /// Inside a table row of an advertisement (lite).
    paid_row: bool,
    /// The open element whose content is not text.
    silent: Option<String>,
}

/// A result while it is being read.
#[derive(Default)]
struct ResultBlock {
    paid: bool,
    href: Option<String>,
    title: String,
    snippet: Option<String>,
}

#[derive(Clone, Copy)]
enum ResultPart {
    Title,
    Snippet,
}

impl ResultsReader {
    fn see(&mut self, piece: HtmlToken<'_>) {
        match (&self.silent, piece) {
            (Some(name), HtmlToken::Close(closed)) if name == closed => self.silent = None,
            (Some(_), _) => {}
            (None, HtmlToken::Open(tag)) => self.open(tag),
            (None, HtmlToken::Close(name)) => {
                if self.is_in(name) {
                    self.part = None;
                }
            }
            (None, HtmlToken::Text(text)) => self.text(text),
        }
    }

    fn open(&mut self, tag: &OpenTag) {
        let name = tag.name();
        self.page.robot |= is_bot_check(tag);
        self.page.none |= tag.is("no-results") || tag.is("result--no-result");
        // An end tag may be missing.
        if self.is_in(name) || name == "tr" {
            self.part = None;
        }
        if HIDDEN_ELEMENTS.contains(&name) {
            self.silent = Some(name.to_owned());
        } else if name == "tr" {
            self.paid_row = tag.is("result-sponsored");
            if self.paid_row && !self.block.paid {
                self.begin(true);
            }
        } else if tag.is("result") || tag.is("web-result") || tag.is("result--ad") {
            self.begin(tag.is("result--ad"));
        } else if tag.is("badge--ad") {
            self.block.paid = true;
        } else if tag.is("result__a") || tag.is("result-link") {
            let other = tag.is("result-link") && self.block.paid != self.paid_row;
            if self.block.href.is_some() || other {
                self.begin(self.paid_row);
            }
            self.block.href = tag.attribute("href").map(str::to_owned);
            self.part = Some((ResultPart::Title, name.to_owned()));
        } else if tag.is("result__snippet") || tag.is("result-snippet") {
            if self.block.snippet.is_none() {
                self.block.snippet = Some(String::new());
                self.part = Some((ResultPart::Snippet, name.to_owned()));
            }
        } else if matches!(name, "br" | "p" | "div" | "li") {
            self.text(" ");
        }
    }

    fn text(&mut self, text: &str) {
        match self.part {
            Some((ResultPart::Title, _)) => self.block.title.push_str(text),
            Some((ResultPart::Snippet, _)) => {
                let snippet = self.block.snippet.get_or_insert_default();
                snippet.push_str(text);
            }
            None => self.page.none |= NO_RESULTS.contains(&one_line(text).as_str()),
        }
    }

    fn is_in(&self, name: &str) -> bool {
        self.part.as_ref().is_some_and(|(_, own)| own == name)
    }

    fn begin(&mut self, paid: bool) {
        self.end_block();
        self.block.paid = paid;
    }

    fn end_block(&mut self) {
        self.part = None;
        let block = mem::take(&mut self.block);
        let hits = &mut self.page.hits;
        let Some(url) = block.href.as_deref().and_then(link::target) else {
            return;
        };
        if block.paid || hits.len() >= MAX_RESULTS || hits.iter().any(|hit| hit.url == url) {
            return;
        }
        let title = one_line(&block.title);
        hits.push(Hit {
            title: match title.is_empty() {
                true => url.clone(),
                false => clip(&title, MAX_TITLE_CHARS),
            },
            url,
            snippet: clip(
                &one_line(&block.snippet.unwrap_or_default()),
                MAX_SNIPPET_CHARS,
            ),
        });
    }
}

/// True for the elements of a page that asks for a human.
fn is_bot_check(tag: &OpenTag) -> bool {
    let has = |name: &str, mark: &str| tag.attribute(name).is_some_and(|own| own.contains(mark));
    match tag.name() {
        "form" | "script" | "img" | "iframe" => {
            has("id", "challenge-form") || has("action", "/anomaly.js") || has("src", "/anomaly.js")
        }
        "a" => has("href", "mailto:error-lite"),
        _ => tag
            .attribute("class")
            .unwrap_or_default()
            .split_ascii_whitespace()
            .any(|class| class.starts_with("anomaly-modal")),
    }
}

#[cfg(test)]
mod tests;
