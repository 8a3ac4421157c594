//! Shortens a message: its beginning and its end stay, and between them is said what is missing and which file has the whole.

use serde_json::Value;

use super::image::text_bytes;
use super::message::{Assistant, Message, User};
use crate::base::text::{clip, head, tail, thousands};

/// The beginning of what stands in place of the missing part.
const CUT: &str = "[Cut: ";
/// The divisor for the part kept from the end, where totals and errors are.
const TAIL_SHARE: usize = 8;
/// Bytes below which there is room for the beginning alone.
const MIN_BYTES: usize = 120;

/// The beginning and the end of `text`, about `bytes` of it, with a mark between them; `None` when it is short enough. `whole` names the file that has all of
/// it; empty for none.
pub(crate) fn shortened(text: &str, bytes: usize, whole: &str) -> Option<String> {
    if text.len() <= bytes {
        return None;
    }
    let place = match whole {
        "" => String::new(),
        whole => format!("; the whole is in {whole}"),
    };
    let mark = |left_out: usize| {
        let count = |bytes: usize| thousands(u64::try_from(bytes).unwrap_or(u64::MAX));
        let (left_out, all) = (count(left_out), count(text.len()));
        format!("\n{CUT}{left_out} of {all} bytes are left out here{place}.]\n")
    };
    let room = bytes.saturating_sub(mark(text.len()).len());
    if room < MIN_BYTES {
        return Some(format!(
            "{}…{CUT}{}]",
            head(text, room),
            place.trim_start_matches("; ")
        ));
    }
    let end = tail(text, room / TAIL_SHARE);
    let begin = head(text, room - end.len());
    let mark = mark(text.len() - begin.len() - end.len());
    Some(format!("{begin}{mark}{end}"))
}

/// The first `chars` of the task with a mark; `None` when it has no more, or was cut there before.
pub(crate) fn shortened_task(text: &str, chars: usize, whole: &str) -> Option<String> {
    let (at, _) = text.char_indices().nth(chars)?;
    let (kept, rest) = text.split_at_checked(at)?;
    let is_mark = |rest: &str| rest.starts_with(CUT) && rest.ends_with(']') && !rest.contains('\n');
    if rest.strip_prefix('\n').is_some_and(is_mark) {
        return None;
    }
    Some(format!(
        "{kept}\n{CUT}the rest of this message is left out here; the whole is in {whole}.]"
    ))
}

/// Shortens `message` to about `bytes`. True when that changed it.
pub(crate) fn shorten(message: &mut Message, bytes: usize, whole: &str) -> bool {
    match message {
        Message::System { text } => replace(text, bytes, whole),
        Message::Tool(output) => {
            let bytes = bytes.saturating_sub(output.name.len());
            let images = text_bytes(&output.images);
            let changed = images > 0 && images >= bytes / 2;
            if changed {
                output.images.clear();
            }
            let left = bytes.saturating_sub(if changed { 0 } else { images });
            replace(&mut output.text, left, whole) || changed
        }
        Message::User(user) => shorten_user(user, bytes, whole),
        Message::Assistant(assistant) => shorten_assistant(assistant, bytes, whole),
    }
}

fn replace(text: &mut String, bytes: usize, whole: &str) -> bool {
    match shortened(text, bytes, whole) {
        // A text shorter than the mark gains nothing.
        Some(short) if short.len() < text.len() => {
            *text = short;
            true
        }
        _ => false,
    }
}

/// Images cannot be shortened: a marker takes the place of those for which there is no room.
fn shorten_user(user: &mut User, bytes: usize, whole: &str) -> bool {
    let mut changed = false;
    let images = text_bytes(&user.images);
    if images > 0 && images >= bytes / 2 {
        user.text = user.text_and_markers().into_owned();
        user.images.clear();
        changed = true;
    }
    let left = bytes.saturating_sub(if changed { 0 } else { images });
    replace(&mut user.text, left, whole) || changed
}

fn shorten_assistant(assistant: &mut Assistant, bytes: usize, whole: &str) -> bool {
    let mut changed = false;
    let state = |assistant: &Assistant| {
        let state = assistant.provider_state.as_ref();
        state.map_or(0, |state| state.json.len())
    };
    // It goes back unchanged or not at all.
    if state(assistant) > bytes / 2 {
        assistant.provider_state = None;
        changed = true;
    }
    let left = bytes.saturating_sub(state(assistant));
    let args = |assistant: &Assistant| -> usize {
        let lens = assistant
            .calls
            .iter()
            .map(|call| call.name.len() + call.args.len());
        lens.sum()
    };
    let all = assistant.text.len() + args(assistant);
    if all <= left {
        return changed;
    }
    let share = |len: usize| {
        let share = len as u128 * left as u128 / all.max(1) as u128;
        usize::try_from(share).unwrap_or(usize::MAX)
    };
    for call in &mut assistant.calls {
        let max = share(call.args.len());
        if call.args.len() > max.max(2)
            && let Some(args) = shortened_arguments(&call.args, max, whole)
        {
            call.args = args;
            changed = true;
        }
    }
    let text = share(assistant.text.len());
    replace(&mut assistant.text, text, whole) || changed
}

/// Arguments with their long texts shortened until they have about `bytes`; still JSON. `None` when that gains nothing.
fn shortened_arguments(args: &str, bytes: usize, whole: &str) -> Option<String> {
    let value: Value = serde_json::from_str(args).ok()?;
    let mut max = bytes;
    while max >= 16 {
        let short = with_short_texts(&value, max, whole).to_string();
        if short.len() <= bytes {
            return Some(short);
        }
        max /= 2;
    }
    // Too many parts to shorten each of them.
    (args.len() > 2).then(|| "{}".to_owned())
}

fn with_short_texts(value: &Value, max: usize, whole: &str) -> Value {
    match value {
        Value::String(text) if text.len() > max => {
            Value::String(match shortened(text, max, whole) {
                Some(short) if short.len() < text.len() => short,
                _ => clip(text, max / 4),
            })
        }
        Value::Array(items) => {
            let items = items.iter().map(|item| with_short_texts(item, max, whole));
            Value::Array(items.collect())
        }
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(name, value)| (name.clone(), with_short_texts(value, max, whole)));
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}
