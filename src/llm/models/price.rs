//! What tokens cost: prices with tiers, and the cost of a call.

use serde::Serialize;

use crate::base::shared_sort::SharedSort as _;
use crate::chat::usage::Tokens;

/// More than a model can cost; whoever writes so much has taken another unit.
const MAX_RATE: f64 = 1e6;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct TokenRates {
    /// Tokens of the prompt that the cache has nothing to do with.
    pub input: f64,
    /// Tokens of replies, reasoning included.
    pub output: f64,
    /// Tokens of the prompt read from the provider's cache.
    pub cache_read: f64,
    /// Tokens of the prompt written to the cache.
    pub cache_write: f64,
    /// Tokens of the prompt written to the cache for an hour.
    pub cache_write_1h: f64,
}

/// The rates of a prompt beyond a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct PriceTier {
    /// A prompt of more tokens than these pays the tier's rates for all its tokens, and for the reply.
    pub above: u64,
    #[serde(flatten)]
    pub rates: TokenRates,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TokenPrice {
    /// The rates of a prompt below every tier.
    #[serde(flatten)]
    pub rates: TokenRates,
    /// The tiers, from the lowest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<PriceTier>,
}

/// Rates as a file tells them, some left out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PartialRates {
    pub input: Option<f64>,
    pub output: Option<f64>,
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub cache_write_1h: Option<f64>,
}

impl PartialRates {
    fn over(self, base: Self) -> Self {
        Self {
            input: self.input.or(base.input),
            output: self.output.or(base.output),
            cache_read: self.cache_read.or(base.cache_read),
            cache_write: self.cache_write.or(base.cache_write),
            cache_write_1h: self.cache_write_1h.or(base.cache_write_1h),
        }
    }

    fn complete(self) -> Result<TokenRates, &'static str> {
        let (Some(input), Some(output)) = (self.input, self.output) else {
            return Err("has no price of input or output");
        };
        let cache_write = self.cache_write.unwrap_or(input);
        let rates = TokenRates {
            input,
            output,
            cache_read: self.cache_read.unwrap_or(input),
            cache_write,
            cache_write_1h: self.cache_write_1h.unwrap_or(cache_write),
        };
        let all = [
            rates.input,
            rates.output,
            rates.cache_read,
            rates.cache_write,
            rates.cache_write_1h,
        ];
        if all.iter().any(|rate| *rate < 0.0) {
            return Err("has a negative price");
        }
        if all.iter().any(|rate| !(0.0..=MAX_RATE).contains(rate)) {
            return Err("has a price of more than 1,000,000 dollars");
        }
        Ok(rates)
    }
}

impl TokenPrice {
    /// What runs on the user's own machine.
    pub(super) const FREE: Self = Self::flat(0.0, 0.0);
    /// A guess for a model whose price is not known.
    pub(super) const GUESS: Self = Self::flat(0.5, 1.5);

    const fn flat(input: f64, output: f64) -> Self {
        Self {
            rates: TokenRates {
                input,
                output,
                cache_read: input,
                cache_write: input,
                cache_write_1h: input,
            },
            tiers: Vec::new(),
        }
    }

