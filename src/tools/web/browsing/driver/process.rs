//! A driver's process: in its own process group, which is killed on every exit path, and with a temporary folder.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use tempfile::TempDir;

use super::DriverPair;
use crate::base::cancel::{Cancel, OnFire};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::proc::capture::KeepLimits;
use crate::proc::child::ProgramSpec;
use crate::proc::child_env::command_env;

/// How long to wait until a driver prints its port.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a driver is started when its port is taken.
const MAX_STARTS: usize = 3;
/// Maximum lifetime; the call's own limit is shorter.
const MAX_LIFETIME: Duration = Duration::from_secs(120);
/// Time between TERM and KILL: the session was ended properly before.
const GRACE: Duration = Duration::ZERO;
/// Maximum length of the path of the temporary folder. The path of a Unix socket has at most 107 bytes on Linux and 103 on macOS, and Chromium's adds
/// `/marvin-browser-XXXXXX/.org.chromium.Chromium.XXXXXX/SingletonSocket` to it.
const MAX_TEMP_DIR_BYTES: usize = 34;
const PREFIX: &str = "marvin-browser-";
/// How long the end of a call waits for its folder to be removed, the same after cancellation, and the pause between two attempts.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(3);
const HURRIED_REMOVE_TIMEOUT: Duration = Duration::from_millis(80);
const AGAIN: Duration = Duration::from_millis(5);

/// A running driver; dropping it ends it and its browser.
pub(in super::super) struct Process {
    pub(super) port: u16,
    stop: Cancel,
    thread: Option<JoinHandle<()>>,
    folder: Option<TempDir>,
    _linked: OnFire,
}

/// A line of output of a starting driver.
enum DriverStartup {
    Port(u16),
    Ended(String),
    Stopped,
}

impl Process {
    /// Starts the driver of `pair` on a free port.
    ///
    /// # Errors
    /// `System` or `Network` when it does not start or prints no port; `Cancelled`.
    pub(in super::super) fn start(pair: &DriverPair, env: &Env, stop: &Cancel) -> Outcome<Self> {
        // chromedriver picks a port that is free over IPv4 and then needs the same one over IPv6, which another program may have.
        let is_port_taken = |problem: &Problem| problem.what.contains("Address already in use");
        for _ in 1..MAX_STARTS {
            match Self::start_once(pair, env, stop) {
                Err(problem) if is_port_taken(&problem) => {}
                outcome => return outcome,
            }
        }
        Self::start_once(pair, env, stop)
    }

    fn start_once(pair: &DriverPair, env: &Env, stop: &Cancel) -> Outcome<Self> {
        let folder = make_folder(env)
            .map_err(|error| Problem::system("Cannot make a folder for the browser", error))?;
        let mut run = ProgramSpec::new(
            pair.driver.as_os_str(),
            ["--port=0"],
            variables(env, &folder.path().to_string_lossy()),
        );
        run.dir = Some(folder.path().to_owned());
        run.limit = MAX_LIFETIME;
        run.grace = GRACE;
        run.cancel_grace = GRACE;
        run.stderr = KeepLimits::ends(2048, 2048);
        let (stop, linked) = stop.child();
        let (tell, told) = bounded(4);
        let thread = {
            let (stop, tell) = (stop.clone(), tell.clone());
            thread::Builder::new()
                .name("driver".into())
                .spawn(move || serve(&run, &stop, &tell))
                .map_err(|error| Problem::system("Cannot start a driver", error))?
        };
        let mut process = Self {
            port: 0,
            stop,
            thread: Some(thread),
            folder: Some(folder),
            _linked: linked,
        };
        process.port = process.listen(tell, &told, pair)?;
        Ok(process)
    }

