//! Data of a Steam user: their games by playtime, and their profile. Both need a key and the 64-bit id.

use std::fmt::Write as _;

use serde_json::Value;

use super::stats::RETRY_WAIT;
use super::{SERVICE_TIMEOUT, SteamUserGames, SteamUserSummary, day, key, reply, user};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{plural, thousands, trim_decimals};
use crate::net::service::ServiceResponse;
use crate::net::services::STEAM_API;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, numbered, objects, text_at};
use crate::tools::output::labeled::{LabeledText, plain};

const MAX_SHOWN: usize = 20;

pub(super) fn games(ctx: &ToolContext, args: SteamUserGames) -> Outcome<String> {
    let id = user(&args.steam_id)?;
    let pairs = [
        ("steamid", id),
        ("include_appinfo", "1"),
        ("include_played_free_games", "1"),
        ("format", "json"),
    ];
    let answer = request(
        ctx,
        "/IPlayerService/GetOwnedGames/v1/",
        "steam_user_games",
        &pairs,
    )?;
    let found = reply(&answer, true)?;
    let Some(found) = found.at("response").filter(|found| found.is_object()) else {
        return Err(answer.unreadable());
    };
    let games = objects(found, "games");
    match (count(found, "game_count"), games.is_empty()) {
        (Some(0), true) => Ok(format!("The user {id} owns no games.")),
        (None, true) => Err(Problem::refused(format!(
            "Steam shows no games of {id}: the profile or its game list is private."
        ))
        .next("Its owner can make \"Game details\" public in Steam's privacy settings.")),
        (Some(_), true) => Err(answer.unreadable()),
        (total, false) => Ok(listed(ctx, id, total, &games)),
    }
}

fn request(
    ctx: &ToolContext,
    path: &str,
    tool: &str,
    pairs: &[(&str, &str)],
) -> Outcome<ServiceResponse> {
    let key = key(ctx, tool)?;
    let request = ctx
        .service(&STEAM_API)
        .path(path)
        .secret_query("key", &key)
        .retry_after(RETRY_WAIT)
        .timeout(SERVICE_TIMEOUT);
    pairs
        .iter()
        .fold(request, |request, (name, value)| request.query(name, value))
        .get()
}

fn minutes(game: &Value, key: &str) -> u64 {
    count(game, key).unwrap_or_default()
}

fn listed(ctx: &ToolContext, id: &str, total: Option<u64>, games: &[&Value]) -> String {
    let mut ranked = games.to_vec();
    ranked.shared_sort_by_key(|game| std::cmp::Reverse(minutes(game, "playtime_forever")));
    let all: u64 = games.iter().fold(0, |sum: u64, game| {
        sum.saturating_add(minutes(game, "playtime_forever"))
    });
    let total = total.unwrap_or_default().max(games.len() as u64);
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let mut out = format!("{} of the user {id}", plural(total, "game"));
    if let Some(all) = playtime(all) {
        let _ = write!(out, ", {all} played in all");
    }
    out.push(':');
    let shown = ranked.into_iter().take(MAX_SHOWN).map(|game| {
        let last = game.whole("rtime_last_played");
        line(game, last.and_then(|when| day(ctx, when)))
    });
    let _ = write!(out, "\n{}", numbered(shown));
    if total > MAX_SHOWN.min(games.len()) {
        let _ = write!(out, "\nand {} more", total - MAX_SHOWN.min(games.len()));
    }
    out
}

fn line(game: &Value, last: Option<String>) -> String {
    let id = count(game, "appid").map(|id| format!("app {id}"));
    let Some(name) = text_at(game, "name").or_else(|| id.clone()) else {
        return "A game without a name".to_owned();
    };
    let mut parts = vec![
        playtime(minutes(game, "playtime_forever")).unwrap_or_else(|| "no playtime".to_owned()),
    ];
    let recent = playtime(minutes(game, "playtime_2weeks"));
    parts.extend(recent.map(|time| format!("{time} in the last two weeks")));
    parts.extend(last.map(|day| format!("last on {day}")));
    parts.extend(id.filter(|id| *id != name));
    format!("{name}: {}", parts.join(", "))
}

