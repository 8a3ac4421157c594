//! Whether a shell command has started a program of the project, or talked to one that runs. Who wants to deceive can; what this tells apart is a try from a
//! look around. It goes by what each program of the command is and what it is given, and not by what it might do.

use std::collections::BTreeSet;
use std::path::Path;

use super::programs::{
    ASKS, BUILTINS, CLIENTS, DATA, ENVIRONMENTS, FILTER_FILE, FILTERS, INTERPRETERS, Interpreter,
    LOADS, MISSING_BEFORE, MISSING_BEHIND, MODULES, NOTHING_TO_RUN, OWN_ADDRESSES, PREPARES,
    RUNNERS, STARTERS, STARTS, SYSTEM, TOOLS, UNANSWERED, WRAPPERS,
};
use crate::base::word_list::WordList;
use crate::proc::program::find_for_command;
use crate::tools::engine::permission::command::indirect;
use crate::tools::engine::permission::command::simple_command::Word;
use crate::tools::engine::permission::command::split;

/// Characters that are read of a command, those of scripts in scripts included.
const MAX_CHARS: usize = 1 << 18;

/// What commands are given may be a part of this.
pub(super) struct Project {
    /// Its folders and files of code: their names, with endings and without.
    names: BTreeSet<String>,
    /// Where its commands look for programs.
    search_path: String,
}

/// A command that was carried out.
pub(super) struct RunCommand<'a> {
    pub text: &'a str,
    /// What it printed.
    pub result: &'a str,
    /// The status with which it ended; nothing when it did not end by itself.
    pub status: Option<i32>,
    pub project: &'a Project,
}

