//! Response bytes to reply: [`framing`] cuts a stream into events, [`payload`] has one of them read, and repaired where only its encoding is wrong, by the file
//! for its wire ([`dialects`]), [`draft`] joins the pieces. [`half_character`] is about what was split between two of them.

mod anthropic;
mod billed;
mod called_function;
mod calls;
mod decode;
mod details;
mod dialects;
mod draft;
mod framing;
mod half_character;
mod lenient;
mod ollama;
mod openai;
mod output_items;
mod payload;
mod repair_json;
mod responses;
mod template;
mod think;
mod thinking;

pub(super) use output_items::{SavedItem, SavedOutput};

pub(crate) use decode::{DecodeProgress, Decoder};

#[cfg(test)]
mod quirks;
#[cfg(test)]
mod recordings;
