//! Tokenizes HTML with a browser's tokenizer: one pass, however broken it is.

use std::cell::{Cell, RefCell};

use html5ever::tendril::{StrTendril, Tendril};
use html5ever::tokenizer::states::{RawKind, State};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Bytes given to the tokenizer at once.
const RUN: usize = 64 * 1024;
/// Words of one tag or comment from which it counts as unterminated. The tokenizer compares every attribute with all others of its tag, so a page
/// of them would take quadratic time.
const ENDLESS: usize = 12_000;
/// Ends a tag in any state; plain text in a comment.
const END: &str = "'\">";

/// One piece.
#[derive(Debug)]
pub(crate) enum HtmlToken<'a> {
    /// A tag that opens.
    Open(OpenTag<'a>),
    /// A tag that closes, by its name.
    Close(&'a str),
    /// Text, entities decoded; white space as written. Text may come in several pieces.
    Text(&'a str),
}

/// A tag that opens an element, or is one (`br`).
#[derive(Debug)]
pub(crate) struct OpenTag<'a> {
    tag: &'a Tag,
}

impl OpenTag<'_> {
    /// The element's name in lower case.
    pub(crate) fn name(&self) -> &str {
        &self.tag.name
    }

    /// An attribute's value.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.tag.attrs.iter().find(|own| &*own.name.local == name);
        found.map(|own| &*own.value)
    }

    /// True when the element has the class.
    pub(crate) fn is(&self, class: &str) -> bool {
        let classes = self.attribute("class").unwrap_or_default();
        classes.split_ascii_whitespace().any(|own| own == class)
    }
}

/// Shows every piece of `html` to `see`, in order.
pub(crate) fn read(html: &str, see: impl FnMut(HtmlToken<'_>)) {
    run(html, TokenizerOpts::default(), see);
}

/// Text with entities but without markup: they are decoded once, everything else stays.
pub fn entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    // As in a `title`, where nothing is a tag.
    let opts = TokenizerOpts {
        initial_state: Some(State::RawData(RawKind::Rcdata)),
        discard_bom: false,
        ..TokenizerOpts::default()
    };
    let mut out = String::with_capacity(text.len());
    run(text, opts, |piece| {
        if let HtmlToken::Text(text) = piece {
            out.push_str(text);
        }
    });
    out
}

fn run(html: &str, opts: TokenizerOpts, see: impl FnMut(HtmlToken<'_>)) {
    let sink = Sink {
        see: RefCell::new(see),
        any: Cell::new(false),
    };
    let tokenizer = Tokenizer::new(sink, opts);
    let queue = BufferQueue::default();
    let mut rest = html;
    let mut words = 0;
    while !rest.is_empty() {
        let end = rest.floor_char_boundary(RUN);
        let (run, later) = rest.split_at_checked(end).unwrap_or((rest, ""));
        queue.push_back(Tendril::from_slice(run));
        rest = later;
        // It stops early only for a sink that runs scripts.
        let _ = tokenizer.feed(&queue);
        if tokenizer.sink.any.take() {
            words = 0;
            continue;
        }
        words += run.bytes().filter(|b| b" \n\t/'\"".contains(b)).count();
        if words > ENDLESS {
            queue.push_back(Tendril::from_slice(END));
            words = 0;
        }
    }
    tokenizer.end();
}

struct Sink<F> {
    see: RefCell<F>,
    /// Some token was emitted since the last check.
    any: Cell<bool>,
}

impl<F: FnMut(HtmlToken<'_>)> TokenSink for Sink<F> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut see = self.see.borrow_mut();
        if !matches!(token, Token::ParseError(_)) {
            self.any.set(true);
        }
        match token {
            Token::TagToken(mut tag) if tag.kind == TagKind::StartTag => {
                for attribute in &mut tag.attrs {
                    attribute.value = plain(std::mem::take(&mut attribute.value));
                }
                see(HtmlToken::Open(OpenTag { tag: &tag }));
                return after(&tag.name);
            }
            Token::TagToken(tag) => see(HtmlToken::Close(&tag.name)),
            Token::CharacterTokens(text) => see(HtmlToken::Text(&plain(text))),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// Text without control characters; a carriage return or a form feed, which is white space, becomes a space.
fn plain(text: StrTendril) -> StrTendril {
    let obeyed = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.chars().any(obeyed) {
        return text;
    }
    let shown = |c: char| match c {
        '\r' | '\u{c}' => Some(' '),
        c => Some(c).filter(|c| !obeyed(*c)),
    };
    text.chars().filter_map(shown).collect::<String>().into()
}

/// The tokenizer state for an element's content (HTML standard, 13.2.6).
fn after(name: &str) -> TokenSinkResult<()> {
    match name {
        "script" => TokenSinkResult::RawData(RawKind::ScriptData),
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => {
            TokenSinkResult::RawData(RawKind::Rawtext)
        }
        "textarea" | "title" => TokenSinkResult::RawData(RawKind::Rcdata),
        "plaintext" => TokenSinkResult::Plaintext,
        _ => TokenSinkResult::Continue,
    }
}
