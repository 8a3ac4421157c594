//! An app's page in the store: an object under the id as text, with its own success flag; nearly all fields may be missing.

use serde_json::Value;

use super::price::GamePrice;
use super::{
    COUNTRY, LANGUAGE, SERVICE_TIMEOUT, SteamAppDetails, app_id, pause_if_limited, platforms, reply,
};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{escape_controls, thousands};
use crate::formats::html;
use crate::net::services::STEAM_STORE;
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{count, text_at};
use crate::tools::output::labeled::{LabeledText, cut, plain};
use crate::tools::output::untrusted::fenced;
use crate::tools::output::web_links;

/// Maximum characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 500;

pub(super) fn run(ctx: &ToolContext, args: SteamAppDetails) -> Outcome<String> {
    let id = app_id(args.app_id)?;
    let answer = ctx
        .service(&STEAM_STORE)
        .path("/api/appdetails")
        .query("appids", id)
        .query("cc", COUNTRY)
        .query("l", LANGUAGE)
        .timeout(SERVICE_TIMEOUT)
        .get()?;
    let found = reply(&answer, false).inspect_err(|error| pause_if_limited(ctx, error))?;
    let Some(entry) = found.get(id.to_string()) else {
        return Err(answer.unreadable());
    };
    match entry.at("data").filter(|data| data.is_object()) {
        Some(data) if entry.at("success") != Some(&Value::Bool(false)) => Ok(render(data, id)),
        _ if entry.at("success") == Some(&Value::Bool(false)) => Err(Problem::missing(format!(
            "App {id} has no store page (unknown id, or not sold in this country)."
        ))
        .next("steam_search finds ids.")),
        _ => Err(answer.unreadable()),
    }
}

fn render(data: &Value, requested: i64) -> String {
    let name = text_at(data, "name").unwrap_or_else(|| "An app without a name".to_owned());
    let kind = text_at(data, "type").map_or_else(String::new, |kind| format!("{kind}, "));
    let id = count(data, "steam_appid").unwrap_or_else(|| requested.unsigned_abs());
    let mut sheet = LabeledText::new(&format!("{name} ({kind}app {id})"));
    sheet.row("Price in the US", Some(price(data)));
    sheet.row("Released", released(data));
    sheet.row("Age", age(data).map(|age| format!("{age}+")));
    sheet.row(
        "Metacritic",
        count(data, "metacritic/score")
            .filter(|score| *score > 0)
            .map(|score| score.to_string()),
    );
    sheet.row(
        "Recommendations",
        count(data, "recommendations/total").map(thousands),
    );
    sheet.row(
        "Achievements",
        count(data, "achievements/total").map(thousands),
    );
    sheet.words("Genres", &describe(data, "genres"));
    sheet.words("Categories", &describe(data, "categories"));
    sheet.words("Developers", &names(data, "developers"));
    sheet.words("Publishers", &names(data, "publishers"));
    sheet.words(
        "Platforms",
        &platforms(data.at("platforms").unwrap_or(&Value::Null)),
    );
    let more = data.list("dlc").len();
    sheet.row("DLC", (more > 0).then(|| more.to_string()));
    sheet.row("Part of", text_at(data, "fullgame/name"));
    let about = data.text("short_description").map(html::line);
    if let Some(text) = about.map(|text| cut(&escape_controls(&text), MAX_DESCRIPTION_CHARS)) {
        sheet.line(&fenced("the description at Steam", &text));
    }
    sheet.line(&format!("{}app/{id}/", web_links::STEAM_STORE));
    sheet.text()
}

/// Its price; an app without one is not necessarily free.
fn price(data: &Value) -> String {
    let actual = || {
        let price = data.at("price_overview")?;
        let worded = text_at(price, "final_formatted");
        let Some(now) = price.whole("final") else {
            return worded;
        };
        GamePrice {
            currency: text_at(price, "currency"),
            now,
            before: price.whole("initial"),
            discount: price.whole("discount_percent"),
        }
        .text()
    };
    if data.flag("is_free") {
        "free".to_owned()
    } else if let Some(price) = actual() {
        price
    } else if data.flag("release_date/coming_soon") {
        "none yet, coming soon".to_owned()
    } else {
        "no price listed".to_owned()
    }
}

fn released(data: &Value) -> Option<String> {
    let date = text_at(data, "release_date/date");
    if !data.flag("release_date/coming_soon") {
        return date;
    }
    Some(match date {
        Some(date) if !date.eq_ignore_ascii_case("coming soon") => format!("coming soon ({date})"),
        _ => "coming soon".to_owned(),
    })
}

/// The age that the store requires: a number, or a text that begins with one.
fn age(data: &Value) -> Option<u64> {
    let word = data.word("required_age")?;
    let end = word
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(word.len());
    word.get(..end)?
        .parse()
        .ok()
        .filter(|age| (1..100).contains(age))
}

/// The descriptions in a list of objects.
fn describe(data: &Value, list: &str) -> Vec<String> {
    data.list(list)
        .iter()
        .filter_map(|item| text_at(item, "description"))
        .collect()
}

fn names(data: &Value, list: &str) -> Vec<String> {
    data.texts(list).into_iter().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_missing_price_is_not_free() {
        for (data, wanted) in [
            (json!({"is_free": true}), "free"),
            (json!({}), "no price listed"),
            (
                json!({"release_date": {"coming_soon": true}}),
                "none yet, coming soon",
            ),
            (
                json!({"price_overview": {"final_formatted": "9,99€"}}),
                "9,99€",
            ),
            (
                json!({"price_overview": {"currency": "EUR", "initial": 2000, "final": 500, "discount_percent": 75}}),
                "5.00 EUR (-75%, was 20.00 EUR)",
            ),
        ] {
            assert_eq!(price(&data), wanted);
        }
    }

    #[test]
    fn ages_are_numbers_or_text() {
        for (age_given, wanted) in [
            (json!(18), Some(18)),
            (json!("17"), Some(17)),
            (json!("17+"), Some(17)),
            (json!(0), None),
            (json!("0"), None),
            (json!(""), None),
            (json!(null), None),
            (json!(-3), None),
            (json!([]), None),
        ] {
            assert_eq!(age(&json!({"required_age": age_given})), wanted);
        }
    }

    #[test]
    fn an_app_without_details_still_gives_a_result() {
        assert_eq!(
            render(&json!({"pc_requirements": [], "dlc": null}), 5),
            "An app without a name (app 5)\nPrice in the US: no price listed\nhttps://store.steampowered.com/app/5/"
        );
        let soon = json!({"release_date": {"coming_soon": true, "date": "Coming soon"}});
        assert_eq!(released(&soon).as_deref(), Some("coming soon"));
        let soon = json!({"release_date": {"coming_soon": true, "date": "Q1 2030"}});
        assert_eq!(released(&soon).as_deref(), Some("coming soon (Q1 2030)"));
    }
}
