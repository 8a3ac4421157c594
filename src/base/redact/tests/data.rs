//! Secrets and what only looks like one, from `fixtures/redaction`. A secret is written there in pieces, so that no scanner takes the file for a leak.

use serde_json::Value;

use crate::base::redact::{logged, redact, scrub, secrets};

fn rows(text: &'static str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

/// The shapes: what stands before, the pieces, what stands after, and what becomes of it.
fn shapes() -> Vec<Value> {
    rows(include_str!("../../../../fixtures/redaction/secrets.jsonl"))
}

pub(super) fn look_alikes() -> Vec<Value> {
    rows(include_str!(
        "../../../../fixtures/redaction/look-alikes.jsonl"
    ))
}

/// A text with a secret, its pieces, and the text as it may be read.
pub(super) struct Shape {
    pub what: String,
    pub pieces: Vec<String>,
    pub text: String,
    pub shown: String,
}

pub(super) fn all_shapes() -> Vec<Shape> {
    let shape = |row: &Value| {
        let pieces = row["secret"].as_array().unwrap();
        let pieces: Vec<String> = pieces
            .iter()
            .map(|piece| piece.as_str().unwrap().to_owned())
            .collect();
        let (before, after) = (text(row, "before"), text(row, "after"));
        let shown = match row["out"].as_str() {
            Some(out) => out.to_owned(),
            None => format!("{before}{}{after}", text(row, "label")),
        };
        Shape {
            what: text(row, "what").to_owned(),
            text: format!("{before}{}{after}", pieces.concat()),
            pieces,
            shown,
        }
    };
    shapes().iter().map(shape).collect()
}

/// What of a secret tells it: every piece but its published prefix.
fn telling(pieces: &[String]) -> impl Iterator<Item = &String> {
    let is_lone = pieces.len() == 1;
    let pieces = pieces.iter().skip(usize::from(!is_lone));
    pieces.filter(|piece| piece.trim().len() >= 4)
}

#[test]
fn every_shape_is_hidden_and_nothing_else_of_the_text() {
    let shapes = all_shapes();
    assert!(shapes.len() >= 65);
    let mut wrong = Vec::new();
    for shape in &shapes {
        let shown = scrub(&shape.text);
        if shown != shape.shown {
            wrong.push(format!(
                "{}: {:?} became {shown:?}, not {:?}",
                shape.what, shape.text, shape.shown
            ));
        }
        for piece in telling(&shape.pieces) {
            for shown in [&shown, &redact(&shape.text)] {
                if shown.contains(piece.trim()) {
                    wrong.push(format!("{}: {piece:?} is left in {shown:?}", shape.what));
                }
            }
        }
        if scrub(&shown) != shown {
            wrong.push(format!(
                "{}: twice is another text: {:?}",
                shape.what,
                scrub(&shown)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_only_looks_like_a_secret_is_left() {
    let rows = look_alikes();
    assert!(rows.len() >= 75);
    let mut wrong = Vec::new();
    for row in &rows {
        let given = text(row, "text");
        let results = [
            scrub(given),
            secrets(given, &[]).into_owned(),
            logged(given, &[]).into_owned(),
        ];
        for shown in results {
            if shown != given {
                wrong.push(format!("{}: {given:?} became {shown:?}", text(row, "what")));
            }
        }
        let line: Vec<&str> = given.split_whitespace().collect();
        if row["lines"].is_null() && redact(given) != line.join(" ") {
            wrong.push(format!(
                "{}: on one line {:?}",
                text(row, "what"),
                redact(given)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn logs_hide_what_models_do_not_read() {
    let mut wrong = Vec::new();
    for shape in all_shapes() {
        let shown = logged(&shape.text, &[]);
        for piece in telling(&shape.pieces) {
            if shown.contains(piece.trim()) {
                wrong.push(format!("{}: {piece:?} is left in {shown:?}", shape.what));
            }
        }
        if !shown.contains("[hidden]") {
            wrong.push(format!("{}: {shown:?}", shape.what));
        }
        if logged(&shown, &[]) != shown {
            wrong.push(format!(
                "{}: twice is another text: {:?}",
                shape.what,
                logged(&shown, &[])
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // An error names people, commits and numbers that the user knows; only what lets somebody in is hidden there.
    for text in ["nora@harbour.example has no mailbox", "738205 is the code"] {
        assert_eq!(secrets(text, &[]), text);
        assert_ne!(logged(text, &[]), text);
    }
}
