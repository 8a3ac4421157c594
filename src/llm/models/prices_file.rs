//! `MARVIN_PRICES`: the user's own prices.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::price::{PartialRates, TokenPrice};
use crate::base::problem::{Outcome, Problem};
use crate::base::text;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prices(BTreeMap<String, TokenPrice>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    #[serde(default)]
    tiers: Vec<Tier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tier {
    above: u64,
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
}

impl Entry {
    fn price(self) -> Result<TokenPrice, &'static str> {
        let tiers = self.tiers.into_iter().map(|tier| {
            let rates = PartialRates {
                input: tier.input,
                output: tier.output,
                cache_read: tier.cache_read,
                cache_write: tier.cache_write,
                cache_write_1h: tier.cache_write_1h,
            };
            (tier.above, rates)
        });
        let base = PartialRates {
            input: Some(self.input),
            output: Some(self.output),
            cache_read: self.cache_read,
            cache_write: self.cache_write,
            cache_write_1h: self.cache_write_1h,
        };
        TokenPrice::new(base, tiers.collect())
    }
}

impl Prices {
    /// Reads `{"model": {"input": 2, "output": 10, "cache_read": 0.1, "tiers": [{"above": 200000, "input": 4}]}}`.
    ///
    /// # Errors
    /// When it is not such an object, or a price cannot be one.
    pub(crate) fn parse(json: &str) -> Outcome<Self> {
        let wanted = "Write it as {\"model\": {\"input\": 1.25, \"output\": 10}}, in US dollars for a million tokens; \"cache_read\", \"cache_write\", \"cache_write_1h\" and \"tiers\" may follow.";
        let entries: BTreeMap<String, Entry> = serde_json::from_str(json).map_err(|why| {
            Problem::config(format!("MARVIN_PRICES cannot be read: {why}."))
                .next(wanted)
                .because(why)
        })?;
        let price = |(model, entry): (String, Entry)| match entry.price() {
            Ok(price) => Ok((model, price)),
            Err(why) => {
                let model = text::clip(&text::escape_controls(&model), 80);
                Err(Problem::config(format!("MARVIN_PRICES: \"{model}\" {why}.")).next(wanted))
            }
        };
        entries
            .into_iter()
            .map(price)
            .collect::<Outcome<_>>()
            .map(Self)
    }

    /// The price of the model of exactly this name.
    pub(super) fn get(&self, model: &str) -> Option<&TokenPrice> {
        self.0.get(model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_form_of_two_fields_is_still_read() {
        let prices = Prices::parse(r#"{"m": {"input": 1, "output": 2.5}}"#).unwrap();
        let rates = prices.get("m").unwrap().rates;
        assert_eq!((rates.input, rates.output), (1.0, 2.5));
        assert_eq!(
            (rates.cache_read, rates.cache_write, rates.cache_write_1h),
            (1.0, 1.0, 1.0)
        );
        assert_eq!(prices.get("M"), None);
    }

    #[test]
    fn the_cache_and_the_tiers_have_their_prices() {
        let prices = Prices::parse(
            r#"{"a": {"input": 2, "output": 10, "cache_read": 0.1, "cache_write": 2.5, "cache_write_1h": 4},
                "b": {"input": 1, "output": 5, "cache_read": 0.05, "cache_write": 1.25, "tiers": [{"above": 272000, "input": 2, "output": 7.5, "cache_read": 0.1, "cache_write": 2.5}]}}"#,
        )
        .unwrap();
        assert_eq!(prices.get("a").unwrap().rates.cache_write_1h, 4.0);
        let tiered = prices.get("b").unwrap();
        assert_eq!(tiered.rates_for(272_000).cache_write_1h, 1.25);
        let above = tiered.rates_for(272_001);
        assert_eq!(
            (above.input, above.output, above.cache_write_1h),
            (2.0, 7.5, 2.5)
        );
    }

    #[test]
    fn junk_is_explained() {
        for (junk, why) in [
            ("", "EOF"),
            ("[]", "expected a map"),
            (r#"{"m": 3}"#, "invalid type"),
            (r#"{"m": {"input": 1}}"#, "missing field `output`"),
            (
                r#"{"m": {"input": -1, "output": 1}}"#,
                "\"m\" has a negative price",
            ),
            (r#"{"m": {"input": "1", "output": 1}}"#, "invalid type"),
            (r#"{"m": {"input": 1e999, "output": 1}}"#, "out of range"),
            (
                r#"{"m": {"input": 1, "output": 1, "cached": 1}}"#,
                "expected one of `input`, `output`, `cache_read`, `cache_write`, `cache_write_1h`, `tiers`",
            ),
            (
                r#"{"m": {"input": 1, "output": 1, "tiers": [{"input": 2}]}}"#,
                "missing field `above`",
            ),
            (
                r#"{"m": {"input": 1, "output": 1, "tiers": [{"above": 5, "size": 2}]}}"#,
                "expected one of `above`",
            ),
            (
                r#"{"m": {"input": 1, "output": 1, "tiers": [{"above": 5}, {"above": 5}]}}"#,
                "two tiers",
            ),
        ] {
            let line = Prices::parse(junk).unwrap_err().one_line();
            assert!(
                line.starts_with("MARVIN_PRICES")
                    && line.contains(why)
                    && line.contains("Write it as"),
                "{junk}: {line}"
            );
        }
    }
}
