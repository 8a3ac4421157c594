//! Voice through a pipe: what is recorded, sent, written down and answered, and what goes wrong on the way.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::server::{Answer, Exchange, Server};
use crate::support::stages::{StageAnswer, StageServer, content};
use crate::support::voice::{
    hears, left_behind, parts, quick_recorder, runtime_dir, script, transcription, verbose, wav,
};
use crate::support::wait::side_by_side;
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const KEY: &str = "gsk_verysecretkey0123456789";

fn chat(home: &Home, server: &Server, record: &str) -> Marvin {
    home.chat(server)
        .env("MARVIN_URL_GROQ_WHISPER", server.url(""))
        .env("GROQ_API_KEY", KEY)
        .env("MARVIN_RECORD_COMMAND", record)
        .env("XDG_RUNTIME_DIR", runtime_dir(home))
}

/// The conversation of `input`; nothing may stay behind.
fn run(home: &Home, server: &Server, record: &str, input: &str) -> Done {
    let done = chat(home, server, record).stdin(input).run().expect(0);
    assert_eq!(left_behind(home), Vec::<std::path::PathBuf>::new());
    assert!(!done.text().contains(KEY) && !done.errors().contains(KEY));
    done
}

fn says(text: &str) -> Exchange {
    Exchange::post("/chat/completions").answer(Answer::sse(openai::text(&[text])))
}

/// Role and text of the messages of a request.
fn messages(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    messages
        .map(|message| (word(&message["role"]), word(&message["content"])))
        .collect()
}

