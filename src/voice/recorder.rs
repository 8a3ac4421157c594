//! The program that records: the user's own command, or the first that is installed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::MARVIN_RECORD_COMMAND;
use crate::proc::program::{find_program, user_command};

/// What the recording is written to, and how long it may be, in a command.
const FILE: &str = "{file}";
const SECONDS: &str = "{seconds}";

/// A program that records into a WAV file for a number of seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recorder {
    /// Its name, or that of the user's command.
    pub name: String,
    program: PathBuf,
    /// With [`FILE`] and [`SECONDS`] in them.
    args: Vec<String>,
    /// It opens its file once and writes to that: the file may lose its name meanwhile.
    pub(super) opens_once: bool,
}

/// Names and arguments, in the order in which they are looked for. 16,000 samples a second of 16 bits are what speech recognition works with.
const KNOWN: [(&str, &[&str]); 4] = [
    (
        "arecord",
        &[
            "-q", "-f", "S16_LE", "-r", "16000", "-c", "1", "-d", SECONDS, "-t", "wav", FILE,
        ],
    ),
    (
        "sox",
        &[
            "-q", "-d", "-r", "16000", "-c", "1", "-b", "16", FILE, "trim", "0", SECONDS,
        ],
    ),
    (
        "ffmpeg",
        &[
            "-hide_banner",
            "-nostdin",
            "-loglevel",
            "error",
            "-f",
            "{source}",
            "-i",
            "{device}",
            "-t",
            SECONDS,
            "-ar",
            "16000",
            "-ac",
            "1",
            "-flush_packets",
            "1",
            "-y",
            FILE,
        ],
    ),
    // It has no time limit of its own.
    (
        "pw-record",
        &["--rate=16000", "--channels=1", "--format=s16", FILE],
    ),
];

impl Recorder {
    /// The recorder of this machine.
    ///
    /// # Errors
    /// There is none, or `MARVIN_RECORD_COMMAND` cannot be used.
    pub(crate) fn find(env: &Env) -> Outcome<Self> {
        if let Some(command) = MARVIN_RECORD_COMMAND.read(env) {
            return own(command, env);
        }
        KNOWN
            .iter()
            .find_map(|(name, args)| Some(known(name, args, find_program(name, env)?, env)))
            .ok_or_else(|| {
                Problem::missing("There is no program to record with: neither arecord, sox, ffmpeg nor pw-record was found.")
                    .next("Install the package alsa-utils (for arecord), sox, ffmpeg or pipewire-bin, or set MARVIN_RECORD_COMMAND to a command with {file} and {seconds}.")
            })
    }

    /// The command that records up to `seconds` into `file`.
    pub(super) fn command(&self, file: &Path, seconds: u64) -> (PathBuf, Vec<OsString>) {
        let seconds = seconds.to_string();
        let filled = |arg: &String| -> OsString {
            let arg = arg.replace(SECONDS, &seconds);
            let mut out = OsString::new();
            let mut parts = arg.split(FILE);
            out.push(parts.next().unwrap_or_default());
            for part in parts {
                out.push(file);
                out.push(part);
            }
            out
        };
        (self.program.clone(), self.args.iter().map(filled).collect())
    }
}

/// The user's own command.
fn own(command: &str, env: &Env) -> Outcome<Recorder> {
    let (program, args) = user_command(MARVIN_RECORD_COMMAND.name, command, env)?;
    if !args.iter().any(|arg| arg.contains(FILE)) {
        return Err(
            Problem::config("MARVIN_RECORD_COMMAND does not say where to record to.").next(
                "Write {file} in its place, for example: arecord -d {seconds} -t wav {file}.",
            ),
        );
    }
    Ok(Recorder {
        name: base_name(&program),
        program,
        args,
        // A script may write it in several steps.
        opens_once: false,
    })
}

pub(super) fn base_name(program: &Path) -> String {
    let name = program.file_name().unwrap_or(program.as_os_str());
    name.to_string_lossy().into_owned()
}

