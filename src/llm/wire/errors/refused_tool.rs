//! Which tool a server complains about when it refuses a request for the schema of one: those of MCP servers are written by anyone, and providers read
//! different parts of JSON Schema.

use super::ProviderError;

/// Names of lists of tools that an index may follow, the innermost first: Gemini's functions are in a list in its first tool.
const LISTS: [&str; 4] = [
    "function_declarations",
    "functionDeclarations",
    "tools",
    "functions",
];
/// Words without which an error is about something else.
const SCHEMA_WORDS: [&str; 6] = [
    "schema",
    "parameters",
    "properties",
    "function",
    "tool name",
    "name",
];
/// Words before a name that is not quoted.
const NOUNS: [&str; 2] = ["function", "tool"];

/// The position in `names` of the tool that `body` refuses.
pub(crate) fn refused_tool(body: &[u8], names: &[&str]) -> Option<usize> {
    let error = ProviderError::from_body(body).unpacked();
    let param = error.param.as_deref().unwrap_or_default();
    let message = error.message.as_str();
    let is_about_schemas = |text: &str| SCHEMA_WORDS.iter().any(|word| text.contains(word));
    let text = format!("{param} {message}");
    if !is_about_schemas(&text.to_lowercase()) {
        return None;
    }
    named(message, names)
        .or_else(|| index(&text))
        .filter(|at| *at < names.len())
}

/// A name that is quoted, or follows the word for a tool.
fn named(message: &str, names: &[&str]) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut before = "";
    let mut rest = message;
    while let Some(start) = rest.find(is_part) {
        let (gap, tail) = rest.split_at(start);
        let end = tail.find(|c| !is_part(c)).unwrap_or(tail.len());
        let (word, after) = tail.split_at(end);
        let is_quoted = gap.ends_with(['\'', '"', '`']) && after.starts_with(['\'', '"', '`']);
        let is_told = NOUNS.iter().any(|noun| before.eq_ignore_ascii_case(noun));
        if (is_quoted || is_told)
            && let Some(at) = names.iter().position(|name| *name == word)
        {
            return Some(at);
        }
        before = word;
        rest = after;
    }
    None
}

/// The index in a path such as `tools[3].function.parameters` or `tools.3.input_schema`.
fn index(text: &str) -> Option<usize> {
    LISTS.iter().find_map(|list| {
        text.match_indices(list).find_map(|(at, list)| {
            let after = text.get(at + list.len()..)?;
            let digits = after.strip_prefix(['[', '.', '/'])?;
            let end = digits
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(digits.len());
            digits.get(..end)?.parse().ok()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 4] = ["read_file", "tree", "shop__list", "shop__sell"];

    #[test]
    fn the_tool_of_a_refused_schema_is_found_in_the_words_of_every_server() {
        for (body, at) in [
            (
                r#"{"error":{"message":"Invalid schema for function 'shop__list': In context=('properties', 'x'), array schema missing items.","param":"tools[0].function.parameters","code":"invalid_function_parameters"}}"#,
                Some(2),
            ),
            (
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"tools.3.custom.input_schema: JSON schema is invalid."}}"#,
                Some(3),
            ),
            (
                r#"[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties[x].items: missing field.","status":"INVALID_ARGUMENT"}}]"#,
                Some(2),
            ),
            (
                r#"{"error":{"message":"invalid JSON schema for tool shop__sell, `tools[1].function.parameters`: bad ref"}}"#,
                Some(3),
            ),
            (
                r#"{"error":{"message":"Invalid 'tools[1].function.name': string does not match pattern.","param":"tools[1].function.name"}}"#,
                Some(1),
            ),
            // About something else, or about no tool that was sent.
            (
                r#"{"error":{"message":"Invalid 'tools': array too long. Expected at most 128."}}"#,
                None,
            ),
            (
                r#"{"error":{"message":"tools.9.input_schema: wrong"}}"#,
                None,
            ),
            (r#"{"error":{"message":"The tree is on fire."}}"#, None),
            (
                r#"{"error":{"message":"messages[2].content: wrong schema"}}"#,
                None,
            ),
            ("", None),
        ] {
            assert_eq!(refused_tool(body.as_bytes(), &NAMES), at, "{body}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_message_is_read(message in "(tools|\\[|9{1,30}|\\]|schema|function |shop__list|'|\"|\\PC){0,20}") {
            let at = refused_tool(message.as_bytes(), &NAMES);
            proptest::prop_assert!(at.is_none_or(|at| at < NAMES.len()));
        }
    }
}
