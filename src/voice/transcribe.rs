//! Has a recording written down by a service that speaks OpenAI's protocol for transcriptions (<https://console.groq.com/docs/speech-to-text>,
//! <https://platform.openai.com/docs/api-reference/audio/createTranscription>).

use std::time::Duration;

use serde_json::Value;

use super::languages::{self, Language};
use super::record::Recording;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::ids;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, plural, single_spaced};
use crate::base::variables::WHISPER_MODEL;
use crate::formats::multipart::{Multipart, unused_boundary};
use crate::llm::address::{ProviderAddress, address};
use crate::llm::catalog;
use crate::net::service::{ServiceClient, ServiceResponse};
use crate::net::services::{GROQ_WHISPER, variable};

const DEFAULT_MODEL: &str = "whisper-large-v3";
/// The type of a file is judged by its name.
const FILE_NAME: &str = "speech.wav";
/// How long the service may compute before it answers: a machine of one's own without a graphics card takes its time.
const PATIENCE: Duration = Duration::from_secs(300);
/// Before the second request after a server error, and after a rate limit without a time.
const RETRY_PAUSE: Duration = Duration::from_secs(1);
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(10);
/// Longer waits are left to the user.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Most characters of a transcript; nobody says more in the time that a recording has.
const MAX_CHARS: usize = 50_000;
/// A stretch is silence if the model thinks so and does not believe in its own words: the thresholds of Whisper itself
/// (<https://github.com/openai/whisper/blob/main/whisper/transcribe.py>).
const SILENCE_PROBABILITY: f64 = 0.6;
const UNSURE_LOG_PROBABILITY: f64 = -1.0;

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Transcript {
    /// On one line, without control characters.
    pub text: String,
    /// The language that was heard, if the service says and it is a known one.
    pub language: Option<&'static Language>,
}

/// The model in use.
pub(crate) fn model(env: &Env) -> &str {
    WHISPER_MODEL.read(env).unwrap_or(DEFAULT_MODEL)
}

/// What is missing before anything can be written down.
///
/// # Errors
/// There is no key, and the service is not one of the user's own.
pub(crate) fn ready(env: &Env) -> Outcome<()> {
    if whisper_address(env).variable.is_some() || GROQ_WHISPER.key_in(env).is_some() {
        return Ok(());
    }
    Err(Problem::config("Voice input needs a key for Groq, which writes down what you say.").next(
        format!(
            "Set GROQ_API_KEY (https://console.groq.com/keys), or {} to a server of your own that speaks the same protocol (marvin help voice).",
            variable(GROQ_WHISPER.id)
        ),
    ))
}

/// Has `recording` written down; `None` when the service heard nothing. `announce` gets a sentence about each wait.
///
/// # Errors
/// The key is refused, the recording too long, the limit reached, or the service out of order; `Cancelled`.
pub(crate) fn transcribe(
    recording: &Recording,
    env: &Env,
    client: &ServiceClient,
    contact: Option<String>,
    announce: &mut dyn FnMut(String),
    stop: &Cancel,
) -> Outcome<Option<Transcript>> {
    ready(env)?;
    let (kind, body) = form(recording, model(env));
    let base = whisper_address(env).base;
    let path = path(&base);
    let key = GROQ_WHISPER.key_in(env);
    let send = || -> Outcome<ServiceResponse> {
        let mut request = client
            .request(&GROQ_WHISPER, contact.clone(), stop)
            .base(&base)
            .path(path)
            .header("accept", "application/json")
            .without_retry()
            .patience(PATIENCE);
        if let Some(key) = &key {
            request = request.secret_header("authorization", key, format!("Bearer {key}"));
        }
        request.body(&kind, &body)
    };
    let mut answer = send()?;
    if let Some(pause) = pause(&answer) {
        let seconds = usize::try_from(pause.as_secs().max(1)).unwrap_or(usize::MAX);
        let why = match answer.status {
            429 => "limits the number of requests".to_owned(),
            status => format!("failed ({status})"),
        };
        announce(format!(
            "{} {why}. Trying again in {}.",
            GROQ_WHISPER.name,
            plural(seconds, "second")
        ));
        if !stop.sleep(pause) {
            return Err(Problem::cancelled());
        }
        answer = send()?;
    }
    let value = answer.json(error_message)?;
    transcript(&value).map_err(|()| answer.unreadable())
}

