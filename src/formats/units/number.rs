//! Numbers that stay exact as long as possible: fractions of integers, with a float for what does not fit.

use std::fmt;

/// Significant digits of a number that is not shown exactly.
const DIGITS: usize = 12;
/// Significant digits of an exact fraction that is shown whole.
const EXACT: usize = 15;
/// Digits before the point from which a number is shown with a power of ten.
const MAX_PLAIN_DIGITS: i32 = 21;
/// Zeros behind the point from which it is.
const SMALLEST: i32 = -7;

/// A number.
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

    fn new(top: i128, bottom: i128) -> Option<Self> {
        let shared = gcd(top, bottom)?;
        let (top, bottom) = (top.checked_div(shared)?, bottom.checked_div(shared)?);
        let sign = bottom.signum();
        let exact = (top.checked_mul(sign)?, bottom.checked_mul(sign)?);
        #[allow(clippy::cast_precision_loss, reason = "the exact value stands beside")]
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
        if let Some((top, bottom)) = text.split_once('/') {
            let bottom = Self::decimal(bottom.trim())?;
            let top = Self::decimal(top.trim())?;
            return (!bottom.is_zero()).then(|| top.over(bottom));
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
        let top: i128 = format!("{whole}{part}").parse().ok()?;
        let power = power.checked_sub(i32::try_from(part.len()).ok()?)?;
        let ten = 10i128.checked_pow(power.unsigned_abs())?;
        match power {
            0.. => Self::new(top.checked_mul(ten)?, 1),
            _ => Self::new(top, ten),
        }
    }

    pub(crate) fn times(self, other: Self) -> Self {
        let exact = || {
            let ((a, b), (c, d)) = (self.exact?, other.exact?);
            // Reduce crosswise first: the product then fits more often.
            let (one, two) = (gcd(a, d)?, gcd(c, b)?);
            let top = a.checked_div(one)?.checked_mul(c.checked_div(two)?)?;
            let bottom = b.checked_div(two)?.checked_mul(d.checked_div(one)?)?;
            Self::new(top, bottom)
        };
        exact().unwrap_or(Self::inexact(self.near * other.near))
    }

    /// The quotient; `other` is not zero.
    pub(crate) fn over(self, other: Self) -> Self {
        let turned = match other.exact {
            Some((top, bottom)) => Self::new(bottom, top),
            None => None,
        };
        match turned {
            Some(turned) => self.times(turned),
            None => Self::inexact(self.near / other.near),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let exact = || {
            let ((a, b), (c, d)) = (self.exact?, other.exact?);
            let top = a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?;
            Self::new(top, b.checked_mul(d)?)
        };
        exact().unwrap_or(Self::inexact(self.near + other.near))
    }

    pub(super) fn minus(self, other: Self) -> Self {
        self.plus(other.negative())
    }

    pub(super) fn negative(self) -> Self {
        Self {
            exact: self.exact.map(|(top, bottom)| (-top, bottom)),
            near: -self.near,
        }
    }

    pub(super) fn power(self, power: i32) -> Self {
        let mut out = Self::ONE;
        for _ in 0..power.unsigned_abs() {
            out = out.times(self);
        }
        if power < 0 { Self::ONE.over(out) } else { out }
    }

    /// Without what is behind the point, towards zero.
    pub(super) fn whole(self) -> Self {
        self.exact
            .and_then(|(top, bottom)| Self::new(top.checked_div(bottom)?, 1))
            .unwrap_or(Self::inexact(self.near.trunc()))
    }

    pub(crate) fn is_zero(self) -> bool {
        self.near == 0.0
    }

    pub(crate) fn is_negative(self) -> bool {
        self.near < 0.0
    }

    /// Neither too large nor too small to be a number.
    pub(crate) fn is_finite(self) -> bool {
        self.near.is_finite()
    }

    pub(super) fn near(self) -> f64 {
        self.near
    }

    /// Rounded to `places` decimals, halves away from zero, with trailing zeros.
    pub(crate) fn fixed(self, places: usize) -> String {
        let exact = || {
            let (top, bottom) = self.exact?;
            let ten = 10u128.checked_pow(u32::try_from(places).ok()?)?;
            let (top, bottom) = (top.unsigned_abs(), bottom.unsigned_abs());
            let twice = top.checked_mul(ten)?.checked_mul(2)?.checked_add(bottom)?;
            let units = twice.checked_div(bottom.checked_mul(2)?)?;
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

    /// As an amount of money with `places` decimals; a small one gets more, for four significant digits.
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
        let kept = part.trim_end_matches('0').len().max(places);
        match part.get(..kept).unwrap_or(part) {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        }
    }

    /// Digits and the power of ten of the first, of an exact number; `None` when that takes too long a division.
    fn digits(self) -> Option<(String, i32)> {
        let (top, bottom) = self.exact?;
        let (top, bottom) = (top.unsigned_abs(), bottom.unsigned_abs());
        let (whole, mut rest) = (top.checked_div(bottom)?, top.checked_rem(bottom)?);
        let mut digits = if whole == 0 {
            String::new()
        } else {
            whole.to_string()
        };
        let mut power = i32::try_from(digits.len()).ok()? - 1;
        let most = digits.len().max(EXACT);
        while rest != 0 && digits.len() <= most {
            rest = rest.checked_mul(10)?;
            let digit = rest.checked_div(bottom)?;
            rest = rest.checked_rem(bottom)?;
            if digits.is_empty() && digit == 0 {
                power -= 1;
            } else {
                digits.push_str(&digit.to_string());
            }
            if power < -60 {
                return None;
            }
        }
        if rest == 0 && digits.len() <= most {
            return Some((digits, power));
        }
        let keep = usize::try_from(power + 1).unwrap_or_default().max(DIGITS);
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
        if self.is_zero() && self.exact.is_none_or(|(top, _)| top == 0) {
            return f.write_str("0");
        }
        let (digits, power) = match self.digits() {
            Some(found) => found,
            None => {
                let text = format!("{:.*e}", DIGITS - 1, self.near.abs());
                let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
                (digits.replace('.', ""), power.parse().unwrap_or_default())
            }
        };
        if self.near < 0.0 {
            f.write_str("-")?;
        }
        f.write_str(&laid_out(digits.trim_end_matches('0'), power))
    }
}

/// Digits as a number, the first of them standing for that power of ten.
fn laid_out(digits: &str, power: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    if !(SMALLEST..MAX_PLAIN_DIGITS).contains(&power) {
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
    fn numbers_are_shown_as_a_person_writes_them() {
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
        fn there_and_back_is_exact(top in -1_000_000_000i64..1_000_000_000, a in 1i64..1_000_000, b in 1i64..1_000_000) {
            let number = Number::parse(&top.to_string()).unwrap();
            let factor = Number::parse(&format!("{a}/{b}")).unwrap();
            prop_assert_eq!(number.times(factor).over(factor).to_string(), top.to_string());
            prop_assert_eq!(number.plus(factor).minus(factor).to_string(), top.to_string());
        }

        #[test]
        fn the_floating_one_agrees(text in "-?[0-9]{1,9}(\\.[0-9]{1,9})?(e-?[0-9]{1,2})?") {
            let number = Number::parse(&text).unwrap();
            let back: f64 = number.to_string().parse().unwrap();
            let wanted: f64 = text.parse().unwrap();
            prop_assert!((back - wanted).abs() <= wanted.abs() * 1e-11, "{text} {back}");
        }
    }
}
