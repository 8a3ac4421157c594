//! The dialects: from conversation to request body, and from response bytes to reply. Pure; sockets are elsewhere.
//!
//! `write` has a file for each wire's requests, `read` one for each stream, `errors` what a refusal says, `optional` the fields that a gateway may not know.
//! The provider calls them with bytes and gets pieces of a reply; no dialect sees a sink or a tool.

pub(crate) mod errors;
pub(crate) mod optional;
pub(crate) mod read;
pub(crate) mod write;

pub(crate) use super::catalog::Wire;
use super::catalog::{OPENROUTER, ProviderSpec, Quirks, variable};
use super::models::WireRule;
use super::provider::Request;
use optional::{OptionalMember, OptionalMembers};
use read::Decoder;

const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Where `openai-compat` leads to unless told otherwise.
const OPENROUTER_ORIGIN: &str = "https://openrouter.ai/";

/// A provider, and how to talk to it.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// The provider.
    pub row: &'static ProviderSpec,
    /// The wire.
    pub wire: Wire,
    /// Deviations of the server at the address, which may be another than the provider's own.
    pub quirks: Quirks,
    /// Whether to ask for reasoning summaries, where the wire has them; OpenAI provides them only to verified organizations.
    pub summaries: bool,
    /// Optional members that the server has refused.
    pub(crate) without: OptionalMembers,
}

impl Dialect {
    /// The dialect of `row` at the address `base`. A complete address implies its wire, and an address of Ollama that ends in `/v1` means its
    /// OpenAI-compatible API.
    pub fn of(row: &'static ProviderSpec, base: &str) -> Self {
        let base = base.trim_end_matches('/');
        let compatible = row.wire != Wire::Anthropic;
        let wire = if compatible && base.ends_with(path(Wire::Responses)) {
            Wire::Responses
        } else if compatible && base.ends_with(path(Wire::Completions))
            || row.wire == Wire::Ollama && base.ends_with("/v1")
        {
            Wire::Completions
        } else {
            row.wire
        };
        let at_openrouter = row.wire == Wire::Completions && base.starts_with(OPENROUTER_ORIGIN);
        Self {
            row,
            wire,
            quirks: if at_openrouter {
                OPENROUTER
            } else {
                row.quirks
            },
            summaries: row.quirks.openai_options,
            without: OptionalMembers::default(),
        }
    }

    /// The same without some of the optional members.
    pub(crate) fn without(self, members: OptionalMembers) -> Self {
        Self {
            without: self.without.and(members),
            ..self
        }
    }

    /// The dialect for one of the provider's models: some are served over one of OpenAI's wires only.
    pub(crate) fn for_model(self, base: &str, rule: WireRule) -> Self {
        if base.trim_end_matches('/').ends_with(path(self.wire)) {
            return self;
        }
        match (self.wire, rule) {
            (Wire::Responses, WireRule::CompletionsOnly) => self.over(Wire::Completions),
            (Wire::Completions, WireRule::ResponsesOnly) if self.row.quirks.both_wires => {
                self.over(Wire::Responses)
            }
            _ => self,
        }
    }

    /// The same provider over another wire.
    pub fn over(self, wire: Wire) -> Self {
        Self { wire, ..self }
    }

    /// Whether a request may have tools and forbid to call them; some servers that imitate OpenAI refuse or ignore that.
    pub(crate) fn can_forbid_calls(self) -> bool {
        let takes = match self.wire {
            Wire::Anthropic => true,
            Wire::Completions | Wire::Responses => self.quirks.openai_options,
            Wire::Ollama => false,
        };
        takes && !self.without.has(OptionalMember::ToolChoice)
    }

    /// The wire to try when the path of this one does not exist: servers in Ollama's place, and many that claim to be compatible with OpenAI, know
    /// only chat completions.
    pub fn fallback(self) -> Option<Wire> {
        matches!(self.wire, Wire::Ollama | Wire::Responses).then_some(Wire::Completions)
    }

    /// The address for requests. `base` is a base or the complete address.
    pub fn url(self, base: &str) -> String {
        let base = base.trim_end_matches('/');
        let versioned = base.ends_with("/v1");
        let path = path(self.wire);
        if base.ends_with(path) {
            return base.to_owned();
        }
        // The complete address of the other wire of the same server.
        let base = [Wire::Completions, Wire::Responses]
            .into_iter()
            .find_map(|wire| base.strip_suffix(self::path(wire)))
            .unwrap_or(base);
        match (self.wire, self.row.wire) {
            (Wire::Completions | Wire::Responses, Wire::Ollama) if !versioned => {
                format!("{base}/v1{path}")
            }
            (Wire::Anthropic, _) if !versioned => format!("{base}{path}"),
            (Wire::Anthropic, _) => format!("{base}/messages"),
            _ => format!("{base}{path}"),
        }
    }

    /// The headers of a request, in addition to the usual HTTP ones.
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
            (Some(key), Wire::Completions | Wire::Responses | Wire::Ollama) => {
                headers.push(("authorization", format!("Bearer {key}")));
            }
        }
        headers
    }

    pub(crate) fn body(self, request: &Request<'_>) -> Vec<u8> {
        write::body(self, request)
    }

    /// A decoder for the response to one request.
    pub fn decoder(self, context: ErrorContext) -> Decoder {
        Decoder::new(self.wire, context)
    }
}

/// The path that a complete address ends in.
const fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Completions => "/chat/completions",
        Wire::Responses => "/responses",
        Wire::Ollama => "/api/chat",
        Wire::Anthropic => "/v1/messages",
    }
}

/// What error messages need to know about the request.
#[derive(Debug, Clone)]
pub struct ErrorContext {
    /// The provider.
    pub row: &'static ProviderSpec,
    /// The name of the model.
    pub model: String,
    /// When the model ended and what to take instead, where that is known.
    pub successor: Option<String>,
    /// Values that must never be shown, such as the key.
    pub secrets: Vec<String>,
    /// Tokens of the tool schemas in the request; 0 if unknown.
    pub schema_tokens: usize,
    /// The variable to look at when the address is wrong.
    pub url_variable: String,
    /// The name under which the provider knows the request.
    pub request_id: Option<String>,
}

impl ErrorContext {
    /// A request to `row`.
    pub fn new(row: &'static ProviderSpec) -> Self {
        Self {
            row,
            model: row.model.to_owned(),
            successor: None,
            secrets: Vec::new(),
            schema_tokens: 0,
            url_variable: variable(row.name, "URL"),
            request_id: None,
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
            ("openai", "https://a/v1", "https://a/v1/responses"),
            (
                "openai",
                "https://a/v1/responses/",
                "https://a/v1/responses",
            ),
            (
                "openai",
                "https://a/v1/chat/completions",
                "https://a/v1/chat/completions",
            ),
            (
                "openai-compat",
                "https://a/v1/responses",
                "https://a/v1/responses",
            ),
            ("groq", "https://a/v1", "https://a/v1/chat/completions"),
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
        let other = |name: &str, base: &str| {
            let dialect = Dialect::of(row(name).unwrap(), base);
            dialect.over(dialect.fallback().unwrap()).url(base)
        };
        assert_eq!(other("ollama", "http://h"), "http://h/v1/chat/completions");
        assert_eq!(
            other("openai", "http://h/v1"),
            "http://h/v1/chat/completions"
        );
        assert_eq!(
            other("openai-compat", "http://h/v1/responses"),
            "http://h/v1/chat/completions"
        );
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
