//! The listing of a working directory: a small tree, built level by level, whose cost is bounded by its size.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::rc::Rc;

use rustix::fd::AsFd;
use rustix::fs::{AtFlags, statat};

use super::ignored::{GIT_IGNORE, IgnoreRules};
use super::open_beneath;
use super::read::{DirEntry, FileKind};
use super::root::Root;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls, plural};
use crate::base::word_list::WordList;
use crate::disk::beneath::rel_path::RelPath;
use crate::disk::paths::{PROJECT_FOLDER, PROJECT_LOGS};

#[derive(Debug, Clone)]
pub struct ListingOptions {
    /// Levels below the folder.
    pub depth: usize,
    /// Maximum lines, shared fairly among the folders of a level.
    pub max_entries: usize,
    /// Shows `.marvin`, even when it is ignored.
    pub marvin: bool,
    /// Hides what `.gitignore` files hide.
    pub respect_gitignore: bool,
    /// Ends with the number of files.
    pub count: bool,
}

impl ListingOptions {
    /// The listing that is added to refusals: two levels, 40 lines, `.marvin` included.
    pub const SHORT: Self = Self {
        depth: 2,
        max_entries: 40,
        marvin: true,
        respect_gitignore: true,
        count: false,
    };
}

/// Maximum entries read from one folder; a larger one is marked as such.
const MAX_FOLDER_ENTRIES: usize = 2_000;

/// Maximum entries read for one listing.
const MAX_TOTAL_ENTRIES: usize = 20_000;

/// Never shown: repository internals, installed packages, the tickets.
const SKIPPED: WordList = WordList(".git .tickets node_modules .venv venv __pycache__");

/// One line of the tree.
struct Node {
    rel: RelPath,
    label: String,
    kind: FileKind,
    children: Vec<usize>,
    /// Entries of this folder that are not shown.
    more: Remainder,
    rules: Option<Rc<IgnoreRules>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Remainder {
    None,
    Some(usize),
    AtLeast(usize),
    /// The folder was not opened: below the last level.
    Unread,
    /// The folder was not opened: no lines left for it.
    NoRoom,
}

impl Root {
    /// Draws the folder `rel` as a tree: folders first, then by name; symlinks with their target and never entered.
    ///
    /// # Errors
    /// `rel` is missing, not a folder, leads outside, or belongs to the tickets.
    pub fn listing(&self, rel: &RelPath, look: &ListingOptions) -> Outcome<String> {
        self.tree(rel, look)
            .map_err(|stop| self.problem("list", rel, stop))
    }

    /// [`Root::listing`] with a bare error: error messages contain a listing themselves.
    pub(super) fn tree(
        &self,
        rel: &RelPath,
        look: &ListingOptions,
    ) -> Result<String, open_beneath::AccessError> {
        let top = self.scan(rel, MAX_FOLDER_ENTRIES)?;
        let nodes = self.grow(rel, top, look);
        let mut text = String::new();
        draw(&nodes, 0, "", &mut text);
        if look.count {
            let files = nodes.iter().filter(|n| n.kind != FileKind::Folder).count();
            let cut = nodes.iter().any(|n| {
                matches!(
                    n.more,
                    Remainder::Some(_) | Remainder::AtLeast(_) | Remainder::NoRoom
                )
            });
            let _ = write!(text, "\n{}", plural(files, "file"));
            if cut {
                text.push_str(" shown; more are there, list a subfolder to see them");
            }
            text.push('\n');
        }
        Ok(text)
    }

    /// The nodes of the tree, starting with the folder itself.
    fn grow(&self, rel: &RelPath, top: FolderScan, look: &ListingOptions) -> Vec<Node> {
        let rules = look
            .respect_gitignore
            .then(|| IgnoreRules::above(self, rel, &GIT_IGNORE));
        let mut nodes = vec![Node {
            rel: rel.clone(),
            label: match rel.name() {
                Some(_) => format!("{}/", escape_controls(rel.as_str())),
                None => ".".to_owned(),
            },
            kind: FileKind::Folder,
            children: Vec::new(),
            more: Remainder::Unread,
            rules,
        }];
        let mut lines = look.max_entries;
        let mut scans = MAX_TOTAL_ENTRIES;
        let mut first = Some(top);
        let mut level = vec![0];
        for _ in 0..look.depth {
            if level.is_empty() {
                break;
            }
            let mut next = Vec::new();
            for (done, &at) in level.iter().enumerate() {
                // An even share of the remaining lines; what a folder does not need goes to the others.
                let share = lines.div_ceil(level.len() - done);
                if share == 0 || scans == 0 {
                    if let Some(node) = nodes.get_mut(at) {
                        node.more = Remainder::NoRoom;
                        node.label.push_str(" …");
                    }
                    continue;
                }
                let Some(folder) = nodes.get(at).map(|node| node.rel.clone()) else {
                    continue;
                };
                let scan = match first.take() {
                    Some(scan) => scan,
                    None => match self.scan(&folder, MAX_FOLDER_ENTRIES.min(scans)) {
                        Ok(scan) => scan,
                        Err(_) => continue,
                    },
                };
                scans = scans.saturating_sub(scan.entries.len());
                let added = self.expand(&mut nodes, at, scan, share, look);
                lines = lines.saturating_sub(added.len());
                next.extend(added.into_iter().filter(|child| {
                    nodes
                        .get(*child)
                        .is_some_and(|node| node.kind == FileKind::Folder)
                }));
            }
            level = next;
        }
        nodes
    }