impl Project {
    pub(super) fn new(paths: &[String], search_path: String) -> Self {
        let mut names = BTreeSet::new();
        for part in paths.iter().flat_map(|path| path.split('/')) {
            let (stem, ending) = part.rsplit_once('.').unwrap_or((part, ""));
            if !DATA.has(ending) {
                names.extend([part.to_owned(), stem.to_owned()]);
            }
        }
        names.remove("");
        Self { names, search_path }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether a program of this name lies outside of the system's folders; `None` where there is none.
    fn has_program(&self, name: &str) -> Option<bool> {
        let is_in = |dir: &str| Path::new(dir).join(name).exists();
        if SYSTEM.iter().any(is_in) {
            return Some(false);
        }
        find_for_command(name, &self.search_path).map(|_| true)
    }
}

impl RunCommand<'_> {
    /// Whether one of its simple commands starts something of the project.
    pub(super) fn is_a_try(&self) -> bool {
        let mut scripts = vec![self.text.to_owned()];
        let mut left = MAX_CHARS;
        while let Some(script) = scripts.pop() {
            let Some(rest) = left.checked_sub(script.len()) else {
                return false;
            };
            left = rest;
            let script = split::written(&script);
            // The shell ends with these when it finds no program, or may not start it.
            if matches!(self.status, Some(126 | 127)) && script.commands.len() == 1 {
                return false;
            }
            for command in &script.commands {
                if self.starts(&command.words, &script.fed, &mut scripts) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a simple command starts something; the scripts that it is given are added to `scripts`.
    fn starts(&self, mut words: &[Word], fed: &[String], scripts: &mut Vec<String>) -> bool {
        // After the environment was set, a program may be anywhere.
        let mut parts = self.text.split([' ', '\n', ';', '&', '(']);
        let sets_path = |part: &str| part.starts_with("PATH=") || part.ends_with("/activate");
        let mut is_inside = parts.any(sets_path);
        while let Some((program, arguments)) = words.split_first() {
            let name = name(program);
            let asks_where = arguments
                .first()
                .is_some_and(|word| has(WordList("-v -V"), word));
            let inside = in_environment(name, arguments);
            is_inside |= inside.is_some();
            let inner = match name {
                _ if inside.is_some() => inside,
                "command" if asks_where => None,
                "find" => after(arguments, |word| word.text.starts_with("-exec")),
                _ if WRAPPERS.has(name) || indirect::is_wrapper(name) => Some(arguments),
                _ => None,
            };
            let Some(inner) = inner else {
                return self.runs(program, arguments, is_inside, fed, scripts);
            };
            let at = inner
                .iter()
                .position(|word| {
                    self.is_program(word, is_inside) && (word.is_known || name != "eval")
                })
                .unwrap_or(inner.len());
            let (before, from) = inner.split_at(at);
            // A word with blanks is a script, where it is a command at all.
            let is_script = |word: &&Word| word.text.contains(char::is_whitespace);
            scripts.extend(
                before
                    .iter()
                    .filter(is_script)
                    .map(|word| word.text.clone()),
            );
            words = from;
        }
        false
    }

    /// Whether a word behind a program that starts others can be the other.
    fn is_program(&self, word: &Word, is_inside: bool) -> bool {
        let text = word.text.as_str();
        let is_other = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
            || text.starts_with("/dev/")
            || text.contains(char::is_whitespace)
            || indirect::is_assignment(text);
        let is_known = || {
            let name = bare_name(name(word));
            let is_interpreter = INTERPRETERS.iter().any(|own| own.names.has(name));
            let is_runner = RUNNERS.iter().any(|(names, _)| names.has(name));
            is_interpreter || is_runner || self.project.has_program(text).is_some()
        };
        !is_other && (!word.is_known || text.contains('/') || is_inside || is_known())
    }

    fn runs(
        &self,
        program: &Word,
        arguments: &[Word],
        is_inside: bool,
        fed: &[String],
        scripts: &mut Vec<String>,
    ) -> bool {
        let name = name(program);
        let bare_name = bare_name(name);
        let mut interpreters = INTERPRETERS.iter();
        if let Some(interpreter) = interpreters.find(|own| own.names.has(bare_name)) {
            return self.interprets(interpreter, arguments, fed, scripts);
        }
        if let Some((_, verbs)) = RUNNERS.iter().find(|(names, _)| names.has(name)) {
            let is_there = !NOTHING_TO_RUN
                .iter()
                .any(|words| self.result.contains(words));
            return is_there && !asks(arguments) && is_told_to_run(*verbs, arguments);
        }
        if STARTERS.has(name) {
            return !asks(arguments) && self.is_there(name);
        }
        if CLIENTS.has(name) {
            let is_answered = !UNANSWERED.iter().any(|words| self.result.contains(words));
            return self.status == Some(0)
                && is_answered
                && OWN_ADDRESSES.iter().any(|mark| self.text.contains(mark));
        }
        if FILTERS.has(name) {
            let file = after(arguments, |word| word.text == FILTER_FILE);
            return file.is_some_and(|words| !words.is_empty());
        }
        let is_own = match program.text.rsplit_once('/') {
            Some((folder, _)) => !SYSTEM.has(folder) && folder != "/dev",
            None if !program.is_known => true,
            None => self
                .project
                .has_program(name)
                .unwrap_or(is_inside && !BUILTINS.has(name)),
        };
        is_own && !TOOLS.has(bare_name) && self.is_there(&program.text)
    }

    fn interprets(
        &self,
        interpreter: &Interpreter,
        arguments: &[Word],
        fed: &[String],
        scripts: &mut Vec<String>,
    ) -> bool {
        let is_shell = interpreter.names.has("sh");
        let is_python = interpreter.names.has("python");
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            if matches!(text, "-" | "/dev/stdin") {
                break;
            }
            let Some(option) = text.strip_prefix('-') else {
                return self.is_own_file(word);
            };
            match option.trim_start_matches('-') {
                "test" | "run" => return true,
                "check" | "help" | "syntax-check" | "version" => return false,
                "eval" | "print" => {
                    return words.next().is_some_and(|code| self.is_running(&code.text));
                }
                _ if option.starts_with('-') => continue,
                _ => {}
            }
            for (at, letter) in option.char_indices() {
                let rest = option.get(at + letter.len_utf8()..).unwrap_or_default();
                if interpreter.looks.contains(letter) {
                    return false;
                }
                let is_code = interpreter.code.contains(letter);
                let is_module = is_python && letter == 'm';
                if !(is_code || is_module || interpreter.values.contains(letter)) {
                    continue;
                }
                let next = if rest.is_empty() { words.next() } else { None };
                let value = next.map_or(rest, |word| word.text.as_str());
                if is_module {
                    return self.is_own_module(value, words.as_slice());
                }
                if is_code && is_shell {
                    scripts.push(value.to_owned());
                    // What it is may be known to the shell alone.
                    return next.is_some_and(|word| !word.is_known && !value.contains(' '));
                }
                if is_code {
                    return self.is_running(value);
                }
                break;
            }
        }
        // It reads what it is to do.
        if is_shell && !fed.is_empty() {
            scripts.extend_from_slice(fed);
            return false;
        }
        self.names_file() || !is_shell && self.is_running(self.text)
    }

    fn is_own_file(&self, word: &Word) -> bool {
        let (folder, name) = word.text.rsplit_once('/').unwrap_or(("", &word.text));
        !SYSTEM.has(folder) && !TOOLS.has(name) && self.is_there(word.text.trim_start_matches("./"))
    }

    fn is_own_module(&self, module: &str, arguments: &[Word]) -> bool {
        let first = module.split('.').next().unwrap_or_default();
        let is_starter = MODULES.has(first) && !asks(arguments);
        (self.project.has(first) || is_starter) && self.is_there(module)
    }

    /// Whether code loads something of the project, starts a program, or talks to one.
    fn is_running(&self, code: &str) -> bool {
        let is_own = |path: &str| path.split(['.', '/']).any(|part| self.project.has(part));
        let loads = |statement: &str| {
            let is_between = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
            let mut words = statement.split(is_between).filter(|word| !word.is_empty());
            let is_list = statement.trim_start().starts_with("import ");
            while let Some(word) = words.next() {
                let last = word.rsplit('.').next().unwrap_or_default();
                if LOADS.has(last)
                    && (words.clone().next().is_some_and(is_own) || is_list && words.any(is_own))
                {
                    return true;
                }
            }
            false
        };
        STARTS.iter().any(|part| code.contains(part)) || code.split([';', '\n']).any(loads)
    }

    /// Whether the command names a file with code of the project.
    fn names_file(&self) -> bool {
        let is_between = |c: char| !(c.is_alphanumeric() || "_-.".contains(c));
        let mut words = self.text.split(is_between);
        words.any(|word| word.contains('.') && self.project.has(word))
    }

    /// Whether nothing was said about it not being there.
    fn is_there(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let is_missing = |line: &str| {
            line.match_indices(&name).any(|(at, _)| {
                let (before, rest) = line.split_at_checked(at).unwrap_or_default();
                let rest = rest.strip_prefix(&name).unwrap_or_default();
                let behind = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
                let is_whole = behind.len() < rest.len() || rest.is_empty();
                is_whole
                    && !before.ends_with(char::is_alphanumeric)
                    && (MISSING_BEHIND.iter().any(|words| behind.starts_with(words))
                        || MISSING_BEFORE.iter().any(|words| before.contains(words)))
            })
        };
        name.is_empty() || !self.result.to_lowercase().lines().any(is_missing)
    }
}

/// What is started in an environment that holds the project's packages.
fn in_environment<'a>(name: &str, arguments: &'a [Word]) -> Option<&'a [Word]> {
    let (_, verbs) = ENVIRONMENTS.iter().find(|(names, _)| names.has(name))?;
    if verbs.iter().next().is_none() {
        return Some(arguments);
    }
    let first = arguments.iter().find(|word| !word.text.starts_with('-'))?;
    after(arguments, |word| word == first).filter(|_| has(*verbs, first))
}

