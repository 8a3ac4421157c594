//! The user's crontab: lines that end with Marvin's own marker, and every other byte unchanged (crontab(1), crontab(5)).

use std::io::{Seek as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use jiff::civil::DateTime;

use super::capture::KeepLimits;
use super::child::{ProgramOutput, ProgramSpec, Stdin};
use super::program::find_program;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::proc::child_env;

/// Maximum size of a crontab.
const MAX_CRONTAB_BYTES: usize = 16 << 20;
/// Maximum length of a command that every cron accepts.
const MAX_COMMAND_BYTES: usize = 900;

/// The marker at the end of Marvin's lines: ` # marvin-alarm:ID`. The id is random, so no other line ends with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CronMark(String);

impl CronMark {
    /// The marker of one job; `None` for an id that could match another line's end or contain shell text.
    pub(crate) fn new(id: &str) -> Option<Self> {
        let is_complete = id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_complete.then(|| Self(format!(" # marvin-alarm:{id}")))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether a line is this job's. Comments are the user's.
    pub(crate) fn ends(&self, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let comment = line.trim_ascii_start().starts_with(b"#");
        !comment && line.ends_with(self.0.as_bytes())
    }
}

/// A line that runs `program` (a path) once a year at `at`, to the minute; `None` for a path that a crontab cannot express.
pub(crate) fn line(at: DateTime, program: &str, mark: &CronMark) -> Option<String> {
    if program.len() > MAX_COMMAND_BYTES || program.chars().any(char::is_control) {
        return None;
    }
    let quoted = format!("'{}'", program.replace('\'', "'\\''"));
    // Cron interprets % before the shell does, even in quotes.
    let command = quoted.replace('%', "\\%");
    Some(format!(
        "{} {} {} {} * {command}{}\n",
        at.minute(),
        at.hour(),
        at.day(),
        at.month(),
        mark.text()
    ))
}

/// The table without the lines of these jobs and with `lines` at its end.
pub(crate) fn changed(table: &[u8], removed: &[CronMark], lines: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(table.len() + lines.len() + 1);
    for line in table.split_inclusive(|byte| *byte == b'\n') {
        if !removed.iter().any(|mark| mark.ends(line)) {
            out.extend_from_slice(line);
        }
    }
    if !lines.is_empty() && !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    out.extend_from_slice(lines.as_bytes());
    out
}

/// True when `crontab` is installed.
pub(crate) fn is_installed(env: &Env) -> bool {
    find_program("crontab", env).is_some()
}

/// True when a process with one of these names runs, or when that is unknown.
pub(crate) fn daemon_runs(names: &[&str]) -> bool {
    let Ok(all) = std::fs::read_dir("/proc") else {
        return true;
    };
    let numbers = all.flatten().filter(|entry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    });
    numbers.into_iter().any(|entry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        names.contains(&name.trim_end())
    })
}

/// Changes the table: reads it, applies the change, reads again, and writes only if nobody else wrote meanwhile. The caller holds a lock against
/// other Marvin processes. Writes nothing when `change` changes nothing.
///
/// # Errors
/// The table cannot be read reliably (then nothing is ever written), keeps changing, or is refused.
pub(crate) fn change(env: &Env, stop: &Cancel, removed: &[CronMark], lines: &str) -> Outcome<()> {
    for _ in 0..3 {
        let before = read(env, stop)?;
        let table = before.clone().unwrap_or_default();
        let after = changed(&table, removed, lines);
        if after == table {
            return Ok(());
        }
        if read(env, stop)? != before {
            continue;
        }
        return write(env, stop, &after);
    }
    Err(Problem::limit("The crontab is being changed by somebody else.").next("Try again."))
}

/// The table; `None` when the user has none.
fn read(env: &Env, stop: &Cancel) -> Outcome<Option<Vec<u8>>> {
    let mut run = crontab(env, &["-l"]);
    run.stdout = KeepLimits::first(MAX_CRONTAB_BYTES);
    let output = run.run(stop)?.unless_cancelled()?;
    if output.success() && !output.stdout.is_cut() {
        return Ok(Some(output.stdout.bytes()));
    }
    let words = output.stderr.text();
    if output.code == Some(1) && words.trim_start().starts_with("no crontab for") {
        return Ok(None);
    }
    Err(refused("cannot be read", &output))
}

