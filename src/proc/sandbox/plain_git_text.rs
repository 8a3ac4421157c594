//! Git's configuration and the list of a rebase without what runs something: a repository that a command makes, and a rebase that it begins, keep the rest.
//!
//! Both are gone through line by line, and what is not understood is left out. What is kept git reads as it is read here: no kept line continues on the next.

use crate::base::word_list::WordList;
use crate::proc::git::allowed::starts_nothing;

/// Keys that have git write wherever the configuration says: files of `core.worktree`, without which they are where the repository is, and of
/// `http.cookieFile`.
const WRITING: WordList = WordList("worktree savecookies");

/// `text`, of configuration, without settings that may start a program, read more configuration or have files elsewhere; see git-config(1).
pub(super) fn plain_config(text: &[u8]) -> Vec<u8> {
    let mut section = None;
    plain_lines(text, |line| {
        if line.contains(|c: char| c.is_control() && c != '\t') {
            return false;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        if line.starts_with('[') {
            section = section_of(line);
            return section.is_some();
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim();
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_whole = key.chars().all(is_key) && !value.ends_with('\\');
        let name = section.as_ref().map(|section| format!("{section}.{key}"));
        let writes = WRITING.has_in_any_case(key);
        is_whole && !writes && name.is_some_and(|name| starts_nothing(name.as_bytes()))
    })
}

/// `text`, what a rebase still has to do, without commands that are not in `known`; see git-rebase(1).
pub(super) fn plain_todo(text: &[u8], known: &[u8]) -> Vec<u8> {
    let known = String::from_utf8_lossy(known);
    plain_lines(text, |line| {
        let mut words = line
            .trim_start_matches([' ', '\t'])
            .split([' ', '\t', '\r']);
        let runs = matches!(words.next(), Some("exec" | "x"));
        !runs || known.lines().any(|known| known == line)
    })
}

fn plain_lines(text: &[u8], mut is_plain: impl FnMut(&str) -> bool) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let plain = lines.filter(|bytes| {
        let line = String::from_utf8_lossy(bytes);
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        is_plain(line)
    });
    plain.flatten().copied().collect()
}

/// The section, with a subsection behind a period, that `[section "subsection"]` begins.
fn section_of(line: &str) -> Option<String> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    let (name, below) = match inside.split_once([' ', '\t']) {
        None => (inside, None),
        Some((name, below)) => {
            let below = below.trim_start().strip_prefix('"')?.strip_suffix('"')?;
            (name, Some(below))
        }
    };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    let is_plain = below.is_none_or(|below| !below.contains(['"', '\\']));
    let is_whole = is_plain && !name.is_empty() && name.chars().all(is_name);
    let below = below.map(|below| format!(".{below}"));
    is_whole.then(|| format!("{name}{}", below.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_keeps_what_starts_nothing() {
        let plain = "[core]\n\tbare = false\n\t; said\n[remote \"origin\"]\n\turl = x\n\tfetch = +refs/*:refs/*\n[branch \"a.b\"]\r\n\tmerge = refs/heads/a\r\n\n[user]\n\tname = A \\\"B\n";
        assert_eq!(plain_config(plain.as_bytes()), plain.as_bytes());
        for evil in [
            "fsmonitor = evil",
            "workTree = /evil",
            "[http \"x\"]\nsaveCookies = evil",
            "FsMonitor=evil",
            "\tsshCommand = evil # bare = false",
            "bare = false\\\nfsmonitor = evil",
            "[core] fsmonitor = evil",
            "[include]\npath = evil",
            "[includeIf \"gitdir:/\"]\npath = evil",
            "[filter \"x\"]\nclean = evil",
            "[protocol \"ext\"]\nallow = always",
            "[alias]\nx = !evil",
            "[core \"a\\\"b\"]\nfsmonitor = evil",
            "[CORE]\nhookspath = evil",
            "[remote \"x\"]\nuploadpack = evil",
            "[bare]\u{b}\nfsmonitor = evil",
        ] {
            let text = format!("[core]\n{evil}\n");
            let left = plain_config(text.as_bytes());
            let left = String::from_utf8(left).unwrap();
            assert!(!left.contains("evil") && !left.contains("always"), "{left}");
        }
    }

    #[test]
    fn a_rebase_keeps_commits_and_the_commands_that_it_had() {
        let todo = b"pick 1 one\nexec mine\n  x evil\nexec\tevil\nfixup 2 exec\n";
        let plain = plain_todo(todo, b"exec mine\n");
        assert_eq!(plain, b"pick 1 one\nexec mine\nfixup 2 exec\n");
    }
}
