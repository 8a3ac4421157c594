//! `/why`: how the last reply of the reply flow came about, as a table.

use std::fmt::Write as _;
use std::time::Duration;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::base::text::{capitalize, clip, plural};
use crate::reply::report::{ModelCall, ReplyReport};

/// Characters of the user's message that are repeated.
const MAX_QUERY_CHARS: usize = 120;
/// Characters of what came of a stage.
const MAX_NOTE_CHARS: usize = 200;
/// Columns of a line, so that it fits into a terminal of 80 with what the interface puts beside it.
const MAX_COLUMNS: usize = 74;

pub(super) fn table(report: &ReplyReport) -> String {
    let mut out = format!(
        "{}\n{} in {}, with {}.\n",
        wrapped("", &format!("\"{}\"", clip(&report.query, MAX_QUERY_CHARS))),
        capitalize(report.end.words()),
        time(report.took),
        plural(report.calls.len(), "model call")
    );
    let rows: Vec<[String; 4]> = report
        .stages
        .iter()
        .map(|stage| {
            let calls = report.calls.iter();
            let calls = calls.filter(|call| label(call.stage) == label(stage.name));
            [
                label(stage.name),
                time(stage.took),
                calls_words(calls),
                clip(&stage.note, MAX_NOTE_CHARS),
            ]
        })
        // Without a request and without a result it did not run.
        .filter(|[_, _, called, note]| !called.is_empty() || !note.is_empty())
        .chain(unlisted(report))
        .collect();
    if !rows.is_empty() {
        let width = |column: usize, heading: &str| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max();
            widest.unwrap_or_default().max(heading.len())
        };
        let (stage, took, calls) = (width(0, "Stage"), width(1, "Time"), width(2, "Calls"));
        let _ = writeln!(
            out,
            "\n{:<stage$}  {:>took$}  {:<calls$}  Result",
            "Stage", "Time", "Calls"
        );
        for [name, time, called, note] in &rows {
            let row = format!("{name:<stage$}  {time:>took$}  {called:<calls$}  ");
            let _ = writeln!(out, "{}", wrapped(&row, note).trim_end());
        }
    }
    let shown = match report.tools_by.as_str() {
        "" => "Tools shown".to_owned(),
        by => format!("Tools shown ({by})"),
    };
    list(&mut out, &shown, &report.tools.join(", "));
    list(&mut out, "Tools run", &report.ran.join(", "));
    lines(&mut out, "Plan", &report.plan);
    lines(&mut out, "Memory used", &report.memory);
    out
}

/// The calls of stages that are part of another one, such as the digests within the loop.
fn unlisted(report: &ReplyReport) -> Vec<[String; 4]> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    for call in &report.calls {
        let name = label(call.stage);
        let mut stages = report.stages.iter();
        let is_listed = stages.any(|stage| label(stage.name) == name);
        if is_listed || rows.iter().any(|row| row.first() == Some(&name)) {
            continue;
        }
        let same = || {
            report
                .calls
                .iter()
                .filter(|other| other.stage == call.stage)
        };
        rows.push([
            name,
            time(same().map(|call| call.took).sum()),
            calls_words(same()),
            String::new(),
        ]);
    }
    rows
}

/// `2`, or `2 (1 failed)`.
fn calls_words<'a>(calls: impl Iterator<Item = &'a ModelCall>) -> String {
    let (mut count, mut failed) = (0, 0);
    for call in calls {
        count += 1;
        failed += usize::from(call.failed);
    }
    match (count, failed) {
        (0, _) => String::new(),
        (_, 0) => count.to_string(),
        _ => format!("{count} ({failed} failed)"),
    }
}

fn list(out: &mut String, heading: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "\n{}", wrapped(&format!("{heading}: "), text));
    }
}

fn lines(out: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{heading}:");
    for (index, line) in lines.iter().enumerate() {
        let _ = writeln!(out, "{}", wrapped(&format!("  {}. ", index + 1), line));
    }
}

/// `text` behind `lead`, in lines of [`MAX_COLUMNS`]; those after the first begin below the text. A word that is wider than a line is broken.
fn wrapped(lead: &str, text: &str) -> String {
    let indent = lead.width().min(MAX_COLUMNS / 2);
    let mut out = lead.to_owned();
    let mut column = lead.width();
    let mut is_first = true;
    for word in text.split_whitespace() {
        let fits = column + usize::from(!is_first) + word.width() <= MAX_COLUMNS;
        if is_first {
            is_first = false;
        } else if fits {
            out.push(' ');
            column += 1;
        } else {
            new_line(&mut out, &mut column, indent);
        }
        for char in word.chars() {
            let width = char.width().unwrap_or_default();
            if column + width > MAX_COLUMNS {
                new_line(&mut out, &mut column, indent);
            }
            out.push(char);
            column += width;
        }
    }
    out
}

