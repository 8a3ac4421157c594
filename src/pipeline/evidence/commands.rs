//! Whether a shell command has started a program of the project, or talked to one that runs. Who wants to deceive can; what this tells apart is a try from a
//! look around. It goes by what each program of the command is and what it is given, and not by what it might do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::programs::{
    ASKS, BUILDERS, BUILTINS, CLIENTS, CODE_FILES, DATA, ENVIRONMENTS, INTERPRETERS, LOADS, MAKERS,
    NOT_STARTED, OWN_ADDRESSES, PREPARES, PROGRAMMED, RUNS, SCRIPTED, SHELLS, STARTERS, STARTS,
    SYSTEM, TOOLS, WRAPPERS,
};
use super::standing::Standing;
use crate::base::word_list::WordList;
use crate::proc::program::find_for_command;
use crate::tools::engine::permission::command::indirect;
use crate::tools::engine::permission::command::simple_command::{Mark, Word, is_assignment};
use crate::tools::engine::permission::command::split;

/// Characters that are read of a command, those of scripts in scripts included.
const MAX_CHARS: usize = 1 << 18;

/// What commands are given may be a part of this.
pub(super) struct Project {
    root: PathBuf,
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

/// A simple command, and what is known of how it ended.
#[derive(Clone, Copy)]
struct Command<'a> {
    program: &'a Word,
    arguments: &'a [Word],
    standing: Standing,
}

