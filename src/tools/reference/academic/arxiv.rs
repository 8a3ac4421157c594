//! `search_arxiv`: queries in arXiv's query language, results in Atom (<https://info.arxiv.org/help/api/user-manual.html>).

use std::time::Duration;

use super::atom::{Paper, PaperFeed, read};
use super::terms::{SearchTerms, terms};
use super::{SearchArxiv, SortBy, authors, found, listed, shortened};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::counted;
use crate::net::service::ServiceResponse;
use crate::net::services::ARXIV;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::joined;
use crate::tools::output::untrusted::line;

/// Minimum pause between two requests by the terms of use; also before the retry.
const REQUEST_INTERVAL: Duration = Duration::from_secs(3);
/// Maximum wait before a retry.
const MAX_RETRY_WAIT: Duration = Duration::from_secs(5);

pub(super) fn search(ctx: &ToolContext, args: SearchArxiv) -> Outcome<String> {
    let terms = terms(&args.query)?;
    let mut answer = send_request(ctx, &args, &terms)?;
    let mut feed = read(&answer.text());
    if let Some(wait) = wait(&answer, feed.as_ref()) {
        ctx.wait(wait)?;
        answer = send_request(ctx, &args, &terms)?;
        feed = read(&answer.text());
    }
    let feed = check_response(&answer, feed)?;
    let shown = line(&args.query);
    if feed.papers.is_empty() {
        return match feed.total {
            Some(total) if total > 0 => Err(Problem::network(format!(
                "arXiv found {} and sent none, twice.",
                counted(total, "paper")
            ))
            .next("Try again later.")),
            _ => Ok(format!("arXiv has no papers for \"{shown}\".")),
        };
    }
    let order = match args.sort_by {
        SortBy::Relevance => "by relevance",
        SortBy::Updated => "last updated first",
        SortBy::Submitted => "newest first",
    };
    let heading = found("arXiv", feed.papers.len(), feed.total, &shown);
    let papers: Vec<String> = feed.papers.iter().map(entry).collect();
    Ok(format!("{heading}, {order}:\n{}", listed("arXiv", &papers)))
}

fn send_request(
    ctx: &ToolContext,
    args: &SearchArxiv,
    terms: &SearchTerms,
) -> Outcome<ServiceResponse> {
    let send_request = ctx.service(&ARXIV).path("/api/query");
    let send_request = match terms {
        SearchTerms::Ids(ids) => send_request.query("id_list", ids),
        SearchTerms::Query(query) => send_request.query("search_query", query),
    };
    // Retried here, once, because an empty page counts as a failure too.
    send_request
        .query("start", 0)
        .query("max_results", args.max_results)
        .query("sortBy", args.sort_by.word())
        .query("sortOrder", "descending")
        .without_retry()
        .get()
}

/// How long to wait before the retry; `None` for a final response.
fn wait(answer: &ServiceResponse, feed: Option<&PaperFeed>) -> Option<Duration> {
    let again = match feed {
        Some(feed) if feed.error.is_some() => false,
        Some(feed) => {
            answer.is_ok() && feed.papers.is_empty() && feed.total.is_some_and(|total| total > 0)
        }
        None => answer.is_ok() || answer.status == 429 || answer.status >= 500,
    };
    let wait = answer
        .retry_after()
        .unwrap_or(REQUEST_INTERVAL)
        .max(REQUEST_INTERVAL);
    (again && wait <= MAX_RETRY_WAIT).then_some(wait)
}

fn check_response(answer: &ServiceResponse, feed: Option<PaperFeed>) -> Outcome<PaperFeed> {
    let words = |text: &str| (!text.is_empty() && text.len() < 200).then(|| line(text));
    match feed {
        Some(PaperFeed {
            error: Some(reason),
            ..
        }) if answer.status >= 500 => Err(answer.refused(Some(&reason))),
        Some(PaperFeed {
            error: Some(reason),
            ..
        }) => {
            let reason = answer.quoted(&reason);
            Err(Problem::input(match reason.trim_end_matches('.') {
                "" => "arXiv refused the query without a reason.".to_owned(),
                reason => format!("arXiv refused the query: {reason}."),
            })
            .next("Use plain words, or its fields: ti, au, abs, cat, all, with AND, OR, ANDNOT."))
        }
        Some(feed) if answer.is_ok() => Ok(feed),
        Some(_) => Err(answer.refused(None)),
        None if !answer.is_ok() && !answer.is_page() => {
            let text = answer.text();
            let text = text.trim();
            let plain = !text.starts_with(['<', '{']);
            Err(answer.refused(words(text).filter(|_| plain).as_deref()))
        }
        None if !answer.is_ok() => Err(answer.refused(None)),
        None => match answer.text().trim() {
            said if said.starts_with("Rate exceeded") => {
                Err(Problem::limit("Too many requests to arXiv: Rate exceeded.")
                    .next("Wait some minutes, or use search_papers."))
            }
            _ => Err(answer.unreadable()),
        },
    }
}

fn entry(paper: &Paper) -> String {
    let mark = if paper.is_withdrawn() {
        " (withdrawn)"
    } else {
        ""
    };
    let title = match paper.title.as_str() {
        "" => "(no title)",
        title => title,
    };
    let (published, updated) = (day(&paper.published), day(&paper.updated));
    let date = match (published, updated) {
        (Some(first), Some(last)) if first != last => Some(format!("{first}, updated {last}")),
        (first, last) => first.or(last).map(str::to_owned),
    };
    let facts = [
        authors(&paper.authors),
        date,
        (!paper.categories.is_empty()).then(|| paper.categories.join(", ")),
    ];
    let pdf = match paper.pdf.as_str() {
        "" if paper.page.is_empty() => String::new(),
        "" => "No PDF".to_owned(),
        pdf => format!("PDF: {pdf}"),
    };
    let labelled = |label: &str, text: &str| match text {
        "" => String::new(),
        text => format!("{label}: {text}"),
    };
    let lines = [
        format!("{title}{mark}"),
        joined(facts, " · "),
        paper.page.clone(),
        pdf,
        labelled("DOI", &paper.doi),
        labelled("Published in", &paper.journal),
        shortened(&paper.summary),
    ];
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines.join("\n   ")
}

/// The day of a timestamp, if it begins with one.
fn day(stamp: &str) -> Option<&str> {
    let day = stamp.get(..10)?;
    let fits = day.char_indices().all(|(i, c)| match i {
        4 | 7 => c == '-',
        _ => c.is_ascii_digit(),
    });
    fits.then_some(day)
}
