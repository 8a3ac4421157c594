//! Films and series from OMDb (<https://www.omdbapi.com/>): errors come with status 200 or 401 alike and differ only in their text.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    GetMovieDetails, SERVICE_TIMEOUT, SearchMovies, TitleKind, bad_response, is_down, requested,
};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind as Sort};
use crate::net::service::{RequestBuilder, ServiceResponse};
use crate::net::services::OMDB;
use crate::tools::engine::context::ToolContext;
use crate::tools::media::titles::web_fallback::{self, ServiceKey};
use crate::tools::output::found::{count, numbered, objects, shown_of};
use crate::tools::output::labeled::{LabeledText, plain, quoted};
use crate::tools::output::untrusted::fenced;
use crate::tools::output::web_links;

const KEY: ServiceKey = ServiceKey {
    service: &OMDB,
    page: web_links::OMDB_KEY,
    benefit: "ids, ratings, cast and plot",
};
/// Results of a page; only the first page is shown.
const PAGE_RESULTS: usize = 10;

pub(super) fn search(ctx: &ToolContext, args: SearchMovies) -> Outcome<String> {
    let query = requested(&args.query, "Metropolis")?;
    let year = year(&args.year)?;
    let kind = args.kind;
    let Some(key) = KEY.value(ctx) else {
        let what = if kind == TitleKind::Any {
            "movie"
        } else {
            kind.word()
        };
        let words = [query, what, year.unwrap_or_default()];
        return web_fallback::web(ctx, &KEY, words.join(" ").trim_end());
    };
    let answer = request(ctx, &key)
        .query("s", query)
        .query_if("y", year)
        .query_if("type", Some(kind.word()).filter(|word| !word.is_empty()))
        .get()?;
    let found = reply(&answer)?;
    match &found {
        Some(found) if !found.list("Search").is_empty() => Ok(listed(query, found)),
        Some(found)
            if !found.at("Search").is_some_and(Value::is_array)
                && found.whole("totalResults") != Some(0) =>
        {
            Err(answer.unreadable())
        }
        _ => Ok(nothing(query, year, kind)),
    }
}

pub(super) fn details(ctx: &ToolContext, args: GetMovieDetails) -> Outcome<String> {
    let (title, id) = (args.title.trim(), args.imdb_id.trim());
    let wanted = match (id, title) {
        ("", "") => {
            return Err(Problem::input("Neither title nor imdb_id is given.")
                .next("Give one of them; search_movies finds ids."));
        }
        ("", title) => match imdb_id(title) {
            Some(id) if title.starts_with("tt") => TitleQuery::Id(id),
            _ => TitleQuery::Title(title),
        },
        (id, _) => TitleQuery::Id(imdb_id(id).ok_or_else(|| {
            Problem::input(format!("{} is not an IMDb id.", quoted(id)))
                .next("It is tt and at least seven digits, for example tt0017136; search_movies finds it.")
        })?),
    };
    let Some(key) = KEY.value(ctx) else {
        let query = match &wanted {
            TitleQuery::Title(title) => format!("{title} movie reviews ratings"),
            TitleQuery::Id(id) if !title.is_empty() => {
                format!("{title} {id} movie reviews ratings")
            }
            TitleQuery::Id(id) => format!("{id} IMDb movie reviews ratings"),
        };
        return web_fallback::web(ctx, &KEY, &query);
    };
    let ask = request(ctx, &key).query("plot", "full");
    let (answer, named) = match &wanted {
        TitleQuery::Id(id) => (ask.query("i", id).get()?, quoted(id)),
        TitleQuery::Title(title) => (ask.query("t", title).get()?, quoted(title)),
    };
    match reply(&answer)? {
        Some(found) => render(&found).ok_or_else(|| answer.unreadable()),
        None => Ok(format!(
            "No results: OMDb has no title {named}. search_movies finds titles by a part of their name."
        )),
    }
}

/// What the details are looked up by.
enum TitleQuery<'a> {
    Title(&'a str),
    Id(String),
}

fn request<'a>(ctx: &'a ToolContext, key: &str) -> RequestBuilder<'a> {
    ctx.service(&OMDB)
        .path("/")
        .secret_query("apikey", key)
        .timeout(SERVICE_TIMEOUT)
}

/// The year to restrict to, if given.
fn year(text: &str) -> Outcome<Option<&str>> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(Some(text));
    }
    Err(Problem::input(format!("{} is not a year.", quoted(text)))
        .next("Give four digits, for example 1927, or leave it out."))
}

/// The IMDb id in the input: the id, its digits, or the address of the title's page.
fn imdb_id(text: &str) -> Option<String> {
    let text = match text.find("/title/") {
        Some(at) => text.get(at + "/title/".len()..)?,
        None => text,
    };
    let text = text.split(['/', '?', '#']).next()?.trim();
    let digits = text.strip_prefix("tt").or(text.strip_prefix("TT"));
    let digits = digits.unwrap_or(text);
    let right = (7..=10).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    right.then(|| format!("tt{digits}"))
}

