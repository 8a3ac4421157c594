//! Module `notes`: Markdown files that Marvin keeps for the user, or for a project in coding mode.

mod find;

use std::fmt::Write as _;

use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, counted, escape_controls, plural};
use crate::disk::beneath::{DirEntry, FileKind, RelPath, Root};
use crate::store::notes::{MAX_NOTE_BYTES, NotesDir, lock};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::engine::write_allowlist;
use crate::tools::output::file_edit;
use crate::tools::{NOTES, READ, ToolOk};

tools! { "notes";
    /// Write or extend a Markdown note.
    write_note(WriteNote; NOTES.direct().in_children().seconds(5).displays(&["content"]).planned_as_written()
        .of_note(NotesDir::target).previewed()) {
        /// path inside the notes directory; parents are created
        path: String, example: "ideas/garden.md", alias: &["filename", "name", "file", "title"];
        /// Markdown text
        content: String, example: "# Garden\n", alias: &["text", "contents", "body"];
        /// add to the end instead of replacing
        append: bool = false;
    } => write, says ["note: {content}{path=inbox.md}{append=true}", "note that {content}{path=inbox.md}{append=true}",
        "note in {path}: {content}{append=true}"];

    /// Read a note.
    read_note(ReadNote; READ.seconds(5).of_note(NotesDir::existing)) {
        /// path inside the notes directory
        path: String, example: "ideas/garden.md", alias: &["filename", "name", "file", "title"];
    } => read, says ["read note {path}", "read my note {path}", "show note {path}"];

    /// List the notes directory.
    notes_ls(NotesLs; READ.seconds(5).of_note(NotesDir::folder)) {
        /// subdirectory; empty = root
        path: String = "", alias: &["dir", "directory", "folder"];
    } => list, says ["show my notes", "list my notes", "list notes", "my notes", "notes"];

    /// Create a notes subdirectory.
    notes_mkdir(NotesMkdir; NOTES.seconds(5).additive().idempotent().planned_as_written().of_note(NotesDir::new_folder)) {
        /// directory inside the notes directory
        path: String, example: "ideas", alias: &["name", "dir", "directory", "folder"];
    } => make_folder;

    /// Search inside notes.
    search_notes(SearchNotes; READ.direct().seconds(10)) {
        /// text to find
        query: String, example: "milk", alias: &["text", "pattern", "search"];
    } => search, says ["search my notes for {query}", "search notes for {query}", "find {query} in my notes"];
}

/// How much of a note is returned at once, in characters, even when the context has room for more.
const WHOLE: usize = 200_000;
/// How many entries of a folder are shown.
const LISTED: usize = 500;

/// The notes folder, without creating it.
pub(crate) fn open_notes_dir(ctx: &ToolContext) -> Outcome<NotesDir> {
    NotesDir::open(&ctx.session.paths, ctx.session.project())
}

/// The notes folder, created if necessary.
fn create_notes_dir(ctx: &ToolContext) -> Outcome<NotesDir> {
    NotesDir::make(&ctx.session.paths, ctx.session.project())
}

/// Refuses to write when this process is restricted to listed files.
///
/// # Errors
/// The note is not among them.
pub(crate) fn may_write(ctx: &ToolContext, notes: &NotesDir, rel: &RelPath) -> Outcome<()> {
    if ctx.session.policy.writable.is_none() {
        return Ok(());
    }
    match ctx.session.project() {
        Some(project) => {
            let rel = project.check(&notes.shown(rel))?;
            write_allowlist::may_write(&ctx.session, &project, &rel)
        }
        None => Err(Problem::refused(
            "This process may only write the files named in MARVIN_WRITABLE_FILES, and no notes.",
        )),
    }
}

fn write(ctx: &ToolContext, args: WriteNote) -> Outcome<ToolOk> {
    if args.content.is_empty() {
        return Err(
            Problem::input("write_note was called with an empty content.")
                .next("Give the text itself; only the user can empty a note."),
        );
    }
    let home = match ctx.is_preview {
        true => open_notes_dir(ctx)?,
        false => create_notes_dir(ctx)?,
    };
    let rel = home.target(&args.path)?;
    may_write(ctx, &home, &rel)?;
    let writes = !ctx.is_preview;
    let _lock = writes
        .then(|| lock(&ctx.session.paths, &ctx.stop))
        .transpose()?;
    let root = home.root()?;
    let old = if root.exists(&rel)? {
        Some(root.read(&rel, MAX_NOTE_BYTES)?)
    } else {
        None
    };
    let mut text = args.content;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let shown = home.shown(&rel);
    if ctx.is_preview {
        let before = old.as_deref().map(String::from_utf8_lossy);
        let change = match (before, args.append) {
            (None, _) => file_edit::created(&shown, &text),
            (Some(before), false) => file_edit::changed(&shown, &before, &text),
            (Some(_), true) => file_edit::appended(&shown, None, &text),
        };
        return Ok(ToolOk::from(String::new()).showing(change));
    }
    let had = old.as_ref().map(Vec::len);
    if let (true, Some(mut bytes)) = (args.append, old) {
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(text.as_bytes());
        root.put(&rel, &bytes)?;
        let words = format!("Appended to {shown} ({} now).", size(bytes.len()));
        let after = String::from_utf8(bytes).ok();
        return Ok(ToolOk::from(words).showing(file_edit::appended(
            &shown,
            after.as_deref(),
            &text,
        )));
    }
    root.put(&rel, text.as_bytes())?;
    let before = match had {
        Some(bytes) if !args.append => format!("; replaced {}", size(bytes)),
        _ => String::new(),
    };
    let words = ToolOk::from(format!("Wrote {shown} ({}{before}).", size(text.len())));
    Ok(match args.append {
        // The first text of a note that the caller wanted to extend.
        true => words.showing(file_edit::created(&shown, &text)),
        false => words,
    })
}

