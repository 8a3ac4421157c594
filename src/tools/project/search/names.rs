//! File name filters of a search, and the folders they include explicitly.

use ignore::overrides::{Override, OverrideBuilder};

use crate::base::patterns::glob_excess;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// The file name glob of a search.
pub(super) struct GlobFilter<'a> {
    glob: &'a str,
    matcher: Option<Override>,
}

impl<'a> GlobFilter<'a> {
    /// # Errors
    /// The text is not a glob.
    pub(super) fn new(glob: &'a str) -> Outcome<Self> {
        if matches!(glob, "*" | "") {
            return Ok(Self {
                glob,
                matcher: None,
            });
        }
        if let Some(why) = glob_excess(glob) {
            return Err(not_a_glob(glob, &why));
        }
        let wrong = |error: ignore::Error| not_a_glob(glob, &error.to_string());
        let mut builder = OverrideBuilder::new("");
        builder.add(glob).map_err(wrong)?;
        Ok(Self {
            glob,
            matcher: Some(builder.build().map_err(wrong)?),
        })
    }

    /// True for a path, relative to the directory searched, that the glob takes.
    pub(super) fn take(&self, path: &str) -> bool {
        self.matcher
            .as_ref()
            .is_none_or(|matcher| !matcher.matched(path, false).is_ignore())
    }

    /// True when the glob names this file or folder itself, so that it is searched although it would be skipped: `build` in `build/**` and in
    /// `{build,dist}/*.js`, but nothing in `*` or `!*.rs`.
    pub(super) fn ask_for(&self, name: &str) -> bool {
        !self.glob.starts_with('!')
            && self
                .glob
                .split(['/', ',', '{', '}'])
                .any(|part| part == name)
    }
}

/// A glob that cannot be used, with the reason.
fn not_a_glob(glob: &str, why: &str) -> Problem {
    let shown = clip(&escape_controls(glob), 100);
    let why = clip(&escape_controls(why), 300);
    Problem::input(format!("\"{shown}\" is not a valid file name glob: {why}."))
        .next("For example: *.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_asks_for_the_names_in_it() {
        for (glob, name, asked) in [
            ("build/**", "build", true),
            ("**/build/*.js", "build", true),
            ("{build,dist}/*.js", "dist", true),
            ("build", "build", true),
            ("build*", "build", false),
            ("*", "build", false),
            ("*.rs", "rs", false),
            ("!build/**", "build", false),
        ] {
            assert_eq!(
                GlobFilter::new(glob).unwrap().ask_for(name),
                asked,
                "{glob}"
            );
        }
    }
}
