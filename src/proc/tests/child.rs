//! Children: limits, cancellation, leftovers, pipes and environment.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::{catch_interrupts, env};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::pauses::Pauses;
use crate::base::problem::ProblemKind;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{Leftovers, ProgramOutput, ProgramSpec, Stdin};
use crate::proc::child_env::command_env;
use crate::proc::pump::OutputStream;
use crate::proc::shell::ShellCommand;

fn sh(script: &str) -> ProgramSpec {
    ProgramSpec::new("sh", ["-c", script], command_env(&env()))
}

fn command<'a>(text: &'a str, dir: &'a Path) -> ShellCommand<'a> {
    ShellCommand {
        text,
        dir,
        variables: Vec::new(),
        limit: Duration::from_secs(60),
        spill: dir,
        supervisor: None,
        sandbox: None,
    }
}

fn run(run: &ProgramSpec) -> ProgramOutput {
    run.run(&Cancel::new()).unwrap()
}

fn text(output: &ProgramOutput) -> (String, String) {
    (output.stdout.text(), output.stderr.text())
}

/// True while some process of the group `pid` lives.
fn is_alive(pid: &str) -> bool {
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    // A zombie that init has not collected yet is dead enough.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    rustix::process::test_kill_process(pid).is_ok() && !stat.is_ok_and(|stat| stat.contains(") Z "))
}

/// Waits until the process is gone; kernels take a moment after KILL.
fn waits_until_dead(pid: &str) -> bool {
    let start = Instant::now();
    while is_alive(pid) && start.elapsed() < SOON {
        thread::sleep(Duration::from_millis(5));
    }
    !is_alive(pid)
}

/// Far less than what the programs here would take by themselves, on a busy machine too.
const SOON: Duration = Duration::from_secs(20);

/// Less time has passed than `limit`.
#[track_caller]
fn is_within(limit: Duration, start: Instant) {
    let elapsed = start.elapsed();
    assert!(elapsed < limit, "{elapsed:?}");
}

/// Runs a script, `{}` in it being a file, and cancels it once a line is in that file: the line, how it ended, and when it was cancelled.
fn cancelled(script: &str, stop: &Cancel) -> (String, ProgramOutput, Instant) {
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let program = ProgramSpec {
        leftovers: Leftovers::KillStarted,
        ..sh(&script.replace("{}", ready.to_str().unwrap()))
    };
    let own = stop.clone();
    let runner = thread::spawn(move || program.run(&own).unwrap());
    let pid = wait_for(&ready);
    let fired = Instant::now();
    stop.fire();
    (pid, runner.join().unwrap(), fired)
}

fn wait_for(file: &Path) -> String {
    let start = Instant::now();
    while start.elapsed() < SOON {
        if let Ok(text) = std::fs::read_to_string(file)
            && text.ends_with('\n')
        {
            return text;
        }
        thread::sleep(Duration::from_millis(2));
    }
    panic!("{} never appeared", file.display());
}

#[test]
fn streams_status_and_directory_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let output = run(&ProgramSpec {
        dir: Some(real.clone()),
        ..sh("pwd -P; echo oops >&2; exit 3")
    });
    assert_eq!(
        text(&output),
        (format!("{}\n", real.display()), "oops\n".into())
    );
    assert_eq!(
        (output.code, output.success(), output.ending().as_str()),
        (Some(3), false, "exit code: 3")
    );
    let output = run(&sh("kill -SEGV $$"));
    assert_eq!((output.code, output.signal), (None, Some(11)));
    assert_eq!(
        output.ending(),
        "killed by signal 11 (SEGV, a bad memory access)"
    );
}

#[test]
fn standard_input_is_empty_or_the_given_bytes() {
    assert_eq!(text(&run(&sh("cat"))).0, "");
    let input = vec![b'x'; 3 << 20];
    let output = run(&ProgramSpec {
        stdin: Stdin::Bytes(input.clone()),
        stdout: KeepLimits::first(8 << 20),
        ..sh("cat")
    });
    assert_eq!(output.stdout.bytes(), input);
    // A child that does not read its input is not an error.
    let output = run(&ProgramSpec {
        stdin: Stdin::Bytes(input),
        ..sh("exec <&-; echo ok")
    });
    assert_eq!(text(&output).0, "ok\n");
}

#[test]
fn missing_programs_and_directories_are_named() {
    let problem = ProgramSpec::new("no-such-program", [""; 0], command_env(&env()))
        .run(&Cancel::new())
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Missing);
    assert_eq!(problem.what, "The program no-such-program was not found.");
    let run = ProgramSpec {
        dir: Some("/no/such/dir".into()),
        ..sh("true")
    };
    let problem = run.run(&Cancel::new()).unwrap_err();
    assert!(problem.what.contains("/no/such/dir"), "{problem}");
    let problem = sh("echo \0").run(&Cancel::new()).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Input);
}

