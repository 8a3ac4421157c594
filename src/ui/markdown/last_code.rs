//! The code of a Markdown text as it was written, for copying: what is shown has its tabs and control characters replaced.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// The last block of code of `text`, fenced or indented; one that has not ended goes to the end of the text.
pub(crate) fn last_code(text: &str) -> Option<String> {
    let mut last = None;
    let mut open: Option<String> = None;
    for event in Parser::new(text) {
        match (event, &mut open) {
            (Event::Start(Tag::CodeBlock(_)), _) => open = Some(String::new()),
            (Event::Text(part), Some(code)) => code.push_str(&part),
            (Event::End(TagEnd::CodeBlock), _) => last = open.take().or(last),
            _ => {}
        }
    }
    open.or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_taken_as_it_was_written() {
        let text = "Two:\n```make\nall:\n\techo \x07hi\n```\nand\n> ```\n> quoted\n> ```\nend.";
        assert_eq!(last_code(text).as_deref(), Some("quoted\n"));
        let first = text.split("and").next().unwrap();
        assert_eq!(last_code(first).as_deref(), Some("all:\n\techo \x07hi\n"));
        assert_eq!(
            last_code("So:\n\n    indented\n").as_deref(),
            Some("indented\n")
        );
        assert_eq!(last_code("```\nhalf of").as_deref(), Some("half of"));
        assert_eq!(last_code("`inline` only"), None);
    }
}
