//! Video games from RAWG (<https://api.rawg.io/docs/>); its terms require a link back.

use std::fmt::Write as _;

use serde_json::Value;

use super::{GetGameDetails, SERVICE_TIMEOUT, SearchGames, bad_response, is_down, requested};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{escape_controls, plural, thousands, trim_decimals};
use crate::formats::html;
use crate::net::service::{RequestBuilder, ServiceResponse};
use crate::net::services::{KEY_ADVICE, RAWG};
use crate::tools::engine::context::ToolContext;
use crate::tools::media::titles::web_fallback::{self, ServiceKey};
use crate::tools::output::found::{count, numbered, objects, shown_of, text_at};
use crate::tools::output::labeled::{LabeledText, cut, plain, quoted};
use crate::tools::output::untrusted::fenced;
use crate::tools::output::web_links;

const KEY: ServiceKey = ServiceKey {
    service: &RAWG,
    page: web_links::RAWG_KEY,
    benefit: "ratings, platforms and ids",
};
/// Maximum characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 500;
/// Maximum platforms in a line of a list.
const MAX_PLATFORMS: usize = 6;

pub(super) fn search(ctx: &ToolContext, args: SearchGames) -> Outcome<String> {
    let query = requested(&args.query, "Tetris")?;
    let Some(key) = KEY.value(ctx) else {
        return web_fallback::web(ctx, &KEY, &format!("{query} video game review"));
    };
    let answer = request(ctx, &key)
        .query("search", query)
        .query("page_size", args.max_results)
        .get()?;
    let found = reply(&answer)?;
    let items = objects(&found, "results");
    if items.is_empty() {
        // A missing list is an empty one only if the count agrees.
        let known = found.at("results").is_some_and(Value::is_array);
        return match known || found.whole("count") == Some(0) {
            true => Ok(format!("No results for {} at RAWG.", quoted(query))),
            false => Err(answer.unreadable()),
        };
    }
    let shown = items.len().min(args.max_results);
    Ok(format!(
        "{} for {}:\n{}\nget_game_details tells more of one by its id. Data: RAWG, {}",
        shown_of(shown, count(&found, "count"), "game"),
        quoted(query),
        numbered(items.into_iter().take(shown).map(line)),
        web_links::RAWG
    ))
}

pub(super) fn details(ctx: &ToolContext, args: GetGameDetails) -> Outcome<String> {
    let id = args.game_id;
    if id < 1 {
        return Err(
            Problem::input(format!("game_id cannot be {id}.")).next("search_games finds ids.")
        );
    }
    let Some(key) = KEY.value(ctx) else {
        let problem = Problem::new(
            ProblemKind::Auth,
            format!(
                "{} is not set, and without it an id cannot be looked up.",
                KEY.variable()
            ),
        );
        return Err(problem
            .next(KEY.hint())
            .next(KEY_ADVICE)
            .next("search_games with the game's title searches the web instead."));
    };
    let ask = |name: &str| request(ctx, &key).segment(name).get();
    let answer = ask(&id.to_string())?;
    let found = detail(&answer, id)?;
    // An entry that was merged into another one only names it.
    let merged = found.flag("redirect").then(|| found.text("slug")).flatten();
    let (answer, found) = match merged {
        Some(slug) => {
            let answer = ask(slug)?;
            let found = detail(&answer, id)?;
            (answer, found)
        }
        None => (answer, found),
    };
    render(&found, id).ok_or_else(|| answer.unreadable())
}

fn request<'a>(ctx: &'a ToolContext, key: &str) -> RequestBuilder<'a> {
    ctx.service(&RAWG)
        .path("/api/games")
        .secret_query("key", key)
        .timeout(SERVICE_TIMEOUT)
}

fn detail(answer: &ServiceResponse, id: i64) -> Outcome<Value> {
    if answer.status == 404 && !answer.is_page() {
        return Err(
            Problem::missing(format!("RAWG has no game with that id ({id})."))
                .next("search_games finds ids."),
        );
    }
    reply(answer)
}

/// The object in a response.
fn reply(answer: &ServiceResponse) -> Outcome<Value> {
    if is_down(answer) {
        return Err(bad_response(answer));
    }
    let value = answer.value();
    let words = value
        .as_ref()
        .and_then(|value| value.text("error").or(value.text("detail")));
    if matches!(answer.status, 401 | 403) {
        let known_text = words.map(|words| answer.quoted(words)).unwrap_or_default();
        let known_text = match known_text.trim_end_matches('.') {
            "" => String::new(),
            known_text => format!(" RAWG says: {known_text}."),
        };
        return Err(Problem::new(
            ProblemKind::Auth,
            format!(
                "{} is not accepted or its quota is used up ({}).{known_text}",
                KEY.variable(),
                answer.status
            ),
        )
        .next(format!(
            "Check it at {}; a free key has 20,000 requests a month. web_search works without.",
            KEY.page
        )));
    }
    let value = answer.json(|_| words.map(str::to_owned))?;
    match value.text("error") {
        Some(words) => Err(Problem::network(format!(
            "RAWG cannot answer this: {}.",
            answer.quoted(words).trim_end_matches('.')
        ))
        .next("Try again later, or use web_search.")),
        None if value.is_object() => Ok(value),
        None => Err(answer.unreadable()),
    }
}

/// The names in a list of objects, without duplicates; `path` is the path to the name.
fn names(value: &Value, list: &str, path: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in value
        .list(list)
        .iter()
        .filter_map(|item| text_at(item, path))
    {
        if !out.contains(&name) {
            out.push(name);
        }
    }
    out
}

fn released(game: &Value) -> Option<String> {
    match text_at(game, "released") {
        Some(date) => Some(date),
        None if game.flag("tba") => Some("to be announced".to_owned()),
        None => None,
    }
}

