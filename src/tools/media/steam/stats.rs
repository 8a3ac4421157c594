//! Current players of a game, and the share of players per achievement: two requests, neither of which needs a key.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::Value;

use super::{HALF_TIMEOUT, SteamPlayerStats, app_id, rate_limited, reply};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{thousands, trim_decimals};
use crate::net::service::RequestBuilder;
use crate::net::services::STEAM_API;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, numbered, text_at};

const MAX_SHOWN: usize = 10;
/// The wait before retrying a refusal that occurs at random.
pub(super) const RETRY_WAIT: Duration = Duration::from_millis(1_500);

pub(super) fn run(ctx: &ToolContext, args: SteamPlayerStats) -> Outcome<String> {
    let id = app_id(args.app_id)?;
    let players = players(ctx, id);
    if players.as_ref().is_err_and(Problem::is_cancelled) {
        return Err(Problem::cancelled());
    }
    let rates = rates(ctx, id);
    let mut out = match (&players, &rates) {
        (Ok(Some(count)), _) => format!("App {id}: {} now.", people(*count)),
        (Ok(None), Ok(rates)) if rates.is_empty() => {
            return Err(Problem::missing(format!(
                "Steam has no numbers of app {id}: the id is unknown, or the app cannot be played."
            ))
            .next("steam_search finds ids."));
        }
        (Ok(None), _) => format!("App {id}: Steam does not count its players."),
        (Err(_), Ok(rates)) if !rates.is_empty() => format!("App {id}."),
        (Err(_), _) => return Err(players.err().unwrap_or_else(rate_limited)),
    };
    match rates {
        Ok(rates) if rates.is_empty() => out.push_str("\nIt has no achievement statistics."),
        Ok(rates) => listed(&mut out, &rates),
        Err(error) if error.is_cancelled() => return Err(error),
        Err(error) => drop(write!(
            out,
            "\nThe achievements could not be read: {}",
            error.what
        )),
    }
    if let Err(error) = &players {
        let _ = write!(out, "\nThe players could not be counted: {}", error.what);
    }
    Ok(out)
}

fn people(count: u64) -> String {
    match count {
        1 => "1 player".to_owned(),
        count => format!("{} players", thousands(count)),
    }
}

fn request<'a>(ctx: &'a ToolContext, path: &str) -> RequestBuilder<'a> {
    ctx.service(&STEAM_API)
        .path(path)
        .retry_after(RETRY_WAIT)
        .timeout(HALF_TIMEOUT)
}

/// The number of current players; `None` for an app that Steam does not count.
fn players(ctx: &ToolContext, id: i64) -> Outcome<Option<u64>> {
    let answer = request(ctx, "/ISteamUserStats/GetNumberOfCurrentPlayers/v1/")
        .query("appid", id)
        .get()?;
    let unknown = answer
        .value()
        .and_then(|value| value.whole("response/result"))
        == Some(42);
    if (answer.status == 404 && !answer.is_page()) || unknown {
        return Ok(None);
    }
    let found = reply(&answer, false)?;
    match count(&found, "response/player_count") {
        Some(count) => Ok(Some(count)),
        None => Err(answer.unreadable()),
    }
}

/// The achievements with their shares in percent, the most frequent first; empty for an app without statistics.
fn rates(ctx: &ToolContext, id: i64) -> Outcome<Vec<(String, f64)>> {
    let answer = request(
        ctx,
        "/ISteamUserStats/GetGlobalAchievementPercentagesForApp/v2/",
    )
    .query("gameid", id)
    .get()?;
    // An app without statistics: 403 and an empty object, not a page.
    if matches!(answer.status, 400 | 403 | 404) && answer.value().is_some() {
        return Ok(Vec::new());
    }
    Ok(ranked(&reply(&answer, false)?))
}

fn ranked(found: &Value) -> Vec<(String, f64)> {
    let rate = |item: &Value| {
        let share = item.number("percent")?.clamp(0.0, 100.0);
        Some((text_at(item, "name")?, share))
    };
    let list = found.list("achievementpercentages/achievements");
    let mut rates: Vec<(String, f64)> = list.iter().filter_map(rate).collect();
    rates.shared_sort_by(|a, b| b.1.total_cmp(&a.1));
    rates
}

fn listed(out: &mut String, rates: &[(String, f64)]) {
    out.push_str("\nAchievements, by the share of players who have them:");
    let shown = rates.iter().take(MAX_SHOWN);
    let shown = shown.map(|(name, share)| format!("{name}: {}%", trim_decimals(*share, 1)));
    let _ = write!(out, "\n{}", numbered(shown));
    if rates.len() > MAX_SHOWN {
        let _ = write!(out, "\nand {} more", rates.len() - MAX_SHOWN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn shares_are_text_or_numbers() {
        let found = json!({"achievementpercentages": {"achievements": [
            {"name": "LOW", "percent": 0.44}, {"name": "HIGH", "percent": "66.6"}, {"name": "NONE", "percent": "NaN"},
            {"percent": 5}, {"name": "ALL", "percent": 100}
        ]}});
        let mut out = "App 1.".to_owned();
        listed(&mut out, &ranked(&found));
        assert_eq!(
            out,
            "App 1.\nAchievements, by the share of players who have them:\n 1. ALL: 100%\n 2. HIGH: 66.6%\n 3. LOW: 0.4%"
        );
        assert!(ranked(&json!({"achievementpercentages": {}})).is_empty());
    }

    proptest! {
        #[test]
        fn any_share_is_accepted(shares in prop::collection::vec("[0-9.eE+-]{0,8}|NaN|inf", 0..20)) {
            let list: Vec<Value> = shares.iter().map(|share| json!({"name": "A", "percent": share})).collect();
            let rates = ranked(&json!({"achievementpercentages": {"achievements": list}}));
            prop_assert!(rates.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert!(rates.iter().all(|(_, share)| (0.0..=100.0).contains(share)));
        }
    }
}
