//! The plain interface: the same conversation as lines, for any terminal, screen reader or pipe.
//!
//! Output never moves the cursor. On a terminal rustyline edits the input line; a pipe is read line by line, and its end ends the session.
//!
//! `print` writes updates, `rows` breaks them, `read` and `ahead` read lines, `idle` waits for them, `watch` tells signals. Called by `ui`; what it knows of a
//! session are its updates and its calls, as the full screen.

mod ahead;
mod idle;
mod key_watch;
mod print;
mod prose;
mod read;
mod rows;
mod set_up;
mod silence;
mod watch;

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, never, select};

use crate::app::choice::ChoiceKind;
use crate::app::session::Session;
use crate::app::session::approve::AskMode;
use crate::app::session::ui_update::{ApprovalAnswer, PendingQuestion, TurnOutcome, UiUpdate};
use crate::app::session::voice::VoiceKey;
use crate::app::sessions::list::SessionRow;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::env::Env;
use crate::base::problem::Problem;
use crate::proc::child_env::copilot_env;
use crate::proc::{editor, foreground};
use crate::tools::engine::approval::ApprovalRequest;
use crate::ui::interrupt::{INTERRUPTED, InterruptAction, Interrupts};
use crate::ui::notify::{Attention, Notifier};
use crate::ui::term::SignalEvent;
use ahead::{KeptTyping, ReadLine, TypedAhead};
use key_watch::{KeyPress, KeyWatch};
use print::Printer;
use read::LineSource;
use watch::{LineEditing, LineWatch};

/// How often the end of a session looks whether its memory is written.
const FAREWELL_CHECK: Duration = Duration::from_millis(500);
/// How often keys are looked for while voice takes them.
const KEY_CHECK: Duration = Duration::from_millis(50);

/// Runs the conversation to its end; returns the exit status.
pub(super) fn run(settings: Settings, first: &str) -> u8 {
    let terminal = settings.process.stdin_is_terminal && io::stdout().is_terminal();
    let asking = if settings.process.stdin_is_terminal {
        AskMode::Person
    } else {
        AskMode::Nobody
    };
    let env = settings.env.clone();
    let has_keys = settings.process.stdin_is_terminal;
    // On these terminals rustyline does not handle the keys.
    let undriven = !terminal || matches!(env.get("TERM"), Some("dumb" | "cons25" | "emacs"));
    let lines = match (undriven, settings.process.stdin_is_terminal) {
        (false, _) => LineEditing::Rustyline,
        (true, true) => LineEditing::Terminal,
        (true, false) => LineEditing::Nobody,
    };
    let opened = Session::open(settings, asking).and_then(|(session, bell)| {
        let watch = LineWatch::start(session.stopper(), lines)?;
        Ok((session, bell, watch))
    });
    let (session, bell, watch) = match opened {
        Ok(opened) => opened,
        Err(problem) => return failed(&problem),
    };
    let mut warnings = Vec::new();
    let notifier = Notifier::new(&env, false, &mut |text| warnings.push(text));
    let theme = session.first_theme(&mut |text| warnings.push(text));
    let mut plain = PlainUi {
        bell,
        watch,
        reader: LineSource::new(terminal, !undriven, session.context()),
        ahead: TypedAhead::default(),
        printer: Printer::new(terminal, &env, theme),
        interrupts: Interrupts::default(),
        notifier,
        attention: Attention::default(),
        keys: None,
        has_keys,
        env,
        session,
        leave: None,
    };
    if terminal {
        plain.session.allow_set_up();
    }
    plain.until_idle();
    // After the conversation so far, where they are seen.
    warnings.iter().for_each(|text| plain.printer.system(text));
    let mut status = plain.talk(first);
    plain.printer.end_line();
    if matches!(status, 0 | INTERRUPTED) {
        status = plain.farewell().unwrap_or(status);
    }
    let notices = plain.session.close();
    if matches!(status, 0 | INTERRUPTED)
        && let Some(words) = plain.session.farewell_words()
    {
        plain.printer.system(&words);
    }
    if let Some(words) = notices {
        say(&words);
    }
    status
}