fn known(name: &str, args: &[&str], path: PathBuf, env: &Env) -> Recorder {
    let (source, device) = ffmpeg_source(env);
    let own = |arg: &&str| match *arg {
        "{source}" => source.to_owned(),
        "{device}" => device.to_owned(),
        arg => arg.to_owned(),
    };
    let mut args: Vec<String> = args.iter().map(own).collect();
    let mut program = path;
    if name == "pw-record"
        && let Some(timeout) = find_program("timeout", env)
    {
        // In the foreground, so that it stays in the group that Marvin ends. INT lets the recorder complete its file.
        let limit = ["--foreground", "--signal=INT", SECONDS].map(str::to_owned);
        let recorder = program.display().to_string();
        args = limit.into_iter().chain([recorder]).chain(args).collect();
        program = timeout;
    }
    Recorder {
        name: name.to_owned(),
        program,
        args,
        opens_once: true,
    }
}

/// What ffmpeg records from.
fn ffmpeg_source(env: &Env) -> (&'static str, &'static str) {
    if cfg!(target_os = "macos") {
        return ("avfoundation", ":0");
    }
    let socket = env
        .get("XDG_RUNTIME_DIR")
        .map(|dir| Path::new(dir).join("pulse/native"));
    let has_pulse = env.get("PULSE_SERVER").is_some() || socket.is_some_and(|path| path.exists());
    (if has_pulse { "pulse" } else { "alsa" }, "default")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn programs(names: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for name in names {
            let path = dir.path().join(name);
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        dir
    }

    fn env(dir: &tempfile::TempDir, vars: &[(&str, &str)]) -> Env {
        let path = dir.path().to_str().unwrap();
        let own = [("PATH", path)];
        let vars = vars.iter().chain(&own);
        Env::new(vars.map(|(name, value)| ((*name).into(), (*value).into())))
    }

    fn written(recorder: &Recorder) -> String {
        let (program, args) = recorder.command(Path::new("/t/a b.wav"), 7);
        let args: Vec<String> = args
            .iter()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        format!("{} {}", base_name(&program), args.join(" "))
    }

    #[test]
    fn the_first_that_is_installed_records() {
        for (installed, want) in [
            (
                &["pw-record", "ffmpeg", "sox", "arecord"][..],
                "arecord -q -f S16_LE -r 16000 -c 1 -d 7 -t wav /t/a b.wav",
            ),
            (
                &["pw-record", "ffmpeg", "sox"],
                "sox -q -d -r 16000 -c 1 -b 16 /t/a b.wav trim 0 7",
            ),
            (
                &["pw-record", "ffmpeg"],
                "ffmpeg -hide_banner -nostdin -loglevel error -f alsa -i default -t 7 -ar 16000 -ac 1 -flush_packets 1 -y /t/a b.wav",
            ),
            (
                &["pw-record"],
                "pw-record --rate=16000 --channels=1 --format=s16 /t/a b.wav",
            ),
        ] {
            let dir = programs(installed);
            let recorder = Recorder::find(&env(&dir, &[])).unwrap();
            assert_eq!(written(&recorder), want);
        }
        let dir = programs(&["pw-record", "timeout"]);
        let line = written(&Recorder::find(&env(&dir, &[])).unwrap());
        assert!(
            line.starts_with("timeout --foreground --signal=INT 7 /"),
            "{line}"
        );
        let dir = programs(&["ffmpeg"]);
        let line = written(&Recorder::find(&env(&dir, &[("PULSE_SERVER", "x")])).unwrap());
        assert!(line.contains("-f pulse -i default"), "{line}");
        let problem = Recorder::find(&env(&programs(&[]), &[]))
            .unwrap_err()
            .one_line();
        assert_has(&problem, &["arecord", "MARVIN_RECORD_COMMAND"]);
    }

    #[test]
    fn the_users_own_command_comes_first_and_needs_no_shell() {
        let dir = programs(&["arecord", "cp"]);
        let with =
            |command: &str| Recorder::find(&env(&dir, &[("MARVIN_RECORD_COMMAND", command)]));
        let recorder = with("cp '/a b' --to={file} {seconds}s; rm").unwrap();
        assert_eq!(recorder.name, "cp");
        assert_eq!(written(&recorder), "cp /a b --to=/t/a b.wav 7s; rm");
        for (command, what) in [
            ("cp a b", "where to record to"),
            ("cp 'a {file}", "quote"),
            ("nosuch {file}", "\"nosuch\""),
            ("/no/such {file}", "\"/no/such\""),
            ("''", "\"\""),
        ] {
            let problem = with(command).unwrap_err().one_line();
            assert!(problem.contains(what), "{command}: {problem}");
        }
    }
}
