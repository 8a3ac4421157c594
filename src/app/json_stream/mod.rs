//! The JSON form of a non-interactive run: what happens as lines on standard output, and what a calling program says as lines on standard input. It is the form
//! that the Claude Agent SDKs speak with the program they start (<https://docs.anthropic.com/en/docs/claude-code/sdk>).
//!
//! [`run`] answers one message after the other. [`answer_lines`] makes lines of a turn's events, [`init_line`] and [`result_line`] are what stands before and
//! behind them, [`line_writer`] writes them. [`caller`] reads the lines in: messages are queued, [`control`] requests are answered at once, also during a turn,
//! and [`initialize`] is the one that sets a conversation up.
//! Called by [`crate::app::headless`]; no tool is known here by its name.

pub(crate) mod answer_lines;
mod answer_queue;
pub(crate) mod caller;
mod caller_servers;
pub(crate) mod child_lines;
mod content_blocks;
mod control;
mod early_end;
mod hook_callbacks;
pub(crate) mod init_line;
mod initialize;
mod line_forms;
pub(crate) mod line_writer;
mod model_wish;
mod permission_questions;
pub(crate) mod result_line;
pub(crate) mod run;
mod structured;
mod tool_schema;
mod user_line;

use std::sync::Arc;

use crate::base::cancel::Cancel;
use crate::base::problem::Problem;

/// Writes the result of a run that could not begin. `is_driven` says that a program writes lines to it.
pub(crate) fn tell_failure(problem: &Problem, is_driven: bool) {
    if let Ok(writer) = line_writer::LineWriter::new(Cancel::new()) {
        end_early(&Arc::new(writer), problem, is_driven);
    }
}

/// Writes the result of a run in which no turn began.
pub(crate) fn end_early(writer: &Arc<line_writer::LineWriter>, problem: &Problem, is_driven: bool) {
    result_line::write_failure(writer, problem);
    if is_driven {
        early_end::answer_initialize(writer, problem);
    }
}
