//! Which file names a search takes. Not left to the engines: there a wanted name brings back what `.gitignore` hides.

use std::path::Path;

use ignore::overrides::{Override, OverrideBuilder};

use super::Search;
use crate::base::error::{Outcome, Problem};

/// The file name glob of a search.
pub(super) struct Names<'a> {
    glob: &'a str,
    matcher: Option<Override>,
}

impl<'a> Names<'a> {
    /// # Errors
    /// The text is no glob.
    pub(super) fn new(dir: &Path, what: &Search<'a>) -> Outcome<Self> {
        let glob = what.glob;
        if matches!(glob, "*" | "") {
            return Ok(Self {
                glob,
                matcher: None,
            });
        }
        let wrong = |error| not_a_glob(glob, &error);
        let mut builder = OverrideBuilder::new(dir);
        builder.add(glob).map_err(wrong)?;
        Ok(Self {
            glob,
            matcher: Some(builder.build().map_err(wrong)?),
        })
    }

    /// True for a path, relative to the directory searched, that the glob takes.
    ///
    /// Hidden ones never: a type, too, brings them back in ripgrep.
    pub(super) fn take(&self, path: &str) -> bool {
        let hidden = path
            .rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with('.'));
        !hidden
            && self
                .matcher
                .as_ref()
                .is_none_or(|matcher| !matcher.matched(path, false).is_ignore())
    }

    /// The glob when it is about names alone and free of signs that an engine reads in its own way.
    pub(super) fn plain(&self) -> Option<&'a str> {
        let simple =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '*' | '?' | '.' | '_' | '-');
        (self.matcher.is_some() && self.glob.chars().all(simple)).then_some(self.glob)
    }
}

/// A glob that cannot be used, with the reason.
pub(super) fn not_a_glob(glob: &str, error: &ignore::Error) -> Problem {
    Problem::input(format!("\"{glob}\" is no file name glob: {error}.")).next("For example: *.rs")
}
