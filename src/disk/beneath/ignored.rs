//! What `.gitignore` files hide, folder by folder, read through the fence.

use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::rel::Rel;
use super::root::Root;

/// A `.gitignore` longer than this is not read.
const CAP: u64 = 256 * 1024;

/// The rules of one folder and of those above it.
pub(super) struct Rules {
    own: Gitignore,
    up: Option<Rc<Rules>>,
}

impl Rules {
    /// The rules that hold in `rel` from the folders above it: inside the root through the fence, above it up to the
    /// repository's top. Those above are only matched against names, never shown.
    pub(super) fn above(root: &Root, rel: &Rel) -> Rc<Self> {
        let mut rules = Rc::new(Self {
            own: Gitignore::empty(),
            up: None,
        });
        let mut outside: Vec<&Path> = Vec::new();
        if !root.path().join(".git").exists() {
            for folder in root.path().ancestors().skip(1) {
                outside.push(folder);
                if folder.join(".git").exists() {
                    break;
                }
            }
        }
        // Without a repository's top above, nothing above counts.
        if outside.last().is_some_and(|top| top.join(".git").exists()) {
            for folder in outside.into_iter().rev() {
                let (own, _) = Gitignore::new(folder.join(".gitignore"));
                rules = Rc::new(Self {
                    own,
                    up: Some(rules),
                });
            }
        }
        let mut above = Vec::new();
        let mut folder = rel.clone();
        while !folder.is_here() {
            folder = folder.parent();
            above.push(folder.clone());
        }
        for folder in above.iter().rev() {
            rules = Self::below(root, folder, rules);
        }
        rules
    }

    /// The rules inside `folder`, whose own `.gitignore` comes first.
    pub(super) fn below(root: &Root, folder: &Rel, up: Rc<Self>) -> Rc<Self> {
        let Ok(text) = root.bytes(&folder.child(".gitignore"), CAP) else {
            return up;
        };
        let mut builder = GitignoreBuilder::new(root.path().join(folder.as_str()));
        for line in String::from_utf8_lossy(&text).lines() {
            // A line that is no pattern hides nothing.
            let _ = builder.add_line(None, line);
        }
        let own = builder.build().unwrap_or_else(|_| Gitignore::empty());
        Rc::new(Self { own, up: Some(up) })
    }

    /// True when the nearest rule that knows the path hides it.
    pub(super) fn hides(&self, base: &Path, rel: &Rel, folder: bool) -> bool {
        let path = base.join(rel.as_str());
        let mut rules = Some(self);
        while let Some(here) = rules {
            match here.own.matched(&path, folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => rules = here.up.as_deref(),
            }
        }
        false
    }
}
