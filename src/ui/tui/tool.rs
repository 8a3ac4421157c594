//! A tool call on the screen: one line with what matters, the change it made, and its whole result when unfolded.

use std::time::{Duration, Instant};

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::piece::{LONG, Sheet, running, spinner, took, two_ends};
use crate::chat::message::ToolCall;
use crate::disk::beneath::Root;
use crate::tools::registry;
use crate::ui::text::clean::{clean, clean_line};
use crate::ui::text::diff::{self, Frame};
use crate::ui::text::wrap::{self, Hang};

/// Rows of a change, and of an unfolded result, that are shown.
const DIFF_ROWS: usize = 40;
const RESULT_LINES: usize = 400;
/// Bytes of arguments that are looked into.
const ARGS: usize = 1 << 20;
/// Characters of each argument on the line.
const ARG: usize = 120;
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
    /// The file that is edited.
    path: String,
    since: Instant,
    end: Option<End>,
    /// How far it is, in its own words.
    pub(super) progress: String,
    pub(super) unfolded: bool,
}

#[derive(Debug, Clone)]
struct End {
    failed: bool,
    took: Duration,
    /// Cleaned.
    text: String,
}

/// What an edit changes.
#[derive(Debug, Clone)]
enum Change {
    Between {
        old: String,
        new: String,
        /// The number of the first line; unknown until the edit is found in its file.
        first: Option<usize>,
    },
    Patch(String),
}

impl Call {
    pub(super) fn new(call: &ToolCall, now: Instant) -> Self {
        let args: Option<Value> = (call.args.len() <= ARGS)
            .then(|| serde_json::from_str(&call.args).ok())
            .flatten();
        Self {
            id: call.id.clone(),
            name: clean_line(&call.name),
            about: about(call, args.as_ref()),
            change: change(call, args.as_ref()),
            path: text_of(args.as_ref(), "path")
                .unwrap_or_default()
                .to_owned(),
            since: now,
            end: None,
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

    /// The call has ended; with `root` an edit is shown where it stands in its file.
    pub(super) fn finish(&mut self, failed: bool, took: Duration, text: &str, root: Option<&Root>) {
        if let (false, Some(root), Some(change)) = (failed, root, &mut self.change) {
            place(change, &self.path, root);
        }
        self.end = Some(End {
            failed,
            took,
            text: clean(text).into_owned(),
        });
    }
}

/// The arguments that matter: the required ones first, then whatever else was given, short.
fn about(call: &ToolCall, args: Option<&Value>) -> String {
    let Some(Value::Object(map)) = args else {
        return clean_line(crate::base::text::head(&call.args, ARG));
    };
    let fields = registry::named(&call.name).map_or(&[][..], |tool| tool.fields);
    let required = fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.name);
    let mut names: Vec<&str> = required.collect();
    names.extend(map.keys().map(String::as_str).filter(|key| {
        !fields
            .iter()
            .any(|field| field.required && field.name == *key)
    }));
    let mut words = Vec::new();
    for name in names {
        // What an edit writes is shown as a change below.
        if matches!(name, "content" | "old_text" | "new_text" | "patch") {
            continue;
        }
        match map.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => words.push(clean_line(crate::base::text::head(text, ARG))),
            Some(other)
                if fields
                    .iter()
                    .any(|field| field.name == name && field.required) =>
            {
                words.push(clean_line(crate::base::text::head(&other.to_string(), ARG)));
            }
            Some(other) => words.push(clean_line(&format!(
                "{name}={}",
                crate::base::text::head(&other.to_string(), ARG)
            ))),
        }
        if words.len() == 3 {
            break;
        }
    }
    words.join(" ")
}

fn text_of<'a>(args: Option<&'a Value>, key: &str) -> Option<&'a str> {
    args?.get(key)?.as_str()
}

fn change(call: &ToolCall, args: Option<&Value>) -> Option<Change> {
    let text = |key: &str| text_of(args, key).map(|text| clean(text).into_owned());
    match call.name.as_str() {
        "create_file" => Some(Change::Between {
            old: String::new(),
            new: text("content")?,
            first: Some(1),
        }),
        "apply_patch" => Some(match (text("old_text"), text("new_text")) {
            (Some(old), Some(new)) => Change::Between {
                old,
                new,
                first: None,
            },
            _ => Change::Patch(text("patch").unwrap_or_else(|| clean(&call.args).into_owned())),
        }),
        _ => None,
    }
}

