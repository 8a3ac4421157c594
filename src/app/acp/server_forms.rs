//! Questions of a session's servers, as forms of the client.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::client::Client;
use crate::base::cancel::Cancel;
use crate::mcp::client::form::{self, FormField};
use crate::mcp::client::questions::{Answer, Question, Questions};
use crate::mcp::client::text::clipped;

/// Characters of what a server says.
const MAX_MESSAGE: usize = 2_000;
/// How often a form is shown whose answers do not fit.
const MAX_TRIES: usize = 5;

/// Asks the client in a session.
pub(super) struct ServerForms {
    pub(super) client: Arc<Client>,
    pub(super) session: Arc<str>,
}

impl ServerForms {
    fn form(&self, server: &str, message: &str, schema: &Value, stop: &Cancel) -> Answer {
        let fields = form::fields(schema);
        let mut message = format!("{server} asks: {}", clipped(message, MAX_MESSAGE));
        if fields.iter().any(FormField::is_secret) {
            message.push_str(&format!(
                "\nCareful: this looks like a secret, and what you write goes to {server}."
            ));
        }
        let mut wrong = String::new();
        for _ in 0..MAX_TRIES {
            let form = json!({
                "sessionId": &*self.session,
                "mode": "form",
                "message": format!("{message}{wrong}"),
                "requestedSchema": requested(&fields, schema),
            });
            let answer = (self.client).ask(&self.session, "elicitation/create", &form, stop);
            let Ok(Ok(answer)) = answer else {
                return Answer::Cancel;
            };
            match answer.get("action").and_then(Value::as_str) {
                Some("accept") => {}
                Some("decline") => return Answer::Decline,
                _ => return Answer::Cancel,
            }
            match filled_in(&fields, &answer) {
                Ok(content) => return Answer::Accept(content),
                Err(words) => wrong = format!("\nNot taken: {words}."),
            }
        }
        Answer::Cancel
    }
}

/// The fields as they were asked for, without what a server may have written around them.
fn requested(fields: &[FormField], schema: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_field = |name: &str| fields.iter().any(|field| field.name == name);
    let properties: Map<String, Value> = (properties.into_iter().flatten())
        .filter(|(name, _)| is_field(name))
        .map(|(name, property)| (name.clone(), property.clone()))
        .collect();
    let required = fields.iter().filter(|field| field.is_required);
    let required: Vec<&str> = required.map(|field| field.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// What was filled in, or what is wrong with it. Whoever fills in a form may not have checked it.
fn filled_in(fields: &[FormField], answer: &Value) -> Result<Map<String, Value>, String> {
    let given = |field: &FormField| answer.get("content")?.get(&field.name).cloned();
    let mut content = Map::new();
    for field in fields {
        match given(field).filter(|value| !value.is_null()) {
            Some(value) => {
                field
                    .check(&value)
                    .map_err(|words| format!("{}: {words}", field.name))?;
                content.insert(field.name.clone(), value);
            }
            None if field.is_required => return Err(format!("{} is needed", field.name)),
            None => {}
        }
    }
    Ok(content)
}

impl Questions for ServerForms {
    fn takes_forms(&self) -> bool {
        true
    }

    fn opens_addresses(&self) -> bool {
        false
    }

    fn ask(&self, server: &str, question: Question<'_>, stop: &Cancel) -> Answer {
        match question {
            Question::Form { message, schema } => {
                self.form(&clipped(server, 64), message, schema, stop)
            }
            Question::Url { .. } | Question::SignIn { .. } => Answer::Decline,
        }
    }
}
