//! Reads what a message mentions as `@path`, before it is sent: text goes to the model with the message, within the read budget, and images beside it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::app::images;
use crate::base::marks::enclosed;
use crate::base::problem::{Outcome, Problem, io_words};
use crate::base::text::{self, counted, escape_controls, file_size};
use crate::chat::image::Image;
use crate::disk::beneath::{FileKind, RelPath, Root};
use crate::formats::image::ImageKind;
use crate::mcp::session::SessionServers;
use crate::mcp::session::content::ServerContent;
use crate::model_call::model_target::ModelTarget;
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::read_budget::{READ_STOP, READ_WARN};

/// Size limit for the text of one file, in bytes.
const EACH: usize = 100_000;
/// In a longer message, what looks like a missing file is more likely code or a log that was pasted.
const MAX_TYPED_BYTES: usize = 2_000;
/// Entries listed of one folder.
const LISTED: usize = 1_000;

/// What goes with a message.
#[derive(Debug, Clone, Default)]
pub(in crate::app) struct Attachments {
    /// Text to append to the message.
    pub(in crate::app::session) text: String,
    pub(in crate::app::session) images: Vec<Image>,
    /// What the user is told, a line for each.
    pub(in crate::app) lines: Vec<String>,
    /// The part of the message that the user typed, where that is not all of it.
    pub(in crate::app) typed: Option<String>,
}

impl Attachments {
    /// Images that were read already, and nothing else.
    pub(in crate::app::session) fn of_images(images: Vec<Image>) -> Self {
        Self {
            images,
            ..Self::default()
        }
    }
}

/// Images that were pasted, by the names that stand for them in messages.
pub(in crate::app::session) type PastedImages = BTreeMap<String, Arc<[u8]>>;

/// What may go with a message besides the files that it mentions.
#[derive(Debug, Clone, Default)]
pub(in crate::app::session) struct MoreImages {
    /// Image files from the command line.
    pub(in crate::app::session) files: Vec<PathBuf>,
    pub(in crate::app::session) pasted: PastedImages,
}

/// What happens when something cannot be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::app::session) enum OnFailure {
    /// Nothing is attached, and the message is not sent.
    Refuse,
    /// The user was told, and wants the message sent without it.
    SendWithout,
}

/// Whether `message` may mention something to attach. Without a look at the disk, so that it can be asked on the interface's thread.
pub(in crate::app::session) fn mentions_any(message: &str) -> bool {
    message.contains('@') && !names(message).is_empty()
}

/// Reads everything that `message` mentions, and `more`. A mention that is not a file stays as it is: it may be a person.
///
/// # Errors
/// A file is missing or cannot be attached, or the model takes no such images.
pub(in crate::app::session) fn attach(
    message: &str,
    more: &MoreImages,
    target: &ModelTarget,
    ctx: &ToolContext,
    on_failure: OnFailure,
) -> Outcome<Attachments> {
    let mut out = Attachments::default();
    let without = |problem: Problem, lines: &mut Vec<String>| match on_failure {
        OnFailure::Refuse => Err(problem),
        OnFailure::SendWithout => {
            lines.push(format!("Not attached: {}", problem.one_line()));
            Ok(())
        }
    };
    for path in &more.files {
        match images::from_path(path, target) {
            Ok(image) => out.images.push(image),
            Err(problem) => without(problem, &mut out.lines)?,
        }
    }
    let is_typed = message.len() <= MAX_TYPED_BYTES;
    for name in names(message) {
        let is_nothing = || resolve(&name, &ctx.session).is_none();
        if !is_typed && !more.pasted.contains_key(&name) && is_nothing() {
            continue;
        }
        let attached = match more.pasted.get(&name) {
            Some(bytes) => images::from_bytes(&name, Arc::clone(bytes), target)
                .map(|image| out.images.push(image)),
            None => attach_path(&name, target, ctx, &mut out),
        };
        ctx.stop.check()?;
        if let Err(problem) = attached {
            without(problem, &mut out.lines)?;
        }
    }
    if let Err(problem) = images::check(&out.images, target) {
        out.images.clear();
        without(problem, &mut out.lines)?;
    }
    let lines = out.images.iter().map(|image| images::line(image, target));
    out.lines.extend(lines);
    Ok(out)
}