#[test]
fn what_was_said_is_sent_as_the_users_message() {
    let home = Home::new();
    let server = Server::with([hears("Wie spät ist es?"), says("Half past nine.")]);
    let done = run(&home, &server, &quick_recorder(&home), "!v 3\n");
    let text = done.text();
    let order = [
        "[System] Recording, at most 3 s.",
        "[System] Writing down what you said.",
        "You (spoken): Wie spät ist es?",
        "Marvin: Half past nine.",
    ];
    let mut rest = text;
    for line in order {
        (_, rest) = rest
            .split_once(line)
            .unwrap_or_else(|| panic!("no {line:?}: {text}"));
    }
    // No meter in a pipe.
    assert!(!text.contains(['▁', '█', '\x1b']), "{text}");

    let request = server.request(0);
    assert_eq!(request.path, "/openai/v1/audio/transcriptions");
    assert_eq!(
        request.header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    let length: usize = request.header("content-length").unwrap().parse().unwrap();
    assert_eq!(length, request.body.len());
    let parts = parts(&request);
    let fields: Vec<(&str, String)> = parts[..3]
        .iter()
        .map(|(name, _, value)| (name.as_str(), String::from_utf8(value.clone()).unwrap()))
        .collect();
    let want = [
        ("model", "whisper-large-v3"),
        ("response_format", "verbose_json"),
        ("temperature", "0"),
    ];
    assert_eq!(fields, want.map(|(name, value)| (name, value.to_owned())));
    let (name, headers, file) = &parts[3];
    assert_eq!(name, "file");
    headers.assert_has(&["filename=\"speech.wav\"", "audio/wav"]);
    assert_eq!(
        file[..],
        wav(2, 8_000, true)[..]
            .iter()
            .enumerate()
            .map(|(at, byte)| match at {
                // The length of the whole file, which the recorder did not fill in.
                4..8 => (64_036u32.to_le_bytes())[at - 4],
                _ => *byte,
            })
            .collect::<Vec<u8>>()
    );

    let sent = messages(&server.request(1).json());
    let (role, note) = &sent[sent.len() - 2];
    assert!(
        role == "system" && note.contains("a machine wrote down what it heard"),
        "{note}"
    );
    note.assert_lacks(&["read aloud"]);
    assert_eq!(
        sent[sent.len() - 1],
        ("user".to_owned(), "Wie spät ist es?".to_owned())
    );
    let log: Value =
        serde_json::from_str(&home.read("config/profiles/main/chat_log.json")).unwrap();
    assert_eq!(log[0]["role"], "you");
    assert_eq!(log[0]["text"], "Wie spät ist es?");
    home.read("config/profiles/main/history")
        .assert_has(&["Wie spät ist es?"]);
}

#[test]
fn spoken_words_are_never_commands_and_name_no_files() {
    let home = Home::new();
    home.write("work/secret.txt", "the content of a file");
    let server = Server::with([
        hears("quit"),
        says("No."),
        hears("!touch spoken"),
        says("No to that."),
        hears("Read @secret.txt"),
        says("Which one?"),
    ]);
    run(
        &home,
        &server,
        &quick_recorder(&home),
        "!v\n!v\n!shell\n!v\nexit\n",
    )
    .stdout_has(&["Marvin: Which one?"]);
    assert!(!home.has("work/spoken"));
    let sent = server.request(5).text();
    sent.assert_has(&["Read @secret.txt"]);
    sent.assert_lacks(&["the content of a file"]);
}

#[test]
fn a_server_of_ones_own_needs_no_key_and_another_model_no_long_form() {
    let home = Home::new();
    let server = Server::with([
        transcription(Answer::json(&json!({"text": "Hello there."}))),
        says("Hello."),
    ]);
    chat(&home, &server, &quick_recorder(&home))
        .without("GROQ_API_KEY")
        .env("MARVIN_URL_GROQ_WHISPER", server.url("/v1/"))
        .env("WHISPER_MODEL", "gpt-4o-transcribe")
        .stdin("!v\n")
        .prints(&["You (spoken): Hello there."]);
    let request = server.request(0);
    assert_eq!(request.path, "/v1/audio/transcriptions");
    assert_eq!(request.header("authorization"), None);
    let parts = parts(&request);
    assert_eq!(
        (&parts[0].2[..], &parts[1].2[..]),
        (&b"gpt-4o-transcribe"[..], &b"json"[..])
    );
}

#[test]
fn missing_parts_are_named_before_anything_is_recorded() {
    let home = Home::new();
    let server = Server::start();
    let recorder = script(&home, "recorder", "touch $HOME/recorded");
    let record = format!("{} {{file}}", recorder.display());
    let without_key = |marvin: Marvin| {
        let marvin = marvin
            .without("GROQ_API_KEY")
            .without("MARVIN_URL_GROQ_WHISPER");
        marvin.stdin("!v\n").run().expect(0).text().to_owned()
    };
    let text = without_key(chat(&home, &server, &record));
    text.assert_has(&["[Error] ", "GROQ_API_KEY"]);
    text.assert_lacks(&["Recording"]);
    assert!(!home.has("recorded"));
    let nowhere = home.path().join("nowhere");
    let no_recorder = chat(&home, &server, "").env("PATH", &nowhere);
    no_recorder
        .stdin("!v\n")
        .prints(&["arecord, sox, ffmpeg nor pw-record"]);
    // Both at once.
    without_key(chat(&home, &server, "").env("PATH", &nowhere))
        .assert_has(&["GROQ_API_KEY", "arecord"]);
    run(&home, &server, "cp a b", "!v\n!voice\n")
        .stdout_has(&["{file}", "Voice mode needs a terminal"]);
}

#[test]
fn silence_and_broken_recordings_are_not_sent() {
    let home = Home::new();
    let server = Server::start();
    let file = |name: &str, bytes: Vec<u8>| home.write(name, bytes).display().to_string();
    let quiet = file("quiet.wav", wav(2, 20, true));
    let garbage = file("garbage", vec![7; 5_000]);
    for (recorder, want) in [
        (
            format!("cp {quiet} $1"),
            "No voice was heard in 2 s; the loudest moment was at -64 dB.",
        ),
        (format!("cp {garbage} $1"), "is not a WAV recording"),
        (
            "echo 'arecord: main:831: audio open error: No such file or directory' >&2; exit 1"
                .to_owned(),
            "audio open error: No such file or directory.",
        ),
    ] {
        let path = script(&home, "recorder", &recorder);
        let record = format!("{} {{file}}", path.display());
        let done = run(&home, &server, &record, "!v 1\n");
        let text = done.text().replace("\n    ", " ");
        text.assert_has_for(&recorder, &["[Error] ", want]);
        text.assert_lacks(&["You (spoken)"]);
    }
}

#[test]
fn refusals_of_the_service_are_told_in_words() {
    let error = |status: u16, message: &str, kind: &str| {
        transcription(
            Answer::status(status).and_json(&json!({"error": {"message": message, "type": kind}})),
        )
    };
    let page = || Answer::text("text/html", "<!DOCTYPE html><html>Sign in</html>");
    side_by_side(
        [
            (
                vec![error(401, "Invalid API Key", "invalid_request_error")],
                &[
                    "does not accept the key (401): Invalid API Key.",
                    "Check GROQ_API_KEY.",
                ][..],
            ),
            (
                vec![error(413, "Request Entity Too Large", "request_too_large")],
                &["too long for Groq Whisper (413)"],
            ),
            (
                vec![error(
                    400,
                    "file must be one of the following types",
                    "invalid_request_error",
                )],
                &["(400): file must be one of the following types."],
            ),
            (
                vec![transcription(
                    Answer::status(429).header("Retry-After", "3600"),
                )],
                &[
                    "Too many requests to Groq Whisper (429).",
                    "Try again in 60 minutes.",
                ],
            ),
            (
                vec![
                    error(500, "boom", "internal_server_error"),
                    error(503, "still", "internal_server_error"),
                ],
                &[
                    "Groq Whisper failed (500). Trying again in 1 second.",
                    "Groq Whisper failed (503): still.",
                ],
            ),
            (vec![transcription(page())], &["answered with a web page"]),
            (
                vec![transcription(Answer::text(
                    "application/json",
                    "{\"text\": \"Hel",
                ))],
                &["cannot be read"],
            ),
            (
                vec![transcription(Answer::json(&json!({"texts": []})))],
                &["cannot be read"],
            ),
            (
                vec![transcription(Answer::json(&json!({"text": " ... "})))],
                &["No words were recognized"],
            ),
            (
                vec![transcription(
                    Answer::json(&verbose("x")).claim_length(10_000),
                )],
                &["Groq Whisper"],
            ),
        ],
        |(script, want)| {
            let (home, server) = (Home::new(), Server::with(script));
            let done = run(&home, &server, &quick_recorder(&home), "!v\n");
            let text = done.text().replace("\n    ", " ");
            for part in want {
                assert!(text.contains(part), "no {part:?}: {text}");
            }
            text.assert_has(&["[Error] "]);
            text.assert_lacks(&["You (spoken)"]);
        },
    );
}

#[test]
fn a_server_error_and_a_short_limit_get_a_second_request() {
    for (status, pause) in [(502, None), (429, Some("1"))] {
        let home = Home::new();
        let mut refusal = Answer::status(status);
        if let Some(pause) = pause {
            refusal = refusal.header("Retry-After", pause);
        }
        let server = Server::with([transcription(refusal), hears("Hello."), says("Hi.")]);
        run(&home, &server, &quick_recorder(&home), "!v\n")
            .stdout_has(&["Trying again in 1 second.", "Marvin: Hi."]);
    }
}

#[test]
fn the_reply_flow_knows_what_was_spoken_and_in_which_language() {
    let home = Home::new();
    let voice = Server::with([hears(
        "Wie warm ist es in Köln und wann fährt der Zug nach Bonn?",
    )]);
    let server = StageServer::start([
        StageAnswer::text("router", "none"),
        StageAnswer::text("planner", "Reply to the user."),
        StageAnswer::text("chat", "Zwölf Grad."),
        StageAnswer::text(
            "summariser",
            "SUMMARY: The user asked for the weather.\nTOPICS: weather, train, Bonn",
        ),
        StageAnswer::text("graph_extract", "[]"),
    ]);
    home.marvin()
        .env("LLM_PROVIDER", "ollama")
        .env("OLLAMA_URL", server.url(""))
        .env("OLLAMA_MODEL", "gemma4:e2b")
        .env("MARVIN_URL_GROQ_WHISPER", voice.url(""))
        .env("MARVIN_RECORD_COMMAND", quick_recorder(&home))
        .env("XDG_RUNTIME_DIR", runtime_dir(&home))
        .arg("--plain")
        .limit(Duration::from_secs(90))
        .stdin("!v\n!why\n!memory show\n")
        .prints(&["Marvin: Zwölf Grad."]);
    let calls = server.calls();
    let asked = calls.iter().find(|call| call.stage == "chat").unwrap();
    let all: Vec<String> = asked.body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(content)
        .collect();
    all[0].assert_has(&["a machine wrote down what it heard"]);
    // Recorded once, and not read aloud.
    all[0].assert_lacks(&["read aloud"]);
    // The diary tells it apart from what was typed.
    home.marvin().args(["memory", "show"]).prints(&["(spoken)"]);
}

#[test]
fn the_doctor_tells_what_records_writes_down_and_speaks() {
    let home = Home::new();
    let nowhere = home.path().join("nowhere");
    let report = |marvin: Marvin| marvin.arg("doctor").run().expect(0).text().to_owned();
    let text = report(home.marvin().env("PATH", &nowhere));
    text.assert_has(&[
        "recorder",
        "speech to text",
        "speaker",
        "alsa-utils",
        "GROQ_API_KEY",
        "espeak-ng",
    ]);
    text.assert_has(&["--  voice"]);
    let piper = home.write("voice.onnx", "");
    home.write("voice.onnx.json", r#"{"language": {"code": "de_DE"}}"#);
    for name in ["piper", "aplay", "arecord"] {
        script(&home, &format!("nowhere/{name}"), "exit 0");
    }
    let marvin = home.marvin().env("PATH", &nowhere).env("GROQ_API_KEY", "k");
    let text = report(marvin.env("MARVIN_PIPER_VOICE", piper));
    text.assert_lacks(&["--  voice"]);
    text.assert_has(&["piper, in German", "whisper-large-v3"]);
}
