//! Module `web`: searches the web and the news, and reads pages.

mod browse;
mod driver;
mod duckduckgo;
mod fetch;
mod limit;
mod link;
mod lynx;
mod menu;
mod news;
mod pages;
mod query;
pub(crate) mod results;
mod scrape;
mod search;
pub(crate) mod top_page;

use crate::base::params::choice;
use crate::base::problem::Outcome;
use crate::net::services::{DUCKDUCKGO, DUCKDUCKGO_LITE, DUCKDUCKGO_NEWS, GNEWS, NEWSAPI, Service};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;

/// Services for pages, and for news, which falls back to the former.
static SEARCH: [&Service; 2] = [&DUCKDUCKGO, &DUCKDUCKGO_LITE];
static NEWS: [&Service; 5] = [
    &GNEWS,
    &NEWSAPI,
    &DUCKDUCKGO_NEWS,
    &DUCKDUCKGO,
    &DUCKDUCKGO_LITE,
];

choice! {
    /// How old a page may be, by the value of DuckDuckGo's form field.
    pub(crate) enum Recency {
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

choice! {
    /// How old an article may be.
    pub(crate) enum NewsAge {
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

choice! {
    /// What to take from a page.
    pub(crate) enum Extract {
        /// Its visible text.
        Text = "text",
        /// Its lines with prices.
        Menu = "menu",
        /// Its links.
        Links = "links",
    }
}

tools! { "web";
    /// General web search; the default choice for lookups.
    web_search(WebSearch; READ.direct().seconds(15).service("duckduckgo").asks(&SEARCH)) {
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

    /// Read one page as text.
    browse_web(BrowseWeb; READ.seconds(15).service("lynx").open_world(true)) {
        /// page address
        url: String, example: "https://example.org/";
        /// characters to return
        max_length: u32 = 4000, min: 1, max: 8000, alias: &["max_chars", "limit"];
        /// offset for continued reading
        start_index: u32 = 0, min: 0, alias: &["offset", "start"];
    } => browse::page, says ["browse {url}", "open the page {url}", "read the page {url}"];

    /// Load a page in headless Firefox and extract content.
    scrape_page(ScrapePage; READ.direct().seconds(60).slow().service("webdriver (geckodriver + firefox)").open_world(true)) {
        /// page address
        url: String, example: "https://example.org/";
        /// what to pull out
        extract: Extract = "text";
        /// limit to one element
        css_selector: String = "", alias: &["selector"];
        /// characters to return
        max_length: u32 = 4000, min: 1, max: 8000, alias: &["max_chars", "limit"];
    } => scrape::page, says ["scrape {url}", "scrape the page {url}"];
}

/// The results of `web_search` for `query`: for tools whose own service has no key.
pub(crate) fn instead(ctx: &ToolContext, query: &str, max_results: usize) -> Outcome<String> {
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

/// The first `max` characters of `text` from character `start` on, and the total number.
fn window(text: &str, start: usize, max: usize) -> (&str, usize) {
    let total = text.chars().count();
    let at = |n: usize| {
        let place = text.char_indices().nth(n).map(|(at, _)| at);
        place.unwrap_or(text.len())
    };
    let shown = text.get(at(start)..at(start.saturating_add(max)));
    (shown.unwrap_or_default(), total)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_window_counts_characters() {
        let text = "aé€😀b";
        for (start, max, want) in [
            (0, 2, "aé"),
            (2, 2, "€😀"),
            (4, 9, "b"),
            (5, 1, ""),
            (9, 1, ""),
        ] {
            assert_eq!(super::window(text, start, max), (want, 5));
        }
        assert_eq!(super::window(text, 1, usize::MAX).0, "é€😀b");
    }
}
