//! Voice in a session: `/v` records once, `/voice` listens and speaks until it is switched off.
//!
//! Only one of listening, answering and speaking happens at a time, so that Marvin does not hear itself: after an answer is spoken, voice mode listens
//! again. [`listen`] records and has it written down; [`speak`] reads answers aloud.

pub(in crate::app::session) mod event;
mod listen;
mod speak;
mod voices;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::inbox::WorkerEvent;
use super::{Queued, QueuedKind, Session};
use crate::app::session::ui_update::{UiUpdate, VoicePhase, VoiceStatus, VoiceUpdate};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem};
use crate::voice::activity::meter_step;
use crate::voice::languages::Language;
use crate::voice::record::MAX_SECONDS;
use crate::voice::speaker::Speaker;
use crate::voice::transcribe::Transcript;
use event::VoiceEvent;
use listen::Listener;
use speak::RunningSpeech;
use voices::Voices;

/// Seconds that `/v` records unless the user says how many.
const DEFAULT_SECONDS: u64 = 5;
/// Steps of the meter that a status line shows.
const SHOWN_LEVELS: usize = 8;

/// The state of voice in a session.
#[derive(Default)]
pub(super) struct Voice {
    mode: VoiceMode,
    /// The user types: voice mode does not listen until they have sent it, or press Enter without a text.
    is_paused: bool,
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

/// How a message came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spoken {
    pub(super) language: Option<&'static Language>,
}

/// A key as voice sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VoiceKey {
    /// Enter or space.
    Enter,
    /// A key that changes the input.
    Typing,
    /// Any other.
    Other,
}

impl Session {
    /// `/v`: records once and sends what was said.
    pub(super) fn record_once(&mut self, words: &str) -> Outcome<()> {
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
        if self.voice.listening.is_some() {
            return Err(Problem::refused("A recording is running already.")
                .next("End it with Enter, or drop it with Esc or Ctrl-C."));
        }
        self.stop_speech();
        self.listen(Some(seconds));
        Ok(())
    }

    /// `/voice`: switches voice mode on or off.
    pub(super) fn toggle_voice(&mut self, words: &str) -> Outcome<()> {
        if !words.is_empty() {
            return Err(
                Problem::input("/voice takes no words after it.").next("/v SECONDS records once.")
            );
        }
        if !matches!(self.voice.mode, VoiceMode::Off) {
            self.end_voice();
            self.say_voice_is_off();
            return Ok(());
        }
        if !self.settings.process.stdin_is_terminal {
            return Err(Problem::refused(
                "Voice mode needs a terminal, on which a key can end it.",
            )
            .next("/v SECONDS records once."));
        }
        let id = self.number();
        self.voice.mode = VoiceMode::Starting(id);
        let (context, inbox) = (Arc::clone(&self.context), Arc::clone(&self.inbox));
        let started = self.work("voice", move || {
            let found = Voices::find(&context.env);
            inbox.send(WorkerEvent::Voice(id, VoiceEvent::Found(found)));
        });
        if !started {
            self.voice.mode = VoiceMode::Off;
        }
        Ok(())
    }

    fn say_voice_is_off(&mut self) {
        let words = "Voice mode is off.".to_owned();
        self.updates.push(UiUpdate::System(words));
    }

    /// Handles what the threads of voice report.
    pub(super) fn voice_event(&mut self, id: u64, event: VoiceEvent) {
        match event {
            VoiceEvent::Found(found) => {
                if matches!(self.voice.mode, VoiceMode::Starting(own) if own == id) {
                    self.voice_found(found);
                }
                self.send_next();
            }
            VoiceEvent::SpeechEnded(outcome) => self.speech_ended(id, outcome),
            event => {
                if let Some(listening) = self.voice.listening.take_if(|one| one.id == id) {
                    self.listening_event(listening, event);
                }
            }
        }
    }

    /// Voice mode begins, if there is something to record with.
    fn voice_found(&mut self, found: Outcome<Voices>) {
        match found {
            Ok(voices) => {
                self.updates.push(UiUpdate::System(voices.words()));
                self.voice.mode = VoiceMode::On(voices.speaker);
                self.voice.is_paused = false;
            }
            Err(problem) => {
                self.voice.mode = VoiceMode::Off;
                self.updates.push(UiUpdate::Failed(problem));
            }
        }
    }

    fn listening_event(&mut self, mut listening: Listening, event: VoiceEvent) {
        match event {
            VoiceEvent::Recording => {
                listening.phase = Some(ListeningPhase::Recording);
                listening.since = Instant::now();
                let seconds = listening.seconds;
                self.updates
                    .push(UiUpdate::Voice(VoiceUpdate::Recording { seconds }));
                self.voice.listening = Some(listening);
            }
            VoiceEvent::Level(level) => {
                let step = meter_step(level);
                let excess = (listening.levels.len() + 1).saturating_sub(SHOWN_LEVELS);
                listening.levels.drain(..excess);
                listening.levels.push_back(step);
                self.updates
                    .push(UiUpdate::Voice(VoiceUpdate::Level { step }));
                self.voice.listening = Some(listening);
            }
            VoiceEvent::Transcribing => {
                listening.phase = Some(ListeningPhase::Transcribing);
                listening.since = Instant::now();
                self.updates
                    .push(UiUpdate::Voice(VoiceUpdate::Transcribing));
                self.voice.listening = Some(listening);
            }
            VoiceEvent::Heard(outcome) => self.heard(&listening, outcome),
            VoiceEvent::Found(_) | VoiceEvent::SpeechEnded(_) => {}
        }
    }

