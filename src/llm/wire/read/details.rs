//! OpenRouter's `reasoning_details`: streamed pieces of thinking, joined by index, that have to be sent back unchanged and in order
//! (<https://openrouter.ai/docs/use-cases/reasoning-tokens>).

use serde_json::{Map, Value};

/// The lists of a reply, in order of arrival, joined to one JSON list; `None` when all were empty.
///
/// `streamed` lists hold pieces: those with the same index and type are one entry, whose texts are appended and whose other members come from the
/// first piece that has them. Everything else is unchanged.
pub(super) fn joined(lists: &[String], streamed: bool) -> Option<String> {
    let pieces: Vec<Value> = lists
        .iter()
        .filter_map(|list| serde_json::from_str::<Vec<Value>>(list).ok())
        .flatten()
        .collect();
    let mut whole: Vec<Value> = Vec::new();
    for piece in pieces {
        let entry = whole
            .iter_mut()
            .rev()
            .find(|entry| streamed && same(entry, &piece));
        match (entry, piece) {
            (Some(Value::Object(entry)), Value::Object(piece)) => append(entry, piece),
            (_, piece) => whole.push(piece),
        }
    }
    (!whole.is_empty())
        .then(|| serde_json::to_string(&whole).ok())
        .flatten()
}

/// Whether both are pieces of one entry.
fn same(one: &Value, two: &Value) -> bool {
    let given = |piece: &Value, name: &str| piece.get(name).filter(|v| !v.is_null()).cloned();
    let index = given(two, "index");
    let other_id = match (given(one, "id"), given(two, "id")) {
        (Some(one), Some(two)) => one != two,
        _ => false,
    };
    index.is_some()
        && given(one, "index") == index
        && one.get("type") == two.get("type")
        && !other_id
}

fn append(entry: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (name.as_str(), entry.get_mut(&name), value) {
            ("text" | "summary" | "data", Some(Value::String(have)), Value::String(more)) => {
                have.push_str(&more);
            }
            (_, None | Some(Value::Null), value) => {
                entry.insert(name, value);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q34_pieces_of_one_index_become_one_entry() {
        let lists = [
            r#"[{"type":"reasoning.text","text":"a","format":null,"index":0}]"#,
            r#"[{"type":"reasoning.text","text":"b","index":0}]"#,
            r#"[{"type":"reasoning.text","signature":"S","format":"f","index":0}]"#,
            r#"[{"type":"reasoning.encrypted","data":"x"},{"type":"reasoning.encrypted","data":"y"}]"#,
            "[]",
        ]
        .map(str::to_owned);
        assert_eq!(
            joined(&lists, true).as_deref(),
            Some(
                r#"[{"type":"reasoning.text","text":"ab","format":"f","index":0,"signature":"S"},{"type":"reasoning.encrypted","data":"x"},{"type":"reasoning.encrypted","data":"y"}]"#
            )
        );
        assert_eq!(joined(&lists[4..], true), None);
    }

    #[test]
    fn entries_that_came_whole_are_not_joined() {
        let list = r#"[{"text":"a","index":0},{"text":"b","index":0}]"#.to_owned();
        assert_eq!(joined(std::slice::from_ref(&list), false), Some(list));
    }
}
