//! Records: runs the recorder, listens to what it writes meanwhile, ends it, and checks what it left.

use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, bounded};

use super::activity::{SILENCE_DB, VoiceActivity};
use super::last_words;
use super::private_dir::PrivateDir;
use super::recorder::Recorder;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::open;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::formats::wav::{HEADER_BYTES, Wav, WavError};
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec};
use crate::proc::child_env::audio_env;

/// What services take, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 25_000_000;
/// A recording of this size is ended, with room for what is still written meanwhile.
const FULL_BYTES: u64 = MAX_FILE_BYTES - 1_000_000;
/// The longest recording that may be asked for, in seconds: at 32,000 bytes a second it stays below [`FULL_BYTES`].
pub(crate) const MAX_SECONDS: u64 = 720;
/// Less than this is too short for a word, in seconds.
const MIN_SECONDS: f64 = 0.5;
/// Between two looks at what was written.
const LOOK: Duration = Duration::from_millis(100);
/// How long a recorder may take to open the device; that much later than it should have ended it is told to.
const OPENING: Duration = Duration::from_secs(2);
/// A recorder that is still there this much later is killed.
const OVERHEAD: Duration = Duration::from_secs(6);
/// How long a recorder that was told to end may take to complete its file.
const COMPLETION: Duration = Duration::from_millis(1_500);
/// Beginning of the file in which its header must be.
const MAX_HEADER_BYTES: u64 = 64 << 10;
/// Kept of each end of what the recorder prints.
const KEPT_BYTES: usize = 4 << 10;

/// What to record, and how it ends.
pub(crate) struct RecordOrder<'a> {
    pub env: &'a Env,
    pub recorder: &'a Recorder,
    /// The longest time, in seconds.
    pub seconds: u64,
    /// The recording is complete when nobody has spoken for so long.
    pub patience: Option<Duration>,
    /// This executable; see [`ProgramSpec::supervisor`].
    pub supervisor: Option<&'a Path>,
    /// When this fires the recording is complete.
    pub finish: &'a Cancel,
    /// When this fires it is thrown away.
    pub stop: &'a Cancel,
}

/// A recording as it is sent: a header of our own and the samples in which somebody speaks, nothing else that the recorder may have written.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(super) header: [u8; HEADER_BYTES],
    pub(super) samples: Vec<u8>,
    /// Length of all that was recorded.
    pub seconds: f64,
    /// Somebody speaks in it.
    pub has_voice: bool,
    /// Loudness of its loudest stretch, in decibels below full scale.
    pub loudest: f32,
}

impl Recording {
    /// One that was ended before the first sound.
    fn empty() -> Self {
        Self {
            header: [0; HEADER_BYTES],
            samples: Vec::new(),
            seconds: 0.0,
            has_voice: false,
            loudest: SILENCE_DB,
        }
    }

    /// Why there is nothing to write down: nobody speaks in it.
    pub(crate) fn silence(&self) -> Problem {
        if self.seconds < MIN_SECONDS {
            return Problem::input("The recording was too short to hear anything in it.").next(
                "Wait for the meter to move before you speak, and until you have said everything.",
            );
        }
        let what = if self.loudest <= SILENCE_DB {
            "Nothing was recorded but silence: the microphone is muted, or it is another one."
                .to_owned()
        } else {
            format!(
                "No voice was heard in {:.0} s; the loudest moment was at {:.0} dB.",
                self.seconds, self.loudest
            )
        };
        Problem::input(what).next("Raise the microphone's level (alsamixer, pavucontrol), or name the device in MARVIN_RECORD_COMMAND.")
    }
}

