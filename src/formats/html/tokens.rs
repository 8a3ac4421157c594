//! Tokenizes HTML with a browser's tokenizer: one pass, however malformed the page is.

use std::cell::{Cell, RefCell};

use html5ever::tendril::{StrTendril, Tendril};
use html5ever::tokenizer::states::{RawKind, State};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// Bytes passed to the tokenizer at once.
const FEED_BYTES: usize = 64 * 1024;
/// Number of words after which a tag or comment counts as unterminated. The tokenizer compares every attribute with all others of its tag, so a page of them
/// would take quadratic time.
const MAX_TAG_WORDS: usize = 12_000;
/// Ends a tag in any state; plain text in a comment.
const TAG_END: &str = "'\">";

/// A token.
#[derive(Debug)]
pub(crate) enum HtmlToken<'a> {
    /// A tag that opens.
    Open(OpenTag<'a>),
    /// A closing tag, by name.
    Close(&'a str),
    /// Text with entities decoded and white space as written. A text may come in several tokens.
    Text(&'a str),
}

/// An opening or an empty (`br`) tag.
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

/// Passes every token of `html` to `see`, in order.
pub(crate) fn read(html: &str, see: impl FnMut(HtmlToken<'_>)) {
    run(html, TokenizerOpts::default(), see);
}

/// Text with entities but without markup: entities are decoded once, the rest is unchanged.
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
        let end = rest.floor_char_boundary(FEED_BYTES);
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
        if words > MAX_TAG_WORDS {
            queue.push_back(Tendril::from_slice(TAG_END));
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
                    attribute.value = without_controls(std::mem::take(&mut attribute.value));
                }
                see(HtmlToken::Open(OpenTag { tag: &tag }));
                return tokenizer_state(&tag.name);
            }
            Token::TagToken(tag) => see(HtmlToken::Close(&tag.name)),
            Token::CharacterTokens(text) => see(HtmlToken::Text(&without_controls(text))),
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
fn without_controls(text: StrTendril) -> StrTendril {
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
fn tokenizer_state(name: &str) -> TokenSinkResult<()> {
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
