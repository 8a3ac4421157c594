//! The program that speaks: the user's own command, or the first that is installed and has what it needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::languages::{self, Language};
use super::last_words;
use super::recorder::base_name;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::open;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::variables::{MARVIN_PIPER_VOICE, MARVIN_SPEAK_COMMAND};
use crate::formats::wav::{SampleFormat, Wav};
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec, Stdin};
use crate::proc::child_env::audio_env;
use crate::proc::program::{find_program, user_command};

/// A slow voice says five characters a second.
const TIME_PER_CHAR: Duration = Duration::from_millis(200);
/// Time to start, to load a voice and to open the device.
const START: Duration = Duration::from_secs(20);
/// Most bytes of the sound of one sentence: some ten minutes.
const MAX_SOUND_BYTES: usize = 32 << 20;
/// Largest description of a voice.
const MAX_VOICE_FILE_BYTES: u64 = 1 << 20;
/// Players of a WAV file on standard input, in the order in which they are looked for.
const PLAYERS: [(&str, &[&str]); 4] = [
    ("aplay", &["-q", "-t", "wav", "-"]),
    ("pw-play", &["-"]),
    ("paplay", &["/dev/stdin"]),
    ("play", &["-q", "-t", "wav", "-"]),
];

/// A program that speaks the text on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Speaker {
    pub name: String,
    program: PathBuf,
    args: Vec<String>,
    kind: SpeakerKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum SpeakerKind {
    /// It speaks its standard input.
    Direct,
    /// The same, and `-v` chooses the language.
    Espeak,
    /// It writes sound, which a player plays.
    Piper {
        player: PathBuf,
        player_args: Vec<String>,
        /// Samples per second of the voice.
        rate: u32,
        /// The only language of the voice.
        language: Option<&'static Language>,
    },
}

impl Speaker {
    /// The speaker of this machine; `None` when there is none.
    ///
    /// # Errors
    /// `MARVIN_SPEAK_COMMAND` or `MARVIN_PIPER_VOICE` cannot be used.
    pub(crate) fn find(env: &Env) -> Outcome<Option<Self>> {
        if let Some(command) = MARVIN_SPEAK_COMMAND.read(env) {
            let (program, args) = user_command(MARVIN_SPEAK_COMMAND.name, command, env)?;
            return Ok(Some(Self {
                name: base_name(&program),
                program,
                args,
                kind: SpeakerKind::Direct,
            }));
        }
        if let Some(program) = find_program("piper", env)
            && let Some(speaker) = piper(program, env)?
        {
            return Ok(Some(speaker));
        }
        let found = |name: &str, args: &[&str], kind: SpeakerKind| {
            Some(Self {
                name: name.to_owned(),
                program: find_program(name, env)?,
                args: args.iter().map(|arg| (*arg).to_owned()).collect(),
                kind,
            })
        };
        Ok(found("espeak-ng", &["--stdin"], SpeakerKind::Espeak)
            .or_else(|| found("say", &["-f", "-"], SpeakerKind::Direct)))
    }

    /// The only language that it speaks, if that is known.
    pub(crate) fn only_language(&self) -> Option<&'static Language> {
        match &self.kind {
            SpeakerKind::Piper { language, .. } => *language,
            SpeakerKind::Direct | SpeakerKind::Espeak => None,
        }
    }

    /// Speaks `text`, in `language` if it can choose, and returns when it is said.
    ///
    /// # Errors
    /// The program cannot be run, fails or hangs; `Cancelled` when `stop` fires, with the program and all that it started ended.
    pub(crate) fn say(
        &self,
        text: &str,
        language: Option<&Language>,
        env: &Env,
        supervisor: Option<&Path>,
        stop: &Cancel,
    ) -> Outcome<()> {
        let text = speakable(text);
        let count = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let limit = START + TIME_PER_CHAR.saturating_mul(count);
        let mut args = self.args.clone();
        if let (SpeakerKind::Espeak, Some(language)) = (&self.kind, language) {
            args.extend(["-v".to_owned(), language.voice.to_owned()]);
        }
        let run = |program: &Path, args: &[String], input: Vec<u8>, kept: usize| {
            let args = args.iter().map(OsString::from);
            let spec = ProgramSpec {
                stdin: Stdin::Bytes(input),
                limit,
                supervisor: supervisor.map(Path::to_owned),
                stdout: KeepLimits::first(kept),
                stderr: KeepLimits::ends(4 << 10, 4 << 10),
                ..ProgramSpec::new(program, args, audio_env(env))
            };
            let output = spec.run(stop)?.unless_cancelled()?;
            if output.success() {
                Ok(output)
            } else {
                Err(failure(&base_name(program), &output))
            }
        };
        let input = format!("{text}\n").into_bytes();
        let SpeakerKind::Piper {
            player,
            player_args,
            rate,
            ..
        } = &self.kind
        else {
            return run(&self.program, &args, input, 0).map(drop);
        };
        let sound = run(&self.program, &args, input, MAX_SOUND_BYTES)?
            .stdout
            .bytes();
        if sound.is_empty() {
            return Err(
                Problem::new(ProblemKind::System, "piper made no sound of a sentence.")
                    .next("Try it by hand, or choose another voice with MARVIN_PIPER_VOICE."),
            );
        }
        let wav = Wav {
            format: SampleFormat::I16,
            channels: 1,
            rate: *rate,
            samples: 0..sound.len(),
        };
        let header = wav.header(u32::try_from(sound.len()).unwrap_or(u32::MAX));
        run(player, player_args, [&header[..], &sound].concat(), 0).map(drop)
    }
}

