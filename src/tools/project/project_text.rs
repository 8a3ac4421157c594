//! The texts of project files, read and written as whole files: on disk, or through the editor that drives the session, so that unsaved text is seen and the
//! editor's undo knows what was written. The fence comes first either way, and a preview writes nothing.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::chat::display::Display;
use crate::disk::beneath::{RelPath, Root};
use crate::disk::paths::TICKETS;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::editor_files::EditorFiles;

/// Parts of a path that no editor is asked about.
const OWN_PARTS: [&str; 2] = [".git", TICKETS];
/// Bytes at the beginning of a file that tell whether it is text.
const LOOKED_AT: u64 = 8_000;

/// The files of one call.
pub(crate) struct ProjectText<'a> {
    root: &'a Root,
    editor: Option<(&'a dyn EditorFiles, &'a Cancel)>,
    is_preview: bool,
    /// The folder is one beside the working directory.
    is_beside: bool,
}

impl<'a> ProjectText<'a> {
    /// Those of a call.
    pub(crate) fn of(ctx: &'a ToolContext, root: &'a Root) -> Self {
        let editor = ctx.session.editor.as_deref();
        Self {
            root,
            editor: editor.map(|editor| (editor, &ctx.stop)),
            is_preview: ctx.is_preview,
            is_beside: (ctx.session.working_dir.root()).is_none_or(|own| own.path() != root.path()),
        }
    }

    /// Those on disk.
    #[cfg(test)]
    pub(crate) fn on_disk(root: &'a Root) -> Self {
        Self {
            root,
            editor: None,
            is_preview: false,
            is_beside: false,
        }
    }

    pub(crate) fn root(&self) -> &Root {
        self.root
    }

    /// An edit of these files as it is shown: a file beside the working directory by its whole path, because there may be one of the same name in it.
    pub(crate) fn shown(&self, edit: Display) -> Display {
        match self.is_beside {
            true => edit.in_folder(self.root.path()),
            false => edit,
        }
    }

    /// The text of a file as the editor has it; none where the disk has to be asked.
    ///
    /// # Errors
    /// The fence refuses the file, or the editor cannot tell.
    pub(crate) fn in_editor(&self, rel: &RelPath) -> Outcome<Option<String>> {
        let Some((editor, stop)) = self.editor.filter(|(editor, _)| editor.reads()) else {
            return Ok(None);
        };
        let is_own = |rel: &RelPath| rel.parts().any(|part| OWN_PARTS.contains(&part));
        let Some(real) = self.without_links(rel) else {
            return Ok(None);
        };
        if is_own(rel) || is_own(&real) {
            return Ok(None);
        }
        let path = self.root.path().join(real.as_str());
        if !self.root.exists(&real)? {
            // It may be new and not saved yet. Editors say in many ways that they do not have a file, an empty text among them.
            let text = editor.read(&path, stop);
            stop.check()?;
            return Ok(text.ok().flatten().filter(|text| !text.is_empty()));
        }
        let mut file = self.root.open_read(&real)?;
        let mut start = Vec::new();
        let looked = (&mut file).take(LOOKED_AT).read_to_end(&mut start);
        if looked.is_err() || start.contains(&0) {
            return Ok(None);
        }
        editor.read(&path, stop)
    }

    /// The path of the file itself, which an editor knows it by. None where links lead out of the folder or to nothing.
    fn without_links(&self, rel: &RelPath) -> Option<RelPath> {
        if !self.root.goes_through_link(rel) {
            return Some(rel.clone());
        }
        let real = self.root.path().join(rel.as_str()).canonicalize().ok()?;
        let real = real
            .strip_prefix(self.root.path().canonicalize().ok()?)
            .ok()?;
        let rel = self.root.check(real.to_str()?).ok()?;
        // Whoever has put a link there since is not followed.
        (!self.root.goes_through_link(&rel)).then_some(rel)
    }

    /// The bytes of a file, at most `max` of them.
    ///
    /// # Errors
    /// As [`ProjectText::in_editor`], or it is longer.
    pub(crate) fn read(&self, rel: &RelPath, max: u64) -> Outcome<Vec<u8>> {
        match self.in_editor(rel)? {
            Some(text) if u64::try_from(text.len()).unwrap_or(u64::MAX) <= max => Ok(text.into()),
            Some(_) => Err(Problem::limit(format!(
                "{rel} is longer than {max} bytes in the editor."
            ))),
            None => self.root.read(rel, max),
        }
    }

    /// Whether a write goes another way than to the disk: then the text before it has to be read.
    pub(crate) fn writes_elsewhere(&self) -> bool {
        self.is_preview || self.editor.is_some_and(|(editor, _)| editor.writes())
    }