/// Reads files that are named by their paths, and images that were read already. What cannot be attached is told and left out.
///
/// # Errors
/// The model takes no such images, or the turn was stopped.
pub(in crate::app) fn attach_files(
    paths: &[String],
    images: Vec<Image>,
    target: &ModelTarget,
    ctx: &ToolContext,
) -> Outcome<Attachments> {
    let mut out = Attachments::of_images(images);
    for path in paths {
        ctx.stop.check()?;
        if let Err(problem) = attach_path(path, target, ctx, &mut out) {
            (out.lines).push(format!("Not attached: {}", problem.one_line()));
        }
    }
    images::check(&out.images, target)?;
    Ok(out)
}

fn attach_path(
    name: &str,
    target: &ModelTarget,
    ctx: &ToolContext,
    out: &mut Attachments,
) -> Outcome<()> {
    let shown = escape_controls(name);
    let Some(place) = resolve(name, &ctx.session) else {
        let servers = ctx.session.modules.get::<SessionServers>();
        if let Some(content) = servers.mentioned(&ctx.session, name, &ctx.stop) {
            return attach_resource(name, content?, target, out);
        }
        if !is_meant_as_path(name, &ctx.session) {
            return Ok(());
        }
        return Err(Problem::missing(format!("There is no file \"{shown}\"."))
            .next("Check its name; Tab completes it."));
    };
    if let Err(reason) = approved(&place, ctx) {
        out.lines
            .push(format!("@{shown} is not attached: {reason}"));
        return Ok(());
    }
    let cannot = |reason: String| Problem::input(format!("@{shown} cannot be attached: {reason}"));
    if place.is_folder() {
        let listing = place.listing().map_err(cannot)?;
        let entries = counted(listing.lines().count() as u64, "line");
        out.lines
            .push(format!("@{shown}  folder, {entries} of listing"));
        out.text.push_str(&block(name, "folder", &listing));
        return Ok(());
    }
    let mut file = place.open().map_err(cannot)?;
    let mut start = Vec::new();
    let about = file
        .metadata()
        .map_err(|error| cannot(format!("{}.", io_words(&error))))?;
    if !about.is_file() {
        return Err(cannot("it is not a regular file.".to_owned()));
    }
    let unreadable = |error: std::io::Error| cannot(format!("{}.", io_words(&error)));
    (&mut file)
        .take(16)
        .read_to_end(&mut start)
        .map_err(unreadable)?;
    if ImageKind::of(&start).is_some() {
        file.take(images::MAX_FILE_BYTES + 1)
            .read_to_end(&mut start)
            .map_err(unreadable)?;
        out.images
            .push(images::from_bytes(name, start.into(), target)?);
        return Ok(());
    }
    let whole = about.len();
    let content = read(start, file, whole, &ctx.session).map_err(|reason| {
        cannot(reason).next("Take the @ away, and Marvin can look at it with its tools.")
    })?;
    let size = file_size(whole);
    out.lines.push(match content.is_cut {
        false => {
            let lines = counted(content.text.lines().count() as u64, "line");
            format!("@{shown}  {size}, {lines}")
        }
        true => format!(
            "@{shown}  the first {} of {size}; the rest can be read in ranges",
            file_size(content.text.len() as u64)
        ),
    });
    out.text
        .push_str(&block(name, "file", &content.marked(whole)));
    Ok(())
}