/// What the known programs would take as phonemes and commands is only punctuation here (`[[ -f x ]]` in a line of shell).
fn speakable(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    text.replace("[[", "[ [")
}

fn failure(name: &str, output: &ProgramOutput) -> Problem {
    let problem = if output.timed_out {
        let limit = output.limit.as_secs();
        Problem::timeout(format!(
            "{name} did not finish a sentence within {limit} s and was ended."
        ))
    } else {
        let ending = last_words(&output.stderr.text()).unwrap_or_else(|| output.ending());
        Problem::new(
            ProblemKind::System,
            format!("{name} could not speak: {ending}."),
        )
    };
    problem.next(
        "Try it by hand, or set MARVIN_SPEAK_COMMAND to a command that speaks its standard input.",
    )
}

/// Piper, if it has a voice and something plays what it makes.
fn piper(program: PathBuf, env: &Env) -> Outcome<Option<Speaker>> {
    let Some(voice) = piper_voice(env)? else {
        return Ok(None);
    };
    let player = PLAYERS.iter().find_map(|(name, args)| {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Some((find_program(name, env)?, args))
    });
    let Some((player, player_args)) = player else {
        return Ok(None);
    };
    let (rate, language) = describe(&voice);
    let voice = voice.to_string_lossy().into_owned();
    Ok(Some(Speaker {
        name: "piper".to_owned(),
        program,
        args: vec!["--model".to_owned(), voice, "--output-raw".to_owned()],
        kind: SpeakerKind::Piper {
            player,
            player_args,
            rate,
            language,
        },
    }))
}

/// The voice that the user named, else the first where voices are usually kept.
fn piper_voice(env: &Env) -> Outcome<Option<PathBuf>> {
    if let Some(named) = MARVIN_PIPER_VOICE.read(env) {
        let path = PathBuf::from(named);
        return if path.is_file() {
            Ok(Some(path))
        } else {
            Err(Problem::config(format!(
                "MARVIN_PIPER_VOICE is \"{named}\", which is not a file."
            ))
            .next("Set it to the .onnx file of a voice."))
        };
    }
    let home = env
        .get("HOME")
        .map(|home| Path::new(home).join(".local/share"));
    let data = env.get("XDG_DATA_HOME").map(PathBuf::from).or(home);
    let folders = data
        .into_iter()
        .chain([
            PathBuf::from("/usr/local/share"),
            PathBuf::from("/usr/share"),
        ])
        .flat_map(|dir| [dir.join("piper"), dir.join("piper-voices")]);
    Ok(folders.into_iter().find_map(|dir| {
        let entries = std::fs::read_dir(dir).ok()?;
        let voice = |path: &PathBuf| path.extension().is_some_and(|ext| ext == "onnx");
        let paths = entries.flatten().map(|entry| entry.path()).filter(voice);
        paths.min()
    }))
}

