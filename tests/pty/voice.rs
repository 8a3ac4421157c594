//! Voice on a terminal: the meter, the keys that end a recording and a speech, voice mode, and that nothing is left of any of it.

use std::fs;
use std::process::Command;

use rustix::process::Signal;

use crate::stage::{
    SIZE, begin, command, end, last_sent, log, messages, more, playing, quit, says, started,
    trimmed, unasked, until,
};
use crate::support::home::Home;
use crate::support::latch::Latch;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::voice::{
    hears, left_behind, patient_recorder, pid, quick_recorder, runtime_dir, script, transcription,
    verbose, wait_gone, wav,
};
use crate::support::words::TextAssertions;
use crate::terminal::restored;

fn with_voice(home: &Home, server: &Server, voice: &Server, record: &str) -> Command {
    let mut command = command(home, server);
    command
        .env("MARVIN_URL_GROQ_WHISPER", voice.url(""))
        .env("MARVIN_RECORD_COMMAND", record)
        .env("XDG_RUNTIME_DIR", runtime_dir(home));
    command
}

fn full(home: &Home, server: &Server, voice: &Server, record: &str) -> Pty {
    let pty = Pty::spawn(&with_voice(home, server, voice, record), SIZE);
    pty.wait_text("test-model");
    pty
}

fn nothing_left(home: &Home) {
    until("the recording is gone", || left_behind(home).is_empty());
}

/// A speaker that appends what it hears to `said`, and then does `then`.
fn speaker(home: &Home, then: &str) -> String {
    let said = home.path().join("said");
    let text = format!(
        "cat >> {said}; echo $$ > {}; {then}",
        home.path().join("speaker.pid").display(),
        said = said.display()
    );
    script(home, "speaker", &text).display().to_string()
}

/// A recorder that hears a voice the first time, and nothing from then on.
fn one_voice(home: &Home) -> String {
    let from = home.write("voice.wav", wav(2, 8_000, true));
    let text = format!(
        "if mkdir {mark} 2>/dev/null; then cp {} $1; exit 0; fi\ntrap 'exit 0' INT; echo $$ > {}; while :; do sleep 0.05; done",
        from.display(),
        home.path().join("recorder.pid").display(),
        mark = home.path().join("first").display()
    );
    format!("{} {{file}}", script(home, "recorder", &text).display())
}

#[test]
fn a_key_ends_the_recording_and_the_meter_shows_what_is_heard() {
    let home = Home::new();
    let voice = Server::with([hears("What is the time?")]);
    let server = playing([says("Late.")]);
    let pty = full(&home, &server, &voice, &patient_recorder(&home, 8_000));
    pty.send("!v 60\r");
    pty.wait_for("a meter", |screen| {
        let text = screen.contents();
        text.contains(" of 60s ")
            && text.contains('█')
            && text.contains("any key ends it, Esc drops it")
    });
    let recorder = pid(&home, "recorder.pid");
    // The key is not typed.
    pty.send("x");
    pty.wait_text("🎤 What is the time?");
    pty.wait_text("Late.");
    pty.screen().assert_lacks(&["> x"]);
    wait_gone("the recorder", recorder);
    nothing_left(&home);
    let sent = last_sent(&server, 0);
    assert_eq!(sent, "What is the time?");
    quit(pty, &home);
    assert_eq!(
        log(&home),
        messages(&[("you", "What is the time?"), ("assistant", "Late.")])
    );
}

#[test]
fn esc_and_ctrl_c_drop_a_recording() {
    for key in ["\x1b", "\x03"] {
        let home = Home::new();
        let server = unasked();
        let pty = full(&home, &server, &server, &patient_recorder(&home, 8_000));
        pty.send("!v 60\r");
        let recorder = pid(&home, "recorder.pid");
        assert_eq!(left_behind(&home).len(), 1);
        pty.send(key);
        pty.wait_text("The recording was dropped.");
        wait_gone("the recorder", recorder);
        nothing_left(&home);
        // Marvin goes on.
        pty.send("!echo still there\r");
        pty.wait_for("what it printed", |screen| {
            trimmed(screen).contains("still there\n")
        });
        quit(pty, &home);
    }
}

