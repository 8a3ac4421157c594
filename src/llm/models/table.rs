//! The table of models that comes with Marvin: a text, of which a lookup reads the lines' names and parses one line.
//!
//! A text costs nothing at start. A static table of structs does: the loader relocates every pointer in it.

use jiff::civil::Date;

use super::effort::Efforts;
use super::names::{bare_name, rest};
use super::price::{PartialRates, TokenPrice};
use super::{MAX_TOOLS, ModelInfo, WireRule};

/// The day that the table is of.
pub(crate) const TABLE_DATE: &str = "2026-11-22";
const TABLE: &str = include_str!(concat!(env!("OUT_DIR"), "/models.txt"));

/// The columns of a line.
#[derive(Debug, Clone, Copy)]
struct TableLine {
    name: &'static str,
    provider: &'static str,
    limits: &'static str,
    price: &'static str,
    tiers: &'static str,
    thinks: &'static str,
    images: &'static str,
    wire: &'static str,
    until: &'static str,
}

/// Facts about `model` at `provider`. The day is asked for only where a price changes on a day.
pub(super) fn find(provider: &str, model: &str, today: &dyn Fn() -> Date) -> Option<ModelInfo> {
    line_of(provider, model, today)?.info()
}

/// The name by which the table knows `model` at `provider`.
pub(crate) fn name_of(provider: &str, model: &str) -> Option<&'static str> {
    // A price that changes on a day changes no name.
    line_of(provider, model, &|| Date::MIN).map(|line| line.name)
}

/// Whether the table has `model` among those of `provider` itself; what it knows of every provider's counts for nobody.
pub(crate) fn serves(provider: &str, model: &str) -> bool {
    line_of(provider, model, &|| Date::MIN).is_some_and(|line| line.owner() == provider)
}

fn line_of(provider: &str, model: &str, today: &dyn Fn() -> Date) -> Option<TableLine> {
    let name = bare_name(model);
    let mut best: Option<TableLine> = None;
    // Most lines are other models': a look at the name is enough.
    let named = |line: &&str| {
        let first = line.split_ascii_whitespace().next();
        first.is_some_and(|first| rest(&name, first).is_some())
    };
    for line in TABLE.lines().filter(named).filter_map(TableLine::split) {
        let rank = |line: &TableLine| (line.name.len(), line.owner() == provider);
        let fits = (line.is_general() || line.owner() == provider)
            && best.as_ref().is_none_or(|best| rank(&line) > rank(best));
        if fits && !line.is_over(today) {
            best = Some(line);
        }
    }
    best
}

/// Names of the models that `provider` serves, as far as the table knows.
pub(crate) fn names(provider: &str) -> Vec<&'static str> {
    let own = lines().filter(|line| line.owner() == provider);
    let mut names: Vec<_> = own.map(|line| line.name).collect();
    names.dedup();
    names
}

fn lines() -> impl Iterator<Item = TableLine> {
    TABLE.lines().filter_map(TableLine::split)
}

impl TableLine {
    /// The columns of `line`; nothing for a comment or an empty line.
    fn split(line: &'static str) -> Option<Self> {
        let mut columns = line.split_ascii_whitespace();
        let name = columns.next()?;
        let mut next = || columns.next().unwrap_or_default();
        Some(Self {
            name,
            provider: next(),
            limits: next(),
            price: next(),
            tiers: next(),
            thinks: next(),
            images: next(),
            wire: next(),
            until: next(),
        })
    }

    /// True for a line that holds for providers without a line of their own.
    fn is_general(self) -> bool {
        self.provider.ends_with('*')
    }

    /// True when its price is no longer that.
    fn is_over(self, today: &dyn Fn() -> Date) -> bool {
        let until = || self.until.parse::<Date>().ok();
        self.until != "-" && until().is_some_and(|until| until < today())
    }

