//! The content of a rule about commands: a whole command, or the first words of one.

use super::held::is_said;
use super::simple_command::{SimpleCommand, Word};
use super::split::{holds_another, only_command, split};

/// `git status`, or `cargo test:*`.
#[derive(Debug, Clone)]
pub(in crate::tools::engine::permission) struct CommandPattern {
    text: String,
    /// Further words may follow.
    is_prefix: bool,
    /// How many words it says of a command; none when it is no beginning of one.
    said: usize,
    /// Those words after quotes were removed; none when the text is no simple command, or not known without a shell.
    words: Option<Vec<String>>,
}

impl CommandPattern {
    /// # Errors
    /// A wildcard that would not do what it looks like; the words say what would.
    pub(in crate::tools::engine::permission) fn new(content: &str) -> Result<Self, String> {
        let content = content.trim();
        let before = content
            .strip_suffix(":*")
            .or_else(|| content.strip_suffix(" *"));
        let text = before.unwrap_or(content).trim_end();
        let first = text.split_whitespace().next().unwrap_or_default();
        if first.contains('*')
            || before.is_none() && content.ends_with('*') && !content.ends_with(" *")
        {
            let word = text.trim_matches('*');
            return Err(format!(
                "a * stands for further words only at the end, after a colon or a space: {word}:*"
            ));
        }
        let command = only_command(text).unwrap_or_default();
        Ok(Self {
            text: text.to_owned(),
            is_prefix: before.is_some(),
            said: command.words.len(),
            words: whole_words(&command).filter(|words| !words.is_empty()),
        })
    }

    /// Whether a rule that allows this allows `command`.
    pub(in crate::tools::engine::permission) fn allows(&self, command: &str) -> bool {
        let command = command.trim();
        match self.is_prefix {
            false => command == self.text,
            true => {
                self.begins(command)
                    && !holds_another(command)
                    && only_command(command)
                        .is_some_and(|command| is_said(&command.words, self.said))
            }
        }
    }

    /// Whether a rule that denies this denies `command`: a command in it, or what cannot be told apart.
    pub(in crate::tools::engine::permission) fn denies(&self, command: &str) -> bool {
        let command = command.trim();
        if command == self.text || self.is_prefix && self.begins(command) {
            return true;
        }
        let script = split(command);
        !script.is_whole
            || script
                .commands
                .iter()
                .any(|command| command.starts().any(|at| self.is_at(command, at)))
    }

    fn begins(&self, command: &str) -> bool {
        let rest = command.strip_prefix(self.text.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
    }

    /// Whether `command` from its word `at` on is what this denies, or may be once the shell knows the words that are not known here.
    fn is_at(&self, command: &SimpleCommand, at: usize) -> bool {
        let Some(denied) = &self.words else {
            return false;
        };
        let rest = command.words.get(at..).unwrap_or_default();
        for (i, denied) in denied.iter().enumerate() {
            match rest.get(i) {
                None => return command.is_open,
                // It may stand for several words.
                Some(word) if !word.is_known => return true,
                Some(Word { text, .. }) => {
                    // A program is the same under its path.
                    let is_path = i == 0 && !denied.contains('/');
                    let name = text.rsplit('/').next().filter(|_| is_path);
                    if name.unwrap_or(text) != denied {
                        return false;
                    }
                }
            }
        }
        let further = rest.get(denied.len()..).unwrap_or_default();
        self.is_prefix || further.iter().all(|word| !word.is_known)
    }
}

/// The words of a command that only consists of literal ones.
fn whole_words(command: &SimpleCommand) -> Option<Vec<String>> {
    let words = command.words.iter();
    let known = words.map(|word| word.is_known.then(|| word.text.clone()));
    known.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::testing::assert_linear;
    use proptest::prelude::*;
    use std::path::{Path, PathBuf};

    pub(in super::super) fn bash() -> Option<PathBuf> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found: Vec<PathBuf> = std::env::split_paths(&folders)
            .map(|dir| dir.join("bash"))
            .collect();
        let found = found.into_iter().find(|path| path.is_file());
        if found.is_none() {
            eprintln!("SKIPPED: there is no bash to compare with");
        }
        found
    }

    fn pattern(content: &str) -> CommandPattern {
        CommandPattern::new(content).unwrap()
    }

