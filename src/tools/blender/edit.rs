//! Changes of the scene: a fixed Python text that Blender runs, with its parameters in one literal.

use serde_json::Value;

use super::add_on::{AddOn, Command, LIMIT, unknown_reply};
use crate::base::json::JsonExt as _;
use crate::base::problem::{Outcome, Problem};
use crate::formats::json_object::ascii;
use crate::tools::engine::context::ToolContext;

/// Reads `PARAMETERS` and prints one line of JSON.
const PYTHON: &str = include_str!("edit.py");

/// The colour of a material that is made without one: red, green, blue, alpha.
pub(super) const DEFAULT_COLOR: [f64; 4] = [0.8, 0.8, 0.8, 1.0];

/// The Python text with `parameters`. They are JSON in a JSON string, all in ASCII, which is a Python string with the same content: no
/// name can end it, and no character outside the basic plane is taken for two.
fn code(parameters: &Value) -> String {
    let literal = Value::from(ascii(&parameters.to_string()));
    format!("PARAMETERS = {literal}\n{PYTHON}")
}

/// Makes the change and returns what Blender says about it.
pub(super) fn run(ctx: &ToolContext, parameters: &Value) -> Outcome<Value> {
    let add_on = AddOn::new(&ctx.session.env)?;
    let params = serde_json::json!({"code": code(parameters)});
    let ran = add_on.ask(Command::ExecuteCode, &params, LIMIT, &ctx.stop)?;
    let Some(printed) = ran.text("result") else {
        return Err(unknown_reply());
    };
    // Other add-ons may print as well, whenever the scene changes.
    let mut reports = printed
        .lines()
        .rev()
        .filter_map(|line| serde_json::from_str(line).ok());
    reports.find(Value::is_object).ok_or_else(|| {
        Problem::network("Blender made the change, but did not say what it did.")
            .next("blender_get_object shows the object as it is now.")
    })
}

/// Three numbers that Blender can store.
pub(super) fn vector(what: &str, numbers: Vec<f64>) -> Outcome<Vec<f64>> {
    if numbers.len() != 3 {
        return Err(Problem::input(format!(
            "{what} needs three numbers, and {} came.",
            numbers.len()
        ))
        .next(format!("For example: {what} [0, 0, 1.5].")));
    }
    storable(what, numbers)
}

/// Three factors, or one for all directions.
pub(super) fn scale(numbers: Vec<f64>) -> Outcome<Vec<f64>> {
    match numbers.as_slice() {
        [factor] => storable("scale", vec![*factor; 3]),
        _ => vector("scale", numbers),
    }
}

/// Red, green, blue and alpha from 0 to 1; alpha is 1 unless given.
pub(super) fn color(mut numbers: Vec<f64>) -> Outcome<Vec<f64>> {
    if numbers.len() == 3 {
        numbers.push(1.0);
    }
    let is_color = numbers.len() == 4 && numbers.iter().all(|part| (0.0..=1.0).contains(part));
    if !is_color {
        return Err(
            Problem::input("color needs red, green, blue and alpha, each from 0 to 1.").next(
                "For example: color [0.8, 0.1, 0.1, 1]. From values up to 255, divide by 255.",
            ),
        );
    }
    Ok(numbers)
}

/// Blender stores single precision.
fn storable(what: &str, numbers: Vec<f64>) -> Outcome<Vec<f64>> {
    if numbers
        .iter()
        .any(|number| number.abs() > f64::from(f32::MAX))
    {
        return Err(
            Problem::input(format!("A number of {what} is too large for Blender."))
                .next("Blender's units are metres."),
        );
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_stand_in_one_line_of_ascii() {
        let hostile = "it's \"\"\" ''' \\ \n\r\u{2028} é 😀 \\\" ) #";
        let code = code(&json!({"name": hostile}));
        let (line, rest) = code.split_once('\n').unwrap();
        assert_eq!(rest, PYTHON);
        assert!(line.is_ascii(), "{line}");
        let literal = line.strip_prefix("PARAMETERS = ").unwrap();
        let inner: String = serde_json::from_str(literal).unwrap();
        assert!(inner.is_ascii(), "{inner}");
        let read: Value = serde_json::from_str(&inner).unwrap();
        assert_eq!(read, json!({"name": hostile}));
    }

    #[test]
    fn vectors_have_three_numbers_that_blender_can_store() {
        assert_eq!(
            vector("location", vec![1.0, 2.0, 3.0]).unwrap(),
            [1.0, 2.0, 3.0]
        );
        assert_eq!(scale(vec![2.0]).unwrap(), [2.0, 2.0, 2.0]);
        assert_eq!(scale(vec![1.0, 2.0, 3.0]).unwrap(), [1.0, 2.0, 3.0]);
        for wrong in [vec![], vec![1.0], vec![1.0; 4], vec![0.0, 0.0, 1e39]] {
            assert!(vector("location", wrong.clone()).is_err(), "{wrong:?}");
        }
        assert!(scale(vec![1e39]).is_err() && scale(vec![1.0, 2.0]).is_err());
    }

    #[test]
    fn colors_have_parts_from_zero_to_one() {
        assert_eq!(color(vec![1.0, 0.5, 0.0]).unwrap(), [1.0, 0.5, 0.0, 1.0]);
        assert_eq!(color(vec![0.0; 4]).unwrap(), [0.0; 4]);
        for wrong in [
            vec![],
            vec![1.0; 2],
            vec![0.0; 5],
            vec![255.0, 0.0, 0.0],
            vec![-0.1, 0.0, 0.0],
        ] {
            assert!(color(wrong.clone()).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn no_name_ends_the_literal(name in ".{0,40}") {
            let code = code(&json!({"name": name}));
            let (line, rest) = code.split_once('\n').unwrap();
            prop_assert_eq!(rest, PYTHON);
            prop_assert!(line.bytes().all(|byte| (b' '..=0x7f).contains(&byte)));
            let inner: String = serde_json::from_str(line.strip_prefix("PARAMETERS = ").unwrap()).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&inner).unwrap(), json!({"name": name}));
        }
    }
}
