//! Parses a patch into sections; every error names the line.

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// A parsed patch; has at least one section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// In the order of the text, in which they are applied.
    pub sections: Vec<Section>,
}

/// The change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Section {
    /// A file is written, even over an existing one.
    Add {
        /// As written in the patch.
        path: String,
        /// The whole content; empty or ending in a line feed.
        text: String,
    },
    /// A file is removed.
    Delete {
        /// As written in the patch.
        path: String,
    },
    /// A file is changed, and moved when `to` is given.
    Update {
        /// As written in the patch.
        path: String,
        /// The new path, as written in the patch.
        to: Option<String>,
        /// At least one, in file order.
        chunks: Vec<PatchChunk>,
    },
}

/// One place of change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchChunk {
    /// The text after `@@`: a line of the file above the place.
    pub anchor: Option<String>,
    /// The lines of the chunk.
    pub lines: Vec<PatchLine>,
    /// Prefers the end of the file if the chunk matches there.
    pub at_end: bool,
    /// Its line in the patch, 1-based.
    pub number: usize,
}

/// A line of a chunk, without its mark and its line break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchLine {
    /// Stays in the file.
    Keep(String),
    /// Is removed from the file.
    Remove(String),
    /// Is added to the file.
    Add(String),
}

const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// Parses a bare patch text (see [`super::unwrap_patch_text`] for wrapped ones).
///
/// # Errors
/// `Input` with the line of the patch and what belongs there.
pub fn parse(text: &str) -> Outcome<Patch> {
    let lines: Vec<&str> = text.trim().lines().collect();
    let body = match lines.as_slice() {
        [first, body @ .., last] if is(first, "*** Begin Patch") && is(last, "*** End Patch") => {
            body
        }
        [first, ..] if is(first, "*** Begin Patch") => {
            return Err(
                Problem::input("The last line of the patch must be \"*** End Patch\".")
                    .next("If the text was cut off, send a smaller patch."),
            );
        }
        _ => {
            return Err(
                Problem::input("The first line of the patch must be \"*** Begin Patch\".")
                    .next(EXAMPLE),
            );
        }
    };
    let mut reader = PatchReader { body, at: 0 };
    let mut sections = Vec::new();
    while reader.skip_blank() {
        sections.push(reader.section()?);
    }
    if sections.is_empty() {
        return Err(Problem::input("The patch is empty: no files were modified.").next(EXAMPLE));
    }
    Ok(Patch { sections })
}

const EXAMPLE: &str = "A patch looks like this:\n*** Begin Patch\n*** Update File: src/main.rs\n@@\n unchanged line\n-old line\n+new line\n*** End Patch";

/// Reads the lines between the outer markers.
struct PatchReader<'a> {
    body: &'a [&'a str],
    at: usize,
}

