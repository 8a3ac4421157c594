//! A shell command taken apart into its simple commands, as bash reads it (manual, "Shell Syntax"): far enough to judge it, never to run it.
//!
//! What is not understood for certain makes the script not [`Script::is_whole`]; a word whose text only the shell knows (`$X`, `*.rs`) is not
//! [`Word::is_known`].

use std::iter;

use super::indirect;
use super::simple_command::{KEYWORDS, Mark, SimpleCommand, Word};

/// Maximum nesting of scripts in scripts.
const MAX_DEPTH: usize = 24;
/// Maximum characters that are read for one command, those of nested scripts included.
const MAX_CHARS: usize = 1 << 20;

/// The simple commands of a text.
#[derive(Debug, Default)]
pub(super) struct Script {
    pub commands: Vec<SimpleCommand>,
    /// False when something may run that is not among the commands.
    pub is_whole: bool,
}

/// Takes `text` apart, and the scripts in it that other commands are told to run.
pub(super) fn split(text: &str) -> Script {
    let mut script = Script {
        commands: Vec::new(),
        is_whole: true,
    };
    let mut left = MAX_CHARS;
    // A nested script is a text of its own, so a list replaces recursion here.
    let mut texts = vec![(text.to_owned(), 0)];
    while let Some((text, depth)) = texts.pop() {
        let size = text.len();
        if depth > MAX_DEPTH || size > left {
            script.is_whole = false;
            break;
        }
        left -= size;
        let mut lexer = Lexer::new(&text);
        lexer.list(0);
        script.is_whole &= lexer.is_whole && !(lexer.quotes_substitution && has_index(&text));
        let nested = lexer.nested.into_iter();
        texts.extend(nested.map(|text| (text, depth + 1)));
        for command in lexer.commands {
            let found = indirect::commands_in(command);
            script.is_whole &= found.is_whole;
            texts.extend(found.scripts.into_iter().map(|text| (text, depth + 1)));
            script.commands.extend(found.commands);
        }
    }
    script
}

/// What stands in a text for the shell.
#[derive(Debug, Default)]
pub(crate) struct WrittenScript {
    /// Its simple commands, those of substitutions included, without the words of the grammar and the assignments before them.
    pub commands: Vec<SimpleCommand>,
    /// What here-documents and here-strings feed to them.
    pub fed: Vec<String>,
    /// No word of the grammar decides which of the commands run, or turns their statuses around.
    pub is_plain: bool,
}

/// Takes `text` apart, and leaves alone what other commands are told to run.
pub(crate) fn written(text: &str) -> WrittenScript {
    let mut script = WrittenScript {
        is_plain: true,
        ..WrittenScript::default()
    };
    let mut texts = vec![text.to_owned()];
    let mut is_inside = false;
    while let Some(text) = texts.pop() {
        let mut lexer = Lexer::new(&text);
        lexer.list(0);
        // Each is a part of its text, without the marks around it.
        texts.extend(lexer.nested);
        script.fed.extend(lexer.fed);
        let keyword = |command: &SimpleCommand| {
            let first = command.words.first();
            first.is_some_and(|word| KEYWORDS.contains(&word.text.as_str()))
        };
        script.is_plain &= !lexer.commands.iter().any(keyword);
        let commands = lexer.commands.into_iter().map(|mut command| {
            if is_inside {
                command.mark = Mark::Inside;
            }
            indirect::bare(command)
        });
        script
            .commands
            .extend(commands.filter(|command| !command.words.is_empty()));
        is_inside = true;
    }
    script
}

/// The only command of a text, without keywords and assignments; none when there are others or it is not understood.
pub(super) fn only_command(text: &str) -> Option<SimpleCommand> {
    if text.len() > MAX_CHARS {
        return None;
    }
    let mut lexer = Lexer::new(text);
    lexer.list(0);
    let is_only = lexer.is_whole && lexer.nested.is_empty() && lexer.commands.len() == 1;
    lexer.commands.pop().filter(|_| is_only).map(indirect::bare)
}