/// Samples per second and language of a voice, of the description beside it.
fn describe(voice: &Path) -> (u32, Option<&'static Language>) {
    let mut path = voice.as_os_str().to_owned();
    path.push(".json");
    let text = open::text(Path::new(&path), MAX_VOICE_FILE_BYTES).unwrap_or_default();
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let rate = value.pointer("/audio/sample_rate").and_then(Value::as_u64);
    let rate = rate.and_then(|rate| u32::try_from(rate).ok());
    let code = value
        .pointer("/language/code")
        .or_else(|| value.pointer("/espeak/voice"))
        .and_then(Value::as_str);
    // What voices of medium quality have.
    (rate.unwrap_or(22_050), code.and_then(languages::find))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::proc::tests::script;
    use std::fs;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn program(&self, name: &str, text: &str) {
            script(self.0.path(), name, text);
        }

        fn env(&self, vars: &[(&str, &str)]) -> Env {
            let here = self.0.path().to_str().unwrap();
            let path = format!("{here}:/bin");
            let own = [("PATH", path.as_str()), ("HOME", here)];
            // Without the machine's own speakers.
            let vars = vars.iter().chain(&own);
            Env::new(vars.map(|(name, value)| ((*name).into(), (*value).into())))
        }

        fn said(&self) -> String {
            fs::read_to_string(self.path("said")).unwrap_or_default()
        }
    }

    fn say(speaker: &Speaker, env: &Env, text: &str) -> Outcome<()> {
        speaker.say(text, languages::find("de"), env, None, &Cancel::new())
    }

    #[test]
    fn the_users_own_command_gets_the_text_on_standard_input() {
        let place = Place::new();
        place.program("talk", "echo \"$1\" >> $HOME/said; cat >> $HOME/said");
        let env = place.env(&[("MARVIN_SPEAK_COMMAND", "talk 'a b'")]);
        let speaker = Speaker::find(&env).unwrap().unwrap();
        assert_eq!(
            (speaker.name.as_str(), speaker.only_language()),
            ("talk", None)
        );
        say(&speaker, &env, "Hello\u{1b} [[you]].").unwrap();
        assert_eq!(place.said(), "a b\nHello  [ [you]].\n");
        for (command, what) in [("nosuch", "\"nosuch\""), ("talk 'x", "quote")] {
            let env = place.env(&[("MARVIN_SPEAK_COMMAND", command)]);
            let problem = Speaker::find(&env).unwrap_err().one_line();
            assert_has(&problem, &["MARVIN_SPEAK_COMMAND", what]);
        }
    }

    #[test]
    fn piper_speaks_through_a_player_in_the_language_of_its_voice() {
        let place = Place::new();
        place.program(
            "piper",
            "cat > $HOME/said; echo \"$@\" >> $HOME/said; printf '\\001\\002\\003\\004'",
        );
        place.program("aplay", "cat > $HOME/played");
        place.program("espeak-ng", "echo \"$@\" >> $HOME/said");
        // Without a voice it is not used.
        let env = place.env(&[]);
        assert_eq!(Speaker::find(&env).unwrap().unwrap().name, "espeak-ng");
        let voices = place.path(".local/share/piper");
        fs::create_dir_all(&voices).unwrap();
        let voice = voices.join("pt_BR-one-medium.onnx");
        fs::write(&voice, "").unwrap();
        let mut description = voice.clone().into_os_string();
        description.push(".json");
        fs::write(
            description,
            r#"{"audio": {"sample_rate": 16000}, "language": {"code": "pt_BR"}}"#,
        )
        .unwrap();
        let speaker = Speaker::find(&env).unwrap().unwrap();
        assert_eq!(speaker.only_language().unwrap().name, "Portuguese");
        say(&speaker, &env, "Oi.").unwrap();
        assert_eq!(
            place.said(),
            format!("Oi.\n--model {} --output-raw\n", voice.display())
        );
        let played = fs::read(place.path("played")).unwrap();
        let wav = Wav::read(&played).unwrap();
        assert_eq!(
            (wav.rate, &played[wav.samples]),
            (16_000, &[1, 2, 3, 4][..])
        );
        let env = place.env(&[("MARVIN_PIPER_VOICE", "/no/such.onnx")]);
        let problem = Speaker::find(&env).unwrap_err().one_line();
        assert!(problem.contains("/no/such.onnx"), "{problem}");
    }

    #[test]
    fn espeak_speaks_the_language_that_was_heard() {
        let place = Place::new();
        place.program("espeak-ng", "echo \"$@\" >> $HOME/said");
        let env = place.env(&[]);
        let speaker = Speaker::find(&env).unwrap().unwrap();
        say(&speaker, &env, "Hallo.").unwrap();
        assert_eq!(place.said(), "--stdin -v de\n");
    }

    #[test]
    fn a_speaker_that_dies_is_told_by_its_words() {
        let place = Place::new();
        for (script, want) in [
            (
                "echo 'no sound card' >&2; exit 1",
                "talk could not speak: no sound card.",
            ),
            ("exit 4", "talk could not speak: exit code: 4."),
            ("kill -KILL $$", "killed by signal 9 (KILL)"),
        ] {
            place.program("talk", script);
            let env = place.env(&[("MARVIN_SPEAK_COMMAND", "talk")]);
            let speaker = Speaker::find(&env).unwrap().unwrap();
            let problem = say(&speaker, &env, "Hello.").unwrap_err();
            assert!(problem.what.contains(want), "{}", problem.what);
        }
        // One that does not read its input has spoken.
        place.program("talk", "exit 0");
        let env = place.env(&[("MARVIN_SPEAK_COMMAND", "talk")]);
        let speaker = Speaker::find(&env).unwrap().unwrap();
        say(&speaker, &env, &"word ".repeat(100_000)).unwrap();
    }

    #[test]
    fn a_speaker_that_hangs_is_ended_and_told() {
        let env = Env::from([("PATH", "/usr/bin:/bin")]);
        let spec = ProgramSpec {
            limit: Duration::from_millis(50),
            ..ProgramSpec::new("sleep", ["300"], audio_env(&env))
        };
        let output = spec.run(&Cancel::new()).unwrap();
        let problem = failure("talk", &output);
        assert_eq!(problem.kind, ProblemKind::Timeout);
        assert!(
            problem
                .what
                .starts_with("talk did not finish a sentence within"),
            "{}",
            problem.what
        );
    }

    #[test]
    fn the_real_espeak_has_every_language() {
        let env = Env::from([("PATH", std::env::var("PATH").unwrap().as_str())]);
        let Some(espeak) = find_program("espeak-ng", &env) else {
            eprintln!("SKIPPED: espeak-ng is not installed");
            return;
        };
        for language in languages::all() {
            let output = std::process::Command::new(&espeak)
                .args(["-q", "-v", language.voice, "1"])
                .output()
                .unwrap();
            assert!(output.status.success(), "{}: {output:?}", language.name);
        }
    }
}
