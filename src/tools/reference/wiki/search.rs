//! `wiki_search`: full-text search of articles.

use serde_json::Value;

use super::api::action;
use super::title::split;
use super::{LICENCE, WikiSearch};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::clip;
use crate::formats::html;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, shown_of};
use crate::tools::output::untrusted::{fenced, line};

pub(super) struct WikiHits {
    total: Option<u64>,
    suggestion: Option<String>,
    /// Titles and snippets.
    pub(super) hits: Vec<(String, String)>,
}

pub(super) fn search(ctx: &ToolContext, args: WikiSearch) -> Outcome<String> {
    let (language, query) = split(&args.query);
    let query = line(query);
    if query.is_empty() {
        return Err(Problem::input("There is nothing to search Wikipedia for.")
            .next("Give words, for example \"tide mill\"."));
    }
    let found = find(ctx, language.as_deref(), &query, args.max_results)?;
    let shown = clip(&query, 200);
    if found.hits.is_empty() {
        let mut out = format!("Wikipedia has no articles for \"{shown}\".");
        if let Some(better) = found.suggestion {
            out.push_str(&format!(" It suggests \"{better}\"."));
        }
        return Ok(out);
    }
    let count = shown_of(found.hits.len(), found.total, "article");
    let mut out = String::new();
    for (n, (title, snippet)) in found.hits.iter().enumerate() {
        let title = match &language {
            Some(language) if language != "en" => format!("{language}:{title}"),
            _ => title.clone(),
        };
        out.push_str(&format!("{}. {title}\n", n + 1));
        if !snippet.is_empty() {
            out.push_str(&format!("   {snippet}\n"));
        }
    }
    Ok(format!(
        "Wikipedia: {count} for \"{shown}\":\n{}\n{LICENCE}. wiki_summary reads one by its title.",
        fenced("Wikipedia", &out)
    ))
}

/// Searches the Wikipedia in `language`.
pub(super) fn find(
    ctx: &ToolContext,
    language: Option<&str>,
    query: &str,
    max: u32,
) -> Outcome<WikiHits> {
    let value = action(ctx, language, |ask| {
        ask.query("list", "search")
            .query("srsearch", query)
            .query("srlimit", max)
            .query("srprop", "snippet")
            .query("srinfo", "totalhits|suggestion")
    })?;
    let sound = |found: &WikiHits| !found.hits.is_empty() || found.total.unwrap_or_default() == 0;
    read(&value).filter(sound).ok_or_else(|| {
        Problem::network("Wikipedia sent an invalid answer to a search.").next("Try again later.")
    })
}

/// The hits in a response; `None` for an unexpected response.
fn read(value: &Value) -> Option<WikiHits> {
    let search = value.at("query/search")?.as_array()?;
    let hits = search.iter().filter_map(|hit| {
        let title = line(hit.text("title")?);
        Some((
            title,
            line(&html::line(hit.text("snippet").unwrap_or_default())),
        ))
    });
    Some(WikiHits {
        total: count(value, "query/searchinfo/totalhits"),
        suggestion: value.text("query/searchinfo/suggestion").map(line),
        hits: hits.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn snippets_are_plain_text() {
        let found = read(&json!({"query": {"searchinfo": {"totalhits": 2}, "search": [
            {"title": "A &amp; B", "snippet": "<span class='searchmatch'>A</span> &lt;b&gt; &amp;amp; c&#039;s"},
            {"title": "C"}, {"snippet": "no title"}, null,
        ]}}))
        .unwrap();
        assert_eq!(
            found.hits,
            [
                ("A &amp; B".to_owned(), "A <b> &amp; c's".to_owned()),
                ("C".to_owned(), String::new())
            ]
        );
        assert!(read(&json!({"query": {}})).is_none());
    }
}