/// `4.38/5 by 3,596 people`; `None` for a game without ratings.
fn rating(game: &Value) -> Option<String> {
    let rating = game.number("rating").filter(|rating| *rating > 0.0)?;
    let by = match count(game, "ratings_count").unwrap_or_default() {
        0 => String::new(),
        1 => " by 1 person".to_owned(),
        count => format!(" by {} people", thousands(count)),
    };
    Some(format!("{}/5{by}", trim_decimals(rating, 2)))
}

fn metacritic(game: &Value) -> Option<String> {
    let score = game.number("metacritic").filter(|score| *score > 0.0)?;
    Some(trim_decimals(score, 0))
}

fn line(game: &Value) -> String {
    let mut parts = vec![text_at(game, "name").unwrap_or_else(|| "Untitled".to_owned())];
    parts.extend(released(game));
    parts.extend(rating(game).map(|rating| format!("rated {rating}")));
    parts.extend(metacritic(game).map(|score| format!("Metacritic {score}")));
    let platforms = names(game, "platforms", "platform/name");
    let (shown, more) = platforms.split_at(platforms.len().min(MAX_PLATFORMS));
    parts.push(match more.len() {
        0 => shown.join("/"),
        more => format!("{} and {more} more", shown.join("/")),
    });
    parts.extend(game.word("id").map(|id| format!("id {}", plain(&id))));
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// All about one game; `None` when it has no name.
fn render(game: &Value, requested: i64) -> Option<String> {
    let mut head = text_at(game, "name")?;
    let id = game.whole("id");
    if let Some(id) = id {
        let _ = write!(head, ", RAWG id {id}");
    }
    let mut sheet = LabeledText::new(&head);
    if id.is_some_and(|id| id != requested) {
        sheet.line(&format!("(Id {requested} was merged into this one.)"));
    }
    sheet.row("Released", released(game));
    sheet.row("Rating", rating(game));
    sheet.words("Votes", &votes(game));
    sheet.row("Metacritic", metacritic(game));
    sheet.words("Platforms", &names(game, "platforms", "platform/name"));
    sheet.words("Genres", &names(game, "genres", "name"));
    sheet.words("Developers", &names(game, "developers", "name"));
    sheet.words("Publishers", &names(game, "publishers", "name"));
    let hours = count(game, "playtime").and_then(|n| usize::try_from(n).ok());
    let hours = hours.filter(|hours| *hours > 0);
    sheet.row(
        "Playtime",
        hours.map(|hours| format!("about {}", plural(hours, "hour"))),
    );
    sheet.row("ESRB", text_at(game, "esrb_rating/name"));
    sheet.row(
        "Website",
        text_at(game, "website").filter(|url| url.starts_with("http")),
    );
    let description = game.text("description_raw").map(plain);
    let description =
        description.or_else(|| Some(escape_controls(&html::line(game.text("description")?))));
    if let Some(text) = description.map(|text| cut(&text, MAX_DESCRIPTION_CHARS)) {
        sheet.line(&fenced("the description at RAWG", &text));
    }
    let page = game.text("slug").filter(|slug| {
        slug.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    });
    sheet.line(&match page {
        Some(slug) => format!("Data: RAWG, {}{slug}", web_links::RAWG_GAME),
        None => format!("Data: RAWG, {}", web_links::RAWG),
    });
    Some(sheet.text())
}

/// The distribution of the ratings: `exceptional 1,891 (52%)`.
fn votes(game: &Value) -> Vec<String> {
    let vote = |rating: &Value| {
        let title = text_at(rating, "title")?;
        let count = count(rating, "count")?;
        let share = rating.number("percent");
        let share = share.map_or_else(String::new, |share| {
            format!(" ({}%)", trim_decimals(share, 0))
        });
        Some(format!("{title} {}{share}", thousands(count)))
    };
    game.list("ratings").iter().filter_map(vote).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn null_and_empty_fields_are_omitted() {
        let game = json!({
            "id": 7, "slug": "a-b", "name": "A\nB", "released": null, "tba": true, "rating": 0.0, "ratings": [], "ratings_count": 0,
            "metacritic": null, "platforms": null, "genres": null, "esrb_rating": null, "clip": null, "playtime": 0, "website": "",
            "description_raw": ""
        });
        assert_eq!(line(&game), "A B, to be announced, id 7");
        assert_eq!(
            render(&game, 7).unwrap(),
            "A B, RAWG id 7\nReleased: to be announced\nData: RAWG, https://rawg.io/games/a-b"
        );
        assert_eq!(render(&json!({"redirect": true, "slug": "x"}), 7), None);
    }

    #[test]
    fn html_stands_in_for_the_plain_description_and_odd_links_are_none() {
        let game = json!({"name": "A", "slug": "../x", "website": "javascript:x", "description": "<p>One &amp;<br>two</p>"});
        let text = render(&game, 7).unwrap();
        assert!(
            text.starts_with("A\nText of the description at RAWG"),
            "{text}"
        );
        assert!(text.contains("\nOne & two\n") && text.ends_with("Data: RAWG, https://rawg.io"));
    }

    proptest! {
        #[test]
        fn odd_numbers_are_omitted(rating in prop::num::f64::ANY, count in any::<i64>(), metacritic in any::<i64>()) {
            let game = json!({"name": "A", "rating": rating, "ratings_count": count, "metacritic": metacritic, "playtime": count,
                "ratings": [{"title": "t", "count": count, "percent": rating}]});
            let text = render(&game, 1).unwrap() + &line(&game);
            prop_assert!(!text.contains("NaN") && !text.contains("null") && !text.contains("inf"), "{}", text);
        }
    }
}