    /// Adds at most `share` children of one folder; returns their indices.
    fn expand(
        &self,
        nodes: &mut Vec<Node>,
        index: usize,
        scan: FolderScan,
        share: usize,
        look: &ListingOptions,
    ) -> Vec<usize> {
        let Some((folder, rules)) = nodes
            .get(index)
            .map(|node| (node.rel.clone(), node.rules.clone()))
        else {
            return Vec::new();
        };
        let rules = rules.map(|up| IgnoreRules::below(self, &folder, up, &GIT_IGNORE));
        let mut shown: Vec<(RelPath, DirEntry)> = scan
            .entries
            .into_iter()
            .filter(|entry| !SKIPPED.has(&entry.name))
            .map(|entry| (folder.child(&entry.name), entry))
            .filter(|(rel, entry)| self.is_shown(rel, entry, rules.as_deref(), look))
            .collect();
        shown.shared_sort_by(|(_, a), (_, b)| {
            let last = |entry: &DirEntry| entry.kind != FileKind::Folder;
            (last(a), &a.name).cmp(&(last(b), &b.name))
        });
        let hidden = shown.len().saturating_sub(share);
        shown.truncate(share);
        let from = nodes.len();
        for (rel, entry) in shown {
            nodes.push(Node {
                label: self.label(&rel, &entry),
                kind: entry.kind,
                children: Vec::new(),
                more: Remainder::Unread,
                rules: rules.clone(),
                rel,
            });
        }
        let added: Vec<usize> = (from..nodes.len()).collect();
        if let Some(node) = nodes.get_mut(index) {
            node.children.clone_from(&added);
            node.more = match (hidden, scan.cut) {
                (0, false) => Remainder::None,
                (hidden, false) => Remainder::Some(hidden),
                (hidden, true) => Remainder::AtLeast(hidden),
            };
        }
        added
    }

    fn is_shown(
        &self,
        rel: &RelPath,
        entry: &DirEntry,
        rules: Option<&IgnoreRules>,
        look: &ListingOptions,
    ) -> bool {
        if rel.as_str() == PROJECT_FOLDER {
            return look.marvin;
        }
        // Logs are many, and a child would read what another one was told.
        if rel.as_str() == PROJECT_LOGS {
            return false;
        }
        let folder = entry.kind == FileKind::Folder;
        let inside_marvin = look.marvin && rel.parts().next() == Some(PROJECT_FOLDER);
        if !inside_marvin && rules.is_some_and(|rules| rules.hides(self.path(), rel, folder)) {
            return false;
        }
        !(folder && self.is_virtualenv(rel))
    }

