//! What a compaction keeps of a conversation, counted in tokens: where it cuts, and how what is still too large is shortened.

use super::budget::{ContextBudget, insert_summary, is_summary, summary};
use super::image;
use super::message::Message;
use super::shorten::{shorten, shortened_task};

/// Messages at the end that compaction keeps as they are, if they fit.
const KEPT_MESSAGES: usize = 8;
/// Characters of the task that survive every compaction verbatim, if they fit.
const MAX_TASK_CHARS: usize = 20_000;
/// Attempts to shorten a conversation until it fits; the last one always does.
const ATTEMPTS: u64 = 7;
/// Bytes of a summary, at most.
const MAX_SUMMARY_BYTES: u64 = 12_000;
/// Bytes of a summary for each token: more than any text that says anything has.
const SUMMARY_BYTES_PER_TOKEN: u64 = 3;
/// Tokens below which what remains of a message says nothing any more.
const MIN_MESSAGE_TOKENS: u64 = 60;

/// What a compaction has to reach, in tokens of the messages alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionGoal {
    /// The messages must not have more.
    pub limit: u64,
    /// The messages should not have more, so that there is room for the work that follows.
    pub wanted: u64,
}

impl CompactionGoal {
    /// The goal within `budget` when `overhead` tokens go with the messages.
    pub(crate) fn new(budget: ContextBudget, overhead: u64) -> Self {
        let limit = budget.compact.saturating_sub(overhead);
        Self {
            limit,
            wanted: limit / 3 * 2,
        }
    }

    /// The goal of a user who wants it shorter now.
    pub(crate) fn now(self) -> Self {
        Self {
            limit: self.wanted,
            ..self
        }
    }

    /// The largest summary, in bytes.
    pub(crate) fn summary_bytes(self) -> usize {
        let bytes = self.summary_tokens() * SUMMARY_BYTES_PER_TOKEN;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn summary_tokens(self) -> u64 {
        (self.wanted / 6).min(MAX_SUMMARY_BYTES / SUMMARY_BYTES_PER_TOKEN)
    }
}

/// The messages that compaction keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionCut {
    /// Index of the user's message that the conversation will begin with.
    pub task: usize,
    /// Index of the first message that follows the summary.
    pub rest: usize,
}

/// What a compaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CompactionPlan {
    /// Where it cuts; `None` when every message stays.
    pub cut: Option<CompactionCut>,
    /// What stays is too large and has to be shortened.
    pub shortens: bool,
}

/// The index of the user's message that nothing has answered yet.
pub(crate) fn open_task(messages: &[Message]) -> Option<usize> {
    let at = messages.iter().rposition(is_user)?;
    let after = messages.get(at..).unwrap_or_default();
    let is_answer = |message: &Message| matches!(message, Message::Assistant(_));
    (!after.iter().any(is_answer)).then_some(at)
}

/// Plans a compaction of `messages`, which have `counts` tokens each. The last messages stay if they fit, else fewer of them, down to the last round, never a
/// result without its call. The user's message that they work on stays before them: providers refuse a conversation that begins with an answer, and a model
/// that has lost its task invents another. `None` when there is nothing to do.
pub(crate) fn plan(
    messages: &[Message],
    counts: &[u64],
    goal: CompactionGoal,
) -> Option<CompactionPlan> {
    let first = start_of_unit(messages, messages.len().saturating_sub(KEPT_MESSAGES));
    let last_round = messages
        .iter()
        .rposition(|message| matches!(message, Message::Assistant(_)))
        .or_else(|| messages.iter().rposition(is_user))
        .unwrap_or(messages.len());
    let mut chosen = None;
    let mut shortens = false;
    for at in first.min(last_round)..=last_round {
        if start_of_unit(messages, at) != at {
            continue;
        }
        let cut = cut_at(messages, at);
        let size = size_after(messages, counts, cut, goal);
        if size <= goal.wanted || at == last_round {
            shortens = size > goal.limit;
            chosen = Some(cut);
            break;
        }
    }
    let mut cut = chosen?;
    // Beside a message that fills the window nothing else has room.
    if let Some(open) = open_task(messages).filter(|_| shortens) {
        let whole = counts.get(open).copied().unwrap_or_default();
        if whole + goal.summary_tokens() + 10 * MIN_MESSAGE_TOKENS > goal.limit {
            cut = CompactionCut {
                task: open,
                rest: messages.len(),
            };
            shortens = false;
        }
    }
    let mut dropped = messages.iter().take(cut.rest).enumerate();
    // Summarising nothing but an earlier summary frees no room.
    let drops = dropped
        .any(|(at, message)| (at != cut.task || cut.task == cut.rest) && !is_summary(message));
    let plan = CompactionPlan {
        cut: drops.then_some(cut),
        shortens,
    };
    (drops || shortens).then_some(plan)
}

