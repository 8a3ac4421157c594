//! Writes the conversation as lines: labels, no cursor movement, no control sequences from outside.
//!
//! A line that begins in the first columns is Marvin's own. The further lines of everything after a label (answers, output, notices) are indented, so text
//! that contains "[System] " or a prompt on a line of its own cannot be mistaken for one; [`super::rows`] does that.

mod calls;

use std::io::{self, Write};
use std::time::{Duration, Instant};

use ratatui::style::Style;

use super::rows::{RowBreaker, TextKind};
use super::silence::Silence;
use crate::app::help;
use crate::app::session::ui_update::{PendingQuestion, TurnOutcome, UiUpdate, VoiceUpdate};
use crate::app::sessions::list::{self, SessionRow};
use crate::app::sessions::transcript::{TranscriptContent, TranscriptEntry};
use crate::app::theme_choice::ThemeChoice;
use crate::base::env::Env;
use crate::base::problem::Problem;
use crate::base::text;
use crate::base::variables::NO_COLOR;
use crate::chat::event::Event;
use crate::chat::reply_event::ReplyEvent;
use crate::store::chat_log::{LogEntry, LogRole};
use crate::tools::engine::registry::Registry;
use crate::ui::HELP_TABLES;
use crate::ui::term::{ansi_writer, tty};
use crate::ui::text::clean::{Cleaner, clean};
use crate::ui::text::meter;
use crate::ui::text::theme::palette::{self, Background};
use crate::ui::text::theme::{ColorMode, Theme};
use crate::ui::text::width;
use crate::ui::tool_call::CallOutcome;
use calls::OpenCalls;

/// How long a part of a word is held while nothing follows.
const HOLD_TIME: Duration = Duration::from_millis(300);

/// Writes the updates of a session.
pub(super) struct Printer {
    /// Standard output is a terminal.
    terminal: bool,
    theme: Theme,
    /// The terminal's, if it says so.
    background: Option<Background>,
    cleaner: Cleaner,
    /// The label of the answer has been written.
    answering: bool,
    /// The user wants to see what the model thinks.
    shows_thinking: bool,
    /// What it is thinking now; `None` while it thinks nothing that is shown.
    thinking: Option<Cleaner>,
    line_start: bool,
    rows: RowBreaker,
    silence: Silence,
    calls: OpenCalls,
    /// The call whose announcement is the last row that was written.
    row_above: Option<String>,
    /// When the part of a word that is held is shown, if nothing follows.
    held_until: Option<Instant>,
    /// The reader of standard output is gone.
    reader_gone: bool,
}

impl Printer {
    pub(super) fn new(terminal: bool, env: &Env, choice: ThemeChoice) -> Self {
        let mode = ColorMode::detect(NO_COLOR.read(env), env.get("TERM"), env.get("COLORTERM"));
        let mode = if terminal { mode } else { ColorMode::None };
        let background = env.get("COLORFGBG").and_then(Background::of_variable);
        Self {
            terminal,
            background,
            theme: Theme::choose(mode, choice, background),
            cleaner: Cleaner::default(),
            answering: false,
            shows_thinking: false,
            thinking: None,
            line_start: true,
            rows: RowBreaker::default(),
            silence: Silence::default(),
            calls: OpenCalls::default(),
            row_above: None,
            held_until: None,
            reader_gone: false,
        }
    }

    /// True when the reader of standard output is gone.
    pub(super) fn reader_is_gone(&self) -> bool {
        self.reader_gone
    }

    pub(super) fn system(&mut self, words: &str) {
        self.labelled("[System] ", self.theme.system, words);
    }

    /// An error, with its facts.
    pub(super) fn error(&mut self, problem: &Problem) {
        self.error_line(&problem.one_line());
        if let Some(facts) = &problem.facts {
            self.block(facts);
        }
    }

    fn error_line(&mut self, words: &str) {
        self.labelled("[Error] ", self.theme.error, words);
    }

    /// Echoes input from a pipe, after its prompt.
    pub(super) fn echo(&mut self, prompt: &str, text: &str) {
        self.labelled(prompt, self.theme.you, text);
    }

    pub(super) fn end_line(&mut self) {
        self.end_word();
        if !self.line_start {
            self.write("\n");
        }
    }

    /// What Marvin wants to do, before the user is asked.
    pub(super) fn question(&mut self, question: &PendingQuestion) {
        self.silence.end();
        self.announce_calls();
        let request = &question.request;
        // The directory is on Marvin's own line: a command could contain a line that looks like one.
        let place = request.dir().map_or_else(String::new, |dir| {
            let dir = text::escape_controls(&dir.display().to_string()).replace('\n', "\\n");
            format!(" in {dir}")
        });
        self.system(&format!("Marvin wants to {}{place}:", request.act()));
        self.block(&request.text());
    }

