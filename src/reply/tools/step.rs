//! A planned step as a call, where the step says all that the call needs.

use serde_json::{Map, Value};

use super::aliases::KnownTools;
use super::call::WrittenCall;
use crate::base::word_list::WordList;

/// Arguments that are web addresses, in plain spelling.
const URL_KEYS: WordList = WordList("url uri href link address target_url page_url location");

/// The call that a step describes, without asking a model: `name key='value' …`. `None` when something is left to be worked out.
pub(crate) fn fast(step: &str, tools: &KnownTools) -> Option<WrittenCall> {
    if step
        .find('<')
        .is_some_and(|open| step.get(open..).is_some_and(|rest| rest.contains('>')))
    {
        return None;
    }
    let (name, rest) = leading_name(step)?;
    let tool = tools.meant(name)?;
    let rest = rest.trim();
    let mut args = Map::new();
    if !rest.is_empty() {
        let pairs = pairs(rest);
        if pairs.found.is_empty() || pairs.is_ambiguous {
            return None;
        }
        args = tool.typed(&pairs.found)?;
    }
    clean_urls(&mut args);
    Some(WrittenCall {
        name: tool.name.clone(),
        args,
    })
}

/// The identifier that a step begins with, and what follows it and its colon.
pub(crate) fn leading_name(step: &str) -> Option<(&str, &str)> {
    let step =
        step.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '`' | '*' | '"' | '\''));
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let end = step.find(|c| !is_name(c)).unwrap_or(step.len());
    let (name, rest) = step.split_at_checked(end)?;
    let rest = rest.trim_start_matches(['`', '*']);
    let is_end = rest.is_empty()
        || rest.starts_with(|c: char| c.is_whitespace() || matches!(c, '(' | ':' | ','));
    let name = name.trim_end_matches('.');
    (is_end && !name.is_empty()).then_some((name, rest.strip_prefix(':').unwrap_or(rest)))
}

/// `key=value` pairs of a text.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    pub found: Vec<(String, String)>,
    /// Nothing but pairs and punctuation.
    pub is_complete: bool,
    /// A value without quotes is followed by words that could belong to it.
    pub is_ambiguous: bool,
}

/// Reads `key='v'`, `key="v"` and `key=v`.
pub(crate) fn pairs(text: &str) -> Pairs {
    let mut pairs = Pairs {
        is_complete: true,
        ..Pairs::default()
    };
    let mut rest = text;
    let mut after_bare = false;
    loop {
        let is_filler = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '.');
        rest = rest.trim_start_matches(is_filler);
        if rest.is_empty() {
            return pairs;
        }
        let Some((key, value)) = key_at(rest) else {
            pairs.is_complete = false;
            pairs.is_ambiguous |= after_bare;
            after_bare = false;
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest = rest.get(end..).unwrap_or_default();
            continue;
        };
        let (value, after, quoted) = value_of(value);
        pairs.found.push((key.to_owned(), value.to_owned()));
        after_bare = !quoted;
        rest = after;
    }
}

/// A key and what follows its equals sign.
fn key_at(text: &str) -> Option<(&str, &str)> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let end = text
        .find(|c| !is_name(c))
        .filter(|end| (1..=64).contains(end))?;
    let (key, rest) = text.split_at_checked(end)?;
    let value = rest.strip_prefix('=')?;
    (key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !value.starts_with('='))
        .then_some((key, value))
}