fn is_user(message: &Message) -> bool {
    matches!(message, Message::User(_))
}

/// The beginning of the round that the message at `at` belongs to, or `at` itself.
fn start_of_unit(messages: &[Message], mut at: usize) -> usize {
    while at > 0 && matches!(messages.get(at), Some(Message::Tool(_))) {
        at -= 1;
    }
    at
}

fn cut_at(messages: &[Message], at: usize) -> CompactionCut {
    let begun = messages.iter().take(at + 1).rposition(is_user);
    match begun.or_else(|| messages.iter().position(is_user)) {
        Some(task) => CompactionCut {
            task,
            rest: at.max(task + 1),
        },
        // No user message at all: a summary is the only beginning that providers take.
        None => CompactionCut {
            task: messages.len(),
            rest: messages.len(),
        },
    }
}

/// Tokens of what `cut` leaves, with its summary.
fn size_after(
    messages: &[Message],
    counts: &[u64],
    cut: CompactionCut,
    goal: CompactionGoal,
) -> u64 {
    let rest: u64 = counts.iter().skip(cut.rest).sum();
    if cut.task == cut.rest {
        return rest + goal.summary_tokens();
    }
    let summary = match cut.rest {
        0 | 1 => 0,
        _ => goal.summary_tokens(),
    };
    rest + task_tokens(messages, counts, cut.task) + summary
}

/// Tokens of the task as it survives.
fn task_tokens(messages: &[Message], counts: &[u64], task: usize) -> u64 {
    let count = counts.get(task).copied().unwrap_or_default();
    let Some(Message::User(user)) = messages.get(task) else {
        return count;
    };
    let chars = user.text.chars().count();
    if open_task(messages) == Some(task) || chars <= MAX_TASK_CHARS {
        return count;
    }
    let images = image::tokens(&user.images);
    let text = count.saturating_sub(images) as u128 * MAX_TASK_CHARS as u128 / chars as u128;
    images + u64::try_from(text).unwrap_or(u64::MAX) + MIN_MESSAGE_TOKENS
}

/// The tokens that the results of the newest round may have, when the conversation with its calls has `counts`: what is left, but at least half of what a
/// compaction can make room for, because that happens before the next request.
pub(crate) fn room_for_results(messages: &[Message], counts: &[u64], goal: CompactionGoal) -> u64 {
    let left = goal.limit.saturating_sub(counts.iter().sum());
    let calls = counts.last().copied().unwrap_or_default();
    let task = messages
        .iter()
        .rposition(is_user)
        .map_or(0, |task| task_tokens(messages, counts, task));
    let freed = goal
        .limit
        .saturating_sub(calls + task + goal.summary_tokens());
    left.max(freed / 2).min(freed.max(10 * MIN_MESSAGE_TOKENS))
}

/// Compacts `messages` as planned; [`shorten_to`] says what `whole` and `count` are. `index` names a file with the topics of what is dropped.
pub(crate) fn apply(
    messages: &mut Vec<Message>,
    plan: CompactionPlan,
    goal: CompactionGoal,
    whole: &str,
    count: &dyn Fn(&Message) -> u64,
    index: impl FnOnce(&[Message]) -> Option<String>,
    // Goes with the summary.
    note: Option<&str>,
) {
    if let Some(cut) = plan.cut {
        let dropped = take_dropped(messages, cut, whole);
        let index = index(&dropped);
        let mut summary = summary(&dropped, goal.summary_bytes(), whole, index.as_deref());
        if let (Message::System { text }, Some(note)) = (&mut summary, note) {
            text.push('\n');
            text.push_str(note);
        }
        insert_summary(messages, summary);
    }
    let open = open_task(messages).and_then(|at| messages.get(at));
    let is_open_small = open.is_none_or(|task| count(task) <= goal.wanted / 2);
    let max = match plan.shortens && is_open_small {
        true => goal.wanted,
        false => goal.limit,
    };
    shorten_to(messages, max, whole, count);
}