    /// Writes the prompt of a question, after which the answer is typed; call [`Printer::answered`] afterwards.
    pub(super) fn ask(&mut self, words: &str) {
        self.end_line();
        self.write(words);
    }

    /// Enter was typed after a question: the cursor is on a new line.
    pub(super) fn answered(&mut self) {
        self.line_start = true;
        self.rows.start_line();
    }

    /// Shows an update of a session with the tools of `registry`.
    pub(super) fn show(&mut self, show: UiUpdate, registry: &Registry) {
        if self.terminal {
            self.follow_silence(&show);
        }
        match show {
            UiUpdate::EarlierConversation(entries) => {
                entries.iter().for_each(|entry| self.after(entry));
            }
            UiUpdate::SessionOpened(entries) => {
                for entry in entries {
                    self.transcript(entry, registry);
                }
            }
            UiUpdate::ChooseSession { rows, .. } => self.block(&list::table(&rows, false)),
            UiUpdate::Choose(list) | UiUpdate::Offer(list) => self.block(&list.listing),
            UiUpdate::UserMessage {
                text, spoken: true, ..
            } => self.labelled("You (spoken): ", self.theme.you, &text),
            // The line is already on the screen, or was printed when it was read.
            UiUpdate::UserMessage { .. } => {}
            UiUpdate::Voice(update) => self.voice(update),
            UiUpdate::Event(event) => self.event(event, registry),
            UiUpdate::AnswerEnd(end) => {
                self.stop_calls();
                self.end_line();
                self.answering = false;
                self.thinking = None;
                self.cleaner = Cleaner::default();
                if end == TurnOutcome::Stopped {
                    self.system("Stopped.");
                }
            }
            UiUpdate::Failed(problem) => self.error(&problem),
            UiUpdate::System(words) | UiUpdate::Remark(words) => self.system(&words),
            UiUpdate::ToggleThinking => {
                self.shows_thinking = !self.shows_thinking;
                let words = match self.shows_thinking {
                    true => "What the model thinks is shown.",
                    false => "What the model thinks is hidden.",
                };
                self.system(words);
            }
            UiUpdate::Theme(choice) => {
                let mode = self.theme.mode;
                self.theme = Theme::choose(mode, choice, self.background);
                if let Some(words) = palette::limitation(mode, choice) {
                    self.system(words);
                }
            }
            UiUpdate::Alert(words) => {
                self.ring("\x07");
                self.system(&words);
            }
            UiUpdate::Listing(listing) => self.block(&listing),
            UiUpdate::Help(topic) => self.block(&help::plain(topic, &HELP_TABLES)),
            UiUpdate::CommandOutput {
                command,
                output,
                background: true,
            } => self.block(&format!("$ {command} &\n{output}")),
            UiUpdate::CommandOutput { output, .. } => self.block(&output),
            UiUpdate::Undone(said) => {
                let words = format!("Undone: {}", text::clip(&said, 200));
                self.system(&words);
            }
            UiUpdate::Profile(_)
            | UiUpdate::StatusChanged
            | UiUpdate::FilesFound(_)
            | UiUpdate::Unsent(_)
            | UiUpdate::Insert(_)
            | UiUpdate::Mention(_)
            | UiUpdate::Copied(_)
            | UiUpdate::Ask(_)
            | UiUpdate::AskOver
            | UiUpdate::Edit(_)
            | UiUpdate::Prompt(_)
            | UiUpdate::RunProgram(_)
            | UiUpdate::Leave(_) => {}
        }
    }

