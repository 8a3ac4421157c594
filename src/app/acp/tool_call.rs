//! What a client sees of a tool call: its kind, its title, where it works, and what came of it.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::given_paths::ShownPaths;
use crate::base::text::head;
use crate::chat::change::{ChangeKind, FileChange, WholeTexts};
use crate::chat::display::Display;
use crate::chat::image::Image;
use crate::chat::message::ToolCall;
use crate::llm::image_data::Base64;
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::permission::gate;
use crate::tools::engine::rules::SideEffect;

/// Bytes of a result that are shown.
const MAX_RESULT_BYTES: usize = 256 << 10;
/// Bytes of a text whose change is shown whole.
const MAX_DIFF_BYTES: usize = 1 << 20;

/// What is known of a call before it runs.
#[derive(Debug, Clone)]
pub(super) struct ShownCall {
    /// Its id in the session.
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) title: String,
    kind: &'static str,
    input: Map<String, Value>,
    locations: Vec<Value>,
    /// The command that it runs.
    pub(super) command: Option<String>,
}

impl ShownCall {
    /// A call in a session with files at these paths.
    pub(super) fn new(
        session: &SessionContext,
        paths: &ShownPaths,
        id: String,
        call: &ToolCall,
    ) -> Self {
        let Some(tool) = session.registry().find(&call.name) else {
            return Self {
                id,
                tool: call.name.clone(),
                title: call.name.clone(),
                kind: "other",
                input: Map::new(),
                locations: Vec::new(),
                command: None,
            };
        };
        let described = gate::describe(session, &tool, &call.args);
        let place = |path: &String| {
            let path = paths.of(path);
            path.is_absolute().then(|| {
                let line = described.input.get("start_line").and_then(Value::as_u64);
                match line {
                    Some(line) => json!({"path": path.display().to_string(), "line": line}),
                    None => json!({"path": path.display().to_string()}),
                }
            })
        };
        Self {
            id,
            tool: tool.name().to_owned(),
            title: described.title,
            kind: kind(&tool),
            locations: described.paths.iter().filter_map(place).collect(),
            input: described.input,
            command: described.command,
        }
    }

    /// Whether these are the arguments that it shows.
    pub(super) fn has_input(&self, input: &Map<String, Value>) -> bool {
        self.input == *input
    }

    /// The fields that a client needs to show it, also in a question about it.
    pub(super) fn fields(&self) -> Value {
        json!({
            "toolCallId": self.id,
            "title": self.title,
            "name": self.tool,
            "kind": self.kind,
            "rawInput": self.input,
            "locations": self.locations,
        })
    }

    /// The update with all of it, because it is another call than the client was told of.
    pub(super) fn changed(&self, status: &str) -> Value {
        update_with(self.fields(), status)
    }

    /// The update that tells of it.
    pub(super) fn begun(&self) -> Value {
        let mut update = self.fields();
        set(&mut update, "sessionUpdate", json!("tool_call"));
        set(&mut update, "status", json!("pending"));
        update
    }
}

pub(super) fn set(value: &mut Value, key: &str, to: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), to);
    }
}

/// The parameters of tools that look for something.
const SEARCHED_FOR: [&str; 3] = ["query", "pattern", "symbol"];

/// The kind of a tool's calls, by what it declares.
fn kind(tool: &ToolRef) -> &'static str {
    let rules = tool.rules();
    match rules.effect {
        _ if rules.of_conversation => "think",
        SideEffect::None if rules.annotations().open_world => "fetch",
        SideEffect::None => {
            let parameters = tool.parameters();
            let mut names = parameters.iter().map(|parameter| parameter.name.as_ref());
            match names.any(|name| SEARCHED_FOR.contains(&name)) {
                true => "search",
                false => "read",
            }
        }
        SideEffect::Memory | SideEffect::Notes | SideEffect::Records => "other",
        SideEffect::ProjectFiles | SideEffect::UserFiles => "edit",
        SideEffect::Programs => "execute",
        SideEffect::Outside => "fetch",
    }
}

/// The update that changes a call.
pub(super) fn update(id: &str, status: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status})
}

/// The update that changes these fields of a call too.
pub(super) fn update_with(mut fields: Value, status: &str) -> Value {
    set(&mut fields, "sessionUpdate", json!("tool_call_update"));
    set(&mut fields, "status", json!(status));
    fields
}

