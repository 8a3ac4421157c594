//! A session as Markdown, for people.

use std::fmt::Write as _;
use std::time::Duration;

use super::list::local_time;
use super::transcript::{PastCall, TranscriptContent, entries};
use crate::base::clock::Clock;
use crate::base::text::{clip, escape_markup, one_line};
use crate::chat::change::FileChange;
use crate::chat::display::Display;
use crate::chat::event::CallEnd;
use crate::chat::usage::{credits, dollars};
use crate::store::sessions::Replay;
use crate::store::sessions::record::CallRecord;

/// Characters of a call's arguments in its heading.
const SUMMARY_CHARS: usize = 100;

/// The whole session: what was said under headings, calls and results folded.
pub(crate) fn markdown(replay: &Replay, clock: &Clock) -> String {
    let header = &replay.header;
    let now = clock.now();
    let title = match &replay.name {
        Some(name) => one_line(name),
        None => one_line(&replay.first()),
    };
    let mut out = format!("# {title}\n\n- Session: {}\n", header.id);
    let _ = writeln!(
        out,
        "- Begun: {} in {}",
        local_time(&header.time, &now),
        code_span(&one_line(&header.cwd))
    );
    if let Some((provider, model)) = &replay.model {
        let _ = writeln!(out, "- Model: {} ({})", one_line(model), one_line(provider));
    }
    let spent = replay.spent;
    if spent.cost > 0.0 {
        let _ = writeln!(out, "- Cost: {}", dollars(spent.cost, spent.estimated));
    }
    if spent.credits > 0.0 {
        let _ = writeln!(out, "{}", credits("- Used: ", spent.credits));
    }
    for entry in entries(replay, clock) {
        match entry.content {
            TranscriptContent::User(text) => {
                let _ = write!(out, "\n## You · {}\n\n{}\n", entry.time, text.trim_end());
            }
            TranscriptContent::Assistant(text) => {
                let _ = write!(out, "\n## Marvin · {}\n\n{}\n", entry.time, text.trim_end());
            }
            TranscriptContent::Call(past) => call(&mut out, &past),
            TranscriptContent::Command { command, output } => {
                let text = format!("$ {command}\n{output}");
                let _ = write!(out, "\n{}", fenced("", &text));
            }
            TranscriptContent::Stopped => out.push_str("\n> stopped\n"),
            TranscriptContent::Error(text) => {
                let _ = write!(out, "\n> Error: {}\n", one_line(&text));
            }
            TranscriptContent::Notice(text) => {
                out.push('\n');
                for line in text.trim_end().lines() {
                    let _ = writeln!(out, "> {line}");
                }
            }
        }
    }
    out
}

/// A call, folded: how it ended, its arguments, the change it made, and its result.
fn call(out: &mut String, past: &PastCall) {
    let PastCall {
        call,
        output,
        record,
    } = past;
    let end = match (record, output) {
        (Some(record), _) => end_words(record),
        (None, Some(output)) if output.failed => " (failed)".to_owned(),
        (None, Some(_)) => String::new(),
        (None, None) => " (no result)".to_owned(),
    };
    let args = clip(&one_line(&call.args), SUMMARY_CHARS);
    let _ = write!(
        out,
        "\n<details><summary>🔧 {} <code>{}</code>{end}</summary>\n\n{}",
        escape_markup(&one_line(&call.name)),
        escape_markup(&args),
        fenced("json", &call.args)
    );
    let display = record.as_ref().and_then(|record| record.display.as_ref());
    if let Some(diff) = display.and_then(diff_text) {
        let _ = write!(out, "\n{}", fenced("diff", &diff));
    }
    if let Some(output) = output {
        let _ = write!(out, "\n{}", fenced("", &output.text));
    }
    out.push_str("\n</details>\n");
}

/// How a call ended, and how long it took unless that means nothing.
fn end_words(record: &CallRecord) -> String {
    let took = Duration::from_millis(record.took_ms).as_secs_f64();
    match record.end {
        CallEnd::Success => format!(" ({took:.1} s)"),
        CallEnd::ExitCode(code) => format!(" (exit code {code}, {took:.1} s)"),
        CallEnd::Signal(signal) => format!(" (signal {signal}, {took:.1} s)"),
        CallEnd::Timeout => format!(" (timeout, {took:.1} s)"),
        CallEnd::Failure => format!(" (failed, {took:.1} s)"),
        CallEnd::Declined => " (declined)".to_owned(),
        CallEnd::Stopped => " (stopped)".to_owned(),
    }
}

/// A change as the lines of a patch.
fn diff_text(display: &Display) -> Option<String> {
    Some(match display {
        Display::Changes { files } => files.iter().map(ToString::to_string).collect(),
        Display::Patch { text } => text.clone(),
        Display::Diff { old, new, .. } => {
            let change = FileChange::between("", Some(old), Some(new));
            change.hunks.into_iter().map(|hunk| hunk.lines).collect()
        }
        Display::Text { .. } => return None,
    })
}

/// A block of code whose fence is longer than any in the text.
fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!(
        "{fence}{language}\n{}\n{fence}\n",
        text.trim_end_matches('\n')
    )
}

fn code_span(text: &str) -> String {
    let fence = "`".repeat(longest_run(text) + 1);
    format!("{fence}{text}{fence}")
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_in_the_text() {
        assert_eq!(fenced("", "a\n```\nb\n"), "````\na\n```\nb\n````\n");
        assert_eq!(fenced("json", "{}"), "```json\n{}\n```\n");
        assert_eq!(code_span("a`b"), "``a`b``");
    }
}