impl RecordOrder<'_> {
    /// Records until the time is up, somebody has spoken and is silent, the file is full, or `finish` fires. `on_level` gets the loudness of what was
    /// heard last, some ten times a second.
    ///
    /// # Errors
    /// The recorder cannot be run, hangs, fails, writes nothing, something else or too much; `Cancelled` when `stop` fires. No recording stays on disk.
    pub(crate) fn record(&self, on_level: &mut dyn FnMut(f32)) -> Outcome<Recording> {
        self.stop.check()?;
        let dir = PrivateDir::new(self.env)?;
        let on_stop = dir.clone();
        let _removed = self.stop.on_fire(move || on_stop.remove());
        let path = dir.path().join("recording.wav");
        let mut file = RecordedFile::new(path, self.recorder.opens_once);
        let output = self.run(&mut file, on_level)?;
        self.stop.check()?;
        let recording = self.checked(&mut file, &output);
        dir.remove();
        recording
    }

    /// Runs the recorder to its end.
    fn run(
        &self,
        file: &mut RecordedFile,
        on_level: &mut dyn FnMut(f32),
    ) -> Outcome<ProgramOutput> {
        let (interrupt, _finished) = self.finish.child();
        // Ends a recorder that does not end itself; what it has recorded stays.
        let (abort, _stopped) = self.stop.child();
        let (program, args) = self.recorder.command(&file.path, self.seconds);
        let spec = ProgramSpec {
            limit: Duration::from_secs(self.seconds) + OVERHEAD,
            supervisor: self.supervisor.map(Path::to_owned),
            stdout: KeepLimits::first(0),
            stderr: KeepLimits::ends(KEPT_BYTES, KEPT_BYTES),
            interrupt: Some(interrupt.clone()),
            ..ProgramSpec::new(program, args, audio_env(self.env))
        };
        let (done, ended) = bounded(1);
        let on_thread = abort.clone();
        thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                let _ = done.send(spec.run(&on_thread));
            })
            .map_err(|error| Problem::system("Cannot start a thread for the recorder", error))?;
        let started = Instant::now();
        let mut told: Option<Instant> = None;
        loop {
            match ended.recv_timeout(LOOK) {
                Ok(output) => return output,
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Problem::internal("Marvin crashed while recording."));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let is_late = started.elapsed() >= Duration::from_secs(self.seconds) + OPENING;
            if is_late || file.size() >= FULL_BYTES {
                interrupt.fire();
            }
            if let Some(level) = file.listen() {
                on_level(level);
            }
            if file.has_ended(self.patience) {
                interrupt.fire();
            }
            match told {
                None if interrupt.is_fired() => told = Some(Instant::now()),
                Some(at) if at.elapsed() >= COMPLETION => abort.fire(),
                _ => {}
            }
        }
    }

    /// What the recorder left, if it can be sent.
    fn checked(&self, file: &mut RecordedFile, output: &ProgramOutput) -> Outcome<Recording> {
        let name = &self.recorder.name;
        let size = file.size();
        if size > MAX_FILE_BYTES {
            let megabytes = size / 1_000_000;
            return Err(Problem::limit(format!(
                "The recording is too long: {megabytes} MB, and speech recognition takes {} MB.",
                MAX_FILE_BYTES / 1_000_000
            ))
            .next("Record less at once: with 16,000 samples a second of 16 bits, mono, that is 12 minutes."));
        }
        if size <= HEADER_BYTES as u64 {
            return if self.finish.is_fired() && !output.cancelled {
                Ok(Recording::empty())
            } else {
                Err(self.nothing(output))
            };
        }
        let bytes = file.bytes().map_err(|error| {
            Problem::system(format!("Cannot read what {name} has recorded"), error)
                .next("Let it write a regular file.")
        })?;
        let wav = match Wav::read(&bytes) {
            Ok(wav) => wav,
            Err(WavError::Unsupported(what)) => {
                return Err(Problem::input(format!(
                    "What {name} has recorded cannot be used: {what}."
                ))
                .next("Record WAV with samples of 16 bits, best 16,000 a second, mono."));
            }
            Err(WavError::Incomplete | WavError::NotWav) => {
                return Err(Problem::input(format!(
                    "What {name} has written is not a WAV recording."
                ))
                .next("Let it write WAV: 16 bits, 16,000 samples a second, mono."));
            }
        };
        let samples = bytes.get(wav.samples.clone()).unwrap_or_default();
        if samples.is_empty() {
            return Err(self.nothing(output));
        }
        let mut activity = VoiceActivity::new(&wav);
        activity.push(samples);
        let seconds = wav.seconds(samples.len());
        // The service bills seconds and makes up words for silence.
        let span = activity.voice_span(samples.len());
        let samples = samples.get(span).unwrap_or_default();
        let length = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        Ok(Recording {
            header: wav.header(length),
            seconds,
            samples: samples.to_vec(),
            has_voice: activity.has_voice(),
            loudest: activity.loudest(),
        })
    }

    /// Why nothing was recorded.
    fn nothing(&self, output: &ProgramOutput) -> Problem {
        let name = &self.recorder.name;
        let advice = "Check the microphone (arecord -l lists the devices), or name a device in MARVIN_RECORD_COMMAND.";
        if output.timed_out || output.cancelled {
            return Problem::timeout(format!("{name} recorded nothing and had to be ended."))
                .next("Another program may hold the microphone.")
                .next(advice);
        }
        let ending = match last_words(&output.stderr.text()) {
            Some(words) => words,
            None if output.code == Some(0) => "it wrote nothing".to_owned(),
            None => output.ending(),
        };
        Problem::new(
            ProblemKind::System,
            format!("{name} could not record: {ending}."),
        )
        .next(advice)
    }
}