    #[test]
    fn a_rule_allows_the_whole_command_or_further_words() {
        for (content, command, allows) in [
            ("git status", " git status\n", true),
            ("git status", "git status -s", false),
            ("git status", "git  status", false),
            ("cargo test:*", "cargo test", true),
            ("cargo test:*", "cargo test --lib 'a b'", true),
            ("cargo test *", "cargo test --lib", true),
            ("cargo test *", "cargo test", true),
            ("cargo test:*", "cargo testing", false),
            ("cargo test:*", "X=1 cargo test", false),
            ("cargo test:*", "cargo test; rm x", false),
            ("cargo test:*", "cargo test ';'", true),
            ("cargo test:*", "cargo test \";\"", false),
            ("cargo test:*", "cargo test > out", false),
            ("find:*", "find . -name x", true),
            ("find:*", "find . -exec rm x +", false),
            ("find .:*", "find . -type f -okdir rm x", false),
            ("find . -exec grep:*", "find . -exec grep x {} +", true),
            ("env:*", "env", true),
            ("env:*", "/usr/bin/env", false),
            ("env:*", "env X=1 rm x", false),
            ("env:*", "env '-Srm x'", false),
            ("env -u X:*", "env -u X rm", false),
            ("env -u X rm:*", "env -u X rm x", true),
            ("env X=1:*", "env X=1 rm", false),
            ("X=1:*", "X=1 rm", false),
            ("!:*", "! rm", false),
            ("timeout:*", "timeout 5 rm x", false),
            ("timeout 5 cargo:*", "timeout 5 cargo test", true),
            ("xargs:*", "xargs -n 1 rm", false),
            ("eval:*", "eval rm x", false),
            ("bash:*", "bash x.sh", true),
            ("bash:*", "bash -ec 'rm x'", false),
            ("bash scripts/test.sh:*", "bash scripts/test.sh -race", true),
            ("bash -c:*", "bash -c 'rm x'", false),
            ("bash -c 'rm x'", "bash -c 'rm x'", true),
            ("sudo:*", "sudo -s", false),
            ("command -v:*", "command -v rm", true),
            ("command:*", "command rm x", false),
            ("make && make test", "make && make test", true),
            ("make && make test", "make && make", false),
            ("make && make:*", "make && make test", false),
        ] {
            assert_eq!(
                pattern(content).allows(command),
                allows,
                "{content} / {command}"
            );
        }
    }

    #[test]
    fn a_denied_command_is_found_wherever_it_stands() {
        let denied = pattern("rm:*");
        for command in [
            "rm",
            "rm x",
            "/bin/rm x",
            "'r'm x",
            "r\\m x",
            "a; rm x",
            "a && rm x",
            "a | rm",
            "a & rm x",
            "a\nrm x",
            "(rm x)",
            "{ rm x; }",
            "a $(rm x)",
            "a `rm x`",
            "a \"$(rm x)\"",
            "a <(rm x)",
            "if a; then rm x; fi",
            "for i in 1; do rm x; done",
            "! rm x",
            "f() { rm x; }; f",
            "function f { rm x; }; f",
            "X=1 rm x",
            ">o rm x",
            "rm>o",
            "env X=1 rm x",
            "sudo -u me rm x",
            "command rm x",
            "nice -n 5 rm x",
            "time -p rm x",
            "timeout 5 rm x",
            "nohup rm x",
            "xargs rm",
            "find . -exec rm {} +",
            "bash -c 'rm x'",
            "sudo sh -ec 'a; rm x'",
            "bash -o pipefail -c 'rm x'",
            "eval rm x",
            "eval 'a; rm x'",
            "bash -c 'bash -c \"rm x\"'",
            "watch 'rm x'",
            "su -c 'rm x'",
            "exec rm x",
            "a <<E\nE\nrm x",
            // What cannot be told apart.
            "$X x",
            "r$X x",
            "r? x",
            "{rm,x}",
            "eval \"$X\"",
            "bash -c \"$X\"",
            "echo rm x | bash",
            "bash -s < f",
            "bash <<< 'rm x'",
            "bash /dev/stdin",
            "bash rm",
            "rbash -c 'rm x'",
            "fakeroot rm x",
            ". rm x",
            ". /dev/stdin",
            "xargs -I{} sh -c {}",
            "sudo -s",
            "sudo $X",
            "case a in a) rm x;; esac",
            "alias a=rm",
            "a ${x@P}",
            "a 'unclosed",
            "env -S 'rm x'",
            "env '-Srm x'",
            "su",
            "parallel < f",
            "echo x | at now",
            "find . -exec sh -c {} ;",
        ] {
            assert!(denied.denies(command), "{command}");
        }
        for command in [
            "ls",
            "git rm x",
            "echo rm",
            "rmdir x",
            "a 'rm x'",
            "a # rm x",
            "a; b 'c;rm x'",
            "bash x.sh",
            "find . -name x",
            "sudo ls",
            "xargs grep x",
            "bash -c 'ls x'",
            "a <<'E'\nrm x\nE\nb",
            ". venv/bin/activate && pytest",
            "ls $X *.rs \"${Y:-z}\"",
            "",
        ] {
            assert!(!denied.denies(command), "{command}");
        }
    }

