//! Conversion between units: parses the text and words the answer.
//!
//! `table` has the units, `names` what people call them, `number` exact numbers, `currency` the codes. Called by the conversion tools alone; rates of
//! currencies are theirs to look up.

pub(crate) mod currency;
mod names;
pub(crate) mod number;
mod table;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use currency::{Money, currency, is_sign};
use names::{ParsedUnit, meanings, suggestions};
use number::Number;
use table::{ECONOMY, LENGTH, MASS, TEMPERATURE, VOLUME};

/// An amount in one or more units of a kind: `5 ft 3 in`.
struct Quantity {
    first: (Number, ParsedUnit),
    more: Vec<(Number, ParsedUnit)>,
}

/// The result of a conversion.
pub(crate) enum Converted {
    /// `5 mi = 8.04672 km`.
    Answer(String),
    /// An amount of one currency in another; the rate has to be looked up.
    Exchange(Number, Money, Money),
}

/// `value` (a number, or one with its units) of `from` in `to`. Units come before currencies: `cup` is a measure beside `ml`.
///
/// # Errors
/// An unknown unit, with the nearest; two units of different kinds, with both; a temperature below absolute zero.
pub(crate) fn convert(value: &str, from: &str, to: &str) -> Outcome<Converted> {
    let value = value.trim();
    let ends =
        |c: char| c.is_alphabetic() || matches!(c, '"' | '\'' | '″' | '′' | '°') || is_sign(c);
    // "1 000 m" and "1 1/2 mi" arrive split after the first space.
    let amount = match value.ends_with(ends) {
        true => value.to_owned(),
        false => format!("{value} {}", from.trim()),
    };
    let (number, rest) = leading_number(&amount).ok_or_else(|| {
        let format_amount = clip(&escape_controls(value), 60);
        Problem::input(format!("\"{format_amount}\" is not a number."))
            .next("For example value 5, from_unit mi, to_unit km.")
    })?;
    let (mut from, mut to) = (rest.trim().to_owned(), to.trim().to_owned());
    let mut notes = Vec::new();
    let is_nm = |text: &str| text == "nm";
    if (is_nm(&from) && is_far(&to)) || (is_nm(&to) && is_far(&from)) {
        for text in [&mut from, &mut to].into_iter().filter(|text| is_nm(text)) {
            "nmi".clone_into(text);
        }
        notes.push("nm was read as nautical mile; write nanometre for the other.".to_owned());
    }
    let answer = match convert_units(number, &from, &to) {
        Ok(answer) => answer,
        Err(problem) => return exchange(number, &from, &to, problem),
    };
    notes.extend(
        [&from, &to]
            .into_iter()
            .filter_map(|text| note(text, &answer)),
    );
    notes.insert(0, answer);
    Ok(Converted::Answer(notes.join("\n")))
}

/// Tries two texts that are not units of one kind as currencies.
fn exchange(number: Number, from: &str, to: &str, problem: Problem) -> Outcome<Converted> {
    let (source, target) = (currency(from), currency(to));
    match (source, target) {
        (Some(source), Some(target)) => Ok(Converted::Exchange(number, source, target)),
        (None, None) => Err(problem),
        // A unit that is also a currency code, such as "cup", is the unit when paired with another unit.
        (Some(_), None) | (None, Some(_)) if are_units(from, to) => Err(problem),
        (Some(money), None) => Err(mixed_currency(money, to)),
        (None, Some(money)) => Err(mixed_currency(money, from)),
    }
}

fn are_units(from: &str, to: &str) -> bool {
    !meanings(from).is_empty() && !meanings(to).is_empty()
}

/// The error for a currency paired with something else.
fn mixed_currency(money: Money, other: &str) -> Problem {
    let Some(unit) = meanings(other).into_iter().next() else {
        return unknown(other);
    };
    Problem::input(format!(
        "unknown conversion: {} is a currency, {} is {}.",
        money.code,
        unit.symbol,
        unit.kind()
    ))
    .next("Give two units of one kind, or two currencies.")
}