    fn write(
        &self,
        rel: &RelPath,
        text: &str,
        to_disk: impl FnOnce() -> Outcome<()>,
    ) -> Outcome<()> {
        match self.editor.filter(|(editor, _)| editor.writes()) {
            _ if self.is_preview => Ok(()),
            None => to_disk(),
            Some((editor, stop)) => {
                self.require_plain(rel)?;
                editor.write(&self.root.path().join(rel.as_str()), text, stop)
            }
        }
    }

    /// An editor follows links and knows no modes, so what is written through it is a plain file of the folder or a new one.
    fn require_plain(&self, rel: &RelPath) -> Outcome<()> {
        if self.root.goes_through_link(rel) {
            return Err(Problem::refused(format!(
                "{rel} leads through a symbolic link, which the editor would follow wherever it leads."
            ))
            .next("Change the file that it leads to, by its own path."));
        }
        match fs::symlink_metadata(self.root.path().join(rel.as_str())) {
            Ok(about) if !about.is_file() => {
                Err(Problem::refused(format!("{rel} is not a plain file.")))
            }
            _ => Ok(()),
        }
    }

    /// As [`Root::create_new`].
    ///
    /// # Errors
    /// As there, or the editor cannot write it.
    pub(crate) fn create_new(&self, rel: &RelPath, text: &str) -> Outcome<()> {
        self.write(rel, text, || self.root.create_new(rel, text.as_bytes()))
    }

    /// As [`Root::replace`].
    ///
    /// # Errors
    /// As there, or the editor cannot write it.
    pub(crate) fn replace(&self, rel: &RelPath, text: &str) -> Outcome<()> {
        self.write(rel, text, || self.root.replace(rel, text.as_bytes()))
    }

    /// As [`Root::put`].
    ///
    /// # Errors
    /// As there, or the editor cannot write it.
    pub(crate) fn put(&self, rel: &RelPath, text: &str) -> Outcome<()> {
        self.write(rel, text, || self.root.put(rel, text.as_bytes()))
    }

    /// Writes the text of a file that moves to `to`. A program stays one, so it is written on disk: an editor knows no modes.
    ///
    /// # Errors
    /// As [`Root::put_like`], or the editor cannot write it.
    pub(crate) fn put_like(&self, to: &RelPath, text: &str, like: &RelPath) -> Outcome<()> {
        let to_disk = || self.root.put_like(to, text.as_bytes(), like);
        match self.is_program(like) {
            true if self.is_preview => Ok(()),
            true => to_disk(),
            false => self.write(to, text, to_disk),
        }
    }

    fn is_program(&self, rel: &RelPath) -> bool {
        let about = fs::metadata(self.root.path().join(rel.as_str()));
        about.is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
    }

