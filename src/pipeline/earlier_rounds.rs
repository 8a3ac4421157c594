//! What the earlier rounds of a loop found and tried, for the next one. It is kept with the phase, so that a resumed run tells it too.

use super::{Run, phase_record};
use crate::base::marks::enclosed;
use crate::base::problem::Outcome;
use crate::base::text::tail;

/// Characters of one round: the end of what was said, where it is summed up.
const MAX_ROUND_CHARS: usize = 4_000;
/// Rounds that are told, the latest ones.
const MAX_ROUNDS: usize = 5;

/// What stands above them where nothing else is said.
pub(crate) const HEADING: &str = "What earlier rounds found and tried, the last one at the end. See whether it is still so, and do not try again what did not help.";

/// A paragraph for the next round about `subject`; empty for the first.
pub(crate) fn part(run: &Run, phase: &str, subject: &str, heading: &str) -> String {
    let told = phase_record::told(run, phase, subject);
    match told.is_empty() {
        true => String::new(),
        false => format!(
            "\n{heading}\n{}\n",
            enclosed("rounds", "", &told.join("\n\n"))
        ),
    }
}

/// Keeps what round `number` said.
///
/// # Errors
/// It cannot be kept.
pub(crate) fn keep(run: &Run, phase: &str, subject: &str, number: u64, words: &str) -> Outcome<()> {
    let words = match words.trim() {
        "" => "(It said nothing.)",
        words => tail(words, MAX_ROUND_CHARS),
    };
    let entry = format!("Round {number}:\n{words}");
    phase_record::add_told(run, phase, subject, entry, MAX_ROUNDS)
}
