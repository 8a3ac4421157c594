//! The notes folder: where it is, and how names given by models map to its files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{escape_controls, nearest, uncapitalize};
use crate::disk::atomic;
use crate::disk::beneath::{FileKind, RelPath, Root};
use crate::disk::lock::Lock;
use crate::disk::paths::{PROJECT_NOTES, Paths};

pub(crate) const MAX_NOTE_BYTES: u64 = 64 << 20;
/// How long to wait for another process's write; less than the timeout of a call.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);
/// The folder's name in messages.
const CALLED: &str = "notes folder";
/// Longest file extension in characters, such as `.md`.
const ENDING: usize = 8;

/// The notes folder in use, which may not exist yet.
pub(crate) struct NotesDir {
    root: Option<Root>,
    project: bool,
    /// Ways of writing the folder that a path may start with.
    prefixes: Vec<String>,
}

/// Prevents two processes from writing notes at the same time. `None` where locks are not possible: a note is still written completely or not at all.
///
/// # Errors
/// Another writer does not end; the call was cancelled.
pub(crate) fn lock(paths: &Paths, stop: &Cancel) -> Outcome<Option<Lock>> {
    let Ok(path) = paths.notes_lock() else {
        return Ok(None);
    };
    match Lock::take(&path, LOCK_TIMEOUT, stop) {
        Ok(lock) => Ok(Some(lock)),
        Err(problem) if problem.kind == ProblemKind::System => Ok(None),
        Err(problem) => Err(problem),
    }
}

impl NotesDir {
    /// The notes folder: the project's if there is a project, else the user's.
    ///
    /// # Errors
    /// The home folder is unknown, or the folder cannot be opened.
    pub(crate) fn open(paths: &Paths, project: Option<Arc<Root>>) -> Outcome<Self> {
        let home = Self::unopened(paths, project.as_deref());
        let root = match project {
            Some(project) => {
                let rel = project.check(PROJECT_NOTES)?;
                match project.exists(&rel)? {
                    true => Some(project.inner(&rel)?),
                    false => None,
                }
            }
            None => {
                let dir = paths.notes()?;
                match dir.exists() {
                    true => Some(Root::open(&dir)?),
                    false => None,
                }
            }
        };
        Ok(home.with(root))
    }

    /// As [`Self::open`], and creates the folder if necessary.
    ///
    /// # Errors
    /// As [`NotesDir::open`], and when it cannot be made.
    pub(crate) fn make(paths: &Paths, project: Option<Arc<Root>>) -> Outcome<Self> {
        let home = Self::unopened(paths, project.as_deref());
        let root = match project {
            Some(project) => made_in(&project)?,
            None => {
                let dir = paths.notes()?;
                atomic::make_folder(&dir, atomic::Access::Usual)?;
                Root::open(&dir)?
            }
        };
        Ok(home.with(Some(root)))
    }

    fn unopened(paths: &Paths, project: Option<&Root>) -> Self {
        let mut prefixes: Vec<String> = ["~/Notes", "$HOME/Notes", PROJECT_NOTES]
            .map(str::to_owned)
            .to_vec();
        let own = paths.notes().ok();
        let of_project = project.map(|root| root.path().join(PROJECT_NOTES));
        for path in [own, of_project].into_iter().flatten() {
            prefixes.extend(path.canonicalize().ok().as_deref().and_then(text));
            prefixes.extend(text(&path));
        }
        Self {
            root: None,
            project: project.is_some(),
            prefixes,
        }
    }

    fn with(mut self, root: Option<Root>) -> Self {
        self.root = root.map(|root| root.called(CALLED));
        self
    }

    /// The folder's fence.
    ///
    /// # Errors
    /// The folder does not exist yet.
    pub(crate) fn root(&self) -> Outcome<&Root> {
        self.root.as_ref().ok_or_else(|| {
            let dir = self.shown(&RelPath::here());
            Problem::missing(format!(
                "Not found: there are no notes yet ({dir} does not exist)."
            ))
            .next("write_note makes the first one.")
        })
    }

    /// A path for display, starting at the home folder or the project.
    pub(crate) fn shown(&self, rel: &RelPath) -> String {
        let dir = if self.project {
            PROJECT_NOTES
        } else {
            "~/Notes"
        };
        match rel.is_here() {
            true => dir.to_owned(),
            false => format!("{dir}/{}", escape_controls(rel.as_str())),
        }
    }