#[test]
fn a_pause_ends_the_recording_and_esc_drops_what_is_being_written_down() {
    let home = Home::new();
    let gate = Latch::new();
    let voice = Server::with([
        transcription(Answer::json(&verbose("Hello.")).head_after(&gate)),
        hears("Hello again."),
    ]);
    let server = playing([says("Good day.")]);
    let from = home.write("voice.wav", wav(1, 8_000, false));
    let text = format!(
        "trap 'exit 0' INT; cp {} $1; while :; do head -c 16000 /dev/zero >> $1; sleep 0.05; done",
        from.display()
    );
    let recorder = script(&home, "recorder", &text);
    let pty = full(
        &home,
        &server,
        &voice,
        &format!("{} {{file}}", recorder.display()),
    );
    pty.enter("!v 300", "writing it down");
    nothing_left(&home);
    pty.send("\x1b");
    pty.wait_text("The recording was dropped.");
    gate.open();
    pty.enter("!v 300", "Good day.");
    pty.screen().assert_lacks(&["🎤 Hello.\n"]);
    quit(pty, &home);
}

#[test]
fn voice_mode_listens_speaks_sentence_by_sentence_and_listens_again() {
    let home = Home::new();
    let voice = Server::with([hears("Tell me about the tide.")]);
    let gate = Latch::new();
    let answer = more(
        begin("The tide is **high** now. It fa").pause(&gate),
        "lls at six, says [the page](https://x.example/t).",
    );
    let server = playing([end(answer)]);
    let mut start = with_voice(&home, &server, &voice, &one_voice(&home));
    start.env("MARVIN_SPEAK_COMMAND", speaker(&home, ""));
    let pty = started(&start);
    pty.enter(
        "!voice",
        "Voice mode is on: recorder records, whisper-large-v3 writes it down, speaker",
    );
    pty.wait_text("🎤 Tell me about the tide.");
    // The first sentence is spoken while the rest has not arrived.
    let said = || fs::read_to_string(home.path().join("said")).unwrap_or_default();
    until("the first sentence", || said() == "The tide is high now.\n");
    gate.open();
    let rest = "It falls at six, says Link to a page under x.example with the text 'the page'.\n";
    until("the second sentence", || {
        said() == format!("The tide is high now.\n{rest}")
    });
    // What is printed keeps its form.
    pty.wait_text("It falls at six, says the page");
    let recorder = pid(&home, "recorder.pid");
    pty.wait_text("Enter sends, Esc ends voice mode");
    server
        .request(0)
        .text()
        .assert_has(&["a machine wrote down what it heard", "read aloud"]);
    pty.send("\x1b");
    pty.wait_text("Voice mode is off.");
    wait_gone("the recorder", recorder);
    nothing_left(&home);
    quit(pty, &home);
}

#[test]
fn any_key_stops_the_speech_and_typing_makes_voice_mode_pause() {
    for key in ["\x1b", "\x03", "t"] {
        let home = Home::new();
        let voice = Server::with([hears("Talk.")]);
        // Whoever types does so before the answer is over.
        let rest = Latch::new();
        let answer = begin("I could talk for hours. And nobody would listen to it.");
        let server = playing([end(answer.pause(&rest))]);
        if key != "t" {
            rest.open();
        }
        let mut start = with_voice(&home, &server, &voice, &one_voice(&home));
        start.env(
            "MARVIN_SPEAK_COMMAND",
            speaker(&home, "trap '' TERM; while :; do sleep 1; done"),
        );
        let pty = started(&start);
        pty.enter("!voice", "🔊 speaking");
        let speaker = pid(&home, "speaker.pid");
        pty.send(key);
        wait_gone("the speaker", speaker);
        if key == "t" {
            pty.wait_text("> t");
            pty.wait_text("🎤 paused");
            rest.open();
            let is_answer = |(role, _): &(String, String)| role == "assistant";
            until("the answer in the log", || log(&home).iter().any(is_answer));
            pty.wait_text("🎤 paused");
            pty.send("\x7f");
            pty.wait_gone("> t");
            pty.send("\r");
        }
        // It listens again, and the second sentence is never spoken.
        let recorder = pid(&home, "recorder.pid");
        assert_eq!(home.read("said"), "I could talk for hours.\n");
        pty.send("\x1b");
        pty.wait_text("Voice mode is off.");
        wait_gone("the recorder", recorder);
        quit(pty, &home);
        nothing_left(&home);
    }
}