fn failed(problem: &Problem) -> u8 {
    say(&format!("Error: {}", problem.one_line()));
    1
}

struct PlainUi {
    session: Session,
    bell: Receiver<()>,
    watch: LineWatch,
    reader: LineSource,
    ahead: TypedAhead,
    printer: Printer,
    interrupts: Interrupts,
    notifier: Notifier,
    attention: Attention,
    /// Single keys are read, while voice takes them.
    keys: Option<KeyWatch>,
    /// Standard input is a terminal.
    has_keys: bool,
    env: Env,
    /// The exit status, once leaving is decided.
    leave: Option<u8>,
}

impl PlainUi {
    /// Runs the conversation; `first` is the prompt of the command line.
    fn talk(&mut self, first: &str) -> u8 {
        if !first.trim().is_empty() && self.leave.is_none() {
            self.session.submit(first);
            self.until_idle();
        }
        self.session.start_servers();
        loop {
            if let Some(status) = self.leave {
                return status;
            }
            if self.printer.reader_is_gone() {
                return 1;
            }
            self.reader.remember(|| self.session.history());
            let shell = self.session.status().shell.is_some();
            let prompt = if shell { "$ " } else { "You: " };
            self.wait_for_typing(prompt);
            if let Some(status) = self.leave {
                return status;
            }
            match self.read(prompt) {
                Some(ReadLine::Text(line)) => {
                    self.session.submit(&line);
                    self.until_idle();
                }
                Some(ReadLine::End) => return 0,
                Some(ReadLine::Interrupted) => self.interrupt(),
                None => {}
            }
        }
    }

    /// Waits until the conversation is remembered; Ctrl-C skips that, and so does another signal, which decides the exit status.
    fn farewell(&mut self) -> Option<u8> {
        let mut status = None;
        let mut waits = self.session.begin_farewell();
        while waits {
            self.session.receive();
            waits = self.session.is_remembering();
            for show in self.session.take_updates() {
                (self.printer).show(show, &self.session.context().registry());
            }
            if !waits {
                break;
            }
            select! {
                recv(self.bell) -> _ => {}
                recv(after(FAREWELL_CHECK)) -> _ => {}
                recv(self.watch.signals) -> signal => {
                    status = status.or(signal.ok().and_then(SignalEvent::forced_status));
                    self.session.skip_farewell();
                }
            }
        }
        status
    }

    /// Reads a line; a signal meanwhile ends the process. `None` when a signal came before it: Ctrl-C right after an answer or a hint.
    fn read(&mut self, prompt: &str) -> Option<ReadLine> {
        let _reading = self.watch.reading();
        let early = self.watch.take_signals();
        if early.is_empty() {
            return Some(self.reader.line(prompt, &mut self.ahead, &mut self.printer));
        }
        for signal in early {
            self.handle(signal);
        }
        None
    }

    /// Handles a signal while no line is read.
    fn handle(&mut self, signal: SignalEvent) {
        match signal {
            SignalEvent::Interrupt => self.interrupt(),
            signal => self.leave = signal.exit_status(),
        }
    }

    /// Handles Ctrl-C.
    fn interrupt(&mut self) {
        match self.interrupts.press(&mut self.session, false) {
            InterruptAction::Stopped => {
                self.interrupts.forget();
                self.hold_typed();
            }
            InterruptAction::Idle => self.printer.system("Press Ctrl-C again to quit."),
            InterruptAction::Leave => self.leave = Some(INTERRUPTED),
        }
    }

    /// What was typed for after the answer that was stopped is not sent by itself.
    fn hold_typed(&mut self) {
        if self.has_keys {
            self.ahead.hold();
        }
    }

    /// Shows updates until nothing is running.
    fn until_idle(&mut self) {
        let kept = self.has_keys.then(KeptTyping::start);
        self.show_until_idle();
        self.printer.end_silence();
        self.keys = None;
        drop(kept);
    }

