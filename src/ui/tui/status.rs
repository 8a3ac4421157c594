//! The status line: provider and model, profile, tokens, cost, how full the context is, and running jobs.

use std::time::Instant;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout_context::{format_running, spinner};
use crate::app::session::ui_update::{SessionStatus, VoicePhase, VoiceStatus};
use crate::chat::usage::{Tokens, credits, estimate_mark};
use crate::ui::text::clean::clean_line;
use crate::ui::text::meter;
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

/// The priority of the context gauge.
const CONTEXT: u8 = 4;

/// One part of the line. As many as there is room for are shown, the most important first.
struct StatusPart {
    text: String,
    /// What stands in for the text where that is too long.
    shorter: Option<String>,
    style: Style,
    /// Parts with a higher number are more important.
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
        parts.insert(0, part(flash.to_owned(), theme.accent, 10));
    }
    let room = columns.saturating_sub(width::of(clock) + 2);
    let parts = fitting(parts, room);
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

/// The parts for which there is room, in their order; the most important one in any case.
fn fitting(mut parts: Vec<StatusPart>, room: usize) -> Vec<StatusPart> {
    let mut by_priority: Vec<usize> = (0..parts.len()).collect();
    by_priority.sort_by_key(|index| parts.get(*index).map(|part| u8::MAX - part.priority));
    let mut used = 1;
    let mut shown = vec![false; parts.len()];
    for index in by_priority {
        let (Some(part), Some(shown)) = (parts.get_mut(index), shown.get_mut(index)) else {
            continue;
        };
        let space = if used == 1 { 0 } else { 3 };
        let fits = |text: &str| used + space + width::of(text) <= room;
        if !fits(&part.text)
            && let Some(shorter) = part.shorter.take()
        {
            part.text = shorter;
        }
        *shown = used == 1 || fits(&part.text);
        if *shown {
            used += space + width::of(&part.text);
        }
    }
    // The gauge's bar gives way to the part that lacks its room.
    let gauge = parts.iter().position(|part| part.priority == CONTEXT);
    let missing = (0..parts.len())
        .filter(|index| shown.get(*index) == Some(&false))
        .max_by_key(|index| parts.get(*index).map(|part| part.priority));
    if let (Some(gauge), Some(missing)) = (gauge, missing)
        && shown.get(gauge) == Some(&true)
        && let Some(short) = parts.get_mut(gauge).and_then(|part| part.shorter.take())
        && let (Some(long), Some(part)) = (parts.get(gauge), parts.get(missing))
        && used - width::of(&long.text) + width::of(&short) + 3 + width::of(&part.text) <= room
    {
        if let Some(part) = parts.get_mut(gauge) {
            part.text = short;
        }
        if let Some(shown) = shown.get_mut(missing) {
            *shown = true;
        }
    }
    let mut shown = shown.into_iter();
    parts.retain(|_| shown.next().unwrap_or_default());
    parts
}

fn part(text: String, style: Style, priority: u8) -> StatusPart {
    StatusPart {
        text,
        shorter: None,
        style,
        priority,
    }
}

