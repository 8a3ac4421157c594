//! Module `utilities`: small everyday things; so far the conversion of units.

use serde_json::Value;

use super::context::Ctx;
use super::{READ, units};
use crate::base::error::Outcome;
use crate::base::params::{Param, Type};

crate::tools! { "utilities";
    /// Convert units or currencies.
    convert_units(ConvertUnits; READ.seconds(10).service("frankfurter")) {
        /// amount
        value: Amount, example: "5", alias: &["amount"];
        /// source unit
        from_unit: String, example: "mi", alias: &["from"];
        /// target unit
        to_unit: String, example: "km", alias: &["to"];
    } => convert, says ["convert {value} {from_unit} to {to_unit}", "convert {value} {from_unit} into {to_unit}"];
}

/// A number as it was written, so that it stays exact; words behind it ("5 ft") are understood too.
#[derive(Debug, Clone)]
pub(super) struct Amount(String);

impl Param for Amount {
    const TYPE: Type = Type::Number;
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self(number.to_string())),
            Value::String(text) => {
                let text = text.trim();
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

fn convert(_: &Ctx, args: ConvertUnits) -> Outcome<String> {
    let Amount(value) = args.value;
    units::convert(&value, &args.from_unit, &args.to_unit)
}