    fn listen(
        &self,
        tell: Sender<DriverStartup>,
        told: &Receiver<DriverStartup>,
        pair: &DriverPair,
    ) -> Outcome<u16> {
        let _wake = self
            .stop
            .on_fire(move || drop(tell.try_send(DriverStartup::Stopped)));
        let name = pair.driver.display();
        match told.recv_timeout(START_TIMEOUT) {
            Ok(DriverStartup::Port(port)) => Ok(port),
            Ok(DriverStartup::Stopped) => Err(Problem::cancelled()),
            Ok(DriverStartup::Ended(arguments)) => {
                self.stop.check()?;
                Err(Problem::network(format!(
                    "{name} does not start: {arguments}"
                )))
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(Problem::network(format!(
                    "{name} did not say within {} s that it listens.",
                    START_TIMEOUT.as_secs()
                )))
            }
        }
    }
}

/// A new folder for one browser, in a place where its path leaves room for Chromium's sockets.
fn make_folder(env: &Env) -> io::Result<TempDir> {
    let absolute = |name: &str| env.get(name).filter(|dir| dir.starts_with('/'));
    let wanted = absolute("TMPDIR").unwrap_or("/tmp");
    let others = [absolute("XDG_RUNTIME_DIR"), Some("/tmp"), Some("/var/tmp")];
    let short = std::iter::once(Some(wanted))
        .chain(others)
        .flatten()
        .filter(|dir| dir.len() <= MAX_TEMP_DIR_BYTES);
    // A long path is better than none: Firefox does not mind.
    let mut made = Err(io::ErrorKind::NotFound.into());
    for above in short.chain([wanted]) {
        remove_leftovers(Path::new(above));
        made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(above);
        if made.is_ok() {
            break;
        }
    }
    made
}

impl Drop for Process {
    fn drop(&mut self) {
        let hurry = self.stop.is_fired();
        self.stop.fire();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if let Some(folder) = self.folder.take() {
            remove(
                folder.keep(),
                if hurry {
                    HURRIED_REMOVE_TIMEOUT
                } else {
                    REMOVE_TIMEOUT
                },
            );
        }
    }
}

/// Removes a browser's folder, with retries: it has many files, and a dying process may still write one. Leftovers are removed by the next call.
fn remove(folder: PathBuf, timeouts: Duration) {
    let (tell, told) = bounded(1);
    let removing = thread::Builder::new()
        .name("removing".into())
        .spawn(move || {
            for _ in 0..20 {
                match fs::remove_dir_all(&folder) {
                    Err(reason) if reason.kind() != io::ErrorKind::NotFound => thread::sleep(AGAIN),
                    _ => break,
                }
            }
            let _ = tell.send(());
        });
    if removing.is_ok() {
        let _ = told.recv_timeout(timeouts);
    }
}

