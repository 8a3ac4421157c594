//! A message of the caller: text, images and documents in the shapes of Anthropic's Messages API.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::base::marks::enclosed;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// The command with which a caller has the conversation summarized.
pub(super) const COMPACT: &str = "/compact";

/// A message as it came in.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct UserLine {
    /// The caller's id of it.
    pub(super) uuid: Option<String>,
    pub(super) text: String,
    /// Name and bytes of each image.
    pub(super) images: Vec<(String, Arc<[u8]>)>,
    /// False when it joins the conversation without an answer.
    pub(super) is_question: bool,
    /// The caller has made it of what it knows, and nobody has typed it: it is no command, whatever it begins with.
    pub(super) is_verbatim: bool,
    /// The message as it came, to be sent back.
    pub(super) message: Value,
}

impl UserLine {
    /// A message of text alone.
    pub(super) fn of_text(text: String) -> Self {
        let message = serde_json::json!({"role": "user", "content": text});
        Self {
            text,
            is_question: true,
            message,
            ..Self::default()
        }
    }

    /// Reads a line of the type `user`.
    ///
    /// # Errors
    /// It has no message, or a part of it cannot be sent to a model.
    pub(super) fn read(mut line: Map<String, Value>) -> Outcome<Self> {
        let message = line.remove("message").unwrap_or_default();
        let uuid = line.get("uuid").and_then(Value::as_str).map(str::to_owned);
        let is_question = line.get("shouldQuery") != Some(&Value::Bool(false));
        let is_verbatim = line.get("client_composed") == Some(&Value::Bool(true));
        let mut read = Self {
            uuid,
            is_question,
            is_verbatim,
            ..Self::default()
        };
        match message.get("content") {
            Some(Value::String(text)) => read.text.clone_from(text),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    read.block(block)?;
                }
            }
            _ => {
                return Err(Problem::input("A user line has no message.content.").next(
                    "Send {\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"…\"}}.",
                ));
            }
        }
        if read.text.trim().is_empty() && read.images.is_empty() {
            return Err(Problem::input("The message is empty."));
        }
        read.message = message;
        Ok(read)
    }

    fn block(&mut self, block: &Value) -> Outcome<()> {
        let kind = block
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match kind {
            "text" => self.add(text_of(block.get("text"))),
            "image" => {
                let bytes = bytes_of(block, "image")?;
                let name = format!("image-{}", self.images.len() + 1);
                self.images.push((name, bytes));
            }
            "document" => self.document(block)?,
            other => {
                return Err(Problem::input(format!(
                    "A message cannot have a block of the type \"{}\".",
                    escape_controls(&clip(other, 40))
                ))
                .next("Send blocks of text, images and documents of text."));
            }
        }
        Ok(())
    }

    fn document(&mut self, block: &Value) -> Outcome<()> {
        let source = block.get("source").unwrap_or(&Value::Null);
        let is_text = source.get("type").and_then(Value::as_str) == Some("text");
        if !is_text {
            let media = text_of(source.get("media_type"));
            return Err(Problem::input(format!(
                "A document of the type \"{}\" cannot be sent: the model gets text and images.",
                escape_controls(&clip(media, 60))
            ))
            .next("Send its text, or put it into the working directory and name the file."));
        }
        let title = text_of(block.get("title"));
        let name = match title.is_empty() {
            true => String::new(),
            false => format!("title=\"{}\"", title.replace(['"', '\n'], " ")),
        };
        self.add(&enclosed("document", &name, text_of(source.get("data"))));
        Ok(())
    }

    fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }
}

fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

fn bytes_of(block: &Value, what: &str) -> Outcome<Arc<[u8]>> {
    let source = block.get("source").unwrap_or(&Value::Null);
    if source.get("type").and_then(Value::as_str) != Some("base64") {
        return Err(
            Problem::input(format!("The {what} of a message has no data in base64."))
                .next("Send source: {type: \"base64\", media_type, data}."),
        );
    }
    let data = text_of(source.get("data"));
    STANDARD
        .decode(data)
        .map(Arc::from)
        .map_err(|error| Problem::input(format!("The {what} of a message is not base64: {error}.")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(line: Value) -> Outcome<UserLine> {
        match line {
            Value::Object(line) => UserLine::read(line),
            _ => panic!("no object"),
        }
    }

    fn with(content: Value) -> Outcome<UserLine> {
        read(
            json!({"type": "user", "session_id": "", "message": {"role": "user", "content": content}}),
        )
    }

    #[test]
    fn text_images_and_documents_of_text_are_read() {
        assert_eq!(with(json!("hi")).unwrap().text, "hi");
        let read = with(json!([
            {"type": "text", "text": "one"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAEC"}},
            {"type": "document", "title": "a \"b\"", "source": {"type": "text", "media_type": "text/plain", "data": "whole"}},
            {"type": "text", "text": "two"},
        ]))
        .unwrap();
        assert!(
            read.text.starts_with("one\n<document title=\"a  b \""),
            "{}",
            read.text
        );
        assert!(read.text.ends_with("\ntwo") && read.text.contains("whole"));
        assert_eq!(read.images, [("image-1".to_owned(), Arc::from([0, 1, 2]))]);
        assert!(read.is_question);
    }

    #[test]
    fn what_no_model_takes_is_refused_in_words() {
        for (content, words) in [
            (json!(null), "no message.content"),
            (json!(7), "no message.content"),
            (json!(" "), "empty"),
            (json!([]), "empty"),
            (json!([{"type": "video"}]), "\"video\""),
            (json!([3]), "\"\""),
            (
                json!([{"type": "image", "source": {"type": "url", "url": "x"}}]),
                "base64",
            ),
            (
                json!([{"type": "image", "source": {"type": "base64", "data": "%"}}]),
                "not base64",
            ),
            (
                json!([{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}}]),
                "application/pdf",
            ),
        ] {
            let problem = with(content.clone()).unwrap_err().one_line();
            assert!(problem.contains(words), "{content}: {problem}");
        }
    }

    #[test]
    fn a_line_may_have_an_id_and_want_no_answer() {
        let read =
            read(json!({"uuid": "u1", "shouldQuery": false, "message": {"content": "note"}}))
                .unwrap();
        assert!(!read.is_question && read.uuid.as_deref() == Some("u1"));
    }
}
