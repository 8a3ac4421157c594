//! The status line: provider and model, profile, cost, how full the context is, and running jobs.

use std::time::Instant;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout_context::{format_running, spinner};
use crate::app::session::ui_update::SessionStatus;
use crate::ui::text::clean::clean_line;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Columns of the context gauge.
const GAUGE_COLUMNS: u64 = 5;
/// Maximum columns of the running command.
const MAX_COMMAND_COLUMNS: usize = 30;

/// A provider's symbol.
fn provider_symbol(provider: &str) -> &'static str {
    match provider {
        "copilot" => "🤖",
        "gemini" => "💎",
        "groq" => "⚡",
        "ollama" => "🦙",
        "openai-compat" => "🔮",
        "offline" => "📴",
        _ => "🐙",
    }
}

/// One part of the line; the least important are dropped first.
struct StatusPart {
    text: String,
    style: Style,
    /// Parts with a higher number are kept longer.
    priority: u8,
}

/// The line in `columns`, with `clock` at its end. `flash` is a short notice that comes first.
pub(super) fn line(
    status: &SessionStatus,
    flash: Option<&str>,
    clock: &str,
    columns: usize,
    theme: &Theme,
    now: Instant,
) -> Line<'static> {
    let mut parts = parts(status, theme, now);
    if let Some(flash) = flash {
        parts.insert(0, part(flash.to_owned(), theme.accent, 9));
    }
    let room = columns.saturating_sub(width::of(clock) + 2);
    while parts.len() > 1 && used_columns(&parts) > room {
        let least = parts
            .iter()
            .enumerate()
            .min_by_key(|(_, part)| part.priority)
            .map(|(index, _)| index);
        parts.remove(least.unwrap_or(0));
    }
    let mut spans = vec![Span::raw(" ")];
    let mut used = 1;
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(" · ", theme.dim));
            used += 3;
        }
        let text = width::clip(&part.text, room.saturating_sub(used));
        used += width::of(&text);
        spans.push(Span::styled(text, part.style));
    }
    let empty_row = columns.saturating_sub(used + width::of(clock) + 1);
    spans.push(Span::raw(" ".repeat(empty_row)));
    if used + width::of(clock) < columns {
        spans.push(Span::styled(clock.to_owned(), theme.dim));
    }
    Line::from(spans)
}

fn used_columns(parts: &[StatusPart]) -> usize {
    1 + parts
        .iter()
        .map(|part| width::of(&part.text) + 3)
        .sum::<usize>()
        .saturating_sub(3)
}

fn part(text: String, style: Style, priority: u8) -> StatusPart {
    StatusPart {
        text,
        style,
        priority,
    }
}

fn parts(status: &SessionStatus, theme: &Theme, now: Instant) -> Vec<StatusPart> {
    let mut parts = Vec::new();
    let front = status.running.iter().find(|command| !command.background);
    if let Some(front) = front {
        let text = format!(
            "{} {}",
            spinner(front.since, now),
            format_running(now.saturating_duration_since(front.since))
        );
        let what = width::clip(&clean_line(&front.name), MAX_COMMAND_COLUMNS);
        let text = format!("{text} {what}");
        parts.push(part(text.trim_end().to_owned(), theme.accent, 8));
    }
    match status.provider {
        Some("offline") => parts.push(part("📴 offline".to_owned(), theme.text, 7)),
        Some(provider) => {
            let text = format!(
                "{} {}",
                provider_symbol(provider),
                clean_line(&status.model)
            );
            parts.push(part(text, theme.text, 7));
        }
        None => parts.push(part("choosing a provider".to_owned(), theme.dim, 7)),
    }
    if let Some(dir) = &status.shell {
        let dir = dir
            .file_name()
            .map_or("/".to_owned(), |name| name.to_string_lossy().into_owned());
        parts.push(part(format!("shell {}", clean_line(&dir)), theme.accent, 6));
    }
    if status.coding {
        parts.push(part("code".to_owned(), theme.accent, 6));
    }
    parts.push(part(clean_line(&status.profile), theme.dim, 4));
    if status.messages > 0 {
        let text = if status.messages == 1 {
            "1 msg".to_owned()
        } else {
            format!("{} msgs", status.messages)
        };
        parts.push(part(text, theme.dim, 1));
    }
    if status.cost > 0.0 {
        parts.push(part(format!("${:.4}", status.cost), theme.dim, 5));
    } else if status.tokens > 0 {
        // A model that is free, or whose price is unknown, still shows its tokens.
        parts.push(part(tokens(status.tokens), theme.dim, 5));
    }
    if let Some(percent) = status.context {
        parts.push(part(
            format!("ctx {percent}% {}", gauge(percent)),
            theme.dim,
            3,
        ));
    }
    if status.topics > 0 {
        parts.push(part(format!("🔔 {}", status.topics), theme.dim, 2));
    }
    parts
}

