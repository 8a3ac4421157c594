//! Draws a frame, from top to bottom: the conversation, what covers it, the input and the status line.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use super::ask;
use super::chat::{ScrollAnchor, layout_ctx};
use super::frame_content::FrameContent;
use super::input_area::InputArea;
use super::{help, menus, status};
use crate::ui::term::screen::Scroll;

/// Where the rows of the conversation were in a frame: the next frame needs this to detect scrolling.
#[derive(Default)]
pub(super) struct RowLayout {
    /// Empty rows above them.
    pub(super) blank: usize,
    pub(super) rows: Vec<ScrollAnchor>,
    /// Rows of the conversation.
    pub(super) height: usize,
}

impl RowLayout {
    /// The row of the screen that shows this one of the conversation.
    fn row_of(&self, row: &ScrollAnchor) -> Option<usize> {
        let at = self.rows.iter().position(|shown| shown == row)?;
        Some(self.blank + at)
    }
}

/// The result of drawing a frame.
pub(super) struct DrawnFrame {
    pub(super) cursor: Option<Position>,
    pub(super) scroll: Option<Scroll>,
    pub(super) placed: RowLayout,
}

pub(super) fn draw(
    mut scene: FrameContent<'_>,
    buffer: &mut Buffer,
    before: &RowLayout,
) -> DrawnFrame {
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
    let input = InputArea::new(&mut scene, columns, rows);
    let input_rows = input.rows.len();
    let status_rows = usize::from(rows > input_rows);
    let rules = input.above.iter().chain(&input.below).count();
    let fixed = input_rows + status_rows + rules + input.space;
    let jobs = status::jobs(scene.status, columns, theme);
    let jobs = jobs.filter(|_| rows > fixed + 3);
    let layout_ctx = layout_ctx(columns, theme, scene.now);
    let mut live = status::live(scene.status, layout_ctx);
    if rows <= fixed + 3 + live.len() {
        live.clear();
    }
    let below = live.len() + jobs.iter().count();
    let left = rows.saturating_sub(fixed + below);
    let mut question = scene.open_question.map_or_else(Vec::new, |open_question| {
        ask::rows(open_question, columns, left, theme)
    });
    question.truncate(left);
    let height = left - question.len();

    let mut placed = RowLayout {
        blank: 0,
        rows: Vec::new(),
        height,
    };
    let mut more = false;
    if let Some(overlay) = scene.overlay {
        let rows = overlay.rows(columns, height, theme);
        // Next to the input; its title stays where it is while a list is filtered.
        let all = overlay.all_rows().max(rows.len());
        put(buffer, height - all.min(height), rows);
    } else if let Some(at) = scene.help {
        let all = help::rows(columns, theme);
        *at = (*at).min(all.len().saturating_sub(height));
        put(buffer, 0, all.into_iter().skip(*at).take(height));
    } else {
        let visible_rows = scene.chat.visible_rows(height, scene.queue, layout_ctx);
        let (anchors, lines): (Vec<_>, Vec<_>) = visible_rows.rows.into_iter().unzip();
        (placed.blank, placed.rows) = (visible_rows.blank, anchors);
        more = visible_rows.more;
        put(buffer, placed.blank, lines);
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
    y += input.space;
    // A key may approve what is asked here: no menu of a draft covers it.
    let menu_bottom = match question_rows {
        0 => y,
        _ => height,
    };
    if let Some(open) = scene.editor.menu() {
        menus::commands(open, buffer, menu_bottom, theme);
    }
    if let Some(open) = scene.editor.file_menu() {
        menus::files(open, buffer, menu_bottom, theme);
    }
    if let Some(rule) = input.above {
        put(buffer, y, [rule]);
        y += 1;
    }
    put(buffer, y, input.rows);
    let (x, row) = input.cursor;
    let cursor = Position::new(clamp(x.min(columns - 1)), clamp((y + row).min(rows - 1)));
    y += input_rows;
    if let Some(rule) = input.below {
        put(buffer, y, [rule]);
        y += 1;
    }
    if status_rows > 0 {
        let flash = match (scene.flash, more) {
            (None, true) => Some("↓ more below"),
            (flash, _) => flash,
        };
        let line = status::line(scene.status, flash, scene.clock, columns, theme, scene.now);
        put(buffer, y, [line]);
    }
    let scroll = moved(before, &placed);
    DrawnFrame {
        cursor: Some(cursor),
        scroll,
        placed,
    }
}

fn clamp(value: usize) -> u16 {
    u16::try_from(value).unwrap_or(u16::MAX)
}

/// Writes rows from `y` on; rows beyond the screen are dropped. A row's own style fills it from edge to edge where it can be seen on blanks.
fn put(buffer: &mut Buffer, y: usize, rows: impl IntoIterator<Item = Line<'static>>) {
    let area = buffer.area;
    for (at, line) in (y..usize::from(area.height)).zip(rows) {
        let y = clamp(at);
        let fill = Style {
            bg: line.style.bg,
            add_modifier: line.style.add_modifier & Modifier::REVERSED,
            ..Style::new()
        };
        if fill != Style::new() {
            buffer.set_style(Rect::new(0, y, area.width, 1), fill);
        }
        buffer.set_line(0, y, &line, area.width);
    }
}

/// How the rows of the conversation moved since the last frame.
fn moved(before: &RowLayout, now: &RowLayout) -> Option<Scroll> {
    let up = |y: usize, other: usize| {
        let by = isize::try_from(y).ok()? - isize::try_from(other).ok()?;
        i16::try_from(by).ok().filter(|by| *by != 0)
    };
    let first_now = || up(before.row_of(now.rows.first()?)?, now.blank);
    let first_before = || up(before.blank, now.row_of(before.rows.first()?)?);
    Some(Scroll {
        // Where the input or a question has grown, what moves comes from below their edge.
        rows: 0..clamp(before.height.max(now.height)),
        up: first_now().or_else(first_before)?,
    })
}
