//! Whether an awk program may run a command: by `system`, a pipe, or a function whose name it makes up (POSIX, "awk"; GNU Awk manual, "Indirect Calls").

/// Regular expressions and strings are passed over where it is certain that they are some.
pub(super) fn may_run(program: &str) -> bool {
    let has_mark = |text: &str| {
        let text = text.replace("||", " ");
        text.contains("system") || text.contains(['|', '@'])
    };
    has_mark(program) && code(program).is_none_or(|code| has_mark(&code))
}

/// The program without its strings, comments and regular expressions; none when it cannot be told what is one.
fn code(program: &str) -> Option<String> {
    let mut code = String::new();
    let mut chars = program.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                skip(&mut chars, '"')?;
                // A value, behind which no regular expression begins.
                code.push('0');
            }
            '#' => {
                let _ = chars.find(|c| *c == '\n');
                code.push('\n');
            }
            '/' => match code.trim_end().chars().next_back() {
                None | Some('(' | ',' | '{' | '}' | ';' | '!' | '~' | '&' | '|') => {
                    skip(&mut chars, '/')?;
                    code.push('0');
                }
                _ => return None,
            },
            c => code.push(c),
        }
    }
    Some(code)
}

/// Passes over what ends with `end`; none when it does not end, or in a way that differs from awk to awk.
fn skip(chars: &mut std::str::Chars<'_>, end: char) -> Option<()> {
    while let Some(c) = chars.next() {
        match c {
            c if c == end => return Some(()),
            '[' if end == '/' => return None,
            '\n' => return None,
            '\\' => {
                chars.next()?;
            }
            _ => {}
        }
    }
    None
}
