//! Conversions as people and models write them, and texts that are not conversions.

use proptest::prelude::*;

use super::*;

fn answer_of(value: &str, from: &str, to: &str) -> String {
    match convert(value, from, to) {
        Ok(Converted::Answer(answer)) => answer,
        Ok(Converted::Exchange(amount, from, to)) => {
            format!("{amount} {} to {}", from.code, to.code)
        }
        Err(problem) => problem.one_line(),
    }
}

#[test]
fn every_kind_of_unit_converts() {
    for (value, from, to, answer) in [
        ("5", "mi", "km", "5 mi = 8.04672 km"),
        ("5", "miles", "kilometers", "5 mi = 8.04672 km"),
        ("1", "nautical mile", "m", "1 nmi = 1852 m"),
        ("12", "inches", "feet", "12 in = 1 ft"),
        ("1", "yd", "cm", "1 yd = 91.44 cm"),
        ("1", "ly", "km", "1 ly = 9460730472580.8 km"),
        ("100", "°F", "°C", "100 °F = 37.7777777778 °C"),
        ("20", "c", "f", "20 °C = 68 °F"),
        ("-40", "degrees Celsius", "Fahrenheit", "-40 °C = -40 °F"),
        ("0", "K", "° C", "0 K = -273.15 °C"),
        ("98.6", "deg F", "kelvin", "98.6 °F = 310.15 K"),
        ("491.67", "rankine", "C", "491.67 °R = 0 °C"),
        ("1", "lb", "kg", "1 lb = 0.45359237 kg"),
        ("16", "oz", "lbs", "16 oz = 1 lb"),
        ("10", "stone", "kg", "10 st = 63.5029318 kg"),
        ("1", "ton", "t", "1 ton = 0.90718474 t"),
        ("1", "gallon", "litres", "1 gal = 3.785411784 l"),
        ("1", "imperial gallon", "L", "1 imp gal = 4.54609 l"),
        ("2", "cups", "ml", "2 cup = 473.176473 ml"),
        ("1", "kilo", "g", "1 kg = 1000 g"),
        ("2.5", "kilos", "kg", "2.5 kg = 2.5 kg"),
        ("3", "lb", "kilos", "3 lb = 1.36077711 kg"),
        ("8", "oz", "ml", "8 fl oz = 236.5882365 ml"),
        ("2", "c", "tbsp", "2 cup = 32 tbsp"),
        ("1", "m3", "l", "1 m³ = 1000 l"),
        ("1", "cubic foot", "m^3", "1 ft³ = 0.028316846592 m³"),
        ("1", "acre", "m²", "1 ac = 4046.8564224 m²"),
        ("100", "sq ft", "square metres", "100 ft² = 9.290304 m²"),
        ("1", "sqkm", "ha", "1 km² = 100 ha"),
        ("60", "mph", "km/h", "60 mph = 96.56064 km/h"),
        ("60", "miles per hour", "kph", "60 mph = 96.56064 km/h"),
        ("36", "km/h", "m/s", "36 km/h = 10 m/s"),
        ("10", "knots", "kmh", "10 kn = 18.52 km/h"),
        ("1", "MiB", "B", "1 MiB = 1048576 B"),
        ("1", "MB", "kB", "1 MB = 1000 kB"),
        ("1", "GB", "GiB", "1 GB = 0.931322574615 GiB"),
        ("8", "Mb", "MB", "8 Mb = 1 MB"),
        ("100", "Mbps", "MB/s", "100 Mb/s = 12.5 MB/s"),
        ("1", "PiB", "bytes", "1 PiB = 1125899906842624 B"),
        ("90", "min", "h", "90 min = 1.5 h"),
        ("90", "m", "h", "90 min = 1.5 h"),
        ("1", "week", "seconds", "1 wk = 604800 s"),
        ("1", "year", "days", "1 yr = 365.2425 d"),
        ("1", "kWh", "J", "1 kWh = 3600000 J"),
        ("1", "kW h", "MJ", "1 kW·h = 3.6 MJ"),
        ("500", "kcal", "kJ", "500 kcal = 2092 kJ"),
        ("1", "Cal", "kJ", "1 Cal = 4.184 kJ"),
        ("1", "hp", "W", "1 hp = 745.699871582 W"),
        ("1", "bar", "psi", "1 bar = 14.503773773 psi"),
        ("1", "atm", "hPa", "1 atm = 1013.25 hPa"),
        ("1013.25", "mb", "Pa", "1013.25 mbar = 101325 Pa"),
        ("180", "deg", "rad", "180° = 3.14159265359 rad"),
        ("90", "degrees", "gon", "90° = 100 gon"),
        ("1", "turn", "arcmin", "1 turn = 21600′"),
        ("30", "mpg", "l/100km", "30 mpg = 7.84048611111 l/100 km"),
        ("5", "l/100 km", "km/l", "5 l/100 km = 20 km/l"),
        (
            "5",
            "L/100km",
            "uk mpg",
            "5 l/100 km = 56.4961872664 imp mpg",
        ),
        ("3000", "rpm", "turn/s", "3000 rpm = 50 turn/s"),
        ("1", "kg/m3", "g/l", "1 kg/m³ = 1 g/l"),
        ("10", "lb", "N", "10 lbf = 44.482216152605 N"),
        ("1", "um", "nm", "1 µm = 1000 nm"),
        ("1", "micron", "μm", "1 micron = 1 µm"),
        ("5", "KM", "MI", "5 km = 3.10685596119 mi"),
        ("5", "kms", "miles", "5 km = 3.10685596119 mi"),
        ("1", "mil", "mm", "1 mil = 0.0254 mm"),
        ("20", "℃", "℉", "20 °C = 68 °F"),
        ("20", "C°", "\u{212a}", "20 °C = 293.15 K"),
        ("1", "m·s⁻²", "m/s²", "1 m·s^-2 = 1 m/s²"),
        ("1", "s⁻¹", "Hz", "1 s^-1 = 1 Hz"),
        ("1", "m⁴", "cm^4", "1 m^4 = 100000000 cm^4"),
        ("1", "lb/in²", "psi", "1 lbf/in² = 1 psi"),
        ("1", "psi", "lb/in2", "1 psi = 1 lbf/in²"),
        ("1", "kg/cm2", "bar", "1 kgf/cm² = 0.980665 bar"),
        ("1", "ft·lb", "J", "1 ft·lbf = 1.35581794833 J"),
        ("1", "lb·ft", "N·m", "1 lbf·ft = 1.35581794833 N·m"),
        ("1", "lb/ft3", "kg/m³", "1 lb/ft³ = 16.018463374 kg/m³"),
        ("1", "Nm", "J", "1 N·m = 1 J"),
        ("1", "NM", "km", "1 nmi = 1.852 km"),
        ("1", "mm Hg", "Pa", "1 mmHg = 133.322387415 Pa"),
        ("1", "mcg", "mg", "1 µg = 0.001 mg"),
        ("1", "YiB", "ZiB", "1 YiB = 1024 ZiB"),
        ("1e3", "m", "km", "1000 m = 1 km"),
        ("0", "m", "ft", "0 m = 0 ft"),
    ] {
        assert_eq!(answer_of(value, from, to), answer, "{value} {from} -> {to}");
    }
}