    fn event(&mut self, event: Event, registry: &Registry) {
        match event {
            // Some models begin or end with blanks only: no entry for those.
            Event::Delta(piece) if !self.answering && piece.trim().is_empty() => {}
            Event::Delta(piece) => {
                let mut safe = String::with_capacity(piece.len());
                self.cleaner.push(&piece, &mut safe);
                self.thinking = None;
                if !std::mem::replace(&mut self.answering, true) {
                    self.end_line();
                    self.label("Marvin: ", self.theme.assistant);
                    self.rows.begin(TextKind::Prose);
                }
                self.piece(&safe);
            }
            Event::Thinking(piece) if self.shows_thinking => self.think(&piece),
            Event::ToolsStarted(calls) => self.begin_calls(&calls, registry),
            Event::CallState { id, state } => self.calls.set_state(&id, state, Instant::now()),
            Event::CallChanged { id, args } => self.calls.change(&id, &args, registry),
            Event::ToolDone {
                id,
                name,
                end,
                took,
                answered_by,
                text,
                display,
                ..
            } => {
                let outcome = CallOutcome::new(end, took, &text, display);
                self.end_call(&id, &name, &outcome.answered_by(&answered_by));
            }
            Event::Notice(_, words) => {
                let end = self.silence.notice_end();
                self.system(&format!("{words}{end}"));
            }
            // What comes next is another message.
            Event::ReplyEnded(_) => self.begin_row(),
            Event::Thinking(_)
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::Wait(_)
            | Event::Turn(_)
            | Event::Compacted { .. }
            | Event::Pipeline(_)
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Denied { .. }
            | Event::Reply(
                ReplyEvent::Draft { .. } | ReplyEvent::DraftDropped | ReplyEvent::Plan { .. },
            ) => {}
            Event::Reply(ReplyEvent::Trace { text }) => self.trace(&text),
        }
    }

    /// Notices whether an answer is awaited.
    fn follow_silence(&mut self, show: &UiUpdate) {
        let now = Instant::now();
        match show {
            UiUpdate::UserMessage { .. } => self.silence.begin(now),
            UiUpdate::Event(Event::Wait(wait)) => self.silence.wait(wait, now),
            UiUpdate::Event(Event::Thinking(_)) if !self.shows_thinking => self.silence.think(now),
            UiUpdate::Event(Event::Delta(piece) | Event::Thinking(piece))
                if piece.trim().is_empty() => {}
            UiUpdate::Event(Event::Delta(_) | Event::Thinking(_) | Event::ToolsStarted(_))
            | UiUpdate::AnswerEnd(_) => self.silence.end(),
            _ => {}
        }
    }

    /// Nothing is awaited any more.
    pub(super) fn end_silence(&mut self) {
        self.silence.end();
    }

