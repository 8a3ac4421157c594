//! Response bytes to reply.

mod anthropic;
mod calls;
mod decode;
mod details;
mod draft;
mod framing;
mod lenient;
mod ollama;
mod openai;
mod repair_json;
mod template;
mod think;
mod thinking;

pub(crate) use decode::{Decoder, Progress};

#[cfg(test)]
mod quirks;
#[cfg(test)]
mod recordings;
