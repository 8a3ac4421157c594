//! `.marvin/pipeline_state`: the last phase, or step of a phase, that is done. One word; it goes back only when the user says so.

use super::phase::{PHASES, Phase};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::disk::beneath::Root;
use crate::disk::paths::PIPELINE_STATE;

/// More bytes than any word takes.
const CAP: u64 = 4096;

/// The recorded word; `None` when nothing is recorded. Every question reads the file afresh: a remembered answer would be wrong after the first
/// change.
///
/// # Errors
/// The file cannot be read, or holds a word that is no phase: taking that for "nothing" would repeat paid work.
pub(crate) fn recorded(root: &Root) -> Outcome<Option<String>> {
    let rel = root.check(PIPELINE_STATE)?;
    if !root.exists(&rel)? {
        return Ok(None);
    }
    let bytes = root.read(&rel, CAP)?;
    let text = String::from_utf8_lossy(&bytes);
    let word = text.trim();
    if word.is_empty() {
        return Ok(None);
    }
    if position(word).is_none() {
        let known: Vec<&str> = PHASES.iter().map(|phase| phase.name).collect();
        return Err(Problem::config(format!(
            "{PIPELINE_STATE} holds \"{}\", which is no phase of this version.",
            escape_controls(&clip(word, 80))
        ))
        .next(format!(
            "Write the last phase that is done into it ({}), or remove it to begin again.",
            known.join(", ")
        )));
    }
    Ok(Some(word.to_owned()))
}

/// Whether the phase or step `word` is done: the recorded one is it or a later one.
///
/// # Errors
/// As [`recorded`].
pub(crate) fn is_done(root: &Root, word: &str) -> Outcome<bool> {
    let recorded = recorded(root)?.and_then(|recorded| position(&recorded));
    Ok(recorded.is_some() && recorded >= position(word))
}

/// Records that the phase or step `word` is done, unless it or a later one is recorded already.
///
/// # Errors
/// As [`recorded`]; the file cannot be written.
pub(crate) fn save(root: &Root, word: &str) -> Outcome<()> {
    if is_done(root, word)? {
        return Ok(());
    }
    root.put(&root.check(PIPELINE_STATE)?, word.as_bytes())
}

/// Records deliberately that nothing after `phase` is done, or nothing at all: the user wants it done again.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn set_back(root: &Root, phase: Option<&Phase>) -> Outcome<()> {
    let word = phase.map_or("", |phase| phase.name);
    root.put(&root.check(PIPELINE_STATE)?, word.as_bytes())
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

    fn folder() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        (dir, root)
    }

    #[test]
    fn the_recorded_phase_never_goes_back() {
        let (_dir, root) = folder();
        assert!(!is_done(&root, "1a").unwrap());
        save(&root, "1b").unwrap();
        for word in ["1a", "1a_review_ii", "1a_review", "1b"] {
            save(&root, word).unwrap();
            assert!(is_done(&root, word).unwrap(), "{word}");
            assert_eq!(recorded(&root).unwrap().as_deref(), Some("1b"));
        }
        assert!(!is_done(&root, "1b_review_i").unwrap());
        save(&root, "5").unwrap();
        assert!(
            PHASES
                .iter()
                .all(|phase| is_done(&root, phase.name).unwrap())
        );
    }

    #[test]
    fn a_newline_is_tolerated_and_an_unknown_word_is_named() {
        let (dir, root) = folder();
        let file = dir.path().join(PIPELINE_STATE);
        std::fs::create_dir(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "2a\n").unwrap();
        assert!(is_done(&root, "2a").unwrap());
        for empty in ["", "\n", "  "] {
            std::fs::write(&file, empty).unwrap();
            assert_eq!(recorded(&root).unwrap(), None);
        }
        for (text, named) in [
            ("6_future", "6_future"),
            ("2a 2b", "2a 2b"),
            ("\u{1b}[31m", "[31m"),
        ] {
            std::fs::write(&file, text).unwrap();
            let problem = save(&root, "1a").unwrap_err().one_line();
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
    }
}
