//! A tool call on the screen: one line with what matters, the change it made, and its whole result when unfolded.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::sheet::{LONG, Sheet, running, spinner, took, two_ends};
use crate::base::params::{Field, Type};
use crate::chat::event::{CallEnd, CallState};
use crate::chat::message::ToolCall;
use crate::disk::beneath::Root;
use crate::tools::engine::arguments::{Args, understand};
use crate::tools::engine::registry;
use crate::ui::keys::{self, Action};
use crate::ui::text::clean::{clean, clean_line};
use crate::ui::text::diff::{self, Frame};
use crate::ui::text::width;
use crate::ui::text::wrap::{self, Hang};

/// Rows of a change that are shown while it is folded, and when it is unfolded.
const DIFF_ROWS: usize = 40;
const DIFF_ROWS_UNFOLDED: usize = 20_000;
const RESULT_LINES: usize = 400;
/// Bytes of arguments that are looked into.
const MAX_ARGS_BYTES: usize = 8 << 20;
/// Characters of each argument on the line.
const ARG: usize = 120;
/// Columns from which the line has room for the services that answered.
const ROOM_FOR_SERVICES: usize = 60;
/// Largest file in which an edit is looked for.
const FILE: u64 = 1 << 20;
/// Lines around an edit that are shown, and that which may be cut off by its first and last line.
const CONTEXT: usize = 3;

/// A tool call.
#[derive(Debug, Clone)]
pub(super) struct Call {
    id: String,
    name: String,
    /// The arguments that matter, on one line.
    about: String,
    change: Option<Change>,
    timer: Timer,
    end: Option<End>,
    /// Outside services that answered it.
    pub(super) answered_by: String,
    /// Its progress message.
    pub(super) progress: String,
    pub(super) unfolded: bool,
}

/// How long a call has run, without the time it waited for the user.
#[derive(Debug, Clone, Default)]
struct Timer {
    /// When it began; calls of a round may wait for each other.
    since: Option<Instant>,
    /// Since when it has waited for the user.
    waiting: Option<Instant>,
    waited: Duration,
}

impl Timer {
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

#[derive(Debug, Clone)]
struct End {
    how: CallEnd,
    took: Duration,
    /// Cleaned.
    text: String,
}

/// A file edit.
#[derive(Debug, Clone)]
enum Change {
    Between {
        /// The file that is edited.
        path: String,
        old: String,
        new: String,
        place: Place,
    },
    Patch(String),
}

/// The position of an edit in its file.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Its first line has this number.
    Line(usize),
    /// Wherever the new text is found, if it is found once.
    Within,
    /// At the end.
    End,
    /// Unknown.
    Unknown,
}

