//! Response bytes to reply.

mod anthropic;
mod calls;
mod decode;
mod details;
mod draft;
mod framing;
mod loose;
mod mend;
mod ollama;
mod openai;
mod template;
mod think;

pub use decode::{Decoder, Progress};

#[cfg(test)]
mod quirks;
#[cfg(test)]
mod recordings;