/// The result in a response: a value, nothing found, or an error.
fn reply(answer: &ServiceResponse) -> Outcome<Option<Value>> {
    let value = answer.value();
    if let Some(words) = value.as_ref().and_then(failure) {
        return refusal(answer, &words);
    }
    match value {
        Some(value) if answer.is_ok() && value.is_object() => Ok(Some(value)),
        _ if is_down(answer) => Err(bad_response(answer)),
        _ if answer.is_ok() => Err(answer.unreadable()),
        _ => Err(answer.refused(None)),
    }
}

fn failure(value: &Value) -> Option<String> {
    let words = value.text("Error");
    let failed = match value.at("Response") {
        Some(Value::Bool(good)) => !good,
        Some(Value::String(word)) => word.trim().eq_ignore_ascii_case("false"),
        _ => words.is_some(),
    };
    failed.then(|| words.unwrap_or_default().to_owned())
}

/// Classifies a failure by its message: an exhausted quota and a bad key have the same status.
fn refusal(answer: &ServiceResponse, words: &str) -> Outcome<Option<Value>> {
    let lower = words.to_lowercase();
    let known_text = answer.quoted(words);
    let known_text = known_text.trim_end_matches(['.', '!']);
    let has = |part: &str| lower.contains(part);
    Err(if has("limit") {
        Problem::limit(format!(
            "The daily limit of the key for OMDb is reached: {known_text}."
        ))
        .next("A free key has 1,000 requests a day. Try again tomorrow, or use web_search.")
    } else if has("api key") || matches!(answer.status, 401 | 403) {
        let reason = if known_text.is_empty() {
            "it gives no reason"
        } else {
            known_text
        };
        Problem::new(
            Sort::Auth,
            format!("OMDb does not accept {}: {reason}.", KEY.variable()),
        )
        .next(format!(
            "Check it; a new key works once the link in OMDb's e-mail was opened. Keys: {}",
            KEY.page
        ))
    } else if answer.status >= 500 {
        bad_response(answer)
    } else if has("not found") {
        return Ok(None);
    } else if has("too many") {
        Problem::input("Too many titles fit for OMDb to list them.")
            .next("Give a longer title, or a year too.")
    } else if has("incorrect imdb") {
        Problem::input(format!("OMDb does not know the id: {known_text}."))
            .next("search_movies finds ids.")
    } else if known_text.is_empty() {
        Problem::network("OMDb failed and does not say why.").next("Try again later.")
    } else {
        Problem::network(format!("OMDb cannot answer this: {known_text}."))
            .next("Ask in other words, or use web_search.")
    })
}

fn nothing(query: &str, year: Option<&str>, kind: TitleKind) -> String {
    let mut out = format!("No results for {} at OMDb", quoted(query));
    match (kind, year) {
        (TitleKind::Any, None) => {}
        (TitleKind::Any, Some(year)) => drop(write!(out, " in {year}")),
        (kind, None) => drop(write!(out, " of type {}", kind.word())),
        (kind, Some(year)) => drop(write!(out, " of type {} in {year}", kind.word())),
    }
    out + "."
}

fn listed(query: &str, found: &Value) -> String {
    let items = objects(found, "Search");
    let shown = items.len().min(PAGE_RESULTS);
    let total = count(found, "totalResults");
    let narrows = match total.is_some_and(|total| total > shown as u64) {
        true => "A year, a type or a longer title narrows it. ",
        false => "",
    };
    // What is wrong in a list leaves it empty.
    let mut list = numbered(items.into_iter().take(shown).map(head));
    if !list.is_empty() {
        list.push('\n');
    }
    format!(
        "{} for {}:\n{list}{narrows}get_movie_details tells more of one by its id.",
        shown_of(shown, total, "title"),
        quoted(query)
    )
}

/// A known value: OMDb writes N/A for unknown ones.
fn known_text(value: &Value, key: &str) -> Option<String> {
    let word = plain(&value.word(key)?);
    let empty = word.is_empty() || word.eq_ignore_ascii_case("n/a");
    (!empty).then_some(word)
}

/// `Title (Year), type, id`.
fn head(item: &Value) -> String {
    let mut out = known_text(item, "Title").unwrap_or_else(|| "Untitled".to_owned());
    if let Some(year) = known_text(item, "Year") {
        let _ = write!(out, " ({year})");
    }
    for key in ["Type", "imdbID"] {
        if let Some(word) = known_text(item, key) {
            let _ = write!(out, ", {word}");
        }
    }
    out
}