/// Attaches what a resource of a server holds.
fn attach_resource(
    name: &str,
    content: ServerContent,
    target: &ModelTarget,
    out: &mut Attachments,
) -> Outcome<()> {
    let shown = escape_controls(name);
    let has_images = !content.images.is_empty();
    for (image, bytes) in content.images {
        let image = images::from_bytes(&image, bytes.into(), target)?;
        out.images.push(image);
    }
    if content.text.is_empty() {
        if !has_images {
            out.lines
                .push(format!("@{shown} is empty, so there is nothing to attach."));
        }
        return Ok(());
    }
    let text = text::head(&content.text, EACH);
    let size = file_size(content.bytes);
    out.lines.push(match text.len() == content.text.len() {
        true => format!("@{shown}  resource, {size}"),
        false => format!(
            "@{shown}  the first {} of {size}",
            file_size(text.len() as u64)
        ),
    });
    out.text.push_str(&block(name, "resource", text));
    Ok(())
}

/// Whether somebody who writes `@name` means a file, and not a person or a package: it ends like a file's name, begins like a path, or lies in a
/// folder that exists.
fn is_meant_as_path(name: &str, context: &SessionContext) -> bool {
    let begins = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| name.starts_with(start));
    let last = name.rsplit('/').next().unwrap_or_default();
    let is_ending = |end: &str| {
        (1..=5).contains(&end.len())
            && end.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && end.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    let ends = last
        .rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && is_ending(end));
    let folder = || {
        let (folder, _) = name.rsplit_once('/')?;
        resolve(folder, context)
    };
    begins || ends || name.contains(char::is_whitespace) || folder().is_some()
}

/// The message may have been pasted and a link can point anywhere, so the user is asked about a target outside the working directory, by its real
/// path.
fn approved(place: &AttachTarget, ctx: &ToolContext) -> Result<(), String> {
    match place {
        AttachTarget::Inside(..) => Ok(()),
        AttachTarget::Outside(file) => ctx
            .approve(ApprovalRequest::new(
                "Send this file, outside the working directory, to the model?",
                "attach this file",
                file,
            ))
            .map_err(|problem| problem.what),
    }
}

/// The mentioned names: an `@` at the start of a word, with quotes around names that contain blanks.
fn names(message: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = message;
    let mut before = None;
    while let Some(pos) = rest.find('@') {
        let starts = rest
            .get(..pos)
            .unwrap_or_default()
            .chars()
            .next_back()
            .or(before)
            .is_none_or(char::is_whitespace);
        let after = rest.get(pos + 1..).unwrap_or_default();
        let (name, len) = match after
            .strip_prefix('"')
            .and_then(|quoted| quoted.split_once('"'))
        {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let end = after.find(char::is_whitespace).unwrap_or(after.len());
                let word = after.get(..end).unwrap_or_default();
                (
                    word.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']),
                    end,
                )
            }
        };
        // An address of a server's resource may stand in quotes by itself.
        let of_server = after.split_once(":\"").and_then(|(server, quoted)| {
            let (uri, _) = quoted.split_once('"')?;
            let is_name = !server.is_empty() && !server.contains(char::is_whitespace);
            is_name.then(|| (format!("{server}:{uri}"), server.len() + uri.len() + 3))
        });
        let (name, len) = of_server.unwrap_or_else(|| (name.to_owned(), len));
        if starts && !name.is_empty() && !found.contains(&name) {
            found.push(name);
        }
        before = after
            .get(..len)
            .unwrap_or_default()
            .chars()
            .next_back()
            .or(Some('@'));
        rest = after.get(len..).unwrap_or_default();
    }
    found
}

/// A mentioned file or folder that exists.
enum AttachTarget {
    Inside(Arc<Root>, RelPath),
    /// Elsewhere; all links are resolved.
    Outside(PathBuf),
}

