//! A ticket file: its YAML front matter, and setting one value while every other byte stays the same.

use std::borrow::Cow;
use std::ops::Range;

/// One `key: value` line of the front matter.
#[derive(Debug, Clone)]
pub struct FrontMatterField<'a> {
    /// The text before the colon.
    pub key: &'a [u8],
    value: &'a [u8],
    line: Range<usize>,
}

impl FrontMatterField<'_> {
    /// The value without the space around it; what is not UTF-8 is replaced.
    pub fn value(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.value.trim_ascii())
    }
}

/// A parsed ticket file; no part is required, so any bytes can be parsed.
pub struct FrontMatter<'a> {
    bytes: &'a [u8],
    /// The lines of the front matter that have a key, in file order.
    pub fields: Vec<FrontMatterField<'a>>,
    /// The opening `---` line, with its line break.
    opening: Option<Range<usize>>,
    /// The closing line was found.
    closed: bool,
    title: Option<&'a [u8]>,
}

impl<'a> FrontMatter<'a> {
    /// Parses a file. The front matter lies between a `---` on the first line and the next `---`; later ones are text.
    pub fn parse(bytes: &'a [u8]) -> Self {
        let mut doc = Self {
            bytes,
            fields: Vec::new(),
            opening: None,
            closed: false,
            title: None,
        };
        for (range, line) in lines(bytes) {
            match (&doc.opening, doc.closed) {
                (None, _) if is_marker(line) => doc.opening = Some(range),
                (None, _) => {}
                (Some(_), false) if line == b"---" => doc.closed = true,
                (Some(_), false) => doc.fields.extend(field(range, line)),
                (Some(_), true) => {
                    if let Some(title) = line.strip_prefix(b"# ") {
                        doc.title = Some(title);
                        break;
                    }
                }
            }
        }
        doc
    }

    /// True when the whole front matter and the title were found: reading more of the file cannot change what is listed.
    pub fn is_settled(&self) -> bool {
        self.title.is_some()
    }

    /// The value of `key`; the last one if it occurs twice, as in the `tk` script.
    pub fn get(&self, key: &str) -> Option<Cow<'_, str>> {
        self.fields
            .iter()
            .rev()
            .find(|field| field.key == key.as_bytes())
            .map(FrontMatterField::value)
    }

    /// The items of the list `key`.
    pub fn list(&self, key: &str) -> Vec<String> {
        self.get(key).map(|text| items(&text)).unwrap_or_default()
    }

    /// The title: the first line after the front matter that begins with `# `, verbatim.
    pub fn title(&self) -> String {
        String::from_utf8_lossy(self.title.unwrap_or_default()).into_owned()
    }

    /// The file with `key` set to `value`; every other byte stays. A new key goes to the top of the front matter, as in the `tk` script. `None` when the file
    /// has no front matter.
    pub fn set(&self, key: &str, value: &str) -> Option<Vec<u8>> {
        let opening = self.opening.clone()?;
        let line = format!("{key}: {value}");
        let mut out = Vec::with_capacity(self.bytes.len() + line.len());
        let mut at = 0;
        for field in self.fields.iter().filter(|f| f.key == key.as_bytes()) {
            out.extend_from_slice(self.bytes.get(at..field.line.start)?);
            out.extend_from_slice(line.as_bytes());
            at = field.line.end;
        }
        if at == 0 {
            let marker = self.bytes.get(opening.clone())?;
            out.extend_from_slice(self.bytes.get(..opening.end)?);
            let end: &[u8] = if marker.ends_with(b"\r\n") {
                b"\r\n"
            } else {
                b"\n"
            };
            if !marker.ends_with(b"\n") {
                out.extend_from_slice(end);
            }
            out.extend_from_slice(line.as_bytes());
            out.extend_from_slice(end);
            at = opening.end;
        }
        out.extend_from_slice(self.bytes.get(at..)?);
        Some(out)
    }
}

