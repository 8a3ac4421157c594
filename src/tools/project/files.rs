//! Module `files`: reading and writing the project's files behind the fence.

use std::borrow::Cow;
use std::io::{Cursor, Read};
use std::sync::Arc;

use super::apply_patch;
use crate::base::params::example_call;
use crate::base::problem::{Outcome, Problem};
use crate::base::text;
use crate::chat::display::Display;
use crate::disk::beneath::{RelPath, Root};
use crate::disk::paths::PROJECT_MEMORIES;
use crate::formats::patch::parse::Patch;
use crate::formats::patch::{self, Section};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::read_budget::{MAX_RANGE_CHARS, READ_STOP, READ_WARN};
use crate::tools::engine::tool::tools;
use crate::tools::engine::{arguments, write_allowlist};
use crate::tools::output::file_edit;
use crate::tools::project::project_text::ProjectText;
use crate::tools::project::scratch;
use crate::tools::{PROJECT_FILES, READ, ToolOk};

tools! { "files", in_children;
    /// Read a project file with line numbers.
    read_file(ReadFile; READ.direct().coding().seconds(10)) {
        /// relative path
        path: String, example: "src/main.rs";
        /// first line, 1-based
        start_line: Option<u64>, min: 1, example: "1", alias: &["start", "from", "offset"];
        /// last line, inclusive
        end_line: Option<u64>, min: 1, example: "80", alias: &["end", "to"];
    } => read, says ["read {path}", "what is in {path}", "show {path}"];

    /// Create a new file.
    create_file(CreateFile; PROJECT_FILES.direct().coding().seconds(10).additive().displays(&["content"]).previewed()) {
        /// relative path
        path: String, example: "notes/plan.md";
        /// full text; missing or empty is an actionable error
        content: String, example: "# Plan\n", alias: &["text", "contents"];
    } => create;

    /// Add text to the end of an existing file.
    append_file(AppendFile; PROJECT_FILES.coding().seconds(10).additive().displays(&["content"]).previewed()) {
        /// relative path
        path: String, example: "notes/plan.md";
        /// text; missing or empty is an actionable error
        content: String, example: "One more line\n", alias: &["text", "contents"];
    } => append;

    /// Replace one exact passage of a file.
    apply_patch(ApplyPatch; PROJECT_FILES.direct().coding().seconds(10).displays(&["old_str", "new_str"]).previewed()) {
        /// relative path
        path: String, example: "src/main.rs";
        /// text that must occur exactly once
        old_str: String, example: "let x = 1;", alias: &["old_string", "old", "old_text"];
        /// replacement; empty deletes
        new_str: String = "", example: "let x = 2;", alias: &["new_string", "new", "new_text"];
    } => replace, freeform apply, says ["replace {old_str} with {new_str} in {path}"];
}

/// A longer file is only read in ranges.
const MAX_WHOLE_READ_BYTES: u64 = 10_240;
/// Maximum size of a file that is read at all.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// With less room in the context than this many characters, nothing is read.
const MIN_ROOM_CHARS: usize = 2_000;

fn read(ctx: &ToolContext, args: ReadFile) -> Outcome<String> {
    let (root, path) = ctx.folder_of(&args.path)?;
    let rel = root.check(&path)?;
    let (mut file, size): (Box<dyn Read>, u64) = match ProjectText::of(ctx, &root)
        .in_editor(&rel)?
    {
        Some(text) => {
            let size = u64::try_from(text.len()).unwrap_or(u64::MAX);
            (Box::new(Cursor::new(text)), size)
        }
        None => {
            let file = root.open_read(&rel)?;
            let about = file.metadata();
            let about = about
                .map_err(|error| Problem::system(format!("Cannot read {}", rel.as_str()), error))?;
            (Box::new(file), about.len())
        }
    };
    let whole = args.start_line.is_none() && args.end_line.is_none();
    if size > MAX_FILE_BYTES {
        return Err(Problem::limit(format!(
            "{} has {} bytes, too many to read here.",
            rel.as_str(),
            text::thousands(size)
        ))
        .next("Use run_command with head, tail or sed -n, or code_grep."));
    }
    if whole && size > MAX_WHOLE_READ_BYTES {
        return Err(too_long(&rel, size, count_lines(&mut *file, ctx)));
    }
    if ctx.session.gauge.is_full() {
        return Err(
            Problem::limit("The context is full; nothing more can be read into it.")
                .next("Write down what you have and answer."),
        );
    }
    let from = args.start_line.unwrap_or(1);
    let to = args.end_line.unwrap_or(u64::MAX);
    if to < from {
        return Err(
            Problem::input(format!("end_line {to} is before start_line {from}."))
                .next(format!("For example start_line {to}, end_line {from}.")),
        );
    }
    let (shown, total) = numbered(file, from, to, ctx)?;
    if shown.is_empty() && total > 0 {
        return Err(Problem::input(format!(
            "{} has {}; there is no line {from}.",
            rel.as_str(),
            text::plural(total, "line")
        )));
    }
    if total == 0 {
        return Ok(format!("{} is empty.", rel.as_str()));
    }
    within_budget(ctx, &root, &rel, shown, whole)
}