#[test]
fn compound_amounts_and_unusual_numbers_convert() {
    for (value, from, to, answer) in [
        ("5", "ft 3 in", "cm", "5 ft 3 in = 160.02 cm"),
        ("5 ft 3 in", "", "cm", "5 ft 3 in = 160.02 cm"),
        ("5'11\"", "", "m", "5 ft 11 in = 1.8034 m"),
        ("5'11", "in", "cm", "5 ft 11 in = 180.34 cm"),
        ("160.02", "cm", "ft in", "160.02 cm = 5 ft 3 in"),
        ("-160.02", "cm", "ft and in", "-160.02 cm = -5 ft 3 in"),
        ("-5", "ft 3 in", "in", "-5 ft 3 in = -63 in"),
        ("3725", "s", "h min s", "3725 s = 1 h 2 min 5 s"),
        ("1", "h 30 min", "s", "1 h 30 min = 5400 s"),
        ("6", "lb, 4 oz", "kg", "6 lb 4 oz = 2.8349523125 kg"),
        ("1,234.5", "m", "km", "1234.5 m = 1.2345 km"),
        ("2,5", "km", "m", "2.5 km = 2500 m"),
        ("1 234 567.5", "m", "km", "1234567.5 m = 1234.5675 km"),
        ("1\u{202f}000", "m", "km", "1000 m = 1 km"),
        ("1 000 m", "", "km", "1000 m = 1 km"),
        ("1", "000 m", "km", "1000 m = 1 km"),
        ("1", "1/2 mi", "yd", "1.5 mi = 2640 yd"),
        ("12 000", "ft 3 in", "in", "12000 ft 3 in = 144003 in"),
        ("1,000,000", "m", "km", "1000000 m = 1000 km"),
        ("2 1/2", "cups", "tbsp", "2.5 cup = 40 tbsp"),
        ("½", "mi", "yd", "0.5 mi = 880 yd"),
        ("1½", "mi", "yd", "1.5 mi = 2640 yd"),
        ("1/3", "ft", "in", "0.333333333333 ft = 4 in"),
        ("-5", "km", "m", "-5 km = -5000 m"),
        ("0.1", "km", "m", "0.1 km = 100 m"),
    ] {
        assert_eq!(answer_of(value, from, to), answer, "{value} {from} -> {to}");
    }
}

