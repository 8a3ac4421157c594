//! The context budget: thresholds for a model's window, and what compaction keeps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::message::Message;
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
/// Number of messages that compaction keeps verbatim.
const KEPT_MESSAGES: usize = 8;
/// Maximum characters of the task that survive every compaction verbatim.
const MAX_TASK_CHARS: usize = 20_000;
/// The prefix of a summary.
pub(crate) const SUMMARY: &str = "Summary of earlier messages";
/// Maximum characters per message in the summary; the user's own messages have a larger limit.
const MAX_SUMMARY_MESSAGE_CHARS: usize = 200;
const SUMMARY_USER: usize = 2_000;
/// Maximum bytes of the whole summary.
const MAX_SUMMARY_BYTES: usize = 12_000;

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

/// The messages that compaction keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionCut {
    /// Index of the user's message that the conversation will begin with.
    pub task: usize,
    /// Index of the first message that follows the summary unchanged.
    pub rest: usize,
}

/// Where compaction cuts: the last messages stay, extended backwards so that no result loses its call. The user's message that they work on stays before them,
/// because providers refuse a conversation that begins with an answer, and a model that has lost its task invents another. `None` when there is nothing to
/// drop.
pub(crate) fn cut(messages: &[Message]) -> Option<CompactionCut> {
    let is_user = |message: &Message| matches!(message, Message::User(_));
    let mut at = messages.len().checked_sub(KEPT_MESSAGES)?;
    while at > 0 && matches!(messages.get(at), Some(Message::Tool(_))) {
        at -= 1;
    }
    let begun = messages.iter().take(at + 1).rposition(is_user);
    let cut = match begun.or_else(|| messages.iter().position(is_user)) {
        Some(task) => CompactionCut {
            task,
            rest: at.max(task + 1),
        },
        // No user message at all; there is no better start.
        None => CompactionCut { task: at, rest: at },
    };
    let dropped = messages.iter().take(cut.rest).enumerate();
    let mut dropped = dropped.filter(|(at, _)| *at != cut.task || cut.task == cut.rest);
    // Summarising nothing but an earlier summary frees no room.
    dropped
        .any(|(_, message)| !is_summary(message))
        .then_some(cut)
}

/// Removes the messages that a compaction at `cut` drops; the rest begins with the task, clipped to a limit that leaves room for the work.
pub(crate) fn take_dropped(messages: &mut Vec<Message>, cut: CompactionCut) -> Vec<Message> {
    let mut dropped: Vec<Message> = messages.drain(..cut.rest).collect();
    if cut.task < cut.rest {
        let mut task = dropped.remove(cut.task);
        if let Message::User(user) = &mut task
            && let Some((end, _)) = user.text.char_indices().nth(MAX_TASK_CHARS)
        {
            user.text.truncate(end);
            user.text
                .push_str("\n[Cut: the rest of this message is in the backup.]");
        }
        messages.insert(0, task);
    }
    dropped
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
/// own messages keep more text than the rest.
pub(crate) fn summary(dropped: &[Message], index: Option<&str>) -> Message {
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
    let mut text = format!("{SUMMARY}, which were moved to a backup:\n");
    text.push_str(&fit_to_limit(&lines));
    if let Some(index) = index {
        let _ = write!(text, "Earlier files and findings are indexed in {index}. ");
    }
    text.push_str("Go on from here and produce output; do not start over.");
    Message::System { text }
}

fn line(who: &str, said: &str, max: usize) -> String {
    format!("- {who}: {}", clip(&said.replace('\n', " "), max))
}

/// The lines, or their beginning and a longer end if they are too many.
fn fit_to_limit(lines: &[String]) -> String {
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
    if fit(MAX_SUMMARY_BYTES, &mut lines.iter()) == lines.len() {
        return joined(lines);
    }
    let (head, rest) = lines.split_at(fit(MAX_SUMMARY_BYTES / 3, &mut lines.iter()));
    let tail = fit(MAX_SUMMARY_BYTES / 3 * 2, &mut rest.iter().rev());
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
    words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    words.into_iter().take(max).map(|(word, _)| word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolCall, ToolOutput};

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
    fn the_cut_never_separates_a_result_from_its_call() {
        let call = |id: &str| ToolCall {
            id: id.into(),
            name: "tree".into(),
            args: "{\"path\":\"src\"}".into(),
            provider_state: None,
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
        let all = talk.clone();
        talk.extend((0..3).map(|i| Message::assistant(format!("later {i}"))));
        assert_eq!(cut(&talk), Some(CompactionCut { task: 0, rest: 6 }));
        assert_eq!(cut(&talk[..11]), None, "the calls stay with their results");
        let talk = all;
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

    fn compact(talk: &mut Vec<Message>) {
        let at = cut(talk).unwrap();
        let dropped = take_dropped(talk, at);
        insert_summary(talk, summary(&dropped, None));
    }

    #[test]
    fn the_task_stays_first_and_whole() {
        let mut talk: Vec<Message> = (0..20)
            .flat_map(|n| {
                [
                    Message::user(format!("question {n}")),
                    Message::assistant(format!("answer {n}")),
                ]
            })
            .collect();
        talk.push(Message::user("the last one"));
        let last: Vec<Message> = talk[33..].to_vec();
        compact(&mut talk);
        assert_eq!(talk[0], Message::user("question 16"));
        assert!(is_summary(&talk[1]));
        assert_eq!(talk[2..], last);
        // A log that begins with an answer is extended back to a question.
        let mut talk: Vec<Message> = (0..3)
            .map(|n| Message::assistant(format!("answer {n}")))
            .chain((0..8).map(|n| Message::user(format!("question {n}"))))
            .collect();
        compact(&mut talk);
        assert_eq!(talk[0], Message::user("question 0"));
        assert_eq!(talk.len(), 9);
        assert_eq!(cut(&talk), None, "a summary alone is not summarised again");
    }

    #[test]
    fn a_task_over_the_limit_is_clipped_once() {
        let mut talk = vec![Message::user("é".repeat(MAX_TASK_CHARS + 1))];
        let mut texts = Vec::new();
        for _ in 0..2 {
            talk.extend((0..12).map(|i| Message::assistant(format!("step {i}"))));
            compact(&mut talk);
            let Some(Message::User(user)) = talk.first() else {
                panic!()
            };
            texts.push(user.text.clone());
        }
        assert_eq!(texts[0], texts[1]);
        assert!(texts[0].starts_with(&"é".repeat(MAX_TASK_CHARS)));
        assert!(texts[0].ends_with("[Cut: the rest of this message is in the backup.]"));
    }

    #[test]
    fn the_task_survives_any_number_of_compactions() {
        let task = format!("port the parser; {} and keep its tests", "x".repeat(500));
        let mut talk = vec![Message::user(&task)];
        for round in 0..60 {
            talk.extend((0..12).map(|i| Message::assistant(format!("step {round}.{i}"))));
            compact(&mut talk);
            assert_eq!(talk.first(), Some(&Message::user(&task)), "{round}");
        }
        let Some(Message::System { text }) = talk.get(1) else {
            panic!()
        };
        assert!(
            text.contains("- assistant: step 0.0\n") && text.contains("- assistant: step 59.3\n"),
            "{text}"
        );
        assert!(text.contains(" more)\n") && text.len() < MAX_SUMMARY_BYTES + 500);
        assert_eq!(text.matches("moved to a backup").count(), 1);
    }
}
