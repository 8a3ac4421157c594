//! The status line: provider and model, profile, tokens, cost, how full the context is, and running jobs.

use std::time::Instant;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::layout_context::{CANCEL_HINT, LayoutContext, format_running, spinner};
use super::tool::live_rows;
use crate::app::session::ui_update::{Place, SessionStatus, VoicePhase, VoiceStatus};
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

/// Columns of the folder and of the branch where room is short, and of the model's name, which is shortened for more important parts alone.
const SHORT_NAME_COLUMNS: usize = 14;
const SHORT_MODEL_COLUMNS: usize = 10;

/// How important each part is; those with a higher number stay longer when the line narrows. What is running and what it costs come before where that is.
mod priority {
    pub(super) const TOKENS: u8 = 1;
    pub(super) const MESSAGES: u8 = 2;
    pub(super) const TOPICS: u8 = 3;
    pub(super) const PLACE: u8 = 4;
    pub(super) const CONTEXT: u8 = 5;
    pub(super) const PROFILE: u8 = 6;
    pub(super) const MODE: u8 = 7;
    pub(super) const MODEL: u8 = 8;
    pub(super) const COST: u8 = 9;
    pub(super) const KEYS: u8 = 10;
    pub(super) const RUNNING: u8 = 11;
    pub(super) const FLASH: u8 = 12;
}

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
        parts.insert(0, part(flash.to_owned(), theme.accent, priority::FLASH));
    }
    // What was just said is worth more than the time.
    let is_long = flash.is_some_and(|flash| 1 + width::of(flash) + width::of(clock) + 2 > columns);
    let clock = if is_long { "" } else { clock };
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
///
/// Always the most important ones: a narrower line never has a part that a wider one lacks, nor a less important one without a more important one. Their
/// number is the largest with which they fit in their short forms; what room is left lengthens them, the most important first.
fn fitting(mut parts: Vec<StatusPart>, room: usize) -> Vec<StatusPart> {
    let mut by_priority: Vec<usize> = (0..parts.len()).collect();
    by_priority.sort_by_key(|index| parts.get(*index).map(|part| u8::MAX - part.priority));
    let ranked = || by_priority.iter().filter_map(|index| parts.get(*index));
    // The columns of so many of them, and the priority of the last.
    let columns = |count: usize| {
        let least = ranked().take(count).last().map_or(0, |part| part.priority);
        let widths = ranked()
            .take(count)
            .map(|part| width::of(part.short(least)));
        (
            1 + widths.sum::<usize>() + 3 * count.saturating_sub(1),
            least,
        )
    };
    let fits = |count: &usize| columns(*count).0 <= room;
    let shown = (1..=parts.len()).rev().find(fits).unwrap_or(1);
    let (mut used, least) = columns(shown);
    for index in by_priority.iter().take(shown) {
        let Some(part) = parts.get_mut(*index) else {
            continue;
        };
        let short = part.short(least).to_owned();
        let longer = width::of(&part.text).saturating_sub(width::of(&short));
        if used + longer <= room {
            used += longer;
        } else {
            part.text = short;
        }
    }
    let mut indices = 0..parts.len();
    let is_shown = |index: usize| by_priority.iter().take(shown).any(|at| *at == index);
    parts.retain(|_| indices.next().is_some_and(is_shown));
    parts
}

