//! Turns a text into a unit: symbols in their own case, names in any, prefixes, powers, quotients and products.

use super::number::Number;
use super::table::{
    BINARY, CONTEXT_MEANINGS, DECIMAL, Dimensions, KINDS, Prefixes, SPELLINGS, SUGGESTED,
    TEMPERATURE, UNITS, UnitSpec,
};
use crate::base::text::clip;

/// Maximum characters of a unit's text.
const MAX_UNIT_CHARS: usize = 80;
const MAX_POWER: i32 = 9;

/// A unit that a text means.
#[derive(Debug, Clone)]
pub(super) struct ParsedUnit {
    pub(super) dims: Dimensions,
    /// The unit in base units.
    pub(super) factor: Number,
    /// Added before the factor is applied: temperatures alone have one.
    pub(super) offset: Option<Number>,
    pub(super) symbol: String,
    pub(super) name: String,
}

impl ParsedUnit {
    fn of(row: &'static UnitSpec) -> Option<Self> {
        Some(Self {
            dims: row.dims,
            factor: Number::parse(row.factor)?,
            offset: Number::parse(row.offset),
            symbol: row.symbol.to_owned(),
            name: row.name.to_owned(),
        })
    }

    fn prefixed(
        row: &'static UnitSpec,
        (symbol, name, factor): &(&str, &str, &str),
    ) -> Option<Self> {
        let unit = Self::of(row)?;
        Some(Self {
            factor: unit.factor.multiplied_by(Number::parse(factor)?),
            symbol: format!("{symbol}{}", row.symbol),
            name: format!("{name}{}", row.name),
            ..unit
        })
    }

    /// "a length".
    pub(super) fn kind(&self) -> &'static str {
        KINDS
            .iter()
            .find(|(dims, _)| *dims == self.dims)
            .map_or("a mixture", |(_, kind)| kind)
    }

    /// False for a product that has no name of its own.
    fn is_known(&self) -> bool {
        KINDS.iter().any(|(dims, _)| *dims == self.dims)
    }
}

/// The possible meanings of a text, the most likely first; empty when it is not a unit.
pub(super) fn meanings(text: &str) -> Vec<ParsedUnit> {
    if text.chars().count() > MAX_UNIT_CHARS {
        return Vec::new();
    }
    let text = normalize(text);
    let spelled = SPELLINGS.iter().find(|(own, _)| *own == text);
    let text = spelled.map_or(text, |(_, meant)| (*meant).to_owned());
    let mut found: Vec<ParsedUnit> = single(&text).into_iter().collect();
    let lower = text.to_lowercase();
    let others = CONTEXT_MEANINGS.iter().filter(|(word, _)| *word == lower);
    found.extend(others.filter_map(|(_, symbol)| by_symbol(symbol)));
    if found.is_empty() {
        found.extend(expression(&text, false));
        // lb/in², kg/cm² and lb·ft mean forces.
        let is_mixture = found.first().is_some_and(|unit| !unit.is_known());
        let forces = expression(&text, true).filter(|unit| is_mixture && unit.is_known());
        found.extend(forces);
    }
    found
}

/// The text with one spelling for each sign.
fn normalize(text: &str) -> String {
    let text = text
        .replace("**", "^")
        .replace(['º', '˚'], "°")
        .replace('\u{3bc}', "µ")
        .replace(['·', '⋅', '×'], "*");
    let text = text
        .replace('\u{212a}', "K")
        .replace('\u{212b}', "Å")
        .replace('℃', "°C")
        .replace('℉', "°F")
        .replace("° ", "°");
    let mut out = String::with_capacity(text.len());
    let mut raised = false;
    for c in text.chars() {
        let digit = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻".chars().position(|sign| sign == c);
        if digit.is_some() && !raised {
            out.push('^');
        }
        raised = digit.is_some();
        out.push(match digit {
            Some(at) => "0123456789-".chars().nth(at).unwrap_or(c),
            None => c,
        });
    }
    let words: Vec<&str> = out.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_owned()
}

