//! Module `web`: what the web says: a search, the news.

mod duckduckgo;
mod limit;
mod link;
mod news;
mod query;
pub mod results;
mod search;

use super::READ;
use super::context::Ctx;
use crate::base::error::Outcome;
use crate::net::services::{DUCKDUCKGO, DUCKDUCKGO_LITE, DUCKDUCKGO_NEWS, GNEWS, NEWSAPI, Service};

/// Who is asked for pages, and for news: the former too when the latter cannot be used.
static SEARCH: [&Service; 2] = [&DUCKDUCKGO, &DUCKDUCKGO_LITE];
static NEWS: [&Service; 5] = [
    &GNEWS,
    &NEWSAPI,
    &DUCKDUCKGO_NEWS,
    &DUCKDUCKGO,
    &DUCKDUCKGO_LITE,
];

crate::choice! {
    /// How old a page may be.
    pub enum Recency {
        /// Of any age.
        Any = "",
        /// A day.
        Day = "d",
        /// A week.
        Week = "w",
        /// A month.
        Month = "m",
        /// A year.
        Year = "y",
    }
}

crate::choice! {
    /// How old an article may be.
    pub enum NewsAge {
        /// Two days.
        Usual = "",
        /// A day.
        Day = "d",
        /// A week.
        Week = "w",
        /// A month.
        Month = "m",
    }
}

crate::tools! { "web";
    /// General web search; the default choice for lookups.
    web_search(WebSearch; READ.seconds(15).service("duckduckgo").asks(&SEARCH)) {
        /// search text
        query: String, example: "rust ownership explained", alias: &["q", "search"];
        /// how many
        max_results: usize = 5, min: 1, max: 20, alias: &["limit", "count"];
        /// recency: any, day, week, month, year
        time_filter: Recency = "", alias: &["recency"];
    } => search::search, says [
        "search the web for {query}", "search online for {query}", "web search for {query}", "search the internet for {query}",
    ];

    /// Recent articles from several sources, merged.
    search_news(SearchNews; READ.seconds(20).service("gnews, newsapi, duckduckgo-news").asks(&NEWS)) {
        /// topic
        query: String, example: "tidal power", alias: &["q", "topic"];
        /// per source
        max_results: usize = 20, min: 1, max: 50, alias: &["limit", "count"];
        /// recency
        time_filter: NewsAge = "", alias: &["recency"];
    } => news::search, says [
        "news about {query}", "news on {query}", "latest news about {query}", "search the news for {query}",
        "this week's news about {query}{time_filter=w}",
    ];
}

/// What `web_search` says of `query`: for tools whose own service has no key.
pub(super) fn instead(ctx: &Ctx, query: &str, max_results: usize) -> Outcome<String> {
    let query = query.to_owned();
    let time_filter = Recency::Any;
    search::search(
        ctx,
        WebSearch {
            query,
            max_results,
            time_filter,
        },
    )
}