impl Call {
    pub(super) fn new(call: &ToolCall) -> Self {
        let arguments = Arguments::of(call);
        Self {
            id: call.id.clone(),
            name: clean_line(&call.name),
            about: arguments.about(),
            change: arguments.change(),
            timer: Timer::default(),
            end: None,
            answered_by: String::new(),
            progress: String::new(),
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

    /// The call has ended; with `root` an edit is shown with its position in its file.
    pub(super) fn finish(&mut self, how: CallEnd, took: Duration, text: &str, root: Option<&Root>) {
        if let (CallEnd::Success, Some(root), Some(change)) = (how, root, &mut self.change) {
            place(change, root);
        }
        self.end = Some(End {
            how,
            took,
            text: clean(text).into_owned(),
        });
    }
}

/// The arguments of a call, understood as the tool itself understands them.
struct Arguments<'a> {
    call: &'a ToolCall,
    fields: &'static [Field],
    args: Option<Args>,
}

impl<'a> Arguments<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let tool = registry::named(&call.name);
        let args = if call.args.len() > MAX_ARGS_BYTES {
            None
        } else if let Some(tool) = tool {
            understand(tool, &call.args).ok()
        } else {
            serde_json::from_str(&call.args).ok().map(Args::Named)
        };
        Self {
            call,
            fields: tool.map_or(&[][..], |tool| tool.fields),
            args,
        }
    }

    /// An argument under its published name or another that the tool takes.
    fn value(&self, name: &str) -> Option<&Value> {
        let Some(Args::Named(map)) = &self.args else {
            return None;
        };
        let field = self.fields.iter().find(|field| field.name == name);
        let others = field.map_or(&[][..], |field| field.aliases);
        std::iter::once(&name)
            .chain(others)
            .find_map(|name| map.get(*name))
    }

    fn text(&self, name: &str) -> Option<String> {
        let text = self.value(name)?.as_str()?;
        Some(clean(text).into_owned())
    }

    fn flag(&self, name: &str) -> bool {
        let value = self.value(name);
        value.is_some_and(|value| value == &Value::Bool(true) || value.as_str() == Some("true"))
    }

    /// The arguments worth showing: the required ones first, then the others, shortened.
    fn about(&self) -> String {
        let map = match &self.args {
            Some(Args::Named(map)) => map,
            Some(Args::Whole(patch)) => return clean_line(&files_of(patch)),
            None => return clean_line(crate::base::text::head(&self.call.args, ARG)),
        };
        let field = |key: &str| {
            let mut fields = self.fields.iter().enumerate();
            fields.find(|(_, field)| field.name == key || field.aliases.contains(&key))
        };
        let mut given: Vec<Given<'_>> = map
            .iter()
            .map(|(key, value)| {
                let field = field(key);
                let name = field.map_or(key.as_str(), |(_, field)| field.name);
                Given { name, field, value }
            })
            .collect();
        // Required ones in published order, the others as given.
        given.sort_by_key(|given| match given.field {
            Some((at, field)) if field.required => at,
            _ => usize::MAX,
        });
        let mut words = Vec::new();
        for Given { name, field, value } in given {
            if written_by(&self.call.name).contains(&name) || value.is_null() {
                continue;
            }
            let text = match value {
                Value::String(text) => crate::base::text::head(text, ARG).to_owned(),
                other => crate::base::text::head(&other.to_string(), ARG).to_owned(),
            };
            // A word explains itself; a number or a boolean does not.
            let clear = match field {
                Some((_, field)) => {
                    field.required || matches!(field.kind, Type::Text | Type::Choice(_))
                }
                None => value.is_string(),
            };
            let said = if clear {
                text
            } else {
                format!("{name}={text}")
            };
            words.push(clean_line(&said));
            if words.len() == 3 {
                break;
            }
        }
        words.join(" ")
    }

    /// The file change of an edit call.
    fn change(&self) -> Option<Change> {
        if let Some(Args::Whole(patch)) = &self.args {
            return Some(Change::Patch(clean(patch).into_owned()));
        }
        let path = self
            .value("path")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let between = |old, new, place| Change::Between {
            path,
            old,
            new,
            place,
        };
        match self.call.name.as_str() {
            "create_file" => Some(between(
                String::new(),
                self.text("content")?,
                Place::Line(1),
            )),
            "append_file" => Some(between(String::new(), self.text("content")?, Place::End)),
            "apply_patch" => Some(between(
                self.text("old_str")?,
                self.text("new_str").unwrap_or_default(),
                Place::Within,
            )),
            "file_apply_patch" if !self.flag("dry_run") => self.text("patch").map(Change::Patch),
            // The note's path is not below the working directory.
            "write_note" if self.flag("append") => Some(between(
                String::new(),
                self.text("content")?,
                Place::Unknown,
            )),
            _ => None,
        }
    }
}

/// An argument that was given.
struct Given<'a> {
    /// Its published name.
    name: &'a str,
    /// Its declaration, and its index among the others.
    field: Option<(usize, &'static Field)>,
    value: &'a Value,
}

/// Arguments that are shown as a change, below the line.
fn written_by(tool: &str) -> &'static [&'static str] {
    match tool {
        "create_file" | "append_file" | "write_note" => &["content"],
        "apply_patch" => &["old_str", "new_str"],
        "file_apply_patch" => &["patch"],
        _ => &[],
    }
}

/// The files that a patch names.
fn files_of(patch: &str) -> String {
    const MARKS: [&str; 4] = [
        "*** Update File: ",
        "*** Add File: ",
        "*** Delete File: ",
        "+++ ",
    ];
    let mut files: Vec<&str> = Vec::new();
    for line in patch.lines() {
        let file = MARKS.iter().find_map(|mark| line.strip_prefix(mark));
        if let Some(file) = file.map(|file| file.strip_prefix("b/").unwrap_or(file).trim())
            && !files.contains(&file)
        {
            files.push(file);
        }
    }
    files.join(" ")
}