    /// Whether it is a Python virtual environment, under any name.
    fn is_virtualenv(&self, rel: &RelPath) -> bool {
        let path = format!("{rel}/pyvenv.cfg");
        statat(&*self.handle, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    fn label(&self, rel: &RelPath, entry: &DirEntry) -> String {
        let name = one_line(&entry.name);
        match entry.kind {
            FileKind::Folder => format!("{name}/"),
            FileKind::File => name,
            FileKind::Other => format!("{name} (no ordinary file)"),
            FileKind::Link => {
                let target = self
                    .folder(OsStr::new(rel.parent().as_str()))
                    .ok()
                    .and_then(|dir| {
                        open_beneath::link_text(dir.as_fd(), OsStr::new(&entry.name)).ok()?
                    });
                match target {
                    Some(target) => format!("{name} -> {}", one_line(&target.to_string_lossy())),
                    None => name,
                }
            }
        }
    }

    fn scan(&self, rel: &RelPath, max: usize) -> Result<FolderScan, open_beneath::AccessError> {
        let mut entries = self.entries(rel, max.saturating_add(1))?;
        let cut = entries.len() > max;
        entries.truncate(max);
        Ok(FolderScan { entries, cut })
    }
}

/// The entries read from a folder.
struct FolderScan {
    entries: Vec<DirEntry>,
    /// The folder has more entries.
    cut: bool,
}

fn one_line(name: &str) -> String {
    clip(
        &escape_controls(name)
            .replace('\n', "\\n")
            .replace('\t', "\\t"),
        120,
    )
}

fn draw(nodes: &[Node], index: usize, indent: &str, text: &mut String) {
    let Some(node) = nodes.get(index) else { return };
    if index == 0 {
        let _ = writeln!(text, "{}", node.label);
    }
    let note = match node.more {
        Remainder::Some(count) => Some(format!("… {count} more")),
        Remainder::AtLeast(0) => Some("… more".to_owned()),
        Remainder::AtLeast(count) => Some(format!("… more than {}", plural(count, "other"))),
        Remainder::None | Remainder::Unread | Remainder::NoRoom => None,
    };
    let lines = node.children.len() + usize::from(note.is_some());
    for (i, &child) in node.children.iter().enumerate() {
        let last = i + 1 == lines;
        if let Some(node) = nodes.get(child) {
            let branch = if last { "└── " } else { "├── " };
            let _ = writeln!(text, "{indent}{branch}{}", node.label);
        }
        let deeper = format!("{indent}{}", if last { "    " } else { "│   " });
        draw(nodes, child, &deeper, text);
    }
    if let Some(note) = note {
        let _ = writeln!(text, "{indent}└── {note}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn file(dir: &Path, name: &str, text: &str) {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_tree_hides_internals_and_ignored_files() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        for name in [
            "src/main.rs",
            "src/net/http.rs",
            "src/net/deep/er.rs",
            ".git/config",
            "node_modules/x/y.js",
            "env/pyvenv.cfg",
            ".tickets/a.md",
            ".marvin/spec.md",
            ".marvin/logs/a-1.prompt.md",
            "target/debug/x",
            "README.md",
            "odd\nname",
        ] {
            file(at, name, "");
        }
        file(at, ".gitignore", "target/\n.marvin\n*.log\n!keep.log\n");
        file(at, "a.log", "");
        file(at, "keep.log", "");
        file(at, "src/.gitignore", "*.tmp\n");
        file(at, "src/x.tmp", "");
        std::os::unix::fs::symlink("/etc", at.join("link")).unwrap();
        let root = Root::open(at).unwrap();
        let short = root
            .listing(&RelPath::here(), &ListingOptions::SHORT)
            .unwrap();
        assert_eq!(
            short,
            ".\n\
             ├── .marvin/\n\
             │   └── spec.md\n\
             ├── src/\n\
             │   ├── net/\n\
             │   ├── .gitignore\n\
             │   └── main.rs\n\
             ├── .gitignore\n\
             ├── README.md\n\
             ├── keep.log\n\
             ├── link -> /etc\n\
             └── odd\\nname\n"
        );
        let look = ListingOptions {
            depth: 1,
            max_entries: 3,
            marvin: false,
            respect_gitignore: false,
            count: true,
        };
        let rel = root.check("src").unwrap();
        assert_eq!(
            root.listing(&rel, &look).unwrap(),
            "src/\n├── net/\n├── .gitignore\n├── main.rs\n└── … 1 more\n\n2 files shown; more are there, list a subfolder to see them\n"
        );
    }

    #[test]
    fn a_large_first_folder_leaves_lines_for_others() {
        let dir = tempfile::tempdir().unwrap();
        for i in 0..100 {
            file(dir.path(), &format!("a/{i:03}"), "");
        }
        file(dir.path(), "b/x", "");
        let root = Root::open(dir.path()).unwrap();
        let text = root
            .listing(&RelPath::here(), &ListingOptions::SHORT)
            .unwrap();
        assert!(text.contains("└── x\n"), "{text}");
        assert!(text.contains("more\n"), "{text}");
        assert!(text.lines().count() <= 43, "{text}");
    }

    #[test]
    fn folders_without_room_are_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        for i in 0..2_100 {
            fs::create_dir(dir.path().join(format!("d{i:04}"))).unwrap();
        }
        let root = Root::open(dir.path()).unwrap();
        let text = root
            .listing(&RelPath::here(), &ListingOptions::SHORT)
            .unwrap();
        assert_eq!(text.matches("/ …\n").count(), 40, "{text}");
        assert!(text.ends_with("└── … more than 1960 others\n"), "{text}");
        assert_eq!(text.lines().count(), 42, "{text}");
    }
}