/// Removes the messages that a compaction at `cut` drops; the rest begins with the task, clipped to a limit that leaves room for the work. `whole` is the file
/// that has all of it.
fn take_dropped(messages: &mut Vec<Message>, cut: CompactionCut, whole: &str) -> Vec<Message> {
    let is_open = open_task(messages) == Some(cut.task);
    let rest = cut.rest.min(messages.len());
    let mut dropped: Vec<Message> = messages.drain(..rest).collect();
    if cut.task < dropped.len() {
        let mut task = dropped.remove(cut.task);
        if let Message::User(user) = &mut task
            && !is_open
            && let Some(text) = shortened_task(&user.text, MAX_TASK_CHARS, whole)
        {
            user.text = text;
        }
        messages.insert(0, task);
    }
    dropped
}

/// Shortens the longest messages until all of them have at most `max` tokens. The open task stays whole; another one is shortened last. `whole` is the file
/// that has all of it, `count` says how many tokens a message has. True when something was shortened.
pub(crate) fn shorten_to(
    messages: &mut Vec<Message>,
    max: u64,
    whole: &str,
    count: &dyn Fn(&Message) -> u64,
) -> bool {
    let mut changed = false;
    for attempt in 1..=ATTEMPTS {
        let counts: Vec<u64> = messages.iter().map(count).collect();
        if counts.iter().sum::<u64>() <= max {
            return changed;
        }
        let open = open_task(messages);
        let task = messages.iter().position(is_user);
        let mut kept_whole = open.or(task);
        let mut level = water_level(
            &without(&counts, kept_whole),
            left_of(max, &counts, kept_whole),
        );
        if level < MIN_MESSAGE_TOKENS && open.is_none() {
            kept_whole = None;
            level = water_level(&counts, max);
        }
        // A summary is worth less than what it stands beside.
        if level < MIN_MESSAGE_TOKENS
            && let Some(at) = messages.iter().position(is_summary)
        {
            messages.remove(at);
            changed = true;
            continue;
        }
        for (at, message) in messages.iter_mut().enumerate() {
            let tokens = counts.get(at).copied().unwrap_or_default();
            if kept_whole == Some(at) || tokens <= level {
                continue;
            }
            let len = message.len();
            // What a text has on average is not what its part has: each attempt is more careful, and no text has more tokens than bytes.
            let bytes = match attempt {
                ATTEMPTS => level.saturating_sub(MIN_MESSAGE_TOKENS),
                _ => {
                    let share = u128::from(level) * len as u128 / u128::from(tokens.max(1));
                    u64::try_from(share).unwrap_or(u64::MAX) * (ATTEMPTS - attempt + 1)
                        / (ATTEMPTS + 1)
                }
            };
            changed |= shorten(message, usize::try_from(bytes).unwrap_or(usize::MAX), whole);
        }
    }
    changed
}

fn without(counts: &[u64], at: Option<usize>) -> Vec<u64> {
    let all = counts.iter().enumerate();
    all.filter(|(index, _)| Some(*index) != at)
        .map(|(_, count)| *count)
        .collect()
}

fn left_of(max: u64, counts: &[u64], at: Option<usize>) -> u64 {
    let kept = at.and_then(|at| counts.get(at)).copied();
    max.saturating_sub(kept.unwrap_or_default())
}

/// The highest level at which all `sizes`, each cut to it, have at most `room` together: small ones stay whole, large ones share what is left.
pub(crate) fn water_level(sizes: &[u64], room: u64) -> u64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut room = room;
    for (at, size) in sorted.iter().enumerate() {
        let share = room / (sorted.len() - at) as u64;
        if *size > share {
            return share;
        }
        room -= size;
    }
    u64::MAX
}

#[cfg(test)]
mod tests;
