//! Git's configuration and the list of a rebase without what runs something: a repository that a command makes, and a rebase that it begins, keep the rest.
//!
//! Both are gone through line by line, and what is not understood is left out. What is kept git reads as it is read here: no kept line continues on the next.

use crate::base::word_list::WordList;
use crate::proc::git::allowed::starts_nothing;

/// Keys that have git write wherever the configuration says: files of `core.worktree`, without which they are where the repository is, and of
/// `http.cookieFile`.
const WRITING: WordList = WordList("worktree savecookies");
/// Where the files of a worktree are.
const TOP: &str = "core.worktree";
/// What git itself writes into the configuration of one worktree, true or false: that of git-sparse-checkout(1).
const OF_WORKTREE: WordList = WordList("core.sparsecheckout core.sparsecheckoutcone index.sparse");
/// Values of such a setting.
const BOOLEANS: WordList = WordList("true false");

/// A line of configuration; see git-config(1).
enum Line<'a> {
    /// It says nothing by itself.
    Plain,
    /// The name in lower case but for what is between its first and last period.
    Setting(String, &'a str),
    /// It may say anything.
    Other,
}

/// Reads configuration line by line.
#[derive(Default)]
struct ConfigLines {
    section: Option<String>,
}

impl ConfigLines {
    fn read<'a>(&mut self, line: &'a str) -> Line<'a> {
        if line.contains(|c: char| c.is_control() && c != '\t') {
            return Line::Other;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Line::Plain;
        }
        if line.starts_with('[') {
            self.section = section_of(line);
            return match self.section {
                Some(_) => Line::Plain,
                None => Line::Other,
            };
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        let key = key.trim();
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let is_whole = key.chars().all(is_key) && !value.ends_with('\\');
        match &self.section {
            Some(section) if is_whole => Line::Setting(
                format!("{section}.{}", key.to_ascii_lowercase()),
                value.trim(),
            ),
            _ => Line::Other,
        }
    }
}

/// `text`, of configuration, without settings that may start a program, read more configuration or have files elsewhere; see git-config(1). Of paths to the
/// files of a worktree those stay that `is_top` names good.
pub(super) fn plain_config(text: &[u8], is_top: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut lines = ConfigLines::default();
    plain_lines(text, |line| match lines.read(line) {
        Line::Plain => true,
        Line::Setting(name, value) => {
            let key = name.rsplit('.').next().unwrap_or_default();
            let is_kept = !WRITING.has(key) || is_own_top(&name, value, &is_top);
            is_kept && starts_nothing(name.as_bytes())
        }
        Line::Other => false,
    })
}

/// `text`, the configuration of one worktree, with what git itself writes there and nothing else: all other settings count for the user's repository as much as
/// those of its own configuration, which no command may change.
pub(super) fn plain_worktree(text: &[u8], is_top: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut lines = ConfigLines::default();
    plain_lines(text, |line| match lines.read(line) {
        Line::Plain => true,
        Line::Setting(name, value) => {
            is_of_worktree(&name, value) || is_own_top(&name, value, &is_top)
        }
        Line::Other => false,
    })
}

/// Whether two configurations of one worktree differ at most in what git itself writes there.
pub(super) fn has_other_settings_of(before: &[u8], now: &[u8]) -> bool {
    let before = other_settings(before);
    before.is_some() && before == other_settings(now)
}

/// None if a line may say anything.
fn other_settings(text: &[u8]) -> Option<Vec<(String, String)>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut lines = ConfigLines::default();
    let mut others = Vec::new();
    for line in text.lines() {
        match lines.read(line) {
            Line::Plain => {}
            Line::Setting(name, value) if is_of_worktree(&name, value) => {}
            Line::Setting(name, value) => others.push((name, value.to_owned())),
            Line::Other => return None,
        }
    }
    Some(others)
}

fn is_of_worktree(name: &str, value: &str) -> bool {
    OF_WORKTREE.has_in_any_case(name) && BOOLEANS.has(value)
}

fn is_own_top(name: &str, value: &str, is_top: &impl Fn(&str) -> bool) -> bool {
    let is_plain = !value.contains(['"', '\\', '#', ';']);
    name.eq_ignore_ascii_case(TOP) && is_plain && is_top(value)
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
        let config = |text: &str| plain_config(text.as_bytes(), |top| top == "../mine");
        assert_eq!(config(plain), plain.as_bytes());
        let top = "[core]\n\tworktree = ../mine\n";
        assert_eq!(config(top), top.as_bytes());
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
            let left = String::from_utf8(config(&text)).unwrap();
            assert!(!left.contains("evil") && !left.contains("always"), "{left}");
        }
    }

    #[test]
    fn a_worktree_keeps_of_a_command_what_git_writes_there() {
        let own = "[core]\n\tsparseCheckout = true\n\tsparseCheckoutCone = false\n[index]\n\tsparse = true\n";
        let plain = |text: &str| {
            let left = plain_worktree(text.as_bytes(), |top| top == "../mine");
            String::from_utf8(left).unwrap()
        };
        assert_eq!(plain(own), own);
        for evil in [
            "[url \"evil:\"]\n\tinsteadOf = https:",
            "[remote \"origin\"]\n\turl = evil",
            "[remote \"origin\"]\n\tpushurl = evil",
            "[http]\n\tproxy = evil\n\tsslVerify = false",
            "[core]\n\tbare = true\n\texcludesFile = evil\n\tattributesFile = evil",
            "[core]\n\tsparseCheckout = evil",
            "[core]\n\tworktree = /evil",
            "[core]\n\tworktree = ../mine\\\nevil",
            "[safe]\n\tdirectory = *",
            "[credential]\n\thelper = evil",
            "[include]\n\tpath = evil",
            "[user]\n\tname = evil",
        ] {
            let left = plain(&format!("{own}{evil}\n"));
            assert!(!left.split_once(own).unwrap().1.contains('='), "{left}");
        }
        let is_kept =
            |before: &str, now: &str| has_other_settings_of(before.as_bytes(), now.as_bytes());
        let users = "[core]\n\thooksPath = mine\n";
        assert!(is_kept(users, &format!("{users}{own}")));
        assert!(is_kept(&format!("{own}{users}"), users));
        assert!(!is_kept(users, own));
        assert!(!is_kept(users, "[core]\n\thooksPath = evil\n"));
        let whole = "[core]\n\thooksPath = mine\\\n";
        assert!(!is_kept(whole, &format!("{whole}sparseCheckout = true\n")));
    }

    #[test]
    fn a_rebase_keeps_commits_and_the_commands_that_it_had() {
        let todo = b"pick 1 one\nexec mine\n  x evil\nexec\tevil\nfixup 2 exec\n";
        let plain = plain_todo(todo, b"exec mine\n");
        assert_eq!(plain, b"pick 1 one\nexec mine\nfixup 2 exec\n");
    }
}