/// The lines of a range as `N. text`, and the number of lines read.
fn numbered(
    file: Box<dyn Read>,
    from: u64,
    to: u64,
    ctx: &ToolContext,
) -> Outcome<(String, usize)> {
    use std::io::BufRead;
    let mut reader = std::io::BufReader::with_capacity(64 * 1024, file);
    let mut shown = String::new();
    let mut bytes = Vec::new();
    let mut number = 0u64;
    loop {
        bytes.clear();
        let read = reader
            .read_until(b'\n', &mut bytes)
            .map_err(|error| Problem::system("Cannot read the file to its end", error))?;
        if read == 0 || number >= to || shown.len() > READ_STOP * 4 {
            break;
        }
        ctx.stop.check()?;
        number += 1;
        if number == 1 && bytes.iter().take(8_000).any(|byte| *byte == 0) {
            return Err(Problem::input("The file is binary.")
                .next("run_command with file, xxd or strings can look into it."));
        }
        if number >= from {
            let line = String::from_utf8_lossy(&bytes);
            shown.push_str(&format!(
                "{number}. {}\n",
                line.trim_end_matches(['\n', '\r'])
            ));
        }
    }
    Ok((shown, usize::try_from(number).unwrap_or(usize::MAX)))
}

fn count_lines(file: &mut dyn Read, ctx: &ToolContext) -> u64 {
    let mut buffer = vec![0u8; 256 * 1024];
    let mut lines = 0;
    let mut open = false;
    while let Ok(count) = file.read(&mut buffer) {
        if count == 0 || ctx.stop.is_fired() {
            break;
        }
        open = buffer.get(count - 1) != Some(&b'\n');
        lines += buffer
            .iter()
            .take(count)
            .filter(|byte| **byte == b'\n')
            .count() as u64;
    }
    lines + u64::from(open)
}

fn too_long(rel: &RelPath, size: u64, lines: u64) -> Problem {
    let half = (lines / 2).max(1);
    let plural = if lines == 1 { "" } else { "s" };
    Problem::limit(format!("{} has {} bytes in {lines} line{plural}; files over 10 KB are read in ranges.", rel.as_str(), text::thousands(size)))
        .next(format!("For example start_line 1, end_line 100; or start_line {half}, end_line {}. code_grep finds the place.", half + 100))
}

