//! Floor 0: used by every other floor. No input or output policy, and no knowledge of Marvin's domain.
//!
//! Problems and how they are worded, cancel tokens, the environment, time and zones, parameters declared once, and what texts need: cutting, matching,
//! masking. It opens files only to read what a caller names, and zones; it knows no other floor: not that there are models, tools or sessions.

pub(crate) mod bm25;
pub(crate) mod cancel;
pub(crate) mod clock;
#[cfg(test)]
pub(crate) mod cpu_time;
pub(crate) mod embedding;
pub(crate) mod env;
pub(crate) mod fuzzy;
pub(crate) mod ids;
pub(crate) mod json;
pub(crate) mod marks;
pub(crate) mod open;
pub(crate) mod own_command;
pub(crate) mod params;
pub(crate) mod patterns;
pub(crate) mod pauses;
pub(crate) mod problem;
pub(crate) mod redact;
pub(crate) mod shared_sort;
pub(crate) mod template;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod text;
pub(crate) mod variables;
pub(crate) mod word_list;
pub(crate) mod words;
pub(crate) mod zones;
