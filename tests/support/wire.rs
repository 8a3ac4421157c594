//! Bodies of the providers' answers: their formats, our own texts.

pub mod anthropic;
pub mod ollama;
pub mod openai;
pub mod responses;

/// Cuts text into pieces of at most `size` characters, as a streaming server would.
pub fn pieces(text: &str, size: usize) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    all.chunks(size.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}
