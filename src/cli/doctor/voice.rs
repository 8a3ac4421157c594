//! What records and what speaks. The key of the service that writes down what was said is among the services.

use super::finding::{Finding, finding};
use crate::base::env::Env;
use crate::voice::recorder::Recorder;
use crate::voice::speaker::Speaker;
use crate::voice::transcribe;

/// One finding for each part of voice.
pub(super) fn findings(env: &Env) -> [Finding; 3] {
    let area = "voice";
    let recorder = match Recorder::find(env) {
        Ok(recorder) => finding(area, "recorder", true, recorder.name, ""),
        Err(problem) => {
            let advice = problem.next.join(" ");
            finding(area, "recorder", false, problem.what, &advice)
        }
    };
    let text = match transcribe::ready(env) {
        Ok(()) => finding(
            area,
            "speech to text",
            true,
            transcribe::model(env).to_owned(),
            "",
        ),
        Err(problem) => {
            let advice = problem.next.join(" ");
            finding(area, "speech to text", false, problem.what, &advice)
        }
    };
    let speaker = match Speaker::find(env) {
        Ok(Some(speaker)) => {
            let language = speaker.only_language();
            let language = language.map_or_else(String::new, |one| format!(", in {}", one.name));
            finding(area, "speaker", true, speaker.name + &language, "")
        }
        Ok(None) => finding(
            area,
            "speaker",
            false,
            "none found: voice mode does not read answers aloud".to_owned(),
            "Install the package espeak-ng, or piper with a voice (MARVIN_PIPER_VOICE) and alsa-utils, or set MARVIN_SPEAK_COMMAND.",
        ),
        Err(problem) => {
            let advice = problem.next.join(" ");
            finding(area, "speaker", false, problem.what, &advice)
        }
    };
    [recorder, text, speaker]
}