/// Removes folders left by calls that were killed or ran out of time.
fn remove_leftovers(above: &Path) {
    let old = |entry: &fs::DirEntry| {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let about = entry
            .metadata()
            .ok()
            .filter(|about| named && about.is_dir())?;
        let own = about.uid() == rustix::process::geteuid().as_raw();
        let age = about.modified().ok()?.elapsed().ok()?;
        Some(own && age > MAX_LIFETIME * 10)
    };
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        if old(&entry) == Some(true) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn serve(run: &ProgramSpec, stop: &Cancel, tell: &Sender<DriverStartup>) {
    let done = run.run_split(stop, b'\n', &mut |line| {
        if let Some(port) = port(&String::from_utf8_lossy(line)) {
            let _ = tell.try_send(DriverStartup::Port(port));
        }
        ControlFlow::Continue(())
    });
    let arguments = match done {
        Ok(done) => {
            let said = done.stderr.text();
            let said = said.lines().rfind(|line| !line.trim().is_empty());
            let said = clip(&escape_controls(said.unwrap_or_default().trim()), 200);
            format!("{} {said}", done.ending())
        }
        Err(problem) => problem.what,
    };
    let _ = tell.try_send(DriverStartup::Ended(arguments.trim().to_owned()));
}

/// The port in a line: `Listening on 127.0.0.1:PORT`, `… was started successfully on port PORT.`
fn port(line: &str) -> Option<u16> {
    let after = match line.split_once("Listening on ") {
        Some((_, current_url)) => current_url.rsplit_once(':')?.1,
        None => line.split_once("started successfully on port ")?.1,
    };
    let digits = after.trim().trim_end_matches('.');
    digits.parse().ok().filter(|port| *port > 0)
}

/// The environment of a browser isolated from its user: none of their files, no desktop, no proxies.
fn variables(env: &Env, folder: &str) -> Vec<(String, String)> {
    const ITS_OWN: [&str; 7] = [
        "HOME",
        "TMPDIR",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
    ];
    let kept = |name: &str| {
        name.starts_with("LC_")
            || matches!(
                name,
                "PATH" | "LANG" | "LANGUAGE" | "TZ" | "LD_LIBRARY_PATH" | "XDG_DATA_DIRS"
            )
    };
    let mut vars: Vec<(String, String)> = command_env(env)
        .into_iter()
        .filter(|(name, _)| kept(name))
        .collect();
    vars.extend(ITS_OWN.map(|name| (name.to_owned(), folder.to_owned())));
    // A crash reporter would outlive its browser.
    vars.push(("MOZ_CRASHREPORTER_DISABLE".to_owned(), "1".to_owned()));
    vars
}

#[cfg(test)]
mod tests {
    use super::super::Family;
    use super::*;

    #[test]
    fn the_port_is_parsed_from_a_line() {
        for (line, want) in [
            (
                "1700000000000\tgeckodriver\tINFO\tListening on 127.0.0.1:4444",
                Some(4444),
            ),
            (
                "ChromeDriver was started successfully on port 45727.",
                Some(45727),
            ),
            ("ChromeDriver was started successfully.", None),
            ("Starting ChromeDriver 1 on port 0", None),
            ("Listening on nothing", None),
            ("Listening on 127.0.0.1:0", None),
        ] {
            assert_eq!(port(line), want, "{line}");
        }
    }

    #[test]
    fn a_driver_whose_port_is_taken_starts_again() {
        let dir = tempfile::tempdir().unwrap();
        let (driver, count) = (dir.path().join("driver"), dir.path().join("count"));
        let script = format!(
            "#!/bin/sh\necho >> {0}\n[ $(wc -l < {0}) -lt 3 ] && {{ echo 'bind() failed: Address already in use (98)' >&2; exit 1; }}\n\
             echo 'ChromeDriver was started successfully on port 4444.'\nexec sleep 60\n",
            count.display()
        );
        // Written by another process: a file that this one has open for writing, or a child that it is just starting, cannot be run.
        let written = std::process::Command::new("sh")
            .args(["-c", "printf %s \"$1\" > \"$2\" && chmod +x \"$2\"", "sh"])
            .arg(&script)
            .arg(&driver)
            .status();
        assert!(written.unwrap().success());
        let pair = DriverPair {
            family: Family::Chromium,
            driver: driver.clone(),
            browser: driver,
        };
        let path = std::env::var("PATH").unwrap();
        let env = Env::from([("PATH", path.as_str())]);
        let process = Process::start(&pair, &env, &Cancel::new()).unwrap();
        assert_eq!(process.port, 4444);
        drop(process);
        fs::write(&count, "").unwrap();
        let stop = Cancel::new();
        stop.fire();
        assert!(Process::start(&pair, &env, &stop).is_err_and(|problem| problem.is_cancelled()));
    }

    #[test]
    fn the_folder_path_leaves_room_for_sockets() {
        let long = tempfile::Builder::new()
            .prefix(&"x".repeat(60))
            .tempdir()
            .unwrap();
        let env = Env::from([("TMPDIR", long.path().to_str().unwrap())]);
        let folder = make_folder(&env).unwrap();
        let above = folder.path().parent().unwrap();
        assert!(
            above.as_os_str().len() <= MAX_TEMP_DIR_BYTES,
            "{}",
            above.display()
        );
    }
}