/// Resolves `name` relative to the home folder, the root or the working directory. `None` when it does not exist.
fn resolve(name: &str, context: &SessionContext) -> Option<AttachTarget> {
    let root = context.working_dir.root();
    let path = match (name.strip_prefix("~/"), context.env.get("HOME"), &root) {
        (Some(rest), Some(home), _) => Path::new(home).join(rest),
        (_, _, Some(root)) => root.path().join(name),
        (_, _, None) => PathBuf::from(name),
    };
    let real = path.canonicalize().ok()?;
    if let Some(root) = root
        && let Ok(inside) = real.strip_prefix(root.path())
    {
        let rel = match inside.to_str() {
            Some("") => Some(RelPath::here()),
            inside => inside.and_then(|inside| root.check(inside).ok()),
        };
        if let Some(rel) = rel {
            return Some(AttachTarget::Inside(root, rel));
        }
    }
    // What file tools may read nobody is asked about here either.
    let beside = context.working_dir.added().into_iter().find_map(|added| {
        let inside = real.strip_prefix(added.path()).ok()?.to_str()?;
        let rel = added.check(inside).ok()?;
        Some(AttachTarget::Inside(added, rel))
    });
    beside.or(Some(AttachTarget::Outside(real)))
}

impl AttachTarget {
    fn is_folder(&self) -> bool {
        match self {
            Self::Inside(root, rel) => root
                .metadata(rel)
                .is_ok_and(|about| about.kind == FileKind::Folder),
            Self::Outside(path) => path.is_dir(),
        }
    }

    fn open(&self) -> Result<fs::File, String> {
        match self {
            Self::Inside(root, rel) => root.open_read(rel).map_err(|problem| problem.what),
            Self::Outside(path) => {
                // The path has no links; one found now was created after the user was asked.
                let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
                fs::OpenOptions::new()
                    .read(true)
                    .custom_flags(i32::try_from(careful.bits()).unwrap_or_default())
                    .open(path)
                    .map_err(|error| format!("{}.", io_words(&error)))
            }
        }
    }

    fn listing(&self) -> Result<String, String> {
        let line =
            |name: &str, is_folder: bool| format!("{name}{}", if is_folder { "/" } else { "" });
        let mut names: Vec<String> = match self {
            Self::Inside(root, rel) => root
                .list(rel)
                .map_err(|problem| problem.what)?
                .iter()
                .take(LISTED)
                .map(|entry| line(&entry.name, entry.kind == FileKind::Folder))
                .collect(),
            Self::Outside(path) => fs::read_dir(path)
                .map_err(|error| format!("{}.", io_words(&error)))?
                .filter_map(Result::ok)
                .take(LISTED)
                .map(|entry| {
                    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                    line(&entry.file_name().to_string_lossy(), is_folder)
                })
                .collect(),
        };
        names.sort();
        Ok(names.join("\n"))
    }
}

/// The text of a file, or its beginning.
struct FileText {
    text: String,
    is_cut: bool,
}

impl FileText {
    /// The text, with a note for the model where it is cut.
    fn marked(self, whole: u64) -> String {
        match self.is_cut {
            false => self.text,
            true => format!(
                "{}\n[Cut: {} of {whole} bytes. Read the rest with read_file and a line range.]",
                self.text,
                self.text.len(),
            ),
        }
    }
}

/// Reads the rest of a file that begins with `bytes`, within the read budget.
fn read(
    mut bytes: Vec<u8>,
    file: fs::File,
    whole: u64,
    context: &SessionContext,
) -> Result<FileText, String> {
    let mut used = context.reading.lock();
    let left = READ_STOP.saturating_sub(*used);
    if left == 0 {
        return Err(format!(
            "{READ_STOP} characters were read for this message already."
        ));
    }
    let max = EACH.min(if *used < READ_WARN {
        READ_WARN - *used
    } else {
        left
    });
    file.take(max as u64 + 4)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{}.", io_words(&error)))?;
    if bytes.contains(&0) {
        return Err("it is binary, neither text nor an image.".to_owned());
    }
    let lossy = String::from_utf8_lossy(&bytes);
    let text = text::head(&lossy, max).to_owned();
    *used += text.len();
    let is_cut = whole > text.len() as u64;
    Ok(FileText { text, is_cut })
}

/// Data under a heading, fenced so that the model does not take it for instructions.
fn block(name: &str, kind: &str, content: &str) -> String {
    format!("\n\n{}", enclosed(kind, &format!("name={name:?}"), content))
}

#[cfg(test)]
mod tests;
