//! Marvin: a terminal assistant, a coding agent and a sub-agent, in one binary.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing
    )
)]

pub mod base;
pub mod chat;
pub mod llm;
