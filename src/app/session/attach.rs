//! Attaches files that a message mentions as `@path`: the model gets their text with the message, within the read budget.

use std::fs;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;

use crate::base::marks::enclosed;
use crate::base::problem::io_words;
use crate::base::text;
use crate::disk::beneath::{FileKind, RelPath, Root};
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::read_budget::{READ_STOP, READ_WARN};

/// Size limit for one file, in bytes.
const EACH: usize = 100_000;
/// Entries listed of one folder.
const LISTED: usize = 1_000;

/// The message, followed by the files it mentions. A mention that is not a file stays as it is: it may be a person.
pub(super) fn with_files(
    message: &str,
    ctx: &ToolContext,
    notice: &mut dyn FnMut(String),
) -> String {
    let mut out = message.to_owned();
    for name in names(message) {
        let Some(place) = resolve(&name, &ctx.session) else {
            continue;
        };
        let block = approved(&place, ctx).and_then(|()| match place.is_folder() {
            true => Ok(block(&name, "folder", &place.listing()?)),
            false => Ok(block(&name, "file", &read(place.open()?, &ctx.session)?)),
        });
        match block {
            Ok(block) => out.push_str(&block),
            Err(reason) => notice(format!(
                "@{} is not attached: {reason}",
                text::escape_controls(&name)
            )),
        }
    }
    out
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
        if starts && !name.is_empty() && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
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
    Some(AttachTarget::Outside(real))
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

fn read(file: fs::File, context: &SessionContext) -> Result<String, String> {
    let about = file
        .metadata()
        .map_err(|error| format!("{}.", io_words(&error)))?;
    if !about.is_file() {
        return Err("it is not a regular file.".to_owned());
    }
    let mut used = context.reading.lock();
    let left = READ_STOP.saturating_sub(*used);
    if left == 0 {
        return Err(format!(
            "{READ_STOP} characters were read in this session already."
        ));
    }
    let max = EACH.min(if *used < READ_WARN {
        READ_WARN - *used
    } else {
        left
    });
    let mut bytes = Vec::new();
    file.take(max as u64 + 4)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{}.", io_words(&error)))?;
    if bytes.contains(&0) {
        return Err("it is binary, not text.".to_owned());
    }
    let lossy = String::from_utf8_lossy(&bytes);
    let mut content = text::head(&lossy, max).to_owned();
    *used += content.len();
    if about.len() > content.len() as u64 {
        content.push_str(&format!(
            "\n[Cut: {} of {} bytes. Read the rest with read_file and a line range.]",
            content.len(),
            about.len()
        ));
    }
    Ok(content)
}

/// Data under a heading, fenced so that the model does not take it for instructions.
fn block(name: &str, kind: &str, content: &str) -> String {
    format!("\n\n{}", enclosed(kind, &format!("name={name:?}"), content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::cancel::Cancel;
    use crate::base::env::Env;
    use crate::base::problem::{Outcome, Problem};
    use crate::chat::event::NullSink;
    use crate::tools::engine::approval::{Approval, Approver};
    use crate::tools::engine::policy::ToolPolicy;
    use std::sync::Mutex;

    /// Approves or declines, and records the requests.
    struct Answers(bool, Arc<Mutex<Vec<String>>>);

    impl Approver for Answers {
        fn ask(&self, request: ApprovalRequest, _: &Cancel) -> Outcome<()> {
            self.1.lock().unwrap().push(request.text());
            match self.0 {
                true => Ok(()),
                false => Err(Problem::refused("The user declined to attach this file.")),
            }
        }
    }

    fn ctx(dir: &Path, home: &Path, agrees: bool) -> (ToolContext, Arc<Mutex<Vec<String>>>) {
        let env = Env::from([("HOME", home.to_str().unwrap())]);
        let mut context = SessionContext::new(env, ToolPolicy::default());
        let requests = Arc::default();
        context.approval = Approval::Ask(Arc::new(Answers(agrees, Arc::clone(&requests))));
        context.working_dir.set(Root::open(dir).unwrap(), false);
        (
            ToolContext::new(Arc::new(context), Cancel::new(), Arc::new(NullSink)),
            requests,
        )
    }

    #[test]
    fn what_lies_outside_is_asked_for_by_its_real_name() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().canonicalize().unwrap();
        let work = home.join("work");
        fs::create_dir_all(work.join(".tickets")).unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id_x"), "KEY\n").unwrap();
        fs::write(work.join("in.txt"), "in\n").unwrap();
        std::os::unix::fs::symlink("../.ssh/id_x", work.join("readme.txt")).unwrap();
        std::os::unix::fs::symlink("in.txt", work.join("again.txt")).unwrap();
        let key = home.join(".ssh/id_x");
        let absolute = format!("@{}", key.display());
        for agrees in [false, true] {
            for name in ["@~/.ssh/id_x", "@readme.txt", "@../.ssh/id_x", &absolute] {
                let (ctx, requests) = ctx(&work, &home, agrees);
                let mut message = Vec::new();
                let out = with_files(name, &ctx, &mut |text| message.push(text));
                assert_eq!(out.contains("KEY"), agrees, "{name}: {out}");
                assert_eq!(*requests.lock().unwrap(), [key.to_str().unwrap()], "{name}");
                assert_eq!(
                    message.iter().any(|text| text.contains("declined")),
                    !agrees
                );
            }
            for name in ["@in.txt", "@again.txt", "@.", "@nobody", "@~/nobody"] {
                let (ctx, requests) = ctx(&work, &home, agrees);
                with_files(name, &ctx, &mut |_| ());
                assert!(requests.lock().unwrap().is_empty(), "{name}");
            }
            let (ctx, requests) = ctx(&work, &home, agrees);
            let out = with_files("@~/.ssh", &ctx, &mut |_| ());
            assert_eq!(out.contains("id_x"), agrees);
            assert_eq!(requests.lock().unwrap().len(), 1);
        }
    }

    #[test]
    fn names_stand_at_the_beginning_of_a_word() {
        assert_eq!(
            names("see @a.rs, @\"b c\" and x@y.z (@d) @a.rs @"),
            ["a.rs", "b c"]
        );
        assert_eq!(names("@é @日本.txt"), ["é", "日本.txt"]);
    }

    #[test]
    fn files_are_attached_within_the_budget_and_people_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "alpha\n").unwrap();
        fs::write(dir.path().join("bin"), b"a\0b").unwrap();
        fs::write(dir.path().join("big"), "x".repeat(250_000)).unwrap();
        let (ctx, _) = ctx(dir.path(), dir.path(), false);
        let mut notices = Vec::new();
        let mut attach = |text: &str| with_files(text, &ctx, &mut |message| notices.push(message));
        assert_eq!(attach("hi @nobody"), "hi @nobody");
        assert_eq!(
            attach("@a.txt"),
            "@a.txt\n\n<file name=\"a.txt\">\nalpha\n</file>"
        );
        assert_eq!(attach("@bin"), "@bin");
        assert!(attach("@big").contains("[Cut: 100000 of 250000 bytes."));
        attach("@big");
        attach("@big");
        assert_eq!(attach("@big"), "@big");
        assert_eq!(notices.len(), 2, "{notices:?}");
        assert!(notices[0].contains("binary") && notices[1].contains("300000"));
    }
}