/// Finds an edit in its file as it is now, and takes the lines around it along.
fn place(change: &mut Change, path: &str, root: &Root) {
    let Change::Between {
        old,
        new,
        first: first @ None,
    } = change
    else {
        return;
    };
    let read = root.check(path).and_then(|rel| root.read(&rel, FILE));
    let Ok(bytes) = read else { return };
    let file = clean(&String::from_utf8_lossy(&bytes)).into_owned();
    let Some((before, after)) = file.split_once(new.as_str()).filter(|_| !new.is_empty()) else {
        return;
    };
    let starts: Vec<usize> = before.match_indices('\n').map(|(at, _)| at + 1).collect();
    let lead = starts
        .len()
        .checked_sub(CONTEXT)
        .map_or(0, |at| starts.get(at).copied().unwrap_or(0));
    let lead = before.get(lead..).unwrap_or_default();
    let trail: String = after.split_inclusive('\n').take(CONTEXT).collect();
    *first = Some(starts.len() + 1 - lead.matches('\n').count());
    *old = format!("{lead}{old}{trail}");
    *new = format!("{lead}{new}{trail}");
}

/// The rows of a call.
pub(super) fn rows(call: &Call, sheet: Sheet<'_>) -> Vec<Line<'static>> {
    let theme = sheet.theme;
    let changed = call
        .end
        .as_ref()
        .filter(|end| !end.failed)
        .and_then(|_| drawn(call, sheet));
    let left = format!("🔧 {}  {}", call.name, call.about);
    let (right, style): (String, Style) = match (&call.end, &changed) {
        (None, _) => {
            let time = sheet.now.saturating_duration_since(call.since);
            let hint = if time >= LONG { "  Esc to stop" } else { "" };
            let progress = match call.progress.as_str() {
                "" => String::new(),
                words => format!("{words}  "),
            };
            (
                format!(
                    "{progress}{} {}{hint}",
                    spinner(call.since, sheet.now),
                    running(time)
                ),
                theme.accent,
            )
        }
        (Some(end), _) if end.failed => (format!("✗ failed {}", took(end.took)), theme.error),
        (Some(_), Some(drawn)) => (format!("+{} −{}", drawn.added, drawn.removed), theme.dim),
        (Some(end), None) => (format!("✓ {}", took(end.took)), theme.dim),
    };
    let mut rows = vec![two_ends((&left, theme.tool), (&right, style), sheet.width)];
    rows.extend(changed.into_iter().flat_map(|drawn| drawn.lines));
    if let Some(end) = &call.end {
        if call.unfolded {
            rows.extend(result(&end.text, sheet));
        } else if end.failed {
            let first = end.text.lines().next().unwrap_or_default().to_owned();
            rows.extend(wrap::words(
                &[Span::styled(first, theme.error)],
                sheet.width,
                &Hang::blanks(3),
            ));
        }
    }
    rows
}

fn drawn(call: &Call, sheet: Sheet<'_>) -> Option<diff::Drawn> {
    let frame = Frame {
        width: sheet.width,
        rows: DIFF_ROWS,
        theme: sheet.theme,
    };
    match call.change.as_ref()? {
        Change::Between { old, new, first } => Some(diff::between(old, new, *first, frame)),
        Change::Patch(text) => Some(diff::patch(text, frame)),
    }
}

/// The result as it was given to the model, cut where nobody would read on.
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
        rows.push(Line::styled(format!("   … {more} more lines"), dim));
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
        Call::new(&call, Instant::now())
    }

    fn text(call: &Call, width: usize) -> Vec<String> {
        let theme = Theme::new(ColorMode::None);
        let sheet = Sheet {
            width,
            theme: &theme,
            now: call.since + Duration::from_secs(11),
        };
        rows(call, sheet).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_line_says_what_matters() {
        let mut grep = call(
            "code_grep",
            r#"{"context_lines": 3, "pattern": "retry\n", "glob_filter": "*.rs"}"#,
        );
        assert!(
            text(&grep, 60)[0].starts_with("🔧 code_grep  retry"),
            "{:?}",
            text(&grep, 60)
        );
        assert!(text(&grep, 60)[0].ends_with("11s  Esc to stop"));
        grep.finish(false, Duration::from_millis(100), "a\nb", None);
        assert_eq!(text(&grep, 60).len(), 1);
        assert!(text(&grep, 60)[0].ends_with("✓ 0.1s"));
        grep.unfolded = true;
        assert_eq!(text(&grep, 60)[1..], ["   a", "   b"]);
    }

    #[test]
    fn a_failure_shows_its_first_line_and_an_edit_its_change() {
        let mut edit = call(
            "apply_patch",
            r#"{"path": "a.rs", "old_text": "one\n", "new_text": "two\nthree\n"}"#,
        );
        edit.finish(true, Duration::ZERO, "Error: no such text\nmore", None);
        assert!(text(&edit, 50)[1].contains("Error: no such text"));
        let mut edit = call(
            "apply_patch",
            r#"{"path": "a.rs", "old_text": "one\n", "new_text": "two\nthree\n"}"#,
        );
        edit.finish(false, Duration::ZERO, "ok", None);
        let rows = text(&edit, 50);
        assert!(rows[0].ends_with("+2 −1"), "{rows:?}");
        assert!(rows.iter().any(|row| row.contains("three")));
    }
}