    fn show_until_idle(&mut self) {
        loop {
            self.session.receive();
            loop {
                let shows = self.session.take_updates();
                if shows.is_empty() {
                    break;
                }
                // What the user answers to one of them may lead to others.
                shows.into_iter().for_each(|show| self.show(show));
            }
            self.printer.show_held();
            self.printer.announce_slow_calls();
            if self.leave.is_some() || self.printer.reader_is_gone() || !self.session.busy() {
                return;
            }
            self.printer.tell_wait();
            self.read_keys();
            let key_check = if self.keys.is_some() {
                after(KEY_CHECK)
            } else {
                never()
            };
            let deadlines = [self.session.deadline(), self.printer.due()];
            let late = deadlines.into_iter().flatten().min();
            let late = late.map_or_else(never, |deadline| {
                after(deadline.saturating_duration_since(Instant::now()))
            });
            select! {
                recv(self.bell) -> _ => {}
                recv(late) -> _ => {}
                recv(key_check) -> _ => {}
                recv(self.watch.signals) -> signal => match signal {
                    Ok(signal) => self.handle(signal),
                    Err(_) => self.leave = Some(1),
                }
            }
        }
    }

    /// Reads single keys while voice takes them: Enter completes a recording, any key stops the speech, and what else is typed begins the next line.
    fn read_keys(&mut self) {
        if !self.has_keys || !self.session.voice_takes_keys() {
            self.keys = None;
            return;
        }
        if self.keys.is_none() {
            self.keys = KeyWatch::start();
        }
        let pressed = self.keys.as_ref().map(KeyWatch::pressed);
        match pressed {
            None | Some(KeyPress::Nothing) => {}
            Some(KeyPress::Cancel) => {
                self.session.cancel();
                self.hold_typed();
            }
            Some(KeyPress::Enter) => {
                self.session.voice_key(VoiceKey::Enter, true);
            }
            Some(KeyPress::Typed(text)) => {
                if !self.session.voice_key(VoiceKey::Typing, true) {
                    self.ahead.add(&text);
                }
            }
        }
    }

    fn show(&mut self, show: UiUpdate) {
        match &show {
            UiUpdate::UserMessage { .. } => self.attention.begin(),
            UiUpdate::Ask(_) => self.call(),
            UiUpdate::AnswerEnd(TurnOutcome::Complete | TurnOutcome::Failed) => self.call(),
            _ => {}
        }
        match show {
            UiUpdate::Ask(question) => {
                self.keys = None;
                self.ask(question);
            }
            UiUpdate::ChooseSession { rows, at_start } if self.has_keys => {
                self.choose_session(&rows, at_start);
            }
            UiUpdate::Choose(list) | UiUpdate::Offer(list) if list.kind.is_question() => {
                self.choose_step(&list);
            }
            UiUpdate::Prompt(prompt) => self.ask_line(&prompt),
            UiUpdate::RunProgram(run) => {
                self.printer.end_line();
                let env = copilot_env(&self.env);
                let ended = foreground::run(&run.program, &run.args, env);
                self.session.program_ended(ended);
            }
            UiUpdate::Edit(path) => match editor::edit(&path, &self.env) {
                Ok(()) => self.session.edited(&path),
                Err(problem) => self.printer.error(&problem),
            },
            // On a terminal it is there again, to be changed.
            UiUpdate::Unsent(text) if self.has_keys => self.ahead.put_back(&text),
            UiUpdate::Leave(words) => {
                if !words.is_empty() {
                    self.printer.system(&words);
                }
                self.leave = Some(0);
            }
            show => (self.printer).show(show, &self.session.context().registry()),
        }
    }

    /// Rings after a long wait.
    fn call(&mut self) {
        if self.attention.calls() {
            self.printer.ring(self.notifier.bell());
        }
    }

