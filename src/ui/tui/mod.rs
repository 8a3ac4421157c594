//! The full-screen interface.
//!
//! [`app`] is the state and what each key does to it; [`chat`] holds the conversation as [`part`]s and lays out what is visible; [`view`] draws a frame. The
//! loop here waits for the user, the session and the clock, and decides when to draw: at once after a key, at most thirty times a second while an answer
//! streams, never while nothing changes.

mod app;
mod ask;
mod band;
mod chat;
mod clipboard;
mod colours;
mod frame_content;
mod help;
mod input_area;
mod layout_context;
mod line_prompt;
mod menus;
mod mouse;
mod overlay;
mod part;
mod picker;
mod reply;
mod status;
#[cfg(test)]
mod tests;
mod thinking;
mod tool;
mod view;
mod wait;

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, never, select, unbounded};

use crate::app::session::Session;
use crate::app::session::approve::AskMode;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::NO_COLOR;
use crate::proc::child_env::copilot_env;
use crate::proc::{editor, foreground, tmux};
use crate::ui::interrupt::INTERRUPTED;
use crate::ui::keys::{self, Action, KeyContext};
use crate::ui::notify::Notifier;
use crate::ui::term::guard::TerminalGuard;
use crate::ui::term::input::Keyboard;
use crate::ui::term::link_support;
use crate::ui::term::modes::TerminalModes;
use crate::ui::term::screen::{Colours, Screen};
use crate::ui::term::signals::Signals;
use crate::ui::term::tty::{self, Tty};
use crate::ui::term::{Input, SignalEvent};
use crate::ui::text::clean::clean;
use crate::ui::text::theme::ColorMode;
use app::{App, HostAction};
use colours::{BACKGROUND_QUESTION, ScreenColours};
use layout_context::SPINNER_FRAME;

/// Minimum time between two frames while an answer streams.
const FRAME: Duration = Duration::from_millis(33);

/// Runs the conversation to its end; returns the exit status.
pub(super) fn run(settings: Settings, first: &str) -> u8 {
    match open(settings) {
        Ok(screenful) => screenful.talk(first),
        Err(problem) => {
            say(&format!("Error: {}", problem.one_line()));
            1
        }
    }
}

/// Whether the terminal fills what it erases with the current background. GNU screen does not by default (`defbce` in its manual).
fn fills_erased(env: &Env, in_tmux: bool) -> bool {
    in_tmux
        || !env
            .get("TERM")
            .is_some_and(|term| term.starts_with("screen"))
}

/// Esc, Ctrl-C and the signals that end a process.
fn ends_farewell(input: &Input) -> bool {
    match input {
        Input::Key(key) => matches!(
            keys::action(key, KeyContext::Empty),
            Some(Action::Escape | Action::Cancel | Action::Quit)
        ),
        Input::Signal(signal) => signal.exit_status().is_some(),
        Input::Gone => true,
        Input::Paste(_)
        | Input::Wheel(_)
        | Input::Focus(_)
        | Input::Background(_)
        | Input::Resize(_) => false,
    }
}

/// The exit status that a signal from outside asks for.
fn forced_status(input: &Input) -> Option<u8> {
    match input {
        Input::Signal(signal) => signal.forced_status(),
        _ => None,
    }
}

/// The interface with its terminal.
struct Screenful {
    app: App,
    notifier: Notifier,
    /// The terminal is still to be asked for its background.
    asks_background: bool,
    /// What is wrong with the settings.
    warnings: Vec<String>,
    bell: Receiver<()>,
    inputs: Receiver<Vec<Input>>,
    keyboard: Keyboard,
    signals: Signals,
    screen: Screen<Tty>,
    clock: Clock,
    guard: TerminalGuard,
}

