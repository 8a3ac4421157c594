//! The thread that records and has the recording written down.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::app::session::inbox::Inbox;
use crate::app::session::voices::check;
use crate::app::session::worker_event::WorkerEvent;
use crate::app::session::worker_event::voice::VoiceEvent;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::tools::engine::context::SessionContext;
use crate::voice::activity::SILENCE_DB;
use crate::voice::record::{MAX_SECONDS, RecordOrder};
use crate::voice::transcribe::{self, Transcript};

/// Voice mode ends when nobody has spoken for so long: a microphone must not stay open because somebody forgot it.
const VOICE_MODE_PATIENCE: Duration = Duration::from_secs(300);

/// One recording, on its way to a text.
pub(super) struct Listener {
    pub(super) id: u64,
    pub(super) context: Arc<SessionContext>,
    pub(super) inbox: Arc<Inbox>,
    /// The longest time; `None` in voice mode.
    pub(super) seconds: Option<u64>,
    pub(super) supervisor: Option<PathBuf>,
    pub(super) finish: Cancel,
    pub(super) stop: Cancel,
}

impl Listener {
    fn send(&self, event: VoiceEvent) {
        self.inbox.send(WorkerEvent::Voice(self.id, event));
    }

    /// Records, and returns what was said; `None` when nobody spoke in voice mode.
    pub(super) fn listen(&self) -> Outcome<Option<Transcript>> {
        let env = &self.context.env;
        let recorder = check(env)?;
        self.send(VoiceEvent::Recording);
        let is_voice_mode = self.seconds.is_none();
        let recording = RecordOrder {
            env,
            recorder: &recorder,
            seconds: self.seconds.unwrap_or(MAX_SECONDS),
            patience: is_voice_mode.then_some(VOICE_MODE_PATIENCE),
            supervisor: self.supervisor.as_deref(),
            finish: &self.finish,
            stop: &self.stop,
        }
        .record(&mut |level| self.send(VoiceEvent::Level(level)))?;
        if !recording.has_voice {
            // A microphone that gives nothing at all is a fault; a quiet room is none, nor is a user who goes on typing.
            let is_fault = recording.loudest <= SILENCE_DB && !self.finish.is_fired();
            return if is_voice_mode && !is_fault {
                Ok(None)
            } else {
                Err(recording.silence())
            };
        }
        self.send(VoiceEvent::Transcribing);
        let said = transcribe::transcribe(
            &recording,
            env,
            &self.context.services,
            self.context.contact(),
            &mut |words| self.inbox.send(WorkerEvent::Notice(words)),
            &self.stop,
        )?;
        match said {
            None if !is_voice_mode => {
                Err(Problem::input("No words were recognized in the recording.")
                    .next("Speak closer to the microphone, and say more than a word."))
            }
            said => Ok(said),
        }
    }
}