/// The address in use, and the variable that set it: its own, else that of the provider of which it is a part, where that was moved.
pub(crate) fn whisper_address(env: &Env) -> ProviderAddress {
    if GROQ_WHISPER.is_own(env) {
        return ProviderAddress {
            base: GROQ_WHISPER.base_in(env).to_owned(),
            variable: Some(variable(GROQ_WHISPER.id).into()),
        };
    }
    let moved = catalog::row("groq").and_then(|row| {
        let address = address(env, row);
        (address.base != row.base).then_some(address)
    });
    moved.unwrap_or_else(|| ProviderAddress {
        base: GROQ_WHISPER.base.to_owned(),
        variable: None,
    })
}

/// The path below `base`: a bare host is Groq's or one with its paths, anything longer is what OpenAI's clients take as the base.
fn path(base: &str) -> &'static str {
    let (_, rest) = base.split_once("://").unwrap_or(("", base));
    if rest.ends_with("/audio/transcriptions") {
        ""
    } else if rest.contains('/') {
        "/audio/transcriptions"
    } else {
        "/openai/v1/audio/transcriptions"
    }
}

/// The content type and the body of the request.
fn form(recording: &Recording, model: &str) -> (String, Vec<u8>) {
    // Other models than Whisper answer only in the short form, which tells no language.
    let format = if model.to_lowercase().contains("whisper") {
        "verbose_json"
    } else {
        "json"
    };
    let parts: [&[u8]; 3] = [&recording.header, &recording.samples, model.as_bytes()];
    Multipart::new(unused_boundary(&parts, || ids::hex(12)))
        .field("model", model)
        .field("response_format", format)
        .field("temperature", "0")
        .file(
            "file",
            FILE_NAME,
            "audio/wav",
            &[&recording.header, &recording.samples],
        )
        .finish()
}

/// How long to wait before the second request, if there is to be one.
fn pause(answer: &ServiceResponse) -> Option<Duration> {
    let usual = match answer.status {
        429 => RATE_LIMIT_PAUSE,
        500.. => RETRY_PAUSE,
        _ => return None,
    };
    let pause = answer.retry_after().unwrap_or(usual);
    (pause <= MAX_PAUSE).then_some(pause)
}

/// The service's own message; some servers send the error as a text.
fn error_message(value: &Value) -> Option<String> {
    let error = value.get("error").or_else(|| value.get("detail"))?;
    let message = error.get("message").unwrap_or(error);
    message.as_str().map(str::to_owned)
}

