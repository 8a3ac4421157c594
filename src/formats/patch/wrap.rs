//! Finds the patch text in what a model sent as arguments.

use serde_json::Value;

/// How many nested wrappings are removed.
const MAX_DEPTH: usize = 4;

/// The patch text if `text` is one: bare, in a here-document (with or without `apply_patch` in front), in a code fence, as a JSON string, or as the
/// only value of an object (`input`, `patch`, `diff`). `None` otherwise.
pub fn unwrap_patch_text(text: &str) -> Option<String> {
    open(text, MAX_DEPTH)
}

fn open(text: &str, depth: usize) -> Option<String> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if depth == 0 {
        return None;
    }
    if text.lines().next().map(str::trim) == Some("*** Begin Patch") {
        return Some(text.to_owned());
    }
    if let Some(inner) = here_document(text).or_else(|| fence(text)) {
        return open(inner, depth - 1);
    }
    if !matches!(text.bytes().next(), Some(b'"' | b'{')) {
        return None;
    }
    match serde_json::from_str(text).ok()? {
        Value::String(inner) => open(&inner, depth - 1),
        Value::Object(object) if object.len() == 1 => ["input", "patch", "diff"]
            .iter()
            .find_map(|key| open(object.get(*key)?.as_str()?, depth - 1)),
        _ => None,
    }
}

/// `<<'EOF'`, `<<"EOF"` or `<<EOF` on the first line, `EOF` on the last.
fn here_document(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let first = first.trim();
    let first = first
        .strip_prefix("apply_patch")
        .map_or(first, str::trim_start);
    if !matches!(first, "<<EOF" | "<<'EOF'" | "<<\"EOF\"") {
        return None;
    }
    let (inner, last) = rest.trim_end().rsplit_once('\n')?;
    (last.trim() == "EOF").then_some(inner)
}

/// The content of a Markdown code fence around the whole text.
pub(crate) fn fence(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n')?;
    let (inner, last) = rest.trim_end().rsplit_once('\n')?;
    (first.starts_with("```") && last.trim() == "```").then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PATCH: &str = "*** Begin Patch\n*** Delete File: a\n*** End Patch";

    #[test]
    fn every_wrapping_is_removed() {
        let json = serde_json::to_string(PATCH).unwrap();
        for text in [
            PATCH.to_owned(),
            format!("\n {PATCH}\n\n"),
            format!("<<'EOF'\n{PATCH}\nEOF"),
            format!("<<EOF\n{PATCH}\nEOF\n"),
            format!("apply_patch <<\"EOF\"\n{PATCH}\nEOF"),
            format!("```diff\n{PATCH}\n```"),
            json.clone(),
            format!("{{\"input\": {json}}}"),
            format!("{{\"patch\": {json}}}"),
            format!("{{\"diff\": {json}}}"),
            serde_json::to_string(&format!("{{\"input\": {json}}}")).unwrap(),
        ] {
            assert_eq!(unwrap_patch_text(&text).as_deref(), Some(PATCH), "{text}");
        }
    }

    #[test]
    fn other_arguments_are_left_alone() {
        let json = serde_json::to_string(PATCH).unwrap();
        for text in [
            String::new(),
            "{}".to_owned(),
            format!("{{\"path\": \"a\", \"patch\": {json}}}"),
            format!("{{\"content\": {json}}}"),
            format!("see: {PATCH}"),
            "<<EOF\nx\nEOF".to_owned(),
        ] {
            assert_eq!(unwrap_patch_text(&text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_a_result(text in "[\"{}:<EOF'`\n\\\\a* ]{0,40}") {
            let _ = unwrap_patch_text(&text);
        }
    }
}