fn size(bytes: usize) -> String {
    counted(bytes as u64, "byte")
}

fn read(ctx: &ToolContext, args: ReadNote) -> Outcome<String> {
    let home = open_notes_dir(ctx)?;
    let rel = home.existing(&args.path)?;
    let bytes = home.root()?.read(&rel, MAX_NOTE_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    if text.is_empty() {
        return Ok(format!("{} is empty.", home.shown(&rel)));
    }
    Ok(fit_to_context(ctx, text.into_owned(), "file_read_lines"))
}

/// As much of a text as fits into the context; `with` is the tool that reads the rest.
pub(crate) fn fit_to_context(ctx: &ToolContext, text: String, with: &str) -> String {
    let room = ctx
        .session
        .gauge
        .room()
        .map_or(WHOLE, |room| room.min(WHOLE));
    if text.len() <= room {
        ctx.session.gauge.add(text.len());
        return text;
    }
    let total = text.chars().count();
    let out = clip(&text, room);
    ctx.session.gauge.add(out.len());
    if total <= room {
        return out;
    }
    format!(
        "{out}\n[Cut after {room} of {total} characters. Read the rest with {with} and a range.]"
    )
}

fn list(ctx: &ToolContext, args: NotesLs) -> Outcome<String> {
    let home = open_notes_dir(ctx)?;
    let rel = home.folder(&args.path)?;
    let root = home.root()?;
    let hidden =
        |entry: &DirEntry| entry.name.starts_with(".marvin-") && entry.name.ends_with(".tmp");
    let (folders, others): (Vec<DirEntry>, Vec<DirEntry>) = root
        .list(&rel)?
        .into_iter()
        .filter(|entry| !hidden(entry))
        .partition(|entry| entry.kind == FileKind::Folder);
    let mut out = String::new();
    for folder in folders.iter().take(LISTED) {
        let _ = writeln!(out, "📁 {}/", escape_controls(&folder.name));
    }
    for entry in others.iter().take(LISTED.saturating_sub(folders.len())) {
        let about = about(root, &rel, entry).unwrap_or_else(|_| "(cannot be read)".to_owned());
        let _ = writeln!(out, "{} {about}", escape_controls(&entry.name));
    }
    let notes = others.iter().filter(|entry| entry.kind == FileKind::File);
    let (many, few) = (notes.count(), folders.len());
    let rest = others.len() - many;
    let _ = write!(
        out,
        "{}: {}, {}",
        home.shown(&rel),
        plural(few, "folder"),
        plural(many, "note")
    );
    if rest > 0 {
        let _ = write!(out, ", {}", plural(rest, "other"));
    }
    if others.len() + few > LISTED {
        let _ = write!(out, "; the first {LISTED} are shown");
    }
    out.push('.');
    Ok(out)
}

/// Describes an entry: a note with its size, a symlink with its target, or anything else.
fn about(root: &Root, folder: &RelPath, entry: &DirEntry) -> Outcome<String> {
    let rel = match folder.is_here() {
        true => root.check(&entry.name)?,
        false => root.check(&format!("{folder}/{}", entry.name))?,
    };
    Ok(match entry.kind {
        FileKind::File | FileKind::Folder => {
            format!("({})", counted(root.metadata(&rel)?.len, "byte"))
        }
        FileKind::Link => {
            let target = root.link_target(&rel)?.unwrap_or_default();
            format!(
                "-> {} (link)",
                clip(&escape_controls(&target), 200).replace('\n', "\\n")
            )
        }
        FileKind::Other => format!("({})", root.kind_name(&rel)?),
    })
}

fn make_folder(ctx: &ToolContext, args: NotesMkdir) -> Outcome<String> {
    let home = create_notes_dir(ctx)?;
    let rel = home.new_folder(&args.path)?;
    may_write(ctx, &home, &rel)?;
    let root = home.root()?;
    let old = root.exists(&rel)?;
    root.make_folder(&rel)?;
    let shown = home.shown(&rel);
    Ok(match old {
        true => format!("{shown}/ exists already."),
        false => format!("Made {shown}/."),
    })
}

fn search(ctx: &ToolContext, args: SearchNotes) -> Outcome<String> {
    let query = not_empty("query", &args.query, "Give the words to look for.")?;
    let home = open_notes_dir(ctx)?;
    let none = |more: &str| {
        format!(
            "No matches for \"{}\".{more}",
            clip(&escape_controls(query), 100)
        )
    };
    let Ok(root) = home.root() else {
        return Ok(none(" There are no notes yet."));
    };
    let found = find::search(root, query, &ctx.stop)?;
    if found.is_empty() {
        return Ok(none(&found.named()));
    }
    let out = found.text();
    Ok(fit_to_context(ctx, out, "search_notes, with more words,"))
}
