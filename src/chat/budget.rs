//! The context budget: thresholds for a model's window, and the summary of what a compaction drops.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::message::Message;
use crate::base::redact;
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::clip;

/// Thresholds in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContextBudget {
    /// A warning is appended to tool results.
    pub warn: u64,
    /// The conversation is compacted.
    pub compact: u64,
    /// Large file reads are refused.
    pub hard: u64,
}

/// The window that the default thresholds are made for; smaller windows scale them.
const FULL_WINDOW: u64 = 228_000;
/// The prefix of a summary.
pub(crate) const SUMMARY: &str = "Summary of earlier messages";
/// Maximum characters per message in the summary; the user's own messages have a larger limit.
const MAX_SUMMARY_MESSAGE_CHARS: usize = 200;
/// What is looked at beyond the cut, so that a secret that it divides is recognised.
const MAX_SECRET_CHARS: usize = 512;
const SUMMARY_USER: usize = 2_000;

impl ContextBudget {
    /// The thresholds for a window of `tokens`; smaller windows get 80, 88 and 99 percent of theirs.
    pub(crate) fn for_window(tokens: u64) -> Self {
        if tokens >= FULL_WINDOW {
            return Self {
                warn: 180_000,
                compact: 200_000,
                hard: 226_000,
            };
        }
        let percent = |p: u64| tokens.saturating_mul(p) / 100;
        Self {
            warn: percent(80),
            compact: percent(88),
            hard: percent(99),
        }
    }

    /// The warning appended to tool results above the warning threshold.
    pub(crate) fn warning(self, used: u64) -> Option<String> {
        (used >= self.warn).then(|| {
            format!(
                "\n\n[Context budget: about {used} tokens are in use; older messages are summarised at {}. \
                 Read ranges instead of whole files, and write results to disk.]",
                self.compact
            )
        })
    }
}

/// Inserts the summary of the dropped messages after the task.
pub(crate) fn insert_summary(messages: &mut Vec<Message>, summary: Message) {
    let at = usize::from(matches!(messages.first(), Some(Message::User(_))));
    messages.insert(at, summary);
}

/// True for a summary made by a compaction.
pub(crate) fn is_summary(message: &Message) -> bool {
    matches!(message, Message::System { text } if is_summary_text(text))
}

/// True for the text of a summary made by a compaction.
pub(crate) fn is_summary_text(text: &str) -> bool {
    text.starts_with(SUMMARY)
}

/// One message that replaces the dropped ones, made without a model: roles, tool names, first words. An earlier summary among them is continued, and the user's
/// own messages keep more text than the rest. Its lines have at most `max_bytes`; `whole` is the file that has the messages.
pub(crate) fn summary(
    dropped: &[Message],
    max_bytes: usize,
    whole: &str,
    index: Option<&str>,
) -> Message {
    let mut lines = Vec::new();
    for message in dropped {
        match message {
            Message::System { text } if is_summary(message) => {
                let earlier = text.lines().filter(|line| line.starts_with("- "));
                lines.extend(earlier.map(str::to_owned));
            }
            Message::System { text: said } => {
                lines.push(line("system", said, MAX_SUMMARY_MESSAGE_CHARS));
            }
            Message::User(user) => {
                lines.push(line("user", &user.text_and_markers(), SUMMARY_USER));
            }
            Message::Assistant(assistant) => {
                if !assistant.text.is_empty() {
                    lines.push(line(
                        "assistant",
                        &assistant.text,
                        MAX_SUMMARY_MESSAGE_CHARS,
                    ));
                }
                for call in &assistant.calls {
                    let said = format!("{} {}", call.name, call.args);
                    lines.push(line("called", &said, MAX_SUMMARY_MESSAGE_CHARS));
                }
            }
            Message::Tool(output) => {
                let who = if output.failed { "failed" } else { "result" };
                let said = format!("{}: {}", output.name, output.text);
                lines.push(line(who, &said, MAX_SUMMARY_MESSAGE_CHARS));
            }
        }
    }
    let mut text = format!("{SUMMARY}, which were moved to {whole}:\n");
    text.push_str(&fit_to_limit(&lines, max_bytes));
    if let Some(index) = index {
        let _ = write!(text, "Earlier files and findings are indexed in {index}. ");
    }
    text.push_str("Go on from here and produce output; do not start over.");
    Message::System { text }
}

