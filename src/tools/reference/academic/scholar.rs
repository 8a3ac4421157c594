//! `search_papers`: Semantic Scholar's graph API (<https://api.semanticscholar.org/api-docs/>). Without a key it is often overloaded; the message
//! says so.

use std::time::Duration;

use serde_json::Value;

use super::{SearchPapers, authors, found, listed, shortened};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::counted;
use crate::net::service::ServiceResponse;
use crate::net::services::SEMANTIC_SCHOLAR;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, joined};
use crate::tools::output::untrusted::line;
use crate::tools::output::web_links::arxiv_page;

const FIELDS: &str =
    "title,authors,year,citationCount,abstract,url,openAccessPdf,externalIds,venue";
/// Waits before the second and third attempt at the shared pool: its page names both. Other services get one retry; here a first refusal is normal without a
/// key, and all three attempts fit the call's limit.
const RETRY_WAITS: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(5)];

pub(super) fn search(ctx: &ToolContext, args: SearchPapers) -> Outcome<String> {
    // A hyphen can lose hits.
    let query = line(&args.query.replace('-', " "));
    if !query.chars().any(char::is_alphanumeric) {
        return Err(Problem::input("There is nothing to search papers for.")
            .next("Give words, for example \"graph neural networks\"."));
    }
    let years = years(args.year_min, args.year_max)?;
    let mut answer = send_request(ctx, &args, &query, years.as_deref())?;
    for (n, wait) in RETRY_WAITS.into_iter().enumerate() {
        let busy = answer.status == 429 || (answer.status >= 500 && n == 0);
        // A response with Retry-After was already retried by the client.
        if !busy || answer.retry_after().is_some() {
            break;
        }
        ctx.progress(format!(
            "Semantic Scholar is busy, trying again in {} s",
            wait.as_secs()
        ));
        ctx.wait(wait)?;
        answer = send_request(ctx, &args, &query, years.as_deref())?;
    }
    let value = check_response(&answer, SEMANTIC_SCHOLAR.key_in(&ctx.session.env).is_some())?;
    let papers: Vec<String> = value.list("data").iter().filter_map(paper).collect();
    let total = count(&value, "total");
    let describe_filters = describe_filters(&args);
    let sent = value
        .at("data")
        .is_some_and(|data| data != &Value::Array(Vec::new()));
    if papers.is_empty() && (sent || total.is_some_and(|total| total > 0)) {
        return Err(Problem::network(
            "Semantic Scholar found papers and sent none that can be read.",
        )
        .next("Try again later, or use search_arxiv."));
    }
    if papers.is_empty() {
        return Ok(format!(
            "Semantic Scholar has no papers for \"{query}\"{describe_filters}."
        ));
    }
    let mut out = found("Semantic Scholar", papers.len(), total, &query);
    out.push_str(&describe_filters);
    out.push_str(":\n");
    out.push_str(&listed("Semantic Scholar", &papers));
    Ok(out)
}

fn send_request(
    ctx: &ToolContext,
    args: &SearchPapers,
    query: &str,
    years: Option<&str>,
) -> Outcome<ServiceResponse> {
    let mut send_request = ctx
        .service(&SEMANTIC_SCHOLAR)
        .path("/graph/v1/paper/search")
        .query("query", query)
        .query("limit", args.max_results)
        .query("fields", FIELDS)
        .query_if("year", years)
        // The server filters: filtering a short list here could leave nothing.
        .flag_if("openAccessPdf", args.open_access_only);
    if let Some(key) = SEMANTIC_SCHOLAR.key_in(&ctx.session.env) {
        send_request = send_request.secret_header("x-api-key", &key, key.clone());
    }
    send_request.get()
}

/// The years in the service's format: `2016-2020`, `2010-`, `-2015`, `2019`; `None` for any.
fn years(min: i64, max: i64) -> Outcome<Option<String>> {
    for year in [min, max] {
        if !(0..=9999).contains(&year) {
            return Err(Problem::input(format!("{year} is not a publication year."))
                .next("Give a year such as 2019, or 0 for any."));
        }
    }
    Ok(Some(match (min, max) {
        (0, 0) => return Ok(None),
        (min, 0) => format!("{min}-"),
        (0, max) => format!("-{max}"),
        (min, max) if min == max => min.to_string(),
        (min, max) if min < max => format!("{min}-{max}"),
        _ => {
            return Err(
                Problem::input(format!("No year is from {min} on and until {max}."))
                    .next("The two may have been swapped: year_min is the earlier one."),
            );
        }
    }))
}

/// The filters of the search, as the end of a sentence.
fn describe_filters(args: &SearchPapers) -> String {
    let years = match (args.year_min, args.year_max) {
        (0, 0) => String::new(),
        (min, 0) => format!(" since {min}"),
        (0, max) => format!(" until {max}"),
        (min, max) if min == max => format!(" of {min}"),
        (min, max) => format!(" from {min} to {max}"),
    };
    let open = if args.open_access_only {
        " with a free PDF"
    } else {
        ""
    };
    format!("{years}{open}")
}

