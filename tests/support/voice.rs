//! Recordings, recorders and speakers for tests of voice: WAV files that are made here, and small scripts.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};

use super::home::Home;
use super::server::{Answer, Exchange, Request};
use super::wait::{found, until_within};

/// A recording of this many seconds of a square wave, 16,000 samples a second, with the length in its header or without.
pub fn wav(seconds: usize, amplitude: i16, length_is_known: bool) -> Vec<u8> {
    let samples: Vec<u8> = [amplitude, -amplitude]
        .into_iter()
        .cycle()
        .take(seconds * 16_000)
        .flat_map(i16::to_le_bytes)
        .collect();
    let length = if length_is_known {
        u32::try_from(samples.len()).unwrap()
    } else {
        u32::MAX
    };
    let mut bytes =
        b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data"
            .to_vec();
    bytes.extend(length.to_le_bytes());
    bytes.extend(samples);
    bytes
}

/// A folder for recordings that no other test uses; what `XDG_RUNTIME_DIR` names.
pub fn runtime_dir(home: &Home) -> PathBuf {
    let dir = home.path().join("run");
    fs::create_dir_all(&dir).unwrap();
    dir
}

/// What recordings have left behind.
pub fn left_behind(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(runtime_dir(home)).unwrap().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains("marvin-voice"))
        .collect()
}

/// A script below the home. Another process puts it there: had this one ever had it open for writing, a child that is started at the same time could
/// still have, and the system would not run it ("text file busy").
pub fn script(home: &Home, name: &str, text: &str) -> PathBuf {
    let source = home.write(&format!("{name}.text"), format!("#!/bin/sh\n{text}\n"));
    let path = home.path().join(name);
    let mut install = Command::new("install");
    let status = install.args(["-m", "755"]).arg(&source).arg(&path).status();
    assert!(status.unwrap().success());
    path
}

/// The command of a recorder that has recorded two seconds of a voice at once.
pub fn quick_recorder(home: &Home) -> String {
    let from = home.write("voice.wav", wav(2, 8_000, true));
    format!("cp {} {{file}}", from.display())
}

/// The command of a recorder that hears a voice for a second and then nothing until INT ends it. Its process id is in `recorder.pid`.
pub fn patient_recorder(home: &Home, amplitude: i16) -> String {
    let from = home.write("voice.wav", wav(1, amplitude, false));
    let pid = home.path().join("recorder.pid");
    let text = format!(
        "trap 'exit 0' INT; cp {} $1; echo $$ > {}; while :; do sleep 0.05; done",
        from.display(),
        pid.display()
    );
    format!("{} {{file}}", script(home, "recorder", &text).display())
}

/// The process id in a file below the home, once it is there.
pub fn pid(home: &Home, name: &str) -> Pid {
    let path = home.path().join(name);
    let read = || -> Option<Pid> {
        let text = fs::read_to_string(&path).ok()?;
        Pid::from_raw(text.trim().parse().ok()?)
    };
    found(name, read)
}

/// Waits until a process is gone.
pub fn wait_gone(what: &str, pid: Pid) {
    let is_zombie = || {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(") Z"))
    };
    until_within(
        Duration::from_secs(10),
        &format!("the end of {what}"),
        || test_kill_process(pid).is_err() || is_zombie(),
    );
}

/// A request for a transcript, and its answer.
pub fn hears(text: &str) -> Exchange {
    transcription(Answer::json(&verbose(text)))
}

/// A whole answer of a service.
pub fn verbose(text: &str) -> Value {
    json!({
        "task": "transcribe", "language": "German", "duration": 2.0, "text": format!(" {text}"),
        "segments": [{"id": 0, "text": format!(" {text}"), "avg_logprob": -0.2, "no_speech_prob": 0.01}],
        "x_groq": {"id": "req_test"},
    })
}

/// A request for a transcript, answered so.
pub fn transcription(answer: Answer) -> Exchange {
    Exchange::post("/audio/transcriptions").answer(answer)
}

/// The parts of a multipart request: name, headers and content.
pub fn parts(request: &Request) -> Vec<(String, String, Vec<u8>)> {
    let kind = request.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = &request.body;
    let mark = format!("--{boundary}");
    let find = |from: usize, what: &str| {
        let what = what.as_bytes();
        let found = body[from..].windows(what.len()).position(|w| w == what);
        found.map(|at| from + at)
    };
    let mut out = Vec::new();
    let mut at = find(0, &mark).unwrap() + mark.len();
    while let Some(next) = find(at, &mark) {
        let head = find(at, "\r\n\r\n").unwrap();
        let headers = String::from_utf8_lossy(&body[at..head]).into_owned();
        let name = headers.split("name=\"").nth(1).unwrap();
        let name = name.split('"').next().unwrap().to_owned();
        out.push((name, headers, body[head + 4..next - 2].to_vec()));
        at = next + mark.len();
    }
    assert_eq!(&body[at..], b"--\r\n");
    out
}