fn parts(status: &SessionStatus, theme: &Theme, now: Instant) -> Vec<StatusPart> {
    let mut parts = Vec::new();
    if let Some(voice) = &status.voice {
        parts.extend(voice_parts(voice, theme, now));
    }
    let front = status.running.iter().find(|command| !command.background);
    if let Some(front) = front {
        let text = format!(
            "{} {}",
            spinner(front.since, now),
            format_running(now.saturating_duration_since(front.since))
        );
        let what = width::clip(&clean_line(&front.name), MAX_COMMAND_COLUMNS);
        let text = format!("{text} {what}");
        parts.push(part(text.trim_end().to_owned(), theme.accent, 9));
    }
    match status.provider {
        Some("offline") => parts.push(part("📴 offline".to_owned(), theme.text, 8)),
        Some(provider) => {
            let text = format!(
                "{} {}",
                provider_symbol(provider),
                clean_line(&status.model)
            );
            parts.push(part(text, theme.text, 8));
        }
        None => parts.push(part("choosing a provider".to_owned(), theme.dim, 8)),
    }
    if let Some(dir) = &status.shell {
        let dir = dir
            .file_name()
            .map_or("/".to_owned(), |name| name.to_string_lossy().into_owned());
        parts.push(part(format!("shell {}", clean_line(&dir)), theme.accent, 7));
    }
    if status.coding {
        parts.push(part("code".to_owned(), theme.accent, 7));
    }
    parts.push(part(clean_line(&status.profile), theme.dim, 5));
    if status.messages > 0 {
        let text = if status.messages == 1 {
            "1 msg".to_owned()
        } else {
            format!("{} msgs", status.messages)
        };
        parts.push(part(text, theme.dim, 2));
    }
    if status.tokens.total() > 0 {
        // Without a price the tokens are all there is to say.
        let priority = if status.cost > 0.0 { 1 } else { 6 };
        let mut tokens_part = part(tokens(status.tokens), theme.dim, priority);
        tokens_part.shorter = Some(tokens(Tokens {
            cached: 0,
            ..status.tokens
        }));
        parts.push(tokens_part);
    }
    if status.cost > 0.0 {
        let text = money(status.cost, status.cost_estimated);
        parts.push(part(text, theme.dim, 6));
    }
    let spent = credits("", status.credits);
    if !spent.is_empty() {
        parts.push(part(spent, theme.dim, 6));
    }
    if let Some(percent) = status.context {
        let text = format!("ctx {percent}%");
        parts.push(StatusPart {
            shorter: Some(text.clone()),
            ..part(format!("{text} {}", gauge(percent)), theme.dim, CONTEXT)
        });
    }
    if status.topics > 0 {
        parts.push(part(format!("🔔 {}", status.topics), theme.dim, 3));
    }
    parts
}

