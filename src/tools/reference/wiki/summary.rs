//! `wiki_summary`: the summary of an article, from the REST API where there is one, else from the Action API.

use std::time::Duration;

use serde_json::Value;

use super::api::{action, check_response};
use super::page::{WikiArticle, heading, missing, page};
use super::search::find;
use super::title::{Title, base};
use super::{LICENCE, WikiSummary};
use crate::base::json::JsonExt;
use crate::base::problem::Outcome;
use crate::net::services::WIKIPEDIA;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::untrusted::{fenced, line};

/// Maximum articles that are listed for an ambiguous title.
const MAX_CHOICES: u32 = 8;

pub(super) fn summary(ctx: &ToolContext, args: WikiSummary) -> Outcome<String> {
    let requested = Title::new(&args.title)?;
    let page = read(ctx, &requested)?;
    if page.is_disambiguation {
        return Ok(choices(ctx, &page));
    }
    let mut out = heading(&requested, &page);
    if page.extract.is_empty() {
        out.push_str(&format!(
            "\nThe article has no summary. wiki_full saves its whole text, wiki_search finds others.\n{LICENCE}"
        ));
        return Ok(out);
    }
    let text = super::whole::clean_text(&page.extract);
    out.push_str(&format!("\n{LICENCE}\n\n{}", fenced("Wikipedia", &text)));
    Ok(out)
}

/// The article from the REST API, or from the Action API on a server without one.
fn read(ctx: &ToolContext, requested: &Title) -> Outcome<WikiArticle> {
    let answer = ctx
        .service(&WIKIPEDIA)
        .base(&base(requested.language.as_deref()))
        .path("/api/rest_v1/page/summary")
        .segment(&requested.underscored())
        .retry_after(Duration::from_secs(2))
        .get()?;
    match answer.value() {
        // Back ends word it differently; the status is the same.
        Some(value) if answer.status == 404 => Err(missing(requested, &value)),
        Some(value) if answer.is_ok() && value.text("title").is_some() => {
            Ok(from_rest(requested, &value))
        }
        Some(value) if answer.is_ok() && value.at("query").is_some() => page(requested, &value),
        // With an error object under status 200, the Action API is tried: it may succeed, or explain the error.
        Some(value) if answer.is_ok() && value.at("error").is_some() => by_action(ctx, requested),
        Some(_) => check_response(ctx, &answer).and(Err(answer.unreadable())),
        None if answer.status == 404 || (answer.is_ok() && answer.is_page()) => {
            by_action(ctx, requested)
        }
        None => check_response(ctx, &answer).and(Err(answer.unreadable())),
    }
}

fn by_action(ctx: &ToolContext, requested: &Title) -> Outcome<WikiArticle> {
    let value = action(ctx, requested.language.as_deref(), |ask| {
        ask.query("prop", "extracts|pageprops|info")
            .query("inprop", "url")
            .query("exintro", 1)
            .query("explaintext", 1)
            .query("redirects", 1)
            .query("titles", &requested.text)
    })?;
    page(requested, &value)
}

/// An article in the REST API's format.
fn from_rest(requested: &Title, value: &Value) -> WikiArticle {
    WikiArticle {
        title: requested.resolved(value.text("title").unwrap_or(&requested.text)),
        extract: value.text("extract").unwrap_or_default().to_owned(),
        description: value.text("description").map(line),
        url: value.text("content_urls/desktop/page").map(line),
        is_disambiguation: value.text("type") == Some("disambiguation"),
    }
}

/// The articles that an ambiguous title could mean.
fn choices(ctx: &ToolContext, page: &WikiArticle) -> String {
    let title = &page.title;
    let mut out = format!("\"{title}\" could mean several articles.");
    // The search is only a help; without it the user can search.
    let words = title.text.trim_end_matches("(disambiguation)").trim();
    let hits = find(ctx, title.language.as_deref(), words, MAX_CHOICES).map(|found| found.hits);
    let hits: Vec<String> = hits
        .unwrap_or_default()
        .into_iter()
        .filter(|(own, _)| *own != title.text)
        .map(|(own, snippet)| {
            let own = title.resolved(&own);
            match snippet.is_empty() {
                true => format!("- {own}"),
                false => format!("- {own}: {snippet}"),
            }
        })
        .collect();
    if hits.is_empty() {
        out.push_str(" Find the right one with wiki_search.");
    } else {
        out.push_str(&format!(
            " Call wiki_summary with one of these titles:\n{}",
            hits.join("\n")
        ));
    }
    out.push_str(&format!("\n{LICENCE}"));
    out
}
