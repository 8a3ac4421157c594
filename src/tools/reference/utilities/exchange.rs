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

/// Rates are of working days.
const KEEP: Duration = Duration::from_secs(3_600);

/// A rate and the day it is of.
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
    let rate = match first(ctx, source, target)? {
        Some(rate) => rate,
        None => second(ctx, source, target)?,
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

/// The rate by the first version of the service, which has the thirty currencies of the bank; `None` when one is missing there.
fn first(ctx: &ToolContext, from: &str, to: &str) -> Outcome<Option<Rate>> {
    let answer = ctx
        .ask(&FRANKFURTER)
        .path("/v1/latest")
        .query("base", from)
        .query("symbols", to)
        .keep(KEEP)
        .get()?;
    // Not the status alone: a page under 404 is not the service's word on a currency.
    let said = answer.value();
    if matches!(answer.status, 404 | 422) && said.is_some_and(|value| value.is_object()) {
        return Ok(None);
    }
    let value = answer.json(message)?;
    if let Some(said) = message(&value) {
        return Err(answer.refused(Some(&said)));
    }
    if !value.is_object() || is_other(&value, "base", from) {
        return Err(answer.unreadable());
    }
    // An unknown symbol is left out without a word.
    if value.at("rates").is_none_or(|rates| rates.at(to).is_none()) {
        return match value.at("rates").is_some_and(Value::is_object) {
            true => Ok(None),
            false => Err(answer.unreadable()),
        };
    }
    // Rates refer to this amount, which is 1 because none was requested.
    let amount = positive(&value, "amount").unwrap_or(Number::ONE);
    match positive(&value, &format!("rates/{to}")) {
        Some(rate) => Ok(Some(Rate {
            value: rate.divided_by(amount),
            date: date(&value),
        })),
        None => Err(answer.unreadable()),
    }
}

/// The rate by the second version, which has two hundred.
fn second(ctx: &ToolContext, from: &str, to: &str) -> Outcome<Rate> {
    let answer = ctx
        .ask(&FRANKFURTER)
        .path("/v2/rate")
        .segment(from)
        .segment(to)
        .keep(KEEP)
        .get()?;
    let said = answer.value();
    if matches!(answer.status, 404 | 422) && said.is_some_and(|value| value.is_object()) {
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

/// True when the answer is about another currency than requested.
fn is_other(value: &Value, key: &str, asked: &str) -> bool {
    value
        .text(key)
        .is_some_and(|own| !own.eq_ignore_ascii_case(asked))
}

fn message(value: &Value) -> Option<String> {
    value.text("message").map(str::to_owned)
}

/// A number above zero, with the digits that the service wrote.
fn positive(value: &Value, path: &str) -> Option<Number> {
    let number = Number::parse(&value.word(path)?)?;
    (!number.is_zero() && !number.is_negative()).then_some(number)
}

fn date(value: &Value) -> Option<String> {
    value
        .text("date")
        .map(|date| clip(&escape_controls(date), 20))
}
