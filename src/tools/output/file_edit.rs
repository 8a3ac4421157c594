//! Edits of files as a screen shows them: with their line numbers and the lines around them.

use crate::chat::display::Display;

/// Bytes of a file in which an edit is looked for, at most.
pub(crate) const MAX_SEARCHED_BYTES: u64 = 1 << 20;
/// Lines around an edit that are shown, counting the one that its first or last line may share.
const CONTEXT_LINES: usize = 3;

/// A file that was created with `text`.
pub(crate) fn created(text: &str) -> Display {
    Display::Diff {
        old: String::new(),
        new: text.to_owned(),
        first_line: Some(1),
    }
}

/// `new` in the place of `old` in a file that is `after` now.
pub(crate) fn replaced(after: &str, old: &str, new: &str) -> Display {
    // Twice: which of them is the new one, nobody can tell.
    let found = after
        .split_once(new)
        .filter(|(_, rest)| !new.is_empty() && !rest.contains(new));
    placed(old, new, found)
}

/// `new` at the end of a file that is `after` now, where that is known.
pub(crate) fn appended(after: Option<&str>, new: &str) -> Display {
    let before = after.and_then(|after| after.strip_suffix(new));
    placed("", new, before.map(|before| (before, "")))
}

fn placed(old: &str, new: &str, around: Option<(&str, &str)>) -> Display {
    let within = |(before, after): &(&str, &str)| {
        u64::try_from(before.len() + after.len()).is_ok_and(|size| size <= MAX_SEARCHED_BYTES)
    };
    let Some((before, after)) = around.filter(within) else {
        return Display::Diff {
            old: old.to_owned(),
            new: new.to_owned(),
            first_line: None,
        };
    };
    let starts: Vec<usize> = before.match_indices('\n').map(|(at, _)| at + 1).collect();
    let lead = starts
        .len()
        .checked_sub(CONTEXT_LINES)
        .map_or(0, |at| starts.get(at).copied().unwrap_or(0));
    let lead = before.get(lead..).unwrap_or_default();
    let trail: String = after.split_inclusive('\n').take(CONTEXT_LINES).collect();
    Display::Diff {
        old: format!("{lead}{old}{trail}"),
        new: format!("{lead}{new}{trail}"),
        first_line: Some(starts.len() + 1 - lead.matches('\n').count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str, first_line: Option<usize>) -> Display {
        Display::Diff {
            old: old.to_owned(),
            new: new.to_owned(),
            first_line,
        }
    }

    #[test]
    fn an_edit_is_shown_with_its_number_and_the_lines_around_it() {
        let after = "1\n2\n3\n4\nnew\n6\n7\n8\n9\n";
        let wanted = diff("3\n4\nold\n6\n7\n8\n", "3\n4\nnew\n6\n7\n8\n", Some(3));
        assert_eq!(replaced(after, "old\n", "new\n"), wanted);
        assert_eq!(
            replaced("new\nb", "old", "new"),
            diff("old\nb", "new\nb", Some(1))
        );
        assert_eq!(
            appended(Some("a\nb\nc\n"), "c\n"),
            diff("a\nb\n", "a\nb\nc\n", Some(1))
        );
        assert_eq!(created("a\n"), diff("", "a\n", Some(1)));
    }

    #[test]
    fn an_edit_that_cannot_be_found_has_no_number() {
        for (after, new) in [("new new", "new"), ("other", "new"), ("a", "")] {
            assert_eq!(
                replaced(after, "old", new),
                diff("old", new, None),
                "{after}"
            );
        }
        assert_eq!(appended(None, "c"), diff("", "c", None));
        let long = "x".repeat(usize::try_from(MAX_SEARCHED_BYTES).unwrap() + 1);
        assert_eq!(
            appended(Some(&format!("{long}c")), "c"),
            diff("", "c", None)
        );
    }
}
