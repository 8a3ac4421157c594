//! The status line: provider and model, profile, tokens, cost, how full the context is, and running jobs.

mod amounts;
mod fit;

use std::time::Instant;

use ratatui::style::Style;
use ratatui::text::Line;

use super::layout_context::{CANCEL_HINT, LayoutContext, format_running, spinner};
use super::tool::live_rows;
use crate::app::session::ui_update::{Place, SessionStatus, VoicePhase, VoiceStatus};
use crate::chat::usage::{Tokens, credits};
use crate::ui::text::clean::clean_line;
use crate::ui::text::meter;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;
use amounts::{gauge, money, tokens};
use fit::{StatusPart, priority};

const MAX_COMMAND_COLUMNS: usize = 30;

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

/// Columns of the folder and of the branch where room is short, and of the model's name where there is only room for its beginning.
const SHORT_NAME_COLUMNS: usize = 14;
const SHORT_MODEL_COLUMNS: usize = 10;

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
    parts.push(StatusPart::last(clock, theme.dim, priority::CLOCK));
    fit::line(&parts, columns, theme)
}

fn part(text: String, style: Style, priority: u8) -> StatusPart {
    StatusPart::new(text, style, priority)
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
    match &status.model {
        Some(model) if model.provider == "offline" => {
            parts.push(part("📴 offline".to_owned(), theme.text, priority::MODEL));
        }
        Some(model) => {
            let symbol = provider_symbol(model.provider);
            let model = clean_line(&model.name);
            let shorter = width::clip(&model, SHORT_MODEL_COLUMNS);
            let short = part(format!("{symbol} {shorter}"), theme.text, priority::MODEL);
            parts.push(short.or_elastic(priority::WHOLE_MODEL, format!("{symbol} {model}")));
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
    let (session, run) = (status.cost.session, status.cost.run);
    if status.tokens.total() > 0 {
        // Without a price the tokens are all there is to say.
        let has_price = session.cost > 0.0 || run.is_some_and(|run| run.cost > 0.0);
        let priority = match has_price {
            true => priority::TOKENS,
            false => priority::COST,
        };
        let short = tokens(Tokens {
            cached: 0,
            ..status.tokens
        });
        parts.push(part(short, theme.dim, priority).or_longer(tokens(status.tokens)));
    }
    let session_money = money(session.cost, session.estimated);
    let run_money = run.and_then(|run| money(run.cost, run.estimated));
    // A new session of a process that has spent something has not cost anything yet.
    let session_money = session_money.or(run_money.as_ref().map(|_| "$0".to_owned()));
    if let Some(money) = session_money {
        parts.push(cost_part(money, run_money, theme));
    }
    let spent = credits("", session.credits);
    let run_spent = run.map(|run| credits("", run.credits));
    if !spent.is_empty() {
        parts.push(cost_part(spent, run_spent, theme));
    }
    if let Some(percent) = status.context {
        let text = format!("ctx {percent}%");
        let longer = format!("{text} {}", gauge(percent));
        parts.push(part(text, theme.dim, priority::CONTEXT).or_longer(longer));
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

/// `$1.20 ($0.04 this run)`: what the session has cost, and what this run has spent where that is another amount.
fn cost_part(session: String, run: Option<String>, theme: &Theme) -> StatusPart {
    let longer = run.filter(|run| !run.is_empty() && *run != session);
    let longer = longer.map(|run| format!("{session} ({run} this run)"));
    let part = part(session, theme.dim, priority::COST);
    match longer {
        Some(longer) => part.or_longer(longer),
        None => part,
    }
}

/// `fetcher (retry-fix)`: the folder and the branch that is checked out in it.
fn place_part(place: &Place, theme: &Theme) -> StatusPart {
    let folder = clean_line(&place.folder);
    let short = |name: &str| width::clip(name, SHORT_NAME_COLUMNS);
    let (shorter, longer) = match place.branch.as_deref().map(clean_line) {
        Some(branch) => (
            format!("{} ({})", short(&folder), short(&branch)),
            format!("{folder} ({branch})"),
        ),
        None => (short(&folder), folder.clone()),
    };
    part(shorter, theme.dim, priority::PLACE).or_longer(longer)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::session_cost::SessionCost;
    use crate::app::session::ui_update::RunningCall;
    use crate::base::testing::assert_has;
    use crate::store::sessions::record::Spent;
    use crate::ui::text::theme::ColorMode;
    use crate::ui::tui::tests::stage;
    use proptest::prelude::*;

    fn status() -> SessionStatus {
        SessionStatus {
            coding: true,
            ..stage::status("llama")
        }
    }

    fn shown(status: &SessionStatus, columns: usize) -> String {
        let theme = Theme::new(ColorMode::None);
        let line = line(status, None, "09:05", columns, &theme, Instant::now());
        assert!(width::of_spans(&line.spans) < columns, "{line}");
        line.to_string()
    }

    #[test]
    fn parts_come_short_and_by_importance_then_they_get_longer() {
        let model = " ⚡ llama · code";
        let rest = "main · 2 msgs · 1.2k in, 34 out · $0.04 · ctx 3%";
        let longer = rest.replace(" in,", " in (900 cached),");
        for (columns, expected) in [
            (16, " $0.04".to_owned()),
            (18, " ⚡ llama · $0.04".to_owned()),
            (25, format!("{model} · $0.04")),
            (38, format!("{model} · main · $0.04")),
            (47, format!("{model} · main · $0.04 · ctx 3%")),
            (56, format!("{model} · main · 2 msgs · $0.04 · ctx 3%")),
            (74, format!("{model} · {rest}")),
            (80, format!("{model} · {rest} ▎····")),
            (93, format!("{model} · {longer} ▎····")),
        ] {
            let line = shown(&status(), columns);
            let line = line.trim_end_matches("09:05").trim_end();
            assert_eq!(line, expected, "{columns}");
        }
        assert!(shown(&status(), 93).ends_with("09:05"));
    }

    #[test]
    fn the_models_name_is_shortened_after_all_else() {
        let mut status = status();
        status.model = stage::answering("llama-3.3-70b-versatile");
        status.cost.session.cost = 1.2;
        status.place = place("fetcher", Some("retry-fix"));
        for columns in 43..=200 {
            let line = shown(&status, columns);
            let start = " ⚡ llama-3.3-70b-versatile · code · ";
            assert!(line.starts_with(start), "{columns}: {line}");
        }
        // Then by as many letters as are missing.
        assert!(shown(&status, 42).starts_with(" ⚡ llama-3.3-70b-versati… · code · "));
        assert!(shown(&status, 30).starts_with(" ⚡ llama-3.3… · code · $1.20"));
    }

    #[test]
    fn money_is_shown_from_a_cent_up() {
        let mut status = status();
        let run = |cost| Spent {
            cost,
            ..Spent::default()
        };
        for (cost, run_spent, expected) in [
            (0.0099, None, ""),
            (0.01, None, " · $0.01 · "),
            (1.204, Some(run(0.0004)), " · $1.20 · "),
            (1.204, Some(run(0.02)), " · $1.20 ($0.02 this run) · "),
            // Nothing was asked since the session was resumed.
            (1.204, Some(run(0.0)), " · $1.20 · "),
            // A new session of a process that has spent something.
            (0.0, Some(run(0.5)), " · $0 ($0.50 this run) · "),
            (0.0, Some(run(0.001)), ""),
        ] {
            (status.cost.session.cost, status.cost.run) = (cost, run_spent);
            let line = shown(&status, 120);
            assert!(line.contains(expected), "{line}");
            assert_eq!(line.contains('$'), !expected.is_empty(), "{line}");
        }
        (status.cost.session.cost, status.cost.run) = (1.204, Some(run(0.02)));
        let narrow = shown(&status, 42);
        let is_short = narrow.contains("$1.20") && !narrow.contains("run");
        assert!(is_short, "{narrow}");
    }

    #[test]
    fn a_free_model_shows_its_tokens_and_no_dollars() {
        let mut free = status();
        free.cost.session.cost = 0.0;
        let line = shown(&free, 80);
        assert_has(&line, &[" · 1.2k in (900 cached), 34 out · "]);
        assert!(!line.contains('$'), "{line}");
        assert!(shown(&free, 50).contains(" · 1.2k in, 34 out"));
        free.tokens = Tokens::default();
        assert!(!shown(&free, 80).contains(" in, "));
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
        let starts = |is_on, is_paused, phase, want: &str| {
            let line = shown(is_on, is_paused, phase);
            assert!(line.starts_with(want), "{line}");
        };
        let want = " 🎤 0s of 5s ·▄█ · any key ends it, Esc drops it · ⚡ llama";
        starts(false, false, Some(once), want);
        let want = " 🎤 0s ·▄█ · Enter sends, Esc ends voice mode · voice · ⚡ llama";
        starts(true, false, Some(on), want);
        let want = " ⠋ 0s writing it down · Esc drops it · voice · ";
        starts(true, false, Some(VoicePhase::Transcribing { since }), want);
        let want = " 🔊 speaking · any key stops it · voice · ";
        starts(true, false, Some(VoicePhase::Speaking), want);
        starts(
            true,
            true,
            None,
            " 🎤 paused · Enter listens again · voice · ",
        );
        starts(true, false, None, " 🎤 voice · ⚡ llama");
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
        let start = " ⠋ 0s make all · Esc to stop · ⚡";
        assert!(line.starts_with(start), "{line}");
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
        let (folder, branch) = ("a-folder-with-a-long-name", "a-branch-with-a-long-name");
        in_repository.place = place(folder, Some(branch));
        ends(&in_repository, 110, "a-folder-with… (a-branch-with…)");
        in_repository.place = place("x\u{1b}[31m", Some("y\u{7}"));
        ends(&in_repository, 120, "x (y␇)");
    }

    #[test]
    fn at_forty_columns_the_cost_still_shows() {
        let mut narrow = status();
        narrow.model = stage::answering("llama-3.3-70b-versatile");
        narrow.coding = false;
        narrow.place = place("fetcher", Some("main"));
        let line = shown(&narrow, 40);
        assert_eq!(line, " ⚡ llama-3.3-70b-versatile · $0.04");
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
                    model: stage::answering(&model),
                    profile,
                    messages,
                    tokens: Tokens {
                        input: tokens,
                        ..Tokens::default()
                    },
                    topics,
                    coding,
                    cost: SessionCost {
                        session: Spent {
                            cost: spent.cost,
                            ..Spent::default()
                        },
                        run: run_spent,
                    },
                    context,
                    place: place.map(|(folder, branch)| Place { folder, branch }),
                    ..status()
                }
            },
        )
    }

    /// The parts of a line, without the clock.
    fn texts(line: &str) -> Vec<String> {
        let line = line.trim_end_matches("09:05");
        line.split(" · ")
            .map(|part| part.trim().to_owned())
            .collect()
    }

    proptest! {
        // Each case is tried at 190 widths.
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn every_width_has_what_the_narrower_ones_have(status in any_status()) {
            let mut narrower = texts(&shown(&status, 10));
            for columns in 10..=200 {
                let line = shown(&status, columns);
                let now = texts(&line);
                prop_assert!(now.len() >= narrower.len(), "{columns}: {line}");
                let mut wider = now.iter();
                for before in &narrower {
                    let start = before.trim_end_matches('…').trim_end_matches("…)");
                    // In the order of the parts; a name may be longer now.
                    let goes_on = |part: &String| part.starts_with(start.split('…').next().unwrap_or_default());
                    prop_assert!(wider.any(goes_on), "{columns}: {before:?} in {line:?}");
                }
                narrower = now;
            }
        }
    }
}
