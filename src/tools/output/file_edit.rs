//! Edits of files for display: with line numbers and context.

use crate::chat::display::Display;

/// Maximum size of a file that is searched for an edit.
pub(crate) const MAX_SEARCHED_BYTES: u64 = 1 << 20;
/// Lines of context around an edit, counting the one that its first or last line may share.
const CONTEXT_LINES: usize = 3;

/// A new file with `text`.
pub(crate) fn created(text: &str) -> Display {
    Display::Diff {
        old: String::new(),
        new: text.to_owned(),
        first_line: Some(1),
    }
}

/// `new` replaced `old` in a file whose content is now `after`.
pub(crate) fn replaced(after: &str, old: &str, new: &str) -> Display {
    // If it occurs twice, nobody can tell which one is new.
    let found = after
        .split_once(new)
        .filter(|(_, rest)| !new.is_empty() && !rest.contains(new));
    locate(old, new, found)
}

/// `new` at the end of a file whose content is now `after`, if known.
pub(crate) fn appended(after: Option<&str>, new: &str) -> Display {
    let before = after.and_then(|after| after.strip_suffix(new));
    locate("", new, before.map(|before| (before, "")))
}

fn locate(old: &str, new: &str, around: Option<(&str, &str)>) -> Display {
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
    fn an_edit_is_shown_with_line_numbers_and_context() {
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
    fn an_unlocatable_edit_has_no_line_numbers() {
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
