//! The units: exact factors to one base unit of each kind.
//!
//! kB, MB, GB are decimal and KiB, MiB, GiB binary. A year is the Gregorian mean of 365.2425 days, a month a twelfth of it. Gallons and their
//! fractions are US units unless marked `imp` or `uk`.

use std::sync::LazyLock;

/// A text, because a table of structs would be relocated at every start.
const TABLE: &str = include_str!("table.txt");

/// Powers of length, mass, time, temperature, data and turning.
pub(super) type Dimensions = [i8; 6];

pub(super) const LENGTH: Dimensions = [1, 0, 0, 0, 0, 0];
const AREA: Dimensions = [2, 0, 0, 0, 0, 0];
pub(super) const VOLUME: Dimensions = [3, 0, 0, 0, 0, 0];
pub(super) const MASS: Dimensions = [0, 1, 0, 0, 0, 0];
const TIME: Dimensions = [0, 0, 1, 0, 0, 0];
pub(super) const TEMPERATURE: Dimensions = [0, 0, 0, 1, 0, 0];
const DATA: Dimensions = [0, 0, 0, 0, 1, 0];
const ANGLE: Dimensions = [0, 0, 0, 0, 0, 1];
const SPEED: Dimensions = [1, 0, -1, 0, 0, 0];
const FORCE: Dimensions = [1, 1, -2, 0, 0, 0];
const PRESSURE: Dimensions = [-1, 1, -2, 0, 0, 0];
const ENERGY: Dimensions = [2, 1, -2, 0, 0, 0];
const POWER: Dimensions = [2, 1, -3, 0, 0, 0];
const FREQUENCY: Dimensions = [0, 0, -1, 0, 0, 0];
const ROTATION: Dimensions = [0, 0, -1, 0, 0, 1];
/// Distance per volume of fuel.
pub(super) const ECONOMY: Dimensions = [-2, 0, 0, 0, 0, 0];

pub(super) const KINDS: &[(Dimensions, &str)] = &[
    (LENGTH, "a length"),
    (AREA, "an area"),
    (VOLUME, "a volume"),
    (MASS, "a mass"),
    (TIME, "a time"),
    (TEMPERATURE, "a temperature"),
    (DATA, "a data size"),
    (ANGLE, "an angle"),
    (SPEED, "a speed"),
    (FORCE, "a force"),
    (PRESSURE, "a pressure"),
    (ENERGY, "an energy"),
    (POWER, "a power"),
    (FREQUENCY, "a frequency"),
    (ROTATION, "a speed of rotation"),
    (ECONOMY, "a fuel economy"),
    ([0, 0, -1, 0, 1, 0], "a data rate"),
    ([1, 0, -2, 0, 0, 0], "an acceleration"),
    ([-3, 1, 0, 0, 0, 0], "a density"),
    ([3, 0, -1, 0, 0, 0], "a flow"),
];

/// The prefixes that a unit accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefixes {
    None,
    Decimal,
    /// Also the binary ones.
    Both,
}

pub(super) struct UnitSpec {
    pub(super) dims: Dimensions,
    pub(super) symbol: &'static str,
    pub(super) name: &'static str,
    /// The plural of the name; empty when it is the name with an s.
    pub(super) plural: &'static str,
    /// The unit in base units; for temperatures in kelvins.
    pub(super) factor: &'static str,
    /// Added before the factor is applied.
    pub(super) offset: &'static str,
    pub(super) prefixes: Prefixes,
    /// Other names, in any case, separated by `|`.
    others: &'static str,
}

impl UnitSpec {
    /// Other names, in any case.
    pub(super) fn others(&self) -> impl Iterator<Item = &'static str> {
        self.others.split('|').filter(|name| !name.is_empty())
    }

    /// The unit in `line`; nothing for a comment.
    fn parse(line: &'static str) -> Option<Self> {
        let mut columns = line.split(';').map(str::trim);
        let kind = columns.next()?;
        let is_kind = |words: &str| words.split_once(' ').is_some_and(|(_, own)| own == kind);
        let mut unit = Self {
            dims: KINDS.iter().find(|(_, words)| is_kind(words))?.0,
            symbol: columns.next()?,
            name: columns.next()?,
            factor: columns.next()?,
            others: columns.next()?,
            plural: "",
            offset: "",
            prefixes: Prefixes::None,
        };
        for mark in columns {
            match mark.split_once(": ").unwrap_or((mark, "")) {
                ("metric", _) => unit.prefixes = Prefixes::Decimal,
                ("binary", _) => unit.prefixes = Prefixes::Both,
                ("plural", plural) => unit.plural = plural,
                ("offset", offset) => unit.offset = offset,
                _ => return None,
            }
        }
        Some(unit)
    }
}

