//! Marvin: a terminal assistant, a coding agent and a sub-agent, in one binary.

pub mod base;
