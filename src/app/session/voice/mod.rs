//! Voice in a session: `/v` records once, `/voice` listens and speaks until it is switched off.
//!
//! Only one of listening, answering and speaking happens at a time, so that Marvin does not hear itself: after an answer is spoken, voice mode listens
//! again. [`listen`] records and has it written down; [`speak`] reads answers aloud.

mod listen;
mod speak;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::orders::{CoreRequest, Orders};
use super::run::Run;
use super::ui_update::{UiUpdate, VoicePhase, VoiceStatus, VoiceUpdate};
use super::voices::Voices;
use super::worker_event::voice::VoiceEvent;
use super::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem};
use crate::voice::activity::meter_step;
use crate::voice::languages::Language;
use crate::voice::record::MAX_SECONDS;
use crate::voice::speaker::Speaker;
use crate::voice::transcribe::Transcript;
use listen::Listener;
use speak::RunningSpeech;

/// Seconds that `/v` records unless the user says how many.
const DEFAULT_SECONDS: u64 = 5;
/// Steps of the meter that a status line shows.
const SHOWN_LEVELS: usize = 8;

#[derive(Default)]
pub(super) struct Voice {
    mode: VoiceMode,
    /// The user types: voice mode does not listen until they have sent it, or press Enter without a text.
    is_paused: bool,
    /// The turn in whose answer the user began to type.
    paused_in: Option<u64>,
    listening: Option<Listening>,
    speech: Option<RunningSpeech>,
    /// The turn whose answer the user does not want to hear on.
    muted: Option<u64>,
    /// The language that was heard last.
    language: Option<&'static Language>,
}

#[derive(Default)]
enum VoiceMode {
    #[default]
    Off,
    /// It is being found out what records and speaks; the number of that check.
    Starting(u64),
    /// With what speaks, if anything does.
    On(Option<Speaker>),
}

/// A recording, from its start to its text.
struct Listening {
    id: u64,
    /// `None` until the recorder was found.
    phase: Option<ListeningPhase>,
    since: Instant,
    /// The longest time in seconds; `None` in voice mode.
    seconds: Option<u64>,
    levels: VecDeque<u8>,
    /// Completes the recording.
    finish: Cancel,
    /// Throws it away.
    stop: Cancel,
    _with_session: OnFire,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ListeningPhase {
    Recording,
    Transcribing,
}

/// A key as voice sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoiceKey {
    /// Enter or space.
    Enter,
    /// A key that changes the input.
    Typing,
    Other,
}

impl Voice {
    /// `/v`: records once and sends what was said.
    pub(super) fn record_once(
        &mut self,
        words: &str,
        run: &Run,
        orders: &mut Orders,
    ) -> Outcome<()> {
        let seconds = match words {
            "" => DEFAULT_SECONDS,
            words => words
                .trim_end_matches('s')
                .trim_end()
                .parse()
                .ok()
                .filter(|seconds| (1..=MAX_SECONDS).contains(seconds))
                .ok_or_else(|| {
                    Problem::input(format!(
                        "/v takes a number of seconds from 1 to {MAX_SECONDS}, not \"{words}\"."
                    ))
                    .next(format!(
                        "Speech recognition takes 25 MB at once, which is {} minutes. For example: /v 10.",
                        MAX_SECONDS / 60
                    ))
                })?,
        };
        if self.listening.is_some() {
            return Err(Problem::refused("A recording is running already.")
                .next("End it with Enter, or drop it with Esc or Ctrl-C."));
        }
        self.stop_speech();
        self.listen(Some(seconds), run, orders);
        Ok(())
    }

    /// `/voice`: switches voice mode on or off.
    pub(super) fn toggle(&mut self, words: &str, run: &Run, orders: &mut Orders) -> Outcome<()> {
        if !words.is_empty() {
            return Err(
                Problem::input("/voice takes no words after it.").next("/v SECONDS records once.")
            );
        }
        if !matches!(self.mode, VoiceMode::Off) {
            self.end(orders);
            say_is_off(orders);
            return Ok(());
        }
        if !run.settings.process.stdin_is_terminal {
            return Err(Problem::refused(
                "Voice mode needs a terminal, on which a key can end it.",
            )
            .next("/v SECONDS records once."));
        }
        let id = run.number();
        self.mode = VoiceMode::Starting(id);
        let context = Arc::clone(&run.context);
        let find = move || Voices::find(&context.env);
        let report = move |found| WorkerEvent::Voice(id, VoiceEvent::Found(found));
        orders.work("voice", AwaitedBy::Nobody, find, report);
        Ok(())
    }

