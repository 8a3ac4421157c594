//! Whether memory has to be searched, or the conversation has what a follow-up needs.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::base::words::{is_unspaced, runs};

/// English words that say nothing about a topic.
const STOP_WORDS: &str = "a an the this that these those and or but nor so yet if then than because while although though unless until since \
am is are was were be been being do does did doing done have has had having can could may might must shall should will would ought \
about above across after against along among around as at before behind below beneath beside between beyond by down during except for from in inside into \
like near of off on onto out outside over past per through throughout to toward towards under up upon via with within without \
who whom whose what which when where why how \
i me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us our ours ourselves they them their theirs themselves one ones \
find finds found get gets got getting give gives gave given know knows knew known need needs needed show shows showed shown tell tells told think thinks thought \
want wants wanted please let lets make makes say says said see look \
again all also always any anything both each either else enough even ever every everything few here just less many maybe more most much neither never no none not \
nothing now often only other others perhaps quite rather really same several some something soon still such there too very well \
don doesn didn isn aren wasn weren won wouldn couldn shouldn hasn haven hadn ain ll ve re";

static STOP_SET: LazyLock<HashSet<&str>> =
    LazyLock::new(|| STOP_WORDS.split_whitespace().collect());

/// True unless this conversation has looked something up and speaks of at least half of what is asked.
pub(crate) fn needs_recall<S: AsRef<str>>(
    query: &str,
    texts: impl IntoIterator<Item = S>,
    has_tool_rows: bool,
) -> bool {
    if !has_tool_rows {
        return true;
    }
    let asked = content_words(query);
    let mut missing = asked.clone();
    for text in texts {
        if missing.is_empty() {
            break;
        }
        for word in content_words(text.as_ref()) {
            missing.remove(&word);
        }
    }
    let covered = asked.len() - missing.len();
    asked.is_empty() || covered * 2 < asked.len()
}

/// The words of a text that tell its topic.
pub(crate) fn content_words(text: &str) -> HashSet<String> {
    runs(text).filter(|word| is_content(word)).collect()
}

fn is_content(word: &str) -> bool {
    let len = word.chars().count();
    if word.starts_with(is_unspaced) {
        return len >= 2;
    }
    len >= 3 && !word.chars().all(char::is_numeric) && !STOP_SET.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn memory_is_left_alone_when_the_conversation_covers_the_question() {
        let harbour = ["Lighthouse of Thurso: built in 1862 by David Stevenson."];
        for (query, texts, has_tool_rows, want) in [
            ("Who built the lighthouse?", &harbour[..], true, false),
            ("Who built the lighthouse?", &harbour, false, true),
            ("Who built the lighthouse?", &[], true, true),
            (
                "When does the ferry to Thurso leave the pier tomorrow?",
                &harbour,
                true,
                true,
            ),
            // Numbers and words without a topic are no content.
            ("1862", &harbour, true, true),
            ("what about it?", &harbour, true, true),
            ("", &harbour, true, true),
            ("маяк Турсо", &["Маяк стоит в Турсо"], true, false),
            ("東京の天気", &["東京の天気は晴れ"], true, false),
            ("서울 날씨", &["서울의 날씨는 맑음"], true, false),
            ("大阪の歴史", &["東京の天気は晴れ"], true, true),
        ] {
            assert_eq!(needs_recall(query, texts, has_tool_rows), want, "{query}");
        }
    }

    proptest! {
        #[test]
        fn a_question_covers_itself(query in "\\PC{0,40}") {
            let has_content = !content_words(&query).is_empty();
            prop_assert_eq!(needs_recall(&query, [&query], true), !has_content);
        }
    }
}
