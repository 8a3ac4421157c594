//! Prices of the Steam store: hundredths of a currency, discounts, and many representations of "no price".

use crate::base::text::thousands;

/// Currencies without decimals that Steam nevertheless counts in hundredths.
const ZERO_DECIMAL_CURRENCIES: [&str; 9] = [
    "JPY", "KRW", "IDR", "VND", "CLP", "COP", "CRC", "HUF", "TWD",
];

/// A price, and the price before a discount.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GamePrice {
    /// Currency code, when given.
    pub(super) currency: Option<String>,
    /// In hundredths.
    pub(super) now: i64,
    /// Before the discount, in hundredths.
    pub(super) before: Option<i64>,
    /// Discount in percent, if the store gives one.
    pub(super) discount: Option<i64>,
}

impl GamePrice {
    /// `$19.99`, `12.50 EUR (-50%, was 25.00 EUR)`, `free`; `None` for numbers that are not a price.
    pub(super) fn text(&self) -> Option<String> {
        if self.now < 0 {
            return None;
        }
        let before = self.before.filter(|before| *before > self.now);
        let actual = || {
            let before = before?;
            // Rounded to the nearest percent.
            before
                .checked_sub(self.now)?
                .checked_mul(100)?
                .checked_add(before / 2)?
                .checked_div(before)
        };
        let discount = self
            .discount
            .filter(|discount| (1..=100).contains(discount));
        let discount = discount.or_else(actual).filter(|discount| *discount > 0);
        let now = match self.now {
            0 => "free".to_owned(),
            now => self.money(now),
        };
        Some(match (discount, before) {
            (Some(discount), Some(before)) => {
                format!("{now} (-{discount}%, was {})", self.money(before))
            }
            (Some(discount), None) if self.now > 0 => format!("{now} (-{discount}%)"),
            _ => now,
        })
    }

    fn money(&self, hundredths: i64) -> String {
        let (whole, rest) = (hundredths / 100, hundredths % 100);
        let whole = thousands(u64::try_from(whole).unwrap_or_default());
        let currency = self.currency.as_deref().unwrap_or_default();
        let amount = if rest == 0 && ZERO_DECIMAL_CURRENCIES.contains(&currency) {
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

    fn price(
        currency: &str,
        now: i64,
        before: Option<i64>,
        discount: Option<i64>,
    ) -> Option<String> {
        let currency = Some(currency.to_owned()).filter(|code| !code.is_empty());
        GamePrice {
            currency,
            now,
            before,
            discount,
        }
        .text()
    }

    #[test]
    fn prices_read_as_people_write_them() {
        for (currency, now, before, discount, wanted) in [
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
                price(currency, now, before, discount).as_deref(),
                Some(wanted),
                "{currency} {now}"
            );
        }
        assert_eq!(price("USD", -1, None, None), None);
    }

    proptest! {
        #[test]
        fn any_numbers_are_accepted(now in any::<i64>(), before in any::<Option<i64>>(), discount in any::<Option<i64>>()) {
            let text = price("USD", now, before, discount);
            prop_assert_eq!(text.is_none(), now < 0);
            let sound = text.is_none_or(|text| !text.contains("--") && !text.contains("$-"));
            prop_assert!(sound);
        }
    }
}
