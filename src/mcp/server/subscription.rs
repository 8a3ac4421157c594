//! `subscriptions/listen`: a request that stays open, and tells of changes meanwhile.

use std::time::Duration;

use serde_json::{Value, json};

use super::engine::Server;
use super::exchange::Exchange;
use super::offering::{Answer, invalid_params};
use super::request::SUBSCRIPTION;

/// Notes and places change in other programs too, so that looking is the only way to know.
const PERIOD: Duration = Duration::from_secs(1);

/// Answers when the server or the client ends it. Of what can be listened to only the list of resources ever changes.
pub(super) fn listen(server: &Server, exchange: &Exchange, params: &Value) -> Answer {
    let Some(asked) = params.get("notifications").and_then(Value::as_object) else {
        return Err(invalid_params("params.notifications needs an object."));
    };
    let wanted = asked.get("resourcesListChanged") == Some(&Value::Bool(true));
    let meta = json!({ SUBSCRIPTION: exchange.id.value() });
    let agreed = match wanted {
        true => json!({"resourcesListChanged": true}),
        false => json!({}),
    };
    exchange.notify(
        "notifications/subscriptions/acknowledged",
        &json!({"_meta": meta, "notifications": agreed}),
    );
    let mut known = wanted.then(|| server.offering().resources());
    while exchange.stop.sleep(PERIOD) {
        let Some(known) = &mut known else { continue };
        let now = server.offering().resources();
        if now != *known {
            *known = now;
            exchange.notify(
                "notifications/resources/list_changed",
                &json!({"_meta": meta}),
            );
        }
    }
    Ok(json!({}))
}
