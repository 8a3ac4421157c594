//! The dialects: conversation to request body, and response bytes to reply. Pure; sockets are elsewhere.

pub(crate) mod errors;
pub(crate) mod read;
pub(crate) mod write;

use super::catalog::ProviderSpec;
pub(crate) use super::catalog::Wire;
use super::provider::Request;
use read::Decoder;

/// Version of Anthropic's interface that is spoken.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// A provider and the dialect it is spoken to in.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// The provider.
    pub row: &'static ProviderSpec,
    /// Its own dialect, or that of the address it was given.
    pub wire: Wire,
}

impl Dialect {
    /// The dialect of `row` at the address `base`: an Ollama address that ends in `/v1` or `/chat/completions` means Ollama's
    /// OpenAI side.
    pub fn of(row: &'static ProviderSpec, base: &str) -> Self {
        let base = base.trim_end_matches('/');
        let openai = row.wire == Wire::Ollama
            && (base.ends_with("/v1") || base.ends_with("/chat/completions"));
        Self {
            row,
            wire: if openai { Wire::OpenAi } else { row.wire },
        }
    }

    /// The dialect to try when this one's path does not exist (404 without a word about a model): some servers in Ollama's place only support chat
    /// completions.
    pub fn fallback(self) -> Option<Self> {
        (self.wire == Wire::Ollama).then_some(Self {
            wire: Wire::OpenAi,
            ..self
        })
    }

    /// The address to send requests to. `base` is a base or already the whole address.
    pub fn url(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        let end = match (self.wire, self.row.wire) {
            (Wire::OpenAi, Wire::Ollama) if base.ends_with("/v1") => "/chat/completions",
            (Wire::OpenAi, Wire::Ollama) => "/v1/chat/completions",
            (Wire::OpenAi, _) => "/chat/completions",
            (Wire::Ollama, _) => "/api/chat",
            (Wire::Anthropic, _) if base.ends_with("/v1") => "/messages",
            (Wire::Anthropic, _) => "/v1/messages",
        };
        let whole = match self.wire {
            Wire::OpenAi => "/chat/completions",
            Wire::Ollama => "/api/chat",
            Wire::Anthropic => "/v1/messages",
        };
        if base.ends_with(whole) {
            base.to_owned()
        } else {
            format!("{base}{end}")
        }
    }

    /// The headers of a request, besides the common HTTP ones.
    pub fn headers(self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            (
                "accept",
                "text/event-stream, application/x-ndjson, application/json".to_owned(),
            ),
        ];
        if self.wire == Wire::Anthropic {
            headers.push(("anthropic-version", ANTHROPIC_VERSION.to_owned()));
        }
        match (key, self.wire) {
            (None, _) => {}
            (Some(key), Wire::Anthropic) => headers.push(("x-api-key", key.to_owned())),
            (Some(key), Wire::OpenAi | Wire::Ollama) => {
                headers.push(("authorization", format!("Bearer {key}")));
            }
        }
        headers
    }

    /// The request's body.
    pub fn body(self, request: &Request<'_>) -> Vec<u8> {
        write::body(self, request)
    }

    /// Reads the answer to one request.
    pub fn decoder(self, context: ErrorContext) -> Decoder {
        Decoder::new(self.wire, context)
    }
}

/// What error messages need to know about the request.
#[derive(Debug, Clone)]
pub struct ErrorContext {
    /// The provider.
    pub row: &'static ProviderSpec,
    /// The model's name.
    pub model: String,
    /// Values that must never be shown: the key.
    pub secrets: Vec<String>,
    /// Tokens that the tool schemas of the request take; 0 when not known.
    pub schema_tokens: usize,
}

impl ErrorContext {
    /// A request to `row`.
    pub fn new(row: &'static ProviderSpec) -> Self {
        Self {
            row,
            model: row.model.to_owned(),
            secrets: Vec::new(),
            schema_tokens: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalog::row;

    fn url(name: &str, base: &str) -> String {
        Dialect::of(row(name).unwrap(), base).url(base)
    }

    #[test]
    fn addresses_are_completed_only_where_they_must_be() {
        for (name, base, want) in [
            ("openai", "https://a/v1", "https://a/v1/chat/completions"),
            (
                "gemini",
                "https://a/openai/",
                "https://a/openai/chat/completions",
            ),
            (
                "openai-compat",
                "https://a/v1/chat/completions",
                "https://a/v1/chat/completions",
            ),
            ("ollama", "http://h:1", "http://h:1/api/chat"),
            ("ollama", "http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("ollama", "http://h:1/api/chat", "http://h:1/api/chat"),
            ("anthropic", "https://a", "https://a/v1/messages"),
            ("anthropic", "https://a/v1", "https://a/v1/messages"),
            (
                "anthropic",
                "https://a/v1/messages/",
                "https://a/v1/messages",
            ),
        ] {
            assert_eq!(url(name, base), want);
        }
        let other = Dialect::of(row("ollama").unwrap(), "http://h")
            .fallback()
            .unwrap();
        assert_eq!(other.url("http://h"), "http://h/v1/chat/completions");
    }

    #[test]
    fn keys_go_where_each_dialect_wants_them() {
        let header = |name: &str, key: Option<&str>, header: &str| {
            Dialect::of(row(name).unwrap(), "")
                .headers(key)
                .into_iter()
                .find_map(|(name, value)| (name == header).then_some(value))
        };
        assert_eq!(
            header("openai", Some("k"), "authorization").as_deref(),
            Some("Bearer k")
        );
        assert_eq!(
            header("anthropic", Some("k"), "x-api-key").as_deref(),
            Some("k")
        );
        assert_eq!(header("anthropic", Some("k"), "authorization"), None);
        assert_eq!(header("ollama", None, "authorization"), None);
    }
}
