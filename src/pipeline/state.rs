//! `pipeline_state`: the last phase, or step of a phase, that is done. One word; it goes back only when the user says so.

use super::phase::{PHASES, Phase};
use super::places::RunPlaces;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// More bytes than any word takes.
const CAP: u64 = 4096;

/// The recorded word; `None` when nothing is recorded. Every question reads the file afresh: a remembered answer would be wrong after the first
/// change.
///
/// # Errors
/// The file cannot be read, or holds a word that is no phase: taking that for "nothing" would repeat paid work.
pub(crate) fn recorded(places: &RunPlaces) -> Outcome<Option<String>> {
    let root = &places.root;
    let rel = root.check(&places.state())?;
    if !root.exists(&rel)? {
        return Ok(None);
    }
    let bytes = root.read(&rel, CAP)?;
    let text = String::from_utf8_lossy(&bytes);
    let word = text.trim();
    if position(word).is_none() {
        let known: Vec<&str> = PHASES.iter().map(|phase| phase.name).collect();
        let what = match word {
            "" => "is empty, and one that is there names a phase".to_owned(),
            word => format!(
                "holds \"{}\", which is no phase of this version",
                escape_controls(&clip(word, 80))
            ),
        };
        return Err(
            Problem::config(format!("{} {what}.", places.state())).next(format!(
                "Write the last phase that is done into it ({}), or remove it to begin again.",
                known.join(", ")
            )),
        );
    }
    Ok(Some(word.to_owned()))
}

/// Whether the phase or step `word` is done: the recorded one is it or a later one.
///
/// # Errors
/// As [`recorded`].
pub(crate) fn is_done(places: &RunPlaces, word: &str) -> Outcome<bool> {
    Ok(reaches(recorded(places)?.as_deref(), word))
}

/// Whether what is `recorded` is the phase or step `word`, or a later one.
pub(super) fn reaches(recorded: Option<&str>, word: &str) -> bool {
    let recorded = recorded.and_then(position);
    recorded.is_some() && recorded >= position(word)
}

/// Records that the phase or step `word` is done, unless it or a later one is recorded already.
///
/// # Errors
/// As [`recorded`]; the file cannot be written.
pub(crate) fn save(places: &RunPlaces, word: &str) -> Outcome<()> {
    if is_done(places, word)? {
        return Ok(());
    }
    put(places, word)
}

/// Records deliberately that nothing after `phase` is done, or nothing at all: the user wants it done again.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn set_back(places: &RunPlaces, phase: Option<&Phase>) -> Outcome<()> {
    if let Some(phase) = phase {
        return put(places, phase.name);
    }
    let rel = places.root.check(&places.state())?;
    match places.root.exists(&rel)? {
        true => places.root.remove_file(&rel),
        false => Ok(()),
    }
}

fn put(places: &RunPlaces, word: &str) -> Outcome<()> {
    let rel = places.root.check(&places.state())?;
    places.root.put(&rel, word.as_bytes())
}

/// Where a word stands in the order of all phases and their steps.
fn position(word: &str) -> Option<usize> {
    let mut words = PHASES
        .iter()
        .flat_map(|phase| phase.steps.iter().chain([&phase.name]));
    words.position(|known| *known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, RunPlaces) {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        (dir, places)
    }

    #[test]
    fn the_recorded_phase_never_goes_back() {
        let (_dir, places) = folder();
        assert!(!is_done(&places, "1a").unwrap());
        save(&places, "1b").unwrap();
        for word in ["1a", "1a_review_ii", "1a_review", "1b"] {
            save(&places, word).unwrap();
            assert!(is_done(&places, word).unwrap(), "{word}");
            assert_eq!(recorded(&places).unwrap().as_deref(), Some("1b"));
        }
        assert!(!is_done(&places, "1b_review_i").unwrap());
        save(&places, "5").unwrap();
        assert!(
            PHASES
                .iter()
                .all(|phase| is_done(&places, phase.name).unwrap())
        );
    }

    #[test]
    fn a_newline_is_tolerated_and_an_unknown_word_or_none_is_named() {
        let (dir, places) = folder();
        let file = dir.path().join(".marvin/pipeline_state");
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "2a\n").unwrap();
        assert!(is_done(&places, "2a").unwrap());
        for (text, named) in [
            ("", "is empty"),
            (" \n", "is empty"),
            ("6_future", "6_future"),
            ("2a 2b", "2a 2b"),
            ("\u{1b}[31m", "[31m"),
        ] {
            std::fs::write(&file, text).unwrap();
            let problem = save(&places, "1a").unwrap_err().one_line();
            assert!(
                problem.contains(named) && !problem.contains('\u{1b}'),
                "{problem}"
            );
            assert_eq!(
                std::fs::read_to_string(&file).unwrap(),
                text,
                "not overwritten"
            );
        }
        // All is to be done again.
        set_back(&places, None).unwrap();
        assert_eq!(recorded(&places).unwrap(), None);
    }
}