    /// The end of a recording: what was said is sent as a message, whatever it says. A spoken "quit" is no command.
    fn heard(&mut self, listening: &Listening, outcome: Outcome<Option<Transcript>>) {
        self.updates.push(UiUpdate::Voice(VoiceUpdate::Ended));
        let is_voice_mode = listening.seconds.is_none();
        match outcome {
            Ok(Some(transcript)) => {
                self.voice.language = transcript.language;
                let kept = self.for_history(&transcript.text);
                self.remember(&kept);
                self.poll_news();
                self.queue.push_back(Queued {
                    spoken: Some(Spoken {
                        language: transcript.language,
                    }),
                    ..Queued::new(QueuedKind::Message, transcript.text)
                });
            }
            // The user has ended it.
            Ok(None) if self.voice.is_paused || listening.finish.is_fired() => {}
            Ok(None) => {
                self.end_voice();
                let words = "Voice mode is off: nothing was heard for a while.".to_owned();
                self.updates.push(UiUpdate::System(words));
            }
            Err(problem) if problem.is_cancelled() => {}
            Err(problem) => {
                self.updates.push(UiUpdate::Failed(problem));
                if is_voice_mode {
                    self.end_voice();
                    self.say_voice_is_off();
                }
            }
        }
        self.send_next();
    }

    /// In voice mode: listens when nothing else happens.
    pub(super) fn listen_on(&mut self) {
        let is_wanted = matches!(self.voice.mode, VoiceMode::On(_)) && !self.voice.is_paused;
        if is_wanted && !self.exiting && !self.busy() && self.held_notices.is_empty() {
            self.listen(None);
        }
    }

    /// Starts to record, for at most `seconds` or, in voice mode, until somebody has spoken.
    fn listen(&mut self, seconds: Option<u64>) {
        let id = self.number();
        let (stop, with_session) = self.stop_all.child();
        let finish = Cancel::new();
        let listener = Listener {
            id,
            context: Arc::clone(&self.context),
            inbox: Arc::clone(&self.inbox),
            seconds,
            supervisor: self.supervisor(),
            finish: finish.clone(),
            stop: stop.clone(),
        };
        if self.work("listen", move || listener.run()) {
            self.voice.listening = Some(Listening {
                id,
                phase: None,
                since: Instant::now(),
                seconds,
                levels: VecDeque::new(),
                finish,
                stop,
                _with_session: with_session,
            });
        } else {
            self.voice.mode = VoiceMode::Off;
        }
    }

    /// This executable, which ends recorders and speakers when this process is killed. After an update that has moved it, they end by themselves.
    fn supervisor(&self) -> Option<PathBuf> {
        let executable = self.settings.process.executable.clone();
        executable.filter(|path| path.exists())
    }

    /// Drops the recording and the speech. True when there was any; voice mode ends with its recording.
    pub(super) fn cancel_voice(&mut self) -> bool {
        let was_speaking = self.stop_speech();
        if matches!(self.voice.mode, VoiceMode::Starting(_)) {
            self.end_voice();
            self.say_voice_is_off();
            return true;
        }
        let Some(listening) = self.voice.listening.take() else {
            return was_speaking;
        };
        listening.stop.fire();
        self.updates.push(UiUpdate::Voice(VoiceUpdate::Ended));
        if listening.seconds.is_none() {
            self.end_voice();
            self.say_voice_is_off();
        } else {
            let words = "The recording was dropped.".to_owned();
            self.updates.push(UiUpdate::System(words));
        }
        self.send_next();
        true
    }

    /// Switches voice mode off and ends all that belongs to voice.
    pub(super) fn end_voice(&mut self) {
        self.voice.mode = VoiceMode::Off;
        self.voice.is_paused = false;
        if let Some(listening) = self.voice.listening.take() {
            listening.stop.fire();
            self.updates.push(UiUpdate::Voice(VoiceUpdate::Ended));
        }
        self.stop_speech();
    }

    /// True while keys have a meaning for voice: see [`Session::voice_key`].
    pub(crate) fn voice_takes_keys(&self) -> bool {
        let is_recording = self
            .voice
            .listening
            .as_ref()
            .is_some_and(|one| one.phase != Some(ListeningPhase::Transcribing));
        is_recording || self.is_speaking()
    }

    /// The user pressed a key: any key stops the speech; Enter completes a recording, and so does any key that types that of `/v`. In voice mode a key that
    /// types makes it pause. True when the key has no further meaning.
    pub(crate) fn voice_key(&mut self, key: VoiceKey, input_is_empty: bool) -> bool {
        let is_enter = key == VoiceKey::Enter && input_is_empty;
        if self.stop_speech() {
            self.voice.is_paused = key == VoiceKey::Typing;
            return is_enter;
        }
        if self.voice.is_paused && is_enter {
            self.voice.is_paused = false;
            self.listen_on();
            return true;
        }
        let Some(listening) = &self.voice.listening else {
            return false;
        };
        let is_once = listening.seconds.is_some();
        let is_over = listening.phase == Some(ListeningPhase::Transcribing);
        if is_over || key == VoiceKey::Other {
            return false;
        }
        listening.finish.fire();
        if !is_once && !is_enter {
            self.voice.is_paused = true;
            return false;
        }
        true
    }

    /// True while something of voice has to end before the plain interface reads on.
    pub(super) fn is_voice_busy(&self) -> bool {
        self.voice.listening.is_some()
            || self.is_speaking()
            || matches!(self.voice.mode, VoiceMode::Starting(_))
    }

    /// What a status line shows of voice; `None` when there is nothing of it.
    pub(super) fn voice_status(&self) -> Option<VoiceStatus> {
        let listening = self.voice.listening.as_ref();
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
        let is_on = matches!(self.voice.mode, VoiceMode::On(_));
        (is_on || phase.is_some()).then_some(VoiceStatus {
            is_on,
            is_paused: self.voice.is_paused,
            phase,
        })
    }
}