/// Whether a runner is told to run something.
fn is_told_to_run(verbs: WordList, arguments: &[Word]) -> bool {
    let is_name = |word: &&Word| {
        let text = word.text.as_str();
        let is_other = text.starts_with(|c: char| "-+".contains(c) || c.is_ascii_digit());
        !(is_other || indirect::is_assignment(text) || text == "compose")
    };
    let mut names = arguments.iter().filter(is_name);
    let does_more = |word: &Word| !has(PREPARES, word);
    if verbs.iter().next().is_none() {
        let is_idle = arguments.iter().any(|word| word.text == "-n");
        return !is_idle && names.any(does_more);
    }
    let Some(first) = names.next() else {
        return false;
    };
    // Some run a file as they run a script of the project.
    let is_file = arguments.first() == Some(first) && first.text.contains(['.', '/']);
    let is_script =
        verbs.has("run-script") && matches!(first.text.as_str(), "run" | "run-script" | "task");
    (is_file || has(verbs, first)) && (!is_script || names.next().is_some_and(does_more))
}

/// The words behind the first that `is` says.
fn after(words: &[Word], is: impl Fn(&Word) -> bool) -> Option<&[Word]> {
    let at = words.iter().position(is)?;
    words.get(at + 1..)
}

fn has(list: WordList, word: &Word) -> bool {
    list.has(&word.text)
}

