//! What the entries of the diary are about, as vectors: `vectors.json`, which is there only where a model for embeddings is set.
//!
//! A vector is kept as one byte for each number and belongs to the text that it was made of: an entry that has changed has none until it gets a new
//! one. It can be made anew at any time, so it is dropped rather than mended.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::file::Content;
use super::row::{DiaryRow, DiarySource};
use super::salvage::Damage;
use super::{VERSION, lines_of, text_form};
use crate::base::clock::Clock;
use crate::base::embedding::Embedding;
use crate::base::ids::stable_hash;
use crate::base::problem::Outcome;
use crate::base::shared_sort::SharedSort as _;

type RowKey = (Date, DiarySource);

#[derive(Debug, Default)]
pub(super) struct RowVectors {
    model: String,
    rows: HashMap<RowKey, RowVector>,
}

#[derive(Debug)]
struct RowVector {
    /// Of the text that it was made of.
    hash: u64,
    numbers: Vec<i8>,
}

#[derive(Serialize, Deserialize)]
struct VectorRow {
    #[serde(with = "text_form")]
    date: Date,
    #[serde(default)]
    source: DiarySource,
    hash: u64,
    vector: String,
}

impl Content for RowVectors {
    fn parse(bytes: &[u8], _clock: &Clock) -> (Self, Option<Damage>) {
        #[derive(Deserialize)]
        struct VectorFile {
            version: u64,
            #[serde(default)]
            model: String,
            #[serde(default)]
            rows: Vec<VectorRow>,
        }
        if bytes.trim_ascii().is_empty() {
            return (Self::default(), None);
        }
        let file = match serde_json::from_slice::<VectorFile>(bytes) {
            Ok(file) if file.version == VERSION => file,
            Ok(file) => {
                let why = super::unknown(file.version);
                return (Self::default(), Some(Damage::Whole(why)));
            }
            Err(problem) => return (Self::default(), Some(Damage::Whole(problem.to_string()))),
        };
        let rows = file.rows.into_iter().filter_map(|row| {
            let numbers = STANDARD.decode(row.vector).ok()?.into_iter();
            let vector = RowVector {
                hash: row.hash,
                numbers: numbers.map(u8::cast_signed).collect(),
            };
            Some(((row.date, row.source), vector))
        });
        let vectors = Self {
            model: file.model,
            rows: rows.collect(),
        };
        (vectors, None)
    }

    fn bytes(&self) -> Outcome<Vec<u8>> {
        #[derive(Serialize)]
        struct VectorsHead<'a> {
            version: u64,
            model: &'a str,
        }
        let head = VectorsHead {
            version: VERSION,
            model: &self.model,
        };
        let rows = self.rows.iter().map(|((date, source), vector)| {
            let bytes = vector.numbers.iter().map(|number| number.cast_unsigned());
            VectorRow {
                date: *date,
                source: *source,
                hash: vector.hash,
                vector: STANDARD.encode(bytes.collect::<Vec<u8>>()),
            }
        });
        let mut rows: Vec<VectorRow> = rows.collect();
        rows.shared_sort_by_key(|row| (row.date, row.source));
        lines_of(&head, "rows", &rows)
    }
}

impl RowVectors {
    /// The rows without a vector of `model`, the newest first, at most `max`.
    pub(super) fn missing(&self, model: &str, rows: &[DiaryRow], max: usize) -> Vec<DiaryRow> {
        let has = |row: &&DiaryRow| self.model == model && self.of(row).is_some();
        let missing = rows.iter().rev().filter(|row| !has(row));
        missing.take(max).cloned().collect()
    }

    /// Takes in the vectors of rows, and drops those of rows that are gone.
    pub(super) fn add(&mut self, model: &str, added: &[(DiaryRow, Embedding)], all: &[DiaryRow]) {
        if self.model != model {
            self.rows.clear();
            model.clone_into(&mut self.model);
        }
        for (row, vector) in added {
            let vector = RowVector {
                hash: hash(row),
                numbers: numbers(vector.values()),
            };
            self.rows.insert((row.date, row.source), vector);
        }
        let current: HashMap<RowKey, u64> = all
            .iter()
            .map(|row| ((row.date, row.source), hash(row)))
            .collect();
        self.rows
            .retain(|key, vector| current.get(key) == Some(&vector.hash));
    }

    /// The cosine of the angle between `wanted` and each row, as far as a row has a vector of `model`.
    pub(super) fn cosines(
        &self,
        model: &str,
        wanted: &Embedding,
        rows: &[DiaryRow],
    ) -> Vec<Option<f64>> {
        if self.model != model {
            return vec![None; rows.len()];
        }
        let wanted = numbers(wanted.values());
        let cosine = |row| Some(cosine(&wanted, &self.of(row)?.numbers));
        rows.iter().map(|row| cosine(row).flatten()).collect()
    }

