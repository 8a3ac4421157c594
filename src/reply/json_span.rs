//! JSON inside an answer: models like to put words and fences around it.

/// From the first `{` to the last `}`.
pub(crate) fn object(text: &str) -> Option<&str> {
    span(text, '{', '}')
}

/// From the first `[` to the last `]`.
pub(crate) fn array(text: &str) -> Option<&str> {
    span(text, '[', ']')
}

fn span(text: &str, open: char, close: char) -> Option<&str> {
    let from = text.find(open)?;
    let to = text.rfind(close)?;
    text.get(from..=to)
}
