//! The model's text: paragraphs, lists and code of lower-case words, a token at a time.

/// Token `i` of an endless reply. It has no capital letters, because those are typed at the same time.
pub fn token(i: usize) -> String {
    let words = [
        "improbable",
        "towel",
        "so",
        "long",
        "and",
        "thanks",
        "for",
        "all",
        "the",
        "fish,",
        "said",
        "`marvin`",
        "to",
        "nobody",
        "in",
        "**particular**",
        "while",
        "counting",
        "doors.",
    ];
    let word = words[(i * 7 + i / 19) % words.len()];
    // Five hundred tokens are a section: a heading, three paragraphs, a list, some code.
    match i % 500 {
        0 => format!("{}## {word}", if i == 0 { "" } else { "\n\n" }),
        8 | 90 | 190 => format!("\n\n{word}"),
        290 => format!("\n\n- {word}"),
        at @ 291..400 if at % 12 == 0 => format!("\n- {word}"),
        400 => "\n\n```rust\nlet".to_owned(),
        at @ 401..480 if at % 10 == 0 => format!(";\nlet {word}"),
        at @ 401..480 if at % 10 == 1 => " =".to_owned(),
        480 => ";\n```\n\nwell".to_owned(),
        _ => format!(" {word}"),
    }
}

/// Bytes of the first `tokens` tokens.
pub fn bytes(tokens: usize) -> usize {
    (0..tokens).map(|i| token(i).len()).sum()
}
