//! Module `utilities`: words, languages, feeds, units and money.

mod chunks;
mod dictionary;
mod exchange;
mod feeds;
mod languages;
mod translate;

use serde_json::Value;

use crate::base::params::{Param, Type};
use crate::base::problem::Outcome;
use crate::formats::units;
use crate::formats::units::{Converted, currency};
use crate::net::services::{DICTIONARYAPI, FRANKFURTER, MYMEMORY, Service};
use crate::tools::READ;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;

const RATES: &[&Service] = &[&FRANKFURTER];
const WORDS: &[&Service] = &[&DICTIONARYAPI];
const LANGUAGES: &[&Service] = &[&MYMEMORY];

tools! { "utilities";
    /// Convert units or currencies.
    convert_units(ConvertUnits; READ.seconds(10).service("frankfurter").asks(RATES).compact()) {
        /// amount
        value: AmountArg, example: "5", alias: &["amount"];
        /// source unit
        from_unit: String, example: "mi", alias: &["from"];
        /// target unit
        to_unit: String, example: "km", alias: &["to"];
    } => convert, says ["convert {value} {from_unit} to {to_unit}", "convert {value} {from_unit} into {to_unit}"];

    /// Define an English word.
    dictionary_lookup(DictionaryLookup; READ.seconds(10).service("dictionaryapi.dev").asks(WORDS)) {
        /// word
        word: String, example: "serendipity";
        /// add synonyms
        include_synonyms: bool = true, alias: &["synonyms"];
    } => dictionary::lookup, says ["define {word}", "definition of {word}", "what does {word} mean"];

    /// Translate text.
    translate_text(TranslateText; READ.seconds(15).service("mymemory").asks(LANGUAGES)) {
        /// text; it goes to MyMemory, a public service of a third party
        text: String, example: "Good morning";
        /// ISO 639-1 code
        target_language: String, example: "it", alias: &["to", "target"];
        /// code or auto
        source_language: String = "auto", alias: &["from", "source"];
    } => translate::translate, says ["translate {text} to {target_language}", "translate {text} into {target_language}"];

    /// Read an RSS or Atom feed.
    read_rss(ReadRss; READ.seconds(15).open_world(true)) {
        /// feed address
        url: String, example: "https://example.org/feed.xml";
        /// entries
        max_items: u32 = 5, min: 1, max: 20, alias: &["limit", "count"];
    } => feeds::read, says ["read the feed {url}", "read feed {url}"];
}

/// A number as written, so that it stays exact; a unit after it ("5 ft") is accepted too.
#[derive(Debug, Clone)]
pub(crate) struct AmountArg(String);

impl Param for AmountArg {
    const TYPE: Type = Type::Number;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self(number.to_string())),
            Value::String(text) => {
                let text = text.trim();
                let amount = behind(text);
                let text = amount.as_deref().unwrap_or(text);
                let bare = text.trim_start_matches(['+', '-', '−']).trim_start();
                let begins = |c: char| {
                    c.is_ascii_digit() || matches!(c, '.' | '½' | '¼' | '¾' | '⅓' | '⅔' | '⅛')
                };
                bare.starts_with(begins).then(|| Self(text.to_owned()))
            }
            _ => None,
        }
    }
}

/// `$5` and `-€5` with the currency sign moved behind the number.
fn behind(text: &str) -> Option<String> {
    let (minus, rest) = match text.strip_prefix(['-', '−']) {
        Some(rest) => ("-", rest.trim_start()),
        None => ("", text),
    };
    let sign = rest.chars().next().filter(|c| currency::is_sign(*c))?;
    let number = rest.strip_prefix(sign)?.trim_start();
    Some(format!("{minus}{number} {sign}"))
}

fn convert(ctx: &ToolContext, args: ConvertUnits) -> Outcome<String> {
    let AmountArg(value) = args.value;
    match units::convert(&value, &args.from_unit, &args.to_unit)? {
        Converted::Answer(answer) => Ok(answer),
        Converted::Exchange(amount, from, to) => exchange::exchange(ctx, amount, from, to),
    }
}
