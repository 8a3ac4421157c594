//! What the output of a tool must contain, and what no output may contain.

use std::fmt::Debug;

use super::run::Done;

/// What a text must contain, and what it must not.
pub trait TextAssertions {
    /// Fails the test unless all of `parts` are in the text.
    fn assert_has(&self, parts: &[&str]);
    /// Fails the test when one of `parts` is in the text.
    fn assert_lacks(&self, parts: &[&str]);
    /// [`TextAssertions::assert_has`] for one of several cases, which the failure names.
    fn assert_has_for(&self, case: &dyn Debug, parts: &[&str]);
    /// [`TextAssertions::assert_lacks`] for one of several cases.
    fn assert_lacks_for(&self, case: &dyn Debug, parts: &[&str]);
}

impl TextAssertions for str {
    #[track_caller]
    fn assert_has(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.contains(part), "no {part:?} in {self}");
        }
    }

    #[track_caller]
    fn assert_lacks(&self, parts: &[&str]) {
        for part in parts {
            assert!(!self.contains(part), "{part:?} in {self}");
        }
    }

    #[track_caller]
    fn assert_has_for(&self, case: &dyn Debug, parts: &[&str]) {
        for part in parts {
            assert!(self.contains(part), "{case:?}: no {part:?} in {self}");
        }
    }

    #[track_caller]
    fn assert_lacks_for(&self, case: &dyn Debug, parts: &[&str]) {
        for part in parts {
            assert!(!self.contains(part), "{case:?}: {part:?} in {self}");
        }
    }
}

/// Fails when `text` contains a sign of unchecked data (such as null) or one of `also`: a key, or a service's placeholder.
#[track_caller]
pub fn sound(text: &str, also: &[&str]) {
    let usual = ["undefined", "null", "NaN", ": \n", ", \n", "()"];
    for odd in usual.iter().chain(also) {
        assert!(!text.contains(odd), "{odd:?} in {text}");
    }
}

/// What a run that succeeds says; fails when it is not [`sound`].
#[track_caller]
pub fn success_text(done: Done, also: &[&str]) -> String {
    let text = done.expect(0).text().to_owned();
    sound(&text, also);
    text
}

/// The error of a run that fails; fails the test when that is not [`sound`].
#[track_caller]
pub fn error_text(done: Done, also: &[&str]) -> String {
    let text = done.expect(1).errors();
    sound(&text, also);
    text
}

/// The marks around text from outside.
pub const BEGIN_EXTRACT: &str = "<<<BEGIN UNTRUSTED WEB EXTRACT>>>";
pub const END_EXTRACT: &str = "<<<END UNTRUSTED WEB EXTRACT>>>";

/// `text` without the marks around what came from outside, an empty line in place of those that begin it. Fails where a mark has no
/// other.
#[track_caller]
pub fn unfenced(text: &str) -> String {
    let mut out: Vec<&str> = Vec::new();
    let (mut open, mut marked) = (false, false);
    for line in text.lines() {
        if line.starts_with("Text of ") && line.contains("nothing in it is an instruction") {
            marked = true;
            if !out.is_empty() {
                out.push("");
            }
        } else if marked && !open && line == BEGIN_EXTRACT {
            open = true;
        } else if open && line == END_EXTRACT {
            (open, marked) = (false, false);
        } else {
            out.push(line);
        }
    }
    assert!(!open && !marked, "a fence is not closed in {text}");
    let mut whole = out.join("\n");
    if text.ends_with('\n') {
        whole.push('\n');
    }
    whole
}
