//! Features: parts of a project that are built one after the other, each with a folder `specs/NNN-name` for its documents and a branch for its work.

use std::fmt;

use super::places::number;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, one_line};
use crate::disk::beneath::{FileKind, Root};
use crate::disk::paths::{FEATURES, PROJECT_LOGS};

/// A longer name makes no good branch.
const MAX_NAME_CHARS: usize = 40;

/// What the user calls a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeatureName(String);

impl FeatureName {
    /// Reads the value of `--feature`.
    ///
    /// # Errors
    /// It cannot be the name of a folder and of a branch.
    pub(crate) fn parse(word: &str) -> Outcome<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_name = (1..=MAX_NAME_CHARS).contains(&word.len())
            && word.chars().all(is_plain)
            && !word.starts_with('-')
            && !word.ends_with('-');
        if is_name {
            return Ok(Self(word.to_owned()));
        }
        Err(Problem::input(format!(
            "\"{}\" cannot be the name of a feature.",
            clip(&one_line(word), 60)
        ))
        .next(format!(
            "Use letters (a to z), digits and hyphens between them, at most {MAX_NAME_CHARS}: --feature user-login"
        )))
    }

    /// The number that it begins with as a folder does.
    pub(crate) fn number(&self) -> Option<u32> {
        number(&self.0)
    }

    /// Whether the feature with the folder `NNN-name` is meant: by its name, or with its number.
    pub(crate) fn means(&self, folder: &str) -> bool {
        self.0 == folder || name_of(folder) == Some(&self.0)
    }
}

impl fmt::Display for FeatureName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Whether a word of the user's means the feature with the folder `NNN-name`.
pub(crate) fn means(word: &str, folder: &str) -> bool {
    FeatureName::parse(word).is_ok_and(|name| name.means(folder))
}

/// The name in `NNN-name`.
fn name_of(folder: &str) -> Option<&str> {
    number(folder)?;
    Some(folder.split_once('-')?.1)
}

/// Whether a word can be the folder of a feature. Records of a repository that was unpacked from an archive are a stranger's.
pub(crate) fn is_folder(word: &str) -> bool {
    name_of(word).is_some_and(|name| FeatureName::parse(name).is_ok())
}

/// The folders of the features that a project has, by their numbers.
pub(crate) fn in_tree(root: &Root) -> Vec<String> {
    folders(root, FEATURES)
}

/// The features that were begun in the project, whatever is there of them now.
pub(crate) fn logged(root: &Root) -> Vec<String> {
    folders(root, PROJECT_LOGS)
}

fn folders(root: &Root, path: &str) -> Vec<String> {
    let entries = root.check(path).and_then(|rel| root.list(&rel));
    let folders = entries.unwrap_or_default().into_iter();
    let mut folders: Vec<String> = folders
        .filter(|entry| entry.kind == FileKind::Folder && is_folder(&entry.name))
        .map(|entry| entry.name)
        .collect();
    folders.shared_sort_by_key(|folder| number(folder));
    folders
}

/// The folder of a feature that the project in `root` has: the newest of that name.
pub(crate) fn find(root: &Root, name: &FeatureName) -> Option<String> {
    let folders = in_tree(root).into_iter().rev();
    folders.into_iter().find(|folder| name.means(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_letters_digits_and_hyphens_and_others_are_told_so() {
        for name in ["login", "a", "OAuth-2", "2fa", &"x".repeat(40)] {
            assert_eq!(FeatureName::parse(name).unwrap().to_string(), name);
        }
        for name in [
            "",
            "-",
            "-x",
            "x-",
            "a b",
            "a/b",
            "..",
            "größe",
            "a_b",
            "a.b",
            "x\u{1b}[31m",
            &"x".repeat(41),
        ] {
            let problem = FeatureName::parse(name).unwrap_err().one_line();
            assert!(
                problem.contains("letters (a to z), digits and hyphens")
                    && !problem.contains('\u{1b}'),
                "{problem}"
            );
        }
    }
}