/// A line of the summary. It stays as long as the conversation does, so no key or password stays in it; the file has what was said.
fn line(who: &str, said: &str, max: usize) -> String {
    let said = clip(said, max + MAX_SECRET_CHARS);
    let said = redact::secrets(&said, &[]);
    format!("- {who}: {}", clip(&said.replace('\n', " "), max))
}

/// The lines, or their beginning and a longer end if they are too many.
fn fit_to_limit(lines: &[String], max_bytes: usize) -> String {
    let fit = |max: usize, lines: &mut dyn Iterator<Item = &String>| {
        let mut room = max;
        lines
            .take_while(|line| {
                let fits = line.len() < room;
                room = room.saturating_sub(line.len() + 1);
                fits
            })
            .count()
    };
    let joined = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
    if fit(max_bytes, &mut lines.iter()) == lines.len() {
        return joined(lines);
    }
    let (head, rest) = lines.split_at(fit(max_bytes / 3, &mut lines.iter()));
    let tail = fit(max_bytes / 3 * 2, &mut rest.iter().rev());
    let (left_out, tail) = rest.split_at(rest.len() - tail);
    let (head, tail): (String, String) = (joined(head), joined(tail));
    format!("{head}… ({} more)\n{tail}", left_out.len())
}

/// The topics of the dropped messages, for `.marvin/memories/INDEX.md`: files, frequent words, findings. Deterministic.
pub(crate) fn index(dropped: &[Message], when: &str) -> String {
    let mut files: BTreeMap<String, usize> = BTreeMap::new();
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    let mut findings = Vec::new();
    for message in dropped {
        match message {
            Message::Assistant(assistant) => {
                for call in &assistant.calls {
                    if let Ok(serde_json::Value::Object(args)) = serde_json::from_str(&call.args)
                        && let Some(path) = args.get("path").and_then(|path| path.as_str())
                    {
                        *files.entry(clip(path, 200)).or_default() += 1;
                    }
                }
                findings.extend(
                    assistant
                        .text
                        .lines()
                        .map(str::trim)
                        .filter(|line| line.len() > 20)
                        .take(2)
                        .map(|line| clip(line, 200)),
                );
                count_words(&mut words, &assistant.text);
            }
            Message::User(user) => count_words(&mut words, &user.text),
            Message::System { .. } | Message::Tool(_) => {}
        }
    }
    let mut text = format!(
        "## Compacted {when}\n\nKeywords: {}\n\nFiles:\n",
        top(words, 20).join(", ")
    );
    for (path, count) in files.iter().take(200) {
        let _ = writeln!(text, "- {path} ({count})");
    }
    text.push_str("\nFindings:\n");
    for finding in findings.iter().take(50) {
        let _ = writeln!(text, "- {finding}");
    }
    text.push('\n');
    text
}

fn count_words(words: &mut BTreeMap<String, usize>, text: &str) {
    for word in text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= 5)
    {
        *words.entry(clip(&word.to_lowercase(), 40)).or_default() += 1;
    }
}

fn top(words: BTreeMap<String, usize>, max: usize) -> Vec<String> {
    let mut words: Vec<(String, usize)> = words.into_iter().collect();
    words.shared_sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words.into_iter().take(max).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use crate::chat::message::{Assistant, ToolCall};

    #[test]
    fn thresholds_follow_the_window() {
        assert_eq!(
            ContextBudget::for_window(1_000_000),
            ContextBudget {
                warn: 180_000,
                compact: 200_000,
                hard: 226_000
            }
        );
        assert_eq!(
            ContextBudget::for_window(32_000),
            ContextBudget {
                warn: 25_600,
                compact: 28_160,
                hard: 31_680
            }
        );
    }

    #[test]
    fn a_summary_says_who_said_what_and_where_the_whole_is() {
        let call = |id: &str| ToolCall::new(id, "tree", "{\"path\":\"src\"}");
        let talk = [
            Message::user("start"),
            Message::Assistant(Assistant::new("", vec![call("1"), call("2")])),
        ];
        let made = summary(
            &talk,
            12_000,
            "logs/1.jsonl",
            Some(".marvin/memories/INDEX.md"),
        );
        let Message::System { text } = &made else {
            panic!()
        };
        assert!(is_summary(&made) && text.contains("moved to logs/1.jsonl"));
        assert_has(text, &["- user: start", "- called: tree", "INDEX.md"]);
        assert!(index(&talk, "now").contains("- src (2)"));
    }
}