    #[test]
    fn the_words_of_a_denied_command_are_compared_one_by_one() {
        for (content, command, denies) in [
            ("git push:*", "git push -f", true),
            ("git push:*", "git  'push'", true),
            ("git push:*", "git $X", true),
            ("git push:*", "git status $X", false),
            ("git push:*", "git", false),
            ("git push:*", "xargs git", true),
            ("git push", "git push", true),
            ("git push", "git push $X", true),
            ("git push", "git push origin", false),
            ("git push", "git push 2>&1", true),
            ("/bin/rm:*", "rm x", false),
            ("a && b", "a && b", true),
            ("a && b", "a && c", false),
        ] {
            assert_eq!(
                pattern(content).denies(command),
                denies,
                "{content} / {command}"
            );
        }
    }

    #[test]
    fn a_wildcard_that_would_not_work_is_an_error() {
        for content in ["rm*", "*rm", "ls src/*", "r*m x"] {
            let words = CommandPattern::new(content).unwrap_err();
            assert!(words.contains(":*"), "{content}: {words}");
        }
        assert!(pattern("ls *.rs").allows("ls *.rs"));
    }

    #[test]
    fn long_commands_take_time_in_proportion() {
        let (denied, allowed) = (pattern("rm:*"), pattern("a:*"));
        let texts = |len: usize| -> Vec<String> {
            let pieces = [
                ("sudo ", ""),
                ("sudo sh ", "-c x"),
                ("eval ", ""),
                ("function ", ""),
                ("bash -c '", ""),
                ("a;", ""),
                ("$(", ""),
                ("`", ""),
                ("<<a ", ""),
                ("\"$(", ""),
                ("env ", ""),
                ("a -o watch find . -exec ", ""),
                ("sudo -x sort ", ""),
                ("git -c a.b=c ", ""),
                ("sed -e s/a/b/ ", ""),
                ("uv run git bisect run ", ""),
                ("tar ", ""),
            ];
            let text = |(piece, end): &(&str, &str)| piece.repeat(len / piece.len()) + *end;
            pieces.iter().map(text).collect()
        };
        assert_linear(texts, |text| {
            let _ = denied.denies(text);
            let _ = allowed.allows(text);
        });
    }

