//! Trees that are made of others by replacing files in them, without an index and without touching a file.

use std::collections::BTreeMap;

use super::{Git, output};
use crate::base::problem::Outcome;

/// What a tree has under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    /// Mode, kind and id, as git lists them.
    words: String,
}

impl TreeEntry {
    fn tree(&self) -> Option<&str> {
        let mut words = self.words.split(' ').skip(1);
        (words.next() == Some("tree")).then(|| words.next())?
    }
}

/// New contents by paths from the top; none where a file is to be gone.
pub(crate) type Replacements = BTreeMap<String, Option<TreeEntry>>;

impl Git<'_> {
    /// The id of a commit's tree.
    pub(crate) fn tree_of(&self, commit: &str) -> Outcome<String> {
        let id = self.text(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])?;
        Ok(id.trim().to_owned())
    }

    /// The files of a commit among `paths`, which are from the top.
    pub(crate) fn files_of(
        &self,
        commit: &str,
        paths: &[String],
    ) -> Outcome<BTreeMap<String, TreeEntry>> {
        let list = ["ls-tree", "-r", "-z", "--full-tree", commit, "--"];
        let paths = paths.iter().map(String::as_str);
        let args: Vec<&str> = list.into_iter().chain(paths).collect();
        let found = self.entries(&args)?.into_iter();
        Ok(found
            .map(|(name, entry)| (String::from_utf8_lossy(&name).into_owned(), entry))
            .collect())
    }

    /// The text of the file of a commit at `path`, which is from the top; `None` when it has none there.
    pub(crate) fn file_of(&self, commit: &str, path: &str) -> Outcome<Option<String>> {
        let found = self.run(&["cat-file", "blob", &format!("{commit}:{path}")])?;
        Ok(found.success().then(|| found.stdout.text()))
    }

    /// The id of `tree` with other files in it.
    pub(crate) fn tree_with(&self, tree: &str, files: &Replacements) -> Outcome<String> {
        let changes: Vec<(&str, Option<&TreeEntry>)> = files
            .iter()
            .map(|(path, entry)| (path.as_str(), entry.as_ref()))
            .collect();
        match self.replaced(Some(tree), &changes)? {
            Some(id) => Ok(id),
            None => self.made_tree(&BTreeMap::new()),
        }
    }

    fn replaced(
        &self,
        tree: Option<&str>,
        changes: &[(&str, Option<&TreeEntry>)],
    ) -> Outcome<Option<String>> {
        let mut entries = match tree {
            Some(tree) => self.entries(&["ls-tree", "-z", "--full-tree", tree])?,
            None => BTreeMap::new(),
        };
        let mut below: BTreeMap<&str, Vec<(&str, Option<&TreeEntry>)>> = BTreeMap::new();
        for (path, entry) in changes {
            match (path.split_once('/'), entry) {
                (Some((folder, rest)), _) => {
                    below.entry(folder).or_default().push((rest, *entry));
                }
                (None, Some(entry)) => {
                    entries.insert(path.as_bytes().to_vec(), (*entry).clone());
                }
                (None, None) => {
                    entries.remove(path.as_bytes());
                }
            }
        }
        for (folder, changes) in below {
            let name = folder.as_bytes().to_vec();
            let known = entries.get(&name).and_then(TreeEntry::tree);
            match self.replaced(known, &changes)? {
                Some(id) => {
                    let words = format!("040000 tree {id}");
                    entries.insert(name, TreeEntry { words });
                }
                None => {
                    entries.remove(&name);
                }
            }
        }
        match entries.is_empty() {
            true => Ok(None),
            false => self.made_tree(&entries).map(Some),
        }
    }

    fn made_tree(&self, entries: &BTreeMap<Vec<u8>, TreeEntry>) -> Outcome<String> {
        let mut input = Vec::new();
        for (name, entry) in entries {
            input.extend([entry.words.as_bytes(), b"\t", name.as_slice(), b"\0"].concat());
        }
        let make = self.with_settings(&["mktree", "-z"]);
        let done = self.launch.feed(make, input)?;
        Ok(self.git_output(done)?.trim().to_owned())
    }

    /// What `ls-tree -z` lists: `MODE KIND ID`, a tab and the name.
    fn entries(&self, args: &[&str]) -> Outcome<BTreeMap<Vec<u8>, TreeEntry>> {
        let mut found = BTreeMap::new();
        let done = self
            .launch
            .split(&self.with_settings(args), None, &mut |line| {
                let Some(tab) = line.iter().position(|byte| *byte == b'\t') else {
                    return;
                };
                let (words, name) = line.split_at(tab);
                let words = String::from_utf8_lossy(words).into_owned();
                let name = name.get(1..).unwrap_or_default().to_vec();
                found.insert(name, TreeEntry { words });
            })?;
        output::git_output(&self.launch.dir, done)?;
        Ok(found)
    }
}
