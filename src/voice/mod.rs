//! Floor 5: voice: a recorder, what it hears, the service that writes it down, and a program that speaks.
//!
//! [`record`] and [`recorder`] run the program that records, [`activity`] finds speech in it, [`transcribe`] sends it, [`speech`] and [`speaker`] read aloud.
//! The parts of a session and `marvin doctor` call it; it knows neither a conversation nor when to listen.

pub(crate) mod activity;
pub(crate) mod languages;
mod private_dir;
pub(crate) mod record;
pub(crate) mod recorder;
pub(crate) mod speaker;
pub(crate) mod speech;
pub(crate) mod transcribe;

/// The last line of what a program wrote to standard error, for a sentence about its failure: ALSA prints a page before the one that matters.
fn last_words(stderr: &str) -> Option<String> {
    use crate::base::text::{clip, escape_controls, single_spaced};
    let line = stderr.lines().rev().find(|line| !line.trim().is_empty())?;
    let line = clip(&escape_controls(&single_spaced(line)), 200);
    Some(line.trim_end_matches('.').to_owned())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_last_line_of_an_error_is_shown_without_control_characters() {
        let text = "ALSA lib conf.c: nonsense\narecord: main:831: audio open error: \x1b[31mNo such file.\n\n";
        let words = super::last_words(text).unwrap();
        assert!(words.starts_with("arecord: main:831: audio open error: "));
        assert!(
            words.ends_with("No such file") && !words.contains('\x1b'),
            "{words}"
        );
        assert_eq!(super::last_words(" \n"), None);
        assert!(
            super::last_words(&"x".repeat(10_000))
                .unwrap()
                .chars()
                .count()
                <= 201
        );
    }
}
