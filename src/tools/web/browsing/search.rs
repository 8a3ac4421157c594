//! `web_search`: the results of DuckDuckGo as a numbered list.

use super::results::Hit;
use super::{Recency, WebSearch, duckduckgo, query};
use crate::base::problem::Outcome;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;

impl Recency {
    /// After "No results for …".
    fn words(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Day => " of the past day",
            Self::Week => " of the past week",
            Self::Month => " of the past month",
            Self::Year => " of the past year",
        }
    }
}

pub(super) fn search(ctx: &ToolContext, args: WebSearch) -> Outcome<String> {
    let hits = duckduckgo::search(ctx, &args.query, args.time_filter.word())?;
    if !hits.is_empty() {
        return Ok(listed(&hits, args.max_results));
    }
    let (query, age) = (query::one_line_query(&args.query)?, args.time_filter);
    let hint = match age {
        Recency::Any => "Try fewer or other words.",
        Recency::Day | Recency::Week | Recency::Month | Recency::Year => {
            "Try other words, or no time_filter."
        }
    };
    Ok(format!("No results for \"{query}\"{}. {hint}", age.words()))
}

/// The first results, numbered and separated by empty lines.
pub(super) fn listed(hits: &[Hit], max: usize) -> String {
    let shown = hits.iter().take(max).zip(1..);
    let shown: Vec<String> = shown
        .map(|(hit, n)| {
            let mut lines = format!("{n}. {}\n   {}", hit.title, hit.url);
            if !hit.snippet.is_empty() {
                lines.push_str("\n   ");
                lines.push_str(&hit.snippet);
            }
            lines
        })
        .collect();
    fenced("the pages found", &shown.join("\n\n"))
}
