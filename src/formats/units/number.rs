//! Numbers that stay exact as long as possible: fractions of integers, with a float for what does not fit.

use std::fmt;

/// Significant digits of a number that is not shown exactly.
const SIGNIFICANT_DIGITS: usize = 12;
/// Significant digits of an exact fraction that is shown whole.
const MAX_EXACT_DIGITS: usize = 15;
/// Number of digits before the point from which a power of ten is shown.
const MAX_PLAIN_DIGITS: i32 = 21;
/// Number of zeros after the point from which a power of ten is shown.
const MIN_PLAIN_POWER: i32 = -7;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Number {
    /// Numerator and denominator without a common factor, the denominator positive.
    exact: Option<(i128, i128)>,
    near: f64,
}

impl Number {
    pub(crate) const ZERO: Self = Self {
        exact: Some((0, 1)),
        near: 0.0,
    };
    pub(crate) const ONE: Self = Self {
        exact: Some((1, 1)),
        near: 1.0,
    };

    fn new(numerator: i128, denominator: i128) -> Option<Self> {
        let shared = gcd(numerator, denominator)?;
        let (numerator, denominator) = (
            numerator.checked_div(shared)?,
            denominator.checked_div(shared)?,
        );
        let sign = denominator.signum();
        let exact = (numerator.checked_mul(sign)?, denominator.checked_mul(sign)?);
        #[allow(
            clippy::cast_precision_loss,
            reason = "the exact value is kept as well"
        )]
        let near = exact.0 as f64 / exact.1 as f64;
        (exact.1 != 0).then_some(Self {
            exact: Some(exact),
            near,
        })
    }

    fn inexact(near: f64) -> Self {
        Self { exact: None, near }
    }

    /// A decimal number, with or without a power of ten, or a fraction of two.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some((numerator, denominator)) = text.split_once('/') {
            let denominator = Self::decimal(denominator.trim())?;
            let numerator = Self::decimal(numerator.trim())?;
            return (!denominator.is_zero()).then(|| numerator.divided_by(denominator));
        }
        Self::decimal(text)
    }

    fn decimal(text: &str) -> Option<Self> {
        let begins = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.');
        if !text.starts_with(begins) {
            return None;
        }
        let near: f64 = text.parse().ok()?;
        if !near.is_finite() {
            return None;
        }
        Some(Self::exactly(text).unwrap_or(Self::inexact(near)))
    }

    fn exactly(text: &str) -> Option<Self> {
        let (digits, power) = match text.split_once(['e', 'E']) {
            Some((digits, power)) => (digits, power.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        let numerator: i128 = format!("{whole}{part}").parse().ok()?;
        let power = power.checked_sub(i32::try_from(part.len()).ok()?)?;
        let ten = 10i128.checked_pow(power.unsigned_abs())?;
        match power {
            0.. => Self::new(numerator.checked_mul(ten)?, 1),
            _ => Self::new(numerator, ten),
        }
    }

    pub(crate) fn multiplied_by(self, other: Self) -> Self {
        let exact = || {
            let ((a, b), (c, d)) = (self.exact?, other.exact?);
            // Reduce crosswise first: the product then fits more often.
            let (one, two) = (gcd(a, d)?, gcd(c, b)?);
            let numerator = a.checked_div(one)?.checked_mul(c.checked_div(two)?)?;
            let denominator = b.checked_div(two)?.checked_mul(d.checked_div(one)?)?;
            Self::new(numerator, denominator)
        };
        exact().unwrap_or(Self::inexact(self.near * other.near))
    }

    /// The quotient; `other` is not zero.
    pub(crate) fn divided_by(self, other: Self) -> Self {
        let inverse = match other.exact {
            Some((numerator, denominator)) => Self::new(denominator, numerator),
            None => None,
        };
        match inverse {
            Some(inverse) => self.multiplied_by(inverse),
            None => Self::inexact(self.near / other.near),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let exact = || {
            let ((a, b), (c, d)) = (self.exact?, other.exact?);
            let numerator = a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?;
            Self::new(numerator, b.checked_mul(d)?)
        };
        exact().unwrap_or(Self::inexact(self.near + other.near))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(other.negative())
    }

    pub(super) fn negative(self) -> Self {
        Self {
            exact: self
                .exact
                .map(|(numerator, denominator)| (-numerator, denominator)),
            near: -self.near,
        }
    }

    pub(super) fn power(self, power: i32) -> Self {
        let mut out = Self::ONE;
        for _ in 0..power.unsigned_abs() {
            out = out.multiplied_by(self);
        }
        if power < 0 {
            Self::ONE.divided_by(out)
        } else {
            out
        }
    }

    /// The integer part.
    pub(super) fn whole(self) -> Self {
        self.exact
            .and_then(|(numerator, denominator)| Self::new(numerator.checked_div(denominator)?, 1))
            .unwrap_or(Self::inexact(self.near.trunc()))
    }

    pub(crate) fn is_zero(self) -> bool {
        self.near == 0.0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.near < 0.0
    }

    /// False for overflow and for results that are not numbers.
    pub(crate) fn is_finite(self) -> bool {
        self.near.is_finite()
    }

    pub(super) fn near(self) -> f64 {
        self.near
    }

    /// Rounded to `places` decimals, halves away from zero, with trailing zeros.
    pub(crate) fn fixed(self, places: usize) -> String {
        let exact = || {
            let (numerator, denominator) = self.exact?;
            let ten = 10u128.checked_pow(u32::try_from(places).ok()?)?;
            let (numerator, denominator) = (numerator.unsigned_abs(), denominator.unsigned_abs());
            let twice = numerator
                .checked_mul(ten)?
                .checked_mul(2)?
                .checked_add(denominator)?;
            let units = twice.checked_div(denominator.checked_mul(2)?)?;
            let digits = format!("{units:0>width$}", width = places + 1);
            let (whole, part) = digits.split_at_checked(digits.len() - places)?;
            let sign = if self.is_negative() && units > 0 {
                "-"
            } else {
                ""
            };
            let point = if places == 0 { "" } else { "." };
            Some(format!("{sign}{whole}{point}{part}"))
        };
        exact().unwrap_or_else(|| format!("{:.places$}", self.near))
    }

    /// An amount of money with `places` decimals; a small one gets more, for four significant digits.
    pub(crate) fn money(self, places: usize) -> String {
        let size = self.near.abs();
        if size == 0.0 || size >= 1.0 {
            return self.fixed(places);
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the digits of a number below 1"
        )]
        let zeros = (-libm::log10(size)).floor().clamp(0.0, 20.0) as usize;
        let text = self.fixed((zeros + 4).max(places));
        let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
        let width = part.trim_end_matches('0').len().max(places);
        match part.get(..width).unwrap_or(part) {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        }
    }

    /// The digits of an exact number and the power of ten of the first; `None` when the division would take too long.
    fn digits(self) -> Option<(String, i32)> {
        let (numerator, denominator) = self.exact?;
        let (numerator, denominator) = (numerator.unsigned_abs(), denominator.unsigned_abs());
        let (whole, mut rest) = (
            numerator.checked_div(denominator)?,
            numerator.checked_rem(denominator)?,
        );
        let mut digits = if whole == 0 {
            String::new()
        } else {
            whole.to_string()
        };
        let mut power = i32::try_from(digits.len()).ok()? - 1;
        let max_digits = digits.len().max(MAX_EXACT_DIGITS);
        while rest != 0 && digits.len() <= max_digits {
            rest = rest.checked_mul(10)?;
            let digit = rest.checked_div(denominator)?;
            rest = rest.checked_rem(denominator)?;
            if digits.is_empty() && digit == 0 {
                power -= 1;
            } else {
                digits.push_str(&digit.to_string());
            }
            if power < -60 {
                return None;
            }
        }
        if rest == 0 && digits.len() <= max_digits {
            return Some((digits, power));
        }
        let keep = usize::try_from(power + 1)
            .unwrap_or_default()
            .max(SIGNIFICANT_DIGITS);
        Some(rounded(&digits, keep, power))
    }
}

/// The first `keep` digits, rounded; the power grows when all of them were nines.
fn rounded(digits: &str, keep: usize, power: i32) -> (String, i32) {
    let up = digits
        .as_bytes()
        .get(keep)
        .is_some_and(|digit| *digit >= b'5');
    let mut kept: Vec<u8> = digits.bytes().take(keep).collect();
    if !up {
        return (String::from_utf8(kept).unwrap_or_default(), power);
    }
    for digit in kept.iter_mut().rev() {
        if *digit == b'9' {
            *digit = b'0';
        } else {
            *digit += 1;
            return (String::from_utf8(kept).unwrap_or_default(), power);
        }
    }
    (
        format!("1{}", String::from_utf8(kept).unwrap_or_default()),
        power + 1,
    )
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() && self.exact.is_none_or(|(numerator, _)| numerator == 0) {
            return f.write_str("0");
        }
        let (digits, power) = match self.digits() {
            Some(found) => found,
            None => {
                let text = format!("{:.*e}", SIGNIFICANT_DIGITS - 1, self.near.abs());
                let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
                (digits.replace('.', ""), power.parse().unwrap_or_default())
            }
        };
        if self.near < 0.0 {
            f.write_str("-")?;
        }
        f.write_str(&place_point(digits.trim_end_matches('0'), power))
    }
}

