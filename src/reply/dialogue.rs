//! What was said in this conversation: the rows that go to the model again, and those that the diary does not have yet.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::base::redact::{redact, scrub};
use crate::chat::message::Message;
use crate::reply::carry_over::{scrubbed, shortened};
use crate::reply::memory_update::PendingDialogue;
use crate::reply::settings::ReplySettings;
use crate::store::memory::EraseTarget;

/// Groups of calls and results kept.
const MAX_GROUPS: usize = 16;
/// Rows sent, said things and calls together.
const MAX_ROWS: usize = 40;

/// The conversation of one profile. The thread that writes the diary shares it.
#[derive(Debug)]
pub(crate) struct DialogueMemory {
    limits: DialogueLimits,
    rows: Mutex<Rows>,
}

/// What is sent of a conversation, and what is kept for the diary.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DialogueLimits {
    /// Older things are not sent.
    pub window: Duration,
    /// Said things sent.
    pub messages: usize,
    /// Replies whose calls are sent.
    pub groups: usize,
    /// Characters of each row of these.
    pub row_chars: usize,
    /// Rows wait for the diary.
    pub is_remembered: bool,
}

impl From<&ReplySettings> for DialogueLimits {
    fn from(settings: &ReplySettings) -> Self {
        Self {
            window: settings.dialogue_window,
            messages: settings.dialogue_max_messages,
            groups: settings.tool_carryover_max_turns,
            row_chars: settings.tool_carryover_per_entry_chars,
            is_remembered: settings.memory_enabled,
        }
    }
}

/// Rows in the order of their stamps, which strictly increase.
#[derive(Debug, Default)]
struct Rows {
    said: Vec<SaidRow>,
    groups: Vec<ToolGroup>,
    last: Option<Timestamp>,
    /// The diary has every row up to here.
    saved: Option<Timestamp>,
}

#[derive(Debug, Clone)]
struct SaidRow {
    at: Timestamp,
    speaker: Speaker,
    /// It was spoken, or answers what was.
    spoken: bool,
    text: String,
}

/// A message of the user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SaidMessage<'a> {
    pub text: &'a str,
    /// It was heard rather than typed.
    pub spoken: bool,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    User,
    Assistant,
}

/// The calls and results of one reply.
#[derive(Debug, Clone)]
struct ToolGroup {
    at: Timestamp,
    messages: Vec<Message>,
}

impl Rows {
    /// A stamp for a row that is added now, later than all others even when the clock stands still or was put back.
    fn stamp(&mut self, now: Timestamp) -> Timestamp {
        let after = |last: Timestamp| {
            last.checked_add(SignedDuration::from_micros(1))
                .unwrap_or(last)
        };
        let at = self.last.map_or(now, |last| now.max(after(last)));
        self.last = Some(at);
        at
    }

    fn pending(&self) -> impl Iterator<Item = &SaidRow> {
        let is_new = |row: &&SaidRow| self.saved.is_none_or(|saved| row.at > saved);
        self.said.iter().filter(is_new)
    }
}

impl DialogueMemory {
    pub(crate) fn new(limits: DialogueLimits) -> Self {
        Self {
            limits,
            rows: Mutex::default(),
        }
    }

    /// Adds a message of the user; secrets are removed.
    pub(crate) fn add_message(&self, said: &SaidMessage<'_>, now: Timestamp) {
        self.add(Speaker::User, said.spoken, redact(said.text), now);
    }

    /// Adds an answer; secrets are removed.
    pub(crate) fn add_assistant(&self, text: &str, now: Timestamp) {
        let spoken = self.rows().said.last().is_some_and(|row| row.spoken);
        self.add(Speaker::Assistant, spoken, scrub(text), now);
    }

    fn add(&self, speaker: Speaker, spoken: bool, text: String, now: Timestamp) {
        if text.trim().is_empty() {
            return;
        }
        let mut rows = self.rows();
        let at = rows.stamp(now);
        rows.said.push(SaidRow {
            at,
            speaker,
            spoken,
            text,
        });
        self.prune(&mut rows, now);
    }

