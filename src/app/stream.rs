//! The event sink of the non-interactive mode: text to standard output as it arrives, notices to standard error.
//!
//! Pipes and files get every byte unchanged. On a terminal control characters are made visible instead of executed: models repeat the contents of
//! files and pages.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::escape_controls;
use crate::chat::event::{Event, EventSink, Level, TOOLS_MARKER};
use crate::chat::message::ToolCall;
use crate::chat::pipeline_event::PipelineEvent;
use crate::chat::usage::{credits, exact_dollars};
use crate::tools::engine::context::SessionContext;

/// Writes the answer to standard output and everything else to standard error. Fires the token when the reader closes the pipe.
pub(crate) struct StdoutSink {
    state: Mutex<StreamState>,
    reader_gone: Cancel,
    verbose: bool,
    /// The session whose cost goes to standard error after each model call: a parent that reads it loses none when this process is killed.
    reported: Option<Arc<SessionContext>>,
}

struct StreamState {
    out: File,
    /// Standard output is a terminal.
    terminal: bool,
    line_start: bool,
    /// What comes next belongs to another message of the model.
    has_ended: bool,
    write_error: Option<io::Error>,
}

impl StdoutSink {
    /// Writes to this process's standard output, unbuffered.
    ///
    /// # Errors
    /// Standard output is closed.
    pub(crate) fn new(gone: Cancel, verbose: bool) -> io::Result<Self> {
        let out = File::from(io::stdout().as_fd().try_clone_to_owned()?);
        Ok(Self {
            state: Mutex::new(StreamState {
                terminal: out.is_terminal(),
                out,
                line_start: true,
                has_ended: false,
                write_error: None,
            }),
            reader_gone: gone,
            verbose,
            reported: None,
        })
    }

    /// The same with a cost line after each model call, of this process or of a child. The last one counts.
    pub(crate) fn reporting_cost(mut self, session: Arc<SessionContext>) -> Self {
        self.reported = Some(session);
        self
    }

    fn report_cost(&self) {
        if let Some(session) = &self.reported {
            say(&session.ledger.totals().cost_line());
        }
    }

    /// Ends the last line of the answer.
    ///
    /// # Errors
    /// Why a part of the answer could not be written: `BrokenPipe` when the reader went away.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let mut state = self.lock();
        if !state.line_start {
            self.write(&mut state, "\n");
        }
        state.write_error.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, state: &mut StreamState, text: &str) {
        if state.write_error.is_some() || text.is_empty() {
            return;
        }
        state.line_start = text.ends_with('\n');
        if let Err(reason) = state.out.write_all(text.as_bytes()) {
            state.write_error = Some(reason);
            self.reader_gone.fire();
        }
    }

    fn marker(&self, calls: &[ToolCall]) {
        let mut state = self.lock();
        let names: Vec<String> = calls
            .iter()
            .map(|call| escape_controls(&call.name).replace('\n', " "))
            .collect();
        let newline = if state.line_start { "" } else { "\n" };
        self.write(
            &mut state,
            &format!("{newline}{TOOLS_MARKER}{}\n", names.join(", ")),
        );
    }
}

impl EventSink for StdoutSink {
    fn emit(&self, event: Event) {
        match event {
            Event::Delta(text) => {
                let mut state = self.lock();
                let text = for_reader(&text, state.terminal);
                if std::mem::take(&mut state.has_ended) && !state.line_start {
                    self.write(&mut state, "\n");
                }
                self.write(&mut state, &text);
            }
            Event::ReplyEnded(_) => self.lock().has_ended = true,
            Event::ToolsStarted(calls) => self.marker(&calls),
            Event::Notice(Level::Info | Level::Warning, words) => {
                // A line break in a server's message must not start a line at the margin.
                say(&words.replace('\n', "\n  "));
            }
            Event::ToolDone {
                name, failed, took, ..
            } if self.verbose => {
                say(&format!(
                    "{name} {} in {} ms",
                    if failed { "failed" } else { "ended" },
                    took.as_millis()
                ));
            }
            Event::Turn(turn) => {
                if self.verbose {
                    let cost = match turn.cost > 0.0 {
                        true => format!(", {}", exact_dollars(turn.cost, turn.cost_estimated)),
                        false => String::new(),
                    };
                    say(&format!(
                        "{}: {}{cost}{}",
                        turn.model,
                        turn.tokens.words(),
                        credits(", ", turn.plan.map_or(0.0, |plan| plan.credits))
                    ));
                }
                self.report_cost();
            }
            Event::Pipeline(PipelineEvent::ChildUsage { .. }) => self.report_cost(),
            Event::Thinking(_)
            | Event::CallState { .. }
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::CallChanged { .. }
            | Event::Wait(_)
            | Event::Compacted { .. }
            | Event::ToolDone { .. }
            | Event::Pipeline(_)
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Denied { .. }
            | Event::Reply(_) => {}
        }
    }
}

/// Prints one line on standard error and ignores failures. On a terminal control characters are made visible.
pub(crate) fn say(text: &str) {
    let mut errors = io::stderr().lock();
    let text = for_reader(text, errors.is_terminal());
    let _ = writeln!(errors, "{text}");
}

/// Writes a whole text to standard output.
///
/// # Errors
/// It is closed, or the disk behind it is full.
pub(crate) fn write_out(text: &str) -> Outcome<()> {
    let mut out = io::stdout().lock();
    let text = for_reader(text, out.is_terminal());
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Problem::system("Cannot write to standard output", error))
}

/// `text` for output: on a terminal with visible control characters.
pub(crate) fn for_reader(text: &str, is_terminal: bool) -> Cow<'_, str> {
    if is_terminal {
        escape_controls(&text.replace("\r\n", "\n")).into()
    } else {
        text.into()
    }
}
