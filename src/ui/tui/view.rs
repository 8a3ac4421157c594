//! Draws a frame, from top to bottom: the conversation, what covers it, the status line and the input.

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::ask::{self, QuestionPrompt};
use super::chat::{Chat, ScrollAnchor, layout_ctx};
use super::picker::Picker;
use super::{help, menus, status};
use crate::app::session::ui_update::SessionStatus;
use crate::ui::editor::Editor;
use crate::ui::term::screen::Scroll;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Maximum rows of the input.
const INPUT_ROWS: usize = 12;

/// Everything that a frame shows.
pub(super) struct FrameContent<'a> {
    pub(super) chat: &'a mut Chat,
    pub(super) editor: &'a mut Editor,
    pub(super) open_question: Option<&'a mut QuestionPrompt>,
    /// The scroll position of the help, if it is open.
    pub(super) help: Option<&'a mut usize>,
    /// The list to choose from, if it is open.
    pub(super) picker: Option<&'a mut Picker>,
    pub(super) status: &'a SessionStatus,
    pub(super) flash: Option<&'a str>,
    pub(super) queue: &'a [String],
    pub(super) clock: &'a str,
    pub(super) theme: &'a Theme,
    pub(super) now: Instant,
}

/// Where the rows of the conversation were in a frame: the next frame needs this to detect scrolling.
#[derive(Default)]
pub(super) struct RowLayout {
    pub(super) rows: Vec<ScrollAnchor>,
    /// Rows of the conversation.
    pub(super) height: usize,
}

/// The result of drawing a frame.
pub(super) struct DrawnFrame {
    pub(super) cursor: Option<Position>,
    pub(super) scroll: Option<Scroll>,
    pub(super) placed: RowLayout,
}

/// Draws a frame.
pub(super) fn draw(scene: FrameContent<'_>, buffer: &mut Buffer, before: &RowLayout) -> DrawnFrame {
    let area = buffer.area;
    let columns = usize::from(area.width);
    let rows = usize::from(area.height);
    if columns == 0 || rows == 0 {
        return DrawnFrame {
            cursor: None,
            scroll: None,
            placed: RowLayout::default(),
        };
    }
    let theme = scene.theme;
    let prompt = prompt(&scene, columns);
    let indent = width::of(&prompt);
    let max = (rows / 3).clamp(1, INPUT_ROWS);
    let input = scene
        .editor
        .rows(columns.saturating_sub(indent).max(1), max);
    let input_rows = input.rows.len().clamp(1, max);
    let status_rows = usize::from(rows > input_rows);
    let jobs = status::jobs(scene.status, columns, theme);
    let jobs = jobs.filter(|_| rows > input_rows + status_rows + 3);
    let layout_ctx = layout_ctx(columns, theme, scene.now);
    let mut live = status::live(scene.status, layout_ctx);
    if rows <= input_rows + status_rows + 3 + live.len() {
        live.clear();
    }
    let below = live.len() + jobs.iter().count();
    let left = rows.saturating_sub(input_rows + status_rows + below);
    let mut question = scene.open_question.map_or_else(Vec::new, |open_question| {
        ask::rows(open_question, columns, left, theme)
    });
    question.truncate(left);
    let height = left - question.len();
    let chat_area = Rect::new(0, 0, area.width, clamp(height));

    let mut placed = RowLayout {
        rows: Vec::new(),
        height,
    };
    let mut more = false;
    if let Some(picker) = scene.picker {
        put(buffer, 0, picker.rows(columns, height, theme));
    } else if let Some(at) = scene.help {
        let all = help::rows(columns, theme);
        *at = (*at).min(all.len().saturating_sub(height));
        put(buffer, 0, all.into_iter().skip(*at).take(height));
    } else {
        let visible_rows = scene.chat.visible_rows(height, scene.queue, layout_ctx);
        placed.rows = visible_rows
            .rows
            .iter()
            .map(|(anchor, _)| *anchor)
            .collect();
        more = visible_rows.more;
        put(
            buffer,
            0,
            visible_rows.rows.into_iter().map(|(_, line)| line),
        );
    }
    let mut y = height;
    let question_rows = question.len();
    put(buffer, y, question);
    y += question_rows;
    let live_rows = live.len();
    put(buffer, y, live);
    y += live_rows;
    if let Some(line) = jobs {
        put(buffer, y, [line]);
        y += 1;
    }
    if status_rows > 0 {
        let flash = match (scene.flash, more) {
            (None, true) => Some("↓ more below"),
            (flash, _) => flash,
        };
        let line = status::line(scene.status, flash, scene.clock, columns, theme, scene.now);
        put(buffer, y, [line]);
        y += 1;
    }
    // A key may approve what is asked here: no menu of a draft covers it.
    let menu_bottom = match question_rows {
        0 => y - status_rows,
        _ => height,
    };
    if let Some(open) = scene.editor.menu() {
        menus::commands(open, buffer, menu_bottom, theme);
    }
    if let Some(open) = scene.editor.file_menu() {
        menus::files(open, buffer, menu_bottom, theme);
    }
    for (index, row) in input.rows.iter().take(input_rows).enumerate() {
        let lead = if index == 0 {
            prompt.clone()
        } else {
            " ".repeat(indent)
        };
        let line = Line::from(vec![
            Span::styled(lead, theme.accent),
            Span::styled(row.clone(), theme.text),
        ]);
        put(buffer, y + index, [line]);
    }
    let (x, row) = input.cursor;
    let cursor = Position::new(
        clamp((indent + x).min(columns - 1)),
        clamp((y + row).min(rows - 1)),
    );
    let scroll = moved(before, &placed, chat_area);
    DrawnFrame {
        cursor: Some(cursor),
        scroll,
        placed,
    }
}

fn clamp(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

fn prompt(scene: &FrameContent<'_>, columns: usize) -> String {
    if let Some(searching) = scene.editor.searching() {
        let sign = if searching.failed {
            "no match"
        } else {
            "search"
        };
        return width::clip(&format!("({sign}: {}) ", searching.query), columns / 2);
    }
    match &scene.open_question {
        Some(open_question) if open_question.declining => "why not: ",
        _ if scene.status.shell.is_some() => "$ ",
        _ => "> ",
    }
    .to_owned()
}

/// Writes rows from `y` on; rows beyond the screen are dropped.
fn put(buffer: &mut Buffer, y: usize, rows: impl IntoIterator<Item = Line<'static>>) {
    let area = buffer.area;
    for (at, line) in (y..usize::from(area.height)).zip(rows) {
        buffer.set_line(0, clamp(at), &line, area.width);
    }
}

/// How the rows of the conversation moved since the last frame.
fn moved(before: &RowLayout, now: &RowLayout, area: Rect) -> Option<Scroll> {
    if before.height != now.height || now.rows.is_empty() || before.rows.is_empty() {
        return None;
    }
    let first = now.rows.first()?;
    let up = before
        .rows
        .iter()
        .position(|anchor| anchor == first)
        .filter(|by| *by > 0);
    let down = || {
        let first = before.rows.first()?;
        now.rows
            .iter()
            .position(|anchor| anchor == first)
            .filter(|by| *by > 0)
    };
    let by = match up {
        Some(by) => i16::try_from(by).ok()?,
        None => -i16::try_from(down()?).ok()?,
    };
    Some(Scroll {
        rows: area.y..area.y + area.height,
        up: by,
    })
}