/// The file that the recorder writes, while it grows.
struct RecordedFile {
    path: PathBuf,
    opens_once: bool,
    file: Option<File>,
    activity: Option<VoiceActivity>,
    /// Bytes that were listened to.
    heard: u64,
}

impl RecordedFile {
    fn new(path: PathBuf, opens_once: bool) -> Self {
        Self {
            path,
            opens_once,
            file: None,
            activity: None,
            heard: 0,
        }
    }

    /// The file, once it is there. If the recorder opens it only once, it loses its name: even a Marvin that is killed leaves no recording.
    fn open(&mut self) -> Option<&mut File> {
        if self.file.is_none() {
            let file = open::read(&self.path).ok()?;
            if self.opens_once {
                // Before the first sound, it might still be opened again.
                if file.metadata().ok()?.len() <= HEADER_BYTES as u64 {
                    return None;
                }
                let _stays_until_the_folder_goes = fs::remove_file(&self.path);
            }
            self.file = Some(file);
        }
        self.file.as_mut()
    }

    fn size(&mut self) -> u64 {
        let opens_once = self.opens_once;
        let own = match self.open() {
            Some(file) if opens_once => file.metadata(),
            // A script may have put another file in its place.
            _ => fs::metadata(&self.path),
        };
        own.map_or(0, |meta| meta.len())
    }

    /// Listens to what was written since the last time; the loudness of its end, if there was anything.
    fn listen(&mut self) -> Option<f32> {
        let heard = self.heard;
        if self.activity.is_none() {
            let mut head = Vec::new();
            let file = self.open()?;
            file.seek(SeekFrom::Start(0)).ok()?;
            file.take(MAX_HEADER_BYTES).read_to_end(&mut head).ok()?;
            let wav = Wav::read(&head).ok()?;
            self.heard = wav.samples.start as u64;
            self.activity = Some(VoiceActivity::new(&wav));
            return self.listen();
        }
        let file = self.open()?;
        let size = file.metadata().ok()?.len().min(MAX_FILE_BYTES);
        if size <= heard {
            return None;
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(heard)).ok()?;
        file.take(size - heard).read_to_end(&mut bytes).ok()?;
        self.heard += bytes.len() as u64;
        let activity = self.activity.as_mut()?;
        activity.push(&bytes);
        Some(activity.level())
    }

    /// Somebody has spoken and is silent, or nobody has spoken for as long as `patience`.
    fn has_ended(&self, patience: Option<Duration>) -> bool {
        self.activity.as_ref().is_some_and(|activity| {
            activity.has_ended() || patience.is_some_and(|time| activity.is_unused_for(time))
        })
    }

    fn bytes(&mut self) -> std::io::Result<Vec<u8>> {
        if !self.opens_once {
            return open::bytes(&self.path, MAX_FILE_BYTES);
        }
        let mut bytes = Vec::new();
        let file = match self.file.take() {
            Some(file) => file,
            None => open::read(&self.path)?,
        };
        let mut file = file;
        file.seek(SeekFrom::Start(0))?;
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