    /// Handles what the threads of voice report.
    pub(super) fn handle(&mut self, id: u64, event: VoiceEvent, orders: &mut Orders) {
        match event {
            VoiceEvent::Found(found) => {
                if matches!(self.mode, VoiceMode::Starting(own) if own == id) {
                    self.found(found, orders);
                }
                orders.send_next();
            }
            VoiceEvent::SpeechEnded(outcome) => self.speech_ended(id, outcome, orders),
            event => {
                if let Some(listening) = self.listening.take_if(|one| one.id == id) {
                    self.listening_event(listening, event, orders);
                }
            }
        }
    }

    /// Voice mode begins, if there is something to record with.
    fn found(&mut self, found: Outcome<Voices>, orders: &mut Orders) {
        match found {
            Ok(voices) => {
                orders.system(voices.words());
                self.mode = VoiceMode::On(voices.speaker);
                self.is_paused = false;
            }
            Err(problem) => {
                self.mode = VoiceMode::Off;
                orders.fail(problem);
            }
        }
    }

    fn listening_event(
        &mut self,
        mut listening: Listening,
        event: VoiceEvent,
        orders: &mut Orders,
    ) {
        match event {
            VoiceEvent::Recording => {
                listening.phase = Some(ListeningPhase::Recording);
                listening.since = Instant::now();
                let seconds = listening.seconds;
                orders.show(UiUpdate::Voice(VoiceUpdate::Recording { seconds }));
                self.listening = Some(listening);
            }
            VoiceEvent::Level(level) => {
                let step = meter_step(level);
                let excess = (listening.levels.len() + 1).saturating_sub(SHOWN_LEVELS);
                listening.levels.drain(..excess);
                listening.levels.push_back(step);
                orders.show(UiUpdate::Voice(VoiceUpdate::Level { step }));
                self.listening = Some(listening);
            }
            VoiceEvent::Transcribing => {
                listening.phase = Some(ListeningPhase::Transcribing);
                listening.since = Instant::now();
                orders.show(UiUpdate::Voice(VoiceUpdate::Transcribing));
                self.listening = Some(listening);
            }
            VoiceEvent::Heard(outcome) => self.heard(&listening, outcome, orders),
            VoiceEvent::Found(_) | VoiceEvent::SpeechEnded(_) => {}
        }
    }

    /// The end of a recording: what was said is sent as a message, whatever it says. A spoken "quit" is no command.
    fn heard(
        &mut self,
        listening: &Listening,
        outcome: Outcome<Option<Transcript>>,
        orders: &mut Orders,
    ) {
        orders.show(UiUpdate::Voice(VoiceUpdate::Ended));
        let is_voice_mode = listening.seconds.is_none();
        match outcome {
            Ok(Some(transcript)) => {
                self.language = transcript.language;
                orders.request(CoreRequest::Heard(transcript));
            }
            // The user has ended it.
            Ok(None) if self.is_paused || listening.finish.is_fired() => {}
            Ok(None) => {
                self.end(orders);
                orders.system("Voice mode is off: nothing was heard for a while.");
            }
            Err(problem) if problem.is_cancelled() => {}
            Err(problem) => {
                orders.fail(problem);
                if is_voice_mode {
                    self.end(orders);
                    say_is_off(orders);
                }
            }
        }
        orders.send_next();
    }

    /// In voice mode: listens, if nothing else happens.
    pub(super) fn listen_on(&mut self, is_idle: bool, run: &Run, orders: &mut Orders) {
        let is_wanted = matches!(self.mode, VoiceMode::On(_)) && !self.is_paused;
        if is_wanted && is_idle {
            self.listen(None, run, orders);
        }
    }