#[test]
fn only_the_given_environment_is_passed() {
    let env = Env::from([
        ("PATH", env().get("PATH").unwrap()),
        ("HOME", "/home/u"),
        ("GIT_DIR", "/x"),
        ("VIRTUAL_ENV", "/v"),
        ("OPENAI_API_KEY", "secret"),
        ("MARVIN_DEPTH", "1"),
    ]);
    let output = run(&ProgramSpec::new("env", [""; 0], command_env(&env)));
    let out = text(&output).0;
    let names: Vec<&str> = out
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["HOME", "PATH"]);
}

#[test]
fn the_limit_kills_grandchildren_that_ignore_term() {
    let start = Instant::now();
    let output = run(&ProgramSpec {
        limit: Duration::from_secs(2),
        grace: Duration::from_millis(200),
        ..sh(
            "trap '' TERM; (trap '' TERM; sleep 60; sleep 60) & echo $!; echo $$; wait; wait; wait",
        )
    });
    assert!(output.timed_out && !output.success());
    assert_eq!(
        output.ending(),
        "timed out after 2 s; the whole process group was killed"
    );
    is_within(SOON, start);
    let pids = text(&output).0;
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        assert!(waits_until_dead(pid), "{pid} still runs");
    }
}

#[test]
fn an_interrupt_lets_the_program_end_by_itself() {
    catch_interrupts();
    let dir = tempfile::tempdir().unwrap();
    let begun = dir.path().join("begun");
    let interrupt = Cancel::new();
    let (watched, at) = (interrupt.clone(), begun.clone());
    let watcher = thread::spawn(move || {
        while !at.exists() {
            thread::sleep(Duration::from_millis(5));
        }
        watched.fire();
    });
    let output = run(&ProgramSpec {
        interrupt: Some(interrupt),
        ..sh(&format!(
            "trap 'echo completed; exit 0' INT; touch {}; while :; do sleep 0.02; done",
            begun.display()
        ))
    });
    watcher.join().unwrap();
    assert!(output.success() && !output.cancelled, "{}", output.ending());
    assert_eq!(text(&output).0, "completed\n");
}

#[test]
fn the_limit_does_not_count_pauses() {
    let pauses = Arc::new(Pauses::default());
    let program = ProgramSpec {
        limit: Duration::from_millis(50),
        pauses: Some(Arc::clone(&pauses)),
        ..sh("sleep 0.3; echo done")
    };
    let output = pauses.during(|| run(&program));
    assert_eq!(
        (output.timed_out, &*output.stdout.text()),
        (false, "done\n")
    );
    let announced = Arc::new(Pauses::default());
    announced.add(Duration::from_secs(60));
    let output = run(&ProgramSpec {
        pauses: Some(announced),
        ..program.clone()
    });
    assert!(!output.timed_out);
    let output = run(&ProgramSpec {
        limit: Duration::from_millis(50),
        pauses: Some(Arc::default()),
        ..sh("sleep 60")
    });
    assert!(output.timed_out);
}

#[test]
fn a_group_that_obeys_term_ends_without_the_grace_period() {
    let start = Instant::now();
    let output = run(&ProgramSpec {
        limit: Duration::from_secs(3),
        grace: Duration::from_secs(60),
        ..sh("trap 'echo bye; exit 7' TERM; sleep 60 & wait")
    });
    assert!(output.timed_out);
    assert_eq!((output.code, text(&output).0.as_str()), (Some(7), "bye\n"));
    is_within(SOON, start);
}

#[test]
fn cancellation_ends_it_at_once() {
    let stop = Cancel::new();
    let (pid, done, fired) = cancelled("sleep 60 & echo $! > {}; wait", &stop);
    is_within(SOON, fired);
    assert!(done.cancelled && waits_until_dead(&pid));
    assert!(done.unless_cancelled().unwrap_err().is_cancelled());
    assert!(sh("true").run(&stop).unwrap_err().is_cancelled());
    // Also where it left the group, and is asked in vain.
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ > {}; while :; do sleep 1; done' & wait";
    let (pid, _, fired) = cancelled(script, &Cancel::new());
    is_within(SOON, fired);
    assert!(waits_until_dead(&pid));
}

#[test]
fn cancellation_kills_a_child_that_ignores_term() {
    let script = "trap '' TERM; echo $$ > {}; while :; do sleep 1; done";
    let (pid, done, fired) = cancelled(script, &Cancel::new());
    is_within(SOON, fired);
    assert!(done.cancelled && waits_until_dead(&pid));
}

#[test]
fn a_grandchild_holding_the_pipe_does_not_block() {
    let start = Instant::now();
    let output = run(&sh("sleep 60 & echo $!"));
    is_within(SOON, start);
    assert!(output.held_open && output.success());
    assert!(waits_until_dead(&text(&output).0));
    // The same in a session of its own, which no signal of ours reaches.
    let start = Instant::now();
    let output = run(&sh("setsid sleep 30 & echo hi"));
    is_within(SOON, start);
    assert_eq!(text(&output).0, "hi\n");
}

#[test]
fn a_detached_daemon_survives_when_requested() {
    let script = "sleep 60 >/dev/null 2>&1 & echo $!";
    let pid = text(&run(&ProgramSpec {
        leftovers: Leftovers::Leave,
        ..sh(script)
    }))
    .0;
    assert!(is_alive(&pid));
    let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert!(waits_until_dead(&text(&run(&sh(script))).0));
}

