//! The news sources: their requests and responses (<https://docs.gnews.io>, <https://newsapi.org/docs>).

use jiff::Timestamp;
use serde_json::Value;

use super::super::{NewsAge, duckduckgo, query, results};
use super::NewsQuery;
use super::article::{Article, RawArticle};
use crate::base::env::Env;
use crate::base::json::JsonExt as _;
use crate::base::problem::{Outcome, Problem};
use crate::net::service::ServiceResponse;
use crate::net::services::{DUCKDUCKGO_NEWS, GNEWS, NEWSAPI, Service};
use crate::tools::engine::context::ToolContext;

pub(super) struct Source {
    pub(super) service: &'static Service,
    pub(super) query_sources: fn(&ToolContext, &NewsQuery) -> Outcome<Vec<Article>>,
}

/// All of them; of duplicate articles the one of the first source is shown.
pub(super) static SOURCES: [Source; 3] = [
    Source {
        service: &GNEWS,
        query_sources: gnews,
    },
    Source {
        service: &NEWSAPI,
        query_sources: newsapi,
    },
    Source {
        service: &DUCKDUCKGO_NEWS,
        query_sources: duckduckgo_news,
    },
];

impl Source {
    /// True when it needs no key, or has one.
    pub(super) fn is_usable(&self, env: &Env) -> bool {
        self.service.key.is_none() || self.service.key_in(env).is_some()
    }
}

/// The language to request: both keyed sources mix all of them otherwise, and a query in another script is in another language.
fn language(query: &str) -> Option<&'static str> {
    query.is_ascii().then_some("en")
}

fn gnews(ctx: &ToolContext, news_query: &NewsQuery) -> Outcome<Vec<Article>> {
    let key = GNEWS.key_in(&ctx.session.env).unwrap_or_default();
    let query = query::for_gnews(&news_query.query)?;
    let answer = ctx
        .service(&GNEWS)
        .path("/api/v4/search")
        .secret_header("x-api-key", &key, key.clone())
        .query("q", &query)
        .query_if("lang", language(&query))
        .query("max", news_query.max)
        .query("from", news_query.from.strftime("%Y-%m-%dT%H:%M:%SZ"))
        .query("sortby", "publishedAt")
        .get()?;
    read_gnews(&answer, news_query.max)
}

fn read_gnews(answer: &ServiceResponse, max: usize) -> Outcome<Vec<Article>> {
    let said = answer.value().as_ref().and_then(gnews_errors);
    let said = said.filter(|said| !said.is_empty());
    // A page with this status comes from a proxy in between.
    let is_quota = said.as_deref().map_or(!answer.is_page(), is_about_quota);
    if answer.status == 403 && is_quota {
        return Err(quota_error(answer, said));
    }
    let value = answer.json(gnews_errors)?;
    if let Some(said) = said {
        let said = answer.quoted(&said);
        return Err(Problem::network(format!("It refused the request: {said}")));
    }
    match value.at("articles") {
        Some(Value::Array(_)) => {}
        // A missing list is an empty one.
        None if value.at("totalArticles").is_some() => {}
        _ => return Err(answer.unreadable()),
    }
    Ok(articles(&value, GNEWS.name, max))
}

/// The errors in a response, a list or an object by parameter.
fn gnews_errors(value: &Value) -> Option<String> {
    value.at("errors").map(words)
}

/// All strings in a value, however nested.
fn words(value: &Value) -> String {
    let all: Vec<String> = match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(list) => list.iter().map(words).collect(),
        Value::Object(map) => {
            let named = map.iter().map(|(name, value)| (name, words(value)));
            named
                .filter(|(_, words)| !words.is_empty())
                .map(|(name, words)| format!("{name}: {words}"))
                .collect()
        }
        _ => Vec::new(),
    };
    let all: Vec<String> = all.into_iter().filter(|words| !words.is_empty()).collect();
    all.join("; ")
}

fn is_about_quota(said: &str) -> bool {
    let said = said.to_lowercase();
    let marks = [
        "limit", "quota", "exceed", "reset", "too many", "per day", "today",
    ];
    marks.iter().any(|mark| said.contains(mark))
}

fn quota_error(answer: &ServiceResponse, said: Option<String>) -> Problem {
    let said = said.map(|said| format!(": {}", answer.quoted(&said)));
    let said = said.unwrap_or_default();
    Problem::limit(format!(
        "The requests of today are used up (403){}.",
        said.trim_end_matches('.')
    ))
    .next("They reset at 00:00 UTC.")
}

fn newsapi(ctx: &ToolContext, news_query: &NewsQuery) -> Outcome<Vec<Article>> {
    let key = NEWSAPI.key_in(&ctx.session.env).unwrap_or_default();
    let answer = ctx
        .service(&NEWSAPI)
        .path("/v2/everything")
        .secret_header("x-api-key", &key, key.clone())
        .query("q", &news_query.query)
        .query("pageSize", news_query.max)
        .query_if("language", language(&news_query.query))
        .query("sortBy", "publishedAt")
        .query("from", news_query.from.strftime("%Y-%m-%dT%H:%M:%S"))
        .get()?;
    read_newsapi(&answer, news_query.max)
}

