//! Repository names as people and models write them.

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// A repository: owner and name, both valid as folder names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RepoName {
    pub(super) owner: String,
    pub(super) repo: String,
}

impl RepoName {
    /// Parses `owner/name`, or an address at GitHub or at `base`.
    ///
    /// # Errors
    /// Anything else.
    pub(super) fn parse(text: &str, base: &str) -> Outcome<Self> {
        let text = text.trim();
        let invalid = |reason: &str| {
            Problem::input(format!(
                "\"{}\" is not a repository: {reason}.",
                clip(&escape_controls(text), 100)
            ))
            .next("Give owner/name, for example rust-lang/rust, or its address at GitHub.")
        };
        let bare = text
            .strip_prefix(base)
            .or_else(|| {
                text.strip_prefix("git@github.com:").or_else(|| {
                    ["https://", "http://", "ssh://git@", "git://"]
                        .iter()
                        .find_map(|scheme| text.strip_prefix(scheme))
                        .unwrap_or(text)
                        .strip_prefix("github.com/")
                        .or_else(|| text.strip_prefix("https://www.github.com/"))
                })
            })
            .unwrap_or(text);
        if bare.contains("://") || bare.contains('@') || bare.contains(':') {
            return Err(invalid("only GitHub's repositories are cloned"));
        }
        let foreign = bare == text && bare.matches('/').count() > 1;
        let bare = bare.trim_start_matches('/');
        let bare = bare.split(['?', '#']).next().unwrap_or_default();
        let mut parts = bare.split('/');
        let (owner, repo) = (
            parts.next().unwrap_or_default(),
            parts.next().unwrap_or_default(),
        );
        let repo = repo.strip_suffix(".git").unwrap_or(repo);
        if foreign {
            return Err(invalid("it has too many parts"));
        }
        if repo.is_empty() {
            return Err(invalid("owner or name is missing"));
        }
        if !is_plain(owner) || !is_plain(repo) {
            return Err(invalid(
                "owner and name have letters, digits, dots, hyphens and underscores, and begin with none of dot and hyphen",
            ));
        }
        Ok(Self {
            owner: owner.to_owned(),
            repo: repo.to_owned(),
        })
    }
}

impl std::fmt::Display for RepoName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.owner, self.repo)
    }
}

fn is_plain(part: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    !part.is_empty()
        && part.len() <= 100
        && part.bytes().all(plain)
        && !part.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn repositories_are_known_in_every_spelling() {
        for text in [
            "a-b/c.d",
            " a-b/c.d.git",
            "https://github.com/a-b/c.d",
            "https://github.com/a-b/c.d.git",
            "https://github.com/a-b/c.d/tree/main/src?x#y",
            "http://github.com/a-b/c.d/",
            "github.com/a-b/c.d",
            "https://www.github.com/a-b/c.d",
            "git@github.com:a-b/c.d.git",
            "ssh://git@github.com/a-b/c.d.git",
            "http://127.0.0.1:1/a-b/c.d",
        ] {
            let name = RepoName::parse(text, "http://127.0.0.1:1").unwrap();
            assert_eq!(name.to_string(), "a-b/c.d", "{text}");
        }
        for text in [
            "",
            "a",
            "a/",
            "/b",
            "../b",
            "a/..",
            "a/.git",
            "-a/b",
            "a/-b",
            "a/b/c",
            "a b/c",
            "a/b\0",
            "https://evil.test/a/b",
            "https://github.com.evil.test/a/b",
            "ext::sh -c x",
            "file:///a/b",
            "git@evil.test:a/b",
            "a/b;rm",
            "https://github.com@evil.test/a/b",
            "\u{e9}/b",
        ] {
            assert!(
                RepoName::parse(text, "http://127.0.0.1:1").is_err(),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_valid_name_is_two_plain_folder_names(text in "(https://github.com/)?[a-c./@:-]{0,12}") {
            if let Ok(name) = RepoName::parse(&text, "https://github.com") {
                for part in [&name.owner, &name.repo] {
                    prop_assert!(!part.contains('/') && part != ".." && !part.starts_with('-'));
                }
            }
        }
    }
}
