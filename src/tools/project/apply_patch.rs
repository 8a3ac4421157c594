//! Applies a parsed patch beneath a working directory.

use crate::base::problem::{Outcome, Problem};
use crate::chat::change::FileChange;
use crate::disk::beneath::RelPath;
use crate::formats::patch::edit::new_text;
use crate::formats::patch::parse::{Patch, Section};
use crate::tools::output::file_edit::MAX_SHOWN_BYTES;
use crate::tools::project::project_text::ProjectText;

/// Maximum size of a file to be changed.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The changes made, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchReport {
    /// Files added.
    pub added: Vec<String>,
    /// Files changed; a moved one under its new path.
    pub modified: Vec<String>,
    /// Files removed.
    pub deleted: Vec<String>,
    /// What was in the files before and after, in the order in which they were first changed.
    edits: Vec<FileEdit>,
}

/// The texts of a file before and after; none where there was no file, or none that can be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct FileEdit {
    path: String,
    moved_from: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

impl PatchReport {
    /// The result for the model, in the wording of the original `apply_patch` program, which models are trained on.
    pub(crate) fn text(&self) -> String {
        format!(
            "Success. Updated the following files:\n{}",
            self.lines().join("\n")
        ) + "\n"
    }

    /// What became of each file, however many sections changed it.
    pub(crate) fn changes(&self) -> Vec<FileChange> {
        let change = |edit: &FileEdit| {
            let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
            let change = FileChange::between(&edit.path, before, after);
            match &edit.moved_from {
                Some(from) => change.moved_from(from),
                None => change,
            }
        };
        self.edits.iter().map(change).collect()
    }

    fn add_edit(&mut self, edit: FileEdit) {
        let earlier_path = edit.moved_from.as_ref().unwrap_or(&edit.path);
        let earlier = self.edits.iter_mut();
        match earlier.rev().find(|earlier| earlier.path == *earlier_path) {
            Some(earlier) => {
                if edit.path != earlier.path {
                    let from = std::mem::replace(&mut earlier.path, edit.path);
                    earlier.moved_from.get_or_insert(from);
                }
                earlier.after = edit.after;
            }
            None => self.edits.push(edit),
        }
    }

    /// `A path`, `M path`, `D path`.
    fn lines(&self) -> Vec<String> {
        let letter = |letter: char, paths: &[String]| -> Vec<String> {
            paths
                .iter()
                .map(|path| format!("{letter} {path}"))
                .collect()
        };
        [
            letter('A', &self.added),
            letter('M', &self.modified),
            letter('D', &self.deleted),
        ]
        .concat()
    }
}

/// A section whose paths were checked.
enum CheckedSection<'a> {
    Add(RelPath, &'a str),
    Delete(RelPath),
    Update {
        from: RelPath,
        to: Option<RelPath>,
        section: &'a Section,
    },
}

/// Applies a patch. Every path of all sections goes through [`Root::check_write`] and `gate` before the first write; then the sections are applied in order.
/// The first failure ends it; earlier sections stay applied.
///
/// # Errors
/// A refused path (nothing was changed), or a failed section: the problem lists what was done before.
pub(crate) fn apply(
    files: &ProjectText<'_>,
    patch: &Patch,
    gate: &dyn Fn(&RelPath) -> Outcome<()>,
) -> Outcome<PatchReport> {
    let check = |path: &str| -> Outcome<RelPath> {
        let rel = files.root().check_write(path)?;
        gate(&rel)?;
        Ok(rel)
    };
    let mut checked = Vec::new();
    for section in &patch.sections {
        checked.push(match section {
            Section::Add { path, text } => CheckedSection::Add(check(path)?, text),
            Section::Delete { path } => CheckedSection::Delete(check(path)?),
            Section::Update { path, to, .. } => CheckedSection::Update {
                from: check(path)?,
                to: to.as_deref().map(check).transpose()?,
                section,
            },
        });
    }
    let mut report = PatchReport::default();
    for step in &checked {
        take(files, step, &mut report).map_err(|problem| with_done(problem, &report))?;
    }
    Ok(report)
}

