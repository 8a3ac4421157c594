//! Short forms of UIDs: a prefix that no other event shares.

use std::collections::{HashMap, HashSet};

use crate::base::text::escape_controls;
use crate::formats::ical::scan::CalendarScan;

/// Unique prefixes of UIDs: eight characters if that is enough.
#[derive(Debug, Default)]
pub struct ShortUid(HashMap<String, Option<String>>);

impl ShortUid {
    /// Scans every event of a file and parses those whose UID starts like one of `shown`.
    pub fn of<'a>(file: &CalendarScan<'_>, shown: impl Iterator<Item = &'a str>) -> Self {
        let heads: HashSet<&[u8]> = shown.map(|uid| head(uid.as_bytes())).collect();
        let mut map: HashMap<String, Option<String>> = HashMap::new();
        for place in &file.events {
            if !file.begins(place, |uid| heads.contains(head(uid))) {
                continue;
            }
            let Some(uid) = file.uid(place) else { continue };
            map.entry(first_eight(&uid))
                .and_modify(|other| {
                    if other.as_ref() != Some(&uid) {
                        *other = None;
                    }
                })
                .or_insert(Some(uid));
        }
        Self(map)
    }

    /// The short form of a UID for display.
    pub fn show(&self, uid: &str) -> String {
        let short = first_eight(uid);
        let alone = self.0.get(&short).is_some_and(Option::is_some);
        escape_controls(if alone { &short } else { uid })
    }
}

/// The first eight bytes, hence at most eight characters.
fn head(uid: &[u8]) -> &[u8] {
    uid.get(..8).unwrap_or(uid)
}

fn first_eight(uid: &str) -> String {
    uid.chars().take(8).collect()
}
