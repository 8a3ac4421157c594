//! What the threads of voice report to the session.

use crate::app::session::voices::Voices;
use crate::base::problem::Outcome;
use crate::voice::transcribe::Transcript;

/// What the thread that listens reports.
pub(in crate::app::session) enum VoiceEvent {
    /// `/voice`: what there is to record and speak with.
    Found(Outcome<Voices>),
    /// The recorder starts.
    Recording,
    /// Loudness in decibels below full scale.
    Level(f32),
    /// The recording is sent.
    Transcribing,
    /// The end of it: what was said, if anything.
    Heard(Outcome<Option<Transcript>>),
    /// All sentences are spoken, or the speaker has failed.
    SpeechEnded(Outcome<()>),
}
