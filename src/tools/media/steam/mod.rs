//! Module `steam`: the store, which needs no key, and Steam's Web API for games and players.

mod app;
mod featured;
mod player;
mod price;
mod search;
mod stats;

use std::time::Duration;

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::net::service::ServiceResponse;
use crate::net::services::{KEY_ADVICE, STEAM_API, STEAM_STORE, Service};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::output::labeled::quoted;
use crate::tools::output::web_links;

static STORE: [&Service; 1] = [&STEAM_STORE];
static API: [&Service; 1] = [&STEAM_API];

tools! { "steam";
    /// Search the Steam store.
    steam_search(SteamSearch; READ.seconds(10).service("steam store").asks(&STORE)) {
        /// title
        query: String, example: "Portal", alias: &["title", "term"];
        /// how many
        max_results: usize = 10, min: 1, max: 25;
    } => search::run, says ["search steam for {query}", "find {query} on steam"];

    /// Store page data of one app.
    steam_app_details(SteamAppDetails; READ.seconds(10).service("steam store").asks(&STORE)) {
        /// Steam app id
        app_id: i64, example: "400", alias: &["appid", "id"];
    } => app::run, says ["steam details of {app_id}", "steam app {app_id}"];

    /// What the store features now, and current specials.
    steam_featured(SteamFeatured; READ.seconds(10).service("steam store").asks(&STORE)) {
    } => featured::run, says ["steam specials", "steam deals", "what is featured on steam"];

    /// Players online now plus global achievement rates.
    steam_player_stats(SteamPlayerStats; READ.seconds(10).service("steam web api").asks(&API)) {
        /// Steam app id
        app_id: i64, example: "440", alias: &["appid", "id"];
    } => stats::run, says ["how many people play steam app {app_id}", "steam players of {app_id}"];

    /// Games a user owns, by playtime.
    steam_user_games(SteamUserGames; READ.seconds(10).service("steam web api").asks(&API)) {
        /// 64-bit Steam id, as text
        steam_id: String, example: "76561197960287930", alias: &["steamid", "user"];
    } => player::games, says ["steam games of {steam_id}"];

    /// Public profile of a Steam user.
    steam_user_summary(SteamUserSummary; READ.seconds(10).service("steam web api").asks(&API)) {
        /// 64-bit Steam id, as text
        steam_id: String, example: "76561197960287930", alias: &["steamid", "user"];
    } => player::summary, says ["steam profile of {steam_id}"];
}

/// Pause once the store limits requests; it counts them over five minutes.
const RATE_LIMIT_PAUSE: Duration = Duration::from_secs(60);
/// Time limit of a tool with one request, below the call's ten seconds.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(8);
/// The same for one of two requests.
const HALF_TIMEOUT: Duration = Duration::from_secs(4);
/// The store's language, by the name that it knows.
const LANGUAGE: &str = "english";
/// The country whose prices are shown.
const COUNTRY: &str = "us";

/// An app's id.
fn app_id(id: i64) -> Outcome<i64> {
    if id > 0 {
        return Ok(id);
    }
    Err(Problem::input(format!("app_id cannot be {id}.")).next("steam_search finds ids."))
}