/// A unit by its symbol, its name, or either with a prefix.
fn single(text: &str) -> Option<ParsedUnit> {
    if text.is_empty() {
        return None;
    }
    let lower = text.to_lowercase();
    by_symbol(text)
        .or_else(|| by_name(&lower))
        .or_else(|| by_symbol(&lower))
        .or_else(|| temperature(&lower))
        .or_else(|| data(&lower))
        .or_else(|| any_case(&lower))
        .or_else(|| without_plural_s(text))
}

/// By the exact symbol.
fn by_symbol(text: &str) -> Option<ParsedUnit> {
    if let Some(row) = UNITS.iter().find(|row| row.symbol == text) {
        return ParsedUnit::of(row);
    }
    // L and u are how many keyboards write l and µ.
    let same = |symbol: &str, rest: &str| symbol == rest || (symbol == "l" && rest == "L");
    if text == "L" {
        return by_symbol("l");
    }
    prefixes().find_map(|(prefix, binary)| {
        let rest = text
            .strip_prefix(prefix.0)
            .or_else(|| text.strip_prefix('u').filter(|_| prefix.0 == "µ"))
            .or_else(|| text.strip_prefix('K').filter(|_| prefix.0 == "k"))?;
        let row = UNITS
            .iter()
            .find(|row| accepts(row, binary) && same(row.symbol, rest))?;
        ParsedUnit::prefixed(row, prefix)
    })
}

fn prefixes() -> impl Iterator<Item = (&'static (&'static str, &'static str, &'static str), bool)> {
    let decimal = DECIMAL.iter().map(|prefix| (prefix, false));
    BINARY.iter().map(|prefix| (prefix, true)).chain(decimal)
}

fn accepts(row: &UnitSpec, binary: bool) -> bool {
    match row.prefixes {
        Prefixes::None => false,
        Prefixes::Decimal => !binary,
        Prefixes::Both => true,
    }
}

/// Whether this unit has the name, given in lower case.
fn is_named(row: &UnitSpec, name: &str) -> bool {
    let with_s = |one: &str| one == name || name.strip_suffix('s') == Some(one);
    let plural = row.plural.to_lowercase();
    let full = row.name.to_lowercase();
    let own = if plural.is_empty() {
        with_s(&full)
    } else {
        full == name || plural == name
    };
    own || row
        .others()
        .any(|other| other.to_lowercase() == name || (other.chars().count() > 1 && with_s(other)))
}

fn by_name(name: &str) -> Option<ParsedUnit> {
    if let Some(row) = UNITS.iter().find(|row| is_named(row, name)) {
        return ParsedUnit::of(row);
    }
    prefixes().find_map(|(prefix, binary)| {
        let rest = name.strip_prefix(prefix.1)?.trim_start_matches(['-', ' ']);
        let row = UNITS
            .iter()
            .find(|row| accepts(row, binary) && rest.len() > 2 && is_named(row, rest))?;
        ParsedUnit::prefixed(row, prefix)
    })
}

/// `°c`, `deg c`, `degrees celsius`.
fn temperature(lower: &str) -> Option<ParsedUnit> {
    let rest = ["degrees", "degree", "deg.", "deg", "°"]
        .iter()
        .find_map(|word| lower.strip_prefix(word))?
        .trim();
    UNITS
        .iter()
        .find(|row| {
            row.dims == TEMPERATURE && (is_named(row, rest) || row.symbol.to_lowercase() == rest)
        })
        .and_then(ParsedUnit::of)
}

/// `kb`, `mb`, `gb` without capitals are bytes; `kbps`, `mbit`.
fn data(lower: &str) -> Option<ParsedUnit> {
    let (prefix, unit) = lower.split_at_checked(1)?;
    let (binary, unit) = match unit.strip_prefix('i') {
        Some(rest) if rest.starts_with('b') => ("i", rest),
        _ => ("", unit),
    };
    let symbol = match unit {
        "b" => "B",
        "bit" | "bits" => "b",
        "byte" | "bytes" => "B",
        _ => return None,
    };
    let prefix = match (prefix, binary) {
        ("k", "") => "k".to_owned(),
        ("k" | "m" | "g" | "t" | "p" | "e", _) => prefix.to_uppercase(),
        _ => return None,
    };
    by_symbol(&format!("{prefix}{binary}{symbol}"))
}