impl<'a> PatchReader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.body.get(self.at).copied()
    }

    /// The number of the next line of the patch, 1-based.
    fn number(&self) -> usize {
        self.at + 2
    }

    fn invalid(&self, what: &str) -> Problem {
        Problem::input(format!("Line {} of the patch: {what}", self.number()))
    }

    /// Skips empty lines; false at the end.
    fn skip_blank(&mut self) -> bool {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
        self.peek().is_some()
    }

    fn section(&mut self) -> Outcome<Section> {
        let line = self.peek().unwrap_or_default();
        if let Some(path) = header(line, ADD) {
            let path = self.path(path)?;
            self.at += 1;
            let text = self.added()?;
            Ok(Section::Add { path, text })
        } else if let Some(path) = header(line, DELETE) {
            let path = self.path(path)?;
            self.at += 1;
            Ok(Section::Delete { path })
        } else if let Some(path) = header(line, UPDATE) {
            let path = self.path(path)?;
            self.update(path)
        } else {
            Err(self
                .invalid(&format!("{} is not the start of a section.", shown(line)))
                .next(format!(
                    "Sections start with \"{ADD} PATH\", \"{DELETE} PATH\" or \"{UPDATE} PATH\"."
                )))
        }
    }

    fn path(&self, path: &str) -> Outcome<String> {
        if path.is_empty() {
            return Err(self
                .invalid("the path is missing.")
                .next("Write it after the colon."));
        }
        Ok(path.to_owned())
    }

    fn added(&mut self) -> Outcome<String> {
        let mut text = String::new();
        while let Some(line) = self.peek().and_then(|line| line.strip_prefix('+')) {
            text.push_str(line);
            text.push('\n');
            self.at += 1;
        }
        // An empty line may only separate sections; inside the new file it would be lost silently.
        let blank = self.at;
        self.skip_blank();
        if self.at > blank && self.peek().is_some_and(|line| line.starts_with('+')) {
            self.at = blank;
            return Err(self
                .invalid("an empty line in a new file needs a \"+\" too.")
                .next("Put \"+\" in front of every line of the new file."));
        }
        Ok(text)
    }

    fn update(&mut self, path: String) -> Outcome<Section> {
        let start = self.at;
        self.at += 1;
        let mut to = None;
        if let Some(target) = self.peek().and_then(|line| header(line, MOVE)) {
            to = Some(self.path(target)?);
            self.at += 1;
        }
        let mut chunks = Vec::new();
        while self.skip_blank() && !self.peek().is_some_and(|line| line.starts_with("***")) {
            // A section header may be indented; a context line must follow something.
            if chunks.is_empty() && self.peek().is_some_and(is_header) {
                break;
            }
            let chunk = self.chunk(chunks.is_empty())?;
            chunks.push(chunk);
        }
        if chunks.is_empty() {
            self.at = start;
            return Err(self
                .invalid(&format!("the update of {} changes nothing.", shown(&path)))
                .next("Add \"@@\" and lines that start with \" \", \"-\" or \"+\"; to move a file, change or repeat a line of it too."));
        }
        Ok(Section::Update { path, to, chunks })
    }

    fn chunk(&mut self, first: bool) -> Outcome<PatchChunk> {
        let number = self.number();
        let line = self.peek().unwrap_or_default();
        let anchor = match line.strip_prefix("@@") {
            Some("") => None,
            Some(text) if text.trim().is_empty() => None,
            Some(text) if text.starts_with(' ') => {
                Some(text.strip_prefix(' ').unwrap_or(text).to_owned())
            }
            _ if first => {
                // The first chunk needs no `@@`.
                self.at = self.at.wrapping_sub(1);
                None
            }
            _ => {
                return Err(self
                    .invalid(&format!("expected \"@@\" before the next change, got {}.", shown(line)))
                    .next("Start every change but the first with \"@@\", and every line in it with \" \", \"-\" or \"+\"."));
            }
        };
        self.at = self.at.wrapping_add(1);
        let mut lines = Vec::new();
        let mut at_end = false;
        while let Some(line) = self.peek() {
            if line.trim_end() == END_OF_FILE {
                self.at += 1;
                at_end = true;
                break;
            }
            lines.push(match line.split_at_checked(1) {
                None if line.is_empty() => PatchLine::Keep(String::new()),
                Some((" ", text)) => PatchLine::Keep(text.to_owned()),
                Some(("-", text)) => PatchLine::Remove(text.to_owned()),
                Some(("+", text)) => PatchLine::Add(text.to_owned()),
                _ => break,
            });
            self.at += 1;
        }
        if lines.is_empty() {
            let found = self.peek().map_or("the end".to_owned(), shown);
            return Err(self
                .invalid(&format!("expected a line starting with \" \", \"-\" or \"+\", got {found}."))
                .next("One \"@@\" line stands before each change; a second one right after it is not understood."));
        }
        Ok(PatchChunk {
            anchor,
            lines,
            at_end,
            number,
        })
    }
}

/// The rest of a header line; white space around the marker is ignored.
fn header<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.trim().strip_prefix(mark).map(str::trim)
}

fn is_header(line: &str) -> bool {
    [ADD, DELETE, UPDATE]
        .iter()
        .any(|mark| header(line, mark).is_some())
}