/// Finds an edit in its file as it is now, and takes the lines around it along.
fn place(change: &mut Change, root: &Root) {
    let Change::Between {
        path,
        old,
        new,
        place: place @ (Place::Within | Place::End),
    } = change
    else {
        return;
    };
    let read = root.check(path).and_then(|rel| root.read(&rel, FILE));
    let Ok(bytes) = read else { return };
    let file = clean(&String::from_utf8_lossy(&bytes)).into_owned();
    let found = match place {
        Place::End => file.strip_suffix(new.as_str()).map(|before| (before, "")),
        // Twice: it is unknown which of them is the new one.
        _ => file
            .split_once(new.as_str())
            .filter(|(_, after)| !after.contains(new.as_str())),
    };
    let Some((before, after)) = found.filter(|_| !new.is_empty()) else {
        return;
    };
    let starts: Vec<usize> = before.match_indices('\n').map(|(at, _)| at + 1).collect();
    let lead = starts
        .len()
        .checked_sub(CONTEXT)
        .map_or(0, |at| starts.get(at).copied().unwrap_or(0));
    let lead = before.get(lead..).unwrap_or_default();
    let trail: String = after.split_inclusive('\n').take(CONTEXT).collect();
    *place = Place::Line(starts.len() + 1 - lead.matches('\n').count());
    *old = format!("{lead}{old}{trail}");
    *new = format!("{lead}{new}{trail}");
}

/// The rows of a call.
pub(super) fn rows(call: &Call, sheet: Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let changed = call
        .end
        .as_ref()
        .filter(|end| end.how == CallEnd::Success)
        .and_then(|_| drawn(call, sheet));
    let left = format!("🔧 {}  {}", call.name, call.about);
    let (right, style): (String, Style) = match (&call.end, &changed) {
        (None, _) => unfinished(call, sheet),
        (Some(_), Some(drawn)) => (format!("+{} −{}", drawn.added, drawn.removed), theme.dim),
        (Some(end), None) => ended(end, &call.answered_by, sheet),
    };
    let mut rows = vec![two_ends((&left, theme.tool), (&right, style), sheet.width)];
    rows.extend(changed.into_iter().flat_map(|drawn| drawn.lines));
    if let Some(end) = &call.end {
        if call.unfolded {
            rows.extend(result(&end.text, sheet));
        } else if end.how == CallEnd::Failure {
            let line = end.text.lines().next().unwrap_or_default().to_owned();
            rows.extend(wrap::words(
                &[Span::styled(line, theme.error)],
                sheet.width,
                &Hang::blanks(3),
            ));
        }
    }
    rows
}

/// The end of the line of a call that has not ended.
fn unfinished(call: &Call, sheet: Sheet<'_>) -> (String, Style) {
    let theme = sheet.theme;
    let timer = &call.timer;
    let Some(since) = timer.since else {
        return ("queued".to_owned(), theme.dim);
    };
    if timer.waiting.is_some() {
        return ("waiting for you".to_owned(), theme.accent);
    }
    let time = sheet
        .now
        .saturating_duration_since(since)
        .saturating_sub(timer.waited);
    let hint = if time >= LONG { "  Esc to stop" } else { "" };
    let progress = match call.progress.as_str() {
        "" => String::new(),
        words => format!("{words}  "),
    };
    let spinner = spinner(since, sheet.now);
    (
        format!("{progress}{spinner} {}{hint}", running(time)),
        theme.accent,
    )
}

/// The end of the line of a call that has ended.
fn ended(end: &End, answered_by: &str, sheet: Sheet<'_>) -> (String, Style) {
    let took = took(end.took);
    let words = match end.how {
        CallEnd::Success if !answered_by.is_empty() && sheet.width >= ROOM_FOR_SERVICES => {
            let services = width::clip(answered_by, sheet.width / 3);
            return (format!("✓ {services} {took}"), sheet.theme.dim);
        }
        CallEnd::Success => return (format!("✓ {took}"), sheet.theme.dim),
        CallEnd::ExitCode(code) => format!("✗ exit {code} {took}"),
        CallEnd::Signal(signal) => format!("✗ signal {signal} {took}"),
        CallEnd::Timeout => format!("✗ timeout {took}"),
        CallEnd::Failure => format!("✗ failed {took}"),
        // It did not run to its end, so the time means nothing.
        CallEnd::Declined => "✗ declined".to_owned(),
        CallEnd::Stopped => "✗ stopped".to_owned(),
    };
    (words, sheet.theme.error)
}

