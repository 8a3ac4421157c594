//! Reads what the user types: with rustyline on a terminal, line by line from anything else.

use std::io::{self, BufRead, ErrorKind, Read};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustyline::completion::{Completer, Pair};
use rustyline::config::{BellStyle, Configurer};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyEvent, RepeatCount,
};

use super::ahead::{ReadLine, TypedAhead};
use super::print::Printer;
use crate::base::variables::NO_COLOR;
use crate::tools::engine::context::SessionContext;
use crate::ui::editor::complete::{Completeness, word};
use crate::ui::sources::Candidates;
use crate::ui::text::width;

/// Longest line accepted from a pipe.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// The text of the line when a key other than Enter ended it.
#[derive(Debug, Default, Clone)]
pub(super) struct UnsentInput {
    text: String,
    /// Bytes before the cursor.
    at: usize,
    /// Ctrl-D was pressed, which leaves from an empty line only.
    end: bool,
}

/// Saves the line when Ctrl-C or Ctrl-D ends it; rustyline would drop it.
struct KeepLine {
    unsent: Arc<Mutex<UnsentInput>>,
    end: bool,
}

impl ConditionalEventHandler for KeepLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, now: &EventContext<'_>) -> Option<Cmd> {
        if now.line().is_empty() {
            return None;
        }
        *self.unsent.lock().unwrap_or_else(PoisonError::into_inner) = UnsentInput {
            text: now.line().to_owned(),
            at: now.pos(),
            end: self.end,
        };
        Some(Cmd::Interrupt)
    }
}

/// Completion of the input line, by the same rules as on the full screen.
pub(super) struct LineCompleter(Arc<SessionContext>);

impl Completer for LineCompleter {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let Some(word) = word(line, at) else {
            return Ok((at, Vec::new()));
        };
        let sources = Candidates(&self.0);
        let found = word.candidates(&sources);
        // rustyline inserts the common prefix of all candidates, so those that only contain the word are offered only when none begins with it.
        let typed = word.typed.to_lowercase();
        let begins = |one: &&String| one.to_lowercase().starts_with(&typed);
        let some = found.iter().any(|one| begins(&one));
        let abouts = word.abouts(&found, &sources);
        let kept = found
            .iter()
            .zip(abouts)
            .filter(|(one, _)| !some || begins(one));
        let columns = kept
            .clone()
            .map(|(one, _)| width::of(one))
            .max()
            .unwrap_or(0);
        let shown = kept.map(|(one, about)| Pair {
            display: match about {
                Some(about) => format!("{one:columns$}  {about}"),
                None => one.clone(),
            },
            replacement: word.written(one, Completeness::Yes),
        });
        Ok((word.start, shown.collect()))
    }
}

impl Hinter for LineCompleter {
    type Hint = String;
}

impl Highlighter for LineCompleter {}
impl Validator for LineCompleter {}
impl Helper for LineCompleter {}

/// Handles a Ctrl-D that was pressed while an answer came: the system keeps it as a mark for an end of input, and rustyline reads it as a NUL when it starts. A
/// later NUL is a key (Ctrl-Space).
struct EarlyEnd(Arc<Mutex<Instant>>);

/// Text that is present this soon after the prompt was typed ahead.
const TYPED_AHEAD_WINDOW: Duration = Duration::from_millis(200);

impl ConditionalEventHandler for EarlyEnd {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, now: &EventContext<'_>) -> Option<Cmd> {
        let line_start = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Some(
            if now.line().is_empty() && line_start.elapsed() < TYPED_AHEAD_WINDOW {
                Cmd::EndOfFile
            } else {
                Cmd::Noop
            },
        )
    }
}

/// Where lines come from.
pub(super) enum LineSource {
    Terminal {
        editor: Box<Editor<LineCompleter, MemHistory>>,
        /// It is one that rustyline edits lines on.
        edits: bool,
        unsent: Arc<Mutex<UnsentInput>>,
        /// When the current line was started.
        line_start: Arc<Mutex<Instant>>,
        /// How much of the history the editor has.
        known: bool,
    },
    /// A pipe, a file, or a terminal that rustyline cannot drive.
    Lines,
}