fn convert_units(number: Number, from: &str, to: &str) -> Outcome<String> {
    let sources = amounts(number, from)?;
    let targets = meanings(to);
    for source in &sources {
        if let Some(target) = targets.iter().find(|target| same_kind(source, target)) {
            return answer(source, target);
        }
    }
    if let Some(several) = sources
        .iter()
        .find_map(|source| in_several_units(source, to))
    {
        return several;
    }
    let (Some(source), Some(target)) = (sources.first(), targets.first()) else {
        return Err(unknown(to));
    };
    let source = source.unit();
    let problem = Problem::input(format!(
        "{} is {}, {} is {}: they cannot be converted.",
        source.symbol,
        source.kind(),
        target.symbol,
        target.kind()
    ));
    let weighs = [(VOLUME, MASS), (MASS, VOLUME)].contains(&(source.dims, target.dims));
    let problem = if weighs {
        problem.next("The weight of a volume depends on the substance.")
    } else {
        problem
    };
    Err(problem.next("Give two units of one kind."))
}

/// The error for a text that is not a unit.
fn unknown(text: &str) -> Problem {
    const UNITS: &str = "km, mi, kg, lb, l, gal, °C, °F, km/h, m², kWh, psi, MiB, 5 ft 3 in";
    let format_amount = clip(&escape_controls(text.trim()), 60);
    let message = format!("unknown unit \"{format_amount}\".");
    let code = text.trim();
    let suggestions = suggestions(text);
    let letters = code.len() == 3 && code.chars().all(|c| c.is_ascii_alphabetic());
    let is_code =
        letters && (suggestions.is_empty() || code.chars().all(|c| c.is_ascii_uppercase()));
    match suggestions.as_slice() {
        _ if is_code => Problem::input(format!(
            "unknown conversion: there is no rate for {format_amount}: it is neither a known currency nor a known unit."
        ))
        .next(format!("Units are, for example, {UNITS}."))
        .next(format!("Currencies are {}.", currency::examples())),
        [] => Problem::input(message).next(format!("For example {UNITS}.")),
        suggestions => Problem::input(format!("{message} Nearest: {}.", suggestions.join(", "))),
    }
}

/// The number at the start of a text, and the rest: `5`, `1,234.5`, `2,5`, `1/2`, `2 1/2`, `½`.
fn leading_number(text: &str) -> Option<(Number, &str)> {
    let text = text.trim_start().trim_start_matches('+');
    let (sign, text) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (-1, rest.trim_start()),
        None => (1, text),
    };
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '_' | '/')))
        .unwrap_or(text.len());
    let (digits, mut rest) = text.split_at_checked(end)?;
    let digits = digits.trim_end_matches([',', '/']);
    rest = text.get(digits.len()..).unwrap_or(rest);
    let mut number = String::from(digits);
    if (1..=3).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        while let Some((group, after)) = thousands(rest) {
            number.push_str(group);
            rest = after;
        }
        if let Some(after) = rest
            .strip_prefix('.')
            .filter(|_| number.len() > digits.len())
        {
            let count = after.bytes().take_while(u8::is_ascii_digit).count();
            let (part, after) = after.split_at_checked(count)?;
            number = format!("{number}.{part}");
            rest = after;
        }
    }
    // A power of ten: an e directly followed by digits.
    if let Some(after) = rest.strip_prefix(['e', 'E']) {
        let bare = after.strip_prefix(['+', '-']).unwrap_or(after);
        let count = bare.bytes().take_while(u8::is_ascii_digit).count();
        if count > 0 {
            let length = 1 + after.len() - bare.len() + count;
            number.push_str(rest.get(..length)?);
            rest = rest.get(length..)?;
        }
    }
    let mut found = match fraction(rest) {
        Some((part, after)) if number.is_empty() => {
            rest = after;
            part
        }
        Some((part, after)) => {
            rest = after;
            grouped_number(&number)?.plus(part)
        }
        None => grouped_number(&number)?,
    };
    // "2 1/2"
    if let Some((part, after)) = mixed(rest).filter(|_| !number.contains('/')) {
        found = found.plus(part);
        rest = after;
    }
    Some((if sign < 0 { found.negative() } else { found }, rest))
}

/// Exactly three digits after a space: `1 000`.
fn thousands(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix([' ', '\u{a0}', '\u{2009}', '\u{202f}'])?;
    let (group, after) = rest.split_at_checked(3)?;
    let whole = group.bytes().all(|byte| byte.is_ascii_digit())
        && !after.starts_with(|c: char| c.is_ascii_digit() || c == '/');
    whole.then_some((group, after))
}

/// One of the characters for halves, thirds and quarters.
fn fraction(text: &str) -> Option<(Number, &str)> {
    let (sign, value) = [
        ("½", "1/2"),
        ("¼", "1/4"),
        ("¾", "3/4"),
        ("⅓", "1/3"),
        ("⅔", "2/3"),
        ("⅛", "1/8"),
    ]
    .into_iter()
    .find(|(sign, _)| text.starts_with(sign))?;
    Some((Number::parse(value)?, text.strip_prefix(sign)?))
}