    /// As [`Root::remove_file`], always on disk.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn remove_file(&self, rel: &RelPath) -> Outcome<()> {
        match self.is_preview {
            true => Ok(()),
            false => self.root.remove_file(rel),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::base::env::Env;
    use crate::tools::engine::preview::preview;
    use crate::tools::engine::registry;

    /// Knows one file, and keeps what it was told to write.
    #[derive(Default)]
    struct Buffers {
        text: Option<String>,
        read: Mutex<Vec<PathBuf>>,
        written: Mutex<Vec<(String, String)>>,
    }

    impl EditorFiles for Buffers {
        fn reads(&self) -> bool {
            true
        }

        fn writes(&self) -> bool {
            true
        }

        fn read(&self, path: &Path, _: &Cancel) -> Outcome<Option<String>> {
            self.read.lock().unwrap().push(path.to_owned());
            Ok(self.text.clone())
        }

        fn write(&self, path: &Path, text: &str, _: &Cancel) -> Outcome<()> {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            self.written.lock().unwrap().push((name, text.to_owned()));
            Ok(())
        }
    }

    fn context(dir: &Path, editor: Option<Arc<Buffers>>) -> ToolContext {
        let mut ctx = ToolContext::for_tests(Env::default());
        let session = Arc::get_mut(&mut ctx.session).unwrap();
        session.working_dir.set(Root::open(dir).unwrap(), true);
        session.editor = editor.map(|editor| editor as Arc<dyn EditorFiles>);
        ctx
    }

    fn call(ctx: &ToolContext, name: &str, args: serde_json::Value) -> Outcome<String> {
        registry::dispatch(ctx, name, &args.to_string()).map(|done| done.text)
    }

    #[test]
    fn unsaved_text_is_read_and_changed_and_the_disk_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "on disk\n").unwrap();
        let buffers = Arc::new(Buffers {
            text: Some("not saved\n".to_owned()),
            ..Buffers::default()
        });
        let ctx = context(dir.path(), Some(Arc::clone(&buffers)));
        let path = serde_json::json!({"path": "a.txt"});
        assert_eq!(call(&ctx, "read_file", path).unwrap(), "1. not saved\n");
        let change = serde_json::json!({"path": "a.txt", "old_str": "not", "new_str": "NOT"});
        call(&ctx, "apply_patch", change).unwrap();
        let more = serde_json::json!({"path": "a.txt", "content": "more\n"});
        call(&ctx, "append_file", more).unwrap();
        let new = serde_json::json!({"path": "new.txt", "content": "new\n"});
        call(&ctx, "create_file", new).unwrap();
        let written = buffers.written.lock().unwrap().clone();
        let written: Vec<(&str, &str)> = (written.iter())
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        assert_eq!(
            written,
            [
                ("a.txt", "NOT saved\n"),
                ("a.txt", "not saved\nmore\n"),
                ("new.txt", "new\n"),
            ]
        );
        assert_eq!(
            fs::read_to_string(dir.path().join("a.txt")).unwrap(),
            "on disk\n"
        );
        assert!(!dir.path().join("new.txt").exists());
    }

    #[test]
    fn the_fence_comes_before_the_editor() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("in");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/config"), "[core]\n").unwrap();
        fs::write(root.join("binary"), b"a\0b").unwrap();
        fs::write(dir.path().join("out"), "secret\n").unwrap();
        std::os::unix::fs::symlink("../out", root.join("link")).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        for (to, link) in [
            ("plain", "inside"),
            ("../plain", "sub/inside"),
            ("sub", "folder"),
            (".git/config", "config"),
        ] {
            std::os::unix::fs::symlink(to, root.join(link)).unwrap();
        }
        fs::write(root.join("plain"), "plain\n").unwrap();
        let buffers = Arc::new(Buffers {
            text: Some("of the editor\n".to_owned()),
            ..Buffers::default()
        });
        let ctx = context(&root, Some(Arc::clone(&buffers)));
        let read = |path: &str| call(&ctx, "read_file", serde_json::json!({"path": path}));
        for path in ["../out", "link", "/etc/hostname", "binary"] {
            assert!(read(path).is_err(), "{path}");
        }
        // An editor knows the file by its own path, wherever in the folder a link to it or to its folder is.
        for path in ["inside", "sub/inside", "folder/inside"] {
            assert_eq!(read(path).unwrap(), "1. of the editor\n", "{path}");
            let asked = buffers.read.lock().unwrap().pop().unwrap();
            assert!(asked.ends_with("in/plain"), "{path}: {asked:?}");
        }
        // What no editor is asked about is not asked about through a link either.
        assert_eq!(read("config").unwrap(), "1. [core]\n");
        assert!(buffers.read.lock().unwrap().is_empty());
        for path in ["inside", "link", ".git/hooks/x", "../x"] {
            let change = serde_json::json!({"path": path, "old_str": "of", "new_str": "x"});
            assert!(call(&ctx, "apply_patch", change).is_err(), "{path}");
            let new = serde_json::json!({"path": path, "content": "x"});
            assert!(call(&ctx, "create_file", new).is_err(), "{path}");
        }
        assert!(buffers.written.lock().unwrap().is_empty());
    }

    #[test]
    fn a_preview_shows_the_change_and_writes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.txt"), "one\ntwo\n").unwrap();
        let ctx = context(dir.path(), None);
        let freeform = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-two\n+2\n*** Add File: c\n+x\n*** End Patch";
        for (name, args, files) in [
            (
                "create_file",
                serde_json::json!({"path": "new", "content": "x"}),
                1,
            ),
            (
                "append_file",
                serde_json::json!({"path": "a.txt", "content": "three\n"}),
                1,
            ),
            (
                "apply_patch",
                serde_json::json!({"path": "a.txt", "old_str": "two", "new_str": "2"}),
                1,
            ),
            ("apply_patch", serde_json::json!({"input": freeform}), 2),
        ] {
            let args = args.as_object().unwrap();
            let Ok(Some(Display::Changes { files: shown })) = preview(&ctx, name, args) else {
                panic!("{name}: no preview");
            };
            assert_eq!(shown.len(), files, "{name}");
            let mut entries = fs::read_dir(dir.path()).unwrap();
            assert_eq!(entries.next().unwrap().unwrap().file_name(), "a.txt");
            assert!(entries.next().is_none(), "{name}");
            let text = fs::read_to_string(dir.path().join("a.txt")).unwrap();
            assert_eq!(text, "one\ntwo\n", "{name}");
        }
        let args = serde_json::json!({"command": "touch made"});
        let previewed = preview(&ctx, "run_command", args.as_object().unwrap());
        assert_eq!(previewed.unwrap(), None);
        assert!(!dir.path().join("made").exists());
    }
}