/// Keeps reading within the budgets of the conversation and the context. Beyond the former a whole file is refused, while short ranges are still read until the
/// context itself is full: what the work needs now must stay readable.
fn within_budget(
    ctx: &ToolContext,
    root: &Root,
    rel: &RelPath,
    shown: String,
    whole: bool,
) -> Outcome<String> {
    let mut spent = ctx.session.reading.lock();
    let count = shown.chars().count();
    let over_budget = *spent >= READ_STOP;
    if over_budget && (whole || count > MAX_RANGE_CHARS) {
        let name = format!(
            "{PROJECT_MEMORIES}/dump-{}.txt",
            rel.as_str().replace('/', "_")
        );
        let dump = if ctx.session.policy.readonly {
            None
        } else {
            scratch::hide(ctx);
            root.check(&name)
                .and_then(|to| root.put(&to, shown.as_bytes()))
                .ok()
        };
        let problem = Problem::limit(format!(
            "{} characters of files have been read already, so only ranges of up to {} characters are read now.",
            text::thousands(READ_STOP as u64),
            text::thousands(MAX_RANGE_CHARS as u64)
        ))
        .next(format!(
            "Read a smaller range with start_line and end_line, for example start_line 1, end_line {}; code_grep finds the place.",
            if whole { 200 } else { 100 }
        ));
        return Err(match dump {
            Some(()) => problem.next(format!(
                "The text is also in {name}; run_command with grep searches it."
            )),
            None => problem,
        });
    }
    let in_context = ctx.session.gauge.room().unwrap_or(usize::MAX);
    if in_context < MIN_ROOM_CHARS.min(count) {
        return Err(Problem::limit("The context has no room for this text.")
            .next("Read fewer lines, or write down what you have and answer."));
    }
    let room = in_context.min(READ_STOP.saturating_sub(*spent).max(MAX_RANGE_CHARS));
    let (mut out, cut) = if count > room {
        (text::clip(&shown, room), true)
    } else {
        (shown, false)
    };
    let shown_chars = out.chars().count();
    *spent += shown_chars;
    ctx.session.gauge.add(out.len());
    if cut {
        out.push_str(&format!("\n[Cut after {shown_chars} of {count} characters to stay within the budget. Read a smaller range.]"));
    }
    if *spent > READ_WARN {
        out.push_str(&format!(
            "\n[{} of {} characters for reading files are used; beyond them only ranges of up to {} are read.]",
            text::thousands(*spent as u64),
            text::thousands(READ_STOP as u64),
            text::thousands(MAX_RANGE_CHARS as u64)
        ));
    }
    Ok(out)
}

/// Checks a write to `path` against the fence and the write allow-list.
fn check_writable(ctx: &ToolContext, root: &Root, path: &str) -> Outcome<RelPath> {
    let rel = root.check_write(path)?;
    write_allowlist::may_write(&ctx.session, root, &rel)?;
    Ok(rel)
}

fn require_text(tool: &str, content: &str) -> Outcome<()> {
    if content.is_empty() {
        return Err(Problem::input(format!("{tool} was called with an empty content.")).next("Give the text itself; long documents start with the first part, append_file adds the rest."));
    }
    Ok(())
}

fn create(ctx: &ToolContext, args: CreateFile) -> Outcome<ToolOk> {
    require_text("create_file", &args.content)?;
    let (root, path) = ctx.folder_of(&args.path)?;
    let rel = check_writable(ctx, &root, &path)?;
    let files = ProjectText::of(ctx, &root);
    if root.exists(&rel)? {
        return Err(
            Problem::refused(format!("{} exists already.", rel.as_str()))
                .next("Change it with apply_patch, or add to it with append_file."),
        );
    }
    files.create_new(&rel, &args.content)?;
    let words = format!(
        "Created {} ({}, {}).",
        rel.as_str(),
        text::plural(args.content.len(), "byte"),
        text::plural(args.content.lines().count(), "line")
    );
    let shown = files.shown(file_edit::created(rel.as_str(), &args.content));
    Ok(ToolOk::from(words).showing(shown))
}

fn append(ctx: &ToolContext, args: AppendFile) -> Outcome<ToolOk> {
    require_text("append_file", &args.content)?;
    let (root, path) = ctx.folder_of(&args.path)?;
    let rel = check_writable(ctx, &root, &path)?;
    let files = ProjectText::of(ctx, &root);
    let words = |size: usize| {
        let size = text::plural(size, "byte");
        format!("Appended to {} ({size} now).", rel.as_str())
    };
    if files.writes_elsewhere() {
        let before = text_of(&files, &rel)?;
        let after = format!("{before}{}", args.content);
        files.replace(&rel, &after)?;
        let shown = file_edit::changed(rel.as_str(), &before, &after);
        return Ok(ToolOk::from(words(after.len())).showing(files.shown(shown)));
    }
    let size = root.append(&rel, args.content.as_bytes())?;
    let words = words(usize::try_from(size).unwrap_or(usize::MAX));
    // Only the diff needs the file: without it, or when it is too large, the diff has no line numbers.
    let after = root.read(&rel, file_edit::MAX_SHOWN_BYTES).ok();
    let after = after.and_then(|bytes| String::from_utf8(bytes).ok());
    let shown = file_edit::appended(rel.as_str(), after.as_deref(), &args.content);
    Ok(ToolOk::from(words).showing(files.shown(shown)))
}

