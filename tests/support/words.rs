//! What the words of a tool must hold, and what no answer may.

/// Fails unless `text` holds all of `parts`.
#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

/// Fails when `text` shows what a program forgot to look at, or one of `also`: a key, a sign of the service's for nothing.
#[track_caller]
pub fn sound(text: &str, also: &[&str]) {
    let usual = ["undefined", "null", "NaN", ": \n", ", \n", "()"];
    for odd in usual.iter().chain(also) {
        assert!(!text.contains(odd), "{odd:?} in {text}");
    }
}
