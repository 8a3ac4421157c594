//! What tests of every folder assert of a text, and of the time that one takes.

use std::time::Duration;

use super::cpu_time::CpuTime;

/// Fails at the caller's line unless `text` has every one of `parts`.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}

/// Fails at the caller's line if `text` has one of `parts`.
#[track_caller]
pub(crate) fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} in:\n{text}");
    }
}

/// Fails at the caller's line when `work` takes much more than ten times as long for a text of ten times the length. `texts` makes those of about a length,
/// in the same order for each.
#[track_caller]
pub(crate) fn assert_linear(texts: impl Fn(usize) -> Vec<String>, work: impl Fn(&str)) {
    let time = |text: &str| {
        let start = CpuTime::now();
        work(text);
        start.elapsed()
    };
    for (short, long) in texts(1_000).iter().zip(&texts(10_000)) {
        let piece: String = short.chars().take(40).collect();
        let short = (0..3).map(|_| time(short)).min().unwrap_or_default();
        let long = time(long);
        assert!(
            long < short * 10 * 4 + Duration::from_millis(50),
            "{piece:?}: {short:?}, then {long:?}"
        );
    }
}
