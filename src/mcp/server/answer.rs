//! An answer in the form of the client's era.

use serde_json::{Value, json};

use super::methods::Freshness;
use super::request::SERVER;
use crate::base::json::put;
use crate::mcp::revision::Era;

/// Adds to a result what its era wants, and takes out what it does not know.
pub(super) fn formed(
    mut result: Value,
    era: Era,
    about: &Value,
    freshness: Option<&Freshness>,
) -> Value {
    if !era.has_structure() {
        without(&mut result, "structuredContent");
        for tool in listed(&mut result, "tools") {
            without(tool, "title");
        }
    }
    if !era.has_annotations() {
        for tool in listed(&mut result, "tools") {
            without(tool, "annotations");
        }
    }
    if era == Era::Modern {
        put(&mut result, "_meta", json!({ SERVER: about }));
        let is_complete = result.get("resultType").is_none();
        if is_complete {
            put(&mut result, "resultType", "complete");
        }
        if let Some(freshness) = freshness.filter(|_| is_complete) {
            put(&mut result, "ttlMs", freshness.milliseconds);
            put(&mut result, "cacheScope", freshness.scope);
        }
    }
    result
}

fn listed<'a>(result: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = result.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn without(value: &mut Value, field: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(field);
    }
}
