//! Module `files-notes`: reads and edits lines of a note in the folder that the notes tools use.

use super::notes::{fit_to_context, may_write, open_notes_dir};
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::plural;
use crate::formats::patch::{self, EditedText, Section};
use crate::store::notes::{MAX_NOTE_BYTES, NotesDir, lock};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::file_edit;
use crate::tools::{READ, ToolOk, USER_FILES};

tools! { "files-notes";
    /// Read numbered lines from a note.
    file_read_lines(FileReadLines; READ.seconds(5).of_note(NotesDir::existing)) {
        /// file inside ~/Notes
        path: String, example: "ideas/garden.md", alias: &["filename", "file"];
        /// first line
        start: u64 = 1, min: 1, example: "1", alias: &["start_line", "from"];
        /// last line, 0 = to the end
        end: i64 = 0, example: "40", alias: &["end_line", "to"];
    } => read_lines;

    /// Edit a note by unified diff or line commands.
    file_apply_patch(FileApplyPatch; USER_FILES.seconds(5).displays(&["patch"]).of_note(NotesDir::existing).previewed()) {
        /// existing file inside ~/Notes
        path: String, example: "ideas/garden.md", alias: &["filename", "file"];
        /// unified diff hunks, or blocks separated by --- of REPLACE n / INSERT after-n / DELETE n [count]; every n is a line before the patch
        patch: String, example: "@@ -3 +3 @@\n-old line\n+new line\n", alias: &["diff"];
        /// report only
        dry_run: bool = false;
    } => apply_patch;
}

fn read_lines(ctx: &ToolContext, args: FileReadLines) -> Outcome<String> {
    let home = open_notes_dir(ctx)?;
    let rel = home.existing(&args.path)?;
    let bytes = home.root()?.read(&rel, MAX_NOTE_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let total = text.lines().count();
    let shown = home.shown(&rel);
    if total == 0 {
        return Ok(format!("{shown} is empty."));
    }
    let start = usize::try_from(args.start).unwrap_or(usize::MAX);
    let end = match usize::try_from(args.end) {
        Ok(end) if end > 0 => end.min(total),
        _ => total,
    };
    if start > total {
        let has = plural(total, "line");
        return Err(Problem::input(format!(
            "{shown} has {has}; there is no line {start}."
        )));
    }
    if end < start {
        return Err(
            Problem::input(format!("end {end} is before start {start}."))
                .next(format!("For example start {end}, end {start}.")),
        );
    }
    let mut out = format!("{shown}: {}, {start}-{end} shown\n", plural(total, "line"));
    let wanted = text.lines().enumerate().skip(start - 1);
    for (at, line) in wanted.take(end + 1 - start) {
        out.push_str(&format!("{}. {line}\n", at + 1));
    }
    Ok(fit_to_context(ctx, out, "file_read_lines"))
}

fn apply_patch(ctx: &ToolContext, args: FileApplyPatch) -> Outcome<ToolOk> {
    let forms = "Give hunks that begin with @@, or commands such as REPLACE 3.";
    not_empty("patch", &args.patch, forms)?;
    let home = open_notes_dir(ctx)?;
    let rel = home.existing(&args.path)?;
    let root = home.root()?;
    root.check_write(rel.as_str())?;
    may_write(ctx, &home, &rel)?;
    let writes = !ctx.is_preview;
    let _lock = writes
        .then(|| lock(&ctx.session.paths, &ctx.stop))
        .transpose()?;
    let shown = home.shown(&rel);
    let before = String::from_utf8(root.read(&rel, MAX_NOTE_BYTES)?)
        .map_err(|_| Problem::input(format!("{shown} is not UTF-8 text.")))?;
    let done = edited(&before, &args.patch, &shown)?;
    let is_changed = !args.dry_run && done.text != before;
    let head = match (args.dry_run, done.text == before) {
        (_, true) => format!("{shown} is unchanged; it already has the contents of the patch."),
        (true, false) => format!("Would change {shown} (nothing was written)."),
        (false, false) => {
            if !ctx.is_preview {
                root.replace(&rel, done.text.as_bytes())?;
            }
            format!("Changed {shown}.")
        }
    };
    let lines: Vec<String> = std::iter::once(head).chain(done.report).collect();
    let words = ToolOk::from(lines.join("\n"));
    Ok(match is_changed {
        true => words.showing(file_edit::changed(&shown, &before, &done.text)),
        false => words,
    })
}

/// Applies the patch, in whichever format it is written.
fn edited(before: &str, patch: &str, name: &str) -> Outcome<EditedText> {
    if patch::is_commands(patch) {
        return patch::apply_commands(before, patch, name);
    }
    if let Some(bare) = patch::unwrap_patch_text(patch) {
        let parsed = patch::parse(&bare)?;
        let [
            Section::Update {
                to: None, chunks, ..
            },
        ] = parsed.sections.as_slice()
        else {
            return Err(Problem::input("Here a patch changes one existing note.")
                .next("Send one \"*** Update File\" section, or hunks that begin with @@."));
        };
        return Ok(EditedText {
            text: patch::new_text(before, chunks, name)?,
            report: vec![plural(chunks.len(), "change")],
        });
    }
    if patch::is_hunks(patch) {
        return patch::apply_hunks(before, patch, name);
    }
    Err(
        Problem::input("The patch is neither a unified diff nor line commands.").next(
            "Begin each hunk with @@ -LINE,COUNT +LINE,COUNT @@, or each block with REPLACE n, INSERT n or DELETE n.",
        ),
    )
}