fn mixed(text: &str) -> Option<(Number, &str)> {
    let text = text.strip_prefix(' ')?;
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '/'))
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let (top, bottom) = digits.split_once('/')?;
    (!top.is_empty() && !bottom.is_empty()).then(|| Some((Number::parse(digits)?, rest)))?
}

/// A number with commas between thousands, or with a decimal comma.
fn grouped_number(text: &str) -> Option<Number> {
    let text = text.replace('_', "");
    let groups: Vec<&str> = text.split(',').collect();
    let plain = match groups.as_slice() {
        [_] => text.clone(),
        [first, rest @ .., last] => {
            let last = last.split('.').next().unwrap_or_default();
            let thousands = (1..=3).contains(&first.len())
                && *first != "0"
                && last.len() == 3
                && rest.iter().all(|group| group.len() == 3);
            match thousands {
                true => text.replace(',', ""),
                false if groups.len() == 2 && !text.contains('.') => text.replace(',', "."),
                false => return None,
            }
        }
        [] => return None,
    };
    Number::parse(&plain)
}

/// The possible meanings of number and unit text together, the most likely first.
fn amounts(number: Number, from: &str) -> Outcome<Vec<Quantity>> {
    let units = meanings(from);
    if !units.is_empty() {
        let one = |unit| Quantity {
            first: (number, unit),
            more: Vec::new(),
        };
        return Ok(units.into_iter().map(one).collect());
    }
    match compound(number, from) {
        Some(amount) => amount.map(|amount| vec![amount]),
        None => Err(unknown(from)),
    }
}

/// `ft 3 in` after its first number; `None` without a further number.
fn compound(first: Number, text: &str) -> Option<Outcome<Quantity>> {
    let mut parts: Vec<(Number, String)> = Vec::new();
    let mut number = first;
    let mut rest = text;
    loop {
        let next = next_number(rest);
        let unit = rest.get(..next.unwrap_or(rest.len()))?.trim();
        let unit = unit.trim_end_matches(',').trim_end_matches(" and").trim();
        parts.push((number, unit.to_owned()));
        let Some(at) = next else { break };
        (number, rest) = leading_number(rest.get(at..)?)?;
    }
    if parts.len() < 2 {
        return None;
    }
    let mut units: Vec<(Number, ParsedUnit)> = Vec::new();
    for (number, text) in parts {
        let feet = units.last().is_some_and(|(_, unit)| unit.symbol == "ft");
        // "5'11" omits the sign of the inches.
        let text = if text.is_empty() && feet {
            "in"
        } else {
            text.as_str()
        };
        let found = meanings(text);
        let alike = |unit: &&ParsedUnit| {
            units
                .first()
                .is_some_and(|(_, first)| first.dims == unit.dims)
        };
        let Some(unit) = found.iter().find(alike).or(found.first()) else {
            return Some(Err(unknown(text)));
        };
        units.push((number, unit.clone()));
    }
    let mut units = units.into_iter();
    let amount = Quantity {
        first: units.next()?,
        more: units.collect(),
    };
    let first = amount.unit();
    let strange =
        |(_, unit): &&(Number, ParsedUnit)| unit.dims != first.dims || first.offset.is_some();
    if let Some((_, other)) = amount.more.iter().find(strange) {
        return Some(Err(Problem::input(format!(
            "{} is {}, {} is {}: they make no sum.",
            first.symbol,
            first.kind(),
            other.symbol,
            other.kind()
        ))));
    }
    Some(Ok(amount))
}

/// The start of a number after white space or a sign for feet or inches.
fn next_number(text: &str) -> Option<usize> {
    let mut before = 'x';
    for (at, c) in text.char_indices() {
        let in_several_units =
            before.is_whitespace() || matches!(before, '\'' | '"' | '′' | '″' | '’' | '°');
        if in_several_units && c.is_ascii_digit() {
            return Some(at);
        }
        before = c;
    }
    None
}

impl Quantity {
    fn unit(&self) -> &ParsedUnit {
        &self.first.1
    }

    /// In base units.
    fn base(&self) -> Number {
        let (number, unit) = &self.first;
        let mut sum = number
            .plus(unit.offset.unwrap_or(Number::ZERO))
            .multiplied_by(unit.factor);
        for (number, unit) in &self.more {
            let part = number.multiplied_by(unit.factor);
            // -5 ft 3 in is below zero as a whole.
            sum = match self.first.0.is_negative() {
                true => sum.minus(part),
                false => sum.plus(part),
            };
        }
        sum
    }

