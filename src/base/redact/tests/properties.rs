//! Properties in both directions: a secret of any format in any prose is hidden, and prose without one stays.

use proptest::prelude::*;
use proptest::string::string_regex;

use super::data::{all_shapes, look_alikes};
use crate::base::redact::cards::has_check_digit;
use crate::base::redact::formats::FORMATS;
use crate::base::redact::{logged, rules, scrub};

/// A key of any format, and what of it must not be left.
fn key() -> impl Strategy<Value = (String, String)> {
    (0..FORMATS.len()).prop_flat_map(|at| {
        let format = &FORMATS[at];
        let rest = string_regex(&format.sample()).unwrap();
        rest.prop_map(move |rest| (format!("{}{rest}", format.prefix), rest))
    })
}

/// A card's number: digits of a network, and the check digit.
fn card() -> impl Strategy<Value = String> {
    let start = prop_oneof![
        "4[0-9]{14}",
        "5[1-5][0-9]{13}",
        "3[47][0-9]{12}",
        "6011[0-9]{11}",
        "36[0-9]{11}",
        "2[3-6][0-9]{13}",
    ];
    (
        start,
        prop::sample::select(vec!["", " ", "-", ".", "\u{a0}"]),
    )
        .prop_map(|(start, separator)| {
            let number = (0..10)
                .map(|digit| format!("{start}{digit}"))
                .find(|number| has_check_digit(number))
                .unwrap();
            let groups: Vec<String> = match number.len() {
                15 => vec![
                    number[..4].into(),
                    number[4..10].into(),
                    number[10..].into(),
                ],
                14 => vec![
                    number[..4].into(),
                    number[4..10].into(),
                    number[10..].into(),
                ],
                _ => number
                    .as_bytes()
                    .chunks(4)
                    .map(|group| String::from_utf8_lossy(group).into_owned())
                    .collect(),
            };
            groups.join(separator)
        })
}

/// Words, punctuation and white space that say nothing of secrets.
fn prose() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..12).prop_map(|words| words.join(" "))
}

const WORDS: &[&str] = &[
    "the",
    "harbour",
    "was",
    "quiet,",
    "and",
    "nobody",
    "spoke.",
    "größer",
    "être",
    "порт",
    "港は",
    "(see",
    "below)",
    "—",
    "\"so\"",
    "it's",
    "12:30",
    "2026-11-25",
    "€12.50",
    "1,299",
    "v1.2.3",
    "3f78685",
    "next_token",
    "HashMap<String,",
    "x86_64",
    "self.at",
    "#42",
    "C++",
    "😀",
    "50%",
    "\n",
    "- item",
];

/// What stands between prose and a secret.
fn edge() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ",
        "\n",
        " (",
        "\"",
        "'",
        "`",
        "<",
        ": ",
        "=",
        " “",
        "，",
        "。",
        "[",
        "{\"x\": \"",
    ])
}

fn end() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        " ", "\n", ") ", "\" ", "' ", "` ", "> ", ", ", "; ", ". ", "! ", "” ", "，", "。", "] ",
        "\"}",
    ])
}

/// Ordinary words of any letters, numbers, dates, prices and names of programs.
fn ordinary() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}",
        "[A-Z][a-zà-ÿ]{1,9}",
        "[а-я]{1,9}",
        "[一-龠]{1,4}",
        "[1-9][0-9]{0,4}",
        "[0-9]{7,12}".prop_filter("no check digit", |number| !has_check_digit(number)),
        "[0-9]{13,19}".prop_filter("no check digit", |number| !has_check_digit(number)),
        "20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|2[0-8])",
        "([01][0-9]|2[0-3]):[0-5][0-9]",
        "[€$][1-9][0-9]{0,3}\\.[0-9]{2}",
        "[a-z]{2,8}_[a-z]{2,8}(\\(\\))?",
        "[a-z]{2,7}::[A-Z][a-z]{2,8}",
        "[a-z]{2,7}\\.[a-z]{2,3}",
        "v?[0-9]{1,2}\\.[0-9]{1,2}\\.[0-9]{1,2}",
        "[0-9a-f]{7,12}",
    ]
}

proptest! {
    #[test]
    fn a_key_of_any_format_is_hidden_in_any_prose(
        before in prose(), edge in edge(), key in key(), end in end(), after in prose(),
    ) {
        let text = format!("{before}{edge}{}{end}{after}", key.0);
        for shown in [scrub(&text), logged(&text, &[]).into_owned()] {
            prop_assert!(!shown.contains(&key.1), "{text:?} became {shown:?}");
        }
    }

    #[test]
    fn a_card_is_hidden_in_any_prose(
        before in prose(), edge in edge(), card in card(), end in end(), after in prose(),
    ) {
        let shown = scrub(&format!("{before}{edge}{card}{end}{after}"));
        prop_assert!(!shown.contains(&card), "{shown:?}");
    }

    #[test]
    fn every_shape_is_hidden_in_any_prose(
        at in 0..all_shapes().len(), before in prose(), after in prose(),
    ) {
        let shape = &all_shapes()[at];
        let text = format!("{before}\n{}\n{after}", shape.text);
        let shown = scrub(&text);
        let secret = shape.pieces.concat();
        prop_assert!(!shown.contains(&secret), "{text:?} became {shown:?}");
        prop_assert_eq!(scrub(&shown), shown.clone(), "twice");
    }

    #[test]
    fn prose_stays(words in prop::collection::vec(ordinary(), 0..24)) {
        // Two words for the rest of a sentence between numbers: those of a table may be a card by chance.
        let text = words.join(" and then ");
        prop_assert_eq!(scrub(&text), text);
    }

    #[test]
    fn what_looks_like_a_secret_stays_in_any_prose(
        at in 0..look_alikes().len(), before in prose(), after in prose(),
    ) {
        let rows = look_alikes();
        let text = format!("{before}\n{}\n{after}", rows[at]["text"].as_str().unwrap());
        prop_assert_eq!(scrub(&text), text);
    }
}

#[test]
fn no_pattern_that_finds_something_is_overlooked() {
    for shape in all_shapes() {
        let text = &shape.text;
        // Spaces and letters of other scripts are what the first look is not exact about.
        for text in [
            text.clone(),
            text.replace(' ', "\u{3000}"),
            text.replace('a', "ä"),
        ] {
            assert_eq!(rules::overlooked(&text), None, "{text}");
        }
    }
}