#[test]
fn units_come_before_currencies() {
    for (value, from, to, answer) in [
        ("5", "usd", "EUR", "5 USD to EUR"),
        ("5 €", "", "$", "5 EUR to USD"),
        ("1,234.50 €", "EUR", "pounds", "1234.5 EUR to GBP"),
        ("5", "pounds", "dollars", "5 GBP to USD"),
        ("16", "oz", "pounds", "16 oz = 1 lb"),
        ("1", "cup", "tbsp", "1 cup = 16 tbsp"),
        ("1", "cup", "usd", "1 CUP to USD"),
        ("1", "MAD", "all", "1 MAD to ALL"),
        ("5", "US dollars", "Swiss francs", "5 USD to CHF"),
        ("5 euro", "", "yen", "5 EUR to JPY"),
    ] {
        assert_eq!(answer_of(value, from, to), answer, "{value} {from} -> {to}");
    }
}

#[test]
fn ambiguous_symbols_add_a_note() {
    let note = "nm was read as nautical mile; write nanometre for the other.";
    assert_eq!(
        answer_of("5", "nm", "km"),
        format!("5 nmi = 9.26 km\n{note}")
    );
    assert_eq!(answer_of("500", "nm", "µm"), "500 nm = 0.5 µm");
    let note = "gb was read as GB, bytes; Gb is bits.";
    let answer = format!("5 GB = 4768.37158203125 MiB\n{note}");
    assert_eq!(answer_of("5", "gb", "MiB"), answer);
}

