//! Pictures and lines of runs, compared with snapshots; and any events on any terminal.

use std::num::NonZero;
use std::time::Duration;

use proptest::prelude::*;
use ratatui::text::Line;

use super::lines;
use super::live::{line_style, printed};
use super::picture::{PictureContext, picture};
use crate::app::pipeline::progress::RunProgress;
use crate::chat::pipeline_event::{PhaseOutline, PipelineEvent, TierChoice};
use crate::ui::snapshot;
use crate::ui::term::inline::InlineArea;
use crate::ui::text::theme::{ColorMode, Theme};
use crate::ui::text::width;

fn some(count: u16) -> NonZero<u16> {
    NonZero::new(count).unwrap()
}

/// A run with its display, at times that the test says.
struct PictureStage {
    progress: RunProgress,
    theme: Theme,
    area: InlineArea,
    screen: vt100::Parser,
    size: (u16, u16),
    /// Lines that the next frame prints.
    waiting: Vec<Line<'static>>,
}

impl PictureStage {
    fn new(columns: u16, rows: u16) -> Self {
        Self {
            progress: RunProgress::default(),
            theme: Theme::new(ColorMode::Ansi16),
            area: InlineArea::default(),
            screen: vt100::Parser::new(some(rows), some(columns), 500),
            size: (columns, rows),
            waiting: Vec::new(),
        }
    }

    fn tell(&mut self, event: &PipelineEvent, seconds: u64) {
        self.progress.apply(event, Duration::from_secs(seconds));
        if let Some(style) = line_style(event, &self.theme) {
            let columns = usize::from(self.size.0);
            for line in lines::lines(event, &self.progress, columns) {
                self.waiting.extend(printed(&line, style, columns - 1));
            }
        }
    }

    fn draw(&mut self, seconds: u64) {
        let context = PictureContext {
            width: usize::from(self.size.0) - 1,
            height: usize::from(self.size.1) - 1,
            now: Duration::from_secs(seconds),
            theme: &self.theme,
        };
        let rows = picture(&self.progress, &context);
        let lines = std::mem::take(&mut self.waiting);
        self.screen.process(&self.area.frame(&lines, &rows));
    }

    /// Draws the picture after each event of the first half.
    fn first_half_without_lines(&mut self) {
        for (event, at) in first_half() {
            self.tell(&event, at);
            self.waiting.clear();
            self.draw(at);
        }
    }

    fn resize(&mut self, (columns, rows): (u16, u16)) {
        self.size = (columns, rows);
        let screen = self.screen.screen_mut();
        screen.set_size(some(rows), some(columns));
    }

    fn text(&self) -> String {
        self.screen.screen().contents()
    }
}

fn owned(text: &str) -> String {
    text.to_owned()
}

fn started() -> PipelineEvent {
    let tier = |tier: &str, provider: &str, model: &str, source: &str| TierChoice {
        tier: owned(tier),
        provider: owned(provider),
        model: owned(model),
        source: owned(source),
    };
    let phase = |name: &str, about: &str, done, omitted| PhaseOutline {
        name: owned(name),
        about: owned(about),
        done,
        omitted,
    };
    PipelineEvent::RunStarted {
        task: owned("A to-do list for the terminal that keeps its entries in a file, with tests"),
        ticket: owned("todo-4f2a"),
        tiers: vec![
            tier("codex", "openai", "gpt-5.3-codex", "default"),
            tier(
                "opus",
                "anthropic",
                "claude-opus-4.6",
                "MARVIN_CODE_MODEL_HIGH",
            ),
            tier("plan", "ollama", "qwen3-coder:30b", "--model plan"),
        ],
        phases: vec![
            phase("1a", "specification and user experience", true, false),
            phase("1a_review", "review of both", false, false),
            phase("1b", "architecture and test plan", false, false),
            phase("2a", "functional tests, which must fail", false, true),
            phase("3", "implementation", false, false),
            phase("4c", "served pages checked", false, false),
        ],
        resumed: true,
    }
}

fn child(id: &str, label: &str, attempt: u64) -> PipelineEvent {
    PipelineEvent::ChildStarted {
        id: owned(id),
        label: owned(label),
        model: owned("claude-opus-4.6"),
        attempt,
    }
}

fn ended(id: &str, done: bool, words: &str, seconds: u64) -> PipelineEvent {
    PipelineEvent::ChildEnded {
        id: owned(id),
        done,
        words: owned(words),
        took: Duration::from_secs(seconds),
    }
}

fn phase(name: &str) -> PipelineEvent {
    PipelineEvent::PhaseStarted { phase: owned(name) }
}