/// Whether more than one simple command with literal words may run, by the marks that the shell has for it. Stricter than the shell where that costs little.
pub(super) fn holds_another(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    let mut in_double = false;
    let mut at_word_start = true;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                // In double quotes the backslash may stand for itself; the next character is then judged as if it stood alone.
                let escapes = !in_double || matches!(chars.peek(), Some('$' | '`' | '"' | '\\'));
                if chars.peek() == Some(&'\n') {
                    return true;
                }
                // A mark counts with a backslash too: a program such as find may give it to another shell.
                let is_mark = |next: &char| matches!(next, ';' | '&' | '|' | '`' | '<' | '>' | '$');
                if escapes && !chars.peek().is_some_and(is_mark) {
                    chars.next();
                }
            }
            '\'' if !in_double => {
                let mut quoted = String::new();
                let mut is_closed = false;
                for c in chars.by_ref() {
                    if c == '\'' {
                        is_closed = true;
                        break;
                    }
                    quoted.push(c);
                }
                if !is_closed || has_substitution(&quoted) && has_index(text) {
                    return true;
                }
            }
            '"' => in_double = !in_double,
            ';' | '&' | '|' | '\n' | '\r' | '`' | '<' | '>' => return true,
            '(' | ')' if !in_double => return true,
            '$' if matches!(chars.peek(), Some('(' | '{' | '[' | '\'' | '"')) => return true,
            '#' if at_word_start && !in_double => return true,
            _ => {}
        }
        at_word_start = matches!(c, ' ' | '\t');
    }
    in_double
}

/// Some builtins evaluate the index of an array that is named in an argument: `test -v 'a[$(reboot)]'` runs a command in spite of the quotes.
fn has_index(text: &str) -> bool {
    let is_index = |pair: &[u8]| matches!(pair, [before, b'['] if before.is_ascii_alphanumeric() || *before == b'_');
    text.as_bytes().windows(2).any(is_index)
}

