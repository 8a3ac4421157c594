//! Parses error bodies: `{"error": {"message": …}}`, `{"error": "…"}` (Ollama), a list of one (Gemini), `{"detail": "…"}` (FastAPI servers), or
//! anything else.

use serde_json::Value;

use crate::base::text;

/// A parsed error body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProviderError {
    /// Empty if there was none.
    pub message: String,
    pub code: Option<ErrorCode>,
    /// `type`, or the word that Gemini puts in `status`.
    pub kind: Option<String>,
    /// The field of the request that it refers to.
    pub param: Option<String>,
    /// The malformed tool call of the model (Groq's `failed_generation`).
    pub wrote: Option<String>,
}

/// A code is a word or a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorCode {
    /// `"invalid_api_key"`, also `"404"`.
    Word(String),
    /// `400`.
    Number(i64),
}

impl ProviderError {
    /// Parses an error body; `None` when it is not JSON or contains no error.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        Self::from_value(&serde_json::from_slice(body).ok()?)
    }

    /// The error in `value`: `{"error":{…}}`, `{"error":"…"}`, a list of such, `{"detail":…}`, `{"message":…}`.
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Array(list) = value {
            return list.iter().find_map(Self::from_value);
        }
        match value.get("error").or_else(|| value.get("errors")) {
            Some(Value::String(message)) if !message.is_empty() => {
                return Some(Self {
                    message: message.clone(),
                    ..Self::from_object(value)
                });
            }
            Some(error @ Value::Object(_)) => return Some(Self::from_object(error)),
            Some(Value::Array(list)) if !list.is_empty() => {
                return list.first().map(Self::from_object);
            }
            _ => {}
        }
        let detail = value.get("detail").or_else(|| value.get("message"))?;
        let message = sentence(detail);
        (!message.is_empty()).then(|| Self {
            message,
            ..Self::from_object(value)
        })
    }

    fn from_object(error: &Value) -> Self {
        let word = |name: &str| error.get(name).and_then(Value::as_str).map(str::to_owned);
        let mut message = error.get("message").map(sentence).unwrap_or_default();
        // OpenRouter says "Provider returned error" and puts the upstream message beside it.
        let raw = error.pointer("/metadata/raw").map(sentence);
        if let Some(raw) = raw.filter(|raw| !raw.is_empty() && !message.contains(raw.as_str())) {
            if !message.is_empty() {
                message.push_str(": ");
            }
            message.push_str(&raw);
        }
        Self {
            message,
            code: match error.get("code") {
                Some(Value::String(word)) => Some(ErrorCode::Word(word.clone())),
                Some(Value::Number(number)) => number.as_i64().map(ErrorCode::Number),
                _ => None,
            },
            // The flat form of an error event has the event's own type.
            kind: word("type")
                .filter(|kind| kind != "error")
                .or_else(|| word("status")),
            param: word("param"),
            wrote: word("failed_generation").filter(|text| !text.is_empty()),
        }
    }

    /// Reads any error body: of one that is not JSON, the title or the beginning is the message.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        let nothing = matches!(body.trim_ascii(), b"{}" | b"[]" | b"null" | b"\"\"");
        Self::read(body).unwrap_or_else(|| Self {
            message: if nothing {
                String::new()
            } else {
                first_part(body)
            },
            ..Self::default()
        })
    }

    /// Message, code and type in lower case, to search in.
    pub(super) fn words(&self) -> String {
        let code = match &self.code {
            Some(ErrorCode::Word(word)) => word.as_str(),
            _ => "",
        };
        let kind = self.kind.as_deref().unwrap_or_default();
        format!("{code} {kind} {}", self.message).to_lowercase()
    }

    /// The code, if it is a valid HTTP status.
    pub(super) fn status(&self) -> Option<u16> {
        match &self.code {
            Some(ErrorCode::Number(number)) => u16::try_from(*number).ok(),
            Some(ErrorCode::Word(word)) => word.parse().ok(),
            None => None,
        }
        .filter(|status| (400..600).contains(status))
    }
}

/// A message from whatever JSON value is in its place.
fn sentence(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().map(sentence).collect();
            all.join("; ")
        }
        Value::Object(map) => ["message", "msg", "detail", "error"]
            .iter()
            .find_map(|name| map.get(*name))
            .map_or_else(|| value.to_string(), sentence),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The beginning of a body that is not JSON: a page's title, or the first words.
pub(crate) fn first_part(body: &[u8]) -> String {
    let start = body.get(..4096).unwrap_or(body);
    let page = String::from_utf8_lossy(start);
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + 7).and_then(|from| {
        let to = from + lower.get(from..)?.find("</title>")?;
        page.get(from..to)
    });
    let shown = title
        .filter(|title| !title.trim().is_empty())
        .unwrap_or(&page);
    let words: Vec<&str> = shown.split_whitespace().collect();
    text::escape_controls(&text::clip(&words.join(" "), 200))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_value_says_nothing() {
        for body in ["", " {}\n", "[]", "null", "\"\""] {
            assert_eq!(
                ProviderError::from_body(body.as_bytes()),
                ProviderError::default(),
                "{body}"
            );
        }
    }

    #[test]
    fn q11_every_shape_gives_its_message() {
        for (body, message, code) in [
            (
                r#"{"error":{"message":"a","code":"x"}}"#,
                "a",
                Some(ErrorCode::Word("x".into())),
            ),
            (r#"{"error":"a"}"#, "a", None),
            (
                r#"[{"error":{"code":429,"message":"a","status":"S"}}]"#,
                "a",
                Some(ErrorCode::Number(429)),
            ),
            (r#"{"detail":"a"}"#, "a", None),
            (
                r#"{"detail":[{"loc":["body"],"msg":"a"},{"msg":"b"}]}"#,
                "a; b",
                None,
            ),
            (r#"{"object":"error","message":"a","code":null}"#, "a", None),
            (
                r#"{"error":{"message":"Provider returned error","metadata":{"raw":"a"}}}"#,
                "Provider returned error: a",
                None,
            ),
            (
                "<html><head><TITLE>502 Bad\n Gateway</title>",
                "502 Bad Gateway",
                None,
            ),
            ("upstream connect error", "upstream connect error", None),
            ("", "", None),
        ] {
            let said = ProviderError::from_body(body.as_bytes());
            assert_eq!(
                (said.message.as_str(), said.code),
                (message, code),
                "{body}"
            );
        }
    }

    #[test]
    fn a_reply_is_no_error() {
        for body in [
            r#"{"error":null,"choices":[]}"#,
            "{}",
            "[]",
            "3",
            r#"{"error":""}"#,
        ] {
            assert_eq!(ProviderError::read(body.as_bytes()), None, "{body}");
        }
    }
}