/// The lines of a file: the range with the line break, and the text without it.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, &[u8])> {
    let mut at = 0;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(move |raw| {
            let range = at..at + raw.len();
            at = range.end;
            (range, without_break(raw))
        })
}

fn without_break(raw: &[u8]) -> &[u8] {
    let line = raw.strip_suffix(b"\n").unwrap_or(raw);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line `---`; the first line of the file may have a byte-order mark.
fn is_marker(line: &[u8]) -> bool {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) == b"---"
}

fn field(range: Range<usize>, line: &[u8]) -> Option<FrontMatterField<'_>> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (key, value) = (line.get(..colon)?, line.get(colon + 1..)?);
    // An indented word or one with spaces before a colon is part of other YAML, not a key.
    let plain = !key.is_empty() && !key.iter().any(|byte| byte.is_ascii_whitespace());
    plain.then(|| FrontMatterField {
        key,
        value,
        line: range.start..range.start + line.len(),
    })
}

/// The items of `[a, b]`, tolerant of brackets, quotes and spaces.
pub(crate) fn items(text: &str) -> Vec<String> {
    text.split(',')
        .map(squeezed)
        .filter(|item| !item.is_empty())
        .collect()
}

/// A list item for comparison, as the `tk` script compares: without spaces, so a tag of two words is found by both spellings.
pub(crate) fn squeezed(item: &str) -> String {
    item.chars()
        .filter(|c| !matches!(c, '[' | ']' | '"' | '\'') && !c.is_whitespace())
        .collect()
}

/// The tags of a new ticket, split at commas.
pub(crate) fn tags(text: &str) -> Vec<String> {
    one_line(text)
        .split(',')
        .map(|tag| tag.trim_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ']')))
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect()
}

/// `[a, b]`.
pub(crate) fn list_text(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

/// The contents of a new ticket.
#[derive(Debug, Clone)]
pub struct NewTicket {
    /// The title.
    pub title: String,
    /// Text below it.
    pub description: String,
    /// Text of the section Design.
    pub design: String,
    /// Text of the section Acceptance Criteria.
    pub acceptance: String,
    /// From 0 (highest) to 4.
    pub priority: i64,
    /// `bug`, `feature`, `task`, `epic` or `chore`.
    pub kind: String,
    /// The person responsible.
    pub assignee: String,
    /// Its id in another tracker.
    pub external_ref: String,
    /// Full id of the parent ticket.
    pub parent: String,
    /// Its tags.
    pub tags: Vec<String>,
}

impl Default for NewTicket {
    fn default() -> Self {
        Self {
            title: String::new(),
            description: String::new(),
            design: String::new(),
            acceptance: String::new(),
            priority: 2,
            kind: "task".to_owned(),
            assignee: String::new(),
            external_ref: String::new(),
            parent: String::new(),
            tags: Vec::new(),
        }
    }
}

impl NewTicket {
    /// The file of this ticket.
    pub fn text(&self, id: &str, created: &str) -> String {
        let mut out = format!(
            "---\nid: {id}\nstatus: open\ndeps: []\nlinks: []\ncreated: {created}\ntype: {}\npriority: {}\n",
            one_line(&self.kind),
            self.priority
        );
        for (key, value) in [
            ("assignee", one_line(&self.assignee)),
            ("external-ref", one_line(&self.external_ref)),
            ("parent", one_line(&self.parent)),
        ] {
            if !value.is_empty() {
                out.push_str(&format!("{key}: {value}\n"));
            }
        }
        let tags = tags(&self.tags.join(","));
        if !tags.is_empty() {
            out.push_str(&format!("tags: {}\n", list_text(&tags)));
        }
        let title = flat(&self.title);
        let blank = title.trim().is_empty();
        out.push_str(&format!(
            "---\n# {}\n\n",
            if blank { "Untitled" } else { &title }
        ));
        for (heading, text) in [
            ("", &self.description),
            ("## Design\n\n", &self.design),
            ("## Acceptance Criteria\n\n", &self.acceptance),
        ] {
            if !text.is_empty() {
                out.push_str(&format!("{heading}{}\n\n", without_rules(text)));
            }
        }
        out
    }
}

/// The text on one line: a line break would start another line of front matter.
fn flat(text: &str) -> String {
    text.replace("\r\n", " ").replace(['\n', '\r', '\0'], " ")
}

fn one_line(text: &str) -> String {
    flat(text).trim().to_owned()
}

/// Turns lines of three hyphens into four: the same rule in Markdown, but not the end of the front matter for the `tk` script.
pub(crate) fn without_rules(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| match line.trim_end_matches('\r') {
            "---" => "----",
            _ => line,
        })
        .collect();
    lines.join("\n")
}