    /// Adds the calls and results of a reply as one group; secrets are removed.
    pub(crate) fn add_tools(&self, messages: Vec<Message>, now: Timestamp) {
        let messages = scrubbed(messages);
        if messages.is_empty() {
            return;
        }
        let mut rows = self.rows();
        let at = rows.stamp(now);
        rows.groups.push(ToolGroup { at, messages });
        let excess = rows.groups.len().saturating_sub(MAX_GROUPS);
        rows.groups.drain(..excess);
    }

    /// Adds what was said before this process began, and is in the diary already or not.
    pub(crate) fn seed(&self, speaker: Speaker, text: &str, at: Timestamp, is_saved: bool) {
        // The log does not tell what was spoken.
        self.add(speaker, false, redact(text), at);
        let mut rows = self.rows();
        if is_saved {
            rows.saved = rows.last;
        }
    }

    /// Forgets saved rows that are not sent any more. Rows that nothing will save count as saved.
    fn prune(&self, rows: &mut Rows, now: Timestamp) {
        let saved = if self.limits.is_remembered {
            rows.saved
        } else {
            rows.last
        };
        let Some(saved) = saved else { return };
        let begin = self.begin(now);
        let beyond = rows.said.len().saturating_sub(self.limits.messages);
        let mut index = 0;
        rows.said.retain(|row| {
            index += 1;
            row.at > saved || row.at >= begin && index > beyond
        });
    }

    /// The beginning of the window.
    fn begin(&self, now: Timestamp) -> Timestamp {
        let window = SignedDuration::try_from(self.limits.window).unwrap_or(SignedDuration::MAX);
        now.checked_sub(window).unwrap_or(Timestamp::MIN)
    }

    /// Whether something was said inside the window; if not, the next message begins a new conversation.
    pub(crate) fn has_recent(&self, now: Timestamp) -> bool {
        let begin = self.begin(now);
        self.rows().said.last().is_some_and(|row| row.at >= begin)
    }

    /// The messages of this conversation, the oldest first: what was said inside the window, and the calls of the latest replies.
    pub(crate) fn recent(&self, now: Timestamp) -> Vec<Message> {
        let begin = self.begin(now);
        let mut units: Vec<(Timestamp, Vec<Message>)> = Vec::new();
        {
            let rows = self.rows();
            let said = rows.said.iter().filter(|row| row.at >= begin);
            let said: Vec<&SaidRow> = said.collect();
            let from = said.len().saturating_sub(self.limits.messages);
            for row in said.into_iter().skip(from) {
                let message = match row.speaker {
                    Speaker::User => Message::user(row.text.as_str()),
                    Speaker::Assistant => Message::assistant(row.text.as_str()),
                };
                units.push((row.at, vec![message]));
            }
            let from = rows.groups.len().saturating_sub(self.limits.groups);
            for group in rows.groups.iter().skip(from) {
                let messages = shortened(&group.messages, self.limits.row_chars);
                units.extend(rounds(messages).into_iter().map(|round| (group.at, round)));
            }
        }
        units.sort_by_key(|(at, _)| *at);
        let mut room = MAX_ROWS;
        let fits = |(_, messages): &&(Timestamp, Vec<Message>)| {
            let fitting = room.checked_sub(messages.len());
            room = fitting.unwrap_or(0);
            fitting.is_some()
        };
        let count = units.iter().rev().take_while(fits).count();
        let from = units.len() - count;
        units
            .into_iter()
            .skip(from)
            .flat_map(|(_, messages)| messages)
            .collect()
    }

    /// Takes back the last message of the user, if it is `text`, with everything that came after it.
    pub(crate) fn undo(&self, text: &str) {
        let mut rows = self.rows();
        let is_user = |row: &SaidRow| row.speaker == Speaker::User;
        let Some(at) = rows.said.iter().rposition(is_user) else {
            return;
        };
        let begun = rows.said.get(at).filter(|row| row.text == redact(text));
        if let Some(stamp) = begun.map(|row| row.at) {
            rows.said.truncate(at);
            rows.groups.retain(|group| group.at < stamp);
        }
    }

