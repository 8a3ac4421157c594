//! The answer when there is none: the turns are used up, the model said nothing twice, or it failed. What was found is told, with the caveat that
//! the request was not finished.

use super::activity;
use crate::base::text::clip;
use crate::chat::message::Message;
use crate::reply::answer::guard;
use crate::reply::answer::notes;
use crate::reply::models::stage::{Stage, StageModel, StageRequest};
use crate::reply::settings::ReplySettings;

const DUTIES: &str = include_str!("../../prompts/reply/loop_digest.md");
const MAX_DIGEST_CHARS: usize = 800;

/// What the rows of a reply to `query` show, in a few sentences; `None` when nothing happened or the model fails.
pub(crate) fn digest(
    model: &dyn StageModel,
    settings: &ReplySettings,
    query: &str,
    rows: &[Message],
) -> Option<String> {
    let log = activity::log(rows);
    if log.is_empty() {
        return None;
    }
    let request = StageRequest {
        stage: Stage::LoopDigest,
        system: DUTIES.trim_end(),
        user: &format!("REQUEST\n{query}\n\nLOG\n{log}"),
        limit: settings.digest_limit,
    };
    let answer = model.ask(&request).ok()?;
    // Before the fence goes: what is in it may be a call.
    let answer = Some(answer).filter(|answer| !guard::is_malformed(answer.trim()))?;
    // A digest of nothing is none.
    let text = clean(&notes::kept(&answer, usize::MAX)?);
    (!text.is_empty()).then_some(text)
}

/// Without fences, surrounding quotes and dashes that small models overuse; cut to its limit.
fn clean(text: &str) -> String {
    let text = notes::unquoted(notes::unfenced(text.trim()));
    let mut out = String::with_capacity(text.len());
    for (index, part) in text.split('—').enumerate() {
        if index == 0 {
            out.push_str(part);
        } else {
            out.truncate(out.trim_end().len());
            out.push_str(", ");
            out.push_str(part.trim_start());
        }
    }
    clip(out.trim(), MAX_DIGEST_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_quotes_and_dashes_go() {
        for (text, expected) in [
            (
                "I could not finish — note a says Kestrel.",
                "I could not finish, note a says Kestrel.",
            ),
            ("```\n\"Not done—sorry.\"\n```", "Not done, sorry."),
            ("“Nicht fertig.”", "Nicht fertig."),
            ("  \n", ""),
            ("\"", "\""),
        ] {
            assert_eq!(clean(text), expected);
        }
        let long = clean(&"x".repeat(2_000));
        assert_eq!(long.chars().count(), MAX_DIGEST_CHARS + 1);
        assert!(long.ends_with('…'));
    }
}
