//! Whether a shell command may start a program of the project. Who wants to deceive can; what this tells apart is a look around from a try.

/// Programs that only print, look, wait, or move files: a command of nothing else has run nothing of the project.
const NOTHING_RUN: &[&str] = &[
    ".", ":", "[", "[[", "apt", "apt-get", "awk", "basename", "break", "brew", "cat", "cd",
    "chmod", "chown", "cmp", "column", "continue", "cp", "cut", "date", "df", "diff", "dirname",
    "du", "echo", "egrep", "exit", "export", "false", "fgrep", "file", "find", "gawk", "git",
    "grep", "head", "hexdump", "jobs", "jq", "kill", "less", "ln", "ls", "md5sum", "mkdir",
    "mktemp", "more", "mv", "nl", "od", "pip", "pip3", "printf", "ps", "pwd", "read", "readlink",
    "realpath", "return", "rg", "rm", "rmdir", "sed", "set", "sha1sum", "shift", "sleep", "sort",
    "source", "stat", "strings", "tail", "tee", "test", "tk", "touch", "tr", "trap", "tree",
    "true", "type", "uname", "uniq", "unset", "wait", "wc", "which", "xxd",
];
/// Programs and words of the shell before the program that they start.
const BEFORE_ANOTHER: &[&str] = &[
    "!", "command", "do", "elif", "else", "env", "exec", "if", "nice", "nohup", "sudo", "then",
    "time", "timeout", "until", "while", "xargs", "{", "{}", "}",
];
/// Words of the shell after which no program stands.
const NO_PROGRAM: &[&str] = &[
    "case", "done", "esac", "fi", "for", "function", "in", "select",
];
/// What programs that do more are asked when they only install, build or look.
const HARMLESS_USES: &[(&str, &[&str])] = &[
    (
        "cargo",
        &[
            "build", "check", "clippy", "fetch", "fmt", "metadata", "tree",
        ],
    ),
    ("go", &["build", "env", "fmt", "list", "mod", "vet"]),
    ("npm", &["ci", "i", "install", "ls", "pkg", "view"]),
    ("pnpm", &["i", "install", "ls"]),
    ("python", PYTHON),
    ("python3", PYTHON),
    ("uv", &["pip", "sync", "venv"]),
    ("yarn", &["install", "list"]),
];
const PYTHON: &[&str] = &[
    "-m compileall",
    "-m ensurepip",
    "-m pip",
    "-m py_compile",
    "-m venv",
];
/// Programs that run others, or make them, and say of themselves which version they are.
const INTERPRETERS: &[&str] = &[
    "bash", "bun", "cargo", "deno", "gcc", "go", "java", "make", "node", "npm", "npx", "perl",
    "php", "pnpm", "python", "python3", "ruby", "rustc", "sh", "uv", "yarn",
];
/// What code on the command line cannot do without when it is to run something of the project.
const LOADS: &[&str] = &["import", "open", "exec", "system"];
const VERSIONS: &[&str] = &["--version", "-V", "-v", "-version", "version"];

/// Whether one of its simple commands starts something.
pub(super) fn runs_something(command: &str) -> bool {
    simple_commands(command).iter().any(|words| is_a_run(words))
}

fn is_a_run(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    let mut is_behind_another = false;
    let name = loop {
        let Some(word) = words.next() else {
            return false;
        };
        let is_redirection = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '&');
        if is_redirection.starts_with(['<', '>']) {
            if is_redirection.ends_with(['<', '>']) {
                words.next();
            }
            continue;
        }
        let is_option = is_behind_another
            && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()));
        if is_assignment(word) || is_option {
            continue;
        }
        let name = word.rsplit('/').next().unwrap_or(word);
        if NO_PROGRAM.contains(&name) {
            return false;
        }
        if !BEFORE_ANOTHER.contains(&name) {
            break name;
        }
        is_behind_another = true;
        if name == "command"
            && words
                .clone()
                .next()
                .is_some_and(|word| word.starts_with(['-']))
        {
            // It says where a program is.
            return false;
        }
    };
    let (first, second) = (words.next().unwrap_or_default(), words.next());
    let both = format!("{first} {}", second.unwrap_or_default());
    let is_harmless = HARMLESS_USES.iter().any(|(program, uses)| {
        *program == name && (uses.contains(&first) || uses.contains(&both.as_str()))
    });
    let is_interpreter = INTERPRETERS.contains(&name);
    let is_version = is_interpreter && second.is_none() && VERSIONS.contains(&first);
    let is_idle = is_interpreter
        && first == "-c"
        && second.is_some_and(|code| match name.ends_with("sh") {
            true => !runs_something(code),
            false => !LOADS.iter().any(|word| code.contains(word)),
        });
    let is_look = is_harmless || is_version || is_idle || NOTHING_RUN.contains(&name);
    !(name.is_empty() || is_look)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_name)
    })
}

