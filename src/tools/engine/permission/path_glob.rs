//! The paths of a rule: a glob on paths relative to the working directory.

use ignore::overrides::{Override, OverrideBuilder};

use crate::base::patterns::glob_excess;

/// A glob on whole paths: `*` stays within one component, `**` does not.
#[derive(Debug, Clone)]
pub(super) struct PathGlob(Override);

impl PathGlob {
    /// # Errors
    /// The text is no glob, or one that no relative path can match; the words say why.
    pub(super) fn new(glob: &str) -> Result<Self, String> {
        if let Some(reason) = glob_excess(glob) {
            return Err(reason);
        }
        let relative = glob.strip_prefix("./").unwrap_or(glob);
        if relative.starts_with(['/', '~']) || relative.split('/').any(|part| part == "..") {
            return Err("paths are relative to the working directory, without ..".to_owned());
        }
        // The crate reads globs as .gitignore does: a slash in front ties one to the top, and one at the end stands for everything below.
        let below = if relative.ends_with('/') { "**" } else { "" };
        let mut builder = OverrideBuilder::new("");
        let built = builder
            .add(&format!("/{relative}{below}"))
            .and_then(|builder| builder.build());
        built.map(Self).map_err(|error| error.to_string())
    }

    /// Whether it matches a normalised relative path.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.0.matched(path, false).is_whitelist()
    }
}

/// A path as the fence reads it: without empty parts and `.`. `None` for one that is absolute or climbs.
pub(super) fn normalised(path: &str) -> Option<String> {
    if path.starts_with(['/', '~']) || path.contains('\0') {
        return None;
    }
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    let parts: Vec<&str> = parts.collect();
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_whole_paths() {
        for (glob, path, matches) in [
            ("docs/**", "docs/a.md", true),
            ("docs/**", "docs/deep/a.md", true),
            ("docs/", "docs/deep/a.md", true),
            ("docs/**", "docsx/a.md", false),
            ("docs/**", "src/docs/a.md", false),
            ("./docs/*.md", "docs/a.md", true),
            ("docs/*.md", "docs/deep/a.md", false),
            ("*.md", "a.md", true),
            ("*.md", "docs/a.md", false),
            ("**/*.md", "docs/a.md", true),
            ("**/*.md", "a.md", true),
            ("src/{a,b}.rs", "src/b.rs", true),
            ("README.md", "README.md", true),
            ("README.md", "docs/README.md", false),
            ("!a", "a", false),
            ("**", "a/b", true),
        ] {
            assert_eq!(
                PathGlob::new(glob).unwrap().matches(path),
                matches,
                "{glob} {path}"
            );
        }
        for glob in ["/etc/**", "~/x", "../x", "a/../b", "a[", &"{".repeat(99)] {
            assert!(PathGlob::new(glob).is_err(), "{glob}");
        }
    }

    #[test]
    fn paths_are_normalised_and_climbing_ones_are_none() {
        assert_eq!(normalised("./a//b/./c/").as_deref(), Some("a/b/c"));
        assert_eq!(normalised(".").as_deref(), Some(""));
        for path in ["/a", "~/a", "a/../b", "..", "a\0"] {
            assert_eq!(normalised(path), None, "{path}");
        }
    }
}