    /// Texts of which every piece means something to a shell.
    fn shell_text() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            " ",
            " ",
            " ",
            "probe",
            "probe",
            "\n",
            ";",
            "&",
            "|",
            "'",
            "'",
            "\"",
            "\"",
            "\\",
            "$(",
            ")",
            "(",
            "`",
            "#",
            "${x:-",
            "${",
            "}",
            "{",
            "<",
            ">",
            "<<E\n",
            "\nE\n",
            "$'",
            "$\"",
            "$",
            "x=",
            "a[",
            "]",
            "eval ",
            "bash -c ",
            "sh ",
            "env ",
            "xargs ",
            "time ",
            "if ",
            "then ",
            "fi",
            "f()",
            "function f ",
            "command ",
            "exec ",
            "! ",
            "[[ ",
            "test -v ",
            "-",
            "--",
            "E",
            "r",
            "*",
            "~",
            "=",
            ",",
            "\t",
            "pro",
            "be",
            ". ",
            "coproc ",
            "<(",
            ">(",
            "&>",
            "2>&1 ",
        ];
        /// What may stand before a command that runs.
        const STARTS: &[&str] = &[
            "",
            " ",
            "\n",
            ";",
            "&",
            "|",
            "$(",
            "`",
            "(",
            "{ ",
            "<(",
            "&& ",
            "'\n",
            "\"$(",
            "\"`",
            "' ; ",
            "\" ; ",
            "\\' ; ",
            "$'\\'' ; ",
            "eval ",
            "eval '",
            "bash -c ",
            "bash -c '",
            "env ",
            "${x:-$(",
            "x=$(",
            "time ",
            "! ",
            "then ",
            "do ",
            "# '\n",
            "a[$(",
            "\\\n",
            "command ",
            "exec ",
            "coproc ",
            "sh -c \"",
            "xargs ",
            "<<<$(",
            ">a ",
            "2>&1 ",
            "y=1 ",
        ];
        let some = || proptest::collection::vec(proptest::sample::select(PIECES), 0..5);
        let start = proptest::sample::select(STARTS);
        (some(), start, some()).prop_map(|(before, start, after)| {
            format!("{}{start}probe{}", before.concat(), after.concat())
        })
    }

    /// A folder to work in, with a program `probe` that leaves a mark.
    pub(in super::super) struct Probe {
        dir: tempfile::TempDir,
    }

    impl Probe {
        pub(in super::super) fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let program = dir.path().join("probe");
            std::fs::write(&program, "#!/bin/sh\n: > \"$PROBED\"\n").unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, mode).unwrap();
            let work = dir.path().join("work");
            std::fs::create_dir(&work).unwrap();
            for name in ["-c", "-exec", "-oProbe", "x.sh"] {
                std::fs::write(work.join(name), "true\n").unwrap();
            }
            Self { dir }
        }

        /// Whether bash runs it when it is given `text`.
        pub(in super::super) fn runs(&self, shell: &Path, text: &str) -> bool {
            self.runs_which(shell, &[text]) == [true]
        }

        /// Which of `texts` run it, one after the other.
        pub(in super::super) fn runs_which(&self, shell: &Path, texts: &[&str]) -> Vec<bool> {
            let mark = |i: usize| self.dir.path().join(format!("probed-{i}"));
            let work = self.dir.path().join("work");
            for (i, text) in texts.iter().enumerate() {
                let mut child = std::process::Command::new(shell)
                    .args(["-c", text])
                    .current_dir(&work)
                    .env_clear()
                    .env(
                        "PATH",
                        format!("{}:/usr/bin:/bin", self.dir.path().display()),
                    )
                    .env("PROBED", mark(i))
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .spawn()
                    .unwrap();
                let _ = child.wait();
            }
            (0..texts.len()).map(|i| mark(i).exists()).collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        /// The shell itself is the judge.
        #[test]
        fn no_rule_about_a_first_word_allows_what_runs_another_program(text in shell_text()) {
            let text = format!("echo {text}");
            if let Some(shell) = bash() && pattern("echo:*").allows(&text) {
                prop_assert!(!Probe::new().runs(&shell, &text), "{text}");
            }
        }

        #[test]
        fn what_runs_a_denied_program_is_denied(text in shell_text()) {
            if let Some(shell) = bash() && !pattern("probe:*").denies(&text) {
                prop_assert!(!Probe::new().runs(&shell, &text), "{text}");
            }
        }

        #[test]
        fn no_text_makes_it_fall_over(content in ".{0,40}", text in ".{0,200}", shell in shell_text()) {
            if let Ok(pattern) = CommandPattern::new(&content) {
                let _ = pattern.allows(&text);
                let _ = pattern.denies(&text);
                let _ = pattern.denies(&shell);
            }
            if let Ok(pattern) = CommandPattern::new(&shell) {
                let _ = pattern.denies(&text);
            }
        }

        #[test]
        fn an_allowed_command_has_no_mark_of_another(first in "[a-z]{1,6}", mark in proptest::sample::select(&[";", "&", "|", "\n", "$(", "`", "<", ">", "${"]), before in "[a-z \"]{0,8}", after in "[a-z]{1,8}") {
            let rule = pattern(&format!("{first}:*"));
            let command = format!("{first} {before}{mark}{after}");
            prop_assert!(!rule.allows(&command), "{}", command);
        }
    }
}
