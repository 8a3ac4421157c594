//! Module `academic`: searches papers at Semantic Scholar and arXiv.

mod arxiv;
mod atom;
mod scholar;
mod terms;

use crate::base::params::choice;
use crate::base::text::clip;
use crate::net::services::{ARXIV, SEMANTIC_SCHOLAR, Service};
use crate::tools::READ;
use crate::tools::engine::tool::tools;
use crate::tools::output::found::shown_of;
use crate::tools::output::untrusted::{fenced, line};

const SCHOLAR: &[&Service] = &[&SEMANTIC_SCHOLAR];
const PREPRINTS: &[&Service] = &[&ARXIV];

tools! { "academic";
    /// Search Semantic Scholar.
    search_papers(SearchPapers; READ.seconds(15).service("semantic-scholar").asks(SCHOLAR)) {
        /// topic
        query: String, example: "graph neural networks";
        /// how many
        max_results: u32 = 5, min: 1, max: 20, alias: &["limit"];
        /// from year, 0 = any
        year_min: i64 = 0;
        /// to year, 0 = any
        year_max: i64 = 0;
        /// only with a free PDF
        open_access_only: bool = false;
    } => scholar::search, says ["search papers on {query}", "papers on {query} since {year_min}", "find papers about {query}"];

    /// Search arXiv.
    search_arxiv(SearchArxiv; READ.seconds(15).service("arxiv").asks(PREPRINTS)) {
        /// topic
        query: String, example: "attention mechanism";
        /// how many
        max_results: u32 = 5, min: 1, max: 20, alias: &["limit"];
        /// order
        sort_by: SortBy = "relevance";
    } => arxiv::search, says ["search arxiv for {query}", "latest on arxiv about {query} {sort_by=submittedDate}"];
}

choice! {
    /// The order of arXiv's results.
    pub(crate) enum SortBy {
        /// What fits best.
        Relevance = "relevance",
        /// What was changed last.
        Updated = "lastUpdatedDate",
        /// What is newest.
        Submitted = "submittedDate",
    }
}

/// Maximum authors that are shown.
const MAX_AUTHORS: usize = 4;
/// Maximum characters of an abstract that are shown.
const MAX_ABSTRACT_CHARS: usize = 200;

/// The first authors, and how many more there are.
fn authors(names: &[String]) -> Option<String> {
    let first = names.get(..MAX_AUTHORS.min(names.len()))?.join(", ");
    match names.len().saturating_sub(MAX_AUTHORS) {
        _ if first.is_empty() => None,
        0 => Some(first),
        more => Some(format!("{first} and {more} more")),
    }
}

/// Numbers the papers.
fn listed(source: &str, papers: &[String]) -> String {
    let papers = papers.iter().zip(1..);
    let papers: Vec<String> = papers.map(|(paper, n)| format!("{n}. {paper}")).collect();
    fenced(source, &papers.join("\n\n"))
}

fn shortened(text: &str) -> String {
    clip(&line(text), MAX_ABSTRACT_CHARS)
}

/// The heading of a list: source, how many of how many, and the query.
fn found(source: &str, shown: usize, total: Option<u64>, query: &str) -> String {
    format!(
        "{source}: {} for \"{query}\"",
        shown_of(shown, total, "paper")
    )
}