    fn of(&self, row: &DiaryRow) -> Option<&RowVector> {
        let vector = self.rows.get(&(row.date, row.source))?;
        (vector.hash == hash(row)).then_some(vector)
    }
}

/// The text that a row's vector is made of.
pub(crate) fn text(row: &DiaryRow) -> String {
    format!("{}\n{}", row.summary, row.topics.join(", "))
}

fn hash(row: &DiaryRow) -> u64 {
    stable_hash(&text(row))
}

/// The numbers as parts of the largest one, which becomes 127.
fn numbers(values: &[f32]) -> Vec<i8> {
    let largest = values
        .iter()
        .fold(0.0_f32, |most, value| most.max(value.abs()));
    let scale = 127.0 / largest.max(f32::MIN_POSITIVE);
    values
        .iter()
        .map(|value| (value * scale).round() as i8)
        .collect()
}

fn cosine(one: &[i8], other: &[i8]) -> Option<f64> {
    if one.len() != other.len() {
        return None;
    }
    let (mut product, mut one_square, mut other_square) = (0_i64, 0_i64, 0_i64);
    for (one, other) in one.iter().zip(other) {
        let (one, other) = (i64::from(*one), i64::from(*other));
        product += one * other;
        one_square += one * one;
        other_square += other * other;
    }
    let lengths = (one_square as f64).sqrt() * (other_square as f64).sqrt();
    (lengths > 0.0).then(|| product as f64 / lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(values: &[f32]) -> Embedding {
        Embedding::new(values.to_vec()).unwrap()
    }

    fn row(day: i8, summary: &str) -> DiaryRow {
        let date = Date::new(2026, 3, day).unwrap();
        DiaryRow::new(
            date,
            DiarySource::Text,
            summary,
            &[],
            jiff::Timestamp::UNIX_EPOCH,
        )
    }

    #[test]
    fn vectors_come_back_from_the_file_nearly_as_they_were() {
        let rows = [row(1, "Tea."), row(2, "Boats.")];
        let wanted = vector(&[0.3, -0.2, 0.9, 0.01]);
        let other = vector(&[0.1, 0.8, -0.4, 0.2]);
        let mut vectors = RowVectors::default();
        let added = [
            (rows[0].clone(), wanted.clone()),
            (rows[1].clone(), other.clone()),
        ];
        vectors.add("nomic", &added, &rows);
        let (read, damage) = RowVectors::parse(&vectors.bytes().unwrap(), &Clock::default());
        assert_eq!(damage, None);
        let cosines = read.cosines("nomic", &wanted, &rows);
        let exact = f64::from(wanted.cosine(&other).unwrap());
        assert!((cosines[0].unwrap() - 1.0).abs() < 1e-9);
        assert!((cosines[1].unwrap() - exact).abs() < 0.01);
        assert_eq!(read.cosines("another", &wanted, &rows), [None, None]);
        assert_eq!(read.cosines("nomic", &vector(&[1.0]), &rows), [None, None]);
    }

    #[test]
    fn a_row_that_changed_needs_a_new_vector() {
        let rows = [row(1, "Tea."), row(2, "Boats."), row(3, "Rain.")];
        let mut vectors = RowVectors::default();
        assert_eq!(
            vectors.missing("m", &rows, 2),
            [rows[2].clone(), rows[1].clone()]
        );
        let added: Vec<_> = rows
            .iter()
            .map(|row| (row.clone(), vector(&[1.0, 0.0])))
            .collect();
        vectors.add("m", &added, &rows);
        assert_eq!(vectors.missing("m", &rows, 9), []);
        assert_eq!(vectors.missing("other", &rows, 9).len(), 3);
        let changed = [row(1, "Tea, and coffee."), rows[1].clone()];
        assert_eq!(vectors.missing("m", &changed, 9), [changed[0].clone()]);
        vectors.add("m", &[], &changed);
        assert_eq!(vectors.rows.len(), 1, "vectors of what is gone stay");
    }

    #[test]
    fn broken_files_are_told_and_odd_vectors_left_out() {
        let parse = |text: &str| RowVectors::parse(text.as_bytes(), &Clock::default());
        assert!(parse("{").1.is_some());
        assert!(parse(r#"{"version":9,"rows":[]}"#).1.is_some());
        let odd =
            r#"{"version":1,"model":"m","rows":[{"date":"2026-03-01","hash":1,"vector":"?"}]}"#;
        let (vectors, damage) = parse(odd);
        assert!(damage.is_none() && vectors.rows.is_empty());
        assert_eq!(parse("").1, None);
    }
}