/// The line about background jobs, if there are any.
pub(super) fn jobs(status: &SessionStatus, columns: usize, theme: &Theme) -> Option<Line<'static>> {
    let jobs: Vec<String> = status
        .running
        .iter()
        .filter(|command| command.background)
        .map(|command| clean_line(&command.name))
        .collect();
    let words = format!(" ⚙ {}", jobs.join(" · "));
    (!jobs.is_empty()).then(|| Line::styled(width::clip(&words, columns), theme.dim))
}

/// `1 token`, `950 tokens`, `12.3k tokens`, `1.2M tokens`.
fn tokens(count: u64) -> String {
    // Cut off, not rounded up: 999,960 is not a million.
    let tenths = |unit: u64| format!("{}.{}", count / unit, count % unit * 10 / unit);
    match count {
        1 => "1 token".to_owned(),
        0..1_000 => format!("{count} tokens"),
        1_000..1_000_000 => format!("{}k tokens", tenths(1_000)),
        _ => format!("{}M tokens", tenths(1_000_000)),
    }
}

/// How full the context is, in eighths of a column.
fn gauge(percent: u64) -> String {
    const EIGHTHS: [char; 8] = ['·', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (percent.min(100) * GAUGE_COLUMNS * 8).div_ceil(100);
    (0..GAUGE_COLUMNS)
        .map(|column| match eighths.saturating_sub(column * 8) {
            8.. => '█',
            some => usize::try_from(some)
                .ok()
                .and_then(|at| EIGHTHS.get(at))
                .copied()
                .unwrap_or('·'),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::ui_update::RunningCall;
    use crate::ui::text::theme::ColorMode;

    fn status() -> SessionStatus {
        SessionStatus {
            provider: Some("groq"),
            model: "llama".to_owned(),
            profile: "main".to_owned(),
            messages: 2,
            cost: 0.0004,
            tokens: 1_234,
            context: Some(3),
            coding: true,
            shell: None,
            topics: 0,
            running: Vec::new(),
        }
    }

    fn shown(status: &SessionStatus, columns: usize) -> String {
        let theme = Theme::new(ColorMode::None);
        let line = line(status, None, "09:05", columns, &theme, Instant::now());
        assert_eq!(width::of_spans(&line.spans), columns - 1, "{line}");
        line.to_string()
    }

    #[test]
    fn the_least_important_parts_are_dropped_first() {
        let wide = shown(&status(), 80);
        assert!(
            wide.starts_with(" ⚡ llama · code · main · 2 msgs · $0.0004 · ctx 3% ▎····"),
            "{wide}"
        );
        assert!(wide.ends_with("09:05"));
        let narrow = shown(&status(), 34);
        assert!(
            narrow.contains("llama") && !narrow.contains("msgs"),
            "{narrow}"
        );
        shown(&status(), 14);
    }

    #[test]
    fn a_free_model_shows_its_tokens() {
        let mut free = status();
        free.cost = 0.0;
        let line = shown(&free, 80);
        assert!(
            line.contains(" · 1.2k tokens · ") && !line.contains('$'),
            "{line}"
        );
        free.tokens = 0;
        assert!(!shown(&free, 80).contains("token"));
        for (count, segments) in [
            (1, "1 token"),
            (999, "999 tokens"),
            (12_345, "12.3k tokens"),
            (999_960, "999.9k tokens"),
            (1_250_000, "1.2M tokens"),
        ] {
            assert_eq!(tokens(count), segments);
        }
    }

    #[test]
    fn a_running_command_comes_first() {
        let mut busy = status();
        busy.running.push(RunningCall {
            name: String::new(),
            since: Instant::now(),
            background: false,
        });
        assert!(shown(&busy, 80).starts_with(" ⠋ 0s · ⚡"));
    }
}