fn open(settings: Settings) -> Outcome<Screenful> {
    let env = settings.env.clone();
    let mode = ColorMode::detect(NO_COLOR.read(&env), env.get("TERM"), env.get("COLORTERM"));
    let colours = if mode == ColorMode::None {
        Colours::Off
    } else {
        Colours::On
    };
    let (session, bell) = Session::open(settings, AskMode::Person)?;
    let clock = session.context().clock.clone();
    let crash = session.context().paths.crash_log().ok();
    let (sender, inputs) = unbounded();
    let cannot = |reason: io::Error| {
        Problem::system("Cannot take the terminal", reason)
            .next("marvin --plain needs nothing of it.")
    };
    // In this order: a signal between the two must not find the terminal in use without a handler.
    let signals = Signals::start(sender.clone()).map_err(cannot)?;
    let mut warnings = Vec::new();
    let in_tmux = tmux::is_terminal(&env);
    let mouse = mouse::reports(&env, in_tmux, &mut |text| warnings.push(text));
    let modes = TerminalModes::of(env.get("TERM"), env.get("TERM_PROGRAM"), in_tmux, mouse);
    let (unmarked, has_commands) = (modes.unmarked, modes.has_commands);
    let has_italics = modes.has_italics;
    let notifier = Notifier::new(&env, has_commands, &mut |text| warnings.push(text));
    let guard = TerminalGuard::enter(modes, crash).map_err(cannot)?;
    let keyboard = Keyboard::start(sender, unmarked).map_err(cannot)?;
    let choice = session.first_theme(&mut |text| warnings.push(text));
    let screen_colours = ScreenColours::new(mode, choice, &env);
    let asks_background = has_commands && screen_colours.depend_on_background();
    Ok(Screenful {
        app: App::new(session, screen_colours),
        notifier,
        asks_background,
        warnings,
        bell,
        inputs,
        keyboard,
        signals,
        screen: Screen::new(Tty, tty::size(), colours)
            .with_links(link_support::has_links(&env))
            .with_fills(fills_erased(&env, in_tmux))
            .with_italics(has_italics),
        clock,
        guard,
    })
}

impl Screenful {
    fn talk(mut self, first: &str) -> u8 {
        self.app.session.allow_set_up();
        self.app.receive();
        // After the conversation so far, where they are seen.
        let warnings = std::mem::take(&mut self.warnings);
        warnings.iter().for_each(|text| self.app.failed(text));
        if !first.trim().is_empty() {
            self.app.session.submit(first);
            self.app.receive();
        }
        let mut status = self.event_loop();
        if matches!(status, 0 | INTERRUPTED) {
            status = self.farewell().unwrap_or(status);
        }
        let Self { mut app, guard, .. } = self;
        guard.restore();
        // What is under way has to end before the session is counted.
        let notices = app.session.close();
        let session = app.session.farewell_words();
        let session = session.filter(|_| matches!(status, 0 | INTERRUPTED));
        let farewell = [app.farewell.trim(), session.as_deref().unwrap_or_default()].join("\n");
        let farewell = clean(farewell.trim());
        if !farewell.is_empty() {
            // If the terminal is gone, nobody reads the farewell.
            let _ = writeln!(Tty, "{farewell}");
        }
        if let Some(words) = notices {
            say(&words);
        }
        drop(guard);
        status
    }

    /// Draws and waits until the user leaves.
    fn event_loop(&mut self) -> u8 {
        let mut stale = true;
        let mut received = Instant::now();
        loop {
            if let Some(status) = self.host_actions() {
                return status;
            }
            stale |= self.app.expire_flash();
            if stale && self.app.draw(&mut self.screen).is_err() {
                return SignalEvent::HangUp.exit_status().unwrap_or(1);
            }
            // Only now: the first frame waits for nothing.
            self.app.session.start_servers();
            if std::mem::take(&mut self.asks_background) {
                // A terminal that is gone is noticed by the next frame.
                let _ = Tty.write_all(BACKGROUND_QUESTION.as_bytes());
            }
            self.keyboard.set_arrow_care(self.app.arrows_edit());
            // While an answer streams the inbox is read once a frame: what arrives in between is merged there. Keys do not put that off, however fast they
            // come.
            let frame = received + FRAME;
            let idle = Instant::now() >= frame;
            let bell = if idle { self.bell.clone() } else { never() };
            let pending = !idle && !self.bell.is_empty();
            let wake = match (pending || !idle, self.app.session.deadline()) {
                (true, Some(deadline)) => frame.min(deadline),
                (true, None) => frame,
                (false, Some(deadline)) => deadline,
                (false, None) => self.next_tick(),
            };
            let wake = self.app.flash_end().map_or(wake, |end| wake.min(end));
            select! {
                recv(self.inputs) -> batch => {
                    let Ok(batch) = batch else { return 1 };
                    self.resize(&batch);
                    self.app.input(batch);
                    if Instant::now() >= frame && self.app.receive() {
                        received = Instant::now();
                    }
                    stale = true;
                }
                recv(bell) -> _ => {
                    stale = self.app.receive();
                    received = Instant::now();
                }
                recv(after(wake.saturating_duration_since(Instant::now()))) -> _ => {
                    let received_any = self.app.receive();
                    if received_any {
                        received = Instant::now();
                    }
                    stale = received_any || idle;
                }
            }
        }
    }

