//! [`RelPath`]: a path as a model may give it, checked by its text alone.

use std::fmt;

/// A normalised path relative to a working directory: no leading slash, no `.`, no `..`, no empty component. The directory itself is shown as `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RelPath(String);

/// Why a text is not a [`RelPath`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelPathError {
    Absolute,
    Parent,
    Nul,
    Tickets,
    Empty,
}

impl RelPath {
    /// The working directory itself.
    pub fn here() -> Self {
        Self(String::new())
    }

    pub(super) fn parse(text: &str) -> Result<Self, RelPathError> {
        if is_absolute(text) {
            return Err(RelPathError::Absolute);
        }
        if text.split('/').any(|part| part == "..") {
            return Err(RelPathError::Parent);
        }
        if text.contains('\0') {
            return Err(RelPathError::Nul);
        }
        if text.trim().is_empty() {
            return Err(RelPathError::Empty);
        }
        let parts: Vec<&str> = parts(text).collect();
        if parts.first() == Some(&".tickets") {
            return Err(RelPathError::Tickets);
        }
        // Checked again in the normalised form, so that a `RelPath` parses back to itself.
        let path = parts.join("/");
        if is_absolute(&path) {
            return Err(RelPathError::Absolute);
        }
        if !path.is_empty() && path.trim().is_empty() {
            return Err(RelPathError::Empty);
        }
        Ok(Self(path))
    }

    /// An entry of this folder, by a name read from the disk.
    pub(super) fn child(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self(name.to_owned())
        } else {
            Self(format!("{}/{name}", self.0))
        }
    }

    /// The text, `.` for the directory itself.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// True for the working directory itself.
    pub fn is_here(&self) -> bool {
        self.0.is_empty()
    }

    /// The components from left to right; none for the directory itself.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// The last part.
    pub fn name(&self) -> Option<&str> {
        self.parts().next_back()
    }

    /// The parent folder; the directory itself is its own parent.
    pub fn parent(&self) -> Self {
        Self(
            self.0
                .rsplit_once('/')
                .map_or_else(String::new, |(parent, _)| parent.to_owned()),
        )
    }

    /// True when `self` is `folder` or lies below it, by whole components.
    pub fn is_within(&self, folder: &Self) -> bool {
        let mut mine = self.parts();
        folder.parts().all(|part| mine.next() == Some(part))
    }

    /// True when writing there is always refused: repository internals (a hook or a config line runs code) and the upstream documents, which are
    /// read-only.
    pub(super) fn write_guard(&self) -> Option<GuardedPart> {
        let upstream = Self(".marvin/upstream".to_owned());
        if self.parts().any(|part| part.eq_ignore_ascii_case(".git")) {
            Some(GuardedPart::Git)
        } else if self.is_within(&upstream) {
            Some(GuardedPart::Upstream)
        } else {
            None
        }
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Parts of the working directory that are closed to some or all access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GuardedPart {
    Tickets,
    Git,
    Upstream,
}

/// The components of a slash-separated text without empty ones and `.`.
pub(super) fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split('/').filter(|part| !matches!(*part, "" | "."))
}

/// A leading slash, a home folder in shell notation, or a drive letter.
fn is_absolute(text: &str) -> bool {
    let drive = |text: &str| {
        let mut bytes = text.bytes();
        bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
            && bytes.next() == Some(b':')
            && matches!(bytes.next(), Some(b'/' | b'\\'))
    };
    text.starts_with('/') || text == "~" || text.starts_with("~/") || drive(text)
}

/// True when a text with `..` would resolve to the tickets.
pub(super) fn lands_in_tickets(text: &str) -> bool {
    let mut stack: Vec<&str> = Vec::new();
    for part in parts(text) {
        if part == ".." {
            stack.pop();
        } else {
            stack.push(part);
        }
    }
    stack.first() == Some(&".tickets")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_normalised_or_refused_in_order() {
        let shown = |text: &str| RelPath::parse(text).map(|rel| rel.as_str().to_owned());
        assert_eq!(shown("./src//./main.rs/").as_deref(), Ok("src/main.rs"));
        assert_eq!(shown(".").as_deref(), Ok("."));
        assert_eq!(shown("a/...").as_deref(), Ok("a/..."));
        assert_eq!(shown(".ticketsx/a").as_deref(), Ok(".ticketsx/a"));
        assert_eq!(shown("sub/.tickets").as_deref(), Ok("sub/.tickets"));
        for (text, reason) in [
            ("/etc/../x", RelPathError::Absolute),
            ("//x", RelPathError::Absolute),
            ("~/x", RelPathError::Absolute),
            ("C:\\x", RelPathError::Absolute),
            ("./~/x", RelPathError::Absolute),
            (" /", RelPathError::Empty),
            ("..", RelPathError::Parent),
            ("a/..", RelPathError::Parent),
            ("a/../.tickets\0", RelPathError::Parent),
            ("a\0b", RelPathError::Nul),
            (".tickets", RelPathError::Tickets),
            ("./.tickets/x", RelPathError::Tickets),
            (".//.tickets/", RelPathError::Tickets),
            ("", RelPathError::Empty),
            ("  ", RelPathError::Empty),
        ] {
            assert_eq!(shown(text), Err(reason), "{text:?}");
        }
    }

    #[test]
    fn writing_is_guarded_by_whole_parts() {
        let guard = |text: &str| RelPath::parse(text).unwrap().write_guard();
        assert_eq!(guard(".git/hooks/x"), Some(GuardedPart::Git));
        assert_eq!(guard("vendor/lib/.GIT"), Some(GuardedPart::Git));
        assert_eq!(
            guard(".marvin/upstream/TOOLS.md"),
            Some(GuardedPart::Upstream)
        );
        assert_eq!(guard(".marvin/upstream2"), None);
        assert_eq!(guard(".github/x"), None);
        assert_eq!(guard(".gitignore"), None);
    }

    proptest! {
        #[test]
        fn a_rel_never_climbs_and_parses_to_itself(text in "[a./~\\\\: .tickes]{0,12}") {
            if let Ok(rel) = RelPath::parse(&text) {
                prop_assert!(!rel.as_str().starts_with('/'));
                prop_assert!(rel.parts().all(|part| part != ".." && part != "."));
                prop_assert_eq!(RelPath::parse(rel.as_str()).ok(), Some(rel.clone()));
                prop_assert!(rel.is_within(&rel.parent()));
            }
        }
    }
}