    /// A price of parts: what a tier leaves out comes from the tier below it, then from `base`; a cache without a price of its own costs as much as
    /// other tokens, and an hour of it as much as its usual time.
    ///
    /// # Errors
    /// What is wrong with it, to be said of the model.
    pub(super) fn new(
        base: PartialRates,
        mut tiers: Vec<(u64, PartialRates)>,
    ) -> Result<Self, &'static str> {
        tiers.shared_sort_by_key(|(above, _)| *above);
        if tiers
            .windows(2)
            .any(|pair| matches!(pair, [(one, _), (other, _)] if one == other))
        {
            return Err("has two tiers above the same number of tokens");
        }
        let rates = base.complete()?;
        let mut below = base;
        let mut complete = Vec::with_capacity(tiers.len());
        for (above, partial) in tiers {
            below = partial.over(below);
            complete.push(PriceTier {
                above,
                rates: below.complete()?,
            });
        }
        Ok(Self {
            rates,
            tiers: complete,
        })
    }

    /// The rates of a call whose whole prompt has so many tokens.
    pub(crate) fn rates_for(&self, prompt: u64) -> &TokenRates {
        self.tiers
            .iter()
            .rev()
            .find(|tier| prompt > tier.above)
            .map_or(&self.rates, |tier| &tier.rates)
    }

    /// US dollars of a call. Parts that exceed their whole, as some servers count, are cut to it.
    pub(crate) fn cost(&self, tokens: Tokens) -> f64 {
        let rates = self.rates_for(tokens.input);
        let cached = tokens.cached.min(tokens.input);
        let written = tokens.written.min(tokens.input - cached);
        let hour = tokens.written_1h.min(written);
        [
            (tokens.input - cached - written, rates.input),
            (cached, rates.cache_read),
            (written - hour, rates.cache_write),
            (hour, rates.cache_write_1h),
            (tokens.output, rates.output),
        ]
        .iter()
        .map(|(tokens, rate)| *tokens as f64 * rate / 1e6)
        .sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(input: f64, output: f64) -> PartialRates {
        PartialRates {
            input: Some(input),
            output: Some(output),
            ..PartialRates::default()
        }
    }

    fn near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-12 * (1.0 + one.abs())
    }

    #[test]
    fn cached_and_written_tokens_have_their_own_rates() {
        let price = TokenPrice::new(
            PartialRates {
                cache_read: Some(0.5),
                cache_write: Some(6.25),
                cache_write_1h: Some(10.0),
                ..rates(5.0, 30.0)
            },
            Vec::new(),
        )
        .unwrap();
        let tokens = |input, cached, written, written_1h, output| Tokens {
            input,
            cached,
            written,
            written_1h,
            output,
            ..Tokens::default()
        };
        // What OpenRouter billed for a call of gpt-5.6-sol's predecessor.
        assert!(near(price.cost(tokens(4020, 0, 4012, 0, 5)), 0.025265));
        assert!(near(
            price.cost(tokens(1_000_000, 400_000, 100_000, 40_000, 0)),
            2.5 + 0.2 + 0.375 + 0.4
        ));
        assert!(
            near(price.cost(tokens(10, 100, 100, 100, 0)), 10.0 * 0.5 / 1e6),
            "parts beyond the whole"
        );
        assert_eq!(price.cost(Tokens::default()), 0.0);
    }

    #[test]
    fn a_tier_begins_above_its_limit_and_counts_for_the_whole_call() {
        let price = TokenPrice::new(
            PartialRates {
                cache_read: Some(0.05),
                cache_write: Some(1.25),
                ..rates(1.0, 5.0)
            },
            vec![
                (
                    500_000,
                    PartialRates {
                        input: Some(9.0),
                        ..PartialRates::default()
                    },
                ),
                (
                    272_000,
                    PartialRates {
                        cache_write: Some(2.5),
                        ..rates(2.0, 7.5)
                    },
                ),
            ],
        )
        .unwrap();
        let at = |input| {
            price.cost(Tokens {
                input,
                cached: 1000,
                output: 1000,
                ..Tokens::default()
            })
        };
        assert!(near(
            at(272_000),
            (271_000.0 + 1000.0 * 0.05 + 5000.0) / 1e6
        ));
        assert!(near(
            at(272_001),
            (271_001.0 * 2.0 + 1000.0 * 0.05 + 7500.0) / 1e6
        ));
        assert_eq!(
            price.rates_for(500_000).cache_write_1h,
            2.5,
            "an hour costs what the tier's writing costs"
        );
        let top = price.rates_for(500_001);
        assert_eq!(
            (top.input, top.output, top.cache_write),
            (9.0, 7.5, 2.5),
            "from the tier below"
        );
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for (input, tiers, why) in [
            (-1.0, vec![], "negative"),
            (1e7, vec![], "more than"),
            (f64::NAN, vec![], "more than"),
            (1.0, vec![(5, rates(1.0, -2.0))], "negative"),
            (
                1.0,
                vec![(5, rates(1.0, 1.0)), (5, rates(1.0, 1.0))],
                "two tiers",
            ),
        ] {
            let told = TokenPrice::new(rates(input, 1.0), tiers).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        assert!(TokenPrice::new(PartialRates::default(), Vec::new()).is_err());
    }

    fn price() -> impl Strategy<Value = TokenPrice> {
        let partial = || {
            let rate = || prop::option::of(0.0..1e6);
            (rate(), rate(), rate()).prop_map(|(read, write, hour)| PartialRates {
                cache_read: read,
                cache_write: write,
                cache_write_1h: hour,
                ..PartialRates::default()
            })
        };
        let tiers = prop::collection::btree_map(any::<u64>(), partial(), 0..3);
        (0.0..1e6, 0.0..1e6, partial(), tiers).prop_map(|(input, output, base, tiers)| {
            let base = PartialRates {
                input: Some(input),
                output: Some(output),
                ..base
            };
            TokenPrice::new(base, tiers.into_iter().collect()).unwrap()
        })
    }

    fn tokens() -> impl Strategy<Value = Tokens> {
        let count = || {
            prop_oneof![
                Just(0),
                0..1_000_000u64,
                Just(1_000_000_000_000_000_000),
                any::<u64>()
            ]
        };
        (count(), count(), count(), count(), count()).prop_map(
            |(input, output, cached, written, written_1h)| Tokens {
                input,
                output,
                cached,
                written,
                written_1h,
                ..Tokens::default()
            },
        )
    }

    proptest! {
        #[test]
        fn a_cost_is_a_number_and_never_negative(price in price(), tokens in tokens()) {
            let cost = price.cost(tokens);
            prop_assert!(cost.is_finite() && cost >= 0.0, "{cost}");
        }

        #[test]
        fn more_tokens_never_cost_less_within_a_tier(mut price in price(), tokens in tokens(), more in 0..1_000_000u64) {
            price.tiers.clear();
            let cost = price.cost(tokens);
            let longer = Tokens { input: tokens.input.saturating_add(more), ..tokens };
            let wordier = Tokens { output: tokens.output.saturating_add(more), ..tokens };
            for other in [longer, wordier] {
                prop_assert!(price.cost(other) >= cost * (1.0 - 1e-12));
            }
        }

        #[test]
        fn the_edge_of_a_tier_belongs_to_what_is_below(above in 1..u64::MAX) {
            let price = TokenPrice::new(rates(1.0, 1.0), vec![(above, rates(2.0, 3.0))]).unwrap();
            prop_assert_eq!(price.rates_for(above).input, 1.0);
            prop_assert_eq!(price.rates_for(above + 1).input, 2.0);
        }
    }
}