    /// Waits until the conversation is remembered; Esc and Ctrl-C skip that, and so does a signal, which decides the exit status.
    fn farewell(&mut self) -> Option<u8> {
        let mut status = None;
        let mut waits = self.app.session.begin_farewell();
        while waits {
            self.app.receive();
            waits = self.app.session.is_remembering();
            if !waits || self.app.draw(&mut self.screen).is_err() {
                break;
            }
            select! {
                recv(self.bell) -> _ => {}
                recv(after(SPINNER_FRAME)) -> _ => {}
                recv(self.inputs) -> batch => {
                    let Ok(batch) = batch else { break };
                    self.resize(&batch);
                    status = status.or(batch.iter().find_map(forced_status));
                    if batch.iter().any(ends_farewell) {
                        self.app.session.skip_farewell();
                    }
                }
            }
        }
        status
    }

    /// When the screen next changes without an event: a spinner, or the clock's minute.
    fn next_tick(&self) -> Instant {
        let now = Instant::now();
        if self.app.is_animated() {
            return now + SPINNER_FRAME;
        }
        let second = u64::try_from(self.clock.now().second()).unwrap_or_default();
        now + Duration::from_secs(60 - second.min(59))
    }

    fn resize(&mut self, batch: &[Input]) {
        let last = batch.iter().rev().find_map(|input| match input {
            Input::Resize(size) => Some(*size),
            _ => None,
        });
        if let Some(size) = last {
            self.screen.resize(size);
        }
    }

    /// Does what the interface cannot do itself; returns the exit status when it is time to leave.
    fn host_actions(&mut self) -> Option<u8> {
        while let Some(wish) = self.app.host_actions.pop_front() {
            let done = match wish {
                HostAction::Leave(status) => return Some(status),
                HostAction::Ring => {
                    if Tty.write_all(b"\x07").is_err() {
                        return SignalEvent::HangUp.exit_status();
                    }
                    continue;
                }
                HostAction::Call(occasion) => {
                    if Tty
                        .write_all(self.notifier.call(occasion).as_bytes())
                        .is_err()
                    {
                        return SignalEvent::HangUp.exit_status();
                    }
                    continue;
                }
                HostAction::Calm => {
                    if Tty.write_all(self.notifier.calm().as_bytes()).is_err() {
                        return SignalEvent::HangUp.exit_status();
                    }
                    continue;
                }
                HostAction::Repaint => Ok(()),
                HostAction::Suspend => self.guard.suspend().map(drop),
                HostAction::Renew => self.guard.renew(),
                HostAction::Edit(path) => {
                    let env = self.app.session.context().env.clone();
                    let edited = self.outside(|| editor::edit(&path, &env));
                    edited.map(|edited| match edited {
                        Ok(()) => self.app.edited(&path),
                        Err(problem) => self.app.failed(&problem.one_line()),
                    })
                }
                HostAction::Run(run) => {
                    let env = copilot_env(&self.app.session.context().env);
                    let ended = self.outside(|| foreground::run(&run.program, &run.args, env));
                    ended.map(|ended| self.app.program_ended(ended))
                }
                HostAction::EditInput => self.edit_input(),
            };
            if done.is_err() {
                return SignalEvent::HangUp.exit_status();
            }
            self.app.hidden();
            // The other program's terminal size may have changed.
            self.screen.resize(tty::size());
        }
        None
    }

    /// Runs `run` with the terminal and its keys released.
    fn outside<T>(&self, run: impl FnOnce() -> T) -> io::Result<T> {
        let _lent = self.signals.lend();
        self.guard.run_outside(&self.keyboard, run)
    }

    fn edit_input(&mut self) -> io::Result<()> {
        let env = self.app.session.context().env.clone();
        let file = tempfile::Builder::new()
            .prefix("marvin-")
            .suffix(".md")
            .tempfile()
            .and_then(|file| std::fs::write(file.path(), self.app.draft()).map(|()| file));
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                let problem = Problem::system("Cannot make a file for the input", error);
                self.app.failed(&problem.one_line());
                return Ok(());
            }
        };
        let edited = self.outside(|| editor::edit(file.path(), &env))?;
        match edited {
            Ok(()) => match std::fs::read(file.path()) {
                Ok(bytes) => self.app.set_draft(&String::from_utf8_lossy(&bytes)),
                Err(error) => {
                    let problem = Problem::system("Cannot read the input back", error);
                    self.app.failed(&problem.one_line());
                }
            },
            Err(problem) => self.app.failed(&problem.one_line()),
        }
        Ok(())
    }
}