/// A text as content.
pub(super) fn text(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// A text as content that is shown as it is, although clients render Markdown: in a fence that nothing in it can end, so that nothing of it can be hidden.
pub(super) fn verbatim(language: &str, shown: &str) -> Value {
    let longest = shown
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    text(&format!("{fence}{language}\n{shown}\n{fence}"))
}

/// The update with what a running call has said so far.
pub(super) fn live(id: &str, said: &str) -> Value {
    let mut update = update(id, "in_progress");
    set(&mut update, "content", json!([text(said)]));
    update
}

/// The update with what came of a call.
pub(super) fn ended(
    id: &str,
    failed: bool,
    said: &str,
    display: Option<&Display>,
    paths: &ShownPaths,
) -> Value {
    let shown = clipped(said);
    let mut content = display.map_or_else(Vec::new, |shown| diffs(shown, paths));
    content.push(text(&shown));
    let mut update = update(id, if failed { "failed" } else { "completed" });
    set(&mut update, "content", Value::Array(content));
    set(&mut update, "rawOutput", json!({"text": shown}));
    update
}

/// A result as far as it is shown.
fn clipped(said: &str) -> String {
    let shown = head(said, MAX_RESULT_BYTES);
    match shown.len() < said.len() {
        true => format!(
            "{shown}\n[The rest is left out: {} bytes in all.]",
            said.len()
        ),
        false => shown.to_owned(),
    }
}

/// Adds the images of a result to the update with it.
pub(super) fn add_images(update: &mut Value, images: &[Image]) {
    let Some(content) = update.get_mut("content").and_then(Value::as_array_mut) else {
        return;
    };
    let images = images.iter().filter_map(|image| {
        let (bytes, kind) = (image.data.as_deref()?, image.kind.media_type());
        Some(json!({"type": "content", "content": {"type": "image", "mimeType": kind, "data": Base64(bytes)}}))
    });
    content.extend(images);
}

/// The changes of files that a call has made, or would make.
pub(super) fn diffs(display: &Display, paths: &ShownPaths) -> Vec<Value> {
    match display {
        Display::Changes { files } => {
            let files = files.iter();
            files.flat_map(|file| diff(file, paths)).collect()
        }
        Display::Diff { old, new, .. } => {
            vec![json!({"type": "diff", "path": "", "oldText": old, "newText": new})]
        }
        Display::Patch { text: patch } => vec![verbatim("diff", patch)],
        Display::Text { .. } => Vec::new(),
    }
}

/// The change of one file by its whole texts; where they are too long to be known, the places of change. Of a file that was moved that are two.
fn diff(change: &FileChange, paths: &ShownPaths) -> Vec<Value> {
    let Some(whole) = &change.whole else {
        return vec![verbatim("diff", &clipped(&change.to_string()))];
    };
    let block = |path: &str, old: Option<&str>, new: &str| {
        let path = paths.of(path).display().to_string();
        json!({"type": "diff", "path": path, "oldText": old, "newText": new})
    };
    let (old, new) = (Some(whole.old.as_str()), whole.new.as_str());
    match (&change.moved_from, change.kind) {
        (Some(from), _) => vec![block(&change.path, None, new), block(from, old, "")],
        (None, ChangeKind::Added) => vec![block(&change.path, None, new)],
        (None, ChangeKind::Changed | ChangeKind::Deleted) => vec![block(&change.path, old, new)],
    }
}

/// Changes of which the whole texts were not kept, with those that the disk still has, or that the places of change have.
pub(super) fn recalled(mut display: Display, paths: &ShownPaths) -> Display {
    if let Display::Changes { files } = &mut display {
        let is_lost = |change: &&mut FileChange| change.whole.is_none() && change.omitted() == 0;
        for change in files.iter_mut().filter(is_lost) {
            let texts = recalled_texts(change, &paths.of(&change.path));
            change.whole = texts.map(|(old, new)| Arc::new(WholeTexts { old, new }));
        }
    }
    display
}

fn recalled_texts(change: &FileChange, path: &Path) -> Option<(String, String)> {
    let places = || (side(change, '+'), side(change, '-'));
    if change.kind != ChangeKind::Changed {
        return Some(places());
    }
    match whole_text(path) {
        Some(new) => match text_before(change, &new) {
            Some(old) => (old.len() <= MAX_DIFF_BYTES).then_some((old, new)),
            None => Some(places()),
        },
        None if path.exists() => None,
        None => Some(places()),
    }
}

fn whole_text(path: &Path) -> Option<String> {
    let about = std::fs::symlink_metadata(path).ok()?;
    let fits = about.is_file() && about.len() <= u64::try_from(MAX_DIFF_BYTES).unwrap_or_default();
    fits.then(|| std::fs::read_to_string(path).ok())?
}

/// The places of change without the lines that begin with `other`.
fn side(change: &FileChange, other: char) -> String {
    let lines = change.hunks.iter().flat_map(|hunk| hunk.lines.lines());
    let lines = lines.filter(|line| !line.starts_with(other));
    let mut text = String::new();
    for line in lines {
        text.push_str(line.get(1..).unwrap_or_default());
        text.push('\n');
    }
    text
}

/// The text before a change, when `new` is that after it; `None` when it is not.
fn text_before(change: &FileChange, new: &str) -> Option<String> {
    let lines: Vec<&str> = new.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut at = 0;
    for hunk in &change.hunks {
        let (_, after) = hunk.start?;
        let start = after.checked_sub(1)?;
        out.extend(lines.get(at..start)?.iter().copied());
        at = start;
        for line in hunk.lines.lines() {
            let (mark, line) = line.split_at_checked(1)?;
            if mark == "-" {
                out.push_str(line);
                out.push('\n');
                continue;
            }
            let line_here = lines.get(at)?;
            if line_here.trim_end_matches(['\n', '\r']) != line {
                return None;
            }
            at += 1;
            if mark != "+" {
                out.push_str(line_here);
            }
        }
    }
    out.extend(lines.get(at..)?.iter().copied());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::image::ImageKind;
    use crate::tools::engine::registry::Registry;

    #[test]
    fn the_text_before_a_change_is_made_of_that_after_it() {
        let long: String = (1..=60).map(|n| format!("line {n}\n")).collect();
        let changed = long.replace("line 7\n", "seven\n").replace("line 50\n", "");
        for (old, new) in [
            ("a\nb\nc\n", "a\nB\nc\n"),
            ("a\nb\n", "a\nb\nc\n"),
            ("a\nb\nc\n", "c\n"),
            ("", "a\n"),
            ("a\n", ""),
            ("a\r\nb\r\n", "a\r\nB\r\n"),
            (&long, &changed),
        ] {
            let change = FileChange::between("f", Some(old), Some(new));
            let plain = |text: Option<String>| text.map(|text| text.replace("\r\n", "\n"));
            let wanted = |text: &str| Some(text.replace("\r\n", "\n"));
            assert_eq!(plain(text_before(&change, new)), wanted(old));
        }
        let change = FileChange::between("f", Some("a\nb\nc\n"), Some("a\nB\nc\n"));
        assert_eq!(text_before(&change, "quite another text\n"), None);
    }

    #[test]
    fn the_kind_of_a_call_is_read_from_what_its_tool_declares() {
        let registry = Registry::default();
        for (tool, expected) in [
            ("compact_history", "think"),
            ("write_note", "other"),
            ("create_file", "edit"),
            ("code_grep", "search"),
            ("read_file", "read"),
            ("run_command", "execute"),
            ("scrape_page", "fetch"),
        ] {
            assert_eq!(kind(&registry.find(tool).unwrap()), expected, "{tool}");
        }
    }

    #[test]
    fn nothing_ends_the_fence_of_what_is_shown_as_it_is() {
        for (shown, fenced) in [
            ("", "```sh\n\n```"),
            ("# a\n`b`", "```sh\n# a\n`b`\n```"),
            ("```\n<!--\n", "````sh\n```\n<!--\n\n````"),
            ("`` ````` é", "``````sh\n`` ````` é\n``````"),
        ] {
            assert_eq!(verbatim("sh", shown), text(fenced));
        }
    }

    #[test]
    fn images_of_a_result_stand_behind_its_text() {
        let mut update = ended("a", false, "[image]", None, &ShownPaths::default());
        let image = Image {
            name: "a".to_owned(),
            kind: ImageKind::Png,
            width: 1,
            height: 1,
            bytes: 2,
            tokens: 0,
            data: Some(b"hi".as_slice().into()),
        };
        add_images(&mut update, &[image]);
        let block = json!({"type": "image", "mimeType": "image/png", "data": "aGk="});
        assert_eq!(update["content"][1]["content"], block);
    }

    #[test]
    fn the_places_of_change_have_both_sides() {
        let change = FileChange::between("f", Some("a\nb\nc\n"), Some("a\nB\nc\n"));
        assert_eq!(side(&change, '+'), "a\nb\nc\n");
        assert_eq!(side(&change, '-'), "a\nB\nc\n");
    }
}