fn new_line(out: &mut String, column: &mut usize, indent: usize) {
    out.truncate(out.trim_end_matches(' ').len());
    out.push('\n');
    out.push_str(&" ".repeat(indent));
    *column = indent;
}

fn label(stage: &str) -> String {
    stage.replace('_', " ")
}

/// In milliseconds where tenths of a second say nothing.
fn time(took: Duration) -> String {
    let milliseconds = took.as_secs_f64() * 1_000.0;
    match milliseconds {
        ..9.95 => format!("{milliseconds:.1} ms"),
        ..999.5 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::models::stage::Stage;
    use crate::reply::report::{ReplyOutcome, StageReport};

    #[test]
    fn a_reply_is_told_stage_by_stage() {
        let stage = |name, took, note: &str| StageReport {
            name,
            took: Duration::from_millis(took),
            note: note.to_owned(),
        };
        let call = |stage: Stage, took, failed| ModelCall {
            stage: stage.id(),
            took: Duration::from_millis(took),
            failed,
        };
        let report = ReplyReport {
            query: "how far is 26 miles".to_owned(),
            took: Duration::from_millis(2_345),
            stages: vec![
                stage("router", 600, "convert_units"),
                stage("planner", 0, ""),
                stage("memory", 0, "not asked for"),
            ],
            calls: vec![
                call(Stage::Router, 600, false),
                call(Stage::Chat, 900, true),
                call(Stage::Chat, 800, false),
            ],
            tools_by: "llm".to_owned(),
            tools: vec!["convert_units".to_owned(), "stop".to_owned()],
            plan: vec!["convert_units value='26'".to_owned()],
            memory: Vec::new(),
            ran: vec!["convert_units".to_owned()],
            end: ReplyOutcome::Answered,
        };
        assert_eq!(
            table(&report),
            "\"how far is 26 miles\"\n\
             Answered in 2.3 s, with 3 model calls.\n\
             \n\
             Stage     Time  Calls         Result\n\
             router  600 ms  1             convert_units\n\
             memory  0.0 ms                not asked for\n\
             chat     1.7 s  2 (1 failed)\n\
             \n\
             Tools shown (llm): convert_units, stop\n\
             \n\
             Tools run: convert_units\n\
             \n\
             Plan:\n\
             \x20 1. convert_units value='26'\n"
        );
        assert!(table(&ReplyReport::default()).contains("0 model calls"));
    }

    #[test]
    fn long_plans_and_results_fit_into_eighty_columns() {
        let step = "web_search query='the director of the film about the harbor of glass'";
        let report = ReplyReport {
            query: "who made it ".repeat(20),
            stages: vec![StageReport {
                name: "planner",
                took: Duration::from_millis(900),
                note: [step, step, "Reply to the user."].join(" | "),
            }],
            tools_by: "llm".to_owned(),
            tools: (0..24).map(|n| format!("tool_number_{n}")).collect(),
            plan: vec![step.repeat(2), "写一封很长的信".repeat(30)],
            memory: vec![format!(
                "[2026-03-01] {}",
                "The user likes long films. ".repeat(9)
            )],
            ..ReplyReport::default()
        };
        let table = table(&report);
        for line in table.lines() {
            assert!(
                line.width() <= MAX_COLUMNS && line == line.trim_end(),
                "{line:?}"
            );
        }
        let joined = table.split_whitespace().collect::<String>();
        for whole in [
            step.repeat(2),
            "写一封很长的信".repeat(30),
            "tool_number_23".to_owned(),
        ] {
            assert!(
                joined.contains(&whole.split_whitespace().collect::<String>()),
                "{table}"
            );
        }
        // What goes on is below what it belongs to.
        let plan: Vec<&str> = table.lines().skip_while(|line| *line != "Plan:").collect();
        assert!(plan[1].starts_with("  1. web_search query='the"), "{table}");
        assert!(
            plan[2].starts_with("     ") && !plan[2].starts_with("      "),
            "{table}"
        );
        assert_eq!(wrapped("", ""), "");
        assert_eq!(wrapped("a: ", " "), "a: ");
    }
}