fn done(name: &str, seconds: u64) -> PipelineEvent {
    PipelineEvent::PhaseDone {
        phase: owned(name),
        took: Duration::from_secs(seconds),
    }
}

/// A run until the middle of its second phase, with the second of each event.
fn first_half() -> Vec<(PipelineEvent, u64)> {
    let round = PipelineEvent::RoundStarted {
        phase: owned("1a_review"),
        subject: owned("spec.md"),
        round: 2,
        most: 4,
    };
    let tools = PipelineEvent::ChildTools {
        id: owned("a"),
        tools: vec![owned("search"), owned("read_file")],
    };
    let words = owned("review-aux wrote nothing, and is tried again; 日本語\u{1b}[2J\nand more");
    let usage = |id: &str, tokens, cost| PipelineEvent::ChildUsage {
        id: owned(id),
        tokens,
        cost,
        estimated: false,
    };
    vec![
        (started(), 0),
        (phase("1a_review"), 1),
        (round, 2),
        (child("a", "review-main", 1), 2),
        (child("b", "review-quality", 2), 3),
        (tools, 9),
        (usage("a", 12_345, 0.1234), 10),
        (usage("b", 900, 0.005), 10),
        (PipelineEvent::Warning { words }, 60),
    ]
}

fn second_half() -> Vec<(PipelineEvent, u64)> {
    let checkpoint = PipelineEvent::Checkpoint {
        message: owned("spec.md: after round 2"),
    };
    let skipped = PipelineEvent::PhaseSkipped {
        phase: owned("4c"),
        reason: owned("The project serves no front-end files."),
    };
    let tests = PipelineEvent::TestsRun {
        passed: false,
        words: owned("3 of 12 tests failed."),
    };
    let end = PipelineEvent::RunEnded {
        done: false,
        words: owned("The run has reached its ceiling of $2.00."),
    };
    vec![
        (ended("a", true, "It wrote its review.", 120), 122),
        (ended("b", false, "The time limit was reached.", 130), 133),
        (checkpoint, 134),
        (done("1a_review", 140), 141),
        (skipped, 142),
        (phase("3"), 143),
        (tests, 150),
        (end, 200),
    ]
}

#[test]
fn the_picture_fits_terminals_of_every_width() {
    for columns in [100, 60, 20] {
        let mut stage = PictureStage::new(columns, 30);
        stage.first_half_without_lines();
        stage.draw(75);
        snapshot::same(&format!("pipeline/running-{columns}"), &stage.text());
    }
}

#[test]
fn a_wait_for_a_provider_counts_down_until_the_child_is_started_again() {
    let mut stage = PictureStage::new(100, 30);
    stage.first_half_without_lines();
    let wait = PipelineEvent::ProviderWait {
        label: owned("review-gaps"),
        provider: owned("openai"),
        milliseconds: 40_000,
    };
    stage.tell(&wait, 60);
    for (at, left) in [(61, "39s"), (75, "25s"), (200, "0s")] {
        stage.draw(at);
        let text = stage.text();
        let row = format!("review-gaps · waits for openai · {left}");
        assert!(text.contains(&row), "{row}: {text}");
    }
    stage.tell(&child("c", "review-gaps", 1), 201);
    stage.draw(202);
    assert!(!stage.text().contains("waits for"), "{}", stage.text());
    let line = lines::lines(&wait, &RunProgress::default(), usize::MAX).remove(0);
    assert_eq!(
        line,
        "Child review-gaps waits 40 s for openai, which cannot answer now"
    );
}

#[test]
fn the_last_picture_stays_below_the_lines() {
    for columns in [100, 60, 20] {
        let mut stage = PictureStage::new(columns, 60);
        for (event, at) in first_half().into_iter().chain(second_half()) {
            stage.tell(&event, at);
            stage.draw(at);
        }
        let text = stage.text();
        assert_eq!(text.matches("✗ 3 ").count(), 1, "{text}");
        snapshot::same(&format!("pipeline/ended-{columns}"), &text);
    }
}

#[test]
fn a_low_terminal_shows_what_matters_most() {
    for rows in [8, 4, 2] {
        let mut stage = PictureStage::new(60, rows);
        stage.first_half_without_lines();
        snapshot::same(&format!("pipeline/low-{rows}"), &stage.text());
    }
}

