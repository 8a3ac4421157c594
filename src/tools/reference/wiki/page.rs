//! One article from a response of the Action API, in both formats (pages as a list, or by id).

use serde_json::Value;

use super::title::Title;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::tools::output::untrusted::line;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct WikiArticle {
    /// Its own title, with redirects resolved.
    pub(super) title: Title,
    /// Its text; may be empty.
    pub(super) extract: String,
    /// A short description.
    pub(super) description: Option<String>,
    /// Its address.
    pub(super) url: Option<String>,
    pub(super) is_disambiguation: bool,
}

/// The title, description and address.
pub(super) fn heading(requested: &Title, page: &WikiArticle) -> String {
    let mut out = page.title.to_string();
    if let Some(description) = &page.description {
        out.push_str(&format!(": {description}"));
    }
    if requested.comparison_key() != page.title.comparison_key() {
        out.push_str(&format!(" (asked for as \"{requested}\")"));
    }
    if let Some(url) = &page.url {
        out.push_str(&format!("\n{url}"));
    }
    out
}

/// The page for the requested title in a response.
///
/// # Errors
/// `Missing` with the next step, when there is no such article; `Input` for a title that the service refuses.
pub(super) fn page(requested: &Title, value: &Value) -> Outcome<WikiArticle> {
    let resolved = resolve_title(value, &requested.text);
    let Some(found) = find(value, &resolved) else {
        return Err(match is_garbled(value) {
            true => Problem::network("Wikipedia answered with pages that cannot be read.")
                .next("Try again later."),
            false => missing(requested, value),
        });
    };
    let said = |flag: &str| {
        found
            .get(flag)
            .is_some_and(|own| own != &Value::Bool(false))
    };
    if said("invalid") {
        let reason = found.text("invalidreason").map(line);
        let reason = reason.unwrap_or_else(|| "it is not allowed".to_owned());
        return Err(Problem::input(format!(
            "\"{}\" cannot be an article's title: {}.",
            shown(requested),
            escape_controls(reason.trim_end_matches('.'))
        ))
        .next("Find the title with wiki_search."));
    }
    if said("missing") || said("special") {
        return Err(missing(requested, value));
    }
    let url = found.text("canonicalurl").or(found.text("fullurl"));
    let is_disambiguation = found
        .at("pageprops")
        .is_some_and(|props| props.get("disambiguation").is_some());
    Ok(WikiArticle {
        title: requested.resolved(found.text("title").unwrap_or(&requested.text)),
        extract: found.text("extract").unwrap_or_default().to_owned(),
        description: found
            .text("description")
            .or(found.text("pageprops/wikibase-shortdesc"))
            .map(line),
        url: url.map(line),
        is_disambiguation,
    })
}

/// The title that a name resolves to, by the redirects in the response.
fn resolve_title(value: &Value, name: &str) -> String {
    let mut name = name.to_owned();
    for map in ["converted", "normalized", "redirects"] {
        // A redirect may lead to another one.
        for _ in 0..4 {
            let pairs = value.at("query").map_or(&[][..], |query| query.list(map));
            let next = pairs
                .iter()
                .find(|pair| pair.text("from") == Some(&name))
                .and_then(|pair| pair.text("to"));
            match next {
                Some(next) if next != name => name = next.to_owned(),
                _ => break,
            }
        }
    }
    name
}

/// The page with that title; if there is only one page, that one.
fn find<'a>(value: &'a Value, title: &str) -> Option<&'a Value> {
    let pages: Vec<&Value> = match value.at("query/pages")? {
        Value::Array(pages) => pages.iter().collect(),
        Value::Object(pages) => pages.values().collect(),
        _ => return None,
    };
    let pages: Vec<&Value> = pages.into_iter().filter(|page| page.is_object()).collect();
    match pages.as_slice() {
        [one] => Some(one),
        pages => pages
            .iter()
            .find(|page| page.text("title") == Some(title))
            .copied(),
    }
}

