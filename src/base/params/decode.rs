//! Decodes arguments into fields: every mistake is reported at once, with an example of a correct call.

use serde_json::{Map, Value};

use super::{Field, Param, Type};
use crate::base::problem::Problem;
use crate::base::text;

/// Reads declared fields from an argument object in order, and collects every mistake.
pub(crate) struct FieldDecoder<'a> {
    name: &'a str,
    args: &'a Map<String, Value>,
    fields: Vec<Field>,
    next: usize,
    mistakes: Vec<String>,
}

impl<'a> FieldDecoder<'a> {
    /// A decoder for a call of `name` (a tool) with `args`.
    pub(crate) fn new(name: &'a str, fields: Vec<Field>, args: &'a Map<String, Value>) -> Self {
        Self {
            name,
            args,
            fields,
            next: 0,
            mistakes: Vec::new(),
        }
    }

    /// The next declared field; `None` if it is invalid, which is recorded.
    pub(crate) fn take<T: Param>(&mut self) -> Option<T> {
        let field = self.fields.get(self.next)?;
        self.next += 1;
        let Some(given) = given(field, self.args) else {
            // An `Option` with a default publishes the default, but still distinguishes an absent value.
            let value = T::absent().or_else(|| T::read(&field.default_value()?));
            if value.is_none() {
                self.mistakes.push(format!(
                    "{}: required, but missing; {} ({})",
                    field.name,
                    field.kind.wanted(),
                    field.doc()
                ));
            }
            return value;
        };
        let value = T::read(&clamp(field, given));
        if value.is_none() {
            let got = text::clip(&given.to_string(), 80);
            self.mistakes.push(format!(
                "{}: wanted {}, got {got}",
                field.name,
                field.kind.wanted()
            ));
        }
        value
    }

    /// Fails if anything was invalid, and lists all of it.
    pub(crate) fn finish(self) -> Result<(), Problem> {
        if self.mistakes.is_empty() {
            return Ok(());
        }
        let mut what = format!(
            "Wrong arguments for {}: {}.",
            self.name,
            self.mistakes.join("; ")
        );
        for key in self
            .args
            .keys()
            .filter(|key| !self.fields.iter().any(|f| f.answers_to(key)))
        {
            what.push_str(&format!(
                " There is no parameter \"{}\"",
                text::clip(key, 40)
            ));
            what.push_str(
                &text::did_you_mean(key, self.fields.iter().map(|f| f.name))
                    .map_or_else(|| ".".to_owned(), |s| format!("; {s}")),
            );
        }
        Err(with_signature(
            Problem::input(what),
            self.name,
            &self.fields,
        ))
    }
}

/// Adds what a caller needs to correct the call: every parameter with its type, then one correct call.
pub(crate) fn with_signature(problem: Problem, name: &str, fields: &[Field]) -> Problem {
    problem
        .next(format!("Parameters: {}.", signature(fields)))
        .next(format!("A correct call: {name} {}", example_call(fields)))
}

/// The parameters in published order: `path (text, required), count (a whole number, default 20)`.
fn signature(fields: &[Field]) -> String {
    let one = |field: &Field| {
        let need = match field.default_value() {
            _ if field.required => "required".to_owned(),
            Some(default) => format!("default {default}"),
            None => "optional".to_owned(),
        };
        format!("{} ({}, {need})", field.name, field.kind.wanted())
    };
    if fields.is_empty() {
        return "none".to_owned();
    }
    let listed = fields.iter().filter(|field| !field.unlisted);
    listed.map(one).collect::<Vec<_>>().join("; ")
}

/// The value that a call gives for a field, under whichever of its names.
pub(crate) fn given<'a>(field: &Field, args: &'a Map<String, Value>) -> Option<&'a Value> {
    let named = args.get(field.name).or_else(|| {
        let mut others = args.iter();
        let found = others.find(|(key, _)| field.answers_to(key));
        found.map(|(_, value)| value)
    });
    named.filter(|value| !value.is_null())
}

fn clamp(field: &Field, value: &Value) -> Value {
    if field.kind != Type::Whole || (field.min.is_none() && field.max.is_none()) {
        return value.clone();
    }
    let Some(mut number) = i64::read(value) else {
        return value.clone();
    };
    if let Some(max) = field.max {
        number = number.min(max);
    }
    if let Some(min) = field.min {
        number = number.max(min);
    }
    Value::from(number)
}

/// The example of a correct call: every required field, and optional ones that declare an example.
pub(crate) fn example_call(fields: &[Field]) -> String {
    let shown = fields.iter().filter(|f| f.required || f.example.is_some());
    let map: Map<String, Value> = shown.map(|f| (f.name.to_owned(), f.sample())).collect();
    Value::Object(map).to_string()
}
