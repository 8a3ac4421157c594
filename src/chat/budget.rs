//! The context budget: thresholds for a model's window, and what compaction keeps (contract/interfaces.md 9).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::message::Message;
use crate::base::text::clip;

/// Thresholds in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// A warning is appended to tool results.
    pub warn: u64,
    /// The conversation is compacted.
    pub compact: u64,
    /// Large file reads are refused.
    pub hard: u64,
}

/// The window for which the contract's three numbers were made.
const FULL_WINDOW: u64 = 228_000;
/// Messages that compaction keeps word for word.
const KEEP: usize = 8;
/// How a summary begins.
const SUMMARY: &str = "Summary of earlier messages";
/// Characters of each message in the summary, and of each that the person wrote.
const SUMMARY_EACH: usize = 200;
const SUMMARY_USER: usize = 2_000;
/// Bytes of the whole summary.
const SUMMARY_ALL: usize = 12_000;

impl Budget {
    /// The thresholds for a window of `tokens`; smaller windows get 80, 88 and 99 percent of theirs.
    pub fn for_window(tokens: u64) -> Self {
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

    /// The words appended to tool results above the warning threshold.
    pub fn warning(self, used: u64) -> Option<String> {
        (used >= self.warn).then(|| {
            format!(
                "\n\n[Context budget: about {used} tokens are in use; older messages are summarised at {}. \
                 Read ranges instead of whole files, and write results to disk.]",
                self.compact
            )
        })
    }
}

/// Where compaction cuts: the index of the first message kept, moved back so that no result loses its call.
/// `None` when there is nothing to drop.
pub fn cut(messages: &[Message]) -> Option<usize> {
    let mut at = messages.len().checked_sub(KEEP)?;
    while at > 0 && matches!(messages.get(at), Some(Message::Tool(_))) {
        at -= 1;
    }
    (at > 0).then_some(at)
}

/// One message that stands for those that were dropped, made without a model: roles, tool names, first words. A summary among them
/// goes on in this one, and what the person asked for stays longer than the rest: the work is for that.
pub fn summary(dropped: &[Message], index: Option<&str>) -> Message {
    let mut lines = Vec::new();
    for message in dropped {
        match message {
            Message::System { text } if text.starts_with(SUMMARY) => {
                let earlier = text.lines().filter(|line| line.starts_with("- "));
                lines.extend(earlier.map(str::to_owned));
            }
            Message::System { text: said } => lines.push(line("system", said, SUMMARY_EACH)),
            Message::User(user) => lines.push(line("user", &user.text, SUMMARY_USER)),
            Message::Assistant(assistant) => {
                if !assistant.text.is_empty() {
                    lines.push(line("assistant", &assistant.text, SUMMARY_EACH));
                }
                for call in &assistant.calls {
                    let said = format!("{} {}", call.name, call.args);
                    lines.push(line("called", &said, SUMMARY_EACH));
                }
            }
            Message::Tool(output) => {
                let who = if output.failed { "failed" } else { "result" };
                let said = format!("{}: {}", output.name, output.text);
                lines.push(line(who, &said, SUMMARY_EACH));
            }
        }
    }
    let mut text = format!("{SUMMARY}, which were moved to a backup:\n");
    text.push_str(&fitted(&lines));
    if let Some(index) = index {
        let _ = write!(text, "Earlier files and findings are indexed in {index}. ");
    }
    text.push_str("Go on from here and produce output; do not start over.");
    Message::System { text }
}

fn line(who: &str, said: &str, most: usize) -> String {
    format!("- {who}: {}", clip(&said.replace('\n', " "), most))
}

/// The lines, or their beginning and a longer end when they are too many: where it began and where it stands.
fn fitted(lines: &[String]) -> String {
    let fit = |most: usize, lines: &mut dyn Iterator<Item = &String>| {
        let mut room = most;
        lines
            .take_while(|line| {
                let fits = line.len() < room;
                room = room.saturating_sub(line.len() + 1);
                fits
            })
            .count()
    };
    let joined = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect();
    if fit(SUMMARY_ALL, &mut lines.iter()) == lines.len() {
        return joined(lines);
    }
    let (head, rest) = lines.split_at(fit(SUMMARY_ALL / 3, &mut lines.iter()));
    let tail = fit(SUMMARY_ALL / 3 * 2, &mut rest.iter().rev());
    let (left_out, tail) = rest.split_at(rest.len() - tail);
    let (head, tail): (String, String) = (joined(head), joined(tail));
    format!("{head}… ({} more)\n{tail}", left_out.len())
}

/// What the dropped messages were about, for `.marvin/memories/INDEX.md`: files, frequent words, findings. Deterministic.
pub fn index(dropped: &[Message], when: &str) -> String {
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

fn top(words: BTreeMap<String, usize>, most: usize) -> Vec<String> {
    let mut words: Vec<(String, usize)> = words.into_iter().collect();
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words.into_iter().take(most).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolCall, ToolOutput};

    #[test]
    fn thresholds_follow_the_window() {
        assert_eq!(
            Budget::for_window(1_000_000),
            Budget {
                warn: 180_000,
                compact: 200_000,
                hard: 226_000
            }
        );
        assert_eq!(
            Budget::for_window(32_000),
            Budget {
                warn: 25_600,
                compact: 28_160,
                hard: 31_680
            }
        );
    }

    #[test]
    fn the_cut_never_parts_a_result_from_its_call() {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "tree".into(),
            args: "{\"path\":\"src\"}".into(),
            keep: None,
        };
        let result = |id: &str| {
            Message::Tool(ToolOutput {
                id: id.into(),
                name: "tree".into(),
                text: "ok".into(),
                failed: false,
            })
        };
        let mut talk = vec![
            Message::user("start"),
            Message::Assistant(Assistant {
                calls: vec![call("1"), call("2")],
                ..Assistant::default()
            }),
        ];
        talk.extend([result("1"), result("2")]);
        talk.extend((0..7).map(|i| Message::assistant(format!("step {i}"))));
        assert_eq!(cut(&talk), Some(1));
        assert_eq!(cut(&talk[1..]), None);
        let Message::System { text } = summary(&talk[..4], Some(".marvin/memories/INDEX.md"))
        else {
            panic!()
        };
        assert!(
            text.contains("- user: start")
                && text.contains("- called: tree")
                && text.contains("INDEX.md")
        );
        assert!(index(&talk, "now").contains("- src (2)"));
    }

    #[test]
    fn what_was_asked_for_survives_any_number_of_compactions() {
        let task = format!("port the parser; {} and keep its tests", "x".repeat(500));
        let mut talk = vec![Message::user(&task)];
        for round in 0..60 {
            talk.extend((0..12).map(|i| Message::assistant(format!("step {round}.{i}"))));
            let at = cut(&talk).unwrap();
            let dropped: Vec<Message> = talk.drain(..at).collect();
            talk.insert(0, summary(&dropped, None));
        }
        let Some(Message::System { text }) = talk.first() else {
            panic!()
        };
        assert!(text.contains("and keep its tests"), "{text}");
        assert!(
            text.contains("- assistant: step 0.0\n") && text.contains("- assistant: step 59.3\n"),
            "{text}"
        );
        assert!(text.contains(" more)\n") && text.len() < SUMMARY_ALL + 500);
        assert_eq!(text.matches("moved to a backup").count(), 1);
    }
}