fn has_substitution(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

struct HereDocument {
    end: String,
    strips_tabs: bool,
    is_literal: bool,
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    commands: Vec<SimpleCommand>,
    /// Texts of substitutions.
    nested: Vec<String>,
    here_documents: Vec<HereDocument>,
    /// Texts of here-documents and here-strings.
    fed: Vec<String>,
    /// A substitution stands in single quotes, where it does not run by itself.
    quotes_substitution: bool,
    is_whole: bool,
}

impl Lexer {
    fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            commands: Vec::new(),
            nested: Vec::new(),
            here_documents: Vec::new(),
            fed: Vec::new(),
            quotes_substitution: false,
            is_whole: true,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        Some(c)
    }

    /// Passes over `word` if it comes next.
    fn take(&mut self, word: &str) -> bool {
        let fits = word
            .chars()
            .enumerate()
            .all(|(i, c)| self.peek(i) == Some(c));
        if fits {
            self.at += word.chars().count();
        }
        fits
    }

    /// Commands up to the end, or up to the parenthesis that closes a substitution.
    fn list(&mut self, depth: usize) {
        let mut command = SimpleCommand::default();
        let mut parentheses = 0_usize;
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' => self.at += 1,
                '\n' => {
                    self.at += 1;
                    self.end(&mut command, Mark::Next);
                    self.skip_here_documents();
                }
                '#' => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.peek(1) == Some('>') => {
                    self.at += 1;
                    self.redirect(depth);
                }
                ';' | '&' | '|' => {
                    let is_double = self.peek(1) == Some(c);
                    self.at += if is_double { 2 } else { 1 };
                    let mark = match (c, is_double) {
                        ('&', true) => Mark::And,
                        ('&', false) => Mark::Background,
                        ('|', true) => Mark::Or,
                        ('|', false) => Mark::Pipe,
                        _ => Mark::Next,
                    };
                    self.end(&mut command, mark);
                }
                '(' => {
                    self.at += 1;
                    parentheses += 1;
                    self.end(&mut command, Mark::Next);
                }
                ')' if parentheses == 0 && depth > 0 => {
                    self.at += 1;
                    self.end(&mut command, Mark::End);
                    return;
                }
                ')' => {
                    self.at += 1;
                    parentheses = parentheses.saturating_sub(1);
                    self.end(&mut command, Mark::End);
                }
                '<' | '>' if self.peek(1) != Some('(') => self.redirect(depth),
                _ => {
                    let word = self.word(depth);
                    let names_descriptor = matches!(self.peek(0), Some('<' | '>'))
                        && self.peek(1) != Some('(')
                        && !word.text.is_empty()
                        && word.text.chars().all(|c| c.is_ascii_digit());
                    if !names_descriptor {
                        command.words.push(word);
                    }
                }
            }
        }
        self.end(&mut command, Mark::End);
        // A substitution that is not closed, or a here-document without lines.
        self.is_whole &= depth == 0 && self.here_documents.is_empty();
    }

    fn end(&mut self, command: &mut SimpleCommand, mark: Mark) {
        let mut command = std::mem::take(command);
        if !command.words.is_empty() {
            command.mark = mark;
            self.commands.push(command);
        } else if let Some(last) = self.commands.last_mut()
            && last.mark == Mark::End
        {
            // A group is what the mark stands behind.
            last.mark = mark;
        }
    }

    /// A redirection with its target.
    fn redirect(&mut self, depth: usize) {
        let here = self.take("<<<").then_some(None);
        let here = here.or_else(|| self.take("<<-").then_some(Some(true)));
        let here = here.or_else(|| self.take("<<").then_some(Some(false)));
        if here.is_none() {
            self.at += 1;
            while matches!(self.peek(0), Some('<' | '>' | '&' | '|')) {
                self.at += 1;
            }
        }
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        if matches!(
            self.peek(0),
            None | Some('\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
        ) && !matches!((self.peek(0), self.peek(1)), (Some('<' | '>'), Some('(')))
        {
            self.is_whole = false;
            return;
        }
        let from = self.at;
        let target = self.word(depth);
        if here == Some(None) {
            self.fed.push(target.text);
        } else if let Some(Some(strips_tabs)) = here {
            let written = self.chars.get(from..self.at).unwrap_or_default();
            self.is_whole &= target.is_known;
            self.here_documents.push(HereDocument {
                is_literal: written.iter().any(|c| matches!(c, '\'' | '"' | '\\')),
                end: target.text,
                strips_tabs,
            });
        }
    }

    /// Passes over the lines of the here-documents that begin after this line.
    fn skip_here_documents(&mut self) {
        for document in std::mem::take(&mut self.here_documents) {
            let mut fed = String::new();
            loop {
                if self.peek(0).is_none() {
                    self.is_whole = false;
                    break;
                }
                let line: String = iter::from_fn(|| self.next().filter(|c| *c != '\n')).collect();
                let line = match document.strips_tabs {
                    true => line.trim_start_matches('\t'),
                    false => &line,
                };
                if line == document.end {
                    break;
                }
                let expands = line.contains(['`', '\\']) || line.contains("$");
                self.is_whole &= document.is_literal || !expands;
                fed.push_str(line);
                fed.push('\n');
            }
            self.fed.push(fed);
        }
    }

    /// A word up to white space or an operator.
    fn word(&mut self, depth: usize) -> Word {
        let mut word = Word {
            is_known: true,
            ..Word::default()
        };
        let from = self.at;
        let mut has_pattern = false;
        while let Some(c) = self.peek(0) {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | ')' => break,
                '(' => {
                    // An array, a pattern of extglob, or the head of a function.
                    if self.peek(1) != Some(')') {
                        self.is_whole = false;
                    }
                    break;
                }
                '<' | '>' => {
                    if self.peek(1) != Some('(') {
                        break;
                    }
                    self.at += 2;
                    self.substitution(depth);
                    word.is_known = false;
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c) => word.text.push(c),
                        None => self.is_whole = false,
                    }
                }
                '\'' => {
                    self.at += 1;
                    self.single_quoted(&mut word);
                }
                '"' => {
                    self.at += 1;
                    self.double_quoted(&mut word, depth);
                }
                '$' | '`' => self.expansion(&mut word, depth),
                _ => {
                    has_pattern |= matches!(c, '*' | '?' | '[' | '{');
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
        if self.at == from {
            // Nothing that a word can begin with: do not stand still.
            self.at += 1;
            self.is_whole = false;
        }
        let is_plain = matches!(word.text.as_str(), "[" | "[[" | "{" | "{}");
        word.is_pattern = word.is_known && has_pattern && !is_plain;
        word.is_known &= !word.is_pattern;
        word
    }

    fn single_quoted(&mut self, word: &mut Word) {
        let mut quoted = String::new();
        loop {
            match self.next() {
                Some('\'') => break,
                Some(c) => quoted.push(c),
                None => {
                    self.is_whole = false;
                    break;
                }
            }
        }
        self.quotes_substitution |= has_substitution(&quoted);
        word.text.push_str(&quoted);
    }

    fn double_quoted(&mut self, word: &mut Word, depth: usize) {
        while let Some(c) = self.peek(0) {
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    self.at += 1;
                    match self.next() {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                        None => break,
                    }
                }
                '$' | '`' => self.expansion(word, depth),
                _ => {
                    self.at += 1;
                    word.text.push(c);
                }
            }
        }
        self.is_whole = false;
    }

    /// What begins with a dollar sign or a backquote.
    fn expansion(&mut self, word: &mut Word, depth: usize) {
        if self.next() == Some('`') {
            word.is_known = false;
            self.backquoted();
            return;
        }
        match self.peek(0) {
            Some('(') => {
                word.is_known = false;
                self.at += 1;
                // Arithmetic evaluates what its variables hold, which may be a substitution.
                self.is_whole &= self.peek(0) != Some('(');
                self.substitution(depth);
            }
            Some('{') => {
                word.is_known = false;
                self.at += 1;
                self.braced();
            }
            Some('[' | '\'' | '"') => {
                word.is_known = false;
                self.is_whole = false;
                self.at += 1;
            }
            Some(c) if c.is_ascii_alphanumeric() || "_@*#?-$!".contains(c) => {
                word.is_known = false;
                self.at += 1;
            }
            _ => word.text.push('$'),
        }
    }

    /// The commands of a substitution up to its parenthesis.
    fn substitution(&mut self, depth: usize) {
        if depth >= MAX_DEPTH {
            self.is_whole = false;
            self.at = self.chars.len();
            return;
        }
        let from = self.commands.len();
        self.list(depth + 1);
        for command in self.commands.iter_mut().skip(from) {
            command.mark = Mark::Inside;
        }
    }

    fn backquoted(&mut self) {
        let mut text = String::new();
        loop {
            match self.next() {
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(c @ ('$' | '`' | '\\')) => text.push(c),
                    Some(c) => text.extend(['\\', c]),
                    None => self.is_whole = false,
                },
                Some(c) => text.push(c),
                None => {
                    self.is_whole = false;
                    break;
                }
            }
        }
        self.nested.push(text);
    }

    /// `${NAME}` and the forms of it in which nothing can run: not `@`, `!` and indexes, which evaluate what a variable holds.
    fn braced(&mut self) {
        loop {
            match self.next() {
                Some('}') => return,
                Some(c) if c.is_ascii_alphanumeric() || "_#%:-+=?/.,".contains(c) => {}
                _ => {
                    self.is_whole = false;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands, each as its words; a word that only the shell knows is `?`.
    fn commands(text: &str) -> (Vec<String>, bool) {
        let script = split(text);
        let word = |word: &Word| match word.is_known {
            true => word.text.clone(),
            false => "?".to_owned(),
        };
        let line = |command: &SimpleCommand| -> String {
            let words: Vec<String> = command.words.iter().map(word).collect();
            words.join(" ")
        };
        (script.commands.iter().map(line).collect(), script.is_whole)
    }

    #[test]
    fn a_command_is_taken_apart_as_the_shell_does_it() {
        for (text, expected) in [
            ("git push", &["git push"][..]),
            ("  a   'b c'\t\"d e\" ", &["a b c d e"]),
            (
                "a; b && c || d | e & f\ng",
                &["a", "b", "c", "d", "e", "f", "g"],
            ),
            ("(a; b) && { c; }", &["a", "b", "c"]),
            ("if a; then b; else c; fi", &["a", "b", "c"]),
            ("for x in 1 2; do a $x; done", &["for x in 1 2", "a ?"]),
            ("while ! a; do b; done < f", &["a", "b"]),
            ("X=1 Y='2 3' a b", &["a b"]),
            ("a >out 2>&1 <in b", &["a b"]),
            ("a &>out; >out b", &["a", "b"]),
            ("a\\\nb \\; c", &["ab ; c"]),
            ("r\\m 'r'\"m\"", &["rm rm"]),
            ("a $(b $(c)) d", &["c", "b ?", "a ? d"]),
            ("a \"x $(b) y\"", &["b", "a ?"]),
            ("a <(b) >(c)", &["b", "c", "a ? ?"]),
            ("a '$(b)' \\$\\(b\\)", &["a $(b) $(b)"]),
            ("a # b; c\nd", &["a", "d"]),
            ("a x#y", &["a x#y"]),
            ("cat <<'E' | a\nrm $(x)\nE\nb", &["cat", "a", "b"]),
            ("cat <<-E\n\tplain\n\tE\nb", &["cat", "b"]),
            ("f() { a; }; f", &["f", "a", "f"]),
            ("a ${HOME} ${x:-y} $1 *.rs", &["a ? ? ? ?"]),
            ("[ -f x ] && a", &["[ -f x ]", "a"]),
            ("a $ b", &["a $ b"]),
        ] {
            let (found, is_whole) = commands(text);
            assert_eq!(found, expected, "{text}");
            assert!(is_whole, "{text}");
        }
        let (found, is_whole) = commands("a `b \\`c\\``");
        assert!(is_whole);
        assert_eq!(found, ["a ?", "b ?", "c"]);
    }

    #[test]
    fn what_is_not_understood_is_not_whole() {
        for text in [
            "a 'b",
            "a \"b",
            "a $(b",
            "a `b",
            "a $'b'",
            "a $((1+1))",
            "a $[1]",
            "a ${x:-$(b)}",
            "a ${x@P}",
            "a ${!x}",
            "a <<E\n$(b)\nE",
            "a <<E\nno end",
            "case x in a) b;; esac",
            "a x=(b)",
            "test -v 'a[$(b)]'",
            "a >",
            "a \\",
        ] {
            assert!(!split(text).is_whole, "{text}");
        }
        assert!(!split(&"$(".repeat(10_000)).is_whole);
        assert!(!split(&"(".repeat(MAX_CHARS + 1)).is_whole);
    }

    #[test]
    fn marks_of_another_command_are_seen_outside_of_single_quotes() {
        for text in [
            "a;b",
            "a&b",
            "a|b",
            "a\nb",
            "a $(b)",
            "a `b`",
            "a <b",
            "a >b",
            "a ${b}",
            "a \"$(b)\"",
            "a \"`b`\"",
            "a \"'\" ; b \"'\"",
            "a \\' ; b \\'",
            "a 'b",
            "a \"b",
            "a # '\nb\n'",
            "a $'\\'' ; b",
            "a (b)",
            "a $[b]",
            "a \\\nb",
            "a \"\\x$(b)\"",
            "a\\;b",
            "a \\$(b)",
            "a \"\\`b\"",
        ] {
            assert!(holds_another(text), "{text}");
        }
        for text in [
            "a",
            "a b",
            "a ';' '$(b)' '`b`' '<>' '\n'",
            "a \"b c\"",
            "a \\$b \\(\\'\\\\",
            "a $b",
            "a x#y",
            "git commit -m 'Fix `x` (2); done'",
            "a \"it's\"",
            "a '[x]'",
        ] {
            assert!(!holds_another(text), "{text}");
        }
    }
}
