//! The dialects: conversation to request body, and response bytes to reply. Pure; sockets are elsewhere.

/// A dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat completions, as OpenAI and everyone compatible with it speak it.
    OpenAi,
    /// Ollama's own `/api/chat`.
    Ollama,
    /// Anthropic's messages.
    Anthropic,
}