fn take(
    files: &ProjectText<'_>,
    step: &CheckedSection<'_>,
    report: &mut PatchReport,
) -> Outcome<()> {
    match step {
        CheckedSection::Add(rel, text) => {
            let before = shown_text(files, rel);
            files.put(rel, text)?;
            report.added.push(rel.to_string());
            report.add_edit(FileEdit {
                path: rel.to_string(),
                before,
                after: Some((*text).to_owned()),
                ..FileEdit::default()
            });
        }
        CheckedSection::Delete(rel) => {
            // A file that cannot be shown was there all the same.
            let before = shown_text(files, rel).unwrap_or_default();
            files.remove_file(rel)?;
            report.deleted.push(rel.to_string());
            report.add_edit(FileEdit {
                path: rel.to_string(),
                before: Some(before),
                ..FileEdit::default()
            });
        }
        CheckedSection::Update { from, to, section } => {
            let Section::Update { chunks, .. } = section else {
                return Ok(());
            };
            let old = String::from_utf8(files.read(from, MAX_FILE_BYTES)?).map_err(|error| {
                Problem::input(format!(
                    "\"{from}\" is not UTF-8 text, so it cannot be patched."
                ))
                .because(error)
            })?;
            let new = new_text(&old, chunks, from.as_str())?;
            let moved_to = match to {
                // The same file under another name, through a link, is changed in place.
                Some(to) if !files.root().is_same_file(from, to)? => {
                    files.put_like(to, &new, from)?;
                    // From here on the target counts as changed, even if removing the source fails.
                    report.modified.push(to.to_string());
                    files.remove_file(from)?;
                    Some(to)
                }
                _ => {
                    files.replace(from, &new)?;
                    report
                        .modified
                        .push(to.as_ref().unwrap_or(from).to_string());
                    None
                }
            };
            report.add_edit(FileEdit {
                path: moved_to.unwrap_or(from).to_string(),
                moved_from: moved_to.map(|_| from.to_string()),
                before: Some(old),
                after: Some(new),
            });
        }
    }
    Ok(())
}

/// The text of a file that is about to go, if it is one to show.
fn shown_text(files: &ProjectText<'_>, rel: &RelPath) -> Option<String> {
    String::from_utf8(files.read(rel, MAX_SHOWN_BYTES).ok()?).ok()
}

