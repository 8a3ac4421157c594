//! What may be shown of an answer while it arrives: prose. An answer that begins like data is held back whole, and a written call from where it begins.

/// How a written call or the call syntax of some models begins; compared in lower case.
const OPENINGS: [&str; 6] = [
    "```",
    "tool_calls:",
    "tool_code",
    "tool_output",
    "<think>",
    "<tool_call",
];
/// How a written call begins behind prose.
const CALLS: [&str; 2] = ["```tool", "<tool_call"];

/// Decides piece by piece what of an answer is shown before it was checked.
#[derive(Debug, Default)]
pub(crate) struct DraftFilter {
    /// What arrived and is neither shown nor dropped.
    pending: String,
    has_shown: bool,
    is_closed: bool,
}

impl DraftFilter {
    /// Takes a piece, and returns what can be shown now.
    pub(crate) fn feed(&mut self, piece: &str) -> Option<String> {
        if self.is_closed {
            return None;
        }
        self.pending.push_str(piece);
        if !self.has_shown {
            let start = self.pending.trim_start();
            if start.is_empty() {
                return None;
            }
            if start.starts_with(['{', '['])
                || begins(start, |opening, text| text.starts_with(opening))
            {
                self.is_closed = true;
                return None;
            }
            if begins(start, |opening, text| opening.starts_with(text)) {
                return None;
            }
        }
        let (shown, held) = self.split();
        let shown = shown.to_owned();
        self.pending = held;
        if shown.is_empty() {
            return None;
        }
        self.has_shown = true;
        Some(shown)
    }

    /// Whether anything was shown.
    pub(crate) fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// What is shown, and what has to wait: back ticks or an angle at the end may open a call.
    fn split(&mut self) -> (&str, String) {
        let calls = CALLS.iter().filter_map(|call| self.pending.find(call));
        if let Some(at) = calls.min() {
            self.is_closed = true;
            return (self.pending.get(..at).unwrap_or_default(), String::new());
        }
        let held_of = |call: &&str| {
            let longest = call.len().min(self.pending.len());
            (1..=longest).rev().find(|&length| {
                let tail = call.get(..length).unwrap_or_default();
                self.pending.ends_with(tail)
            })
        };
        let held = CALLS.iter().filter_map(held_of).max().unwrap_or_default();
        let at = self.pending.len() - held;
        let tail = self.pending.get(at..).unwrap_or_default().to_owned();
        (self.pending.get(..at).unwrap_or_default(), tail)
    }
}

fn begins(text: &str, fits: impl Fn(&str, &str) -> bool) -> bool {
    let start: String = text.chars().take(16).collect();
    let start = start.to_lowercase();
    OPENINGS.iter().any(|opening| fits(opening, &start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str, size: usize) -> String {
        let mut filter = DraftFilter::default();
        let chars: Vec<char> = text.chars().collect();
        let pieces = chars
            .chunks(size)
            .map(|piece| piece.iter().collect::<String>());
        pieces.filter_map(|piece| filter.feed(&piece)).collect()
    }

    #[test]
    fn prose_is_shown_and_calls_are_not() {
        for (text, expected) in [
            ("It opened in 1932.", "It opened in 1932."),
            ("{\"response\": \"x\"}", ""),
            (" [1, 2]", ""),
            ("```tool_call\n{}\n```", ""),
            ("Tool_Calls: []", ""),
            (
                "Let me see.\n```tool_call\n{\"name\":\"x\"}\n```",
                "Let me see.\n",
            ),
            ("<tool_call>{\"name\":\"x\"}</tool_call>", ""),
            ("See:\n<tool_call>\n{\"name\":\"x\"}", "See:\n"),
            ("2 < 3 and <b>", "2 < 3 and <b>"),
            (
                "Put this in:\n```json\n{}\n```\nDone.",
                "Put this in:\n```json\n{}\n```\nDone.",
            ),
            ("Tools are good.", "Tools are good."),
        ] {
            for size in [1, 3, 100] {
                assert_eq!(shown(text, size), expected, "{text} in pieces of {size}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_piece_of_a_call_is_ever_shown(text in "[a-zA-Z `\n{}\":_é]{0,60}", size in 1usize..9) {
            let text = format!("{text}```tool_call\n{{\"name\":\"secret\"}}\n```");
            let shown = shown(&text, size);
            prop_assert!(text.starts_with(&shown) || text.trim_start().starts_with(shown.trim_start()));
            prop_assert!(!shown.contains("secret"));
        }
    }
}