fn drawn(call: &Call, sheet: Sheet<'_>) -> Option<diff::Drawn> {
    let key = keys::name(Action::UnfoldAll).unwrap_or_default();
    let hint = format!(", {key} unfolds");
    let frame = Frame {
        width: sheet.width,
        rows: if call.unfolded {
            DIFF_ROWS_UNFOLDED
        } else {
            DIFF_ROWS
        },
        hint: &hint,
        theme: sheet.theme,
    };
    match call.change.as_ref()? {
        Change::Between {
            old, new, place, ..
        } => {
            let first = match place {
                Place::Line(first) => Some(*first),
                Place::Within | Place::End | Place::Unknown => None,
            };
            Some(diff::between(old, new, first, frame))
        }
        Change::Patch(text) => Some(diff::patch(text, frame)),
    }
}

/// The result as given to the model, truncated.
fn result(text: &str, sheet: Sheet<'_>) -> Vec<Line<'static>> {
    let dim = sheet.theme.dim;
    let mut rows: Vec<Line<'static>> = text
        .lines()
        .take(RESULT_LINES)
        .flat_map(|line| {
            let shown = crate::base::text::head(line, 4_000).to_owned();
            wrap::hard(&[Span::styled(shown, dim)], sheet.width, &Hang::blanks(3))
        })
        .collect();
    let more = text.lines().count().saturating_sub(RESULT_LINES);
    if more > 0 {
        let more = crate::base::text::plural(more, "more line");
        rows.push(Line::styled(format!("   … {more}"), dim));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::{ColorMode, Theme};

    fn call(name: &str, args: &str) -> Call {
        let call = ToolCall {
            id: "1".to_owned(),
            name: name.to_owned(),
            args: args.to_owned(),
            keep: None,
        };
        Call::new(&call)
    }

    /// The rows eleven seconds after `since`.
    fn text_at(call: &Call, width: usize, since: Instant) -> Vec<String> {
        let theme = Theme::new(ColorMode::None);
        let sheet = Sheet {
            width,
            theme: &theme,
            now: since + Duration::from_secs(11),
        };
        rows(call, sheet).iter().map(ToString::to_string).collect()
    }

    fn text(call: &Call, width: usize) -> Vec<String> {
        text_at(call, width, Instant::now())
    }

    /// The rows of an edit that was made.
    fn made(name: &str, args: &str) -> Vec<String> {
        let mut edit = call(name, args);
        edit.finish(CallEnd::Success, Duration::ZERO, "ok", None);
        text(&edit, 60)
    }

    #[test]
    fn one_line_says_what_matters() {
        let mut grep = call(
            "code_grep",
            r#"{"context_lines": 3, "pattern": "retry\n", "glob_filter": "*.rs"}"#,
        );
        let began = Instant::now();
        assert!(text_at(&grep, 60, began)[0].ends_with(" queued"));
        grep.set_state(CallState::Running, began);
        let rows = text_at(&grep, 60, began);
        assert!(rows[0].starts_with("🔧 code_grep  retry"), "{rows:?}");
        assert!(rows[0].ends_with("11s  Esc to stop"));
        grep.finish(CallEnd::Success, Duration::from_millis(100), "a\nb", None);
        assert_eq!(text(&grep, 60).len(), 1);
        assert!(text(&grep, 60)[0].ends_with("✓ 0.1s"));
        grep.unfolded = true;
        assert_eq!(text(&grep, 60)[1..], ["   a", "   b"]);
        let note = r#"{"append": "true", "content": "milk", "path": "inbox.md"}"#;
        let rows = text(&call("write_note", note), 60);
        assert!(rows[0].contains("write_note  inbox.md append=true "));
    }

    #[test]
    fn the_seconds_of_a_call_do_not_count_the_wait_for_the_user() {
        let mut run = call("run_command", r#"{"command": "make"}"#);
        let began = Instant::now();
        let second = |n| began + Duration::from_secs(n);
        run.set_state(CallState::Running, began);
        run.set_state(CallState::Waiting, second(1));
        assert!(text_at(&run, 60, began)[0].ends_with(" waiting for you"));
        run.set_state(CallState::Running, second(9));
        // Eleven seconds, of which it waited eight.
        assert!(text_at(&run, 60, began)[0].ends_with(" 3s"));
    }

    #[test]
    fn the_line_says_how_a_call_ended() {
        for (how, wanted) in [
            (CallEnd::Success, "✓ 2.0s"),
            (CallEnd::ExitCode(3), "✗ exit 3 2.0s"),
            (CallEnd::Signal(9), "✗ signal 9 2.0s"),
            (CallEnd::Timeout, "✗ timeout 2.0s"),
            (CallEnd::Failure, "✗ failed 2.0s"),
            (CallEnd::Declined, "✗ declined"),
            (CallEnd::Stopped, "✗ stopped"),
        ] {
            let mut run = call("run_command", r#"{"command": "make"}"#);
            run.finish(how, Duration::from_secs(2), "Error: why\nmore", None);
            let rows = text(&run, 60);
            assert!(rows[0].ends_with(wanted), "{rows:?}");
            let why = rows.iter().any(|row| row.contains("Error: why"));
            assert_eq!(why, how == CallEnd::Failure);
        }
    }

    #[test]
    fn edits_are_drawn_by_every_name_of_their_arguments() {
        for args in [
            r#"{"path": "a.rs", "old_str": "one\n", "new_str": "two\nthree\n"}"#,
            r#"{"path": "a.rs", "old_string": "one\n", "new_string": "two\nthree\n"}"#,
            r#"{"input": "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n+three\n*** End Patch\n"}"#,
            "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n+three\n*** End Patch\n",
        ] {
            let rows = made("apply_patch", args);
            assert!(rows[0].starts_with("🔧 apply_patch  a.rs "), "{rows:?}");
            assert!(rows[0].ends_with("+2 −1"), "{rows:?}");
            assert!(rows.iter().any(|row| row.contains("three")), "{rows:?}");
            assert!(!rows.iter().any(|row| row.contains('{')), "{rows:?}");
        }
        let rows = made("apply_patch", r#"{"path": "a.rs", "old_str": "one\n"}"#);
        assert!(rows[0].ends_with("+0 −1"), "{rows:?}");
        let rows = made("append_file", r#"{"path": "a.rs", "content": "x\ny\n"}"#);
        assert!(rows[0].ends_with("+2 −0"), "{rows:?}");
        let patch = r#"{"path": "n.md", "patch": "@@ -1 +1 @@\n-a\n+b\n"}"#;
        let rows = made("file_apply_patch", patch);
        assert!(rows[0].ends_with("+1 −1"), "{rows:?}");
        let rows = made(
            "file_apply_patch",
            &patch.replace('}', r#", "dry_run": true}"#),
        );
        assert!(rows[0].contains("✓"), "nothing was changed: {rows:?}");
    }

    #[test]
    fn an_edit_that_failed_shows_why_and_no_change() {
        let mut edit = call(
            "apply_patch",
            r#"{"path": "a.rs", "old_str": "one\n", "new_str": "two\nthree\n"}"#,
        );
        let why = "Error: no such text\nmore";
        edit.finish(CallEnd::Failure, Duration::ZERO, why, None);
        let rows = text(&edit, 50);
        assert!(rows[1].contains("Error: no such text") && rows.len() == 2);
    }

    #[test]
    fn a_long_new_file_says_how_to_see_the_rest_and_unfolds_whole() {
        let lines: String = (1..=200).map(|n| format!("line {n}\\n")).collect();
        let args = format!(r#"{{"path": "new.txt", "content": "{lines}"}}"#);
        let mut edit = call("create_file", &args);
        edit.finish(CallEnd::Success, Duration::ZERO, "Created new.txt.", None);
        let folded = text(&edit, 60);
        assert_eq!(folded.len(), 41);
        assert_eq!(folded[40], "… 161 more lines, Ctrl-O unfolds");
        edit.unfolded = true;
        let whole = text(&edit, 60);
        assert_eq!(whole.len(), 202, "the line, the file, the result");
        assert_eq!(whole[200], "+ 200  line 200");
    }
}
