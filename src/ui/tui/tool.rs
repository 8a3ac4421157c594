//! A tool call on the screen: one line with its key facts, the change it made, and its whole result when expanded.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout_context::{CANCEL_HINT, LayoutContext, format_running, spinner, two_ends};
use crate::base::text::{head, plural};
use crate::chat::event::CallState;
use crate::chat::message::ToolCall;
use crate::tools::engine::registry::Registry;
use crate::ui::keys::{self, Action};
use crate::ui::text::clean::clean_line;
use crate::ui::text::diff::{self, DiffFrame};
use crate::ui::text::width;
use crate::ui::text::wrap::{self, HangingIndent};
use crate::ui::tool_call::{CallHeading, CallOutcome, DIFF_ROWS, Excerpt};

/// Rows of a change that are shown when it is expanded.
const DIFF_ROWS_UNFOLDED: usize = 20_000;
const RESULT_LINES: usize = 400;

#[derive(Debug, Clone)]
pub(super) struct ToolCallCell {
    id: String,
    heading: CallHeading,
    timer: CallTimer,
    end: Option<CallOutcome>,
    /// The latest progress message of the tool.
    pub(super) progress: String,
    /// The last lines of the program that it runs, cleaned.
    output: Vec<String>,
    pub(super) unfolded: bool,
}

/// How long a call has run, without the time that it waited for the user.
#[derive(Debug, Clone, Default)]
struct CallTimer {
    /// When it started; calls of a round may wait for each other.
    since: Option<Instant>,
    /// Since when it has been waiting for the user.
    waiting: Option<Instant>,
    waited: Duration,
}

impl CallTimer {
    fn set(&mut self, state: CallState, now: Instant) {
        self.since.get_or_insert(now);
        match state {
            CallState::Running => {
                if let Some(since) = self.waiting.take() {
                    self.waited += now.saturating_duration_since(since);
                }
            }
            CallState::Waiting => {
                self.waiting.get_or_insert(now);
            }
        }
    }
}