    /// Finds the note that a caller means; it has to exist.
    ///
    /// # Errors
    /// No note of that name, with the nearest; what the fence refuses.
    pub(crate) fn existing(&self, text: &str) -> Outcome<RelPath> {
        let root = self.root()?;
        let names = self.names(text);
        for name in &names {
            let rel = root.check(name)?;
            if let Some(rel) = self.file(root, &rel)? {
                return Ok(rel);
            }
        }
        for name in &names {
            if let Some(rel) = other_case(root, &root.check(name)?) {
                return Ok(rel);
            }
        }
        let path = root.check(names.last().map_or(text, String::as_str))?;
        match root.metadata(&path) {
            // A folder: reading it will report that.
            Ok(_) => Ok(path),
            Err(mut problem) => {
                if problem.kind == ProblemKind::Missing {
                    problem.what = format!("Not found: {}", uncapitalize(&problem.what));
                    let hinted = problem.next.iter().any(|hint| hint.starts_with("Did you"));
                    if let Some(near) = similar_name(root, &path).filter(|_| !hinted) {
                        problem = problem.next(format!("Did you mean \"{near}\"?"));
                    }
                }
                Err(problem.next("notes_ls lists the notes, search_notes looks into them."))
            }
        }
    }

    /// The file for a note of this name: the existing one, else a new one with the extension `.md`.
    ///
    /// # Errors
    /// The name is invalid, or the fence refuses it.
    pub(crate) fn target(&self, text: &str) -> Outcome<RelPath> {
        let root = self.root()?;
        let names = self.names(text);
        for name in &names {
            let rel = root.check_write(name)?;
            if let Some(rel) = self.file(root, &rel)? {
                return Ok(rel);
            }
        }
        let name = names.last().map_or(text, String::as_str);
        let rel = root.check_write(name)?;
        nameable(&rel)?;
        if has_ending(rel.name().unwrap_or_default()) {
            return Ok(rel);
        }
        root.check_write(&format!("{rel}.md"))
    }

    /// The folder with this name; empty means the whole notes folder.
    ///
    /// # Errors
    /// The fence refuses it.
    pub(crate) fn folder(&self, text: &str) -> Outcome<RelPath> {
        let root = self.root()?;
        let path = self.without_prefix(text);
        if matches!(path, "" | "." | "/") {
            return Ok(RelPath::here());
        }
        let literal = root.check(path)?;
        let shorter = root.check(without_notes(path))?;
        let is_there = root.exists(&literal)?;
        Ok(if is_there { literal } else { shorter })
    }

    /// The folder to create.
    ///
    /// # Errors
    /// The name is invalid, or the fence refuses it.
    pub(crate) fn new_folder(&self, text: &str) -> Outcome<RelPath> {
        let path = self.without_prefix(text);
        let rel = self.root()?.check_write(without_notes(path))?;
        nameable(&rel)?;
        Ok(rel)
    }

    /// The path without the name of the notes folder in front, however it is written.
    fn without_prefix<'a>(&self, path: &'a str) -> &'a str {
        let mut path = path.trim();
        loop {
            path = path.strip_prefix("./").unwrap_or(path);
            let rest = self.prefixes.iter().find_map(|prefix| below(path, prefix));
            match rest {
                Some(rest) => path = rest,
                None => return path,
            }
        }
    }

    /// Possible paths for a name, the most likely first: as written, then without `Notes/`.
    fn names(&self, text: &str) -> Vec<String> {
        let path = self.without_prefix(text);
        let shorter = without_notes(path);
        match path == shorter {
            true => vec![path.to_owned()],
            false => vec![path.to_owned(), shorter.to_owned()],
        }
    }

    /// The name of a note that nothing was found for, as it is in the folder.
    pub(crate) fn name(&self, text: &str) -> String {
        self.names(text).pop().unwrap_or_default()
    }

    fn file(&self, root: &Root, rel: &RelPath) -> Outcome<Option<RelPath>> {
        let is_file = |rel: &RelPath| -> Outcome<bool> {
            Ok(root.exists(rel)? && root.metadata(rel)?.kind != FileKind::Folder)
        };
        if !rel.is_here() && is_file(rel)? {
            return Ok(Some(rel.clone()));
        }
        let longer = root.check(&format!("{rel}.md"))?;
        // A name that is too long only with the extension is fine without it.
        let there = rel.name().is_some_and(|name| name.len() < 252) && is_file(&longer)?;
        Ok(there.then_some(longer))
    }
}

