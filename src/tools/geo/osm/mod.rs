//! OpenStreetMap services: places by name from Nominatim, by tags from Overpass.

pub(crate) mod kinds;
pub(crate) mod nominatim;
pub(crate) mod overpass;
pub(crate) mod query;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::thousands;

/// The attribution that the licence requires; `by` is the server that was used.
pub(crate) fn credit(by: &str) -> String {
    format!("Data © OpenStreetMap contributors, ODbL 1.0 ({by}).")
}

/// Longest search text in characters.
const LONGEST: usize = 1_000;

/// The search text, on one line.
///
/// # Errors
/// `Input` when it is empty or not a search; `name` is the parameter's.
pub(crate) fn wanted(name: &str, text: &str) -> Outcome<String> {
    if text.len() > LONGEST * 4 || text.chars().count() > LONGEST {
        return Err(Problem::input(format!(
            "{name} is {} bytes long; a search has {} characters at most.",
            thousands(text.len() as u64),
            thousands(LONGEST as u64)
        ))
        .next("Say it in a few words."));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return Err(Problem::input(format!("{name} is empty."))
            .next("Give a name or an address, for example \"Cologne Cathedral\"."));
    }
    Ok(words.join(" "))
}