/// A symbol in the wrong case; of prefixes that differ only in case the common one.
fn any_case(lower: &str) -> Option<ParsedUnit> {
    let same = |row: &UnitSpec, rest: &str| row.symbol.to_lowercase() == rest;
    if let Some(row) = UNITS.iter().find(|row| same(row, lower)) {
        return ParsedUnit::of(row);
    }
    prefixes().find_map(|(prefix, binary)| {
        let rest = lower.strip_prefix(prefix.0.to_lowercase().as_str())?;
        let row = UNITS
            .iter()
            .find(|row| accepts(row, binary) && same(row, rest))?;
        ParsedUnit::prefixed(row, prefix)
    })
}

/// `kms`, `kgs`: a symbol of more than one letter with the s of a plural.
fn without_plural_s(text: &str) -> Option<ParsedUnit> {
    let rest = text
        .strip_suffix('s')
        .filter(|rest| rest.chars().count() > 1)?;
    let is_table = UNITS.iter().any(|row| row.symbol == rest);
    if is_table {
        return None;
    }
    by_symbol(rest).or_else(|| data(&rest.to_lowercase()))
}

/// Units multiplied and divided: `kW*h`, `mi/h`, `kg/m^3`, `square feet`, `litres per minute`. With `forces` a pound or a
/// kilogram is the weight of one.
fn expression(text: &str, forces: bool) -> Option<ParsedUnit> {
    let text = text.replace(" per ", "/");
    let text = [("mbps", "Mb/s"), ("kbps", "kb/s"), ("gbps", "Gb/s")]
        .iter()
        .find(|(short, _)| text.eq_ignore_ascii_case(short))
        .map_or(text, |(_, long)| (*long).to_owned());
    let mut whole: Option<ParsedUnit> = None;
    for (place, side) in text.split('/').enumerate() {
        let sign = if place == 0 { 1 } else { -1 };
        for (unit, power) in product(side.trim())? {
            let weight = match unit.symbol.as_str() {
                "lb" if forces => by_symbol("lbf"),
                "kg" if forces => by_symbol("kgf"),
                _ => None,
            };
            whole = Some(joined(whole, &(weight.unwrap_or(unit), power), sign)?);
        }
    }
    whole
}

/// The factors of a product, each with its power.
fn product(text: &str) -> Option<Vec<(ParsedUnit, i32)>> {
    let mut factors = Vec::new();
    for part in text.split('*') {
        let part = part.trim();
        if let Some(found) = power(part) {
            factors.push(found);
            continue;
        }
        // Adjacent words multiply: "kW h", "kW-h".
        let words: Vec<&str> = part
            .split([' ', '-'])
            .filter(|word| !word.is_empty())
            .collect();
        if words.len() < 2 {
            return None;
        }
        for word in words {
            factors.push(power(word)?);
        }
    }
    Some(factors)
}

/// A unit and its power: `m^2`, `m2`, `s-1`, `square metre`, `sq ft`, `cubic inches`, `feet squared`.
fn power(text: &str) -> Option<(ParsedUnit, i32)> {
    let lower = text.to_lowercase();
    let words = [
        ("square ", 2),
        ("sq. ", 2),
        ("sq ", 2),
        ("sq", 2),
        ("cubic ", 3),
        ("cu. ", 3),
        ("cu ", 3),
    ];
    for (word, power) in words {
        if lower.starts_with(word)
            && let Some(unit) = text.get(word.len()..).and_then(|rest| single(rest.trim()))
        {
            return Some((unit, power));
        }
    }
    for (word, power) in [(" squared", 2), (" cubed", 3)] {
        if lower.ends_with(word)
            && let Some(unit) = text.get(..text.len() - word.len()).and_then(single)
        {
            return Some((unit, power));
        }
    }
    if let Some(unit) = single(text) {
        return Some((unit, 1));
    }
    let base = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.get(base.len()..)?;
    let (base, sign) = match base.strip_suffix('-') {
        Some(base) => (base, -1),
        None => (base, 1),
    };
    let power = digits.parse::<i32>().ok()?.checked_mul(sign)?;
    let unit = single(base.trim_end_matches('^').trim())?;
    (power != 0 && power.abs() <= MAX_POWER).then_some((unit, power))
}

