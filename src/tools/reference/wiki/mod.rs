//! Module `wiki`: Wikipedia: article search, summaries, and whole articles saved to disk for searching.

mod api;
mod lines;
mod page;
mod saved;
mod search;
mod summary;
mod title;
mod whole;

use crate::net::services::{Service, WIKIPEDIA};
use crate::tools::engine::tool::tools;
use crate::tools::{MEMORY, READ};
use search::search;
use summary::summary;
use whole::{full, grep};

const ASKED: &[&Service] = &[&WIKIPEDIA];

tools! { "wiki";
    /// Find Wikipedia articles.
    wiki_search(WikiSearch; READ.seconds(10).service("wikipedia").asks(ASKED)) {
        /// search text
        query: String, example: "tide mill";
        /// how many
        max_results: u32 = 5, min: 1, max: 10, alias: &["limit"];
    } => search, says ["search wikipedia for {query}", "find {query} on wikipedia", "wiki search {query}"];

    /// Lead text of an article.
    wiki_summary(WikiSummary; READ.seconds(10).service("wikipedia").asks(ASKED)) {
        /// article title
        title: String, example: "Tide mill";
    } => summary, says ["wikipedia {title}", "wikipedia on {title}", "what does wikipedia say about {title}", "wiki {title}"];

    /// Save a whole article to disk.
    wiki_full(WikiFull; MEMORY.seconds(15).service("wikipedia").asks(ASKED).idempotent().planned_always()) {
        /// article title
        title: String, example: "Tide mill";
    } => full, says ["save the wikipedia article {title}", "save wikipedia {title}"];

    /// Search a saved article.
    wiki_grep(WikiGrep; READ.seconds(5)) {
        /// title used with wiki_full
        title: String, example: "Tide mill";
        /// text or regular expression, case-insensitive
        pattern: String, example: "1653";
    } => grep, says ["find {pattern} in the wikipedia article {title}", "find {pattern} in wikipedia {title}"];
}

/// The attribution that the articles' licence requires.
const LICENCE: &str = "Wikipedia, CC BY-SA 4.0";