impl LineSource {
    /// Lines of a `terminal`, on which rustyline `edits` them, or not.
    pub(super) fn new(terminal: bool, edits: bool, context: &Arc<SessionContext>) -> Self {
        let colours = NO_COLOR.read(&context.env).is_none();
        let config = Config::builder().max_history_size(1_000).map(|config| {
            config
                .auto_add_history(true)
                .bracketed_paste(true)
                .bell_style(BellStyle::None)
                .completion_type(CompletionType::List)
                .build()
        });
        let editor = config.and_then(|config| Editor::with_history(config, MemHistory::new()));
        match editor {
            Ok(mut editor) if terminal => {
                editor.set_helper(Some(LineCompleter(Arc::clone(context))));
                let unsent = Arc::new(Mutex::default());
                for (key, end) in [('c', false), ('d', true)] {
                    let keep = KeepLine {
                        unsent: Arc::clone(&unsent),
                        end,
                    };
                    let keep = EventHandler::Conditional(Box::new(keep));
                    editor.bind_sequence(KeyEvent::ctrl(key), keep);
                }
                if !colours {
                    editor.set_color_mode(rustyline::ColorMode::Disabled);
                }
                let line_start = Arc::new(Mutex::new(Instant::now()));
                let early = EarlyEnd(Arc::clone(&line_start));
                let early = EventHandler::Conditional(Box::new(early));
                editor.bind_sequence(KeyEvent::ctrl('@'), early);
                Self::Terminal {
                    editor: Box::new(editor),
                    edits,
                    unsent,
                    line_start,
                    known: false,
                }
            }
            _ => Self::Lines,
        }
    }

    /// Whether rustyline edits the lines of a terminal.
    pub(super) fn edits_lines(&self) -> bool {
        matches!(self, Self::Terminal { edits: true, .. })
    }

    /// Gives the editor the history, the first time.
    pub(super) fn remember(&mut self, history: impl FnOnce() -> Vec<String>) {
        if let Self::Terminal { editor, known, .. } = self
            && !std::mem::replace(known, true)
        {
            for entry in history() {
                let _ = editor.add_history_entry(entry.replace('\n', " "));
            }
        }
    }

    /// Reads the next line. On a terminal rustyline prints the prompt; text that was typed ahead or comes from a pipe is printed after it, so that the output
    /// reads as a conversation.
    pub(super) fn line(
        &mut self,
        prompt: &str,
        ahead: &mut TypedAhead,
        printer: &mut Printer,
    ) -> ReadLine {
        if let Some(text) = ahead.line() {
            printer.echo(prompt, &text);
            if let Self::Terminal { editor, .. } = self {
                let _ = editor.add_history_entry(text.as_str());
            }
            return ReadLine::Text(text);
        }
        match self {
            Self::Terminal {
                editor,
                edits,
                unsent,
                line_start,
                ..
            } => {
                let (mut left, mut right) = (ahead.draft(), String::new());
                if !*edits {
                    tell_unsent(&left, printer);
                }
                loop {
                    *line_start.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
                    let line = editor.readline_with_initial(prompt, (&left, &right));
                    (left, right) = (String::new(), String::new());
                    match line {
                        Ok(text) => return ReadLine::Text(text),
                        Err(ReadlineError::Interrupted) => {
                            let kept = std::mem::take(
                                &mut *unsent.lock().unwrap_or_else(PoisonError::into_inner),
                            );
                            if !kept.end {
                                // After Ctrl-C cleared the line, it can be recalled.
                                let _ = editor.add_history_entry(kept.text);
                                return ReadLine::Interrupted;
                            }
                            printer.system("Ctrl-D quits on an empty line.");
                            right = kept.text.get(kept.at..).unwrap_or_default().to_owned();
                            left = kept.text.get(..kept.at).unwrap_or_default().to_owned();
                        }
                        // The watch handles signals.
                        Err(error) if is_signal(&error) => {}
                        Err(_) => return ReadLine::End,
                    }
                }
            }
            Self::Lines => {
                tell_unsent(&ahead.draft(), printer);
                let line = next_line();
                if let ReadLine::Text(text) = &line {
                    printer.echo(prompt, text);
                }
                line
            }
        }
    }
}

/// Says what was not sent, where it cannot be put into the line for the user to change.
fn tell_unsent(draft: &str, printer: &mut Printer) {
    if !draft.is_empty() {
        printer.system(&format!("Not sent: {draft}"));
    }
}

fn is_signal(error: &ReadlineError) -> bool {
    match error {
        ReadlineError::Signal(_) => true,
        ReadlineError::Io(reason) => reason.kind() == ErrorKind::Interrupted,
        ReadlineError::Errno(reason) => io::Error::from(*reason).kind() == ErrorKind::Interrupted,
        _ => false,
    }
}

fn next_line() -> ReadLine {
    let mut bytes = Vec::new();
    let read = io::stdin()
        .lock()
        .take(MAX_LINE_BYTES)
        .read_until(b'\n', &mut bytes);
    match read {
        Ok(0) | Err(_) => ReadLine::End,
        Ok(_) => {
            let text = String::from_utf8_lossy(&bytes);
            ReadLine::Text(text.trim_end_matches(['\n', '\r']).to_owned())
        }
    }
}
