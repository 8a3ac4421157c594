//! Tokenizes HTML with a browser's tokenizer: one pass, however malformed the page is.

use std::borrow::Cow;

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};

pub(crate) enum HtmlToken<'a> {
    Open(&'a OpenTag),
    /// A closing tag, by name.
    Close(&'a str),
    /// Text with entities decoded and white space as written. A text may come in several tokens.
    Text(&'a str),
}

/// An opening or an empty (`br`) tag.
#[derive(Debug, Default)]
pub(crate) struct OpenTag {
    name: String,
    attributes: Vec<(String, String)>,
}

impl OpenTag {
    /// The element's name in lower case.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// An attribute's value.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }

    /// True when the element has the class.
    pub(crate) fn is(&self, class: &str) -> bool {
        let classes = self.attribute("class").unwrap_or_default();
        classes.split_ascii_whitespace().any(|own| own == class)
    }
}

/// Passes every token of `html` to `see`, in order.
pub(crate) fn read(html: &str, mut see: impl FnMut(HtmlToken<'_>)) {
    let html = html.strip_prefix('\u{feff}').unwrap_or(html);
    run(html, State::Data, &mut see);
}

/// Text with entities but without markup: entities are decoded once, the rest is unchanged.
pub fn entities(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    // As in a `title`, where nothing is a tag.
    run(text, State::RcData, &mut |piece| {
        if let HtmlToken::Text(text) = piece {
            out.push_str(text);
        }
    });
    out
}

fn run(html: &str, state: State, see: &mut dyn FnMut(HtmlToken<'_>)) {
    let collector = TagCollector {
        see,
        tag: OpenTag::default(),
    };
    let mut tokenizer = Tokenizer::new_with_emitter(html, CallbackEmitter::new(collector));
    tokenizer.set_state(state);
    // It yields the states that the collector asks for; reading from text cannot fail.
    while let Some(Ok(state)) = tokenizer.next() {
        tokenizer.set_state(state);
    }
}

/// Collects the attributes of a tag until it is complete.
struct TagCollector<'a> {
    see: &'a mut dyn FnMut(HtmlToken<'_>),
    tag: OpenTag,
}

impl Callback<State, ()> for TagCollector<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<State> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag.name = String::from_utf8_lossy(name).into_owned();
                self.tag.attributes.clear();
            }
            CallbackEvent::AttributeName { name } => {
                let name = String::from_utf8_lossy(name).into_owned();
                self.tag.attributes.push((name, String::new()));
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some((_, last)) = self.tag.attributes.last_mut() {
                    *last = without_controls(value).into_owned();
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                (self.see)(HtmlToken::Open(&self.tag));
                return content_state(&self.tag.name);
            }
            CallbackEvent::EndTag { name } => {
                (self.see)(HtmlToken::Close(&String::from_utf8_lossy(name)));
            }
            CallbackEvent::String { value } => {
                (self.see)(HtmlToken::Text(&without_controls(value)));
            }
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
        None
    }
}

/// Text without control characters; a carriage return or a form feed, which is white space, becomes a space.
fn without_controls(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text);
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

/// The tokenizer's state for the content of an element (HTML standard, 13.2.6); its own table takes `noscript` for an element whose scripts run.
fn content_state(name: &str) -> Option<State> {
    match name {
        "script" => Some(State::ScriptData),
        "style" | "iframe" | "noembed" | "noframes" | "xmp" => Some(State::RawText),
        "textarea" | "title" => Some(State::RcData),
        "plaintext" => Some(State::PlainText),
        _ => None,
    }
}