/// Maximum size of a file that is patched.
const MAX_PATCHED_BYTES: u64 = 64 << 20;

fn replace(ctx: &ToolContext, args: ApplyPatch) -> Outcome<ToolOk> {
    let (root, path) = ctx.folder_of(&args.path)?;
    let rel = check_writable(ctx, &root, &path)?;
    let files = ProjectText::of(ctx, &root);
    let before = text_of(&files, &rel)?;
    let (old, new) = unescape_if_needed(&before, &args.old_str, &args.new_str);
    let after = patch::replace_once(&before, &old, &new, rel.as_str())?;
    files.replace(&rel, &after)?;
    let words = format!("Patched {}.", rel.as_str());
    let shown = files.shown(file_edit::changed(rel.as_str(), &before, &after));
    Ok(ToolOk::from(words).showing(shown))
}

fn text_of(files: &ProjectText<'_>, rel: &RelPath) -> Outcome<String> {
    String::from_utf8(files.read(rel, MAX_PATCHED_BYTES)?).map_err(|_| {
        Problem::input(format!("{} is not UTF-8 text.", rel.as_str()))
            .next("Change it with run_command.")
    })
}

/// Both texts without doubly escaped characters. If the old text occurs in the file exactly as written, it was meant literally, and so was the new one.
fn unescape_if_needed<'a>(
    before: &str,
    old: &'a str,
    new: &'a str,
) -> (Cow<'a, str>, Cow<'a, str>) {
    let repaired =
        |text: &'a str| arguments::without_escapes(text).map_or(Cow::Borrowed(text), Cow::Owned);
    let plain = |text: &str| text.replace("\r\n", "\n");
    match repaired(old) {
        Cow::Owned(_) if plain(before).contains(&plain(old)) => (old.into(), new.into()),
        meant => (meant, repaired(new)),
    }
}

/// The folder that a patch is about, and the patch with paths of that folder. A patch of a folder beside the working directory names all of its files there.
fn located(ctx: &ToolContext, mut patch: Patch) -> Outcome<(Arc<Root>, Patch)> {
    let mut root: Option<Arc<Root>> = None;
    let mut is_elsewhere = false;
    for section in &mut patch.sections {
        let (path, to) = match section {
            Section::Add { path, .. } | Section::Delete { path } => (path, None),
            Section::Update { path, to, .. } => (path, to.as_mut()),
        };
        for path in std::iter::once(path).chain(to) {
            let (own, rest) = ctx.folder_of(path)?;
            is_elsewhere |= root.as_ref().is_some_and(|root| root.path() != own.path());
            let rest = rest.into_owned();
            *path = rest;
            root = Some(own);
        }
    }
    if is_elsewhere {
        return Err(
            Problem::input("A patch can change the files of one folder only.")
                .next("Send one patch for each folder."),
        );
    }
    let root = root.map_or_else(|| ctx.root(), Ok)?;
    Ok((root, patch))
}

fn apply(ctx: &ToolContext, text: &str) -> Outcome<ToolOk> {
    let Some(bare) = patch::unwrap_patch_text(text) else {
        return Err(patch::explain_unified_diff(text).unwrap_or_else(|| {
            Problem::input("This is not a patch.").next(format!(
                "A correct call: apply_patch {}",
                example_call(&ApplyPatch::fields())
            ))
        }));
    };
    let (root, patch) = located(ctx, patch::parse(&bare)?)?;
    let files = ProjectText::of(ctx, &root);
    let done = apply_patch::apply(&files, &patch, &|rel| {
        write_allowlist::may_write(&ctx.session, &root, rel)
    })?;
    let shown = Display::Changes {
        files: done.changes(),
    };
    Ok(ToolOk::from(done.text()).showing(files.shown(shown)))
}
