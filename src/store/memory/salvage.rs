//! What can still be read of a file that somebody broke in an editor, or that a broken disk returned: a record that cannot be read does not cost the others.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// What is wrong with a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// It cannot be understood, or is of another version.
    Whole(String),
    /// These records cannot be, one a line.
    Records {
        count: usize,
        why: String,
        lines: Vec<u8>,
    },
}

/// A file taken apart.
pub(super) struct Salvaged<T> {
    /// The file without its records.
    pub head: Vec<u8>,
    pub records: Vec<T>,
    pub damage: Damage,
}

/// Takes a file apart, whose records are in the list `name` and which failed to parse for the reason `why`. `None` when nothing of it can be read.
pub(super) fn salvage<T: DeserializeOwned>(
    bytes: &[u8],
    name: &str,
    why: &str,
) -> Option<Salvaged<T>> {
    let (head, texts) = of_json(bytes, name).or_else(|| of_lines(bytes, name))?;
    let (mut records, mut lines, mut count) = (Vec::new(), Vec::new(), 0);
    for text in texts {
        match serde_json::from_slice(&text) {
            Ok(record) => records.push(record),
            Err(_) => {
                count += 1;
                // As it was: a line break stands between its parts, if anywhere.
                lines.extend(text.iter().map(|byte| match byte {
                    b'\n' | b'\r' => b' ',
                    byte => *byte,
                }));
                lines.push(b'\n');
            }
        }
    }
    (!records.is_empty()).then(|| Salvaged {
        head,
        records,
        damage: Damage::Records {
            count,
            why: why.to_owned(),
            lines,
        },
    })
}

/// A file without its records, and each of them.
type Parts = (Vec<u8>, Vec<Vec<u8>>);

/// Of valid JSON, in which a record may be anything.
fn of_json(bytes: &[u8], name: &str) -> Option<Parts> {
    let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(bytes).ok()?;
    let records = fields.remove(name)?;
    let records: Vec<Box<RawValue>> = serde_json::from_str(records.get()).ok()?;
    let texts = records
        .iter()
        .map(|record| record.get().as_bytes().to_vec());
    Some((serde_json::to_vec(&fields).ok()?, texts.collect()))
}

/// Of a file with a record a line, as this program writes it; the end may be missing.
fn of_lines(bytes: &[u8], name: &str) -> Option<Parts> {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let mut head = lines.next()?.to_vec();
    if !head.ends_with(format!("\"{name}\":[").as_bytes()) {
        return None;
    }
    head.extend_from_slice(b"]}");
    let lines = lines.take_while(|line| !line.starts_with(b"]"));
    let lines = lines.map(|line| line.strip_suffix(b",").unwrap_or(line));
    let lines = lines.filter(|line| !line.is_empty());
    Some((head, lines.map(<[u8]>::to_vec).collect()))
}
