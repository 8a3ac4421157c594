//! The end of a run that a program drives before it has begun: the program may still be about to write its first line, and learns more from an answer to it
//! than from a pipe that nobody reads.

use std::io::{self, BufReader};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::bounded;
use serde_json::{Value, json};

use super::line_writer::LineWriter;
use crate::base::problem::Problem;
use crate::formats::json_lines::{MAX_LINE_IN, NextLine, next_line, object};

/// How long the first request is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answers the caller's first request with what went wrong, unless it has closed its side or says nothing.
pub(super) fn answer_initialize(writer: &Arc<LineWriter>, problem: &Problem) {
    let (done, on_done) = bounded::<()>(1);
    let (writer, words) = (Arc::clone(writer), problem.one_line());
    let answer = move || {
        let _done = done;
        let mut input = BufReader::new(io::stdin());
        while let Ok(next) = next_line(&mut input, MAX_LINE_IN) {
            let line = match next {
                NextLine::Line(line) => line,
                NextLine::TooLong => continue,
                NextLine::End => return,
            };
            if let Some(answer) = answer_to(&line, &words) {
                return writer.write_control(&answer);
            }
        }
    };
    let thread = thread::Builder::new().name("caller".to_owned());
    if thread.spawn(answer).is_ok() {
        // Nothing is sent: an error says that it is done, or that the time is over.
        let _ = on_done.recv_timeout(PATIENCE);
    }
}

fn answer_to(line: &[u8], words: &str) -> Option<Value> {
    let request = object(line).ok()?;
    if request.get("type").and_then(Value::as_str) != Some("control_request") {
        return None;
    }
    let response =
        json!({"subtype": "error", "request_id": request.get("request_id")?, "error": words});
    Some(json!({"type": "control_response", "response": response}))
}