/// The file with a note at its end.
pub fn with_note(bytes: &[u8], stamp: &str, text: &str) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if !lines(bytes).any(|(_, line)| line.starts_with(b"## Notes")) {
        out.extend_from_slice(b"\n## Notes\n");
    }
    let text = without_rules(text);
    out.extend_from_slice(format!("\n**{stamp}**\n\n{text}\n").as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILE: &str = "---\nid: a-1\nstatus: open\nodd:  kept  \n# a comment\ndeps: [b-2,  c-3 ]\nlinks: []\nnested:\n  status: deep\n---\n# One: two\n\nstatus: in the text\n---\n# Second\n";

    #[test]
    fn values_lists_and_title_are_read() {
        let doc = FrontMatter::parse(FILE.as_bytes());
        assert_eq!(doc.get("status").as_deref(), Some("open"));
        assert_eq!(doc.get("odd").as_deref(), Some("kept"));
        assert_eq!(doc.list("deps"), ["b-2", "c-3"]);
        assert_eq!(doc.list("links"), [] as [&str; 0]);
        assert_eq!(doc.title(), "One: two");
        assert_eq!(
            items("[\"a-1\", 'b-2', two words]"),
            ["a-1", "b-2", "twowords"]
        );
        let wide = FrontMatter::parse(b"---\n---\n#   wide  \r\n");
        assert_eq!(wide.title(), "  wide  ");
        assert_eq!(doc.get("parent"), None);
    }

    #[test]
    fn setting_a_value_changes_that_line_alone() {
        for end in ["\n", "\r\n"] {
            let file = FILE.replace('\n', end);
            let doc = FrontMatter::parse(file.as_bytes());
            assert_eq!(doc.title(), "One: two");
            let with = |key, value| String::from_utf8(doc.set(key, value).unwrap()).unwrap();
            let closed = file.replacen("status: open", "status: closed", 1);
            assert_eq!(with("status", "closed"), closed);
            let marker = format!("---{end}");
            let parent = file.replacen(&marker, &format!("{marker}parent: x{end}"), 1);
            assert_eq!(with("parent", "x"), parent);
        }
    }

    #[test]
    fn a_file_without_front_matter_is_still_parsed() {
        for text in ["", "# Readme\n", "--- \nid: a\n", "no\nlines"] {
            let doc = FrontMatter::parse(text.as_bytes());
            assert!(doc.set("status", "open").is_none(), "{text:?}");
            assert_eq!(doc.get("id"), None);
        }
        let marked = FrontMatter::parse(b"\xef\xbb\xbf---\nid: a\n---\n");
        assert_eq!(marked.get("id").as_deref(), Some("a"));
        // Without the closing line the front matter runs to the end of the file; a value can still be set.
        let open = FrontMatter::parse(b"---\nid: a").set("status", "open");
        assert_eq!(open.unwrap(), b"---\nstatus: open\nid: a");
        let empty = FrontMatter::parse(b"---").set("id", "a");
        assert_eq!(empty.unwrap(), b"---\nid: a\n");
    }

    #[test]
    fn a_new_file_has_the_key_order_of_the_script() {
        let new = NewTicket {
            title: "Two\nlines".into(),
            description: "D\n---\nE".into(),
            design: "X".into(),
            assignee: "Ann Ex".into(),
            parent: "p-1".into(),
            tags: vec!["ui".into(), " back end".into(), " ".into()],
            ..NewTicket::default()
        };
        assert_eq!(
            new.text("a-1", "T"),
            "---\nid: a-1\nstatus: open\ndeps: []\nlinks: []\ncreated: T\ntype: task\npriority: 2\nassignee: Ann Ex\nparent: p-1\ntags: [ui, back end]\n---\n# Two lines\n\nD\n----\nE\n\n## Design\n\nX\n\n"
        );
        let empty = NewTicket::default().text("a-1", "T");
        assert!(empty.ends_with("priority: 2\n---\n# Untitled\n\n"));
    }

    #[test]
    fn notes_are_appended_below_one_heading() {
        let once = with_note(b"---\nid: a\n---\n# T\n\n", "S", "one");
        let twice = String::from_utf8(with_note(&once, "S", "")).unwrap();
        assert_eq!(
            twice,
            "---\nid: a\n---\n# T\n\n\n## Notes\n\n**S**\n\none\n\n**S**\n\n\n"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read_and_only_the_value_changes(bytes in proptest::collection::vec(any::<u8>(), 0..400), front in any::<bool>()) {
            let mut file = if front { b"---\n".to_vec() } else { Vec::new() };
            file.extend(bytes);
            let doc = FrontMatter::parse(&file);
            let _ = (doc.title(), doc.list("deps"));
            if let Some(new) = doc.set("status", "closed") {
                let again = FrontMatter::parse(&new);
                prop_assert_eq!(again.get("status").as_deref().map(str::to_owned), Some("closed".to_owned()));
                prop_assert_eq!(again.title(), doc.title());
                let others = |doc: &FrontMatter| doc.fields.iter().filter(|f| f.key != b"status").map(|f| (f.key.to_vec(), f.value.to_vec())).collect::<Vec<_>>();
                prop_assert_eq!(others(&again), others(&doc));
            }
        }

        #[test]
        fn hand_edited_front_matter_comes_back_byte_for_byte(
            lines in proptest::collection::vec("[a-z#\\- ]{0,6}:?[ -~äß😀]{0,12}", 0..12),
            body in "[ -~\n]{0,80}",
            end in prop_oneof![Just("\n"), Just("\r\n")],
        ) {
            let mut file = format!("---{end}id: x-1{end}status: open{end}");
            for line in lines.iter().filter(|line| *line != "---" && !line.starts_with("status:")) {
                file.push_str(line);
                file.push_str(end);
            }
            file.push_str(&format!("---{end}# T{end}{body}"));
            let doc = FrontMatter::parse(file.as_bytes());
            let closed = doc.set("status", "closed").unwrap();
            prop_assert_eq!(String::from_utf8(closed.clone()).unwrap(), file.replacen("status: open", "status: closed", 1));
            let back = FrontMatter::parse(&closed).set("status", "open").unwrap();
            prop_assert_eq!(back, file.into_bytes());
        }

        #[test]
        fn a_written_ticket_is_read_back(title in "\\PC{0,40}", text in "\\PC{0,40}", tags in proptest::collection::vec("[a-zäß0-9]{1,6}", 0..4), ends in any::<bool>()) {
            let new = NewTicket { title: title.clone(), description: format!("{text}\n---\n# x"), tags: tags.clone(), assignee: text.clone(), ..NewTicket::default() };
            let mut file = new.text("id-1", "now").into_bytes();
            if ends { file = with_note(&file, "s", &text); }
            let doc = FrontMatter::parse(&file);
            prop_assert!(doc.get("id").is_some_and(|id| id == "id-1"));
            prop_assert_eq!(doc.list("tags"), tags);
            let wanted = if title.trim().is_empty() { "Untitled".to_owned() } else { title.clone() };
            prop_assert_eq!(doc.title(), wanted);
            prop_assert!(lines(&file).filter(|(_, line)| *line == b"---").count() == 2);
        }
    }
}