/// Writes digits as a number; `power` is the power of ten of the first.
fn place_point(digits: &str, power: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    if !(MIN_PLAIN_POWER..MAX_PLAIN_DIGITS).contains(&power) {
        let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{first}{point}{rest}e{power}");
    }
    if power < 0 {
        return format!("0.{}{digits}", zeros(-power - 1));
    }
    if count <= power + 1 {
        return format!("{digits}{}", zeros(power + 1 - count));
    }
    let at = usize::try_from(power + 1).unwrap_or_default();
    let (whole, part) = digits.split_at_checked(at).unwrap_or((digits, ""));
    format!("{whole}.{part}")
}

/// The greatest common divisor, at least 1.
fn gcd(a: i128, b: i128) -> Option<i128> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a.checked_rem(b)?);
    }
    i128::try_from(a.max(1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        Number::parse(text).map_or_else(|| "none".to_owned(), |number| number.to_string())
    }

    #[test]
    fn numbers_are_shown_as_people_write_them() {
        for (given, text) in [
            ("5", "5"),
            ("-0.5", "-0.5"),
            ("0", "0"),
            ("-0", "0"),
            ("1e3", "1000"),
            ("1e20", "100000000000000000000"),
            ("1.5e21", "1.5e21"),
            ("0.0000001", "0.0000001"),
            ("0.00000001", "1e-8"),
            ("1/3", "0.333333333333"),
            ("2/3", "0.666666666667"),
            ("9999999999999/10000000000000", "0.9999999999999"),
            ("99999999999999999/100000000000000000", "1"),
            ("1/1024", "0.0009765625"),
            ("1125899906842624", "1125899906842624"),
            ("10000000000000000/3", "3333333333333333"),
            ("1e-300", "1e-300"),
            ("123456789.123456789", "123456789.123"),
            ("1/0", "none"),
            ("inf", "none"),
            ("", "none"),
            ("1.2.3", "none"),
        ] {
            assert_eq!(shown(given), text, "{given}");
        }
    }

    #[test]
    fn money_is_rounded_exactly() {
        for (given, places, text) in [
            ("85.455", 2, "85.46"),
            ("1.005", 2, "1.01"),
            ("-85.455", 2, "-85.46"),
            ("100", 2, "100.00"),
            ("99.999", 2, "100.00"),
            ("15678.5", 0, "15679"),
            ("1.23456", 3, "1.235"),
            ("0.5", 2, "0.50"),
            ("0.0085455", 2, "0.008546"),
            ("0.006789", 0, "0.006789"),
            ("0", 2, "0.00"),
            ("-0.000001", 2, "-0.000001"),
            ("1e-30", 2, "0.00"),
            (
                "123456789012345678901234567890.125",
                2,
                "123456789012345678901234567890.13",
            ),
        ] {
            assert_eq!(Number::parse(given).unwrap().money(places), text, "{given}");
        }
    }

    proptest! {
        #[test]
        fn a_round_trip_is_exact(numerator in -1_000_000_000i64..1_000_000_000, a in 1i64..1_000_000, b in 1i64..1_000_000) {
            let number = Number::parse(&numerator.to_string()).unwrap();
            let factor = Number::parse(&format!("{a}/{b}")).unwrap();
            prop_assert_eq!(number.multiplied_by(factor).divided_by(factor).to_string(), numerator.to_string());
            prop_assert_eq!(number.plus(factor).minus(factor).to_string(), numerator.to_string());
        }

        #[test]
        fn the_float_agrees_with_the_fraction(text in "-?[0-9]{1,9}(\\.[0-9]{1,9})?(e-?[0-9]{1,2})?") {
            let number = Number::parse(&text).unwrap();
            let back: f64 = number.to_string().parse().unwrap();
            let wanted: f64 = text.parse().unwrap();
            prop_assert!((back - wanted).abs() <= wanted.abs() * 1e-11, "{text} {back}");
        }
    }
}