fn with_done(problem: Problem, report: &PatchReport) -> Problem {
    let lines = report.lines();
    if lines.is_empty() {
        return problem.next("Nothing was changed.");
    }
    problem.next(format!(
        "Done before that, and kept: {}. The sections after it were not tried; send only those that are missing.",
        lines.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::disk::beneath::Root;
    use crate::formats::patch::parse::parse;
    use std::fs;

    fn run(dir: &std::path::Path, body: &str) -> Outcome<PatchReport> {
        let patch = parse(&format!("*** Begin Patch\n{body}\n*** End Patch"))?;
        apply(
            &ProjectText::on_disk(&Root::open(dir)?),
            &patch,
            &|_| Ok(()),
        )
    }

    #[test]
    fn all_paths_are_checked_before_the_first_write() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("u"), "a\n").unwrap();
        std::os::unix::fs::symlink("..", dir.path().join("up")).unwrap();
        for path in [
            "/tmp/x",
            "../x",
            ".tickets/x",
            "a/../../x",
            ".git/hooks/x",
            "up/x",
            ".marvin/upstream/x",
            "x\0",
        ] {
            for section in [
                format!("*** Add File: {path}\n+x"),
                format!("*** Delete File: {path}"),
                format!("*** Update File: {path}\n@@\n-a\n+b"),
                format!("*** Update File: u\n*** Move to: {path}\n@@\n-a\n+b"),
            ] {
                let text = format!("*** Add File: first\n+x\n{section}");
                assert!(run(dir.path(), &text).is_err(), "{text}");
                assert!(!dir.path().join("first").exists(), "{text}");
            }
        }
        let patch =
            parse("*** Begin Patch\n*** Add File: first\n+x\n*** Delete File: u\n*** End Patch")
                .unwrap();
        let gate = |rel: &RelPath| match rel.as_str() {
            "u" => Err(Problem::refused("not this one")),
            _ => Ok(()),
        };
        let problem = apply(
            &ProjectText::on_disk(&Root::open(dir.path()).unwrap()),
            &patch,
            &gate,
        )
        .unwrap_err();
        assert_eq!(problem.what, "not this one");
        assert!(!dir.path().join("first").exists());
        assert_eq!(fs::read_to_string(dir.path().join("u")).unwrap(), "a\n");
    }

    #[test]
    fn a_failure_lists_the_sections_already_applied() {
        let dir = tempfile::tempdir().unwrap();
        let problem = run(
            dir.path(),
            "*** Add File: a/b\n+x\n*** Delete File: missing\n*** Add File: c\n+x",
        )
        .unwrap_err();
        let text = problem.for_model();
        assert!(text.contains("A a/b") && text.contains("missing"), "{text}");
        assert!(dir.path().join("a/b").exists() && !dir.path().join("c").exists());
        fs::write(dir.path().join("latin"), b"caf\xe9\n").unwrap();
        let problem = run(dir.path(), "*** Update File: latin\n@@\n-x\n+y").unwrap_err();
        assert_has(&problem.one_line(), &["not UTF-8", "Nothing was changed"]);
    }

    #[test]
    fn changes_have_the_numbers_of_the_files() {
        let dir = tempfile::tempdir().unwrap();
        let lines: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        fs::write(dir.path().join("a"), &lines).unwrap();
        fs::write(dir.path().join("gone"), "x\ny\n").unwrap();
        fs::write(dir.path().join("old"), "1\n2\n").unwrap();
        fs::write(dir.path().join("over"), "was\n").unwrap();
        let output = run(
            dir.path(),
            "*** Update File: a\n@@ line 9\n-line 10\n+line ten\n@@\n line 29\n-line 30\n*** Add File: b/new\n+one\n*** Delete File: gone\n\
             *** Update File: old\n*** Move to: moved\n@@\n-2\n+two\n*** Add File: over\n+is\n*** Update File: a\n@@\n-line 40\n+line forty",
        )
        .unwrap();
        let shown: Vec<String> = output.changes().iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "--- a/a\n+++ b/a\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+line ten\n line 11\n line 12\n line 13\n\
                 @@ -27,7 +27,6 @@\n line 27\n line 28\n line 29\n-line 30\n line 31\n line 32\n line 33\n\
                 @@ -37,4 +36,4 @@\n line 37\n line 38\n line 39\n-line 40\n+line forty\n",
                "--- /dev/null\n+++ b/b/new\n@@ -0,0 +1,1 @@\n+one\n",
                "--- a/gone\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n",
                "--- a/old\n+++ b/moved\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n",
                "--- a/over\n+++ b/over\n@@ -1,1 +1,1 @@\n-was\n+is\n",
            ]
        );
    }

    #[test]
    fn a_move_onto_itself_keeps_the_file_and_a_folder_is_not_deleted() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "a\n").unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        let output = run(
            dir.path(),
            "*** Update File: f\n*** Move to: ./f\n@@\n-a\n+b",
        )
        .unwrap();
        assert_eq!(
            output.text(),
            "Success. Updated the following files:\nM f\n"
        );
        assert_eq!(fs::read_to_string(dir.path().join("f")).unwrap(), "b\n");
        assert!(run(dir.path(), "*** Delete File: d").is_err());
        assert!(run(dir.path(), "*** Add File: d\n+x").is_err());
    }
}
