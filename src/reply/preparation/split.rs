//! Questions of two parts, cut in two at the conjunction.

/// A language's conjunctions, and how they stand between two parts.
struct Conjunctions {
    /// ISO 639-1.
    language: &'static str,
    words: &'static [&'static str],
    spacing: Spacing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    /// White space on both sides.
    Required,
    /// The language has no spaces, or need not have them here, and short words.
    None,
}

const fn spaced(language: &'static str, words: &'static [&'static str]) -> Conjunctions {
    Conjunctions {
        language,
        words,
        spacing: Spacing::Required,
    }
}

const fn unspaced(language: &'static str, words: &'static [&'static str]) -> Conjunctions {
    Conjunctions {
        language,
        words,
        spacing: Spacing::None,
    }
}

/// Arabic and Hebrew write theirs as a part of the next word; in Thai, Khmer and Lao no space tells where a word ends; particles that also join two nouns
/// would cut in the wrong place.
const CONJUNCTIONS: &[Conjunctions] = &[
    spaced("en", &["and"]),
    spaced("es", &["y", "e"]),
    spaced("fr", &["et"]),
    spaced("de", &["und"]),
    spaced("pt", &["e"]),
    spaced("it", &["e", "ed"]),
    spaced("nl", &["en"]),
    spaced("sv", &["och"]),
    spaced("no", &["og"]),
    spaced("da", &["og"]),
    spaced("fi", &["ja", "sekä"]),
    spaced("ru", &["и", "а также"]),
    spaced("uk", &["і", "та", "й"]),
    spaced("be", &["і", "ды"]),
    spaced("pl", &["i", "oraz"]),
    spaced("cs", &["a", "i"]),
    spaced("sk", &["a", "i"]),
    spaced("bg", &["и"]),
    spaced("sr", &["и", "i"]),
    spaced("hr", &["i"]),
    spaced("sl", &["in"]),
    spaced("el", &["και", "κι"]),
    spaced("tr", &["ve"]),
    spaced("hu", &["és", "meg"]),
    spaced("ro", &["și", "şi"]),
    spaced("vi", &["và"]),
    spaced("id", &["dan"]),
    spaced("ms", &["dan"]),
    spaced("hi", &["और", "तथा"]),
    unspaced("zh", &["以及", "并且", "和", "与"]),
    unspaced("ja", &["そして", "および", "また", "かつ"]),
    unspaced("ko", &["그리고", "및"]),
];

/// Characters that a part has at least.
const MIN_CHARS: usize = 9;
/// The same where a character is a syllable or a word.
const MIN_CHARS_UNSPACED: usize = 4;

/// The two parts of `text` around its first conjunction. `None` when it has none, or when a part is too short to be a question.
///
/// `language` is a language tag (`en-GB`); anything else counts as English.
pub(crate) fn compound(text: &str, language: Option<&str>) -> Option<[String; 2]> {
    let language = language.map_or_else(|| "en".to_owned(), primary);
    let row = CONJUNCTIONS.iter().find(|row| row.language == language)?;
    let text = text.trim();
    let (start, end, min) = match row.spacing {
        Spacing::Required => {
            let (start, end) = first_word(text, row.words)?;
            (start, end, MIN_CHARS)
        }
        Spacing::None => {
            let (start, end) = first_match(text, row.words)?;
            (start, end, MIN_CHARS_UNSPACED)
        }
    };
    let parts = [text.get(..start)?, text.get(end..)?].map(str::trim);
    let long_enough = |part: &str| part.chars().nth(min - 1).is_some();
    parts
        .iter()
        .all(|part| long_enough(part))
        .then(|| parts.map(str::to_owned))
}

/// The language of a tag: its first part, if it has two letters.
fn primary(tag: &str) -> String {
    let first = tag.trim().split(['-', '_', '.']).next().unwrap_or_default();
    if first.len() == 2 && first.bytes().all(|b| b.is_ascii_alphabetic()) {
        first.to_ascii_lowercase()
    } else {
        "en".to_owned()
    }
}

/// The first conjunction between two words.
fn first_word(text: &str, conjunctions: &[&str]) -> Option<(usize, usize)> {
    let mut at = 0;
    let mut words = text.split_whitespace().map(|word| {
        // Words follow each other, so each search is short.
        let start = at
            + text
                .get(at..)
                .and_then(|rest| rest.find(word))
                .unwrap_or_default();
        at = start + word.len();
        (start, at, word)
    });
    words.next()?;
    let mut words = words.peekable();
    while let Some((start, mut end, word)) = words.next() {
        for conjunction in conjunctions {
            let mut parts = conjunction.split(' ');
            if !parts.next().is_some_and(|part| same(part, word)) {
                continue;
            }
            match (parts.next(), words.peek()) {
                (None, Some(_)) => return Some((start, end)),
                (Some(second), Some((_, second_end, next))) if same(second, next) => {
                    end = *second_end;
                    return Some((start, end));
                }
                _ => {}
            }
        }
    }
    None
}

/// Equal without case.
fn same(conjunction: &str, word: &str) -> bool {
    word.len() <= 2 * conjunction.len() && word.to_lowercase() == conjunction
}

/// The first conjunction anywhere; of several at one place the one listed first.
fn first_match(text: &str, conjunctions: &[&str]) -> Option<(usize, usize)> {
    let found = conjunctions
        .iter()
        .filter_map(|word| Some((text.find(word)?, word.len())));
    let (start, len) = found.min_by_key(|(start, _)| *start)?;
    Some((start, start + len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_questions_are_cut_at_the_conjunction() {
        for (language, text, want) in [
            (
                Some("en"),
                "who built the mill AND when did it close",
                ["who built the mill", "when did it close"],
            ),
            (
                None,
                " how tall is the mill and\nwho owns it now ",
                ["how tall is the mill", "who owns it now"],
            ),
            (
                Some("EN_us"),
                "and how tall is it and who owns it",
                ["and how tall is it", "who owns it"],
            ),
            (
                Some("english"),
                "how tall is it now and who owns it",
                ["how tall is it now", "who owns it"],
            ),
            (
                Some("fr"),
                "qui a construit le moulin et quand a-t-il fermé",
                ["qui a construit le moulin", "quand a-t-il fermé"],
            ),
            (
                Some("es"),
                "quién construyó el molino y cuándo cerró",
                ["quién construyó el molino", "cuándo cerró"],
            ),
            (
                Some("ru"),
                "какая высота у башни, а также кто её построил",
                ["какая высота у башни,", "кто её построил"],
            ),
            (
                Some("el"),
                "ποιος έχτισε τον μύλο ΚΑΙ πότε έκλεισε",
                ["ποιος έχτισε τον μύλο", "πότε έκλεισε"],
            ),
            (
                Some("hi"),
                "मिल किसने बनाई और वह कब बंद हुई",
                ["मिल किसने बनाई", "वह कब बंद हुई"],
            ),
            (
                Some("tr"),
                "değirmeni kim yaptı VE ne zaman kapandı",
                ["değirmeni kim yaptı", "ne zaman kapandı"],
            ),
            (
                Some("zh-Hans"),
                "磨坊的高度以及它的主人",
                ["磨坊的高度", "它的主人"],
            ),
            (
                Some("ja"),
                "水車の高さそして持ち主の名前",
                ["水車の高さ", "持ち主の名前"],
            ),
            (
                Some("ko"),
                "방앗간의 높이및 주인의 이름",
                ["방앗간의 높이", "주인의 이름"],
            ),
        ] {
            assert_eq!(
                compound(text, language),
                Some(want.map(str::to_owned)),
                "{text}"
            );
        }
    }

    #[test]
    fn one_question_stays_whole() {
        for (language, text) in [
            (Some("en"), "bread and butter pudding"),
            (Some("en"), "the sandcastle competition"),
            (Some("en"), "how tall is the mill and"),
            (Some("en"), ""),
            (Some("en"), "and"),
            (Some("de"), "who built the mill and when did it close"),
            (Some("ar"), "من بنى الطاحونة ومتى أغلقت أبوابها"),
            (Some("th"), "ใครสร้างโรงสีและปิดเมื่อไร"),
            (Some("ja"), "パンとバターと牛乳の値段"),
            (Some("qq"), "who built the mill and when did it close"),
            (Some("ru"), "какая высота у башни, а затем кто её построил"),
        ] {
            assert_eq!(compound(text, language), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parts_are_long_enough_and_come_from_the_text(text in "(\\PC{0,8}( and | E |和|\n))*\\PC{0,20}", language in "(en|es|zh|ja|ko|xx|\\PC{0,5})") {
            if let Some(parts) = compound(&text, Some(&language)) {
                for part in parts {
                    prop_assert!(part.chars().count() >= MIN_CHARS_UNSPACED);
                    prop_assert!(text.contains(&part));
                }
            }
        }
    }
}
