//! Generates topic names: the name is the only secret, so it must be unguessable.

use std::fs;

use crate::base::problem::{Outcome, Problem};

const NAME_WORDS: usize = 5;
/// The system's word list.
const WORD_LIST: &str = "/usr/share/dict/words";
/// A shorter list is not used.
const MIN_LIST_WORDS: usize = 4_096;

/// Five words from the system's list, else five of 65,536 pronounceable ones: 80 bits.
///
/// # Errors
/// The operating system provides no random numbers.
pub(crate) fn invent() -> Outcome<String> {
    from(&fs::read_to_string(WORD_LIST).unwrap_or_default())
}

fn from(list: &str) -> Outcome<String> {
    let plain =
        |word: &&str| (4..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase());
    let words: Vec<&str> = list.lines().filter(plain).collect();
    let mut name = Vec::new();
    for _ in 0..NAME_WORDS {
        let number = random()?;
        let known = usize::try_from(number)
            .ok()
            .filter(|_| words.len() >= MIN_LIST_WORDS);
        // 64 bits over a list this short: the bias of the remainder is negligible.
        let word = known.and_then(|number| words.get(number % words.len()));
        name.push(word.map_or_else(|| pronounceable(number), |word| (*word).to_owned()));
    }
    Ok(name.join("-"))
}

fn random() -> Outcome<u64> {
    let mut bytes = [0u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| {
        Problem::internal(format!(
            "There are no random numbers to invent a topic with: {error}."
        ))
        .next("Choose a long name yourself and call ntfy_subscribe.")
    })?;
    Ok(u64::from_le_bytes(bytes))
}

/// Sixteen bits as consonant, vowel, consonant, vowel, consonant.
fn pronounceable(number: u64) -> String {
    const CONSONANTS: &[u8; 16] = b"bdfghjklmnprstvz";
    const VOWELS: &[u8; 4] = b"aiou";
    let pick = |letters: &[u8], shift: u32| {
        let at = usize::try_from(number >> shift).unwrap_or_default() % letters.len();
        letters.get(at).copied().map_or('x', char::from)
    };
    [
        pick(CONSONANTS, 0),
        pick(VOWELS, 4),
        pick(CONSONANTS, 6),
        pick(VOWELS, 10),
        pick(CONSONANTS, 12),
    ]
    .iter()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn generated_names_are_five_words_and_unique() {
        let many: String = (0..10_000)
            .map(|n| format!("{}\nIt's\n", pronounceable(n)))
            .collect();
        for list in [many.as_str(), ""] {
            let names: BTreeSet<String> = (0..200).map(|_| from(list).unwrap()).collect();
            assert_eq!(names.len(), 200);
            for name in names {
                assert!(crate::store::subscriptions::is_name(&name), "{name}");
                assert_eq!(name.split('-').count(), 5, "{name}");
            }
        }
        let all: BTreeSet<String> = (0..65_536).map(pronounceable).collect();
        assert_eq!(all.len(), 65_536);
    }
}
