//! The row under the conversation while an answer is awaited: what for, for how long, and the key that ends it.

use std::time::{Duration, Instant};

use ratatui::text::{Line, Span};

use super::layout_context::{CANCEL_HINT, LayoutContext, format_running, spinner};
use crate::chat::wait::Wait;
use crate::ui::keys::{self, Action};
use crate::ui::text::clean::clean_line;
use crate::ui::text::wait_words::phrase;
use crate::ui::text::width;

pub(super) struct AnswerWait {
    since: Instant,
    cause: WaitCause,
}

enum WaitCause {
    /// Files are read and the request is put together.
    Preparation,
    /// As the turn reported, and when.
    Reported(Wait, Instant),
    Thinking,
    /// The answer has begun and has paused, or the arguments of a call arrive.
    More,
}

impl AnswerWait {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            cause: WaitCause::Preparation,
        }
    }

    /// The rest of an answer, of which the latest piece came at `since`.
    pub(super) fn for_more(since: Instant) -> Self {
        Self {
            since,
            cause: WaitCause::More,
        }
    }

    /// It waits for something else now.
    pub(super) fn set(&mut self, wait: Wait, now: Instant) {
        self.cause = WaitCause::Reported(wait, now);
    }

    pub(super) fn is_compaction(&self) -> bool {
        matches!(self.cause, WaitCause::Reported(Wait::Compaction, _))
    }

    /// The model has begun to think.
    pub(super) fn thinks(&mut self) {
        self.cause = WaitCause::Thinking;
    }

    /// The row. Where it is narrow, the phrase is cut and the key stays.
    pub(super) fn row(&self, shows_thinking: bool, layout_ctx: LayoutContext<'_>) -> Line<'static> {
        let now = layout_ctx.now;
        let spinner = spinner(self.since, now);
        let time = format_running(now.saturating_duration_since(self.since));
        let (phrase, time) = match &self.cause {
            WaitCause::Preparation => ("preparing the request".to_owned(), time),
            WaitCause::Reported(wait, at) => {
                match remaining(wait, now.saturating_duration_since(*at)) {
                    Some(seconds) => (phrase(wait), format!("{seconds}s")),
                    None => (phrase(wait), time),
                }
            }
            WaitCause::Thinking => ("thinking".to_owned(), time),
            WaitCause::More => ("waiting for more".to_owned(), time),
        };
        let end = format!(" {time}  {CANCEL_HINT}");
        let room = layout_ctx
            .width
            .saturating_sub(width::of(&end) + width::of(spinner) + 1);
        let mut text = format!("{spinner} {}{end}", width::clip(&clean_line(&phrase), room));
        let key = keys::name(Action::Thinking).unwrap_or_default();
        let toggle = format!("  {key} shows it");
        let is_hidden = matches!(self.cause, WaitCause::Thinking) && !shows_thinking;
        if is_hidden && width::of(&text) + width::of(&toggle) <= layout_ctx.width {
            text.push_str(&toggle);
        }
        let text = width::clip(&text, layout_ctx.width);
        Line::from(Span::styled(text, layout_ctx.theme.dim))
    }
}

/// Whole seconds until the next attempt.
fn remaining(wait: &Wait, passed: Duration) -> Option<u64> {
    let Wait::Retry { wait, .. } = wait else {
        return None;
    };
    let left = wait.saturating_sub(passed);
    Some(left.as_secs() + u64::from(left.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::{ColorMode, Theme};

    fn row(wait: Option<Wait>, seconds: u64, width: usize) -> String {
        let theme = Theme::new(ColorMode::None);
        let since = Instant::now();
        let mut answer = AnswerWait::new(since);
        if let Some(wait) = wait {
            answer.set(wait, since);
        }
        let layout_ctx =
            super::super::chat::layout_ctx(width, &theme, since + Duration::from_secs(seconds));
        let row = answer.row(false, layout_ctx).to_string();
        assert!(width::of(&row) <= width, "{row:?}");
        row.split_once(' ').unwrap().1.to_owned()
    }

    fn waits() -> Vec<Wait> {
        let retry = |is_rate_limit| Wait::Retry {
            provider: "groq",
            is_rate_limit,
            wait: Duration::from_millis(12_500),
            attempt: 1,
            most: 2,
            status: None,
        };
        vec![
            Wait::Start { program: "Copilot" },
            Wait::Connection { provider: "groq" },
            Wait::FirstByte {
                provider: "groq",
                loads: None,
            },
            Wait::FirstByte {
                provider: "ollama",
                loads: Some("qwen3:4b\u{1b}[2J".to_owned()),
            },
            retry(true),
            retry(false),
            Wait::Compaction,
        ]
    }

    #[test]
    fn every_wait_says_what_for_and_how_to_stop_it_from_its_first_second() {
        let rows: Vec<String> = std::iter::once(None)
            .chain(waits().into_iter().map(Some))
            .map(|wait| row(wait, 0, 100))
            .collect();
        assert_eq!(
            rows,
            [
                "preparing the request 0s  Esc to stop",
                "starting Copilot 0s  Esc to stop",
                "connecting to groq 0s  Esc to stop",
                "waiting for groq 0s  Esc to stop",
                "waiting for ollama, which may be loading qwen3:4b 0s  Esc to stop",
                "rate limited by groq, next try in 13s  Esc to stop",
                "groq failed, next try in 13s  Esc to stop",
                "compacting the conversation 0s  Esc to stop",
            ]
        );
    }

    #[test]
    fn a_retry_counts_down_and_everything_else_up() {
        for (seconds, expected) in [(0, "13s"), (1, "12s"), (12, "1s"), (13, "0s"), (60, "0s")] {
            let row = row(waits().into_iter().nth(4), seconds, 100);
            assert!(row.contains(&format!("next try in {expected} ")), "{row}");
        }
        assert!(row(waits().into_iter().nth(2), 65, 100).contains("groq 1m 05s"));
    }

    #[test]
    fn where_it_is_narrow_the_key_stays() {
        for wait in waits() {
            for width in 24..60 {
                let row = row(Some(wait.clone()), 3, width);
                assert!(row.ends_with("Esc to stop"), "{width}: {row}");
            }
        }
    }
}
