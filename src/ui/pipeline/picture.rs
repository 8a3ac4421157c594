//! The picture of a run: what runs now, and how far it has come. Each row says how important it is; where the terminal is low, the least important go first.

use std::time::Duration;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::lines::foreign;
use crate::app::pipeline::progress::{
    ChildProgress, PhaseProgress, PhaseState, ProviderWait, RunProgress, Usage,
};
use crate::base::text::counted;
use crate::chat::usage::{dollars, estimate_mark};
use crate::formats::duration;
use crate::ui::text::theme::Theme;
use crate::ui::text::{spinner, width, wrap};

/// Columns of the bar between its brackets.
const MAX_BAR_COLUMNS: usize = 40;
const MIN_BAR_COLUMNS: usize = 4;
/// What a phase does is shown with at least so many columns.
const MIN_ABOUT_COLUMNS: usize = 8;
/// With fewer columns indents are smaller.
const NARROW_COLUMNS: usize = 40;
/// Rows of the sentence that ends a run.
const MAX_END_ROWS: usize = 3;

/// What a picture depends on, besides the run.
#[derive(Clone, Copy)]
pub(super) struct PictureContext<'a> {
    pub(super) width: usize,
    /// Most rows.
    pub(super) height: usize,
    /// Since the same moment as the times of the run.
    pub(super) now: Duration,
    pub(super) theme: &'a Theme,
}

/// A row, and how important it is.
struct PictureRow {
    line: Line<'static>,
    rank: u8,
}

/// A part of a row, and how important it is within it.
struct Piece {
    text: String,
    style: Style,
    rank: u8,
}

fn piece(text: String, style: Style, rank: u8) -> Piece {
    Piece { text, style, rank }
}