/// Reads an answer. What the model made up for silence is left out.
fn transcript(value: &Value) -> Result<Option<Transcript>, ()> {
    let text = value.get("text").and_then(Value::as_str).ok_or(())?;
    let segments = value.get("segments").and_then(Value::as_array);
    let segments = segments.map(Vec::as_slice).unwrap_or_default();
    let is_silent = |segment: &Value| {
        let number = |key: &str| segment.get(key).and_then(Value::as_f64);
        number("no_speech_prob").is_some_and(|silence| silence > SILENCE_PROBABILITY)
            && number("avg_logprob").is_some_and(|sure| sure < UNSURE_LOG_PROBABILITY)
    };
    let text = if segments.iter().any(is_silent) {
        let heard = segments.iter().filter(|segment| !is_silent(segment));
        let heard = heard.filter_map(|segment| segment.get("text").and_then(Value::as_str));
        heard.collect::<Vec<_>>().join(" ")
    } else {
        text.to_owned()
    };
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let text = clip(&single_spaced(&clean), MAX_CHARS);
    let language = value.get("language").and_then(Value::as_str);
    Ok(text.chars().any(char::is_alphanumeric).then(|| Transcript {
        text: text.trim().to_owned(),
        language: language.and_then(languages::find),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use proptest::prelude::*;

    #[test]
    fn an_address_of_groq_moves_the_writing_down_too() {
        let own = ("MARVIN_URL_GROQ_WHISPER", "http://whisper:1/");
        for (vars, wanted, to) in [
            (
                vec![],
                "https://api.groq.com",
                "/openai/v1/audio/transcriptions",
            ),
            (
                vec![("GROQ_BASE_URL", "https://gw")],
                "https://gw/openai/v1",
                "/audio/transcriptions",
            ),
            (
                vec![("GROQ_URL", "https://gw/v1/")],
                "https://gw/v1",
                "/audio/transcriptions",
            ),
            (
                vec![("MARVIN_URL_GROQ", "https://gw/v1")],
                "https://gw/v1",
                "/audio/transcriptions",
            ),
            (
                vec![own, ("GROQ_BASE_URL", "https://gw")],
                "http://whisper:1",
                "/openai/v1/audio/transcriptions",
            ),
        ] {
            let has_moved = !vars.is_empty();
            let env = Env::new(vars.into_iter().map(|(k, v)| (k.into(), v.into())));
            let base = whisper_address(&env).base;
            assert_eq!((base.as_str(), path(&base)), (wanted, to));
            assert_eq!(ready(&env).is_ok(), has_moved, "{wanted}");
        }
    }

    use serde_json::json;

    #[test]
    fn addresses_of_groq_and_of_servers_of_ones_own_are_completed() {
        for (base, want) in [
            ("https://api.groq.com", "/openai/v1/audio/transcriptions"),
            ("http://127.0.0.1:8000", "/openai/v1/audio/transcriptions"),
            ("http://127.0.0.1:8000/v1", "/audio/transcriptions"),
            ("https://api.openai.com/v1/audio/transcriptions", ""),
        ] {
            assert_eq!(path(base), want, "{base}");
        }
    }

    #[test]
    fn without_a_key_it_says_which() {
        let at = |vars: &[(&str, &str)]| {
            let vars = vars
                .iter()
                .map(|(name, value)| ((*name).into(), (*value).into()));
            ready(&Env::new(vars))
        };
        let problem = at(&[]).unwrap_err().one_line();
        assert_has(&problem, &["GROQ_API_KEY", "MARVIN_URL_GROQ_WHISPER"]);
        assert!(at(&[("GROQ_API_KEY", "k")]).is_ok());
        assert!(at(&[("MARVIN_URL_GROQ_WHISPER", "http://127.0.0.1:1")]).is_ok());
    }

    #[test]
    fn transcripts_are_read_and_what_is_made_up_for_silence_is_not() {
        let heard = |value: Value| {
            let read = transcript(&value).unwrap();
            read.map(|one| (one.text, one.language.map(|language| language.code)))
        };
        let text = |text: &str| Some((text.to_owned(), None));
        assert_eq!(
            heard(json!({"text": " What time\n is it? ", "x_groq": {"id": "r"}})),
            text("What time is it?")
        );
        assert_eq!(heard(json!({"text": "a\u{1b}[31mb"})), text("a [31mb"));
        assert_eq!(heard(json!({"text": "  ... "})), None);
        assert_eq!(heard(json!({"text": ""})), None);
        assert_eq!(
            heard(json!({"text": "Wie spät ist es?", "language": "German", "segments": []})),
            Some(("Wie spät ist es?".to_owned(), Some("de")))
        );
        let silent = json!({"text": " Thank you.", "no_speech_prob": 0.9, "avg_logprob": -1.3});
        let sure = json!({"text": " Good morning.", "no_speech_prob": 0.7, "avg_logprob": -0.2});
        assert_eq!(
            heard(json!({"text": " Thank you.", "segments": [silent]})),
            None
        );
        assert_eq!(
            heard(json!({"text": " Good morning. Thank you.", "segments": [sure, silent]})),
            text("Good morning.")
        );
        for broken in [json!({}), json!([]), json!({"text": 3}), json!(null)] {
            assert_eq!(transcript(&broken), Err(()), "{broken}");
        }
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_clean_line(text in "\\PC{0,80}|(\\s|\u{1b}|\u{7}|a){0,40}", silence in -2.0f64..2.0, sure in -3.0f64..1.0) {
            let value = json!({"text": text, "segments": [{"text": text, "no_speech_prob": silence, "avg_logprob": sure}]});
            if let Some(read) = transcript(&value).unwrap() {
                prop_assert!(!read.text.contains(|c: char| c.is_control()));
                prop_assert_eq!(read.text.trim(), read.text.as_str());
            }
        }
    }
}
