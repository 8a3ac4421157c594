//! Measures one process: this binary runs itself as a helper that starts exactly one child, so that the kernel's account of
//! "children" is that child's alone.
//!
//! The peak memory is `ru_maxrss`; as the child begins as a copy of the helper, nothing below the helper's own size
//! (printed with the table) can be seen. The child's standard output is a pipe that the helper drains, as a caller would, into a
//! file if there is to be one.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

/// What one process used.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// From before the start to after the end, in seconds.
    pub wall: f64,
    /// User and system time, in seconds.
    pub cpu: f64,
    /// Peak resident memory in KiB.
    pub peak: u64,
}

/// Runs `command` and returns its cost, or its standard error when it failed. `keep` names a file for its standard output.
pub fn measure(command: &Command, keep: Option<&Path>, scratch: &Path) -> Result<Cost, String> {
    let stderr = scratch.join("stderr");
    let mut helper = Command::new(std::env::current_exe().map_err(|e| e.to_string())?);
    let keep = keep.unwrap_or(Path::new("/dev/null"));
    helper.arg("--measure").arg(keep).arg(&stderr);
    helper.arg(command.get_program()).args(command.get_args());
    helper.env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            helper.env(name, value);
        }
    }
    if let Some(dir) = command.get_current_dir() {
        helper.current_dir(dir);
    }
    let output = helper.output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<f64> = text
        .split(' ')
        .filter_map(|n| n.trim().parse().ok())
        .collect();
    match numbers[..] {
        [wall, cpu, peak, 0.0] => Ok(Cost {
            wall,
            cpu,
            peak: peak as u64,
        }),
        _ => {
            let said = std::fs::read_to_string(&stderr).unwrap_or_default();
            let first = said.lines().next().unwrap_or("no message");
            Err(first.chars().take(60).collect())
        }
    }
}

/// The helper's side: `KEEP STDERR PROGRAM ARG…`; prints wall, CPU, peak and status.
pub fn help(args: &[String]) {
    let [keep, stderr, program, rest @ ..] = args else {
        panic!("--measure KEEP STDERR PROGRAM ...");
    };
    let file = |path: &str| {
        File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
    };
    let mut keep = file(keep).expect("a file for standard output");
    let mut command = Command::new(program);
    command
        .args(rest)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file(stderr).expect("a file for standard error"));
    let start = Instant::now();
    let mut child = command.spawn().expect("a program to measure");
    let mut pipe = child.stdout.take().expect("a pipe");
    let mut piece = vec![0; 64 * 1024];
    loop {
        let read = pipe.read(&mut piece).expect("a pipe to read");
        if read == 0 {
            break;
        }
        keep.write_all(&piece[..read]).expect("a file to write");
    }
    let status = child.wait().expect("a child to wait for");
    let wall = start.elapsed().as_secs_f64();
    let used = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the children's account");
    let seconds = |t: nix::sys::time::TimeVal| t.tv_sec() as f64 + t.tv_usec() as f64 / 1e6;
    let cpu = seconds(used.user_time()) + seconds(used.system_time());
    let code = status.code().unwrap_or(-1);
    println!("{wall} {cpu} {} {code}", used.max_rss());
}