fn made_in(project: &Arc<Root>) -> Outcome<Root> {
    let rel = project.check(PROJECT_NOTES)?;
    project.make_folder(&rel)?;
    project.inner(&rel)
}

fn text(path: impl Into<PathBuf>) -> Option<String> {
    path.into().to_str().map(str::to_owned)
}

/// The path after `prefix` and a slash.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    let head = path.get(..prefix.len())?;
    let rest = path.get(prefix.len()..)?;
    let same = head.eq_ignore_ascii_case(prefix) && (rest.is_empty() || rest.starts_with('/'));
    same.then(|| rest.trim_start_matches('/'))
}

/// The path without a leading `Notes/`; the word alone stays, because a note may have that name.
fn without_notes(path: &str) -> &str {
    match below(path, "Notes") {
        Some(rest) if !rest.is_empty() => rest,
        _ => path,
    }
}

/// The note whose name differs only in case, if there is just one.
fn other_case(root: &Root, rel: &RelPath) -> Option<RelPath> {
    let name = rel.name()?.to_lowercase();
    let parent = rel.parent();
    let entries = root.list(&parent).ok()?;
    let fits = |entry: &str| {
        let entry = entry.to_lowercase();
        entry == name || entry.strip_suffix(".md") == Some(&name)
    };
    let mut found = entries
        .iter()
        .filter(|entry| entry.kind == FileKind::File && fits(&entry.name));
    let (Some(one), None) = (found.next(), found.next()) else {
        return None;
    };
    match parent.is_here() {
        true => root.check(&one.name).ok(),
        false => root.check(&format!("{parent}/{}", one.name)).ok(),
    }
}

/// The note in the same folder with the most similar name, ignoring extensions.
fn similar_name(root: &Root, rel: &RelPath) -> Option<String> {
    let parent = rel.parent();
    let entries = root.list(&parent).ok()?;
    let stem = |name: &'_ str| {
        name.strip_suffix(".md")
            .map_or(name.to_owned(), str::to_owned)
    };
    let stems: Vec<(String, &str)> = entries
        .iter()
        .map(|entry| (stem(&entry.name), entry.name.as_str()))
        .collect();
    let wanted = stem(rel.name()?);
    let best = *nearest(&wanted, stems.iter().map(|(stem, _)| stem.as_str())).first()?;
    let (_, name) = stems.iter().find(|(stem, _)| stem == best)?;
    Some(match parent.is_here() {
        true => (*name).to_owned(),
        false => format!("{parent}/{name}"),
    })
}

/// Refuses names that no listing could show.
fn nameable(rel: &RelPath) -> Outcome<()> {
    if rel.is_here() {
        return Err(Problem::input("The note has no name.").next("For example ideas/garden.md."));
    }
    if rel.as_str().chars().any(char::is_control) {
        return Err(Problem::refused(format!(
            "The name \"{}\" holds control characters.",
            escape_controls(rel.as_str())
                .replace('\n', "\\n")
                .replace('\t', "\\t")
        ))
        .next("Use letters, digits, spaces and dashes."));
    }
    Ok(())
}

/// Whether a name has a file extension: a dot and a few letters or digits, at least one of them a letter.
fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=ENDING).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_are_told_from_dots() {
        for (name, ends) in [
            ("a.md", true),
            ("a.markdown", true),
            ("a", false),
            ("v1.2", false),
            ("to do. later", false),
            (".hidden", false),
            ("a.", false),
            ("archive.7z", true),
        ] {
            assert_eq!(has_ending(name), ends, "{name}");
        }
    }

    #[test]
    fn the_folders_own_name_is_taken_off_by_whole_parts() {
        let home = NotesDir {
            root: None,
            project: false,
            prefixes: vec!["~/Notes".into(), "/home/ann/Notes".into()],
        };
        for (given, path) in [
            ("~/Notes/x.md", "x.md"),
            ("~/notes//x.md", "x.md"),
            ("/home/ann/Notes/a/x", "a/x"),
            ("./~/Notes/./x", "x"),
            ("~/Notesx/x", "~/Notesx/x"),
            ("~/Notes", ""),
            ("/home/ann/Notes2/x", "/home/ann/Notes2/x"),
            ("é~/Notes/x", "é~/Notes/x"),
        ] {
            assert_eq!(home.without_prefix(given), path, "{given}");
        }
        assert_eq!(home.names("Notes/x"), ["Notes/x", "x"]);
        assert_eq!(home.names("Notes"), ["Notes"]);
        assert_eq!(home.names("Notesx/x"), ["Notesx/x"]);
    }
}