#[test]
fn a_speaker_that_dies_or_is_missing_is_told_and_the_answer_stays() {
    let home = Home::new();
    let voice = Server::with([hears("Talk.")]);
    let server = playing([says("This is my answer to you. It has two sentences.")]);
    let mut start = with_voice(&home, &server, &voice, &one_voice(&home));
    start.env(
        "MARVIN_SPEAK_COMMAND",
        speaker(&home, "echo 'no sound card' >&2; exit 1"),
    );
    let pty = started(&start);
    pty.enter("!voice", "speaker could not speak: no sound card.");
    pty.wait_text("It has two sentences.");
    pid(&home, "recorder.pid");
    assert_eq!(home.read("said"), "This is my answer to you.\n");
    pty.send("\x1b");
    pty.wait_text("Voice mode is off.");
    quit(pty, &home);
}

#[test]
fn no_process_and_no_recording_outlives_marvin() {
    for (name, signal) in [
        ("TERM", Some(Signal::TERM)),
        ("HUP", Some(Signal::HUP)),
        ("quit", None),
    ] {
        let home = Home::new();
        let server = unasked();
        let mut pty = full(&home, &server, &server, &patient_recorder(&home, 8_000));
        pty.send("!v 600\r");
        let recorder = pid(&home, "recorder.pid");
        match signal {
            Some(signal) => pty.signal(signal),
            None => pty.control('q'),
        }
        pty.wait();
        assert_eq!(
            left_behind(&home),
            Vec::<std::path::PathBuf>::new(),
            "{name}"
        );
        wait_gone("the recorder", recorder);
        restored(&pty, &home);
    }
}

#[test]
fn a_killed_marvin_takes_its_recorder_and_its_speaker_with_it() {
    let home = Home::new();
    let server = unasked();
    let stubborn = script(
        &home,
        "recorder",
        &format!(
            "trap '' INT TERM HUP; cp {} $1; echo $$ > {}; while :; do sleep 0.2; done",
            home.write("voice.wav", wav(1, 8_000, false)).display(),
            home.path().join("recorder.pid").display()
        ),
    );
    let record = format!("{} {{file}}", stubborn.display());
    let mut pty = full(&home, &server, &server, &record);
    pty.send("!v 600\r");
    let recorder = pid(&home, "recorder.pid");
    pty.signal(Signal::KILL);
    pty.wait();
    wait_gone("the recorder", recorder);
    // What a command of the user's own has recorded goes with the next recording.
    assert_eq!(left_behind(&home).len(), 1);
    let voice = Server::with([hears("Talk.")]);
    let server = playing([says("I could talk for hours, and I will do that now.")]);
    let mut start = with_voice(&home, &server, &voice, &one_voice(&home));
    start.env(
        "MARVIN_SPEAK_COMMAND",
        speaker(&home, "trap '' TERM INT HUP; while :; do sleep 0.2; done"),
    );
    let mut pty = started(&start);
    pty.enter("!voice", "🔊 speaking");
    nothing_left(&home);
    let speaker = pid(&home, "speaker.pid");
    pty.signal(Signal::KILL);
    pty.wait();
    wait_gone("the speaker", speaker);
}

