//! The file name filter of a search, and the folders it names explicitly.

use ignore::overrides::{Override, OverrideBuilder};

use crate::base::patterns::glob_excess;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// The file name glob of a search.
pub(crate) struct GlobFilter<'a> {
    glob: &'a str,
    matcher: Option<Override>,
}

impl<'a> GlobFilter<'a> {
    /// # Errors
    /// The text is not a glob.
    pub(crate) fn new(glob: &'a str) -> Outcome<Self> {
        if matches!(glob, "*" | "") {
            return Ok(Self {
                glob,
                matcher: None,
            });
        }
        if let Some(reason) = glob_excess(glob) {
            return Err(invalid_glob(glob, &reason));
        }
        let invalid = |error: ignore::Error| invalid_glob(glob, &error.to_string());
        let mut builder = OverrideBuilder::new("");
        builder.add(glob).map_err(invalid)?;
        Ok(Self {
            glob,
            matcher: Some(builder.build().map_err(invalid)?),
        })
    }

    /// Whether the glob matches a path relative to the directory searched.
    pub(crate) fn take(&self, path: &str) -> bool {
        self.matcher
            .as_ref()
            .is_none_or(|matcher| !matcher.matched(path, false).is_ignore())
    }

    /// True when the glob names this file or folder itself, so that it is searched although it would be skipped: `build` in `build/**` and in
    /// `{build,dist}/*.js`, but nothing in `*` or `!*.rs`.
    pub(super) fn names_explicitly(&self, name: &str) -> bool {
        !self.glob.starts_with('!')
            && self
                .glob
                .split(['/', ',', '{', '}'])
                .any(|part| part == name)
    }
}

fn invalid_glob(glob: &str, reason: &str) -> Problem {
    let shown = clip(&escape_controls(glob), 100);
    let reason = clip(&escape_controls(reason), 300);
    Problem::input(format!(
        "\"{shown}\" is not a valid file name glob: {reason}."
    ))
    .next("For example: *.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_names_its_literal_components() {
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
                GlobFilter::new(glob).unwrap().names_explicitly(name),
                asked,
                "{glob}"
            );
        }
    }
}