impl ToolCallCell {
    pub(super) fn new(call: &ToolCall, registry: &Registry) -> Self {
        Self {
            id: call.id.clone(),
            heading: CallHeading::of(call, registry),
            timer: CallTimer::default(),
            end: None,
            progress: String::new(),
            output: Vec::new(),
            unfolded: false,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn runs(&self) -> bool {
        self.end.is_none()
    }

    /// The call starts, waits for the user, or continues.
    pub(super) fn set_state(&mut self, state: CallState, now: Instant) {
        self.timer.set(state, now);
    }

    /// It runs with other arguments.
    pub(super) fn change(&mut self, args: &str, registry: &Registry) {
        self.heading.change(args, registry);
    }

    /// The program that it runs has written these last lines.
    pub(super) fn set_output(&mut self, lines: &str) {
        self.output = lines.lines().map(clean_line).collect();
    }

    /// The call has ended.
    pub(super) fn finish(&mut self, outcome: CallOutcome) {
        self.output.clear();
        self.end = Some(outcome);
    }
}

pub(super) fn rows(call: &ToolCallCell, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    let theme = layout_ctx.theme;
    let changed = call
        .end
        .as_ref()
        .and_then(|end| drawn(end, call.unfolded, layout_ctx));
    let left = format!("🔧 {}", call.heading.line());
    let (right, style): (String, Style) = match (&call.end, &changed) {
        (None, _) => unfinished(call, layout_ctx),
        (Some(_), Some(drawn)) => (format!("+{} −{}", drawn.added, drawn.removed), theme.dim),
        (Some(end), None) => finished(end, layout_ctx),
    };
    let (left, right) = ((left.as_str(), theme.tool), (right.as_str(), style));
    let mut rows = vec![two_ends(left, right, layout_ctx.width)];
    let room = layout_ctx.width.saturating_sub(width::of(right.0) + 1);
    if call.unfolded && width::of(left.0) > room {
        let whole = call.heading.key_arguments.as_str();
        rows.extend(wrap::text(whole, theme.tool, layout_ctx.width, 3));
    }
    rows.extend(live_rows(&call.output, layout_ctx));
    rows.extend(changed.into_iter().flat_map(|drawn| drawn.lines));
    if let Some(end) = &call.end {
        if call.unfolded {
            rows.extend(result(&end.text, layout_ctx));
        } else {
            rows.extend(excerpt(end, layout_ctx));
        }
    }
    rows
}

/// What is shown of a folded result.
fn excerpt(end: &CallOutcome, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    match end.excerpt() {
        Excerpt::Nothing => Vec::new(),
        Excerpt::Reason(line) => wrap::text(line, layout_ctx.theme.error, layout_ctx.width, 3),
        Excerpt::LastWords { hidden, lines } => {
            let mut rows = Vec::new();
            if hidden > 0 {
                let key = keys::name(Action::UnfoldAll).unwrap_or_default();
                let words = format!("   … {}, {key} unfolds", plural(hidden, "more line"));
                rows.push(Line::styled(
                    width::clip(&words, layout_ctx.width),
                    layout_ctx.theme.dim,
                ));
            }
            rows.extend(live_rows(lines, layout_ctx));
            rows
        }
    }
}

/// The last lines of something that runs, one row each.
pub(super) fn live_rows(
    lines: impl IntoIterator<Item = impl AsRef<str>>,
    layout_ctx: LayoutContext<'_>,
) -> impl Iterator<Item = Line<'static>> {
    lines.into_iter().map(move |line| {
        let text = width::clip(&format!("   {}", line.as_ref()), layout_ctx.width);
        Line::styled(text, layout_ctx.theme.dim)
    })
}

/// The end of the line of an unfinished call.
fn unfinished(call: &ToolCallCell, layout_ctx: LayoutContext<'_>) -> (String, Style) {
    let theme = layout_ctx.theme;
    let timer = &call.timer;
    let Some(since) = timer.since else {
        return ("queued".to_owned(), theme.dim);
    };
    if timer.waiting.is_some() {
        return ("waiting for you".to_owned(), theme.accent);
    }
    let time = layout_ctx
        .now
        .saturating_duration_since(since)
        .saturating_sub(timer.waited);
    let progress = match call.progress.as_str() {
        "" => String::new(),
        words => format!("{words}  "),
    };
    let spinner = spinner(since, layout_ctx.now);
    (
        format!(
            "{progress}{spinner} {}  {CANCEL_HINT}",
            format_running(time)
        ),
        theme.accent,
    )
}

fn finished(end: &CallOutcome, layout_ctx: LayoutContext<'_>) -> (String, Style) {
    let style = match end.is_failure() {
        true => layout_ctx.theme.error,
        false => layout_ctx.theme.dim,
    };
    (end.words(layout_ctx.width), style)
}

fn drawn(
    end: &CallOutcome,
    unfolded: bool,
    layout_ctx: LayoutContext<'_>,
) -> Option<diff::DrawnDiff> {
    let key = keys::name(Action::UnfoldAll).unwrap_or_default();
    let hint = format!(", {key} unfolds");
    let frame = DiffFrame {
        width: layout_ctx.width,
        rows: match unfolded {
            true => DIFF_ROWS_UNFOLDED,
            false => DIFF_ROWS,
        },
        hint: &hint,
        theme: layout_ctx.theme,
    };
    Some(diff::of_display(end.change()?, frame))
}

/// The result as the model got it, cut at a readable length.
fn result(text: &str, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    let dim = layout_ctx.theme.dim;
    let mut rows: Vec<Line<'static>> = text
        .lines()
        .take(RESULT_LINES)
        .flat_map(|line| {
            let shown = [Span::styled(head(line, 4_000), dim)];
            wrap::hard(&shown, layout_ctx.width, &HangingIndent::blanks(3))
        })
        .collect();
    let more = text.lines().count().saturating_sub(RESULT_LINES);
    if more > 0 {
        let more = plural(more, "more line");
        rows.push(Line::styled(format!("   … {more}"), dim));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::display::Display;
    use crate::chat::event::CallEnd;
    use crate::chat::message::ToolOutput;
    use crate::store::sessions::record::CallRecord;
    use crate::ui::text::theme::{ColorMode, Theme};

    fn call(name: &str, args: &str) -> ToolCallCell {
        let call = ToolCall::new("1", name, args);
        ToolCallCell::new(&call, &Registry::default())
    }

    fn ended(
        end: CallEnd,
        milliseconds: u64,
        text: &str,
        display: Option<&Display>,
    ) -> CallOutcome {
        let took = Duration::from_millis(milliseconds);
        CallOutcome::new(end, took, text, display.cloned())
    }

    /// The rows eleven seconds after `since`.
    fn text_at(call: &ToolCallCell, width: usize, since: Instant) -> Vec<String> {
        let theme = Theme::new(ColorMode::None);
        let layout_ctx = LayoutContext {
            width,
            theme: &theme,
            now: since + Duration::from_secs(11),
            shows_thinking: false,
        };
        let rows = rows(call, layout_ctx);
        rows.iter().map(ToString::to_string).collect()
    }

    fn text(call: &ToolCallCell, width: usize) -> Vec<String> {
        text_at(call, width, Instant::now())
    }

    fn finished_rows(name: &str, args: &str, display: Option<&Display>) -> Vec<String> {
        let mut edit = call(name, args);
        edit.finish(ended(CallEnd::Success, 0, "ok", display));
        text(&edit, 60)
    }

    fn diff(old: &str, new: &str) -> Display {
        Display::Diff {
            old: old.to_owned(),
            new: new.to_owned(),
            first_line: Some(1),
        }
    }

    #[test]
    fn the_line_shows_the_key_arguments() {
        let args = r#"{"context_lines": 3, "pattern": "retry\n", "glob_filter": "*.rs"}"#;
        let mut grep = call("code_grep", args);
        let start = Instant::now();
        assert!(text_at(&grep, 60, start)[0].ends_with(" queued"));
        grep.set_state(CallState::Running, start);
        let rows = text_at(&grep, 60, start);
        assert!(rows[0].starts_with("🔧 code_grep  retry"), "{rows:?}");
        assert!(rows[0].ends_with("11s  Esc to stop"));
        grep.finish(ended(CallEnd::Success, 100, "a\nb", None));
        assert_eq!(text(&grep, 60).len(), 1);
        assert!(text(&grep, 60)[0].ends_with("✓ 0.1s"));
        grep.unfolded = true;
        assert_eq!(text(&grep, 60)[1..], ["   a", "   b"]);
        let note = r#"{"append": "true", "content": "milk", "path": "inbox.md"}"#;
        let rows = text(&call("write_note", note), 60);
        assert!(rows[0].contains("write_note  inbox.md append=true "));
        let run = r#"{"command": "ls -l", "description": "list the files", "why": "so"}"#;
        let rows = text(&call("run_command", run), 80);
        let wanted = "run_command  ls -l description=\"list the files\" why=so ";
        assert!(rows[0].contains(wanted), "{rows:?}");
        let lamp = r#"{"room": "hall", "on": true}"#;
        let rows = text(&call("lamp_of_a_server", lamp), 60);
        let wanted = "lamp_of_a_server  hall on=true ";
        assert!(rows[0].contains(wanted), "{rows:?}");
    }

    #[test]
    fn the_duration_excludes_the_wait_for_the_user() {
        let mut run = call("run_command", r#"{"command": "make"}"#);
        let start = Instant::now();
        let second = |n| start + Duration::from_secs(n);
        run.set_state(CallState::Running, start);
        run.set_state(CallState::Waiting, second(1));
        assert!(text_at(&run, 60, start)[0].ends_with(" waiting for you"));
        run.set_state(CallState::Running, second(9));
        // Eleven seconds, of which it waited eight.
        assert!(text_at(&run, 60, start)[0].ends_with(" 3s  Esc to stop"));
    }

    #[test]
    fn the_line_shows_the_outcome() {
        for (outcome, wanted) in [
            (CallEnd::Success, "✓ 2.0s"),
            (CallEnd::ExitCode(3), "✗ exit 3 2.0s"),
            (CallEnd::Signal(9), "✗ signal 9 2.0s"),
            (CallEnd::Timeout, "✗ timeout 2.0s"),
            (CallEnd::Failure, "✗ failed 2.0s"),
            (CallEnd::Declined, "✗ declined"),
            (CallEnd::Stopped, "✗ stopped"),
        ] {
            let mut run = call("run_command", r#"{"command": "make"}"#);
            run.finish(ended(outcome, 2_000, "Error: why\nmore", None));
            let rows = text(&run, 60);
            assert!(rows[0].ends_with(wanted), "{rows:?}");
            let reason = rows.iter().any(|row| row.contains("Error: why"));
            let silent = [CallEnd::Success, CallEnd::Declined, CallEnd::Stopped];
            assert_eq!(reason, !silent.contains(&outcome), "{outcome:?}");
        }
    }

    #[test]
    fn a_past_call_says_only_what_is_known_of_it() {
        let output = |failed| ToolOutput {
            id: "1".to_owned(),
            name: "run_command".to_owned(),
            text: "Error: why".to_owned(),
            failed,
            images: Vec::new(),
        };
        let rows = |output: Option<ToolOutput>, record: Option<CallRecord>| {
            let mut run = call("run_command", r#"{"command": "make"}"#);
            run.finish(CallOutcome::past(output.as_ref(), record.as_ref()));
            let rows = text(&run, 60);
            let ending = rows[0].split("make").nth(1).unwrap().trim().to_owned();
            (ending, rows.len())
        };
        let record = |end| CallRecord {
            end,
            took_ms: 5_000,
            answered_by: Vec::new(),
            display: None,
        };
        let declined = rows(Some(output(true)), Some(record(CallEnd::Declined)));
        assert_eq!(declined, ("✗ declined".to_owned(), 1));
        let exit = rows(Some(output(false)), Some(record(CallEnd::ExitCode(3))));
        assert_eq!(exit, ("✗ exit 3 5.0s".to_owned(), 1));
        assert_eq!(rows(Some(output(false)), None), (String::new(), 1));
        assert_eq!(rows(Some(output(true)), None), ("✗".to_owned(), 2));
        assert_eq!(rows(None, None), ("no result".to_owned(), 1));
    }

    #[test]
    fn the_line_omits_what_the_display_shows() {
        let display = diff("one\n", "two\nthree\u{1b}[31m\n");
        for args in [
            r#"{"path": "a.rs", "old_str": "one\n", "new_str": "two\nthree\n"}"#,
            r#"{"path": "a.rs", "old_string": "one\n", "new_string": "two\nthree\n"}"#,
            r#"{"input": "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n+three\n*** End Patch\n"}"#,
            "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n+three\n*** End Patch\n",
        ] {
            let rows = finished_rows("apply_patch", args, Some(&display));
            assert!(rows[0].starts_with("🔧 apply_patch  a.rs "), "{rows:?}");
            assert!(rows[0].ends_with("+2 −1"), "{rows:?}");
            assert!(rows.iter().any(|row| row.contains("three")), "{rows:?}");
            assert!(!rows.iter().any(|row| row.contains('{')), "{rows:?}");
            assert!(!rows.concat().contains('\u{1b}'), "{rows:?}");
        }
        // Any tool may show a change, also an unknown one.
        let patch = Display::Patch {
            text: "@@ -1 +1 @@\n-a\n+b\n".to_owned(),
        };
        assert!(finished_rows("edit_lamp", "{}", Some(&patch))[0].ends_with("+1 −1"));
        let create = r#"{"path": "a", "content": "x"}"#;
        assert!(finished_rows("create_file", create, None)[0].contains("✓"));
    }

    #[test]
    fn a_failed_edit_shows_the_reason_and_no_diff() {
        let args = r#"{"path": "a.rs", "old_str": "one\n", "new_str": "two\nthree\n"}"#;
        let mut edit = call("apply_patch", args);
        let reason = "Error: no such text\nmore";
        let display = diff("one\n", "two\n");
        edit.finish(ended(CallEnd::Failure, 0, reason, Some(&display)));
        let rows = text(&edit, 50);
        assert!(rows[1].contains("Error: no such text") && rows.len() == 2);
    }

    #[test]
    fn a_long_new_file_has_a_hint_and_expands_fully() {
        let lines: String = (1..=200).map(|n| format!("line {n}\n")).collect();
        let mut edit = call("create_file", r#"{"path": "new.txt"}"#);
        let display = diff("", &lines);
        let text_of_result = "Created new.txt.";
        edit.finish(ended(CallEnd::Success, 0, text_of_result, Some(&display)));
        let folded = text(&edit, 60);
        assert_eq!(folded.len(), 41);
        assert_eq!(folded[29], "+  29  line 29");
        assert_eq!(folded[30], "… 161 more lines, Ctrl-O unfolds");
        assert_eq!(folded[40], "+ 200  line 200");
        edit.unfolded = true;
        let whole = text(&edit, 60);
        assert_eq!(whole.len(), 202, "the line, the file, the result");
        assert_eq!(whole[200], "+ 200  line 200");
    }
}
