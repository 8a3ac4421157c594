//! The JSON form of a non-interactive run: what happens as lines on standard output, and what a calling program says as lines on standard input. It is the form
//! that the Claude Agent SDKs speak with the program they start (<https://docs.anthropic.com/en/docs/claude-code/sdk>).
//!
//! [`run`] answers one message after the other. [`answer_lines`] makes lines of a turn's events, [`init_line`] and [`result_line`] are what stands before and behind
//! them, [`line_writer`] writes them. [`caller`] reads the lines in: messages are queued, [`control`] requests are answered at once, also during a turn.
//! Called by [`crate::app::headless`]; no tool is known here by its name.

pub(crate) mod answer_lines;
pub(crate) mod caller;
mod caller_servers;
pub(crate) mod child_lines;
mod content_blocks;
mod control;
mod hook_callbacks;
pub(crate) mod init_line;
mod line_forms;
pub(crate) mod line_writer;
mod model_wish;
mod permission_questions;
pub(crate) mod result_line;
pub(crate) mod run;
mod structured;
mod user_line;

use crate::base::cancel::Cancel;
use crate::base::problem::Problem;

/// Writes the result of a run that could not begin.
pub(crate) fn tell_failure(problem: &Problem) {
    if let Ok(writer) = line_writer::LineWriter::new(Cancel::new()) {
        result_line::write_failure(&writer, problem);
    }
}