    /// What the diary does not have yet: the first of it, as far as all of that was typed, or all spoken.
    pub(crate) fn pending(&self) -> PendingDialogue {
        let rows = self.rows();
        let mut pending = PendingDialogue::default();
        if !self.limits.is_remembered {
            return pending;
        }
        let mut rows = rows.pending().peekable();
        pending.spoken = rows.peek().is_some_and(|row| row.spoken);
        for row in rows.take_while(|row| row.spoken == pending.spoken) {
            let speaker = match row.speaker {
                Speaker::User => "User",
                Speaker::Assistant => "Assistant",
            };
            pending.rows.push(format!("{speaker}: {}", row.text));
            pending.through = row.at;
        }
        pending
    }

    /// Whether it is time to write the diary: something waits, and either nobody has said anything for as long as the window, or it waits for as long.
    pub(crate) fn is_update_due(&self, now: Timestamp) -> bool {
        let begin = self.begin(now);
        let rows = self.rows();
        let oldest = rows.pending().next().map(|row| row.at);
        self.limits.is_remembered && oldest.is_some_and(|at| at <= begin)
    }

    /// The diary has everything up to `through`.
    pub(crate) fn mark_saved(&self, through: Timestamp, now: Timestamp) {
        let mut rows = self.rows();
        rows.saved = rows.saved.max(Some(through));
        self.prune(&mut rows, now);
    }

    /// Forgets what the user wants to be forgotten: what was said, and the calls of earlier replies, which may repeat it.
    pub(crate) fn forget(&self, target: &EraseTarget) {
        let mut rows = self.rows();
        rows.said.retain(|row| !target.covers(&row.text, row.at));
        if !matches!(target, EraseTarget::Node(_)) {
            rows.groups.clear();
        }
    }