/// The words of each simple command, without quotes, comments, and texts that are fed to one. What stands in `$(…)` is a command of its own.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Splitter::default();
    let mut chars = text.chars().peekable();
    let mut quote = None;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => found.add(c),
            (_, '\\') => {
                if let Some(c) = chars.next().filter(|c| *c != '\n') {
                    found.add(c);
                }
            }
            (_, '`') => found.end_command(),
            (_, '$') if next == Some('(') => {
                chars.next();
                found.end_command();
                // Where it ends does not matter.
                quote = None;
            }
            (Some(_), _) => found.add(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                found.is_word = true;
            }
            (None, '#') if !found.is_word => while chars.next_if(|c| *c != '\n').is_some() {},
            (None, '<') if next == Some('<') => {
                chars.next();
                if chars.next_if_eq(&'<').is_some() {
                    found.add_all("<<<");
                } else {
                    chars.next_if_eq(&'-');
                    while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                    let is_end = |c: &char| c.is_whitespace() || ";|&()<>".contains(*c);
                    let mut end = String::new();
                    while let Some(c) = chars.next_if(|c| !is_end(c)) {
                        end.push(c);
                    }
                    found.fed.push(end.replace(['\'', '"', '\\'], ""));
                }
            }
            (None, '&') if next == Some('>') || found.word.ends_with(['<', '>']) => found.add(c),
            (None, '\n') => {
                found.end_command();
                for end in std::mem::take(&mut found.fed) {
                    skip_text(&mut chars, &end);
                }
            }
            (None, ';' | '|' | '&' | '(' | ')') => found.end_command(),
            (None, c) if c.is_whitespace() => found.end_word(),
            (None, c) => found.add(c),
        }
    }
    found.end_command();
    found.commands
}

/// Skips lines to the one that is `end`.
fn skip_text(chars: &mut impl Iterator<Item = char>, end: &str) {
    let mut line = String::new();
    for c in chars {
        if c != '\n' {
            line.push(c);
        } else if line.trim() == end {
            return;
        } else {
            line.clear();
        }
    }
}

#[derive(Default)]
struct Splitter {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
    /// A word has begun; it may be empty still.
    is_word: bool,
    /// The last lines of texts that come behind this line.
    fed: Vec<String>,
}

impl Splitter {
    fn add(&mut self, c: char) {
        self.word.push(c);
        self.is_word = true;
    }

    fn add_all(&mut self, text: &str) {
        text.chars().for_each(|c| self.add(c));
    }

    fn end_word(&mut self) {
        if self.is_word {
            self.words.push(std::mem::take(&mut self.word));
        }
        self.is_word = false;
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        self.commands
            .extend(Some(words).filter(|words| !words.is_empty()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_around_is_no_try() {
        for command in [
            "true",
            "ls -la; cat src/main.py | head",
            "ls 2>&1 | tail -3 &>/dev/null",
            "cd app && git status",
            "A=b printf x",
            "sed -n 1,20p wordcount.py",
            "grep -nE 'def|class; ./program' wordcount.py",
            "/usr/bin/pip --version",
            "python3 --version && node -v",
            "mkdir -p /tmp/zz; touch /tmp/zz/a # ./program",
            "cat > a.txt <<'END'\none two\n./program\nEND\nls",
            "cat <<-END >b.txt; ls\n\tone\n\tEND\n",
            "for f in *.py; do cat $f; done",
            "if [ -f a ]; then echo \"a (b) | c\"; fi",
            "find . -name '*.py' | xargs -n 1 cat",
            "timeout 5s cat a",
            "env",
            "md5sum a; sha1sum b",
            "command -v python3 && command -V node",
            "python3 -m pip list; python3 -m py_compile wordcount.py",
            "python3 -c pass && python -c 'print(1)'",
            "bash -c 'ls; cat a' && sh -c true",
            "npm ci && cargo build",
            "",
            "'",
            "$(",
            "<<",
        ] {
            assert!(!runs_something(command), "{command}");
        }
        for command in [
            "./program --help",
            "cd app && python3 -m app < input.txt",
            "echo 3 | PORT=1 target/debug/app",
            "cargo run",
            "command ./program",
            "python3 -c 'import wordcount; wordcount.main()'",
            "python3 -m wordcount",
            "bash -c './program a'",
            "bash run.sh",
            "./program --version",
            "timeout 10 ./program",
            "echo \"$(./program a)\"",
            "printf 'a\\n' > a.txt && > out python3 wordcount.py a.txt",
            "cat > a.txt <<END\none\nEND\n./program a.txt",
            "while true; do ./program; done",
            "curl -s localhost:8080",
            "echo `./program`",
            "cat <<< x | ./program",
        ] {
            assert!(runs_something(command), "{command}");
        }
    }
}
