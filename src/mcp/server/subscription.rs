//! `subscriptions/listen`: a request that stays open, and tells of changes meanwhile.

use std::time::Duration;

use serde_json::{Value, json};

use super::exchange::Exchange;
use super::offering::{Answer, Offering, invalid_params};
use super::request::SUBSCRIPTION;
use crate::base::cancel::Cancel;

/// Notes and places change in other programs too, so that looking is the only way to know.
const PERIOD: Duration = Duration::from_secs(1);

/// Answers when the server or the client ends it. Of what can be listened to only the list of resources ever changes.
pub(super) fn listen(offering: &dyn Offering, exchange: &Exchange, params: &Value) -> Answer {
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
    match wanted {
        true => watch_resources(offering, &exchange.stop, |has_changed| {
            if has_changed {
                exchange.notify(
                    "notifications/resources/list_changed",
                    &json!({"_meta": meta}),
                );
            }
            true
        }),
        false => while exchange.stop.sleep(PERIOD) {},
    }
    Ok(json!({}))
}

/// Says now and then whether the list of resources has changed, until `stop` fires or nobody wants to know any more.
pub(super) fn watch_resources(
    offering: &dyn Offering,
    stop: &Cancel,
    mut tell: impl FnMut(bool) -> bool,
) {
    let mut known = offering.resources();
    while stop.sleep(PERIOD) {
        let now = offering.resources();
        let has_changed = now != known;
        known = now;
        if !tell(has_changed) {
            return;
        }
    }
}
