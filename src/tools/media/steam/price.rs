//! Prices as the Steam store gives them: hundredths of a currency, discounts, and many ways of having none.

use crate::base::text::thousands;

/// Currencies without decimals that Steam nevertheless counts in hundredths.
const WHOLE: [&str; 9] = [
    "JPY", "KRW", "IDR", "VND", "CLP", "COP", "CRC", "HUF", "TWD",
];

/// A price now, and what it was.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GamePrice {
    /// Code of the currency, when it is named.
    pub(super) currency: Option<String>,
    /// Hundredths.
    pub(super) now: i64,
    /// Hundredths before a discount.
    pub(super) before: Option<i64>,
    /// Discount in percent, if the store gives one.
    pub(super) off: Option<i64>,
}

impl GamePrice {
    /// `$19.99`, `12.50 EUR (-50%, was 25.00 EUR)`, `free`; `None` for numbers that are not a price.
    pub(super) fn text(&self) -> Option<String> {
        if self.now < 0 {
            return None;
        }
        let before = self.before.filter(|before| *before > self.now);
        let worked_out = || {
            let before = before?;
            // Rounded to the nearest percent.
            before
                .checked_sub(self.now)?
                .checked_mul(100)?
                .checked_add(before / 2)?
                .checked_div(before)
        };
        let off = self.off.filter(|off| (1..=100).contains(off));
        let off = off.or_else(worked_out).filter(|off| *off > 0);
        let now = match self.now {
            0 => "free".to_owned(),
            now => self.money(now),
        };
        Some(match (off, before) {
            (Some(off), Some(before)) => format!("{now} (-{off}%, was {})", self.money(before)),
            (Some(off), None) if self.now > 0 => format!("{now} (-{off}%)"),
            _ => now,
        })
    }

    fn money(&self, hundredths: i64) -> String {
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let whole = thousands(u64::try_from(whole).unwrap_or_default());
        let currency = self.currency.as_deref().unwrap_or_default();
        let amount = if rest == 0 && WHOLE.contains(&currency) {
            whole
        } else {
            format!("{whole}.{rest:02}")
        };
        match currency {
            "USD" => format!("${amount}"),
            "" => amount,
            code => format!("{amount} {code}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn price(currency: &str, now: i64, before: Option<i64>, off: Option<i64>) -> Option<String> {
        let currency = Some(currency.to_owned()).filter(|code| !code.is_empty());
        GamePrice {
            currency,
            now,
            before,
            off,
        }
        .text()
    }

    #[test]
    fn prices_read_as_people_write_them() {
        for (currency, now, before, off, wanted) in [
            ("USD", 1999, None, None, "$19.99"),
            ("USD", 1999, Some(1999), Some(0), "$19.99"),
            ("USD", 5, None, None, "$0.05"),
            ("USD", 0, None, None, "free"),
            ("USD", 0, Some(1000), Some(100), "free (-100%, was $10.00)"),
            ("USD", 2999, Some(5999), None, "$29.99 (-50%, was $59.99)"),
            ("USD", 2999, None, Some(40), "$29.99 (-40%)"),
            (
                "EUR",
                1250,
                Some(2500),
                Some(50),
                "12.50 EUR (-50%, was 25.00 EUR)",
            ),
            ("JPY", 120_000, None, None, "1,200 JPY"),
            ("JPY", 120_050, None, None, "1,200.50 JPY"),
            ("", 1999, None, None, "19.99"),
            ("USD", 1999, Some(999), None, "$19.99"),
        ] {
            assert_eq!(
                price(currency, now, before, off).as_deref(),
                Some(wanted),
                "{currency} {now}"
            );
        }
        assert_eq!(price("USD", -1, None, None), None);
    }

    proptest! {
        #[test]
        fn any_numbers_give_words(now in any::<i64>(), before in any::<Option<i64>>(), off in any::<Option<i64>>()) {
            let text = price("USD", now, before, off);
            prop_assert_eq!(text.is_none(), now < 0);
            let sound = text.is_none_or(|text| !text.contains("--") && !text.contains("$-"));
            prop_assert!(sound);
        }
    }
}
