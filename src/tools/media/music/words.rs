//! Formats fields of MusicBrainz: credits, durations, life spans, genres.

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::shared_sort::SharedSort as _;
use crate::tools::output::found::{name, short_line};

/// The credited artists, joined as in the record; `None` if it has none.
pub(super) fn credit(value: &Value) -> Option<String> {
    let parts = value.list("artist-credit").iter().map(|part| {
        let name = part.text("name").or_else(|| part.text("artist/name"));
        let join = part.at("joinphrase").and_then(Value::as_str);
        format!("{}{}", name.unwrap_or_default(), join.unwrap_or_default())
    });
    let whole = short_line(&parts.collect::<String>());
    (!whole.is_empty()).then_some(whole)
}

/// The years in which an artist lived or a group played.
pub(super) fn life(artist: &Value) -> Option<String> {
    let [begin, deadline] = ["begin", "end"].map(|key| name(artist, &format!("life-span/{key}")));
    match (begin, deadline) {
        (Some(begin), Some(deadline)) => Some(format!("{begin} to {deadline}")),
        (Some(begin), None) if artist.flag("life-span/ended") => {
            Some(format!("since {begin}, ended"))
        }
        (Some(begin), None) => Some(format!("since {begin}")),
        (None, Some(deadline)) => Some(format!("until {deadline}")),
        (None, None) => artist.flag("life-span/ended").then(|| "ended".to_owned()),
    }
}

/// The names in a list of genres or tags, most used first.
pub(super) fn used(value: &Value, path: &str, max: usize) -> Option<String> {
    let mut list: Vec<&Value> = value.list(path).iter().collect();
    list.shared_sort_by_key(|item| std::cmp::Reverse(item.whole("count").unwrap_or(0)));
    let names: Vec<String> = list
        .into_iter()
        .filter_map(|item| name(item, "name"))
        .take(max)
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// `title` with its disambiguation.
pub(super) fn titled(value: &Value, path: &str) -> String {
    let title = name(value, path).unwrap_or_else(|| "(untitled)".to_owned());
    match name(value, "disambiguation") {
        Some(more) => format!("{title} ({more})"),
        None => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn credits_are_joined_as_in_the_record() {
        let value = json!({"artist-credit": [
            {"name": "Ann", "joinphrase": " feat. "}, {"artist": {"name": "Bob"}, "name": null, "joinphrase": ""}]});
        assert_eq!(credit(&value).as_deref(), Some("Ann feat. Bob"));
        assert_eq!(credit(&json!({"artist-credit": null})), None);
    }

    #[test]
    fn a_life_span_may_be_partly_known() {
        let life = |span: Value| life(&json!({"life-span": span}));
        assert_eq!(
            life(json!({"begin": "1940-10-09", "end": "1980-12-08", "ended": true})).unwrap(),
            "1940-10-09 to 1980-12-08"
        );
        assert_eq!(
            life(json!({"begin": "1991", "ended": null})).unwrap(),
            "since 1991"
        );
        assert_eq!(
            life(json!({"begin": "1991", "ended": true})).unwrap(),
            "since 1991, ended"
        );
        assert_eq!(life(json!({"ended": null})), None);
        assert_eq!(life(json!({"ended": true})).unwrap(), "ended");
    }

    #[test]
    fn the_most_used_genres_come_first() {
        let value = json!({"genres": [{"name": "rock", "count": 1}, {"name": "pop", "count": 7}, {"name": ""}, null]});
        assert_eq!(used(&value, "genres", 5).as_deref(), Some("pop, rock"));
        assert_eq!(used(&value, "tags", 5), None);
    }
}
