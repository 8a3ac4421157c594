//! What there is to record with, to write it down, and to speak with.

use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::voice::recorder::Recorder;
use crate::voice::speaker::Speaker;
use crate::voice::transcribe;

/// What voice mode works with.
pub(in crate::app::session) struct Voices {
    recorder: Recorder,
    pub(super) speaker: Option<Speaker>,
    model: String,
}

impl Voices {
    /// Looks for a recorder, a key and a speaker.
    ///
    /// # Errors
    /// There is no recorder or no key, or a command that the user set cannot be used.
    pub(super) fn find(env: &Env) -> Outcome<Self> {
        Ok(Self {
            recorder: check(env)?,
            speaker: Speaker::find(env)?,
            model: transcribe::model(env).to_owned(),
        })
    }

    /// What the user is told when voice mode begins.
    pub(super) fn words(&self) -> String {
        let (recorder, model) = (&self.recorder.name, &self.model);
        let speaker = match &self.speaker {
            Some(speaker) => format!("{} speaks", speaker.name),
            None => {
                "replies are not spoken (install espeak-ng, or set MARVIN_SPEAK_COMMAND)".to_owned()
            }
        };
        format!(
            "Voice mode is on: {recorder} records, {model} writes it down, {speaker}. Speak, and pause to send. Enter sends at once, typing pauses, Esc or /voice ends it."
        )
    }
}

/// What has to be there before anything is recorded: a recorder, and somebody who writes it down. Both are named when both are missing.
pub(super) fn check(env: &Env) -> Outcome<Recorder> {
    match (transcribe::ready(env), Recorder::find(env)) {
        (Ok(()), recorder) => recorder,
        (Err(problem), Ok(_)) => Err(problem),
        (Err(mut problem), Err(other)) => {
            problem.what = format!("{} {}", problem.what, other.what);
            problem.next.extend(other.next);
            Err(problem)
        }
    }
}
