//! Edits of files for display.

use crate::chat::change::FileChange;
use crate::chat::display::Display;

/// Maximum size of a file that is read only to show what an edit did to it.
pub(crate) const MAX_SHOWN_BYTES: u64 = 1 << 20;

/// A new file with `text`.
pub(crate) fn created(path: &str, text: &str) -> Display {
    one(FileChange::between(path, None, Some(text)))
}

/// A file whose content was `before` and is now `after`.
pub(crate) fn changed(path: &str, before: &str, after: &str) -> Display {
    one(FileChange::between(path, Some(before), Some(after)))
}

/// `new` at the end of a file whose content is now `after`. If that is not known, its lines have no numbers.
pub(crate) fn appended(path: &str, after: Option<&str>, new: &str) -> Display {
    match after.and_then(|after| Some((after.strip_suffix(new)?, after))) {
        Some((before, after)) => changed(path, before, after),
        None => one(FileChange::between(path, Some(""), Some(new)).starting_at(None)),
    }
}

fn one(change: FileChange) -> Display {
    Display::Changes {
        files: vec![change],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(display: &Display) -> String {
        let Display::Changes { files } = display else {
            panic!("{display:?}")
        };
        files.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_edit_has_the_numbers_of_the_file_wherever_it_is() {
        assert_eq!(
            text(&changed("a", "new\n2\nold\n", "new\n2\nnew\n")),
            "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n new\n 2\n-old\n+new\n"
        );
        assert_eq!(
            text(&appended("a", Some("a\nb\nc\n"), "c\n")),
            "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n a\n b\n+c\n"
        );
        assert_eq!(
            text(&created("a", "b\n")),
            "--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+b\n"
        );
    }

    #[test]
    fn an_addition_to_an_unknown_text_has_no_numbers() {
        for after in [None, Some("other")] {
            assert_eq!(text(&appended("a", after, "c")), "--- a/a\n+++ b/a\n+c\n");
        }
    }
}
