//! Floor 0: what every other floor stands on. No input or output policy, and no knowledge of Marvin's domain.

pub mod cancel;
pub mod clock;
#[cfg(test)]
pub(crate) mod cpu_time;
pub mod env;
pub mod ids;
pub mod json;
pub mod marks;
pub mod open;
pub mod params;
pub mod patterns;
pub mod problem;
pub mod redact;
pub mod text;
pub mod zones;