fn read_newsapi(answer: &ServiceResponse, max: usize) -> Outcome<Vec<Article>> {
    let said = |value: &Value| {
        value
            .text("message")
            .or(value.text("code"))
            .map(str::to_owned)
    };
    if answer.status == 426 {
        let said = answer.value().as_ref().and_then(said);
        let said = said.map_or_else(
            || ".".to_owned(),
            |said| format!(": {}", answer.quoted(&said)),
        );
        return Err(
            Problem::limit(format!("Its plan does not allow this (426){said}"))
                .next("A shorter time_filter or fewer results may be allowed."),
        );
    }
    let code = |value: &Value| value.text("code").unwrap_or_default().to_owned();
    let is_spent = |value: &Value| code(value) == "apiKeyExhausted";
    if let Some(value) = answer.value().filter(is_spent) {
        let words = answer.quoted(&said(&value).unwrap_or_default());
        let what = format!("The requests of its key are used up: {words}");
        return Err(Problem::limit(what).next("Wait until they reset."));
    }
    let value = answer.json(said)?;
    match (value.text("status"), value.at("articles")) {
        (Some("ok"), None) | (Some("ok") | None, Some(Value::Array(_))) => {}
        (Some("ok"), Some(_)) => return Err(answer.unreadable()),
        (Some(_), _) => {
            let words = said(&value).unwrap_or_else(|| "it does not say why.".to_owned());
            let words = answer.quoted(&words);
            let problem = Problem::network(format!("It refused the request: {words}"));
            return Err(match code(&value).as_str() {
                "rateLimited" => problem.next("Wait some minutes, or use another source."),
                code if code.starts_with("apiKey") => problem.next("Check NEWSAPI_KEY."),
                _ => problem,
            });
        }
        (None, _) => return Err(answer.unreadable()),
    }
    Ok(articles(&value, NEWSAPI.name, max))
}

/// The first articles of a list whose entries have the same fields at both services.
fn articles(value: &Value, source: &'static str, max: usize) -> Vec<Article> {
    let article = |item: &Value| {
        let raw = RawArticle {
            title: item.text("title"),
            outlet: item.text("source/name"),
            time: item.text("publishedAt").and_then(parse_time),
            url: item.text("url"),
            description: item.text("description"),
        };
        raw.article(source)
    };
    let articles = value.list("articles").iter().filter_map(article);
    articles.take(max).collect()
}

/// Best effort: programs are refused most of the time.
fn duckduckgo_news(ctx: &ToolContext, news_query: &NewsQuery) -> Outcome<Vec<Article>> {
    let query = query::for_duckduckgo(&news_query.query)?;
    let query_sources =
        || duckduckgo::browser_headers(ctx.service(&DUCKDUCKGO_NEWS), &DUCKDUCKGO_NEWS);
    let page = query_sources().path("/").query("q", &query).get()?;
    let Some(token) = token(&page.text()) else {
        return Err(unusable(ctx, &page));
    };
    let recency = match news_query.age {
        // DuckDuckGo has no filter for two days; the keyed sources, which are a day behind, cover the other day.
        NewsAge::Usual => NewsAge::Day.word(),
        age => age.word(),
    };
    let answer = query_sources()
        .path("/news.js")
        .query("l", "wt-wt")
        .query("o", "json")
        .query("noamp", 1)
        .query("q", &query)
        .query("vqd", token)
        .query("p", -1)
        .query("df", recency)
        .get()?;
    read_duckduckgo(&answer, news_query.max).unwrap_or_else(|| Err(unusable(ctx, &answer)))
}

/// The token in a page for its query: `vqd="4-123…"`, in any quotes or none.
fn token(page: &str) -> Option<String> {
    page.match_indices("vqd=").find_map(|(at, mark)| {
        let rest = page.get(at + mark.len()..)?;
        let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '-'));
        let token = rest.get(..end.unwrap_or(rest.len()))?;
        (token.len() > 2 && token.contains('-')).then(|| token.to_owned())
    })
}

/// The articles; `None` for an unexpected response.
fn read_duckduckgo(answer: &ServiceResponse, max: usize) -> Option<Outcome<Vec<Article>>> {
    let value = answer.value().filter(|_| answer.is_ok())?;
    value.at("results").and_then(Value::as_array)?;
    let article = |item: &Value| {
        let seconds = item.whole("date");
        let raw = RawArticle {
            title: item.text("title"),
            outlet: item.text("source"),
            time: seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()),
            url: item.text("url"),
            description: item.text("excerpt"),
        };
        raw.article(DUCKDUCKGO_NEWS.name)
    };
    let articles = value.list("results").iter().filter_map(article);
    Some(Ok(articles.take(max).collect()))
}

/// The problem with a response that has no news. Refusing programs is not a ban; a bot check is one.
fn unusable(ctx: &ToolContext, answer: &ServiceResponse) -> Problem {
    if answer.status == 403 {
        return Problem::refused("It refuses programs other than browsers (403).");
    }
    let page = results::read(&answer.text());
    if page.robot || matches!(answer.status, 202 | 429) {
        duckduckgo::pause(ctx);
        return duckduckgo::bot_check();
    }
    match answer.is_ok() {
        true => answer.unreadable(),
        false => answer.refused(None),
    }
}

/// A time in RFC 3339; without a zone it is UTC.
fn parse_time(text: &str) -> Option<Timestamp> {
    let time = text.parse().or_else(|_| format!("{text}Z").parse());
    time.ok()
}

#[cfg(test)]
mod tests;