/// The 64-bit id in the input: its 17 digits, or the address of a profile that contains them.
fn steam_id(text: &str) -> Option<&str> {
    let text = text.trim();
    let text = match text.find("/profiles/") {
        Some(at) => text.get(at + "/profiles/".len()..)?,
        None => text,
    };
    let id = text.split(['/', '?', '#']).next()?.trim();
    (id.len() == 17 && id.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

/// The 64-bit id in the input, or an explanation of how to find it.
fn user(text: &str) -> Outcome<&str> {
    steam_id(text).ok_or_else(|| {
        Problem::input(format!(
            "{} is not the 64-bit id of a Steam user; names of profiles are not looked up.",
            quoted(text)
        ))
        .next(format!(
            "Give its 17 digits: they are in the profile's address (…/profiles/7656119…), and for oneself as \"Steam ID\" at {}.",
            web_links::STEAM_ACCOUNT
        ))
    })
}

/// The problem with an address that sent too many requests.
fn rate_limited() -> Problem {
    Problem::limit("Steam is limiting requests, try again in a few minutes.")
}

/// Pauses requests to the store if `reason` is its rate limit.
fn pause_if_limited(ctx: &ToolContext, reason: &Problem) {
    if reason.kind == ProblemKind::Limit {
        ctx.session
            .services
            .hold_back(&STEAM_STORE, RATE_LIMIT_PAUSE);
    }
}

/// A response's JSON, with messages for Steam's errors; `keyed` when a key was sent.
fn reply(answer: &ServiceResponse, keyed: bool) -> Outcome<Value> {
    let value = answer.value();
    // Rate limit: status 429, or 200 and an empty body.
    if answer.status == 429 || (answer.is_ok() && value == Some(Value::Null)) {
        return Err(rate_limited());
    }
    let name = answer.service.name;
    match answer.status {
        200..300 => match value {
            Some(value) if value.is_object() => Ok(value),
            _ => Err(answer.unreadable()),
        },
        401 | 403 if keyed => Err(Problem::new(
            ProblemKind::Auth,
            format!("STEAM_API_KEY is not accepted ({}).", answer.status),
        )
        .next(format!("Check it at {}.", web_links::STEAM_KEY))
        .next(KEY_ADVICE)),
        status @ (401 | 403) => Err(Problem::refused(format!(
            "{name} refused the request ({status})."
        ))
        .next("Try again in a few minutes.")),
        400 if answer.service.id == STEAM_API.id => {
            Err(Problem::input("Steam cannot use the id (400).").next("Check its digits."))
        }
        500.. => Err(Problem::network(format!(
            "{} is not answering (status {}).",
            name, answer.status
        ))
        .next("Try again later; Steam is down for maintenance on Tuesdays at times.")),
        _ => Err(answer.refused(None)),
    }
}

/// The key of the Web API, which `tool` needs, or how to get it.
fn key(ctx: &ToolContext, tool: &str) -> Outcome<String> {
    let variable = STEAM_API.key.unwrap_or_default();
    STEAM_API.key_in(&ctx.session.env).ok_or_else(|| {
        Problem::new(
            ProblemKind::Auth,
            format!("{variable} is not set, and {tool} needs it."),
        )
        .next(web_links::how_to_get_key(web_links::STEAM_KEY, variable))
        .next(KEY_ADVICE)
    })
}

/// The supported systems, from an object with a flag for each.
fn platforms(value: &Value) -> Vec<String> {
    [("windows", "Windows"), ("mac", "macOS"), ("linux", "Linux")]
        .into_iter()
        .filter(|(key, _)| value.flag(key))
        .map(|(_, name)| name.to_owned())
        .collect()
}

/// The local date of a Unix time; `None` for zero and the day after it, which mean never.
fn day(ctx: &ToolContext, seconds: i64) -> Option<String> {
    let moment = jiff::Timestamp::from_second(seconds).ok()?;
    let zone = ctx.session.clock.now().time_zone().clone();
    (seconds > 86_400).then(|| moment.to_zoned(zone).strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_are_seventeen_digits() {
        for (text, wanted) in [
            ("76561197960287930", Some("76561197960287930")),
            (" 76561197960287930 ", Some("76561197960287930")),
            (
                "https://steamcommunity.com/profiles/76561197960287930/?l=en",
                Some("76561197960287930"),
            ),
            ("gabe", None),
            ("https://steamcommunity.com/id/gabe", None),
            ("7656119796028793", None),
            ("7.656119796028793e16", None),
            ("７６５６１１９７９６０２８７９３０", None),
            ("", None),
        ] {
            assert_eq!(steam_id(text), wanted, "{text}");
        }
    }

    #[test]
    fn refusals_are_distinguished() {
        let of = |status, body: &str, keyed| {
            reply(
                &ServiceResponse::new(&STEAM_API, status, body.as_bytes().to_vec()),
                keyed,
            )
        };
        let what = |status, body, keyed| of(status, body, keyed).unwrap_err().what;
        let page = "<html><body>no</body></html>";
        assert!(what(429, page, true).contains("limiting requests"));
        assert!(what(200, "null", false).contains("limiting requests"));
        assert!(what(401, page, true).contains("STEAM_API_KEY is not accepted (401)"));
        assert!(what(403, page, true).contains("STEAM_API_KEY is not accepted (403)"));
        assert_eq!(what(403, "{}", false), "Steam refused the request (403).");
        assert_eq!(what(400, page, true), "Steam cannot use the id (400).");
        assert!(what(502, page, true).contains("is not answering"));
        assert!(what(200, page, true).contains("a web page where data"));
        assert!(what(200, "[]", true).contains("cannot be read"));
        assert!(what(200, "", true).contains("with nothing"));
        assert!(of(200, "{}", true).is_ok());
    }

    proptest! {
        #[test]
        fn an_id_is_found_in_the_input(text in "(.{0,6}/profiles/)?[0-9]{15,18}.{0,3}") {
            if let Some(id) = steam_id(&text) {
                prop_assert!(text.contains(id) && id.len() == 17 && id.parse::<u64>().is_ok());
            }
        }
    }
}