/// True when all pages of a response are invalid.
fn is_garbled(value: &Value) -> bool {
    match value.at("query").and_then(|query| query.get("pages")) {
        None => false,
        Some(Value::Array(pages)) => !pages.is_empty() && !pages.iter().any(Value::is_object),
        Some(Value::Object(pages)) => !pages.is_empty() && !pages.values().any(Value::is_object),
        Some(_) => true,
    }
}

pub(super) fn missing(requested: &Title, value: &Value) -> Problem {
    let other = value.text("query/interwiki/0/iw").map(line);
    match other {
        Some(wiki) => Problem::missing(format!(
            "\"{}\" is an article of another wiki ({wiki}).",
            shown(requested)
        ))
        .next("Ask for it there with browse_web, or find one here with wiki_search."),
        None => Problem::missing(format!(
            "Wikipedia has no article \"{}\".",
            shown(requested)
        ))
        .next("Find its title with wiki_search; case and spelling count."),
    }
}

fn shown(title: &Title) -> String {
    clip(&title.to_string(), 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn requested(text: &str) -> Title {
        Title::new(text).unwrap()
    }

    #[test]
    fn both_formats_are_read_and_redirects_followed() {
        for value in [
            json!({"query": {"redirects": [{"from": "Foo", "to": "Bar baz"}], "pages": [{"pageid": 1, "title": "Bar baz", "extract": "text"}]}}),
            json!({"query": {"normalized": [{"from": "foo", "to": "Foo"}], "pages": {"1": {"pageid": 1, "title": "Bar baz", "extract": "text"}}}}),
        ] {
            let page = page(&requested("foo"), &value).unwrap();
            assert_eq!(
                (page.title.text.as_str(), page.extract.as_str()),
                ("Bar baz", "text")
            );
        }
        let several = json!({"query": {"normalized": [{"from": "b", "to": "B"}], "pages": {
            "-1": {"title": "A", "missing": ""}, "7": {"title": "B", "extract": "right"}, "-2": {"title": "C", "missing": ""}}}});
        assert_eq!(page(&requested("b"), &several).unwrap().extract, "right");
        assert!(page(&requested("C"), &several).is_err());
        let choice = json!({"query": {"pages": [{"title": "X", "pageprops": {"disambiguation": ""}, "canonicalurl": "https://w.test/X"}]}});
        let page = page(&requested("X"), &choice).unwrap();
        assert!(page.is_disambiguation && page.extract.is_empty());
        assert_eq!(page.url.as_deref(), Some("https://w.test/X"));
    }

    #[test]
    fn a_missing_article_is_reported() {
        for (value, wanted) in [
            (
                json!({"query": {"pages": [{"title": "X", "missing": true}]}}),
                "no article",
            ),
            (
                json!({"query": {"pages": {"-1": {"title": "X", "missing": ""}}}}),
                "no article",
            ),
            (
                json!({"query": {"pages": [{"title": "Special:X", "special": true}]}}),
                "no article",
            ),
            (
                json!({"query": {"interwiki": [{"title": "xx:X", "iw": "xx"}]}}),
                "another wiki (xx)",
            ),
            (json!({"batchcomplete": true}), "no article"),
            (
                json!({"query": {"pages": [{"title": "X", "invalid": true, "invalidreason": "It holds \"%58\"."}]}}),
                "title: It holds \"%58\".",
            ),
        ] {
            let problem = page(&requested("X"), &value).unwrap_err();
            assert!(problem.what.contains(wanted), "{}", problem.what);
            assert!(problem.one_line().contains("wiki_search"));
        }
        let kept =
            json!({"query": {"pages": [{"title": "X", "missing": false, "extract": "here"}]}});
        assert_eq!(page(&requested("X"), &kept).unwrap().extract, "here");
    }

    proptest! {
        #[test]
        fn redirect_loops_end(names in proptest::collection::vec(("[ab]", "[ab]"), 0..6)) {
            let pairs: Vec<Value> = names.iter().map(|(from, to)| json!({"from": from, "to": to})).collect();
            let _ = page(&requested("a"), &json!({"query": {"redirects": pairs, "pages": []}}));
        }
    }
}