    /// Starts to record, for at most `seconds` or, in voice mode, until somebody has spoken.
    fn listen(&mut self, seconds: Option<u64>, run: &Run, orders: &mut Orders) {
        let id = run.number();
        let (stop, with_session) = run.child_stop();
        let finish = Cancel::new();
        let listener = Listener {
            id,
            context: Arc::clone(&run.context),
            inbox: Arc::clone(&run.inbox),
            seconds,
            supervisor: run.supervisor(),
            finish: finish.clone(),
            stop: stop.clone(),
        };
        let report = move |heard| WorkerEvent::Voice(id, VoiceEvent::Heard(heard));
        let listen = move || listener.listen();
        orders.work("listen", AwaitedBy::Nobody, listen, report);
        self.listening = Some(Listening {
            id,
            phase: None,
            since: Instant::now(),
            seconds,
            levels: VecDeque::new(),
            finish,
            stop,
            _with_session: with_session,
        });
    }

    /// Drops the recording and the speech. True when there was any; voice mode ends with its recording.
    pub(super) fn cancel(&mut self, orders: &mut Orders) -> bool {
        let was_speaking = self.stop_speech();
        if matches!(self.mode, VoiceMode::Starting(_)) {
            self.end(orders);
            say_is_off(orders);
            return true;
        }
        let Some(listening) = self.listening.take() else {
            return was_speaking;
        };
        listening.stop.fire();
        orders.show(UiUpdate::Voice(VoiceUpdate::Ended));
        if listening.seconds.is_none() {
            self.end(orders);
            say_is_off(orders);
        } else {
            orders.system("The recording was dropped.");
        }
        orders.send_next();
        true
    }

    /// Switches voice mode off and ends all that belongs to voice.
    pub(super) fn end(&mut self, orders: &mut Orders) {
        self.mode = VoiceMode::Off;
        self.is_paused = false;
        if let Some(listening) = self.listening.take() {
            listening.stop.fire();
            orders.show(UiUpdate::Voice(VoiceUpdate::Ended));
        }
        self.stop_speech();
    }

    /// True while keys have a meaning for voice: see [`Voice::key`].
    pub(super) fn takes_keys(&self) -> bool {
        let is_recording = self
            .listening
            .as_ref()
            .is_some_and(|one| one.phase != Some(ListeningPhase::Transcribing));
        is_recording || self.is_speaking()
    }

    /// The user pressed a key: any key stops the speech; Enter completes a recording, and so does any key that types that of `/v`. In voice mode a key that
    /// types makes it pause. True when the key has no further meaning.
    pub(super) fn key(&mut self, key: VoiceKey, input_is_empty: bool, orders: &mut Orders) -> bool {
        let is_enter = key == VoiceKey::Enter && input_is_empty;
        let spoken = self.speech.as_ref().map(|running| running.id);
        if self.stop_speech() {
            self.is_paused = key == VoiceKey::Typing;
            self.paused_in = spoken.filter(|_| self.is_paused);
            return is_enter;
        }
        if self.is_paused && is_enter {
            self.is_paused = false;
            orders.request(CoreRequest::Listen);
            return true;
        }
        let Some(listening) = &self.listening else {
            return false;
        };
        let is_once = listening.seconds.is_some();
        let is_over = listening.phase == Some(ListeningPhase::Transcribing);
        if is_over || key == VoiceKey::Other {
            return false;
        }
        listening.finish.fire();
        if !is_once && !is_enter {
            self.is_paused = true;
            return false;
        }
        true
    }

    /// True while something of voice has to end before the plain interface reads on.
    pub(super) fn is_busy(&self) -> bool {
        self.listening.is_some()
            || self.is_speaking()
            || matches!(self.mode, VoiceMode::Starting(_))
    }

    /// What a status line shows of voice; `None` when there is nothing of it.
    pub(super) fn status(&self) -> Option<VoiceStatus> {
        let listening = self.listening.as_ref();
        let phase = match listening.and_then(|one| Some((one, one.phase?))) {
            Some((listening, ListeningPhase::Recording)) => Some(VoicePhase::Recording {
                since: listening.since,
                seconds: listening.seconds,
                levels: listening.levels.iter().copied().collect(),
            }),
            Some((listening, ListeningPhase::Transcribing)) => Some(VoicePhase::Transcribing {
                since: listening.since,
            }),
            None => self.is_speaking().then_some(VoicePhase::Speaking),
        };
        let is_on = matches!(self.mode, VoiceMode::On(_));
        (is_on || phase.is_some()).then_some(VoiceStatus {
            is_on,
            is_paused: self.is_paused,
            phase,
        })
    }
}

fn say_is_off(orders: &mut Orders) {
    orders.system("Voice mode is off.");
}

#[cfg(test)]
mod tests;
