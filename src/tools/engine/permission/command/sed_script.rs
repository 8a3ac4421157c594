//! Whether a sed script may run a command: by the command `e`, or the flag `e` of a substitution (GNU sed manual, "Other Commands").

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// What is not understood may.
pub(super) fn may_run(script: &str) -> bool {
    !is_understood(script)
}

/// Whether the script consists of commands that run none.
fn is_understood(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // Between commands, and in addresses.
            c if c.is_whitespace() || c.is_ascii_digit() || ";{}$,~+!".contains(c) => {}
            '/' => {
                if !pass_pattern(&mut chars, '/') {
                    return false;
                }
                while chars.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            '\\' => {
                let end = chars.next();
                if !end.is_some_and(|end| pass_pattern(&mut chars, end)) {
                    return false;
                }
                while chars.next_if(|c| matches!(c, 'I' | 'M')).is_some() {}
            }
            's' | 'y' => {
                let Some(end) = chars.next().filter(|end| !matches!(end, '\\' | '\n')) else {
                    return false;
                };
                let first = match c {
                    's' => pass_pattern(&mut chars, end),
                    _ => pass(&mut chars, end),
                };
                if !first || !pass(&mut chars, end) {
                    return false;
                }
                let is_flag = |c: &char| c.is_ascii_digit() || "gpiImM".contains(*c);
                while chars.next_if(is_flag).is_some() {}
                match chars.peek() {
                    None | Some('\n' | ';' | '}' | ' ') => {}
                    Some('w') => pass_line(&mut chars),
                    Some(_) => return false,
                }
            }
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q' | 'x'
            | 'l' | 'z' | 'F' => {}
            // A label.
            'b' | 't' | 'T' | ':' => {
                while chars.next_if(|c| *c == ' ').is_some() {}
                while chars
                    .next_if(|c| c.is_ascii_alphanumeric() || *c == '_')
                    .is_some()
                {}
            }
            // Text or a file up to the end of the line.
            '#' | 'a' | 'i' | 'c' | 'r' | 'R' | 'w' | 'W' => pass_line(&mut chars),
            _ => return false,
        }
    }
    true
}

/// Passes over a replacement.
fn pass(chars: &mut Chars<'_>, end: char) -> bool {
    while let Some(c) = chars.next() {
        match c {
            c if c == end => return true,
            '\\' => {
                chars.next();
            }
            _ => {}
        }
    }
    false
}

/// Passes over a regular expression. Within brackets its end may be meant or not, which differs from sed to sed.
fn pass_pattern(chars: &mut Chars<'_>, end: char) -> bool {
    let mut is_in_brackets = false;
    while let Some(c) = chars.next() {
        match c {
            c if c == end => return !is_in_brackets,
            '\\' => {
                chars.next();
            }
            '[' if !is_in_brackets => {
                is_in_brackets = true;
                // A closing one at the start stands for itself.
                let _ = chars.next_if_eq(&'^');
                let _ = chars.next_if_eq(&']');
            }
            '[' => {
                let class = chars.next_if(|c| matches!(c, ':' | '.' | '='));
                if class.is_some_and(|_| !chars.any(|c| c == ']')) {
                    return false;
                }
            }
            ']' => is_in_brackets = false,
            _ => {}
        }
    }
    false
}

fn pass_line(chars: &mut Chars<'_>) {
    let _ = chars.find(|c| *c == '\n');
}