/// Playtime in hours and minutes; `None` for zero.
fn playtime(minutes: u64) -> Option<String> {
    #[allow(clippy::cast_precision_loss)]
    match minutes {
        0 => None,
        1..60 => Some(format!("{minutes} min")),
        60..60_000 => Some(format!("{} h", trim_decimals(minutes as f64 / 60.0, 1))),
        _ => Some(format!("{} h", thousands(minutes / 60))),
    }
}

pub(super) fn summary(ctx: &ToolContext, args: SteamUserSummary) -> Outcome<String> {
    let id = user(&args.steam_id)?;
    let answer = request(
        ctx,
        "/ISteamUser/GetPlayerSummaries/v2/",
        "steam_user_summary",
        &[("steamids", id)],
    )?;
    let found = reply(&answer, true)?;
    let Some(players) = found.at("response/players").and_then(Value::as_array) else {
        return Err(answer.unreadable());
    };
    let own = players
        .iter()
        .find(|player| player.text("steamid") == Some(id));
    match own.or_else(|| players.iter().find(|player| player.is_object())) {
        Some(player) => Ok(profile(ctx, id, player)),
        None => Err(
            Problem::missing(format!("Steam knows no user with the id {id}."))
                .next("Check the 17 digits."),
        ),
    }
}

fn profile(ctx: &ToolContext, id: &str, player: &Value) -> String {
    let name = text_at(player, "personaname").unwrap_or_else(|| "A user without a name".to_owned());
    let open = player
        .whole("communityvisibilitystate")
        .is_none_or(|state| state == 3);
    let mut sheet = LabeledText::new(&format!("{name} ({id})"));
    if open {
        sheet.row("Status", status(player).map(str::to_owned));
    } else {
        sheet.line("The profile is private: Steam tells little more than its name.");
    }
    let game_id = player.word("gameid").map(|id| plain(&id));
    let playing = match (text_at(player, "gameextrainfo"), game_id) {
        (Some(name), Some(id)) => Some(format!("{name} (app {id})")),
        (Some(name), None) => Some(name),
        (None, id) => id.map(|id| format!("app {id}")),
    };
    sheet.row("Playing", playing);
    let since = |key: &str| player.whole(key).and_then(|when| day(ctx, when));
    sheet.row("Last online", since("lastlogoff"));
    sheet.row("Created", since("timecreated"));
    sheet.row(
        "Profile",
        text_at(player, "profileurl").filter(|url| url.starts_with("http")),
    );
    sheet.text()
}

fn status(player: &Value) -> Option<&'static str> {
    const STATES: [&str; 7] = [
        "offline",
        "online",
        "busy",
        "away",
        "snoozing",
        "looking to trade",
        "looking to play",
    ];
    let state = usize::try_from(player.whole("personastate")?).ok()?;
    STATES.get(state).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn playtime_is_in_hours_and_minutes() {
        for (minutes, wanted) in [
            (0, None),
            (1, Some("1 min")),
            (59, Some("59 min")),
            (60, Some("1 h")),
            (4_206, Some("70.1 h")),
            (60_000, Some("1,000 h")),
            (u64::MAX, Some("307,445,734,561,825,860 h")),
        ] {
            assert_eq!(playtime(minutes).as_deref(), wanted);
        }
    }

    #[test]
    fn games_without_name_or_playtime_are_listed() {
        assert_eq!(line(&json!({"appid": 5}), None), "app 5: no playtime");
        assert_eq!(line(&json!({}), None), "A game without a name");
        assert_eq!(
            line(
                &json!({"appid": 5, "name": "A", "playtime_forever": 90, "playtime_2weeks": 30}),
                Some("2026-01-02".to_owned())
            ),
            "A: 1.5 h, 30 min in the last two weeks, last on 2026-01-02, app 5"
        );
    }

    #[test]
    fn unknown_states_are_omitted() {
        assert_eq!(status(&json!({"personastate": 6})), Some("looking to play"));
        for odd in [json!(7), json!(-1), json!("x"), json!(null)] {
            assert_eq!(status(&json!({"personastate": odd})), None);
        }
    }
}