fn write(env: &Env, stop: &Cancel, table: &[u8]) -> Outcome<()> {
    // From a file and not through a pipe: if this process were killed before the whole table was in the pipe, crontab would install what had arrived as the
    // whole table.
    let fail = |error| Problem::system("Cannot write a table for crontab", error);
    let mut file = tempfile::tempfile().map_err(fail)?;
    file.write_all(table).map_err(fail)?;
    file.rewind().map_err(fail)?;
    let mut run = crontab(env, &[if table.is_empty() { "-r" } else { "-" }]);
    run.stdin = Stdin::File(Arc::new(file));
    let output = run.run(stop)?.unless_cancelled()?;
    if output.success() {
        Ok(())
    } else {
        Err(refused("cannot be written", &output))
    }
}

fn crontab(env: &Env, args: &[&str]) -> ProgramSpec {
    let mut vars = child_env::command_env(env);
    vars.retain(|(name, _)| name != "LANGUAGE" && !name.starts_with("LC_"));
    // Its message says whether there is a table at all, so it must not be translated.
    vars.push(("LC_ALL".into(), "C".into()));
    let mut run = ProgramSpec::new("crontab", args.iter().copied(), vars);
    run.limit = Duration::from_secs(4);
    run
}

fn refused(what: &str, output: &ProgramOutput) -> Problem {
    let words = output.stderr.text();
    let words = words.trim();
    let reason = if words.is_empty() {
        output.ending()
    } else {
        clip(
            &escape_controls(words.lines().next().unwrap_or_default()),
            200,
        )
    };
    Problem::refused(format!("The crontab {what}: {reason}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn mark(id: &str) -> CronMark {
        CronMark::new(id).unwrap()
    }

    #[test]
    fn a_line_escapes_everything_cron_and_the_shell_interpret() {
        let at: DateTime = "2026-11-21T18:05:00".parse().unwrap();
        let got = line(at, "/home/o'neil/50%/a b.sh", &mark("0123abcd"));
        assert_eq!(
            got.unwrap(),
            "5 18 21 11 * '/home/o'\\''neil/50\\%/a b.sh' # marvin-alarm:0123abcd\n"
        );
        assert!(line(at, "/a\nb", &mark("0123abcd")).is_none());
        assert!(line(at, &"/x".repeat(600), &mark("0123abcd")).is_none());
        for id in ["", "a", "short", "a b c d e f", "0123abc$", "0123\nabc"] {
            assert!(CronMark::new(id).is_none(), "{id:?}");
        }
    }

    #[test]
    fn only_the_full_marker_at_the_end_counts() {
        let ours = mark("0123abcd");
        assert!(ours.ends(b"1 1 1 1 * x # marvin-alarm:0123abcd\n"));
        for line in [
            "1 1 1 1 * x # marvin-alarm:0123abcde\n",
            "1 1 1 1 * x # marvin-alarm:0123abcd \n",
            "1 1 1 1 * x # marvin-alarm:0123abc\n",
            "1 1 1 1 * echo marvin-alarm:0123abcd\n",
            "# 1 1 1 1 * x # marvin-alarm:0123abcd\n",
            "*/5 * * * * /usr/local/bin/sync.sh # keep alarm_tea notes\n",
        ] {
            assert!(!ours.ends(line.as_bytes()), "{line}");
        }
    }

    proptest! {
        #[test]
        fn every_other_byte_is_unchanged(table in proptest::collection::vec(any::<u8>(), 0..200), newline in any::<bool>()) {
            let mut table = table;
            if newline && !table.is_empty() { table.push(b'\n'); }
            let ours = mark("0123abcd");
            let text = line("2026-11-21T18:05:00".parse().unwrap(), "/x", &ours).unwrap();
            let with = changed(&table, &[], &text);
            prop_assert!(with.ends_with(text.as_bytes()) && with.starts_with(&table));
            let mut back = changed(&with, &[ours], "");
            if !newline && back.ends_with(b"\n") && !table.ends_with(b"\n") { back.pop(); }
            prop_assert_eq!(back, table);
        }
    }
}
