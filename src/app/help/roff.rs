//! A text of blocks in roff, for the manual page.

use std::fmt::Write as _;

use super::markup::Block;

/// The blocks with the man macros.
pub(crate) fn text(blocks: &[Block]) -> String {
    let mut out = String::new();
    for block in blocks {
        match block {
            Block::Section(title) => section(&mut out, title),
            Block::Heading(title) => {
                let _ = writeln!(out, ".SS {}", escape(&title.replace('`', "")));
            }
            Block::Paragraph(text) => {
                let _ = writeln!(out, ".PP\n{}", line(text));
            }
            Block::Item(text) => {
                let _ = writeln!(out, ".IP \\(bu 2\n{}", line(text));
            }
            Block::Code(lines) => {
                out.push_str(".PP\n.RS 4\n.nf\n");
                for code in lines {
                    let _ = writeln!(out, "{}", escape(code));
                }
                out.push_str(".fi\n.RE\n");
            }
            Block::Rows(rows) => {
                for (term, text) in rows {
                    let _ = writeln!(
                        out,
                        ".TP\n.B {}\n{}",
                        escape(&term.replace('`', "")),
                        line(text)
                    );
                }
            }
        }
    }
    out
}

/// The heading of a section.
pub(crate) fn section(out: &mut String, title: &str) {
    let _ = writeln!(out, ".SH {}", escape(&title.to_uppercase()));
}

/// A text with what is typed in bold.
fn line(text: &str) -> String {
    let mut out = String::new();
    for (n, part) in text.split('`').enumerate() {
        let part = escape(part);
        if n % 2 == 1 {
            let _ = write!(out, "\\fB{part}\\fR");
        } else {
            out.push_str(&part);
        }
    }
    begin(out)
}

/// Escapes what roff would interpret.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\e"),
            '-' => out.push_str("\\-"),
            '^' => out.push_str("\\(ha"),
            '~' => out.push_str("\\(ti"),
            c if c.is_ascii() => out.push(c),
            c => {
                let _ = write!(out, "\\[u{:04X}]", u32::from(c));
            }
        }
    }
    begin(out)
}

/// A line must not begin like a request.
fn begin(text: String) -> String {
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}