/// Prefixes: symbol, name, factor; the usual ones first.
pub(super) const DECIMAL: &[(&str, &str, &str)] = &[
    ("k", "kilo", "1e3"),
    ("M", "mega", "1e6"),
    ("m", "milli", "1e-3"),
    ("c", "centi", "1e-2"),
    ("G", "giga", "1e9"),
    ("T", "tera", "1e12"),
    ("µ", "micro", "1e-6"),
    ("n", "nano", "1e-9"),
    ("p", "pico", "1e-12"),
    ("f", "femto", "1e-15"),
    ("a", "atto", "1e-18"),
    ("P", "peta", "1e15"),
    ("E", "exa", "1e18"),
    ("Z", "zetta", "1e21"),
    ("Y", "yotta", "1e24"),
    ("d", "deci", "1e-1"),
    ("da", "deca", "1e1"),
    ("h", "hecto", "1e2"),
];
pub(super) const BINARY: &[(&str, &str, &str)] = &[
    ("Ki", "kibi", "1024"),
    ("Mi", "mebi", "1048576"),
    ("Gi", "gibi", "1073741824"),
    ("Ti", "tebi", "1099511627776"),
    ("Pi", "pebi", "1125899906842624"),
    ("Ei", "exbi", "1152921504606846976"),
    ("Zi", "zebi", "1180591620717411303424"),
    ("Yi", "yobi", "1208925819614629174706176"),
];

/// Symbols whose capitals, or whose letters alone, carry the meaning.
pub(super) const SPELLINGS: &[(&str, &str)] = &[
    ("NM", "nmi"),
    ("Nm", "N*m"),
    ("kNm", "kN*m"),
    ("mcg", "µg"),
    ("msec", "ms"),
    ("usec", "µs"),
];

/// Symbols with another meaning when paired with a unit of that other kind.
pub(super) const CONTEXT_MEANINGS: &[(&str, &str)] = &[
    ("oz", "fl oz"),
    ("ounce", "fl oz"),
    ("ounces", "fl oz"),
    ("c", "cup"),
    ("kilo", "kg"),
    ("kilos", "kg"),
    ("pt", "point"),
    ("kt", "kn"),
    ("mb", "mbar"),
    ("m", "min"),
    ("lb", "lbf"),
    ("lbs", "lbf"),
    ("pound", "lbf"),
    ("pounds", "lbf"),
    ("kg", "kgf"),
    ("minute", "′"),
    ("minutes", "′"),
    ("second", "″"),
    ("seconds", "″"),
    ("'", "′"),
    ("\"", "″"),
    ("′", "ft"),
    ("″", "in"),
    ("deg", "°C"),
    ("degrees", "°C"),
];

/// Prefixed units that are suggested in addition to the table's own.
pub(super) const SUGGESTED: &[&str] = &[
    "km", "cm", "mm", "µm", "kg", "mg", "ml", "cl", "ms", "kB", "MB", "GB", "TB", "KiB", "MiB",
    "GiB", "kW", "kWh", "kJ", "kcal", "hPa", "kPa", "mbar", "kHz", "MHz", "GHz",
];

pub(super) static UNITS: LazyLock<Vec<UnitSpec>> =
    LazyLock::new(|| TABLE.lines().filter_map(UnitSpec::parse).collect());

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::*;

    #[test]
    fn factors_are_numbers_and_symbols_are_unique() {
        let mut symbols: Vec<&str> = UNITS.iter().map(|row| row.symbol).collect();
        symbols.sort_unstable();
        assert!(symbols.windows(2).all(|pair| pair[0] != pair[1]));
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        assert_eq!(UNITS.len(), lines.count());
        for row in UNITS.iter() {
            assert!(
                Number::parse(row.factor).is_some_and(|factor| !factor.is_zero()),
                "{}",
                row.symbol
            );
            assert!(
                row.offset.is_empty() || Number::parse(row.offset).is_some(),
                "{}",
                row.symbol
            );
            assert!(
                KINDS.iter().any(|(dims, _)| *dims == row.dims),
                "{}",
                row.symbol
            );
        }
        for (_, symbol) in CONTEXT_MEANINGS {
            assert!(
                ["mbar", "kg"].contains(symbol) || UNITS.iter().any(|row| row.symbol == *symbol),
                "{symbol}"
            );
        }
    }
}