    /// Lets the user choose from a numbered list; Enter alone chooses none, and leaves before anything was said.
    fn choose_session(&mut self, rows: &[SessionRow], at_start: bool) {
        self.keys = None;
        self.printer.sessions(rows);
        // What was typed before the list was seen is no answer to it.
        while !self.ahead.settle(&self.watch.woken) {
            if self.signalled() {
                return;
            }
        }
        loop {
            let words = match at_start {
                true => "Which one? Its number, or Enter to leave: ",
                false => "Which one? Its number, or Enter for none: ",
            };
            let Some(text) = self.answer(words) else {
                return;
            };
            let number = text.trim();
            if number.is_empty() {
                self.leave = at_start.then_some(0).or(self.leave);
                return;
            }
            let row = number
                .parse::<usize>()
                .ok()
                .and_then(|n| rows.get(n.checked_sub(1)?));
            match row {
                Some(row) => return self.session.choose_from_list(ChoiceKind::Sessions, &row.id),
                None => self
                    .printer
                    .system(&format!("Please answer 1 to {}.", rows.len())),
            }
        }
    }

    /// Asks the user; the end of the input and Ctrl-C mean no.
    fn ask(&mut self, question: PendingQuestion) {
        if question.over.is_fired() {
            return;
        }
        self.printer.question(&question);
        // The turn may already be over.
        let verdict = match question.request.is_open() {
            true => self.written_answer(),
            false => self.verdict(&question.request),
        };
        let _ = question.reply.send(verdict);
    }

    /// The user's answer to the question on the screen.
    fn verdict(&mut self, request: &ApprovalRequest) -> ApprovalAnswer {
        // Earlier wake-ups may still be unread.
        while !self.ahead.settle(&self.watch.woken) {
            if self.signalled() {
                return ApprovalAnswer::No;
            }
        }
        let for_good = request.means_for_good();
        let takes_reason = request.takes_reason();
        let (words, keys) = match for_good {
            Some(what) => (
                format!("Agreed? y once, a always {what}, n no, e no and say why: "),
                "Please answer y, a, n or e.",
            ),
            None if takes_reason => (
                "Agreed? y yes, n no, e no and say why: ".to_owned(),
                "Please answer y, n or e.",
            ),
            None => ("Agreed? y yes, n no: ".to_owned(), "Please answer y or n."),
        };
        loop {
            let Some(text) = self.answer(&words) else {
                return ApprovalAnswer::No;
            };
            match text.trim().to_lowercase().as_str() {
                "" | "y" | "yes" => return ApprovalAnswer::Once,
                "a" | "always" if for_good.is_some() => return ApprovalAnswer::Always,
                "n" | "no" => return ApprovalAnswer::No,
                "e" if takes_reason => {
                    let error = self.answer("Why not: ");
                    return match error.filter(|error| !error.trim().is_empty()) {
                        Some(error) => ApprovalAnswer::NoBecause(error),
                        None => ApprovalAnswer::No,
                    };
                }
                _ => self.printer.system(keys),
            }
        }
    }

    /// The user's answer to a question that takes text.
    fn written_answer(&mut self) -> ApprovalAnswer {
        while !self.ahead.settle(&self.watch.woken) {
            if self.signalled() {
                return ApprovalAnswer::Dismissed;
            }
        }
        let words = "Your answer (Enter as it is filled in, no declines): ";
        match self.answer(words) {
            None => ApprovalAnswer::Dismissed,
            Some(text) => match text.trim() {
                "" => ApprovalAnswer::Once,
                "no" => ApprovalAnswer::No,
                text => ApprovalAnswer::NoBecause(text.to_owned()),
            },
        }
    }

    /// A line typed after the prompt `words`; `None` at the end of input and after a signal.
    fn answer(&mut self, words: &str) -> Option<String> {
        self.printer.ask(words);
        loop {
            match ahead::answer(&self.watch.woken) {
                ReadLine::Text(text) => {
                    self.printer.answered();
                    return Some(text);
                }
                ReadLine::Interrupted if !self.signalled() => {}
                ReadLine::Interrupted | ReadLine::End => {
                    ahead::drop_typed();
                    self.printer.end_line();
                    return None;
                }
            }
        }
    }

    /// Handles signals that came while a question waited; true when there was one. Ctrl-C only answers the question.
    fn signalled(&mut self) -> bool {
        let signals = self.watch.take_signals();
        let ending = signals
            .iter()
            .rfind(|signal| **signal != SignalEvent::Interrupt);
        if let Some(signal) = ending {
            self.leave = signal.exit_status();
        }
        !signals.is_empty()
    }
}