fn joined(
    whole: Option<ParsedUnit>,
    (unit, power): &(ParsedUnit, i32),
    sign: i32,
) -> Option<ParsedUnit> {
    let shown = match power {
        1 => unit.symbol.clone(),
        2 => format!("{}²", unit.symbol),
        3 => format!("{}³", unit.symbol),
        power => format!("{}^{power}", unit.symbol),
    };
    let power = power * sign;
    let factor = unit.factor.power(power);
    let of = |dim: i8| -> Option<i8> { i8::try_from(i32::from(dim) * power).ok() };
    let mut dims = whole.as_ref().map_or([0; 6], |whole| whole.dims);
    for (dim, added) in dims.iter_mut().zip(unit.dims) {
        *dim = dim.checked_add(of(added)?)?;
    }
    let (symbol, factor) = match &whole {
        None if sign < 0 => return None,
        None => (shown, factor),
        Some(whole) => {
            let mark = if sign < 0 { "/" } else { "·" };
            (
                format!("{}{mark}{shown}", whole.symbol),
                whole.factor.multiplied_by(factor),
            )
        }
    };
    Some(ParsedUnit {
        dims,
        factor,
        // Within a product a temperature is a difference of two.
        offset: None,
        name: symbol.clone(),
        symbol,
    })
}

/// The three units most similar to an unknown text, as `mi (mile)`.
pub(super) fn suggestions(text: &str) -> Vec<String> {
    let word = clip(&normalize(text).to_lowercase(), 24);
    let limit = if word.chars().count() < 4 { 1 } else { 2 };
    let common = SUGGESTED.iter().filter_map(|symbol| by_symbol(symbol));
    let common = common.map(|unit| (unit, None));
    let mut scored: Vec<(usize, usize, usize, String)> = UNITS
        .iter()
        .filter_map(|row| Some((ParsedUnit::of(row)?, Some(row))))
        .chain(common)
        .filter_map(|(unit, row)| {
            let by = |other: &str| edit_score(&word, &other.to_lowercase(), limit);
            let others = row
                .into_iter()
                .flat_map(|row| row.others().chain([row.plural]));
            let best = [unit.symbol.as_str(), unit.name.as_str()]
                .into_iter()
                .filter_map(by)
                .chain(others.filter_map(by))
                .min()?;
            let shown = match unit.symbol == unit.name {
                true => unit.symbol.clone(),
                false => format!("{} ({})", unit.symbol, unit.name),
            };
            // Of equally similar ones, those that keep the word's letters come first.
            let strange = unit
                .symbol
                .to_lowercase()
                .chars()
                .filter(|c| !word.contains(*c))
                .count();
            Some((best, unit.symbol.chars().count(), strange, shown))
        })
        .collect();
    scored.sort();
    scored
        .into_iter()
        .map(|(.., shown)| shown)
        .take(3)
        .collect()
}

/// The edit distance of two words if it is small; a prefix counts as one edit.
fn edit_score(word: &str, other: &str, limit: usize) -> Option<usize> {
    let begins = other.chars().count() > 1
        && word.chars().count() > 1
        && (word.starts_with(other) || other.starts_with(word));
    let edits = edit_distance(word, other);
    match begins {
        true => Some(edits.min(1)),
        false => (edits <= limit && edits < word.chars().count()).then_some(edits),
    }
}

/// The number of edits (insert, delete, replace) between two words.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, a) in a.chars().enumerate() {
        let mut left = i + 1;
        let mut next = vec![left];
        for (pair, b) in row.windows(2).zip(&b) {
            let (corner, above) = match pair {
                [corner, above] => (*corner, *above),
                _ => continue,
            };
            left = (corner + usize::from(a != *b)).min(above + 1).min(left + 1);
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}
