//! Finds numbers of payment cards: 13 to 19 digits, also in groups.

use std::borrow::Cow;
use std::ops::Range;

/// How many digits a card's number has (ISO/IEC 7812).
const DIGITS: Range<usize> = 13..20;

/// Digits side by side.
#[derive(Clone, Copy)]
struct Group {
    start: usize,
    end: usize,
}

impl Group {
    const fn len(self) -> usize {
        self.end - self.start
    }

    fn number(self, text: &str) -> Option<u32> {
        text.get(self.start..self.end)?.parse().ok()
    }
}

/// `text` with `label` in place of every card number.
///
/// Groups of digits that are separated by one space or hyphen are read together. Where they could be a card in more than one way, all of them go: better
/// a number too many than the last digits of a card.
pub(super) fn without_cards<'a>(text: &'a str, label: &str) -> Cow<'a, str> {
    let mut out = String::new();
    let mut from = 0;
    let mut run = Vec::new();
    let mut at = 0;
    loop {
        let group = next_group(text, at);
        let continues = match (group, run.last()) {
            (Some(group), Some(Group { end, .. })) => {
                group.start == end + 1
                    && matches!(text.as_bytes().get(*end), Some(b' ' | b'-'))
                    && is_word(text, group)
            }
            _ => false,
        };
        if !continues {
            for span in cards_in(text, &run) {
                out.push_str(text.get(from..span.start).unwrap_or_default());
                out.push_str(label);
                from = span.end;
            }
            run.clear();
        }
        let Some(group) = group else { break };
        if is_word(text, group) {
            run.push(group);
        }
        at = group.end;
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

fn next_group(text: &str, from: usize) -> Option<Group> {
    let bytes = text.as_bytes().get(from..)?;
    let start = from + bytes.iter().position(u8::is_ascii_digit)?;
    let digits = text.as_bytes().get(start..)?.iter();
    Some(Group {
        start,
        end: start + digits.take_while(|b| b.is_ascii_digit()).count(),
    })
}

/// True when no letter touches the group. Letters of other scripts do not count: languages without spaces write right up to a number.
fn is_word(text: &str, group: Group) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.as_bytes().get(at)).copied();
    let is_letter = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    let before = group.start.checked_sub(1);
    // The decimals of a long number.
    let is_fraction = byte(before) == Some(b'.')
        && byte(group.start.checked_sub(2)).is_some_and(|b| b.is_ascii_digit())
        && group.len() >= DIGITS.start;
    !byte(before).is_some_and(is_letter)
        && !byte(Some(group.end)).is_some_and(is_letter)
        && !is_fraction
}

/// Where the cards are in groups that are written together.
fn cards_in(text: &str, run: &[Group]) -> Vec<Range<usize>> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut rest = run;
    while let Some((first, others)) = rest.split_first() {
        if let Some(after) = after_date(text, rest) {
            rest = after;
            continue;
        }
        let mut digits = 0;
        let mut tail = rest;
        let mut end = None;
        while let Some((group, more)) = tail.split_first()
            && after_date(text, tail).is_none()
        {
            digits += group.len();
            if DIGITS.contains(&digits) {
                end = Some(group.end);
            }
            if digits >= DIGITS.end {
                break;
            }
            tail = more;
        }
        match (end, spans.last_mut()) {
            (Some(end), Some(last)) if first.start < last.end => last.end = last.end.max(end),
            (Some(end), _) => spans.push(first.start..end),
            (None, _) => {}
        }
        rest = others;
    }
    spans
}

/// What follows a date at the beginning of the groups: 2026-11-22 or 22-11-2026.
fn after_date<'a>(text: &str, groups: &'a [Group]) -> Option<&'a [Group]> {
    let [a, b, c, rest @ ..] = groups else {
        return None;
    };
    let hyphens = [a, b].map(|group| text.as_bytes().get(group.end)) == [Some(&b'-'); 2];
    let (year, day) = match (a.len(), b.len(), c.len()) {
        (4, 2, 2) => (a, c),
        (2, 2, 4) => (c, a),
        _ => return None,
    };
    let within = |group: &Group, range: Range<u32>| {
        group
            .number(text)
            .is_some_and(|number| range.contains(&number))
    };
    (hyphens && within(year, 1900..2101) && within(b, 1..13) && within(day, 1..32)).then_some(rest)
}