    /// The provider that the line is of; empty for a model that many serve.
    fn owner(self) -> &'static str {
        self.provider.trim_end_matches('*')
    }

    fn info(self) -> Option<ModelInfo> {
        let [window, input, output] = numbers(self.limits)?.map(|k| k.map(|k| k as u64 * 1000));
        let window = window?;
        Some(ModelInfo {
            window,
            window_told: false,
            input: input.unwrap_or(window),
            output: output?,
            price: self.token_price()?,
            tools: MAX_TOOLS,
            takes_tools: true,
            efforts: Efforts::parse(self.thinks)?,
            thinks: self.thinks != "-",
            thinks_told: false,
            images: flag(self.images)?,
            images_told: false,
            wire: match self.wire {
                "-" => WireRule::Any,
                "chat" => WireRule::CompletionsOnly,
                "responses" => WireRule::ResponsesOnly,
                _ => return None,
            },
            known: true,
        })
    }

    /// Its price; `Some(None)` when it has none.
    fn token_price(self) -> Option<Option<TokenPrice>> {
        if self.price == "-" {
            return Some(None);
        }
        let tiers: Option<Vec<_>> = match self.tiers {
            "-" => Some(Vec::new()),
            text => text
                .split('+')
                .map(|tier| {
                    let (above, price) = tier.split_once(':')?;
                    Some((above.parse::<u64>().ok()? * 1000, rates(price)?))
                })
                .collect(),
        };
        TokenPrice::new(rates(self.price)?, tiers?).ok().map(Some)
    }
}

fn rates(text: &str) -> Option<PartialRates> {
    let [input, cache_read, cache_write, cache_write_1h, output] = numbers(text)?;
    Some(PartialRates {
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h,
    })
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "yes" => Some(true),
        "-" => Some(false),
        _ => None,
    }
}

/// `N` numbers parted by slashes, each of which may be left out.
fn numbers<const N: usize>(text: &str) -> Option<[Option<f64>; N]> {
    let all: Option<Vec<Option<f64>>> = text
        .split('/')
        .map(|part| match part {
            "-" => Some(None),
            part => part.parse().ok().map(Some),
        })
        .collect();
    all?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llm::catalog::ROWS;

    #[test]
    fn every_line_is_whole_and_sane() {
        assert_eq!(lines().count(), TABLE.lines().count());
        for text in TABLE.lines() {
            assert_eq!(text.split_ascii_whitespace().count(), 9, "{text}");
        }
        for line in lines() {
            let info = line.info().unwrap_or_else(|| panic!("{line:?}"));
            assert!(
                info.output <= info.window && info.input <= info.window,
                "{line:?}"
            );
            assert!(info.output >= 1000 && info.window >= 8000, "{line:?}");
            assert_eq!(bare_name(line.name), line.name);
            assert!(
                line.owner().is_empty() || ROWS.iter().any(|row| row.name == line.owner()),
                "{line:?}"
            );
            assert!(line.until == "-" || line.until.parse::<Date>().is_ok());
            let prices = info.price.iter().flat_map(|price| {
                [price.rates]
                    .into_iter()
                    .chain(price.tiers.iter().map(|tier| tier.rates))
            });
            for rates in prices {
                assert!(
                    rates.cache_read <= rates.input && rates.input <= rates.output,
                    "{line:?}"
                );
                assert!(
                    rates.input <= rates.cache_write && rates.cache_write <= rates.cache_write_1h,
                    "{line:?}"
                );
                assert!(rates.input > 0.0 && rates.output < 1000.0, "{line:?}");
            }
            assert!(
                info.thinks || info.efforts == Efforts::default(),
                "{line:?}"
            );
        }
    }

    #[test]
    fn no_line_is_there_twice_and_a_dated_price_has_a_successor() {
        let all: Vec<TableLine> = lines().collect();
        for (at, line) in all.iter().enumerate() {
            let same =
                |other: &&TableLine| (other.name, other.owner()) == (line.name, line.owner());
            let later: Vec<&TableLine> = all.iter().skip(at + 1).filter(same).collect();
            assert_eq!(!later.is_empty(), line.until != "-", "{line:?}");
        }
    }

    #[test]
    fn a_price_that_changes_on_a_day_changes_then() {
        let input = |today: &str| {
            let today = || today.parse().unwrap();
            find("gemini", "gemini-4-argon", &today)
                .unwrap()
                .price
                .unwrap()
                .rates
                .input
        };
        assert_eq!((input("2026-11-30"), input("2026-12-01")), (2.0, 4.0));
    }

    #[test]
    fn a_price_is_that_of_the_provider() {
        let find =
            |provider, model| find(provider, model, &|| panic!("no price of it changes")).unwrap();
        let input = |provider| {
            find(provider, "openai/gpt-oss-120b")
                .price
                .unwrap()
                .rates
                .input
        };
        assert_eq!(
            ["groq", "together", "cerebras", "mistral"].map(input),
            [0.15, 0.15, 0.35, 0.15]
        );
        assert_eq!(find("openrouter", "qwen/qwen3-32b").window, 40_000);
        assert_eq!(find("groq", "qwen/qwen3-32b").window, 131_000);
    }
}