#[test]
fn a_failed_conversion_names_the_reason() {
    for (value, from, to, words) in [
        (
            "5",
            "mils",
            "km",
            "unknown unit \"mils\". Nearest: mi (mile), mil (thousandth of an inch)",
        ),
        (
            "5",
            "mi",
            "kmm",
            "unknown unit \"kmm\". Nearest: km (kilometre)",
        ),
        ("5", "celcius", "F", "Nearest: °C (degree Celsius)."),
        ("5", "C", "farenheit", "Nearest: °F (degree Fahrenheit)."),
        ("5", "feets", "m", "Nearest: ft (foot)"),
        ("5", "", "km", "unknown unit \"\"."),
        ("5", "ft 3 xyzzy", "km", "unknown unit \"xyzzy\"."),
        (
            "5",
            "kg",
            "km",
            "kg is a mass, km is a length: they cannot be converted.",
        ),
        ("5", "m", "m2", "m is a length, m² is an area"),
        ("-1", "K", "C", "-1 K is below absolute zero (0 K)."),
        (
            "-500",
            "°F",
            "C",
            "-500 °F is below absolute zero (-459.67 °F).",
        ),
        ("5", "ft 3 kg", "m", "they make no sum"),
        ("5", "°C 3 °C", "K", "they make no sum"),
        ("0", "mpg", "l/100km", "0 mpg has no counterpart"),
        (
            "5",
            "USD",
            "XYZ",
            "unknown conversion: there is no rate for XYZ",
        ),
        ("5", "xqz", "EUR", "Units are, for example, km, mi"),
        (
            "5",
            "USD",
            "km",
            "unknown conversion: USD is a currency, km is a length.",
        ),
        (
            "5",
            "kg",
            "€",
            "unknown conversion: EUR is a currency, kg is a mass.",
        ),
        (
            "5",
            "USD",
            "kilometer per",
            "unknown unit \"kilometer per\"",
        ),
        ("1,2,3", "m", "km", "is not a number"),
        ("1/0", "m", "km", "is not a number"),
        ("five", "m", "km", "is not a number"),
    ] {
        let answer = answer_of(value, from, to);
        assert!(answer.contains(words), "{value} {from} {to}: {answer}");
    }
    let long = "m".repeat(100_000);
    assert!(answer_of("5", &long, "m").len() < 400);
    assert!(answer_of("1e308", "Ym", "fm").contains("too large"));
}

fn symbols() -> Vec<String> {
    let rows = table::UNITS.iter().map(|row| row.symbol.to_owned());
    let common = table::SUGGESTED.iter().map(|symbol| (*symbol).to_owned());
    rows.chain(common).collect()
}

#[test]
fn every_name_means_its_own_unit() {
    for row in table::UNITS.iter() {
        for text in [row.symbol, row.name, row.plural]
            .into_iter()
            .chain(row.others())
        {
            if text.is_empty() {
                continue;
            }
            let found = meanings(text);
            let same = |unit: &ParsedUnit| unit.dims == row.dims && unit.symbol == row.symbol;
            assert!(found.iter().any(same), "{text}: {found:?}");
        }
    }
}

proptest! {
    #[test]
    fn a_round_trip_gives_the_number_back(value in -1_000_000i32..1_000_000, from in 0usize..200, to in 0usize..200) {
        let symbols = symbols();
        let first = |text: &String| meanings(text).into_iter().next().unwrap();
        let from = &symbols[from % symbols.len()];
        let source = first(from);
        prop_assume!(source.dims != TEMPERATURE);
        let alike: Vec<&String> = symbols
            .iter()
            .filter(|text| first(text).dims == source.dims)
            .collect();
        let to = alike[to % alike.len()];
        let target = first(to);
        let there = answer_of(&value.to_string(), from, to);
        let middle = there.lines().next().unwrap().split(" = ").nth(1).unwrap().to_owned();
        let number: f64 = middle.split([' ', '°', '′', '″']).next().unwrap().parse().unwrap();
        let exact = f64::from(value) * source.factor.near() / target.factor.near();
        prop_assert!((number - exact).abs() <= exact.abs() * 1e-10, "{there}");
    }

    #[test]
    fn no_text_makes_the_parser_panic(value in "\\PC{0,12}", from in "[a-zA-Z0-9 ^/*°'\",.µ²-]{0,16}|\\PC{0,10}", to in "[a-z/ 0-9^]{0,8}") {
        let _ = answer_of(&value, &from, &to);
        let _ = answer_of("5", &from, &to);
        let _ = answer_of("5", &to, &from);
    }
}