/// The value at the start, what follows it, and whether it was in quotes.
fn value_of(text: &str) -> (&str, &str, bool) {
    for (open, close) in [('\'', '\''), ('"', '"'), ('`', '`'), ('“', '”'), ('‘', '’')] {
        let Some(inside) = text.strip_prefix(open) else {
            continue;
        };
        // An apostrophe inside a value in single quotes does not end it.
        let mut closing = inside
            .match_indices(close)
            .map(|(at, quote)| (at, at + quote.len()));
        let ends = |after: &str| {
            let after = after.trim_start_matches([',', ';', ')', '.']);
            after.is_empty() || after.starts_with(char::is_whitespace)
        };
        let end = closing
            .clone()
            .find(|(_, after)| inside.get(*after..).is_some_and(ends))
            .or_else(|| closing.next());
        if let Some((end, after)) = end {
            return (
                inside.get(..end).unwrap_or_default(),
                inside.get(after..).unwrap_or_default(),
                true,
            );
        }
    }
    let end = text
        .find(|c: char| c.is_whitespace() || matches!(c, ',' | ';'))
        .unwrap_or(text.len());
    let (value, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    (value.trim_end_matches(')'), rest, false)
}

/// Makes addresses of what models write in their place: a Markdown link, a domain without scheme.
pub(crate) fn clean_urls(args: &mut Map<String, Value>) {
    for (key, value) in args.iter_mut() {
        if URL_KEYS.has_in_any_case(key)
            && let Some(url) = value.as_str().and_then(cleaned)
        {
            *value = Value::from(url);
        }
    }
}

fn cleaned(text: &str) -> Option<String> {
    let text = text.trim();
    if let Some((_, target)) = text
        .strip_prefix('[')
        .and_then(|link| link.split_once("]("))
        && let Some(url) = target.strip_suffix(')')
        && url.starts_with("http")
    {
        return Some(url.to_owned());
    }
    is_bare_domain(text).then(|| format!("https://{text}"))
}

/// `example.org`, also with port and path.
fn is_bare_domain(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = host.split_once(':').unwrap_or((host, "0"));
    let is_label = |label: &str| {
        !label.is_empty()
            && label.chars().all(|c| c.is_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_top = last.starts_with("xn--")
        || last.chars().count() >= 2 && last.chars().all(char::is_alphabetic);
    host.contains('.')
        && host.split('.').all(is_label)
        && is_top
        && !text.contains(char::is_whitespace)
        && !port.is_empty()
        && port.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn tools() -> KnownTools {
        let schema = json!({
            "web_search": {"query": "string", "max_results": "integer"},
            "browse_web": {"url": "string"},
            "find_trains": {"location": "string", "days": "integer", "direct": "boolean", "limit": "number"},
        });
        KnownTools::of_json(schema.as_object().unwrap())
    }

    #[test]
    fn a_concrete_step_becomes_a_call() {
        for (step, name, args) in [
            (
                "web_search query='lighthouse keepers'",
                "web_search",
                json!({"query": "lighthouse keepers"}),
            ),
            (
                "webSearch: query=\"keepers, 1900\" max_results=3",
                "web_search",
                json!({"query": "keepers, 1900", "max_results": 3}),
            ),
            (
                "`web_search` search_query='x'",
                "web_search",
                json!({"query": "x"}),
            ),
            (
                "web_search(query='x', max_results='4')",
                "web_search",
                json!({"query": "x", "max_results": 4}),
            ),
            (
                "web_search query='Land's End and Lizard Point'.",
                "web_search",
                json!({"query": "Land's End and Lizard Point"}),
            ),
            ("find_trains", "find_trains", json!({})),
            (
                "find_trains location=Wick days=2 direct=true limit=1.5",
                "find_trains",
                json!({"location": "Wick", "days": 2, "direct": true, "limit": 1.5}),
            ),
            (
                "find_trains for location='Wick' and days='two'",
                "find_trains",
                json!({"location": "Wick", "days": "two"}),
            ),
            (
                "browse_web url=ferries.example/times",
                "browse_web",
                json!({"url": "https://ferries.example/times"}),
            ),
            (
                "browse_web url='[Ferries](https://ferries.example)'",
                "browse_web",
                json!({"url": "https://ferries.example"}),
            ),
            (
                "web_search query='木の歴史' ",
                "web_search",
                json!({"query": "木の歴史"}),
            ),
        ] {
            let call = fast(step, &tools()).map(|call| (call.name, Value::Object(call.args)));
            assert_eq!(call, Some((name.to_owned(), args)), "{step}");
        }
    }

    #[test]
    fn a_step_with_open_questions_is_left_to_a_model() {
        for step in [
            "web_search query='ships built by <owner of the yard>'",
            "web_search something about ships",
            "web_search query=ships of 1900",
            "web_search colour='red'",
            "paint query='ships'",
            "Reply to the user.",
            "",
            "=",
            "web_searchquery='x'",
        ] {
            assert_eq!(fast(step, &tools()), None, "{step}");
        }
    }

    #[test]
    fn addresses_are_completed_and_places_stay() {
        for (key, given, want) in [
            ("URL", "ferries.example", "https://ferries.example"),
            (
                "link",
                "bücher.example:8080/a?b",
                "https://bücher.example:8080/a?b",
            ),
            ("href", "http://ferries.example", "http://ferries.example"),
            ("location", "Wick", "Wick"),
            ("location", "Washington D.C.", "Washington D.C."),
            ("location", "58.44,-3.09", "58.44,-3.09"),
            ("address", "ada@ships.example", "ada@ships.example"),
            ("url", "10.0.0.1", "10.0.0.1"),
            ("url", "-a.example", "-a.example"),
            ("query", "ferries.example", "ferries.example"),
        ] {
            let mut args = Map::from_iter([(key.to_owned(), Value::from(given))]);
            clean_urls(&mut args);
            assert_eq!(args.get(key), Some(&Value::from(want)), "{given}");
        }
    }

    proptest! {
        #[test]
        fn any_step_is_read(step in "(web_search|find_trains)?([ =:,('\"`<>]|query=|\\PC){0,30}") {
            if let Some(call) = fast(&step, &tools()) {
                prop_assert!(tools().find(&call.name).is_some());
            }
        }

        #[test]
        fn a_quoted_value_comes_back(value in "[\\p{L}\\p{N} .,:;!?&%/#+-]{1,40}") {
            let call = fast(&format!("web_search query=\"{value}\""), &tools()).unwrap();
            prop_assert_eq!(call.args.get("query"), Some(&Value::from(value)));
        }
    }
}