#[test]
fn plain_lines_have_the_meter_and_the_keys_too() {
    let home = Home::new();
    let voice = Server::with([hears("What is the time?")]);
    let server = playing([says("Late.")]);
    let mut start = with_voice(&home, &server, &voice, &patient_recorder(&home, 8_000));
    start.arg("--plain");
    let mut pty = Pty::spawn(&start, SIZE);
    pty.wait_text("You: ");
    let before = pty.modes();
    pty.enter(
        "!v 60",
        "Recording, at most 60 s. Any key ends it, Ctrl-C drops it.",
    );
    pty.wait_text("█");
    pty.send("x");
    pty.wait_text("You (spoken): What is the time?");
    pty.wait_text("Marvin: Late.");
    pty.wait_for("the next prompt", |screen| {
        screen.contents().matches("You: ").count() >= 2
    });
    until("the terminal as it was", || pty.modes() == before);
    pty.screen().assert_lacks(&["You: x"]);
    // Ctrl-C drops it.
    fs::remove_file(home.path().join("recorder.pid")).unwrap();
    pty.send("!v 60\r");
    let recorder = pid(&home, "recorder.pid");
    pty.control('c');
    pty.wait_text("The recording was dropped.");
    wait_gone("the recorder", recorder);
    nothing_left(&home);
    pty.wait_for("the next prompt", |screen| {
        screen.contents().matches("You: ").count() >= 3
    });
    pty.control('d');
    assert_eq!(pty.wait().code(), Some(0));
}

#[test]
fn plain_voice_mode_pauses_for_what_is_typed() {
    let home = Home::new();
    let voice = Server::with([hears("Talk.")]);
    let server = playing([says("I will not do that today."), says("Nor that.")]);
    let mut start = with_voice(&home, &server, &voice, &one_voice(&home));
    start
        .env("MARVIN_SPEAK_COMMAND", speaker(&home, ""))
        .arg("--plain");
    let mut pty = Pty::spawn(&start, SIZE);
    pty.wait_text("You: ");
    pty.enter("!voice", "You (spoken): Talk.");
    pty.wait_text("Marvin: I will not do that today.");
    pid(&home, "recorder.pid");
    pty.wait_for("it listens again", |screen| {
        screen
            .contents()
            .matches("Enter sends, typing pauses")
            .count()
            >= 2
    });
    pty.enter("sing", "You: sing");
    pty.wait_text("Marvin: Nor that.");
    until("the second answer is spoken", || {
        home.read("said") == "I will not do that today.\nNor that.\n"
    });
    pty.wait_for("it listens again", |screen| {
        screen
            .contents()
            .matches("Enter sends, typing pauses")
            .count()
            >= 3
    });
    pty.control('c');
    pty.wait_text("Voice mode is off.");
    pty.wait_for("the next prompt", |screen| {
        screen.contents().trim_end().ends_with("You:")
    });
    pty.control('d');
    assert_eq!(pty.wait().code(), Some(0));
    nothing_left(&home);
}

#[test]
fn a_real_speaker_speaks_and_is_stopped() {
    let home = Home::new();
    if crate::support::run::program("espeak-ng").is_none() {
        eprintln!("SKIPPED: espeak-ng is not installed");
        return;
    }
    // A sound device that takes all and plays nothing.
    home.write(
        ".asoundrc",
        "pcm.!default { type null }\nctl.!default { type null }\n",
    );
    let voice = Server::with([hears("Talk.")]);
    let server = playing([says("This is a sentence. And this is another sentence.")]);
    let start = with_voice(&home, &server, &voice, &one_voice(&home));
    let pty = started(&start);
    pty.enter("!voice", "espeak-ng");
    pty.wait_text("And this is another sentence.");
    pid(&home, "recorder.pid");
    pty.screen().assert_lacks(&["could not speak"]);
    pty.send("\x1b");
    pty.wait_text("Voice mode is off.");
    quit(pty, &home);
}

#[test]
fn the_quick_recorder_of_a_person_in_a_hurry() {
    let home = Home::new();
    let voice = Server::with([Exchange::post("/audio/transcriptions")
        .by(|_, _| Answer::json(&verbose("Go on.")))
        .times(2)]);
    let server = playing([says("First answer."), says("Second answer.")]);
    let pty = full(&home, &server, &voice, &quick_recorder(&home));
    // The second is said during the first answer's time.
    pty.enter("!v", "First answer.");
    pty.enter("!v", "Second answer.");
    nothing_left(&home);
    // Up gives what was said, to be corrected.
    pty.send("\x1b[A");
    pty.wait_text("> Go on.");
    pty.send("\x15");
    quit(pty, &home);
}
