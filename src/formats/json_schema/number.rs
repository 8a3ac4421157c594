//! Numbers of JSON compared by their value, whichever way they are written: integers exactly, others as the decimal that was written.

use std::cmp::Ordering;

use serde_json::Number;

/// A number as an integer, if it is one.
fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i64() {
        return Some(number.into());
    }
    if let Some(number) = number.as_u64() {
        return Some(number.into());
    }
    let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
    // Up to here every such number is an integer that the type holds.
    (number.abs() < 1e38).then_some(number as i128)
}

pub(super) fn is_integer(number: &Number) -> bool {
    let fraction = || number.as_f64().map(f64::fract);
    number.is_i64() || number.is_u64() || fraction() == Some(0.0)
}

/// Compares two numbers.
pub(super) fn compare(one: &Number, other: &Number) -> Ordering {
    if let (Some(one), Some(other)) = (whole(one), whole(other)) {
        return one.cmp(&other);
    }
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    // An integer that a float cannot hold exactly lies closer to its rounded value than any number with a fraction does.
    float(one).total_cmp(&float(other))
}

/// A decimal: digits times a power of ten.
struct Decimal {
    digits: i128,
    exponent: i32,
}

impl Decimal {
    fn of(number: &Number) -> Option<Self> {
        if let Some(digits) = whole(number).filter(|digits| digits.abs() < 1 << 64) {
            return Some(Self {
                digits,
                exponent: 0,
            });
        }
        // The shortest decimal that reads back as the same number.
        let text = format!("{:e}", number.as_f64()?);
        let (mantissa, exponent) = text.split_once('e')?;
        let fraction = mantissa
            .split_once('.')
            .map_or(0, |(_, digits)| digits.len());
        let exponent: i32 = exponent.parse().ok()?;
        Some(Self {
            digits: mantissa.replace('.', "").parse().ok()?,
            exponent: exponent - i32::try_from(fraction).ok()?,
        })
    }
}

/// Whether `number` is a whole multiple of `step`, which is positive.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    let (Some(number), Some(step)) = (Decimal::of(number), Decimal::of(step)) else {
        return false;
    };
    if number.digits == 0 {
        return true;
    }
    let shift = number.exponent - step.exponent;
    let mut divisor = step.digits;
    if shift < 0 {
        for _ in shift..0 {
            match divisor.checked_mul(10) {
                Some(larger) => divisor = larger,
                // Larger than any number that is left.
                None => return false,
            }
        }
        return divisor != 0 && number.digits % divisor == 0;
    }
    if divisor == 0 {
        return false;
    }
    let mut rest = number.digits % divisor;
    for _ in 0..shift {
        // Both are below 2^64, so this fits.
        rest = rest * 10 % divisor;
    }
    rest == 0
}

/// The same text for equal numbers.
pub(super) fn canonical(number: &Number) -> String {
    match whole(number) {
        Some(whole) => whole.to_string(),
        None => format!("{:e}", number.as_f64().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn numbers_are_compared_by_value() {
        for (one, other, order) in [
            ("1", "1.0", Ordering::Equal),
            ("9007199254740993", "9007199254740992", Ordering::Greater),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("18446744073709551615", "-1", Ordering::Greater),
            ("0.1", "0.2", Ordering::Less),
            ("1", "1.5", Ordering::Less),
            ("-0.0", "0", Ordering::Equal),
            ("1e300", "1e301", Ordering::Less),
        ] {
            assert_eq!(
                compare(&number(one), &number(other)),
                order,
                "{one} {other}"
            );
        }
        for (text, is) in [("1", true), ("1.0", true), ("1e300", true), ("1.5", false)] {
            assert_eq!(is_integer(&number(text)), is, "{text}");
        }
    }

    #[test]
    fn multiples_are_those_of_the_decimals_as_written() {
        for (value, step, is) in [
            ("4", "2", true),
            ("5", "2", false),
            ("0.3", "0.1", true),
            ("0.35", "0.1", false),
            ("19.99", "0.01", true),
            ("0.0075", "0.0001", true),
            ("0.00751", "0.0001", false),
            ("12391239123", "1e-8", true),
            ("1e308", "0.5", true),
            ("1e308", "0.123456789", false),
            ("0", "3", true),
            ("4.5", "1.5", true),
            ("-4", "2", true),
            ("1e-300", "1", false),
            ("9007199254740993", "2", false),
        ] {
            assert_eq!(
                is_multiple(&number(value), &number(step)),
                is,
                "{value} {step}"
            );
        }
    }
}
