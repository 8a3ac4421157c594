//! Recorders as they are and as they should not be: real programs and scripts.

use super::*;
use crate::base::variables::MARVIN_RECORD_COMMAND;
use crate::proc::tests::{catch_interrupts, script};

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn env(&self, command: &str) -> Env {
        let here = self.dir.path().to_str().unwrap();
        let path = std::env::var("PATH").unwrap();
        Env::from([
            ("PATH", path.as_str()),
            ("HOME", here),
            ("XDG_RUNTIME_DIR", here),
            (MARVIN_RECORD_COMMAND.name, command),
        ])
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        path.display().to_string()
    }

    /// Seconds of a square wave of this amplitude.
    fn wav(&self, seconds: usize, amplitude: i16) -> String {
        self.write("in.wav", &wav(seconds, amplitude))
    }

    /// The same with a header that was never filled in.
    fn open_wav(&self, seconds: usize, amplitude: i16) -> String {
        let mut bytes = wav(seconds, amplitude);
        bytes[40..44].fill(0xff);
        self.write("open.wav", &bytes)
    }

    fn script(&self, text: &str) -> String {
        let path = script(self.dir.path(), "recorder", text);
        let path = path.display();
        format!("{path} {{file}} {{seconds}}")
    }

    fn record(&self, command: &str, seconds: u64) -> Outcome<Recording> {
        self.record_until(command, seconds, &Cancel::new(), &Cancel::new())
    }

    fn record_until(
        &self,
        command: &str,
        seconds: u64,
        finish: &Cancel,
        stop: &Cancel,
    ) -> Outcome<Recording> {
        let env = self.env(command);
        let recorder = Recorder::find(&env)?;
        let order = RecordOrder {
            env: &env,
            recorder: &recorder,
            seconds,
            patience: None,
            supervisor: None,
            finish,
            stop,
        };
        let recording = order.record(&mut |_| {});
        let left = fs::read_dir(self.dir.path()).unwrap().flatten();
        let left: Vec<PathBuf> = left
            .map(|entry| entry.path())
            .filter(|path| path.display().to_string().contains("marvin-voice-"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
        recording
    }
}

fn wav(seconds: usize, amplitude: i16) -> Vec<u8> {
    let format = Wav::read(
        b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0",
    )
    .unwrap();
    let samples: Vec<u8> = [amplitude, -amplitude]
        .into_iter()
        .cycle()
        .take(seconds * 16_000)
        .flat_map(i16::to_le_bytes)
        .collect();
    let length = u32::try_from(samples.len()).unwrap();
    [&format.header(length)[..], &samples].concat()
}

#[test]
fn a_recording_is_read_measured_and_gone() {
    let place = Place::new();
    let command = format!("cp {} {{file}}", place.wav(2, 8_000));
    let recording = place.record(&command, 5).unwrap();
    assert!(recording.has_voice && recording.loudest > -20.0);
    assert!((recording.seconds - 2.0).abs() < 0.001);
    assert_eq!(recording.samples.len(), 64_000);
}

#[test]
fn silence_is_no_voice_and_says_how_loud_it_was() {
    let place = Place::new();
    let command = format!("cp {} {{file}}", place.wav(2, 0));
    let recording = place.record(&command, 5).unwrap();
    assert!(!recording.has_voice);
    assert!(recording.silence().what.contains("muted"));
    let command = format!("cp {} {{file}}", place.wav(2, 33));
    let words = place.record(&command, 5).unwrap().silence().what;
    assert_eq!(
        words,
        "No voice was heard in 2 s; the loudest moment was at -60 dB."
    );
}

#[test]
fn recorders_that_fail_are_told_by_their_words() {
    let place = Place::new();
    let text = place.write(
        "text",
        b"this is not a recording, but long enough to be one....",
    );
    let short = place.write("short", &wav(0, 0));
    let ogg = place.write("ogg", &[&b"OggS\0\x02"[..], &[0; 100]].concat());
    for (script, want) in [
        (
            "echo 'audio open error: No such device' >&2; exit 1",
            "recorder could not record: audio open error: No such device.",
        ),
        ("exit 3", "recorder could not record: exit code: 3."),
        ("exit 0", "recorder could not record: it wrote nothing."),
        ("kill -SEGV $$", "killed by signal 11"),
        (&format!("cp {short} $1"), "it wrote nothing"),
        (&format!("cp {text} $1"), "is not a WAV recording"),
        (&format!("cp {ogg} $1"), "is not a WAV recording"),
        ("mkdir $1", "recorder"),
        ("mkfifo $1", "recorder could not record"),
        ("ln -s /dev/zero $1", "recorder could not record"),
    ] {
        let command = place.script(script);
        let problem = place.record(&command, 1).unwrap_err();
        assert!(problem.what.contains(want), "{script}: {}", problem.what);
        assert!(!problem.next.is_empty(), "{script}");
    }
}

#[test]
fn a_flood_on_standard_error_is_drained() {
    let place = Place::new();
    let from = place.wav(1, 8_000);
    let command = place.script(&format!(
        "head -c 13000000 /dev/zero | tr '\\0' x >&2; cp {from} $1"
    ));
    assert!(place.record(&command, 60).unwrap().has_voice);
}

#[test]
fn a_recorder_that_hangs_is_ended_and_so_are_its_children() {
    let place = Place::new();
    let pid = place.dir.path().join("pid");
    let command = place.script(&format!(
        "trap '' INT TERM; sh -c 'trap \"\" INT TERM; sleep 300' & echo $! > {}; wait",
        pid.display()
    ));
    let started = Instant::now();
    let problem = place.record(&command, 1).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Timeout);
    assert!(started.elapsed() < Duration::from_secs(30));
    let pid = fs::read_to_string(pid).unwrap();
    let process = PathBuf::from(format!("/proc/{}", pid.trim()));
    let until = Instant::now() + Duration::from_secs(10);
    let runs = || fs::read_to_string(process.join("stat")).is_ok_and(|stat| !stat.contains(") Z"));
    while runs() {
        assert!(Instant::now() < until, "it still runs");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn three_hours_are_refused_and_a_file_that_grows_is_ended_in_time() {
    let place = Place::new();
    // Three hours: a file with a hole.
    let command = place.script(&format!(
        "cp {} $1; truncate -s 345600044 $1",
        place.wav(1, 8_000)
    ));
    let problem = place.record(&command, 5).unwrap_err();
    assert!(problem.what.contains("345 MB"), "{}", problem.what);
    // It goes on until it is told to end.
    let command = place.script(&format!(
        "cp {} $1; head -c 23900000 /dev/zero >> $1; while :; do head -c 20000 /dev/zero >> $1; sleep 0.1; done",
        place.open_wav(1, 0)
    ));
    let recording = place.record(&command, 600).unwrap();
    assert!(recording.seconds > 740.0, "{}", recording.seconds);
}

#[test]
fn a_recorder_that_knows_no_time_is_ended_after_it() {
    let place = Place::new();
    // Somebody speaks on and on.
    let command = place.script(&format!(
        "trap 'exit 0' INT; cp {} $1; while :; do tail -c 1600 {} >> $1; sleep 0.05; done",
        place.open_wav(1, 8_000),
        place.wav(1, 8_000)
    ));
    let recording = place.record(&command, 1).unwrap();
    assert!(
        recording.has_voice && recording.seconds >= 1.0,
        "{}",
        recording.seconds
    );
}

#[test]
fn a_pause_ends_the_recording() {
    let place = Place::new();
    let from = place.open_wav(1, 8_000);
    // A second of voice, then silence without end; it completes its file when it is told to.
    let command = place.script(&format!(
        "trap 'exit 0' INT; cp {from} $1; while :; do head -c 16000 /dev/zero >> $1; sleep 0.1; done"
    ));
    let recording = place.record(&command, 600).unwrap();
    assert!(
        recording.has_voice && recording.seconds >= 3.0,
        "{}",
        recording.seconds
    );
}

#[test]
fn a_finished_recording_is_kept_and_a_stopped_one_is_not() {
    let place = Place::new();
    let from = place.wav(1, 8_000);
    let begun = place.dir.path().join("begun");
    let command = place.script(&format!(
        "trap 'exit 0' INT; cp {from} $1; touch {}; while :; do sleep 0.05; done",
        begun.display()
    ));
    for keep in [true, false] {
        let (finish, stop) = (Cancel::new(), Cancel::new());
        let ender = if keep { finish.clone() } else { stop.clone() };
        let begun = begun.clone();
        let watcher = thread::spawn(move || {
            while !begun.exists() {
                thread::sleep(Duration::from_millis(5));
            }
            ender.fire();
            fs::remove_file(&begun).unwrap();
            Instant::now()
        });
        let recording = place.record_until(&command, 600, &finish, &stop);
        let took = watcher.join().unwrap().elapsed();
        assert!(took < Duration::from_secs(5), "{took:?}");
        match recording {
            Ok(recording) => assert!(keep && recording.has_voice),
            Err(problem) => assert!(!keep && problem.is_cancelled(), "{problem}"),
        }
    }
}

#[test]
fn a_recording_that_is_ended_before_the_first_sound_is_empty() {
    catch_interrupts();
    let place = Place::new();
    let begun = place.dir.path().join("begun");
    let command = place.script(&format!(
        "trap 'exit 0' INT; touch {}; while :; do sleep 0.05; done",
        begun.display()
    ));
    let finish = Cancel::new();
    let ender = finish.clone();
    let watcher = thread::spawn(move || {
        while !begun.exists() {
            thread::sleep(Duration::from_millis(5));
        }
        ender.fire();
    });
    let recording = place
        .record_until(&command, 600, &finish, &Cancel::new())
        .unwrap();
    watcher.join().unwrap();
    assert!(!recording.has_voice && recording.silence().what.contains("too short"));
}

#[test]
fn real_recorders_record_from_a_file_that_stands_in_for_the_microphone() {
    for program in ["arecord", "sox"] {
        let place = Place::new();
        let raw = place.write("in.raw", &wav(3, 8_000)[HEADER_BYTES..]);
        place.write(
            ".asoundrc",
            format!("pcm.mic {{\n type file\n slave.pcm null\n file /dev/null\n infile {raw}\n format raw\n}}\npcm.!default {{\n type plug\n slave {{ pcm mic format S16_LE rate 16000 channels 1 }}\n}}\n").as_bytes(),
        );
        let env = place.env("");
        let Some(path) = crate::proc::program::find_program(program, &env) else {
            eprintln!("SKIPPED: {program} is not installed");
            continue;
        };
        // The only one that is found.
        let bin = place.dir.path().join("bin");
        fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(&path, bin.join(program)).unwrap();
        let here = place.dir.path().to_str().unwrap();
        let env = Env::from([
            ("PATH", bin.to_str().unwrap()),
            ("HOME", here),
            ("XDG_RUNTIME_DIR", here),
            ("AUDIODRIVER", "alsa"),
        ]);
        let recorder = Recorder::find(&env).unwrap();
        assert_eq!(recorder.name, program);
        let cancel = Cancel::new();
        let mut order = RecordOrder {
            env: &env,
            recorder: &recorder,
            seconds: 2,
            patience: None,
            supervisor: None,
            finish: &cancel,
            stop: &Cancel::new(),
        };
        let recording = order.record(&mut |_| {}).unwrap();
        assert!(recording.has_voice, "{program}: {}", recording.loudest);
        assert!(
            (recording.seconds - 2.0).abs() < 0.1,
            "{program}: {}",
            recording.seconds
        );
        // Without the device it says so.
        fs::write(
            place.dir.path().join(".asoundrc"),
            "pcm.!default { type hw card 99 }\n",
        )
        .unwrap();
        order.seconds = 1;
        let problem = order.record(&mut |_| {}).unwrap_err();
        assert!(
            problem
                .what
                .starts_with(&format!("{program} could not record: ")),
            "{}",
            problem.what
        );
    }
}