impl Project {
    pub(super) fn new(root: &Path, paths: &[String], search_path: String) -> Self {
        let mut names = BTreeSet::new();
        for part in paths.iter().flat_map(|path| path.split('/')) {
            let (stem, ending) = part.rsplit_once('.').unwrap_or((part, ""));
            if !DATA.has(ending) {
                names.extend([part.to_owned(), stem.to_owned()]);
            }
        }
        names.remove("");
        Self {
            root: root.to_owned(),
            names,
            search_path,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether a program of this name lies outside of the system's folders; `None` where there is none.
    fn has_program(&self, name: &str) -> Option<bool> {
        if SYSTEM.iter().any(|dir| Path::new(dir).join(name).exists()) {
            return Some(false);
        }
        find_for_command(name, &self.search_path).map(|_| true)
    }
}

impl RunCommand<'_> {
    /// Whether one of its simple commands starts something of the project.
    pub(super) fn is_a_try(&self) -> bool {
        let mut scripts = vec![(self.text.to_owned(), Standing::WHOLE)];
        let mut left = MAX_CHARS;
        while let Some((text, whole)) = scripts.pop() {
            let script = split::written(&text);
            // The shell ends with these when it finds no program, or may not start it.
            let is_missing = matches!(self.status, Some(126 | 127)) && script.commands.len() == 1;
            let Some(rest) = left.checked_sub(text.len()).filter(|_| !is_missing) else {
                return false;
            };
            left = rest;
            for (at, command) in script.commands.iter().enumerate() {
                // How the first of a pipe ended is not known: something has to have come out of it.
                if command.mark == Mark::Pipe && !self.has_printed() {
                    continue;
                }
                let standing = whole.of(&script, at);
                if self.starts(&command.words, standing, &mut scripts) {
                    return true;
                }
                if command.words.iter().any(|word| SHELLS.has(name(word))) {
                    scripts.extend(script.fed.iter().map(|text| (text.clone(), standing)));
                }
            }
        }
        false
    }

    /// Whether a simple command starts something; scripts that it is given are added to `scripts`.
    fn starts(
        &self,
        mut words: &[Word],
        mut standing: Standing,
        scripts: &mut Vec<(String, Standing)>,
    ) -> bool {
        // Where the environment is the project's, a program may be anywhere.
        let mut parts = self.text.split([' ', '\n', ';', '&', '(']);
        let mut is_inside =
            parts.any(|part| part.starts_with("PATH=") || part.ends_with("/activate"));
        while let Some((program, arguments)) = words.split_first() {
            let name = name(program);
            let inner = match name {
                "command"
                    if arguments
                        .iter()
                        .any(|word| word.text.eq_ignore_ascii_case("-v")) =>
                {
                    None
                }
                "find" => behind(arguments, |text| text.starts_with("-exec")),
                _ if ENVIRONMENTS.has(name) => {
                    behind(arguments, |text| matches!(text, "exec" | "run"))
                }
                _ if WRAPPERS.has(name) || indirect::is_wrapper(name) => Some(arguments),
                _ => None,
            };
            let Some(inner) = inner else {
                let own = Command {
                    program,
                    arguments,
                    standing,
                };
                return self.runs(own, is_inside, scripts);
            };
            standing = standing.hidden_if(name == "find" || WRAPPERS.has(name) && name != "eval");
            is_inside |= ENVIRONMENTS.has(name) || matches!(name, "bunx" | "npx" | "pnpx" | "uvx");
            let is_script = |word: &Word| word.text.contains(char::is_whitespace);
            let is_program = |word: &Word| {
                !is_script(word)
                    && (is_inside && is_name(&word.text) || self.is_program(word))
                    && (word.is_known || name != "eval")
            };
            let at = inner.iter().position(is_program).unwrap_or(inner.len());
            let (before, from) = inner.split_at(at);
            // Where one of them is no script, nothing is found in it.
            let texts = before.iter().filter(|word| is_script(word));
            scripts.extend(texts.map(|word| (word.text.clone(), standing)));
            words = from;
        }
        false
    }

    /// Whether a word behind a program that starts others can be the other.
    fn is_program(&self, word: &Word) -> bool {
        let name = bare(name(word));
        let is_path = word.text.contains('/') && !word.text.starts_with("/dev/");
        let is_known = BUILDERS.has(name)
            || MAKERS.has(name)
            || INTERPRETERS.iter().any(|(names, ..)| names.has(name))
            || self.project.has_program(&word.text).is_some();
        is_name(&word.text) && (!word.is_known || is_path || is_known)
    }

    fn runs(
        &self,
        command: Command<'_>,
        is_inside: bool,
        scripts: &mut Vec<(String, Standing)>,
    ) -> bool {
        let Command {
            program,
            arguments,
            standing,
        } = command;
        let name = name(program);
        let own = |list: WordList, word: &Word| list.has(&word.text);
        let mut options = arguments.iter().take_while(|word| word.text != "--");
        let is_asked = options.any(|word| own(ASKS, word));
        let has_started = !NOT_STARTED.iter().any(|words| self.result.contains(words));
        let mut told = arguments
            .iter()
            .filter(|word| is_name(&word.text) && word.text != "compose");
        let mut interpreters = INTERPRETERS.iter();
        if let Some((names, code, looks)) = interpreters.find(|(names, ..)| names.has(bare(name))) {
            return self.is_installed(name)
                && self.interprets((*names, code, *looks), command, scripts);
        }
        if PROGRAMMED.has(bare(name)) {
            let given = code_file(arguments);
            return given.is_some_and(|file| {
                self.project.has(last_part(&file.text)) && self.is_found(&file, standing)
            });
        }
        if BUILDERS.has(name) {
            let Some(first) = told.next().filter(|_| has_started && !is_asked) else {
                return false;
            };
            let is_script = SCRIPTED.has(name) && matches!(first.text.as_str(), "run" | "task");
            // Some run a file as they run a script of the project.
            let is_file = arguments.first() == Some(first) && first.text.contains(['.', '/']);
            let next = told.next();
            return (is_file || own(RUNS, first))
                && (!is_script || next.is_some_and(|word| !own(PREPARES, word)));
        }
        if MAKERS.has(name) {
            let is_idle = is_asked || arguments.iter().any(|word| word.text == "-n");
            return has_started && !is_idle && told.any(|word| !own(PREPARES, word));
        }
        if STARTERS.has(name) {
            return !is_asked && self.is_there(name) && !self.failed_in_silence();
        }
        if CLIENTS.has(name) {
            let is_near = OWN_ADDRESSES.iter().any(|mark| self.text.contains(mark));
            let is_answered = standing.is_needed || self.has_told();
            return self.status == Some(0) && has_started && is_near && is_answered;
        }
        let is_own = match program.text.rsplit_once('/') {
            Some((folder, _)) => !SYSTEM.has(folder) && folder != "/dev",
            None if !program.is_known => true,
            None => {
                let found = self.project.has_program(name);
                found.unwrap_or(is_inside && !BUILTINS.has(name))
            }
        };
        let is_run = || match standing.is_shown && !matches!(self.status, Some(126 | 127)) {
            true => self.is_there(&program.text),
            false => self.is_found(program, standing),
        };
        is_own && !TOOLS.has(bare(name)) && is_run()
    }

    /// Whether an interpreter is given a file, a module or code of the project.
    fn interprets(
        &self,
        (names, code, looks): (WordList, &str, WordList),
        command: Command<'_>,
        scripts: &mut Vec<(String, Standing)>,
    ) -> bool {
        let is_shell = names.has("sh");
        let standing = command.standing;
        let mut words = command.arguments.iter();
        while let Some(word) = words.next() {
            let text = word.text.as_str();
            let folder_and_name = text.rsplit_once('/').unwrap_or(("", text));
            if matches!(text, "-" | "/dev/stdin") {
                break;
            } else if looks.has(text) || ASKS.has(text) {
                return false;
            } else if text == "--test" {
                return true;
            } else if names.has("python") && text.starts_with('-') && text.ends_with('m') {
                let module = words.next().map_or("", |word| &word.text);
                let first = module.split('.').next().unwrap_or_default();
                let is_starter = STARTERS.has(first) && !words.any(|word| ASKS.has(&word.text));
                let is_run = self.project.has(first) || is_starter && !self.failed_in_silence();
                return is_run && self.is_there(module);
            } else if text.starts_with('-') && text.ends_with(|c| code.contains(c)) {
                let Some(value) = words.next() else {
                    return false;
                };
                scripts.extend(is_shell.then(|| (value.text.clone(), standing)));
                // What it is may be known to the shell alone.
                let is_hidden = !value.is_known && !value.text.contains(' ');
                return match is_shell {
                    true => is_hidden,
                    false => self.is_running(&value.text),
                };
            } else if !text.starts_with('-')
                && (!word.is_known
                    || text.contains(['.', '/'])
                    || names.has("java")
                    || self.project.has(text))
            {
                let (folder, name) = folder_and_name;
                let is_own = !SYSTEM.has(folder) && !TOOLS.has(name);
                // A class is found by its name.
                let is_run = match names.has("java") {
                    true => self.is_there(text),
                    false => self.is_found(word, standing),
                };
                return is_own && is_run;
            }
        }
        // It reads what it is to do.
        match is_shell {
            true => !self.text.contains("<<") && self.names_file(),
            false => self.names_file() || self.is_running(self.text),
        }
    }

    /// Whether code loads something of the project, starts a program, or talks to one.
    fn is_running(&self, code: &str) -> bool {
        let is_own = |path: &str| path.split(['.', '/']).any(|part| self.project.has(part));
        let loads = |statement: &str| {
            let is_between = |c: char| !(c.is_alphanumeric() || "_-./".contains(c));
            let words: Vec<&str> = statement
                .split(is_between)
                .filter(|w| !w.is_empty())
                .collect();
            let is_list = words.first() == Some(&"import") && words.iter().any(|word| is_own(word));
            let is_pair = |pair: &[&str]| {
                let [before, path] = pair else { return false };
                before
                    .rsplit('.')
                    .next()
                    .is_some_and(|last| LOADS.has(last))
                    && is_own(path)
            };
            is_list || words.windows(2).any(is_pair)
        };
        STARTS.iter().any(|part| code.contains(part)) || code.split([';', '\n']).any(loads)
    }

    /// Whether the command names a file with code of the project.
    fn names_file(&self) -> bool {
        let is_between = |c: char| !(c.is_alphanumeric() || "_-.".contains(c));
        let mut words = self.text.split(is_between);
        words.any(|word| word.contains('.') && self.project.has(word))
    }

    /// Whether the file of that name is there, or the command would have failed without it.
    fn is_found(&self, word: &Word, standing: Standing) -> bool {
        let text = word.text.as_str();
        let is_sure = self.status == Some(0) && standing.is_needed;
        // What has a colon is an address, or a list of folders.
        let is_path = word.is_known && text.contains(['/', '.']) && !text.contains(':');
        (is_sure || !is_path || self.is_in_tree(text))
            && self.is_there(text.trim_start_matches("./"))
    }

    /// Whether something lies at `path`, from the project's folder or one to which the command goes.
    fn is_in_tree(&self, path: &str) -> bool {
        let root = &self.project.root;
        let is_between = |c: char| c.is_whitespace() || ";&|()'\"`".contains(c);
        let words = self.text.split(is_between).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        let mut folder = root.clone();
        let mut goes = false;
        let mut is_there = root.join(path).exists();
        for pair in words.windows(2) {
            if let ["cd" | "pushd", to] = pair {
                goes = true;
                folder = folder.join(to);
                is_there |= folder.join(path).exists() || root.join(to).join(path).exists();
            }
        }
        // There may have been a copy.
        is_there || goes && self.project.has(last_part(path))
    }
}

/// The words behind the first that `is` says.
fn behind(words: &[Word], is: impl Fn(&str) -> bool) -> Option<&[Word]> {
    let at = words.iter().position(|word| is(&word.text))?;
    words.get(at + 1..)
}

/// The name by which a program is known: nothing for one in a folder that is not for programs, which is nobody's but the project's.
fn name(word: &Word) -> &str {
    match word.text.rsplit_once('/') {
        Some((dir, name)) if dir.ends_with("bin") || matches!(name, "gradlew" | "mvnw") => name,
        Some(_) => "",
        None => &word.text,
    }
}

/// The file of code that a program is given with an option.
fn code_file(arguments: &[Word]) -> Option<Word> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if CODE_FILES.has(&word.text) {
            return words.next().cloned();
        }
        let joined = ["-f", "--file=", "--from-file="];
        let joined = joined.iter().find_map(|name| word.text.strip_prefix(name));
        if let Some(text) = joined {
            return Some(Word {
                text: text.to_owned(),
                ..word.clone()
            });
        }
    }
    None
}

fn last_part(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// A name without the version behind it: `python3.11`.
fn bare(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

/// Whether a word is neither an option, a number nor an assignment.
fn is_name(text: &str) -> bool {
    let is_other = text.starts_with(|c: char| "-+".contains(c) || c.is_ascii_digit());
    !is_other && !is_assignment(text)
}

#[cfg(test)]
mod tests;
