//! Which lines of an answer in Markdown are prose, told while it arrives. Code and tables are not: they take the whole width of the terminal.

/// Bytes of a line that decide what it is.
const MAX_START_BYTES: usize = 64;

/// The line that is being written, and whether it is in a block of code.
#[derive(Debug, Default)]
pub(super) struct ProseLines {
    /// The character and the length of the fence that opened the block.
    fence: Option<(char, usize)>,
    /// How the line begins, without leading blanks.
    start: String,
}

impl ProseLines {
    /// More of the current line.
    pub(super) fn push(&mut self, text: &str) {
        let text = match self.start.is_empty() {
            true => text.trim_start(),
            false => text,
        };
        let room = MAX_START_BYTES.saturating_sub(self.start.len());
        self.start.push_str(crate::base::text::head(text, room));
    }

    pub(super) fn end_line(&mut self) {
        let start = std::mem::take(&mut self.start);
        let Some((mark, length)) = fence(&start) else {
            return;
        };
        let after = start.get(length..).unwrap_or_default();
        match self.fence {
            None if mark == '`' && after.contains('`') => {}
            None => self.fence = Some((mark, length)),
            Some((opened_by, least)) => {
                if mark == opened_by && length >= least && after.trim().is_empty() {
                    self.fence = None;
                }
            }
        }
    }

    /// Whether the current line is prose, as far as it shows.
    pub(super) fn is_prose(&self) -> bool {
        self.fence.is_none() && !self.start.starts_with('|') && fence(&self.start).is_none()
    }
}

/// The fence that a line begins with: its character and how many of them.
fn fence(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then_some((mark, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_tables_are_no_prose() {
        let mut lines = ProseLines::default();
        for (line, is_prose) in [
            ("Look:", true),
            ("```inline``` code", false),
            ("more", true),
            ("  ````rust", false),
            ("let x = 1;", false),
            ("```", false),
            ("````", false),
            ("and", true),
            ("| a | b |", false),
            ("~~~", false),
            ("```", false),
            ("~~~~ ", false),
            ("- after", true),
        ] {
            for piece in line.split_inclusive(' ') {
                lines.push(piece);
            }
            assert_eq!(lines.is_prose(), is_prose, "{line}");
            lines.end_line();
        }
    }
}
