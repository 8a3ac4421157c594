//! `search_news`: queries several sources at once and merges their articles; falls back to an ordinary web search when none can be used.

mod article;
mod sources;

use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::limit::with_time_limit;
use super::{NewsAge, SearchNews, duckduckgo, query, search};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::plural;
use crate::net::services::DUCKDUCKGO_NEWS;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::fenced;
use article::Article;
use sources::{SOURCES, Source};

/// Time limit for one source.
const SOURCE_TIMEOUT: Duration = Duration::from_secs(8);

/// The request, common to all sources.
struct NewsQuery {
    /// On one line.
    query: String,
    /// Maximum articles of each source.
    max: usize,
    age: NewsAge,
    /// The earliest publication time.
    from: Timestamp,
}

type SourceNews = (&'static Source, Outcome<Vec<Article>>);

impl NewsAge {
    fn hours(self) -> i64 {
        match self {
            Self::Usual => 48,
            Self::Day => 24,
            Self::Week => 7 * 24,
            Self::Month => 30 * 24,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Usual => "the past two days",
            Self::Day => "the past day",
            Self::Week => "the past week",
            Self::Month => "the past month",
        }
    }

    /// The recency for the web search that replaces news: one that includes the requested time.
    fn web_recency(self) -> &'static str {
        match self {
            Self::Day => "d",
            Self::Usual | Self::Week => "w",
            Self::Month => "m",
        }
    }
}

pub(super) fn search(ctx: &ToolContext, args: SearchNews) -> Outcome<String> {
    let now = ctx.session.clock.now().timestamp();
    let span = SignedDuration::from_hours(args.time_filter.hours());
    let news_query = NewsQuery {
        query: query::one_line_query(&args.query)?,
        max: args.max_results,
        age: args.time_filter,
        from: now.checked_sub(span).unwrap_or(now),
    };
    let answers = query_sources(ctx, &news_query);
    ctx.stop.check()?;
    let refused = answers
        .iter()
        .any(|(source, answer)| source.service.id == DUCKDUCKGO_NEWS.id && is_refusal(answer));
    let failures: Vec<String> = answers
        .iter()
        .filter_map(|(source, answer)| Some(failure(source.service.name, answer.as_ref().err()?)))
        .collect();
    let done = match failures.len() == answers.len() {
        true => web_search_fallback(ctx, &news_query, &failures),
        false => Ok(render(&news_query, answers, &failures)),
    };
    // Only after the news sources: the web search may use the same host.
    if refused {
        ctx.session
            .services
            .hold_back(&DUCKDUCKGO_NEWS, duckduckgo::BOT_CHECK_PAUSE);
    }
    done
}

/// A problem on one line that begins with the name of the source.
fn failure(name: &str, problem: &Problem) -> String {
    let line = problem.one_line();
    match line.starts_with(name) {
        true => line,
        false => format!("{name}: {line}"),
    }
}

fn is_refusal(answer: &Outcome<Vec<Article>>) -> bool {
    matches!(answer, Err(problem) if problem.kind == ProblemKind::Refused)
}

/// Queries all available sources at once.
fn query_sources(ctx: &ToolContext, news_query: &NewsQuery) -> Vec<SourceNews> {
    let usable = SOURCES
        .iter()
        .filter(|source| source.is_usable(&ctx.session.env));
    thread::scope(|scope| {
        let running: Vec<_> = usable
            .map(|source| {
                let work = move || {
                    with_time_limit(ctx, SOURCE_TIMEOUT, source.service.name, |ctx| {
                        (source.query_sources)(ctx, news_query)
                    })
                };
                (source, scope.spawn(work))
            })
            .collect();
        let ended = running.into_iter().map(|(source, thread)| {
            let lost = |_| Err(Problem::internal("The request ended without a result."));
            (source, thread.join().unwrap_or_else(lost))
        });
        ended.collect()
    })
}

/// The articles of the sources that responded, and a line for each that failed.
fn render(news_query: &NewsQuery, answers: Vec<SourceNews>, failures: &[String]) -> String {
    let mut used = Vec::new();
    let mut articles = Vec::new();
    for (source, answer) in answers {
        if let Ok(found) = answer {
            used.push(source.service.name);
            articles.extend(found);
        }
    }
    let (used, age) = (used.join(", "), news_query.age.words());
    let articles = article::merge(articles);
    let mut text = if articles.is_empty() {
        format!(
            "No articles about \"{}\" of {age} (sources: {used}).\nTry other words, a longer time_filter, or web_search.",
            news_query.query
        )
    } else {
        let count = plural(articles.len(), "article");
        format!(
            "{count} about \"{}\" of {age} (from {used}):",
            news_query.query
        )
    };
    let shown = articles.iter().zip(1..);
    let shown: Vec<String> = shown
        .map(|(article, n)| format!("{n}. {article}"))
        .collect();
    if !shown.is_empty() {
        let _ = write!(text, "\n{}", fenced("the articles", &shown.join("\n\n")));
    }
    if !failures.is_empty() {
        let _ = write!(text, "\n\nNot included:\n{}", failures.join("\n"));
    }
    text
}

/// A web search, because every source failed.
fn web_search_fallback(
    ctx: &ToolContext,
    news_query: &NewsQuery,
    failures: &[String],
) -> Outcome<String> {
    let query = format!("{} news latest", news_query.query);
    let hint = "Set GNEWS_API_KEY or NEWSAPI_KEY to have a source of news that answers.";
    let keyed = SOURCES
        .iter()
        .any(|source| source.service.key.is_some() && source.is_usable(&ctx.session.env));
    let hint = (!keyed).then(|| hint.to_owned());
    match duckduckgo::search(ctx, &query, news_query.age.web_recency()) {
        Ok(hits) => {
            let found = match hits.is_empty() {
                true => format!(
                    "No source of news could be used, and the web has no results for \"{query}\"."
                ),
                false => format!(
                    "No source of news could be used; this is what a web search for \"{query}\" finds:\n{}",
                    search::listed(&hits, news_query.max)
                ),
            };
            let lines: Vec<String> = failures.iter().cloned().chain(hint).collect();
            Ok(format!("{found}\n\n{}", lines.join("\n")))
        }
        Err(problem) if problem.is_cancelled() => Err(problem),
        Err(problem) => {
            let web = format!("Web search: {}", problem.one_line());
            let what = "No source of news could be used, and the web search failed too.";
            let lines = failures.iter().cloned().chain([web]).chain(hint);
            Err(lines.fold(Problem::new(problem.kind, what), Problem::next))
        }
    }
}