/// The parts about voice: what it is doing with the keys for it, and that voice mode is on.
fn voice_parts(voice: &VoiceStatus, theme: &Theme, now: Instant) -> Vec<StatusPart> {
    let passed = |since: &Instant| format_running(now.saturating_duration_since(*since));
    let (text, keys) = match &voice.phase {
        Some(VoicePhase::Recording {
            since,
            seconds,
            levels,
        }) => {
            let levels: String = levels.iter().map(|step| meter::column(*step)).collect();
            let (limit, keys) = match seconds {
                Some(seconds) => (format!(" of {seconds}s"), "any key ends it, Esc drops it"),
                None => (String::new(), "Enter sends, Esc ends voice mode"),
            };
            (format!("🎤 {}{limit} {levels}", passed(since)), keys)
        }
        Some(VoicePhase::Transcribing { since }) => {
            let text = format!("{} {} writing it down", spinner(*since, now), passed(since));
            (text, "Esc drops it")
        }
        Some(VoicePhase::Speaking) => ("🔊 speaking".to_owned(), "any key stops it"),
        None if voice.is_paused => ("🎤 paused".to_owned(), "Enter listens again"),
        None => return vec![part("🎤 voice".to_owned(), theme.accent, 7)],
    };
    let mut parts = vec![
        part(text, theme.accent, 9),
        part(keys.to_owned(), theme.dim, 6),
    ];
    if voice.is_on {
        parts.push(part("voice".to_owned(), theme.accent, 7));
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

/// `12k in (9k cached), 1.2k out`; `~` before it when that is an estimate.
fn tokens(tokens: Tokens) -> String {
    let cached = match tokens.cached {
        0 => String::new(),
        cached => format!(" ({} cached)", short(cached)),
    };
    let mark = estimate_mark(tokens.estimated);
    let (input, output) = (short(tokens.input), short(tokens.output));
    format!("{mark}{input} in{cached}, {output} out")
}

/// `950`, `1.2k`, `12k`, `1.2M`. Cut off, not rounded up: 999,960 is not a million.
fn short(count: u64) -> String {
    let in_units = |unit: u64| match count / unit {
        whole @ 0..10 => format!("{whole}.{}", count % unit * 10 / unit),
        whole => whole.to_string(),
    };
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", in_units(1_000)),
        _ => format!("{}M", in_units(1_000_000)),
    }
}

/// `$0.25`, `$0.0004` where cents would not show it, `<$0.0001`.
fn money(cost: f64, estimated: bool) -> String {
    let mark = estimate_mark(estimated);
    if cost >= 0.01 {
        format!("{mark}${cost:.2}")
    } else if cost >= 0.0001 {
        format!("{mark}${cost:.4}")
    } else {
        format!("{mark}<$0.0001")
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
            cost_estimated: false,
            credits: 0.0,
            tokens: Tokens {
                input: 1_200,
                cached: 900,
                output: 34,
                ..Tokens::default()
            },
            context: Some(3),
            coding: true,
            shell: None,
            topics: 0,
            running: Vec::new(),
            voice: None,
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
        let wide = shown(&status(), 100);
        let all = " ⚡ llama · code · main · 2 msgs · 1.2k in (900 cached), 34 out · $0.0004 · ctx 3% ▎····";
        assert!(wide.starts_with(all), "{wide}");
        assert!(wide.ends_with("09:05"));
        // The cached tokens go first, then the gauge's bar, then all tokens, then the gauge.
        let bar = " ▎····";
        for (columns, parts, gauge) in [
            (
                95,
                "2 msgs · 1.2k in (900 cached), 34 out · $0.0004",
                Some(bar),
            ),
            (94, "2 msgs · 1.2k in, 34 out · $0.0004", Some(bar)),
            (85, "2 msgs · 1.2k in, 34 out · $0.0004", Some(bar)),
            (81, "2 msgs · 1.2k in, 34 out · $0.0004", Some("")),
            (73, "2 msgs · $0.0004", Some(bar)),
            (63, "2 msgs · $0.0004", Some("")),
            (54, "$0.0004", Some("")),
            (48, "$0.0004", None),
        ] {
            let gauge = gauge.map_or_else(String::new, |bar| format!(" · ctx 3%{bar}"));
            let expected = format!(" ⚡ llama · code · main · {parts}{gauge}");
            let line = shown(&status(), columns);
            let line = line.trim_end_matches("09:05").trim_end();
            assert_eq!(line, expected, "{columns}");
        }
        let narrow = shown(&status(), 34);
        assert!(
            narrow.contains("llama") && !narrow.contains("msgs"),
            "{narrow}"
        );
        shown(&status(), 14);
    }

    #[test]
    fn a_free_model_shows_its_tokens_and_no_dollars() {
        let mut free = status();
        free.cost = 0.0;
        let line = shown(&free, 80);
        assert!(
            line.contains(" · 1.2k in (900 cached), 34 out · ") && !line.contains('$'),
            "{line}"
        );
        assert!(shown(&free, 50).contains(" · 1.2k in, 34 out"));
        free.tokens = Tokens::default();
        assert!(!shown(&free, 80).contains(" in, "));
    }

    #[test]
    fn numbers_are_short_and_estimates_marked() {
        for (count, expected) in [
            (999, "999"),
            (1_000, "1.0k"),
            (9_999, "9.9k"),
            (12_345, "12k"),
            (999_960, "999k"),
            (1_250_000, "1.2M"),
            (u64::MAX, "18446744073709M"),
        ] {
            assert_eq!(short(count), expected);
        }
        assert_eq!(money(0.024, false), "$0.02");
        assert_eq!(money(0.0004, true), "~$0.0004");
        assert_eq!(money(0.00001, false), "<$0.0001");
        let mut tokens_of = status().tokens;
        tokens_of.estimated = true;
        assert_eq!(tokens(tokens_of), "~1.2k in (900 cached), 34 out");
    }

    #[test]
    fn voice_shows_what_it_does_and_its_keys() {
        let since = Instant::now();
        let shown = |is_on, is_paused, phase| {
            let mut status = status();
            status.coding = false;
            status.voice = Some(VoiceStatus {
                is_on,
                is_paused,
                phase,
            });
            shown(&status, 100)
        };
        let levels = vec![0, 4, 8];
        let once = VoicePhase::Recording {
            since,
            seconds: Some(5),
            levels: levels.clone(),
        };
        let on = VoicePhase::Recording {
            since,
            seconds: None,
            levels,
        };
        for (is_on, is_paused, phase, want) in [
            (
                false,
                false,
                Some(once),
                " 🎤 0s of 5s ·▄█ · any key ends it, Esc drops it · ⚡ llama",
            ),
            (
                true,
                false,
                Some(on),
                " 🎤 0s ·▄█ · Enter sends, Esc ends voice mode · voice · ⚡ llama",
            ),
            (
                true,
                false,
                Some(VoicePhase::Transcribing { since }),
                " ⠋ 0s writing it down · Esc drops it · voice · ",
            ),
            (
                true,
                false,
                Some(VoicePhase::Speaking),
                " 🔊 speaking · any key stops it · voice · ",
            ),
            (
                true,
                true,
                None,
                " 🎤 paused · Enter listens again · voice · ",
            ),
            (true, false, None, " 🎤 voice · ⚡ llama"),
        ] {
            let line = shown(is_on, is_paused, phase);
            assert!(line.starts_with(want), "{line}");
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