#[test]
fn both_streams_are_drained_within_bounded_memory() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("all");
    let megabytes = 100u64;
    let output = run(&ProgramSpec {
        stdout: KeepLimits {
            spill: Some(file.clone()),
            ..KeepLimits::ends(1000, 1000)
        },
        stderr: KeepLimits::ends(10, 10),
        limit: Duration::from_secs(120),
        ..sh(&format!(
            "head -c {0} /dev/zero & head -c {0} /dev/zero >&2; wait",
            megabytes << 20
        ))
    });
    assert_eq!(output.code, Some(0));
    assert_eq!(
        (output.stdout.left_out(), output.stderr.left_out()),
        ((megabytes << 20) - 2000, (megabytes << 20) - 20)
    );
    assert_eq!(
        (output.stdout.bytes().len(), output.stderr.bytes().len()),
        (2000, 20)
    );
    assert_eq!(file.metadata().unwrap().len(), megabytes << 20);
}

#[test]
fn output_can_be_split_and_stopped_early() {
    let mut lines = Vec::new();
    let start = Instant::now();
    let done = sh("yes | head -n 5; printf last; sleep 0")
        .run_split(&Cancel::new(), b'\n', &mut |line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(lines, ["y", "y", "y", "y", "y", "last"]);
    assert!(done.success());
    let mut count = 0;
    let done = sh("yes; sleep 60")
        .run_split(&Cancel::new(), b'\n', &mut |_| {
            count += 1;
            if count == 3 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .unwrap();
    assert_eq!((count, done.timed_out), (3, false));
    is_within(SOON, start);
}

#[test]
fn a_child_leads_its_own_session_without_a_terminal() {
    let script = "read -r _ _ _ _ group session terminal _ < /proc/$$/stat; echo $$ $group $session $terminal; : < /dev/tty";
    let output = run(&sh(script));
    let (out, errors) = text(&output);
    let words: Vec<&str> = out.split_whitespace().collect();
    let [own, group, session, terminal] = words[..] else {
        panic!("{out}{errors}");
    };
    assert_eq!((group, session, terminal), (own, own, "0"), "{out}");
    assert!(errors.contains("/dev/tty"), "{errors}");
}

#[test]
fn a_cancelled_command_keeps_its_output() {
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let stop = Cancel::new();
    // The same for a child that ignores TERM.
    let script = format!(
        "trap '' TERM; echo the first part; echo and errors >&2; echo $$ > {}; while :; do sleep 1; done",
        ready.display()
    );
    let runner = {
        let (stop, dir) = (stop.clone(), dir.path().to_owned());
        thread::spawn(move || {
            command(&script, &dir)
                .run(&env(), &stop, &mut |_| ())
                .unwrap()
        })
    };
    wait_for(&ready);
    stop.fire();
    assert_eq!(
        runner.join().unwrap().text,
        "the first part\nstderr:\nand errors\n[stopped] It was cancelled, and its whole process group killed."
    );
    let again = command("true", dir.path()).run(&env(), &stop, &mut |_| ());
    assert!(again.unwrap_err().is_cancelled(), "nothing ran");
}

#[test]
fn both_streams_are_read_by_lines_and_what_has_no_line_feed_comes_too() {
    let mut lines = Vec::new();
    // A process that stays holds the pipes open: the last line comes nevertheless.
    let output = sh("printf 'a\\n\\nb'; sleep 300 & printf 'x\\ny' >&2")
        .run_lines(&Cancel::new(), &mut |stream, line| {
            lines.push((stream, String::from_utf8_lossy(line).into_owned()));
        })
        .unwrap();
    assert!(output.success() && output.held_open, "{output:?}");
    let of = |wanted: OutputStream| -> Vec<&str> {
        let own = lines.iter().filter(|(stream, _)| *stream == wanted);
        own.map(|(_, line)| line.as_str()).collect()
    };
    assert_eq!(of(OutputStream::Stdout), ["a\n", "\n", "b"]);
    assert_eq!(of(OutputStream::Stderr), ["x\n", "y"]);
}

#[test]
fn a_very_long_line_comes_in_pieces_and_whole() {
    let (mut bytes, mut pieces, mut longest) = (0, 0, 0);
    let output = sh("head -c 5000000 /dev/zero; echo")
        .run_lines(&Cancel::new(), &mut |_, line| {
            bytes += line.len();
            pieces += 1;
            longest = longest.max(line.len());
        })
        .unwrap();
    assert!(output.success());
    assert_eq!(bytes, 5_000_001);
    assert!(pieces > 1 && longest < 2 << 20, "{pieces} {longest}");
}

#[test]
fn a_leash_is_a_pipe_that_is_open_and_empty_as_long_as_the_program_runs() {
    let output = run(&ProgramSpec {
        stdin: Stdin::Leash,
        ..sh("[ -p /dev/stdin ] && timeout 0.2 cat; echo $?")
    });
    assert_eq!(text(&output).0, "124\n");
}