/// Whether a program is only asked something. What stands behind `--` is for the program that it starts.
fn asks(arguments: &[Word]) -> bool {
    let mut own = arguments.iter().take_while(|word| word.text != "--");
    own.any(|word| has(ASKS, word))
}

/// The name by which a program is known: nothing for one in a folder that is not for programs, which is nobody's but the project's.
fn name(word: &Word) -> &str {
    match word.text.rsplit_once('/') {
        Some((folder, name)) if folder.ends_with("bin") || matches!(name, "gradlew" | "mvnw") => {
            name
        }
        Some(_) => "",
        None => &word.text,
    }
}

/// A name without the version behind it: `python3.11`.
fn bare_name(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Commands of a project, each with what it prints where that matters; `127:` and so on before the text is how it ended.
    fn tries(cases: &[(&str, &str)], expected: bool) {
        let elsewhere = tempfile::tempdir().unwrap();
        for name in ["wordcount", "ruff"] {
            let program = elsewhere.path().join(name);
            fs::write(&program, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let paths = [
            ".gitignore",
            "README.md",
            "package.json",
            "run.sh",
            "server.js",
            "src/main.rs",
            "wordcount.py",
        ]
        .map(str::to_owned);
        let search_path = format!("/usr/bin:/bin:{}", elsewhere.path().display());
        let project = Project::new(&paths, search_path);
        let wrong: Vec<&str> = cases
            .iter()
            .filter(|(text, printed)| {
                let (status, result) = printed.split_once(": ").unwrap_or(("0", ""));
                let command = RunCommand {
                    text,
                    result,
                    status: status.parse().ok(),
                    project: &project,
                };
                command.is_a_try() != expected
            })
            .map(|(text, _)| *text)
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n---\n"));
    }

    #[test]
    fn what_starts_the_project_is_a_try() {
        tries(
            &[
                ("./program --help", ""),
                ("cd app && python3 -m wordcount < input.txt", ""),
                ("echo 3 | PORT=1 target/debug/app", ""),
                ("cargo run -- list; cargo test", ""),
                ("command ./program", ""),
                ("command -p python3 wordcount.py a", ""),
                ("time -p python3 wordcount.py a", ""),
                ("env -u X A=1 python3 wordcount.py a", ""),
                ("cd sub && ./prog", ""),
                ("timeout -k 1 5s ./prog", ""),
                ("(python3 wordcount.py a)", ""),
                (
                    "python3 - <<'X'\nimport os, wordcount\nprint(wordcount.count('a b'))\nX",
                    "",
                ),
                (
                    "python3 -c 'from wordcount import count; print(count(\"a\"))'",
                    "",
                ),
                ("python3 -c '__import__(\"wordcount\")'", ""),
                (
                    "python3 -c \"import runpy; runpy.run_path('wordcount.py')\"",
                    "",
                ),
                (
                    "node -e 'require(\"child_process\").spawnSync(\"python3\",[\"wordcount.py\"])'",
                    "",
                ),
                ("node -e \"require('./server').start()\"", ""),
                ("bash -c './program a'", ""),
                (
                    "bash -euo pipefail -c \"cd . && ./wordcount.py || true\"",
                    "",
                ),
                ("bash -lc 'python3 wordcount.py a' | head -1", ""),
                ("bash -c \"$(echo python3 wordcount.py a)\"", ""),
                ("eval 'python3 wordcount.py a'", ""),
                ("sh run.sh", ""),
                ("bash <<E\ncd x\n./program a\nE", ""),
                ("bash <<< './program a'", ""),
                ("cat run.sh | bash", ""),
                ("for i in 1 2; do python3 wordcount.py a; done", ""),
                ("while read l; do ./wordcount.py \"$l\"; done < a", ""),
                ("case a in a) python3 wordcount.py a;; esac", ""),
                ("f() { python3 wordcount.py a; }; f", ""),
                (
                    "node server.js & sleep 1; curl -s localhost:8080; kill %1",
                    "7: ",
                ),
                ("curl -s http://127.0.0.1:8080/ | grep hello", ""),
                (
                    "xvfb-run -a -s '-screen 0 800x600x24' python3 wordcount.py",
                    "",
                ),
                ("script -qec 'python3 wordcount.py a' /dev/null", ""),
                ("expect -c 'spawn ./program; expect ready'", ""),
                ("expect <<'E'\nspawn ./program\nE", ""),
                (
                    "tmux new-session -d -s t 'python3 wordcount.py' && tmux capture-pane -p -t t",
                    "",
                ),
                ("diff <(python3 wordcount.py a) <(echo 1)", ""),
                ("out=$(python3 wordcount.py a); echo \"$out `true`\"", ""),
                ("cat wordcount.py | python3 - a", ""),
                ("python3 <wordcount.py", ""),
                ("python3 -X dev -u wordcount.py a", ""),
                ("python3 -W ignore -m unittest", ""),
                (
                    "python3 wordcount.py nosuch",
                    "1: No such file or directory: 'nosuch'",
                ),
                (
                    "python3 wordcount.py nosuch",
                    "1: wordcount.py: cannot find nosuch",
                ),
                (
                    "python3 nosuch.py; python3 wordcount.py a",
                    "0: python3: can't open file '/p/nosuch.py'",
                ),
                ("python3 wordcount.py a; which nosuch; exit 127", "127: 1"),
                (
                    "nosuch a | python3 wordcount.py a; nosuch",
                    "127: sh: 1: nosuch: not found",
                ),
                ("! python3 wordcount.py nosuch", "1: "),
                ("find . -name '*.txt' -exec ./program {} \\;", ""),
                ("ls *.txt | xargs -n 1 ./program", ""),
                ("wordcount a", ""),
                (". .venv/bin/activate && words a", ""),
                (".venv/bin/python -m pytest -q", ""),
                ("uv run words a", ""),
                ("npx playwright test", ""),
                ("npm run e2e && yarn start", ""),
                ("make -C sub run", ""),
                ("./gradlew --quiet run", ""),
                ("docker compose up -d", ""),
                ("java -cp build Main", ""),
                ("php -S localhost:8000 -t public", ""),
                ("perl -Ilib bin/program", ""),
                ("awk -f program.awk a", ""),
                ("P=target/debug/app; \"$P\" a", ""),
                ("valgrind --leak-check=full ./program", ""),
                ("printf 'a' > a.txt && > out python3 wordcount.py a.txt", ""),
            ],
            true,
        );
    }

    #[test]
    fn a_look_around_is_no_try() {
        tries(
            &[
                ("true; export A=1; sleep 1", ""),
                ("ls -la; cat src/main.py | head", ""),
                ("ls 2>&1 | tail -3 &>/dev/null", ""),
                ("cd app && git status && git log --oneline -3", ""),
                ("A=b printf x; printf '%s' \"$(cat wordcount.py)\"", ""),
                ("grep -nE 'def|class; ./program' wordcount.py", ""),
                ("timeout 5 grep 'wordcount a' wordcount.py", ""),
                ("/usr/bin/pip --version; pip3 list; python3 -m pip list", ""),
                ("python3 --version && node -v && go version", ""),
                ("python3 -V -V; cat wordcount.py", ""),
                ("python3.11 --version; java -version; cat wordcount.py", ""),
                ("mkdir -p zz; touch zz/a # ./program", ""),
                ("cat > a.txt <<'END'\none two\n./program\nEND\nls", ""),
                ("cat <<-END >b.txt; ls\n\tone\n\tEND\n", ""),
                ("for f in *.py; do cat $f; done", ""),
                ("if [ -f a ]; then echo \"a (b) | c\"; fi", ""),
                ("find ./src -name '*.py' | xargs -n 1 head -5", ""),
                ("timeout 5s cat a; env; env | head -3", ""),
                ("md5sum a; sha256sum wordcount.py; stat a; file a", ""),
                ("command -v python3 && command -V node; which python3", ""),
                (
                    "python3 -m py_compile wordcount.py; python3 -m compileall -q .",
                    "",
                ),
                ("timeout 5 python3 -m py_compile wordcount.py", ""),
                (
                    "python3 -m json.tool x.json; python3 -m site; python3 -m ast wordcount.py",
                    "",
                ),
                ("python3 -m venv .v; PYTHONPATH=. python3 -m pip list", ""),
                (
                    "python3 -m unittest --help; python3 --help; python3 -m pytest --version",
                    "",
                ),
                (
                    "python3 -m pytest",
                    "1: /usr/bin/python3: No module named pytest",
                ),
                (
                    "python3 -c pass && python -c 'print(1)'; python3 -Wignore -c pass",
                    "",
                ),
                ("python3 -c \"print(open('wordcount.py').read())\"", ""),
                (
                    "node -e \"console.log(require('./package.json').version)\"",
                    "",
                ),
                (
                    "perl -ne 'print' wordcount.py; awk '{print}' wordcount.py",
                    "",
                ),
                ("bash -c 'ls; cat a' && sh -c true; bash -lc ls", ""),
                ("sh -c 'command -v python3'; eval \"$(opam env)\"", ""),
                ("bash <<E\ncat wordcount.py\nE", ""),
                (
                    "bash -n run.sh; node --check server.js; php -l x.php; ruby -c x.rb",
                    "",
                ),
                (
                    "python3 nosuch.py",
                    "2: python3: can't open file '/p/nosuch.py': [Errno 2] No such file",
                ),
                (
                    "node ./nosuch.js",
                    "1: \nError: Cannot find module '/p/nosuch.js'",
                ),
                ("bash nosuch.sh", "127: "),
                ("./nosuch", "127: "),
                (
                    "./nosuch; ls",
                    "0: bash: line 1: ./nosuch: No such file or directory",
                ),
                ("nosuchprogram a; pwd", "0: "),
                ("npm ci && cargo build && go vet ./...", ""),
                ("npm run build; yarn install; npm install express", ""),
                ("npm run", ""),
                ("npm run nosuch", "1: npm error Missing script: \"nosuch\""),
                (
                    "make; make -n run; make -j 4; make clean build; just --list",
                    "",
                ),
                (
                    "make nosuch",
                    "2: make: *** No rule to make target 'nosuch'.  Stop.",
                ),
                ("cargo --list; cargo --manifest-path a/Cargo.toml build", ""),
                (
                    "ruff check .; .venv/bin/mypy .; npx eslint .; ast-grep x",
                    "",
                ),
                ("uv sync; uv run ruff check; poetry install", ""),
                ("docker ps; docker compose logs", ""),
                ("curl -s http://127.0.0.1:1/", "7: "),
                (
                    "curl http://127.0.0.1:1/; true",
                    "0: curl: (7) Failed to connect to 127.0.0.1",
                ),
                ("curl -s https://example.com/", ""),
                ("vim --version; tmux ls; tmux kill-session -t s", ""),
                ("", ""),
                ("'", ""),
                ("<<", ""),
                ("bash -c", ""),
                ("env env env", ""),
            ],
            false,
        );
    }
}
