//! Answers to the questions of servers that were given in advance, for scripts: nobody is asked, and nothing is invented.

use serde_json::{Map, Value};

use super::form;
use super::questions::{Answer, Question, Questions};
use crate::base::cancel::Cancel;

/// Values by the names of fields, for all forms, and who is told which of them do not fit.
pub(crate) struct ScriptedAnswers {
    pub values: Map<String, Value>,
    pub tell: fn(&str),
}

impl Questions for ScriptedAnswers {
    fn takes_forms(&self) -> bool {
        true
    }

    fn opens_addresses(&self) -> bool {
        false
    }

    fn ask(&self, server: &str, question: Question<'_>, _: &Cancel) -> Answer {
        let Question::Form { schema, .. } = question else {
            return Answer::Decline;
        };
        // A yes to who knows what is none that the script gave.
        if !schema.is_object() {
            return Answer::Decline;
        }
        let mut values = Map::new();
        for field in form::fields(schema) {
            let given = self.values.get(&field.name);
            // Neither what does not fit nor something else in its place is what the script said.
            if let Some(Err(why)) = given.map(|value| field.check(value)) {
                (self.tell)(&format!(
                    "The form of the server {server} is declined: what --answers says of \"{}\" does not fit, {why}.",
                    field.name
                ));
                return Answer::Decline;
            }
            let default = field.default.as_ref();
            let default = default.filter(|value| field.check(value).is_ok());
            match given.or(default) {
                Some(value) => {
                    values.insert(field.name, value.clone());
                }
                None if field.is_required => return Answer::Decline,
                None => {}
            }
        }
        Answer::Accept(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_gets_what_was_given_and_its_defaults_or_nothing() {
        let answers = json!({"name": "Ada", "other": 1});
        let answers = ScriptedAnswers {
            values: answers.as_object().unwrap().clone(),
            tell: |_| {},
        };
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
        let wrong = json!({"properties": {"name": {"type": "integer"}}, "required": ["name"]});
        assert_eq!(ask(wrong), Answer::Decline);
        let optional =
            json!({"properties": {"name": {"type": "string", "enum": ["Bob"], "default": "Bob"}}});
        assert_eq!(ask(optional), Answer::Decline);
        assert_eq!(ask(Value::Null), Answer::Decline);
        let declined = ask(json!({"properties": {"pin": {"type": "string"}}, "required": ["pin"]}));
        assert_eq!(declined, Answer::Decline);
    }
}