/// The rows, each at most `width` columns wide; none before the run has started.
pub(super) fn picture(progress: &RunProgress, context: &PictureContext<'_>) -> Vec<Line<'static>> {
    if progress.times.started.is_none() {
        return Vec::new();
    }
    let mut rows = vec![
        row(headline(progress, context), 10),
        row(task(progress, context), 2),
        row(bar(progress, context), 9),
    ];
    let widest = progress
        .phases
        .iter()
        .map(|phase| width::of(&foreign(&phase.name)));
    let widest = widest.max().unwrap_or_default();
    let mut shown_children = false;
    for phase in &progress.phases {
        rows.push(phase_row(phase, widest, context));
        if matches!(phase.state, PhaseState::Running(_)) {
            shown_children = true;
            running_rows(progress, context, &mut rows);
        }
    }
    if !shown_children {
        running_rows(progress, context, &mut rows);
    }
    if let Some(end) = &progress.end {
        let style = if end.done {
            context.theme.text
        } else {
            context.theme.error
        };
        let lines = wrap::text(foreign(&end.words), style, context.width, 0);
        rows.extend(
            lines
                .into_iter()
                .take(MAX_END_ROWS)
                .map(|line| row(line, 9)),
        );
    }
    while rows.len() > context.height {
        let lowest = rows.iter().map(|row| row.rank).min().unwrap_or_default();
        match rows.iter().rposition(|row| row.rank == lowest) {
            Some(index) => rows.remove(index),
            None => break,
        };
    }
    let lines = rows.into_iter().map(|row| row.line);
    lines.map(|line| cut(line, context.width)).collect()
}

fn row(line: Line<'static>, rank: u8) -> PictureRow {
    PictureRow { line, rank }
}

/// State, ticket, time, tokens and dollars.
fn headline(progress: &RunProgress, context: &PictureContext<'_>) -> Line<'static> {
    let theme = context.theme;
    let (state, style) = match &progress.end {
        None => ("Pipeline", theme.accent),
        Some(end) if end.done => ("Pipeline done", theme.added),
        Some(_) => ("Pipeline stopped", theme.error),
    };
    let usage = progress.own_usage();
    let elapsed = duration::compact(progress.elapsed(context.now));
    let pieces = vec![
        piece(state.to_owned(), style, 6),
        piece(
            format!("ticket {}", foreign(&progress.ticket)),
            theme.dim,
            2,
        ),
        piece(elapsed, theme.text, 9),
        piece(tokens(usage), theme.text, 3),
        piece(dollars(usage.cost, usage.estimated), theme.text, 8),
    ];
    fitted(Vec::new(), pieces, context)
}

fn tokens(usage: Usage) -> String {
    let mark = estimate_mark(usage.estimated);
    format!("{mark}{}", counted(usage.tokens, "token"))
}

fn task(progress: &RunProgress, context: &PictureContext<'_>) -> Line<'static> {
    let text = width::clip(&foreign(&progress.task), context.width);
    Line::from(Span::styled(text, context.theme.dim))
}

/// How many phases are done, as a bar.
fn bar(progress: &RunProgress, context: &PictureContext<'_>) -> Line<'static> {
    let (done, all) = progress.count();
    let room = |label: &str| context.width.saturating_sub(width::of(label) + 3);
    let mut label = format!("{done} of {all} phases");
    if room(&label) < MIN_BAR_COLUMNS {
        label = format!("{done}/{all}");
    }
    let columns = room(&label).min(MAX_BAR_COLUMNS);
    if columns < MIN_BAR_COLUMNS {
        return Line::from(label);
    }
    let full = (columns * done).checked_div(all).unwrap_or_default();
    Line::from(vec![
        Span::raw("["),
        Span::styled("█".repeat(full), context.theme.added),
        Span::styled("░".repeat(columns.saturating_sub(full)), context.theme.dim),
        Span::raw(format!("] {label}")),
    ])
}

fn phase_row(phase: &PhaseProgress, widest: usize, context: &PictureContext<'_>) -> PictureRow {
    let theme = context.theme;
    let short = |took| duration::compact(duration::rounded(took));
    let (mark, style, right, rank) = match &phase.state {
        PhaseState::Omitted => ("-", theme.dim, "omitted".to_owned(), 1),
        PhaseState::ToCome => ("·", theme.dim, String::new(), 4),
        PhaseState::Running(since) => {
            let time = context.now.saturating_sub(*since);
            (
                spinner::frame(time),
                theme.accent,
                duration::compact(time),
                8,
            )
        }
        PhaseState::Done(took) => ("✓", theme.added, took.map_or_else(String::new, short), 3),
        PhaseState::Skipped(_) => ("-", theme.dim, "skipped".to_owned(), 3),
        PhaseState::Stopped(took) => ("✗", theme.error, short(*took), 8),
    };
    let right = width::clip(&right, context.width / 2);
    let room = context.width.saturating_sub(width::of(&right) + 1);
    let name = foreign(&phase.name);
    let about_room = room.saturating_sub(widest + 4);
    let (name, about) = match about_room >= MIN_ABOUT_COLUMNS {
        true => (
            width::pad(&name, widest),
            width::clip(&foreign(&phase.about), about_room),
        ),
        false => (width::clip(&name, room.saturating_sub(2)), String::new()),
    };
    let left = [
        Span::styled(mark.to_owned(), style),
        Span::styled(
            format!(" {name}"),
            if rank > 4 { style } else { theme.text },
        ),
        Span::styled(
            if about.is_empty() {
                about
            } else {
                format!("  {about}")
            },
            if rank > 4 { theme.text } else { theme.dim },
        ),
    ];
    let taken = width::of_spans(&left);
    let mut spans = left.to_vec();
    if !right.is_empty() && taken <= room {
        spans.push(Span::raw(" ".repeat(room - taken + 1)));
        spans.push(Span::styled(right, theme.dim));
    }
    row(Line::from(spans), rank)
}

/// The round and the children that run.
fn running_rows(progress: &RunProgress, context: &PictureContext<'_>, rows: &mut Vec<PictureRow>) {
    let indent = " ".repeat(if context.width < NARROW_COLUMNS { 2 } else { 4 });
    if let Some(round) = &progress.round {
        let text = format!(
            "{indent}round {} of {}: {}",
            round.number,
            round.most,
            foreign(&round.subject)
        );
        rows.push(row(Line::from(width::clip(&text, context.width)), 6));
    }
    for child in progress.running() {
        rows.push(row(child_row(child, &indent, context), 7));
    }
    for wait in &progress.waits {
        rows.push(row(wait_row(wait, &indent, context), 7));
    }
}

fn child_row(child: &ChildProgress, indent: &str, context: &PictureContext<'_>) -> Line<'static> {
    let theme = context.theme;
    let time = context.now.saturating_sub(child.started);
    let mut pieces = vec![piece(foreign(&child.label), theme.text, 9)];
    if child.attempt > 1 {
        pieces.push(piece(format!("attempt {}", child.attempt), theme.system, 5));
    }
    if let Some(tool) = child.tools.last() {
        pieces.push(piece(foreign(tool), theme.tool, 7));
    }
    pieces.push(piece(duration::compact(time), theme.dim, 8));
    if child.usage.tokens > 0 || child.usage.cost > 0.0 {
        let usage = child.usage;
        pieces.push(piece(tokens(usage), theme.dim, 3));
        pieces.push(piece(dollars(usage.cost, usage.estimated), theme.dim, 4));
    }
    pieces.push(piece(foreign(&child.model), theme.dim, 2));
    let first = vec![
        Span::raw(indent.to_owned()),
        Span::styled(format!("{} ", spinner::frame(time)), theme.accent),
    ];
    fitted(first, pieces, context)
}

/// A child that waits for its provider, and for how much longer.
fn wait_row(wait: &ProviderWait, indent: &str, context: &PictureContext<'_>) -> Line<'static> {
    let left = wait.until.saturating_sub(context.now);
    // Seconds that have begun, so that the last one is not 0.
    let left = Duration::from_secs(
        left.as_millis()
            .div_ceil(1_000)
            .try_into()
            .unwrap_or(u64::MAX),
    );
    let pieces = vec![
        piece(foreign(&wait.label), context.theme.text, 9),
        piece(
            format!("waits for {}", foreign(&wait.provider)),
            context.theme.system,
            7,
        ),
        piece(duration::compact(left), context.theme.system, 8),
    ];
    let first = vec![
        Span::raw(indent.to_owned()),
        Span::styled(
            format!("{} ", spinner::frame(context.now)),
            context.theme.dim,
        ),
    ];
    fitted(first, pieces, context)
}

/// The pieces for which there is room after `first`, the most important ones, in their order; the last that remains is cut.
fn fitted(
    first: Vec<Span<'static>>,
    mut pieces: Vec<Piece>,
    context: &PictureContext<'_>,
) -> Line<'static> {
    let room = context.width.saturating_sub(width::of_spans(&first));
    let columns = |pieces: &[Piece]| {
        let texts: usize = pieces.iter().map(|piece| width::of(&piece.text)).sum();
        texts + 3 * pieces.len().saturating_sub(1)
    };
    while pieces.len() > 1 && columns(&pieces) > room {
        let lowest = pieces.iter().map(|piece| piece.rank).min();
        pieces.retain(|piece| Some(piece.rank) != lowest);
    }
    let mut spans = first;
    for (index, piece) in pieces.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(" · ", context.theme.dim));
        }
        spans.push(Span::styled(width::clip(&piece.text, room), piece.style));
    }
    Line::from(spans)
}

/// What fits of a row; all of it unless the terminal has hardly any columns.
pub(super) fn cut(line: Line<'static>, columns: usize) -> Line<'static> {
    if width::of_spans(&line.spans) <= columns {
        return line;
    }
    let mut room = columns;
    let spans = line.spans.into_iter().map(|span| {
        let (text, taken) = width::prefix(&span.content, room);
        room -= taken;
        Span::styled(text.to_owned(), span.style)
    });
    Line::from(spans.collect::<Vec<_>>())
}