fn is(line: &str, mark: &str) -> bool {
    line.trim() == mark
}

fn shown(line: &str) -> String {
    format!("\"{}\"", clip(&escape_controls(line), 80))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn patch_lines(body: &str) -> Outcome<Patch> {
        parse(&format!("*** Begin Patch\n{body}\n*** End Patch\n"))
    }

    #[test]
    fn all_sections_in_one() {
        let patch = patch_lines(
            "*** Add File: a b.txt\n+one\n+\n\n*** Delete File: d\n*** Update File: u\n*** Move to: v\n@@ fn x()\n keep\n-old\n+new\n*** End of File\n@@\n\n-x",
        )
        .unwrap();
        let [
            Section::Add { path, text },
            Section::Delete { path: gone },
            Section::Update {
                path: from,
                to,
                chunks,
            },
        ] = patch.sections.as_slice()
        else {
            panic!("{patch:?}");
        };
        let read = (path.as_str(), text.as_str(), gone.as_str());
        assert_eq!(read, ("a b.txt", "one\n\n", "d"));
        assert_eq!((from.as_str(), to.as_deref()), ("u", Some("v")));
        let [first, second] = chunks.as_slice() else {
            panic!("{chunks:?}")
        };
        let read = (first.anchor.as_deref(), first.at_end, first.number);
        assert_eq!(read, (Some("fn x()"), true, 9));
        assert_eq!(first.lines.len(), 3);
        let (kept, removed) = (String::new(), "x".to_owned());
        let lines = [PatchLine::Keep(kept), PatchLine::Remove(removed)];
        assert_eq!(second.lines, lines);
    }

    #[test]
    fn errors_name_the_line_and_what_is_expected() {
        for (body, line, words) in [
            ("*** Frobnicate File: x", "Line 2", "*** Add File:"),
            ("*** Add File: a\n+x\n\n+y", "Line 4", "\"+\""),
            ("*** Add File: a\nx", "Line 3", "start of a section"),
            ("*** Add File:   ", "Line 2", "path is missing"),
            ("*** Update File: a", "Line 2", "changes nothing"),
            (
                "*** Update File: a\n*** Move to: b",
                "Line 2",
                "changes nothing",
            ),
            ("*** Update File: a\n@@\n@@\n-x", "Line 4", "\"@@\""),
            (
                "*** Update File: a\n@@\n-x\nstray",
                "Line 5",
                "expected \"@@\"",
            ),
            ("*** Update File: a\nstray", "Line 3", "starting with"),
            (
                "*** Update File: a\n@@\n*** End of File",
                "Line 5",
                "the end",
            ),
        ] {
            let text = patch_lines(body).unwrap_err().for_model();
            for words in [line, words] {
                assert!(text.contains(words), "{body:?}: {text}");
            }
        }
        assert!(parse("").is_err());
        assert!(parse("*** Begin Patch").is_err());
        assert!(parse("*** Begin Patch\n*** End Patch").is_err());
    }

    #[test]
    fn carriage_returns_are_not_content() {
        let patch = parse("*** Begin Patch\r\n*** Add File: a\r\n+x\r\n*** End Patch\r\n").unwrap();
        let (path, text) = ("a".into(), "x\n".into());
        assert_eq!(patch.sections, [Section::Add { path, text }]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            lines in proptest::collection::vec(
                prop_oneof![
                    Just("*** Begin Patch".to_owned()), Just("*** End Patch".to_owned()), Just("*** Update File: a".to_owned()),
                    Just("*** Add File: b".to_owned()), Just("*** Delete File: c".to_owned()), Just("*** Move to: d".to_owned()),
                    Just("*** End of File".to_owned()), Just("@@".to_owned()), "@@ ?\\PC{0,5}", "[ +\\-@*]?\\PC{0,6}",
                ],
                0..12,
            )
        ) {
            let text = lines.join("\n");
            let _ = parse(&text);
            let _ = patch_lines(&text);
        }
    }
}
