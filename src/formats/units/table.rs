//! The units: exact factors to one base unit of each kind.
//!
//! kB, MB, GB are decimal and KiB, MiB, GiB binary. A year is the Gregorian mean of 365.2425 days, a month a twelfth of it. Gallons and their
//! fractions are US units unless marked `imp` or `uk`.

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

const fn row(
    dims: Dimensions,
    symbol: &'static str,
    name: &'static str,
    factor: &'static str,
    others: &'static str,
) -> UnitSpec {
    UnitSpec {
        dims,
        symbol,
        name,
        plural: "",
        factor,
        offset: "",
        prefixes: Prefixes::None,
        others,
    }
}

impl UnitSpec {
    /// Other names, in any case.
    pub(super) fn others(&self) -> impl Iterator<Item = &'static str> {
        self.others.split('|').filter(|name| !name.is_empty())
    }

    const fn plural(mut self, plural: &'static str) -> Self {
        self.plural = plural;
        self
    }

    const fn metric(mut self) -> Self {
        self.prefixes = Prefixes::Decimal;
        self
    }

    const fn binary(mut self) -> Self {
        self.prefixes = Prefixes::Both;
        self
    }

    const fn offset(mut self, offset: &'static str) -> Self {
        self.offset = offset;
        self
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

pub(super) const UNITS: &[UnitSpec] = &[
    row(LENGTH, "m", "metre", "1", "meter|mtr").metric(),
    row(LENGTH, "in", "inch", "0.0254", "\"|”").plural("inches"),
    row(LENGTH, "ft", "foot", "0.3048", "'|’").plural("feet"),
    row(LENGTH, "yd", "yard", "0.9144", "yds"),
    row(LENGTH, "mi", "mile", "1609.344", "statute mile"),
    row(LENGTH, "nmi", "nautical mile", "1852", "naut mi|sea mile"),
    row(LENGTH, "mil", "thousandth of an inch", "0.0000254", "thou")
        .plural("thousandths of an inch"),
    row(LENGTH, "fur", "furlong", "201.168", ""),
    row(LENGTH, "ch", "chain", "20.1168", ""),
    row(LENGTH, "rd", "rod", "5.0292", "perch"),
    row(LENGTH, "ftm", "fathom", "1.8288", ""),
    row(LENGTH, "hand", "hand", "0.1016", ""),
    row(LENGTH, "point", "point", "0.0254/72", ""),
    row(LENGTH, "micron", "micron", "1e-6", ""),
    row(LENGTH, "Å", "ångström", "1e-10", "angstrom"),
    row(LENGTH, "au", "astronomical unit", "149597870700", ""),
    row(
        LENGTH,
        "ly",
        "light-year",
        "9460730472580800",
        "light year|lightyear",
    ),
    row(LENGTH, "pc", "parsec", "30856775814913673", "").metric(),
    row(MASS, "g", "gram", "0.001", "gramme|gm|gms").metric(),
    row(MASS, "t", "tonne", "1000", "metric ton|metric tonne").metric(),
    row(MASS, "lb", "pound", "0.45359237", "lbs|lbm"),
    row(MASS, "oz", "ounce", "0.028349523125", ""),
    row(MASS, "st", "stone", "6.35029318", "stones").plural("stone"),
    row(MASS, "ton", "short ton", "907.18474", "us ton"),
    row(
        MASS,
        "long ton",
        "long ton",
        "1016.0469088",
        "uk ton|imperial ton",
    ),
    row(MASS, "ct", "carat", "0.0002", ""),
    row(MASS, "gr", "grain", "0.00006479891", ""),
    row(MASS, "ozt", "troy ounce", "0.0311034768", "oz t"),
    row(TIME, "s", "second", "1", "sec").metric(),
    row(TIME, "min", "minute", "60", "mins"),
    row(TIME, "h", "hour", "3600", "hr"),
    row(TIME, "d", "day", "86400", ""),
    row(TIME, "wk", "week", "604800", "wks"),
    row(TIME, "fortnight", "fortnight", "1209600", ""),
    row(TIME, "mo", "month", "2629746", "mos"),
    row(TIME, "yr", "year", "31556952", "y|yrs"),
    row(TIME, "decade", "decade", "315569520", ""),
    row(TIME, "century", "century", "3155695200", "").plural("centuries"),
    row(TEMPERATURE, "K", "kelvin", "1", "k").metric(),
    row(
        TEMPERATURE,
        "°C",
        "degree Celsius",
        "1",
        "c|celsius|centigrade|degc|c°",
    )
    .offset("273.15")
    .plural("degrees Celsius"),
    row(
        TEMPERATURE,
        "°F",
        "degree Fahrenheit",
        "5/9",
        "f|fahrenheit|degf|f°",
    )
    .offset("459.67")
    .plural("degrees Fahrenheit"),
    row(TEMPERATURE, "°R", "degree Rankine", "5/9", "rankine|degr").plural("degrees Rankine"),
    row(DATA, "b", "bit", "1", "").binary(),
    row(DATA, "B", "byte", "8", "octet").binary(),
    row(
        ANGLE,
        "rad",
        "radian",
        "0.15915494309189533576888376337251436",
        "",
    )
    .metric(),
    row(ANGLE, "°", "degree", "1/360", "deg"),
    row(ANGLE, "′", "arcminute", "1/21600", "arcmin|minute of arc"),
    row(ANGLE, "″", "arcsecond", "1/1296000", "arcsec|second of arc"),
    row(ANGLE, "gon", "gradian", "1/400", "grad"),
    row(ANGLE, "turn", "turn", "1", "revolution|rev"),
    row(AREA, "ac", "acre", "4046.8564224", ""),
    row(AREA, "ha", "hectare", "10000", ""),
    row(AREA, "are", "are", "100", ""),
    row(VOLUME, "l", "litre", "0.001", "liter|ltr").metric(),
    row(VOLUME, "cc", "cubic centimetre", "0.000001", "ccm"),
    row(
        VOLUME,
        "gal",
        "gallon",
        "0.003785411784",
        "us gal|us gallon|gals",
    ),
    row(VOLUME, "qt", "quart", "0.000946352946", "us qt|us quart"),
    row(VOLUME, "pt", "pint", "0.000473176473", "us pt|us pint"),
    row(VOLUME, "cup", "cup", "0.0002365882365", "us cup"),
    row(
        VOLUME,
        "fl oz",
        "fluid ounce",
        "0.0000295735295625",
        "floz|fl. oz.|fl. oz|us fl oz|us fluid ounce",
    ),
    row(VOLUME, "tbsp", "tablespoon", "0.00001478676478125", "tbs"),
    row(VOLUME, "tsp", "teaspoon", "0.00000492892159375", ""),
    row(
        VOLUME,
        "imp gal",
        "imperial gallon",
        "0.00454609",
        "uk gal|uk gallon",
    ),
    row(
        VOLUME,
        "imp qt",
        "imperial quart",
        "0.0011365225",
        "uk qt|uk quart",
    ),
    row(
        VOLUME,
        "imp pt",
        "imperial pint",
        "0.00056826125",
        "uk pt|uk pint",
    ),
    row(
        VOLUME,
        "imp fl oz",
        "imperial fluid ounce",
        "0.0000284130625",
        "uk fl oz|uk fluid ounce",
    ),
    row(VOLUME, "bbl", "barrel", "0.158987294928", "oil barrel"),
    row(SPEED, "mph", "mile per hour", "0.44704", "").plural("miles per hour"),
    row(SPEED, "kn", "knot", "1852/3600", "kt|kts"),
    row(SPEED, "km/h", "kilometre per hour", "1/3.6", "kph|kmh|kmph").plural("kilometres per hour"),
    row(SPEED, "ft/s", "foot per second", "0.3048", "fps").plural("feet per second"),
    row(FORCE, "N", "newton", "1", "").metric(),
    row(
        FORCE,
        "lbf",
        "pound-force",
        "4.4482216152605",
        "pound force",
    )
    .plural("pounds-force"),
    row(FORCE, "kgf", "kilogram-force", "9.80665", "kilopond|kp").plural("kilograms-force"),
    row(FORCE, "dyn", "dyne", "0.00001", ""),
    row(PRESSURE, "Pa", "pascal", "1", "").metric(),
    row(PRESSURE, "bar", "bar", "100000", "").metric(),
    row(
        PRESSURE,
        "psi",
        "pound per square inch",
        "6894.757293168",
        "",
    )
    .plural("pounds per square inch"),
    row(PRESSURE, "atm", "atmosphere", "101325", ""),
    row(
        PRESSURE,
        "mmHg",
        "millimetre of mercury",
        "133.322387415",
        "mm hg",
    )
    .plural("millimetres of mercury"),
    row(PRESSURE, "Torr", "torr", "101325/760", ""),
    row(
        PRESSURE,
        "inHg",
        "inch of mercury",
        "3386.388640341",
        "in hg",
    )
    .plural("inches of mercury"),
    row(ENERGY, "J", "joule", "1", "").metric(),
    row(ENERGY, "cal", "calorie", "4.184", "").metric(),
    row(ENERGY, "Cal", "food calorie", "4184", ""),
    row(ENERGY, "Wh", "watt-hour", "3600", "watt hour|watthour").metric(),
    row(
        ENERGY,
        "eV",
        "electronvolt",
        "1.602176634e-19",
        "electron volt",
    )
    .metric(),
    row(ENERGY, "BTU", "British thermal unit", "1055.05585262", ""),
    row(
        ENERGY,
        "ft·lbf",
        "foot-pound",
        "1.3558179483314004",
        "ft-lb|ft lb|ft-lbf|ft lbf|foot pound",
    ),
    row(ENERGY, "erg", "erg", "1e-7", ""),
    row(POWER, "W", "watt", "1", "").metric(),
    row(POWER, "hp", "horsepower", "745.69987158227022", "bhp").plural("horsepower"),
    row(POWER, "PS", "metric horsepower", "735.49875", "cv").plural("metric horsepower"),
    row(FREQUENCY, "Hz", "hertz", "1", "")
        .plural("hertz")
        .metric(),
    row(ROTATION, "rpm", "revolution per minute", "1/60", "r/min").plural("revolutions per minute"),
    row(
        ECONOMY,
        "mpg",
        "mile per gallon",
        "1609.344/0.003785411784",
        "us mpg|mpg us",
    )
    .plural("miles per gallon"),
    row(
        ECONOMY,
        "imp mpg",
        "mile per imperial gallon",
        "1609.344/0.00454609",
        "uk mpg|mpg uk|mpg imp|imperial mpg",
    )
    .plural("miles per imperial gallon"),
    row(
        AREA,
        "l/100 km",
        "litre per 100 kilometres",
        "0.00000001",
        "l/100km|l per 100 km|l per 100km|liter per 100 km|liters per 100 km",
    )
    .plural("litres per 100 kilometres"),
];

#[cfg(test)]
mod tests {
    use super::super::number::Number;
    use super::*;

    #[test]
    fn factors_are_numbers_and_symbols_are_unique() {
        let mut symbols: Vec<&str> = UNITS.iter().map(|row| row.symbol).collect();
        symbols.sort_unstable();
        assert!(symbols.windows(2).all(|pair| pair[0] != pair[1]));
        for row in UNITS {
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