fn check_response(answer: &ServiceResponse, keyed: bool) -> Outcome<Value> {
    let message = |value: &Value| {
        let words = value.text("message").or_else(|| value.text("error"));
        words.map(str::to_owned)
    };
    if answer.status == 429 {
        let problem = answer.refused(answer.value().as_ref().and_then(message).as_deref());
        if keyed {
            return Err(problem.next("Try search_arxiv meanwhile."));
        }
        return Err(Problem::new(
            ProblemKind::Limit,
            "Semantic Scholar is rate limiting keyless use (429): all who have no key share one allowance.",
        )
        .next("Try search_arxiv, or set SEMANTIC_SCHOLAR_API_KEY to a free key, or ask again in some minutes."));
    }
    let value = answer.json(message)?;
    let known = value.at("data").is_some() || value.whole("total").is_some();
    match message(&value) {
        _ if known => Ok(value),
        Some(words) => Err(answer.refused(Some(&words))),
        None => Err(answer.unreadable()),
    }
}

/// One paper in a few lines; `None` for an unusable entry.
fn paper(value: &Value) -> Option<String> {
    value.as_object()?;
    let title = value.text("title").map_or("(no title)".to_owned(), line);
    let year = value.whole("year").filter(|year| *year > 0);
    let names: Vec<String> = value
        .list("authors")
        .iter()
        .filter_map(|author| author.text("name"))
        .map(line)
        .collect();
    let facts = [
        authors(&names),
        value.text("venue").map(line),
        count(value, "citationCount").map(|count| counted(count, "citation")),
    ];
    let facts = joined(facts, " · ");
    let page = match value.text("url") {
        Some(url) => Some(line(url)),
        None => value
            .text("paperId")
            .map(|id| format!("Paper id: {}", line(id))),
    };
    let pdf = value.text("openAccessPdf/url");
    let lines = [
        Some(match year {
            Some(year) => format!("{title} ({year})"),
            None => title,
        }),
        Some(facts).filter(|facts| !facts.is_empty()),
        page,
        pdf.map(|url| format!("PDF: {}", line(url))),
        value
            .word("externalIds/ArXiv")
            .map(|id| format!("arXiv: {}", arxiv_page(&line(&id)))),
        value.text("abstract").map(shortened),
    ];
    Some(joined(lines, "\n   "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn years_are_formatted_for_the_service() {
        for (min, max, wanted) in [
            (0, 0, None),
            (2019, 2019, Some("2019")),
            (2016, 2020, Some("2016-2020")),
            (2010, 0, Some("2010-")),
            (0, 2015, Some("-2015")),
        ] {
            assert_eq!(years(min, max).unwrap().as_deref(), wanted);
        }
        for (min, max) in [(2020, 2019), (-5, 0), (0, 10_000)] {
            assert!(years(min, max).is_err(), "{min} {max}");
        }
    }

    #[test]
    fn missing_fields_are_omitted() {
        assert_eq!(
            paper(
                &json!({"title": null, "year": null, "abstract": null, "openAccessPdf": {"url": "", "status": "CLOSED"},
                "authors": [], "venue": "", "citationCount": null, "externalIds": null, "url": null})
            ),
            Some("(no title)".to_owned())
        );
        let five = ["A", "B", "C", "D", "E"].map(|name| json!({"name": name}));
        assert_eq!(
            paper(&json!({"paperId": "p1", "title": "T\n x", "year": 2020, "citationCount": 1, "authors": five, "venue": "V",
                "externalIds": {"ArXiv": "2301.10035"}, "openAccessPdf": {"url": "https://x.test/a.pdf"}, "abstract": "a".repeat(300)}))
            .unwrap(),
            format!(
                "T x (2020)\n   A, B, C, D and 1 more · V · 1 citation\n   Paper id: p1\n   PDF: https://x.test/a.pdf\n   \
                 arXiv: https://arxiv.org/abs/2301.10035\n   {}…",
                "a".repeat(200)
            )
        );
        assert_eq!(paper(&json!("text")), None);
    }

    proptest! {
        #[test]
        fn papers_show_only_existing_fields(
            text in proptest::option::of(".{0,20}"), year in proptest::option::of(any::<i32>()), cites in proptest::option::of(any::<i64>()),
        ) {
            let shown = paper(&json!({"title": text, "year": year, "citationCount": cites, "abstract": text, "venue": text})).unwrap();
            prop_assert!(!shown.contains("null") || text.is_some_and(|text| text.contains("null")));
            prop_assert!(shown.lines().all(|line| !line.trim().is_empty()), "{:?}", shown);
        }
    }
}