    /// When one of [`Printer::show_held`], [`Printer::tell_wait`] and [`Printer::announce_slow_calls`] is due.
    pub(super) fn due(&self) -> Option<Instant> {
        [self.held_until, self.silence.due(), self.calls.due()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Says what is awaited, if that takes long.
    pub(super) fn tell_wait(&mut self) {
        if let Some(words) = self.silence.words(Instant::now()) {
            self.system(&words);
        }
    }

    /// A piece of what the model thinks, after a label of its own.
    fn think(&mut self, piece: &str) {
        if self.thinking.is_none() && piece.trim().is_empty() {
            return;
        }
        if self.thinking.is_none() {
            self.end_line();
            self.answering = false;
            self.label("thinking: ", self.theme.dim);
            self.rows.begin(TextKind::Prose);
        }
        let mut safe = String::with_capacity(piece.len());
        let cleaner = self.thinking.get_or_insert_default();
        cleaner.push(piece, &mut safe);
        self.piece(&safe);
    }

    /// Writes the terminal's bell, where there is one.
    pub(super) fn ring(&mut self, bell: &str) {
        if self.terminal {
            // The cursor stays, and so does what the line has.
            let is_start = self.line_start;
            self.write(bell);
            self.line_start = is_start;
        }
    }

    /// A recording. On a terminal its meter grows on a line of its own.
    fn voice(&mut self, update: VoiceUpdate) {
        match update {
            VoiceUpdate::Recording { seconds } => {
                let limit =
                    seconds.map_or_else(String::new, |seconds| format!(", at most {seconds} s"));
                let keys = match (self.terminal, seconds) {
                    (false, _) => ".",
                    (true, Some(_)) => ". Any key ends it, Ctrl-C drops it.",
                    (true, None) => ". Enter sends, typing pauses, Ctrl-C ends voice mode.",
                };
                self.system(&format!("Recording{limit}{keys}"));
            }
            VoiceUpdate::Level { step } if self.terminal => {
                self.foreign_text(TextKind::Verbatim, &meter::column(step).to_string());
            }
            VoiceUpdate::Level { .. } => {}
            VoiceUpdate::Transcribing => {
                self.end_line();
                self.system("Writing down what you said.");
            }
            VoiceUpdate::Ended => self.end_line(),
        }
    }

    /// A line about what the reply flow does: on standard error, because standard output is the conversation.
    fn trace(&mut self, text: &str) {
        if self.terminal {
            self.end_line();
            self.answering = false;
        }
        // Whoever closed standard error does not want to see it.
        let _ = writeln!(io::stderr(), "{}", clean(text.trim_end()));
    }

    /// A numbered list of sessions.
    pub(super) fn sessions(&mut self, rows: &[SessionRow]) {
        self.block(&list::table(rows, true));
    }

    fn transcript(&mut self, entry: TranscriptEntry, registry: &Registry) {
        let said = |role, text| LogEntry {
            role,
            text,
            time: entry.time,
            at: None,
        };
        match entry.content {
            TranscriptContent::User(text) => self.after(&said(LogRole::You, text)),
            TranscriptContent::Assistant(text) => self.after(&said(LogRole::Assistant, text)),
            TranscriptContent::Call(past) => self.past_call(&past, registry),
            TranscriptContent::Command { command, output } => {
                self.block(&format!("$ {command}\n{output}"));
            }
            TranscriptContent::Stopped => self.system("Stopped."),
            TranscriptContent::Error(text) => self.error_line(&text),
            TranscriptContent::Notice(text) => self.system(&text),
        }
    }

    fn after(&mut self, entry: &LogEntry) {
        let (label, style, kind) = match entry.role {
            LogRole::You => ("You: ", self.theme.you, TextKind::Verbatim),
            LogRole::Assistant => ("Marvin: ", self.theme.assistant, TextKind::Prose),
            LogRole::System | LogRole::Other => {
                ("[System] ", self.theme.system, TextKind::Verbatim)
            }
        };
        let time = match entry.time.as_str() {
            "" => String::new(),
            time => format!("{} ", clean(time)),
        };
        self.end_line();
        self.write(&time);
        self.rows.advance(width::of(&time));
        self.labelled_as(kind, label, style, &entry.text);
    }

    /// What follows is a row of Marvin's own.
    fn begin_row(&mut self) {
        self.end_line();
        (self.answering, self.thinking) = (false, None);
    }

    /// A label and the text after it, on lines of their own.
    fn labelled(&mut self, label: &str, style: Style, words: &str) {
        self.labelled_as(TextKind::Verbatim, label, style, words);
    }

    fn labelled_as(&mut self, kind: TextKind, label: &str, style: Style, words: &str) {
        if self.answering || self.thinking.is_some() {
            self.begin_row();
        }
        self.label(label, style);
        self.foreign_text(kind, &clean(words.trim_end()));
        self.write("\n");
    }

    /// Lines verbatim.
    fn block(&mut self, text: &str) {
        self.end_line();
        self.foreign_text(TextKind::Verbatim, &clean(text.trim_end()));
        self.end_line();
    }

    /// Text that is not Marvin's.
    fn foreign_text(&mut self, kind: TextKind, text: &str) {
        self.rows.begin(kind);
        let mut out = String::with_capacity(text.len());
        let columns = self.columns();
        self.rows.push(text, columns, &mut out);
        self.rows.end_word(columns, &mut out);
        self.write(&out);
    }

    /// A piece of a text that is not Marvin's and goes on.
    fn piece(&mut self, text: &str) {
        let mut out = String::with_capacity(text.len());
        self.rows.push(text, self.columns(), &mut out);
        self.write(&out);
        let hold = self.rows.holds().then(|| Instant::now() + HOLD_TIME);
        self.held_until = hold;
    }

    /// Shows the beginning of a word that has been held for long enough.
    pub(super) fn show_held(&mut self) {
        if self.held_until.is_some_and(|until| Instant::now() >= until) {
            self.held_until = None;
            let mut out = String::new();
            self.rows.show_held(self.columns(), &mut out);
            self.write(&out);
        }
    }

    /// The word has ended of which a part may be held.
    fn end_word(&mut self) {
        self.held_until = None;
        let mut out = String::new();
        self.rows.end_word(self.columns(), &mut out);
        self.write(&out);
    }

    /// Columns of the terminal; 0 without one.
    fn columns(&self) -> usize {
        match self.terminal {
            true => usize::from(tty::size().width),
            false => 0,
        }
    }

    fn label(&mut self, label: &str, style: Style) {
        self.rows.advance(width::of(label));
        match style.fg.map(|fg| ansi_writer::colour(fg, 30)) {
            Some(code) => self.write(&format!("\x1b[{code}m{label}\x1b[0m")),
            None => self.write(label),
        }
    }

    fn write(&mut self, text: &str) {
        if self.reader_gone || text.is_empty() {
            return;
        }
        self.row_above = None;
        self.line_start = text.ends_with('\n');
        if self.line_start {
            self.rows.start_line();
        }
        let mut out = io::stdout().lock();
        self.reader_gone = out
            .write_all(text.as_bytes())
            .and_then(|()| out.flush())
            .is_err();
    }
}
