//! Finds numbers of payment cards: the prefix and length of a network (ISO/IEC 7812), a valid check digit, and digits that are written as cards are.

use std::ops::Range;

use super::hit::Hit;

pub(super) const CARD: &str = "[REDACTED_CARD]";
/// How many digits a card's number has (ISO/IEC 7812).
const DIGITS: Range<usize> = 13..20;

/// The longest number of a bank account (ISO 13616), in groups.
const MAX_IBAN_BYTES: usize = 42;

/// Digits side by side.
#[derive(Clone, Copy)]
struct DigitGroup {
    start: usize,
    end: usize,
}

impl DigitGroup {
    const fn len(self) -> usize {
        self.end - self.start
    }

    fn digits(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The card numbers in `text`. Groups of digits that one space, hyphen or dot separates are read together.
pub(super) fn cards(text: &str) -> Vec<Hit> {
    let mut found = Vec::new();
    let mut run: Vec<DigitGroup> = Vec::new();
    let mut at = 0;
    loop {
        let group = next_group(text, at);
        let continues = match (group, run.last()) {
            (Some(group), Some(last)) => {
                is_separator(text.get(last.end..group.start)) && is_word(text, group)
            }
            _ => false,
        };
        if !continues {
            cards_in(text, &run, &mut found);
            run.clear();
        }
        let Some(group) = group else { break };
        if is_word(text, group) {
            run.push(group);
        }
        at = group.end;
    }
    found
}

fn is_separator(between: Option<&str>) -> bool {
    // The last three do not break a line: no-break space, its narrow form, figure space; and the hyphen that does not break one.
    matches!(
        between,
        Some(" " | "-" | "." | "\u{a0}" | "\u{202f}" | "\u{2007}" | "\u{2011}")
    )
}

fn next_group(text: &str, from: usize) -> Option<DigitGroup> {
    let bytes = text.as_bytes().get(from..)?;
    let start = from + bytes.iter().position(u8::is_ascii_digit)?;
    let digits = text.as_bytes().get(start..)?.iter();
    Some(DigitGroup {
        start,
        end: start + digits.take_while(|b| b.is_ascii_digit()).count(),
    })
}

/// True when no letter touches the group. Letters of other scripts do not count: languages without spaces write right up to a number.
fn is_word(text: &str, group: DigitGroup) -> bool {
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

/// Finds the cards in groups that are written together.
fn cards_in(text: &str, run: &[DigitGroup], found: &mut Vec<Hit>) {
    let mut cards = Vec::new();
    let mut rest = run;
    while let Some((first, others)) = rest.split_first() {
        match card_at(text, rest, rest.len() == run.len()) {
            Some(groups) => {
                let (card, after) = rest.split_at(groups);
                let end = card.last().map_or(first.end, |last| last.end);
                cards.push(Hit::whole(first.start..end, CARD));
                rest = after;
            }
            None => rest = others,
        }
    }
    let start = run.first().map_or(0, |first| first.start);
    if !cards.is_empty() && !follows_iban(text, start) {
        found.append(&mut cards);
    }
}

/// How many of the first groups are a card; the most, if there is a choice.
fn card_at(text: &str, groups: &[DigitGroup], is_start: bool) -> Option<usize> {
    let mut number = String::new();
    let mut card = None;
    for (index, group) in groups.iter().enumerate() {
        number.push_str(group.digits(text));
        if number.len() >= DIGITS.end {
            break;
        }
        let count = index + 1;
        let taken = groups.get(..count).unwrap_or_default();
        let is_all = is_start && count == groups.len();
        if DIGITS.contains(&number.len())
            && is_written_as_card(taken, is_all)
            && is_of_network(&number)
            && has_check_digit(&number)
        {
            card = Some(count);
        }
    }
    card
}

/// One group, groups of four (American Express and Diners Club print 4-6-5 and 4-6-4), or groups of another size where nothing else stands beside them: lists
/// of numbers have valid check digits too, by chance.
fn is_written_as_card(groups: &[DigitGroup], is_all: bool) -> bool {
    let lens: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let Some((last, others)) = lens.split_last() else {
        return false;
    };
    let is_even = |size: usize| others.iter().all(|len| *len == size) && *last <= size;
    match others {
        [] => true,
        [4, 6] => matches!(last, 4 | 5) || is_all,
        [4, ..] if is_even(4) => true,
        // Maestro and UnionPay.
        [6] => *last >= 7,
        [first @ (1 | 2 | 3 | 5 | 8), ..] => is_all && is_even(*first),
        _ => false,
    }
}

/// Whether a card network gives out numbers with this prefix and length.
fn is_of_network(number: &str) -> bool {
    let prefix = |len: usize| {
        number
            .get(..len)
            .and_then(|start| start.parse::<u32>().ok())
    };
    let (Some(two), Some(three), Some(four)) = (prefix(2), prefix(3), prefix(4)) else {
        return false;
    };
    match number.len() {
        // UATP.
        15 if number.starts_with('1') => true,
        // American Express.
        15 if matches!(two, 34 | 37) => true,
        // Visa.
        13 | 16 | 18 | 19 if number.starts_with('4') => true,
        // Mastercard.
        16 if matches!(two, 51..=55) || matches!(four, 2221..=2720) => true,
        // Diners Club.
        14..=19 if matches!(three, 300..=305 | 309) || matches!(two, 36 | 38 | 39) => true,
        // JCB, Mir and Borica, Troy, RuPay and UnionPay, UzCard and Humo.
        16..=19 if matches!(four, 3528..=3589 | 2200..=2205 | 8100..=8299) => true,
        16 if matches!(four, 9792 | 8600 | 9860) => true,
        // Maestro, BankCard, Dankort, Verve.
        13..=19 if matches!(two, 50 | 56..=58) => true,
        // Discover, UnionPay, Maestro, RuPay.
        13..=19 if number.starts_with('6') => true,
        _ => false,
    }
}

/// The algorithm of ISO/IEC 7812-1, annex B (Luhn).
pub(super) fn has_check_digit(number: &str) -> bool {
    let digits = number.bytes().rev().map(|byte| u32::from(byte - b'0'));
    let sum: u32 = digits
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit @ 0..=4) => 2 * digit,
            (_, digit) => 2 * digit - 9,
        })
        .sum();
    sum.is_multiple_of(10) && number.bytes().any(|byte| byte != b'0')
}

/// True when the digits from `start` on are the rest of a bank account's number (ISO 13616): two letters, two check digits, and groups.
fn follows_iban(text: &str, start: usize) -> bool {
    let mut from = start.saturating_sub(MAX_IBAN_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    // Its letters are in the first groups.
    text.get(from..start)
        .unwrap_or_default()
        .rsplit(['\n', '\t'])
        .next()
        .unwrap_or_default()
        .split([' ', '\u{a0}'])
        .rev()
        .skip_while(|word| word.is_empty())
        .take(4)
        .take_while(|word| {
            word.len() <= 4 && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
        .any(|word| {
            matches!(word.as_bytes(), [a, b, c, d]
                if a.is_ascii_uppercase() && b.is_ascii_uppercase() && c.is_ascii_digit() && d.is_ascii_digit())
        })
}
