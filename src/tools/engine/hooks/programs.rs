//! Which files a hook's command runs, as far as its words say it: those that a command of the model in the sandbox must not change, since hooks run outside.

use crate::base::word_list::WordList;

/// Programs that run the file which they are given.
const RUNNERS: WordList = WordList(
    ". bash bun dash deno env exec fish node nohup perl php python python3 ruby sh source time tsx zsh",
);
/// How a command names the folder of the project.
const PROJECT: [&str; 4] = [
    "$MARVIN_PROJECT_DIR/",
    "${MARVIN_PROJECT_DIR}/",
    "$CLAUDE_PROJECT_DIR/",
    "${CLAUDE_PROJECT_DIR}/",
];

/// The paths of programs in `command`, shell text: absolute, or from the folder in which it runs.
pub(crate) fn programs(command: &str) -> Vec<String> {
    let separators = [';', '&', '|', '(', ')', '{', '}', '\n', '`'];
    let mut found = Vec::new();
    // Quotes join words here only where a path has spaces.
    let text = command.replace(['"', '\''], "");
    // The braces of a variable separate nothing.
    let text = PROJECT
        .iter()
        .fold(text, |text, name| text.replace(name, "./"));
    for simple in text.split(separators) {
        let (mut is_first, mut is_run) = (true, false);
        for word in simple.split_whitespace() {
            let is_setting = is_first && word.split_once('=').is_some();
            if is_setting || (is_run && word.starts_with('-')) {
                continue;
            }
            if (is_first && word.contains('/')) || (is_run && !RUNNERS.has(word)) {
                found.push(word.to_owned());
            }
            let name = word.rsplit('/').next().unwrap_or_default();
            is_run = (is_first || is_run) && RUNNERS.has(name);
            is_first = false;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_where_a_program_does_is_one() {
        for (command, expected) in [
            ("./check.sh", &["./check.sh"][..]),
            ("cargo fmt -- src/lib.rs", &[]),
            ("X=1 bash -e tools/a.sh data/b.txt", &["tools/a.sh"]),
            ("\"$CLAUDE_PROJECT_DIR\"/.claude/a.py", &["./.claude/a.py"]),
            ("\"${MARVIN_PROJECT_DIR}/a\" x", &["./a"]),
            (
                "jq .x | python3 'b.py' && /usr/bin/env node c.js; true",
                &["b.py", "/usr/bin/env", "c.js"],
            ),
            ("prettier --write src/index.ts", &[]),
        ] {
            assert_eq!(programs(command), expected, "{command}");
        }
    }
}