impl StatusPart {
    /// The shortest form that makes room for parts down to the priority `least`.
    fn short(&self, least: u8) -> &str {
        let shorter = self.shorter.as_deref();
        let shorter =
            shorter.filter(|_| self.priority != priority::MODEL || least >= priority::PLACE);
        shorter.unwrap_or(&self.text)
    }
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
        parts.push(part(
            text.trim_end().to_owned(),
            theme.accent,
            priority::RUNNING,
        ));
        // The row under the conversation tells about answers.
        if !what.is_empty() {
            parts.push(part(CANCEL_HINT.to_owned(), theme.dim, priority::KEYS));
        }
    }
    match status.provider {
        Some("offline") => parts.push(part("📴 offline".to_owned(), theme.text, priority::MODEL)),
        Some(provider) => {
            let symbol = provider_symbol(provider);
            let model = clean_line(&status.model);
            let shorter = width::clip(&model, SHORT_MODEL_COLUMNS);
            parts.push(StatusPart {
                shorter: Some(format!("{symbol} {shorter}")),
                ..part(format!("{symbol} {model}"), theme.text, priority::MODEL)
            });
        }
        None => parts.push(part(
            "choosing a provider".to_owned(),
            theme.dim,
            priority::MODEL,
        )),
    }
    if let Some(dir) = &status.shell {
        let dir = dir
            .file_name()
            .map_or("/".to_owned(), |name| name.to_string_lossy().into_owned());
        let text = format!("shell {}", clean_line(&dir));
        parts.push(part(text, theme.accent, priority::MODE));
    }
    if status.coding {
        parts.push(part("code".to_owned(), theme.accent, priority::MODE));
    }
    let profile = clean_line(&status.profile);
    parts.push(part(profile, theme.dim, priority::PROFILE));
    if status.messages > 0 {
        let text = if status.messages == 1 {
            "1 msg".to_owned()
        } else {
            format!("{} msgs", status.messages)
        };
        parts.push(part(text, theme.dim, priority::MESSAGES));
    }
    if status.tokens.total() > 0 {
        // Without a price the tokens are all there is to say.
        let has_price = status.cost > 0.0 || status.run_spent.is_some_and(|run| run.cost > 0.0);
        let priority = match has_price {
            true => priority::TOKENS,
            false => priority::COST,
        };
        let mut tokens_part = part(tokens(status.tokens), theme.dim, priority);
        tokens_part.shorter = Some(tokens(Tokens {
            cached: 0,
            ..status.tokens
        }));
        parts.push(tokens_part);
    }
    let run = status.run_spent;
    let run_cost = run.map_or(0.0, |run| run.cost);
    if status.cost > 0.0 || run_cost > 0.0 {
        let run = run.map(|run| money(run.cost, run.estimated));
        let text = money(status.cost, status.cost_estimated);
        parts.push(cost_part(text, run, theme));
    }
    let spent = credits("", status.credits);
    let run_spent = run.map(|run| credits("", run.credits));
    if !spent.is_empty() {
        parts.push(cost_part(spent, run_spent, theme));
    }
    if let Some(percent) = status.context {
        let text = format!("ctx {percent}%");
        parts.push(StatusPart {
            shorter: Some(text.clone()),
            ..part(
                format!("{text} {}", gauge(percent)),
                theme.dim,
                priority::CONTEXT,
            )
        });
    }
    if status.topics > 0 {
        let text = format!("🔔 {}", status.topics);
        parts.push(part(text, theme.dim, priority::TOPICS));
    }
    // The shell's own folder is shown with its mode.
    if let Some(place) = status.place.as_ref().filter(|_| status.shell.is_none()) {
        parts.push(place_part(place, theme));
    }
    parts
}

/// `$0.01 ($0.0004 this run)`: what the session has cost, and what this run has spent where that is another amount.
fn cost_part(session: String, run: Option<String>, theme: &Theme) -> StatusPart {
    let run = run.filter(|run| !run.is_empty() && *run != session);
    match run {
        Some(run) => StatusPart {
            shorter: Some(session.clone()),
            ..part(
                format!("{session} ({run} this run)"),
                theme.dim,
                priority::COST,
            )
        },
        None => part(session, theme.dim, priority::COST),
    }
}