    fn format_amount(&self) -> String {
        let parts = std::iter::once(&self.first).chain(&self.more);
        let parts: Vec<String> = parts
            .map(|(number, unit)| format_amount(*number, unit))
            .collect();
        parts.join(" ")
    }
}

fn format_amount(number: Number, unit: &ParsedUnit) -> String {
    match unit.symbol.as_str() {
        sign @ ("°" | "′" | "″") => format!("{number}{sign}"),
        symbol => format!("{number} {symbol}"),
    }
}

/// Whether one is distance per fuel and the other fuel per distance.
fn is_inverse(source: &ParsedUnit, target: &ParsedUnit) -> bool {
    let back = target.dims.map(|dim| -dim);
    source.dims == back && (source.dims == ECONOMY || target.dims == ECONOMY)
}

fn same_kind(source: &Quantity, target: &ParsedUnit) -> bool {
    source.unit().dims == target.dims || is_inverse(source.unit(), target)
}

fn answer(source: &Quantity, target: &ParsedUnit) -> Outcome<String> {
    let base = checked_base(source)?;
    let result = match is_inverse(source.unit(), target) {
        true if base.is_zero() => {
            return Err(Problem::input(format!(
                "{} has no counterpart in {}.",
                source.format_amount(),
                target.symbol
            )));
        }
        true => Number::ONE.divided_by(base).divided_by(target.factor),
        false => base
            .divided_by(target.factor)
            .minus(target.offset.unwrap_or(Number::ZERO)),
    };
    if !result.is_finite() {
        return Err(Problem::limit("The result is too large a number."));
    }
    Ok(format!(
        "{} = {}",
        source.format_amount(),
        format_amount(result, target)
    ))
}

/// The amount in base units, unless it is below absolute zero.
fn checked_base(source: &Quantity) -> Outcome<Number> {
    let base = source.base();
    let unit = source.unit();
    if unit.dims == TEMPERATURE && base.is_negative() {
        let zero = unit.offset.unwrap_or(Number::ZERO).negative();
        return Err(Problem::input(format!(
            "{} is below absolute zero ({}).",
            source.format_amount(),
            format_amount(zero, unit)
        )));
    }
    Ok(base)
}

/// The amount in several units, `ft in` or `h min s`: whole numbers of all but the last. `None` when they are of another kind.
fn in_several_units(source: &Quantity, to: &str) -> Option<Outcome<String>> {
    let text = to.replace([',', '+', '&'], " ");
    let words = text.split_whitespace().filter(|word| *word != "and");
    let mut units = Vec::new();
    for word in words {
        let fits = |unit: &ParsedUnit| unit.dims == source.unit().dims && unit.offset.is_none();
        units.push(meanings(word).into_iter().find(fits)?);
    }
    let (last, larger) = units.split_last()?;
    if larger.is_empty() {
        return None;
    }
    let mut rest = match checked_base(source) {
        Ok(base) => base,
        Err(problem) => return Some(Err(problem)),
    };
    let sign = if rest.is_negative() { "-" } else { "" };
    if rest.is_negative() {
        rest = rest.negative();
    }
    let mut parts = Vec::new();
    for unit in larger {
        let whole = rest.divided_by(unit.factor).whole();
        rest = rest.minus(whole.multiplied_by(unit.factor));
        parts.push(format_amount(whole, unit));
    }
    parts.push(format_amount(rest.divided_by(last.factor), last));
    Some(Ok(format!(
        "{} = {sign}{}",
        source.format_amount(),
        parts.join(" ")
    )))
}

/// `nm` paired with anything longer than a hand is a nautical mile, not a nanometre.
fn is_far(text: &str) -> bool {
    meanings(text)
        .first()
        .is_some_and(|unit| unit.dims == LENGTH && unit.factor.near() >= 0.1)
}

/// A note on how a unit without capitals was read.
fn note(text: &str, answer: &str) -> Option<String> {
    let text = text.trim();
    let capital = match text {
        "kb" => "kB",
        "mb" => "MB",
        "gb" => "GB",
        "tb" => "TB",
        "pb" => "PB",
        _ => return None,
    };
    let bits = capital.replace('B', "b");
    answer
        .contains(capital)
        .then(|| format!("{text} was read as {capital}, bytes; {bits} is bits."))
}

#[cfg(test)]
mod tests;