#[test]
fn the_size_may_change_between_frames() {
    let mut stage = PictureStage::new(100, 30);
    for (event, at) in first_half() {
        stage.tell(&event, at);
        stage.draw(at);
        stage.resize(if at % 2 == 0 { (20, 12) } else { (100, 30) });
    }
    stage.resize((100, 30));
    stage.draw(80);
    let text = stage.text();
    assert!(text.contains("review-main"), "{text}");
    assert!(text.ends_with("served pages checked"), "{text}");
}

#[test]
fn lines_keep_their_wording() {
    let mut progress = RunProgress::default();
    let mut text = String::new();
    for (event, at) in first_half().into_iter().chain(second_half()) {
        progress.apply(&event, Duration::from_secs(at));
        for line in lines::lines(&event, &progress, usize::MAX) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    assert!(!text.contains('\u{1b}'), "{text}");
    snapshot::same("pipeline/lines", &text);
    let narrow = lines::lines(&started(), &progress, 40);
    assert_eq!(narrow[2], "    codex: gpt-5.3-codex of openai (default)");
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(owned("1a")),
        Just(owned("a")),
        Just(owned("\u{1b}[2J\u{7}\r\n\t\u{202e}x")),
        Just("日本語👩‍👩‍👧‍👦".repeat(40)),
        "\\PC{0,12}",
    ]
}

fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..5, Just(u64::MAX), any::<u64>()]
}

fn any_event() -> impl Strategy<Value = PipelineEvent> {
    let texts = (any_text(), any_text(), any_text());
    let numbers = (any_number(), any_number());
    let cost = prop_oneof![Just(f64::NAN), Just(f64::MAX), Just(-1.0), 0.0..1e6];
    (0..14, texts, numbers, cost, any::<(bool, bool)>()).prop_map(
        |(kind, (a, b, c), (m, n), cost, (yes, no))| match kind {
            0 => PipelineEvent::RunStarted {
                task: a.clone(),
                ticket: b.clone(),
                tiers: vec![TierChoice {
                    tier: a,
                    provider: b.clone(),
                    model: c.clone(),
                    source: c.clone(),
                }],
                phases: ["1a", "1b", &b, &c]
                    .map(|name| PhaseOutline {
                        name: owned(name),
                        about: c.clone(),
                        done: yes,
                        omitted: no,
                    })
                    .to_vec(),
                resumed: no,
            },
            1 => PipelineEvent::PhaseStarted { phase: a },
            2 => PipelineEvent::PhaseSkipped {
                phase: a,
                reason: b,
            },
            3 => PipelineEvent::RoundStarted {
                phase: a,
                subject: b,
                round: m,
                most: n,
            },
            4 => PipelineEvent::PhaseDone {
                phase: a,
                took: Duration::from_secs(m),
            },
            5 => PipelineEvent::ChildStarted {
                id: a,
                label: b,
                model: c,
                attempt: m,
            },
            6 => PipelineEvent::ChildTools {
                id: a,
                tools: vec![b, c],
            },
            7 => PipelineEvent::ChildUsage {
                id: a,
                tokens: m,
                cost,
                estimated: yes,
            },
            8 => PipelineEvent::ChildEnded {
                id: a,
                done: yes,
                words: b,
                took: Duration::from_secs(m),
            },
            9 => PipelineEvent::TestsRun {
                passed: yes,
                words: a,
            },
            10 => PipelineEvent::Checkpoint { message: a },
            11 => PipelineEvent::Warning { words: a },
            12 => PipelineEvent::ProviderWait {
                label: a,
                provider: b,
                milliseconds: m,
            },
            _ => PipelineEvent::RunEnded {
                done: yes,
                words: a,
            },
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_events_are_drawn_within_the_terminal(
        events in proptest::collection::vec((any_event(), any_number()), 0..20),
        width in 1usize..120,
        height in 0usize..30,
        now in any_number(),
    ) {
        let theme = Theme::new(ColorMode::True);
        let mut progress = RunProgress::default();
        let (mut shown, mut printed_rows) = (InlineArea::default(), Vec::new());
        for (event, at) in &events {
            progress.apply(event, Duration::from_secs(*at));
            for line in lines::lines(event, &progress, width) {
                printed_rows.extend(printed(&line, theme.text, width));
            }
            let context = PictureContext { width, height, now: Duration::from_secs(now), theme: &theme };
            let rows = picture(&progress, &context);
            prop_assert!(rows.len() <= height);
            for row in rows.iter().chain(&printed_rows) {
                prop_assert!(width::of_spans(&row.spans) <= width, "{row:?}");
                let text = row.to_string();
                prop_assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
            }
            let bytes = shown.frame(&std::mem::take(&mut printed_rows), &rows);
            prop_assert!(String::from_utf8(bytes).is_ok());
        }
    }
}
