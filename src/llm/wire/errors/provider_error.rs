//! Parses error bodies: `{"error": {"message": …}}`, `{"error": "…"}` (Ollama), a list of one (Gemini), `{"detail": "…"}` (FastAPI servers), or
//! anything else.

use std::ops::ControlFlow;

use serde_json::Value;

use crate::base::text;
use crate::formats::sse::{SseEvents, SseItem};

/// Members that hold the words of an error.
const WORDS: [&str; 6] = [
    "message",
    "msg",
    "detail",
    "error",
    "error_description",
    "reason",
];
/// How deep gateways nest the errors of others.
const MAX_NESTED: usize = 4;

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
    /// What a content filter objects to.
    pub filtered: Vec<String>,
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
            Some(error @ Value::Object(_)) => {
                let mut inner = Self::from_object(error);
                // Some have the words beside an object that has only a code.
                if inner.message.is_empty() {
                    inner.message = words_of(value, &["message", "detail"]);
                }
                return Some(inner);
            }
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
        // Python's way to say that there is none.
        let said = |word: &&str| !matches!(*word, "" | "None" | "null");
        let word = |name: &str| {
            let word = error.get(name).and_then(Value::as_str);
            word.filter(said).map(str::to_owned)
        };
        let mut message = words_of(error, &WORDS);
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
                Some(Value::String(_)) => word("code").map(ErrorCode::Word),
                Some(Value::Number(number)) => number.as_i64().map(ErrorCode::Number),
                _ => None,
            },
            // The flat form of an error event has the event's own type.
            kind: word("type")
                .filter(|kind| kind != "error")
                .or_else(|| word("status")),
            param: word("param"),
            wrote: word("failed_generation").filter(|text| !text.is_empty()),
            filtered: filters(error),
        }
    }

    /// The same with what it quotes of an upstream server's error taken apart: gateways put the JSON that they got into their own message.
    pub(super) fn unpacked(&self) -> Self {
        let mut whole = self.clone();
        for _ in 0..MAX_NESTED {
            let Some(at) = whole.message.find('{') else {
                break;
            };
            let (before, quoted) = whole.message.split_at(at);
            let mut values = serde_json::Deserializer::from_str(quoted).into_iter::<Value>();
            let inner = values
                .next()
                .and_then(Result::ok)
                .and_then(|value| Self::from_value(&value))
                .filter(|inner| !inner.message.is_empty());
            let Some(inner) = inner else {
                break;
            };
            let before = before
                .trim_end_matches("b'")
                .trim_end_matches([' ', '-', ':', '\'', '"']);
            whole.message = match before {
                "" => inner.message,
                before => format!("{before}: {}", inner.message),
            };
            whole.param = inner.param.or(whole.param);
            whole.filtered.extend(inner.filtered);
        }
        whole
    }

    /// Reads any error body: of one that is not JSON, the title or the beginning is the message.
    pub(crate) fn from_body(body: &[u8]) -> Self {
        if let Some(error) = Self::in_events(body) {
            return error;
        }
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

    /// The error in a body of server-sent events, which some servers send although nothing of a stream came before.
    fn in_events(body: &[u8]) -> Option<Self> {
        let body = body.trim_ascii_start();
        let starts = |start: &&str| body.starts_with(start.as_bytes());
        ["data:", "event:", "id:", "error:", ":"]
            .iter()
            .find(|start| starts(start))?;
        let mut found = None;
        let mut words = None;
        let mut take = |item: SseItem<'_>| {
            let data = match item {
                SseItem::Event { data, .. } => data,
                SseItem::Stray(line) => line.strip_prefix(b"error:").unwrap_or(line),
            };
            let data = data.trim_ascii();
            found = found.take().or_else(|| Self::read(data));
            if !data.is_empty() && data != b"[DONE]" && words.is_none() {
                words = Some(first_part(data));
            }
            ControlFlow::Continue(())
        };
        let mut events = SseEvents::default();
        let read = events.feed(body, &mut take).is_ok() && events.finish(&mut take).is_ok();
        let plain = || {
            let message = words.filter(|_| read)?;
            Some(Self {
                message,
                ..Self::default()
            })
        };
        found.or_else(plain)
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

/// The first of the members `names` that has words.
fn words_of(value: &Value, names: &[&str]) -> String {
    names
        .iter()
        .filter_map(|name| value.get(*name))
        .map(sentence)
        .find(|words| !words.is_empty())
        .unwrap_or_default()
}

/// What a content filter objects to: `content_filter_result` of Azure (<https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter>),
/// `metadata.reasons` of OpenRouter (<https://openrouter.ai/docs/api-reference/errors>).
fn filters(error: &Value) -> Vec<String> {
    let azure = [
        "/innererror/content_filter_result",
        "/innererror/content_filter_results",
    ];
    let reasons = error.pointer("/metadata/reasons").and_then(Value::as_array);
    azure
        .iter()
        .filter_map(|path| error.pointer(path))
        .flat_map(fired_filters)
        .chain(
            reasons
                .into_iter()
                .flatten()
                .filter_map(|reason| reason.as_str().map(str::to_owned)),
        )
        .collect()
}

/// The filters of `{"violence": {"filtered": true, "severity": "high"}, …}` that fired.
pub(crate) fn fired_filters(results: &Value) -> Vec<String> {
    let fired = results.as_object().into_iter().flatten();
    fired
        .filter(|(_, result)| result.get("filtered").and_then(Value::as_bool) == Some(true))
        .map(|(name, result)| {
            let name = name.replace('_', " ");
            match result.get("severity").and_then(Value::as_str) {
                Some(severity) => format!("{name}, severity {severity}"),
                None => name,
            }
        })
        .collect()
}

/// A message from whatever JSON value is in its place.
fn sentence(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().map(sentence).collect();
            all.join("; ")
        }
        Value::Object(map) => {
            let words = map.iter().any(|(name, _)| WORDS.contains(&name.as_str()));
            let words = if words {
                words_of(value, &WORDS)
            } else {
                value.to_string()
            };
            match place(value).filter(|_| !words.is_empty()) {
                Some(place) => format!("{place}: {words}"),
                None => words,
            }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The field that a complaint of FastAPI is about: `"loc": ["body", "tools", 0]`.
fn place(complaint: &Value) -> Option<String> {
    let path = complaint.get("loc")?.as_array()?;
    let parts: Vec<String> = path
        .iter()
        .map(|part| {
            part.as_str()
                .map_or_else(|| part.to_string(), str::to_owned)
        })
        .filter(|part| part != "body")
        .collect();
    (!parts.is_empty()).then(|| parts.join("."))
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
            (
                r#"{"detail":[{"loc":["body","prompt_cache_key"],"msg":"Extra inputs are not permitted","input":"k"}]}"#,
                "prompt_cache_key: Extra inputs are not permitted",
                None,
            ),
            (
                r#"{"type":"error","message":"a","error":{"code":"x","message":null}}"#,
                "a",
                Some(ErrorCode::Word("x".into())),
            ),
            (
                "event: error\ndata: {\"error\":{\"message\":\"a\",\"code\":503}}\n\n",
                "a",
                Some(ErrorCode::Number(503)),
            ),
            (
                ": ping\n\ndata: {\"error\":\"a\"}\n\ndata: [DONE]\n\n",
                "a",
                None,
            ),
            ("data: upstream is gone", "upstream is gone", None),
            ("error: {\"message\":\"a\"}", "a", None),
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
    fn the_error_of_an_upstream_server_is_taken_out_of_the_message() {
        for (message, words, param) in [
            (
                r#"litellm.BadRequestError: AnthropicException - {"type":"error","error":{"type":"invalid_request_error","message":"store: Extra inputs are not permitted"}}. Received Model Group=x"#,
                "litellm.BadRequestError: AnthropicException: store: Extra inputs are not permitted",
                None,
            ),
            (
                r#"Upstream: b'{"error":{"message":"no","param":"include"}}'"#,
                "Upstream: no",
                Some("include"),
            ),
            (r#"{"error":"{\"message\":\"no\"}"}"#, "no", None),
            ("use {} or {\"a\":1}", "use {} or {\"a\":1}", None),
        ] {
            let error = ProviderError {
                message: message.to_owned(),
                ..ProviderError::default()
            };
            let whole = error.unpacked();
            assert_eq!(
                (whole.message.as_str(), whole.param.as_deref()),
                (words, param)
            );
        }
    }

    #[test]
    fn the_filters_that_fired_are_named() {
        let body = r#"{"error":{"message":"no","code":"content_filter","innererror":{"content_filter_result":{"hate":{"filtered":false,"severity":"safe"},"self_harm":{"filtered":true,"severity":"medium"},"jailbreak":{"filtered":true,"detected":true}}}}}"#;
        let error = ProviderError::from_body(body.as_bytes());
        assert_eq!(error.filtered, ["self harm, severity medium", "jailbreak"]);
        let body =
            r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"]}}}"#;
        assert_eq!(
            ProviderError::from_body(body.as_bytes()).filtered,
            ["violence"]
        );
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
