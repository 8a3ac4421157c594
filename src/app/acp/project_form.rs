//! The question whether what a project brings along may act, as a form of the client.

use serde_json::{Value, json};

use super::client::Client;
use crate::app::choice::ChoiceList;
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;

/// The field of the form.
const ANSWER: &str = "answer";

/// Asks the client, and returns the row that was chosen; none where the form was closed, or is not an answer to it.
///
/// # Errors
/// The client is gone, or `stop` has fired.
pub(super) fn ask(
    client: &Client,
    session: &str,
    list: &ChoiceList,
    stop: &Cancel,
) -> Outcome<Option<String>> {
    let (items, answers): (Vec<_>, Vec<_>) = list.rows.iter().partition(|row| row.id.is_empty());
    let mut message = format!("{}:", list.hint);
    for item in items {
        message.push_str(&format!("\n{}{}", item.lead, item.title));
        if !item.note.is_empty() {
            message.push_str(&format!(" ({})", item.note));
        }
    }
    let options: Vec<Value> = (answers.iter())
        .map(|row| json!({"const": row.id, "title": row.title}))
        .collect();
    // No answer is marked beforehand: nothing is agreed to by a key that was meant for something else.
    let form = json!({
        "sessionId": session,
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {ANSWER: {"type": "string", "title": "Answer", "oneOf": options}},
            "required": [ANSWER],
        },
    });
    let Ok(answer) = client.ask(session, "elicitation/create", &form, stop)? else {
        return Ok(None);
    };
    let is_filled_in = answer.get("action").and_then(Value::as_str) == Some("accept");
    let chosen = answer
        .get("content")
        .and_then(|content| content.get(ANSWER));
    let chosen = chosen.and_then(Value::as_str).filter(|_| is_filled_in);
    let known = chosen.filter(|id| answers.iter().any(|row| row.id == *id));
    Ok(known.map(str::to_owned))
}