    /// Forgets the calls of earlier replies: the conversation was stopped, or a new one begins.
    pub(crate) fn clear_carry_over(&self) {
        self.rows().groups.clear();
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls with their results, which must not be separated.
fn rounds(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let mut rounds: Vec<Vec<Message>> = Vec::new();
    for message in messages {
        match (&message, rounds.last_mut()) {
            (Message::Tool(_), Some(round)) => round.push(message),
            _ => rounds.push(vec![message]),
        }
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::message::{Assistant, ToolCall, ToolOutput};
    use proptest::prelude::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    impl DialogueMemory {
        fn add_user(&self, text: &str, now: Timestamp) {
            let spoken = false;
            self.add_message(&SaidMessage { text, spoken }, now);
        }
    }

    #[test]
    fn what_was_spoken_waits_apart_from_what_was_typed() {
        let memory = memory();
        let spoken = |text| SaidMessage { text, spoken: true };
        memory.add_user("one", at(0));
        memory.add_assistant("two", at(1));
        memory.add_message(&spoken("three"), at(2));
        memory.add_assistant("four", at(3));
        memory.add_user("five", at(4));
        let mut parts = Vec::new();
        loop {
            let pending = memory.pending();
            if pending.rows.is_empty() {
                break;
            }
            memory.mark_saved(pending.through, at(5));
            parts.push((pending.spoken, pending.rows.join(" ")));
        }
        let want = [
            (false, "User: one Assistant: two"),
            (true, "User: three Assistant: four"),
            (false, "User: five"),
        ];
        assert_eq!(parts, want.map(|(spoken, rows)| (spoken, rows.to_owned())));
    }

    fn memory() -> DialogueMemory {
        DialogueMemory::new((&ReplySettings::default()).into())
    }

    fn round(id: usize, results: usize, chars: usize) -> Vec<Message> {
        let ids = (0..results).map(|n| format!("call_{id}_{n}"));
        let call = |id: String| ToolCall {
            id,
            name: "read_note".into(),
            args: r#"{"path":"a.md"}"#.into(),
            provider_state: None,
        };
        let mut messages = vec![Message::Assistant(Assistant {
            calls: ids.clone().map(call).collect(),
            ..Assistant::default()
        })];
        messages.extend(ids.map(|id| {
            Message::Tool(ToolOutput {
                id,
                name: "read_note".into(),
                text: "x".repeat(chars),
                failed: false,
            })
        }));
        messages
    }

    fn texts(messages: &[Message]) -> Vec<String> {
        let text = |message: &Message| match message {
            Message::User(user) => format!("U {}", user.text),
            Message::Assistant(own) if own.calls.is_empty() => format!("A {}", own.text),
            Message::Assistant(own) => format!("C {}", own.calls.len()),
            Message::Tool(output) => format!("R {}", output.text.chars().count()),
            Message::System { text } => format!("S {text}"),
        };
        messages.iter().map(text).collect()
    }

    #[test]
    fn a_reply_is_sent_again_in_the_order_in_which_it_happened() {
        let memory = memory();
        memory.add_user("read  my note,\nmail ada@example.org", at(0));
        memory.add_tools(round(1, 1, 5), at(0));
        memory.add_assistant("Done.\nSee above.", at(0));
        assert_eq!(
            texts(&memory.recent(at(300))),
            [
                "U read my note, mail [REDACTED_EMAIL]",
                "C 1",
                "R 5",
                "A Done.\nSee above."
            ]
        );
        assert!(memory.has_recent(at(300)) && !memory.has_recent(at(301)));
        // The calls belong to the conversation, not to the window.
        assert_eq!(texts(&memory.recent(at(301))), ["C 1", "R 5"]);
        memory.clear_carry_over();
        assert_eq!(memory.recent(at(301)), []);
        memory.add_tools(Vec::new(), at(302));
        memory.add_assistant(" ", at(302));
        assert!(!memory.has_recent(at(302)));
    }

    #[test]
    fn only_the_latest_groups_are_sent_and_long_rows_are_cut() {
        let memory = memory();
        for reply in 0..20 {
            memory.add_user(&format!("{reply}"), at(reply));
            memory.add_tools(round(1, 1, 3_000), at(reply));
        }
        assert_eq!(memory.rows().groups.len(), MAX_GROUPS);
        let sent = texts(&memory.recent(at(20)));
        let groups: Vec<&String> = sent.iter().filter(|text| text.starts_with('R')).collect();
        assert_eq!(groups, ["R 1201", "R 1201"]);
        assert_eq!(sent.last().unwrap(), "R 1201");
    }

    #[test]
    fn rows_wait_for_the_diary_and_are_forgotten_when_they_are_saved_and_old() {
        let memory = memory();
        memory.add_user("one", at(0));
        memory.add_assistant("two", at(1));
        assert!(!memory.is_update_due(at(299)) && memory.is_update_due(at(300)));
        let pending = memory.pending();
        assert_eq!(pending.rows, ["User: one", "Assistant: two"]);
        memory.add_user("three", at(400));
        memory.mark_saved(pending.through, at(400));
        assert_eq!(memory.pending().rows, ["User: three"]);
        assert_eq!(memory.rows().said.len(), 1);
        // A later mark never brings rows back.
        memory.mark_saved(at(0), at(400));
        assert_eq!(memory.pending().rows, ["User: three"]);
        memory.mark_saved(memory.pending().through, at(401));
        assert_eq!(memory.pending(), PendingDialogue::default());
        assert!(memory.has_recent(at(401)) && !memory.is_update_due(at(9_000)));
    }

    #[test]
    fn what_was_said_before_the_start_is_sent_but_not_saved_twice() {
        let memory = memory();
        memory.seed(Speaker::User, "one", at(0), true);
        memory.seed(Speaker::Assistant, "two", at(0), false);
        assert_eq!(texts(&memory.recent(at(1))), ["U one", "A two"]);
        assert_eq!(memory.pending().rows, ["Assistant: two"]);
    }

    #[test]
    fn what_is_forgotten_is_neither_sent_nor_written() {
        let memory = memory();
        memory.add_user("my kayak is red", at(0));
        memory.add_tools(round(1, 1, 10), at(0));
        memory.add_assistant("Noted.", at(1));
        memory.forget(&EraseTarget::Node("user".to_owned()));
        assert_eq!(
            (memory.pending().rows.len(), memory.recent(at(1)).len()),
            (2, 4)
        );
        memory.forget(&EraseTarget::Word("KAYAK".to_owned()));
        assert_eq!(memory.pending().rows, ["Assistant: Noted."]);
        assert_eq!(texts(&memory.recent(at(1))), ["A Noted."]);
        memory.forget(&EraseTarget::All);
        assert!(memory.pending().rows.is_empty());
    }

    #[test]
    fn memory_stays_small_when_nothing_is_remembered() {
        let limits = DialogueLimits {
            is_remembered: false,
            ..(&ReplySettings::default()).into()
        };
        let memory = DialogueMemory::new(limits);
        for n in 0..2_000 {
            memory.add_user(&n.to_string(), at(0));
        }
        assert_eq!(memory.rows().said.len(), 20);
        assert_eq!(memory.recent(at(0)).len(), 20);
    }

    #[derive(Debug, Clone)]
    enum Step {
        User,
        Assistant,
        Tools(usize, usize),
        Save,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => Just(Step::User),
            3 => Just(Step::Assistant),
            2 => (1usize..4, 1usize..7).prop_map(|(rounds, results)| Step::Tools(rounds, results)),
            1 => Just(Step::Save),
        ]
    }

    #[test]
    fn the_last_exchange_can_be_taken_back() {
        let dialogue = DialogueMemory::new(DialogueLimits::from(&ReplySettings::default()));
        let now = Timestamp::from_second(1_000_000).unwrap();
        dialogue.add_user("one", now);
        dialogue.add_assistant("Eins.", now);
        let before = dialogue.recent(now);
        dialogue.add_user("two  mail ada@example.org", now);
        dialogue.add_assistant("Zwei.", now);
        dialogue.undo("something else");
        assert_eq!(dialogue.recent(now).len(), 4);
        dialogue.undo("two mail ada@example.org");
        assert_eq!(dialogue.recent(now), before);
        dialogue.undo("one");
        dialogue.undo("one");
        assert!(dialogue.recent(now).is_empty() && dialogue.pending().rows.is_empty());
    }

    proptest! {
        /// The clock may stand still and jump in both directions.
        #[test]
        fn stamps_increase_caps_hold_and_pairs_stay_together(
            steps in proptest::collection::vec((step(), -400i64..400), 0..60),
        ) {
            let memory = memory();
            let (mut clock, mut said, mut saved) = (0, Vec::new(), Vec::new());
            for (index, (step, jump)) in steps.into_iter().enumerate() {
                clock += jump;
                let now = at(clock);
                match step {
                    Step::User => {
                        said.push(format!("User: {index}"));
                        memory.add_user(&index.to_string(), now);
                    }
                    Step::Assistant => {
                        said.push(format!("Assistant: {index}"));
                        memory.add_assistant(&index.to_string(), now);
                    }
                    Step::Tools(rounds, results) => {
                        let group = (0..rounds).flat_map(|n| round(index * 10 + n, results, 2_000));
                        memory.add_tools(group.collect(), now);
                    }
                    Step::Save => {
                        let pending = memory.pending();
                        memory.mark_saved(pending.through, now);
                        saved.extend(pending.rows);
                    }
                }
                let stamps: Vec<Timestamp> = memory.rows().said.iter().map(|row| row.at).collect();
                prop_assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]));
                let sent = memory.recent(now);
                prop_assert!(sent.len() <= MAX_ROWS);
                let is_said = |message: &&Message| match message {
                    Message::User(_) => true,
                    Message::Assistant(own) => own.calls.is_empty(),
                    _ => false,
                };
                prop_assert!(sent.iter().filter(is_said).count() <= 20);
                let mut open: Vec<String> = Vec::new();
                for message in &sent {
                    match message {
                        Message::Tool(output) => {
                            prop_assert_eq!(open.first(), Some(&output.id));
                            open.remove(0);
                        }
                        other => {
                            prop_assert!(open.is_empty());
                            if let Message::Assistant(own) = other {
                                open = own.calls.iter().map(|call| call.id.clone()).collect();
                            }
                        }
                    }
                }
                prop_assert!(open.is_empty());
            }
            saved.extend(memory.pending().rows);
            prop_assert_eq!(saved, said, "every row reaches the diary once");
        }
    }
}
