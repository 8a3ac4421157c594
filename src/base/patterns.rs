//! Limits for globs and regular expressions from a file or a model.
//!
//! The parsers behind them (globset and regex-syntax through the crates `ignore` and `regex`) recurse: globset calls itself for each brace inside a brace, and
//! drops what it parsed the same way, without a limit of its own. Twelve thousand braces, 24 KB of a `.gitignore`, overflow the stack, which ends the process.
//! So every pattern is checked before it reaches a parser.

/// Maximum bytes of a glob; a path has no more than 4,095.
pub(crate) const MAX_GLOB_BYTES: usize = 4_096;
/// Maximum nesting of braces in a glob.
pub(crate) const MAX_GLOB_DEPTH: usize = 16;
/// Maximum wildcards in a glob: each costs states of the automaton.
pub(crate) const MAX_GLOB_WILDCARDS: usize = 256;
/// Maximum bytes of a regular expression.
pub(crate) const MAX_REGEX_BYTES: usize = 16_384;
/// Maximum nesting of groups, classes and repetitions in a regular expression.
pub(crate) const MAX_REGEX_DEPTH: u32 = 100;
/// Maximum bytes of a search query.
pub(crate) const MAX_QUERY_BYTES: usize = 4_096;

/// Why a glob must not be passed to the parser; `None` when it may be.
pub(crate) fn glob_excess(glob: &str) -> Option<String> {
    if glob.len() > MAX_GLOB_BYTES {
        return Some(format!("it is longer than {MAX_GLOB_BYTES} bytes"));
    }
    let (mut depth, mut wildcards) = (0usize, 0usize);
    for byte in glob.bytes() {
        match byte {
            // Escaped braces count as well: the parsers differ in what they treat as escaped.
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'*' | b'?' | b'[' | b',' => wildcards += 1,
            _ => {}
        }
        if depth > MAX_GLOB_DEPTH {
            return Some(format!("more than {MAX_GLOB_DEPTH} braces are nested"));
        }
        if wildcards > MAX_GLOB_WILDCARDS {
            return Some(format!("it has more than {MAX_GLOB_WILDCARDS} wildcards"));
        }
    }
    None
}

/// Why a regular expression must not be passed to the parser; `None` when it may be. The parser itself checks its depth, with [`MAX_REGEX_DEPTH`].
pub(crate) fn regex_excess(pattern: &str) -> Option<String> {
    (pattern.len() > MAX_REGEX_BYTES).then(|| format!("it is longer than {MAX_REGEX_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_globs_pass_and_excessive_ones_are_named() {
        for glob in [
            "*",
            "*.rs",
            "src/**/*.{rs,md}",
            "[a-z]*",
            "",
            "}}}}",
            "\\{a",
        ] {
            assert_eq!(glob_excess(glob), None, "{glob}");
        }
        for glob in ["{".repeat(12_000), "a".repeat(5_000), "*".repeat(300)] {
            assert!(glob_excess(&glob).is_some());
        }
        assert_eq!(glob_excess(&"{a}".repeat(1_000)), None);
        assert!(regex_excess(&"(".repeat(1 << 20)).is_some());
        assert_eq!(regex_excess("fn \\w+"), None);
    }
}