/// `fetcher (retry-fix)`: the folder and the branch that is checked out in it.
fn place_part(place: &Place, theme: &Theme) -> StatusPart {
    let folder = clean_line(&place.folder);
    let short = |name: &str| width::clip(name, SHORT_NAME_COLUMNS);
    let (text, shorter) = match place.branch.as_deref().map(clean_line) {
        Some(branch) => (
            format!("{folder} ({branch})"),
            format!("{} ({})", short(&folder), short(&branch)),
        ),
        None => (folder.clone(), short(&folder)),
    };
    StatusPart {
        shorter: Some(shorter),
        ..part(text, theme.dim, priority::PLACE)
    }
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
        None => return vec![part("🎤 voice".to_owned(), theme.accent, priority::MODE)],
    };
    let mut parts = vec![
        part(text, theme.accent, priority::RUNNING),
        part(keys.to_owned(), theme.dim, priority::KEYS),
    ];
    if voice.is_on {
        parts.push(part("voice".to_owned(), theme.accent, priority::MODE));
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

/// The last lines of the user's command that runs in the foreground.
pub(super) fn live(status: &SessionStatus, layout_ctx: LayoutContext<'_>) -> Vec<Line<'static>> {
    let front = status.running.iter().rev().find(|call| !call.background);
    let lines: Vec<String> = front
        .iter()
        .flat_map(|call| call.output.lines().map(clean_line))
        .collect();
    live_rows(&lines, layout_ctx).collect()
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
    if cost <= 0.0 {
        "$0".to_owned()
    } else if cost >= 0.01 {
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
    use crate::store::sessions::record::Spent;
    use crate::ui::text::theme::ColorMode;
    use proptest::prelude::*;

    fn status() -> SessionStatus {
        SessionStatus {
            provider: Some("groq"),
            model: "llama".to_owned(),
            profile: "main".to_owned(),
            messages: 2,
            cost: 0.0004,
            cost_estimated: false,
            credits: 0.0,
            run_spent: None,
            tokens: Tokens {
                input: 1_200,
                cached: 900,
                output: 34,
                ..Tokens::default()
            },
            context: Some(3),
            coding: true,
            shell: None,
            place: None,
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
    fn the_cost_of_the_session_comes_before_that_of_the_run() {
        let mut status = status();
        let run = |cost| Spent {
            cost,
            ..Spent::default()
        };
        status.cost = 1.204;
        status.run_spent = Some(run(0.0004));
        let line = shown(&status, 120);
        assert!(line.contains(" · $1.20 ($0.0004 this run) · "), "{line}");
        let narrow = shown(&status, 42);
        assert!(
            narrow.contains("$1.20") && !narrow.contains("run"),
            "{narrow}"
        );
        // Nothing was asked since the session was resumed.
        status.run_spent = Some(run(0.0));
        assert!(shown(&status, 120).contains(" · $1.20 ($0 this run) · "));
        // A new session of a process that has spent something.
        status.cost = 0.0;
        status.run_spent = Some(run(0.5));
        assert!(shown(&status, 120).contains(" · $0 ($0.50 this run) · "));
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
            output: String::new(),
        });
        assert!(shown(&busy, 80).starts_with(" ⠋ 0s · ⚡"));
        busy.running[0].name = "make all".to_owned();
        let line = shown(&busy, 80);
        assert!(
            line.starts_with(" ⠋ 0s make all · Esc to stop · ⚡"),
            "{line}"
        );
    }

    fn place(folder: &str, branch: Option<&str>) -> Option<Place> {
        Some(Place {
            folder: folder.to_owned(),
            branch: branch.map(str::to_owned),
        })
    }

    #[test]
    fn the_folder_and_its_branch_come_last() {
        let mut in_repository = status();
        in_repository.place = place("fetcher", Some("retry-fix"));
        let ends = |status: &SessionStatus, columns, expected: &str| {
            let line = shown(status, columns);
            let line = line.trim_end_matches("09:05").trim_end();
            assert!(line.ends_with(expected), "{line}");
        };
        ends(&in_repository, 120, "ctx 3% ▎···· · fetcher (retry-fix)");
        in_repository.place = place("fetcher", None);
        ends(&in_repository, 120, "ctx 3% ▎···· · fetcher");
        // In shell mode its own folder is shown.
        in_repository.shell = Some("/tmp/elsewhere".into());
        ends(&in_repository, 120, "ctx 3% ▎····");
        in_repository.shell = None;
        in_repository.place = place(
            "a-folder-with-a-long-name",
            Some("a-branch-with-a-long-name"),
        );
        ends(&in_repository, 92, "a-folder-with… (a-branch-with…)");
        in_repository.place = place("x\u{1b}[31m", Some("y\u{7}"));
        ends(&in_repository, 120, "x (y␇)");
    }

    #[test]
    fn at_forty_columns_the_cost_still_shows() {
        let mut narrow = status();
        narrow.model = "llama-3.3-70b-versatile".to_owned();
        narrow.coding = false;
        narrow.place = place("fetcher", Some("main"));
        let line = shown(&narrow, 40);
        assert!(
            line.starts_with(" ⚡ llama-3.3… · main · $0.0004"),
            "{line}"
        );
    }

    fn any_spent() -> impl Strategy<Value = Spent> {
        let cost = prop_oneof![Just(0.0), 0.0..200.0f64];
        cost.prop_map(|cost| Spent {
            cost,
            ..Spent::default()
        })
    }

    fn any_status() -> impl Strategy<Value = SessionStatus> {
        let name = "[a-z日é -]{0,30}";
        let counts = (0usize..3, 0u64..50_000, 0usize..3, any::<bool>());
        let shown = (
            any_spent(),
            proptest::option::of(any_spent()),
            proptest::option::of(0u64..=100),
            proptest::option::of((name, proptest::option::of(name))),
        );
        (name, name, counts, shown).prop_map(
            |(
                model,
                profile,
                (messages, tokens, topics, coding),
                (spent, run_spent, context, place),
            )| {
                SessionStatus {
                    model,
                    profile,
                    messages,
                    tokens: Tokens {
                        input: tokens,
                        ..Tokens::default()
                    },
                    topics,
                    coding,
                    cost: spent.cost,
                    run_spent,
                    context,
                    place: place.map(|(folder, branch)| Place { folder, branch }),
                    ..status()
                }
            },
        )
    }

    /// The priorities of the parts in this many columns.
    fn priorities(status: &SessionStatus, columns: usize) -> Vec<u8> {
        let theme = Theme::new(ColorMode::None);
        let parts = fitting(parts(status, &theme, Instant::now()), columns);
        parts.iter().map(|part| part.priority).collect()
    }

    proptest! {
        #[test]
        fn the_line_fits_and_drops_the_least_important_parts_first(status in any_status()) {
            let theme = Theme::new(ColorMode::None);
            let all = priorities(&status, usize::MAX);
            let mut wider = all.clone();
            for columns in (1..160).rev() {
                let line = line(&status, None, "09:05", columns, &theme, Instant::now());
                prop_assert!(width::of_spans(&line.spans) <= columns, "{columns}: {line}");
                let now = priorities(&status, columns);
                prop_assert!(now.iter().all(|part| wider.contains(part)) && now.len() <= wider.len());
                let lowest = now.iter().min().copied().unwrap_or_default();
                let above = all.iter().filter(|part| **part > lowest).count();
                prop_assert!(now.iter().filter(|part| **part > lowest).count() == above, "{columns}: {now:?} of {all:?}");
                let has = |part| now.contains(&part) || !all.contains(&part);
                prop_assert!(has(priority::COST) || !now.contains(&priority::PROFILE), "{columns}: {now:?}");
                wider = now;
            }
        }
    }
}