/// All about one title; `None` when it has no title.
fn render(found: &Value) -> Option<String> {
    known_text(found, "Title")?;
    let get = |key: &str| known_text(found, key);
    let mut sheet = LabeledText::new(&head(found));
    sheet.row("Rated", get("Rated"));
    sheet.row("Released", get("Released"));
    sheet.row("Runtime", get("Runtime"));
    sheet.row("Seasons", get("totalSeasons"));
    let series = get("seriesID").map_or_else(String::new, |id| format!(" of {id}"));
    if let (Some(season), Some(episode)) = (get("Season"), get("Episode")) {
        sheet.line(&format!("Season {season}, episode {episode}{series}"));
    }
    sheet.row("Genre", get("Genre"));
    sheet.row("Director", get("Director"));
    sheet.row("Writer", get("Writer"));
    sheet.row("Cast", get("Actors"));
    sheet.words("Ratings", &ratings(found));
    sheet.row("Awards", get("Awards"));
    sheet.row("Box office", get("BoxOffice"));
    if let Some(plot) = get("Plot") {
        sheet.line(&fenced("the plot at OMDb", &plot));
    }
    if let Some(id) = get("imdbID").and_then(|id| imdb_id(&id)) {
        sheet.line(&format!("{}{id}/", web_links::IMDB_TITLE));
    }
    Some(sheet.text())
}

/// Every source's rating, in its own scale; IMDb's with the number of votes.
fn ratings(found: &Value) -> Vec<String> {
    let votes =
        known_text(found, "imdbVotes").map_or_else(String::new, |votes| match votes.as_str() {
            "1" => " (1 vote)".to_owned(),
            _ => format!(" ({votes} votes)"),
        });
    let mut out: Vec<String> = Vec::new();
    let mut add = |source: &str, value: &str| {
        let (name, votes) = match source {
            "Internet Movie Database" | "IMDb" => ("IMDb", votes.as_str()),
            other => (other, ""),
        };
        let own = format!("{name} ");
        if !out.iter().any(|rating| rating.starts_with(&own)) {
            out.push(format!("{own}{value}{votes}"));
        }
    };
    for rating in found.list("Ratings") {
        if let (Some(source), Some(value)) =
            (known_text(rating, "Source"), known_text(rating, "Value"))
        {
            add(&source, &value);
        }
    }
    if let Some(value) = known_text(found, "imdbRating") {
        add("IMDb", &format!("{value}/10"));
    }
    if let Some(value) = known_text(found, "Metascore") {
        add("Metacritic", &format!("{value}/100"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn ids_are_found_in_the_input() {
        for (text, wanted) in [
            ("tt0017136", Some("tt0017136")),
            ("0017136", Some("tt0017136")),
            (
                "https://www.imdb.com/title/tt0017136/?ref_=x",
                Some("tt0017136"),
            ),
            ("tt12345678", Some("tt12345678")),
            ("tt123", None),
            ("Metropolis", None),
            ("tt00171x6", None),
            ("", None),
            ("/title/", None),
        ] {
            assert_eq!(imdb_id(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn failures_are_told_by_their_words() {
        let of = |status, body: &Value| {
            reply(&ServiceResponse::new(
                &OMDB,
                status,
                body.to_string().into_bytes(),
            ))
        };
        let no = |words: &str| json!({"Response": "False", "Error": words});
        let kind = |status, words: &str| of(status, &no(words)).unwrap_err().kind;
        assert_eq!(kind(401, "Daily request limit is over"), Sort::Limit);
        assert_eq!(kind(401, "No API key"), Sort::Auth);
        assert_eq!(kind(200, "Invalid API key"), Sort::Auth);
        assert_eq!(kind(200, "Too many of them"), Sort::Input);
        assert_eq!(kind(200, "Incorrect IMDb id"), Sort::Input);
        assert_eq!(kind(503, "Down"), Sort::Network);
        assert_eq!(kind(200, ""), Sort::Network);
        assert!(of(200, &no("Series not found")).unwrap().is_none());
        assert!(of(200, &json!({"Response": false})).is_err());
        assert!(of(200, &json!({"Error": "lost"})).is_err());
        assert!(of(200, &json!([1])).is_err());
        assert!(of(200, &json!({"Response": "True"})).unwrap().is_some());
    }

    #[test]
    fn what_is_not_known_is_left_out() {
        let found = json!({
            "Title": "A &amp; B", "Year": "2019–", "Type": "series", "imdbID": "N/A", "Rated": "n/a", "Plot": "", "totalSeasons": 3,
            "imdbRating": 7.5, "imdbVotes": "N/A", "Metascore": "N/A", "Ratings": null, "BoxOffice": null
        });
        assert_eq!(
            render(&found).unwrap(),
            "A & B (2019–), series\nSeasons: 3\nRatings: IMDb 7.5/10"
        );
        assert_eq!(render(&json!({"Title": "N/A"})), None);
        assert_eq!(head(&json!({})), "Untitled");
    }

    proptest! {
        #[test]
        fn an_id_is_tt_and_digits(text in "(tt|TT|/title/)?[0-9]{0,12}.{0,4}") {
            if let Some(id) = imdb_id(&text) {
                prop_assert!(id.starts_with("tt") && id.len() >= 9 && id.len() <= 12);
                prop_assert_eq!(imdb_id(&id), Some(id.clone()));
            }
        }
    }
}
