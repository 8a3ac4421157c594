//! Currency conversion at the European Central Bank's reference rates, from <https://frankfurter.dev>.

use std::time::Duration;

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::units::currency::Money;
use crate::formats::units::number::Number;
use crate::net::services::FRANKFURTER;
use crate::tools::engine::context::ToolContext;

/// Rates change on working days only.
const CACHE_TIME: Duration = Duration::from_secs(3_600);

struct Rate {
    value: Number,
    date: Option<String>,
}

pub(super) fn exchange(
    ctx: &ToolContext,
    amount: Number,
    from: Money,
    to: Money,
) -> Outcome<String> {
    let (source, target) = (from.code, to.code);
    if source == target {
        return Ok(format!(
            "{amount} {source} = {amount} {target} (the same currency)"
        ));
    }
    let rate = match rate_v1(ctx, source, target)? {
        Some(rate) => rate,
        None => rate_v2(ctx, source, target)?,
    };
    let result = amount.multiplied_by(rate.value);
    if !result.is_finite() {
        return Err(Problem::limit("The result is too large a number."));
    }
    let date = rate.date.map(|date| format!(" of {date}"));
    Ok(format!(
        "{amount} {source} = {} {target}\nRate{}: 1 {source} = {} {target} (Frankfurter)",
        result.money(to.places),
        date.unwrap_or_default(),
        rate.value
    ))
}

/// The rate from version 1 of the service, which has the bank's thirty currencies; `None` when one is missing there.
fn rate_v1(ctx: &ToolContext, from: &str, to: &str) -> Outcome<Option<Rate>> {
    let answer = ctx
        .service(&FRANKFURTER)
        .path("/v1/latest")
        .query("base", from)
        .query("symbols", to)
        .cache_for(CACHE_TIME)
        .get()?;
    // The status alone is not enough: an HTML page with 404 says nothing about the currency.
    let value_or_none = answer.value();
    if matches!(answer.status, 404 | 422) && value_or_none.is_some_and(|value| value.is_object()) {
        return Ok(None);
    }
    let value = answer.json(message)?;
    if let Some(value_or_none) = message(&value) {
        return Err(answer.refused(Some(&value_or_none)));
    }
    if !value.is_object() || is_other(&value, "base", from) {
        return Err(answer.unreadable());
    }
    // An unknown symbol is silently omitted.
    if value.at("rates").is_none_or(|rates| rates.at(to).is_none()) {
        return match value.at("rates").is_some_and(Value::is_object) {
            true => Ok(None),
            false => Err(answer.unreadable()),
        };
    }
    // Rates refer to this amount; it is 1 because none was requested.
    let amount = positive(&value, "amount").unwrap_or(Number::ONE);
    match positive(&value, &format!("rates/{to}")) {
        Some(rate) => Ok(Some(Rate {
            value: rate.divided_by(amount),
            date: date(&value),
        })),
        None => Err(answer.unreadable()),
    }
}

/// The rate from version 2, which has two hundred currencies.
fn rate_v2(ctx: &ToolContext, from: &str, to: &str) -> Outcome<Rate> {
    let answer = ctx
        .service(&FRANKFURTER)
        .path("/v2/rate")
        .segment(from)
        .segment(to)
        .cache_for(CACHE_TIME)
        .get()?;
    let value_or_none = answer.value();
    if matches!(answer.status, 404 | 422) && value_or_none.is_some_and(|value| value.is_object()) {
        return Err(Problem::missing(format!(
            "unknown conversion: there is no rate for {from} to {to}."
        ))
        .next("Frankfurter serves the European Central Bank's thirty currencies, and some others of central banks: try another pair."));
    }
    let value = answer.json(message)?;
    if is_other(&value, "base", from) || is_other(&value, "quote", to) {
        return Err(answer.unreadable());
    }
    match positive(&value, "rate") {
        Some(rate) => Ok(Rate {
            value: rate,
            date: date(&value),
        }),
        None => Err(answer.unreadable()),
    }
}

/// True when the response is about another currency than requested.
fn is_other(value: &Value, key: &str, requested: &str) -> bool {
    value
        .text(key)
        .is_some_and(|own| !own.eq_ignore_ascii_case(requested))
}

fn message(value: &Value) -> Option<String> {
    value.text("message").map(str::to_owned)
}

/// A number above zero, with the digits of the response.
fn positive(value: &Value, path: &str) -> Option<Number> {
    let number = Number::parse(&value.word(path)?)?;
    (!number.is_zero() && !number.is_negative()).then_some(number)
}

fn date(value: &Value) -> Option<String> {
    value
        .text("date")
        .map(|date| clip(&escape_controls(date), 20))
}
