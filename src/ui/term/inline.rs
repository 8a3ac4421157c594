//! A few rows that are drawn again and again below what was printed before, on the ordinary screen: nothing has to be restored, whatever ends the process.
//!
//! After each frame the cursor is at the beginning of the row below. The next frame goes up over the rows of the last one. A terminal that got narrower in
//! between may have wrapped them, and by how much only the terminal knows; then the upper rows of the old picture stay above the new one. Going up further
//! could overwrite lines that say more.

use ratatui::style::{Color, Style};
use ratatui::text::Line;

use super::ansi_writer::{AnsiWriter, CellStyle};

/// Synchronized update, cursor hidden; and back.
const BEGIN: &[u8] = b"\x1b[?2026h\x1b[?25l";
const END: &[u8] = b"\x1b[?25h\x1b[?2026l";

/// The rows that are drawn in place.
#[derive(Debug, Default)]
pub(crate) struct InlineArea {
    /// Rows of the last frame.
    rows: usize,
}

impl InlineArea {
    /// The bytes that replace the last frame: lines that stay, and below them the new picture. The caller wraps all of them to the width of the terminal, and
    /// keeps the picture lower than the terminal is high.
    pub(crate) fn frame(&mut self, lines: &[Line<'_>], picture: &[Line<'_>]) -> Vec<u8> {
        if self.rows == 0 && lines.is_empty() && picture.is_empty() {
            return Vec::new();
        }
        let mut writer = AnsiWriter::new(0, None, CellStyle::PLAIN);
        writer.put(BEGIN);
        if self.rows > 0 {
            writer.put(format!("\x1b[{}A", self.rows).as_bytes());
        }
        for line in lines.iter().chain(picture) {
            // Erased first: after the last column some terminals would erase that one.
            writer.put(b"\r\x1b[2K");
            for span in &line.spans {
                writer.style(cell_style(line.style.patch(span.style)));
                writer.put(span.content.as_bytes());
            }
            writer.style(CellStyle::PLAIN);
            writer.put(b"\r\n");
        }
        writer.put(b"\x1b[J");
        writer.put(END);
        self.rows = picture.len();
        writer.bytes().to_vec()
    }
}

fn cell_style(style: Style) -> CellStyle {
    CellStyle {
        fg: style.fg.unwrap_or(Color::Reset),
        bg: style.bg.unwrap_or(Color::Reset),
        modifier: style.add_modifier,
        link: 0,
    }
}
