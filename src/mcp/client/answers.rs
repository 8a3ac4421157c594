//! Answers to the questions of servers that were given in advance, for scripts: nobody is asked, and nothing is invented.

use serde_json::{Map, Value};

use super::questions::{Answer, Question, Questions};
use crate::base::cancel::Cancel;

/// Values by the names of fields, for all forms.
pub(crate) struct ScriptedAnswers(pub Map<String, Value>);

impl Questions for ScriptedAnswers {
    fn takes_forms(&self) -> bool {
        true
    }

    fn opens_addresses(&self) -> bool {
        false
    }

    fn ask(&self, _: &str, question: Question<'_>, _: &Cancel) -> Answer {
        let Question::Form { schema, .. } = question else {
            return Answer::Decline;
        };
        let mut values = Map::new();
        let fields = schema.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            let value = self.0.get(name).or_else(|| field.get("default"));
            if let Some(value) = value {
                values.insert(name.clone(), value.clone());
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        let mut required = required.into_iter().flatten().filter_map(Value::as_str);
        match required.all(|name| values.contains_key(name)) {
            true => Answer::Accept(values),
            false => Answer::Decline,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_gets_what_was_given_and_its_defaults_or_nothing() {
        let answers = json!({"name": "Ada", "other": 1});
        let answers = ScriptedAnswers(answers.as_object().unwrap().clone());
        let ask = |schema: Value| {
            let question = Question::Form {
                message: "",
                schema: &schema,
            };
            answers.ask("calc", question, &Cancel::new())
        };
        let accepted = ask(
            json!({"properties": {"name": {"type": "string", "default": "x"}, "age": {"type": "integer", "default": 36}, "note": {}}, "required": ["name"]}),
        );
        let values = json!({"name": "Ada", "age": 36});
        assert_eq!(
            accepted,
            Answer::Accept(values.as_object().unwrap().clone())
        );
        let declined = ask(json!({"properties": {"pin": {"type": "string"}}, "required": ["pin"]}));
        assert_eq!(declined, Answer::Decline);
    }
}
