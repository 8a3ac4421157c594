//! Answers that are almost right, for property tests: a right one with anything in some of its places.

use proptest::prelude::*;
use serde_json::{Value, json};

/// `right` with up to eight of its values replaced or removed.
pub(super) fn spoiled(right: Value) -> impl Strategy<Value = Value> {
    prop::collection::vec((any::<prop::sample::Index>(), anything()), 0..8).prop_map(
        move |changes| {
            let mut value = right.clone();
            for (index, new) in changes {
                let at = index.index(count(&value));
                replace(&mut value, at, new);
            }
            value
        },
    )
}

fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-100.0..1e4).prop_map(Value::from),
        Just(json!(-0.0)),
        "\\PC{0,30}".prop_map(Value::from),
        "[0-9T:-]{0,20}".prop_map(Value::from),
        prop::collection::vec(any::<f64>().prop_map(Value::from), 0..4).prop_map(Value::from),
    ]
}

fn children(value: &mut Value) -> Vec<&mut Value> {
    match value {
        Value::Array(items) => items.iter_mut().collect(),
        Value::Object(map) => map.values_mut().collect(),
        _ => Vec::new(),
    }
}

fn count(value: &Value) -> usize {
    let below: usize = match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        _ => 0,
    };
    below + 1
}

fn replace(value: &mut Value, index: usize, new: Value) {
    if index == 0 {
        *value = new;
        return;
    }
    let mut left = index - 1;
    for child in children(value) {
        let size = count(child);
        if left < size {
            return replace(child, left, new);
        }
        left -= size;
    }
}
