//! `music_lookup`: one record of MusicBrainz in full.

use std::time::Instant;

use serde_json::Value;

use super::ask::{deadline, reply};
use super::search::tracks;
use super::words::{credit, life, titled, used};
use super::{Entity, MusicLookup};
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, escape_controls, plural};
use crate::tools::engine::context::ToolContext;
use crate::tools::output::found::{joined, name, objects, track_length};
use crate::tools::output::labeled::LabeledText;

/// Maximum linked items in a lookup response; more must be browsed.
const MAX_LINKED: usize = 25;
/// Items per page when browsing, and maximum pages: at one request a second more would not fit into a call's time.
const PAGE_ITEMS: usize = 100;
const PAGES: usize = 3;
/// Maximum tracks of a release.
const MAX_TRACKS: usize = 150;
const MAX_RELEASES: usize = 10;
/// Kinds of release groups: the API's name, the heading of the list, and how many are shown.
const GROUPS: [(&str, &str, usize); 3] = [
    ("album", "Albums", 20),
    ("ep", "EPs", 10),
    ("single", "Singles", 15),
];

/// Looks up one record.
///
/// # Errors
/// Not an MBID; no such record of the kind; errors of MusicBrainz.
pub(super) fn lookup(ctx: &ToolContext, args: MusicLookup) -> Outcome<String> {
    let kind = args.entity;
    let Some(mbid) = mbid(&args.mbid) else {
        return Err(Problem::input(format!(
            "\"{}\" is not an MBID.",
            clip(&escape_controls(args.mbid.trim()), 80)
        ))
        .next("It looks like b8a7c51f-362c-4dcb-a259-bc6e0095f0a6; music_search finds them."));
    };
    let missing = || {
        Problem::missing(format!(
            "MusicBrainz has no {} with the MBID {mbid}.",
            kind.word()
        ))
        .next("Say with entity whether it is of another kind (artist, release, recording), or find it with music_search.")
    };
    let path = format!("{}/{mbid}?inc={}&fmt=json", kind.word(), kind.with());
    let deadline = deadline();
    let record = reply(ctx, &path, deadline, missing)?;
    let title = match kind {
        Entity::Artist => "name",
        Entity::Release | Entity::Recording => "title",
    };
    if record.text(title).is_none() {
        return Err(Problem::network(format!(
            "MusicBrainz did not answer with a valid {}.",
            kind.word()
        ))
        .next("Try again later."));
    }
    let id = name(&record, "id").unwrap_or_else(|| mbid.clone());
    let mut sheet = LabeledText::new(&titled(&record, title));
    match kind {
        Entity::Artist => {
            sheet.row(
                "Type",
                joined_or_none([name(&record, "type"), name(&record, "gender")]),
            );
            sheet.row("From", origin(&record));
            sheet.row("Life", life(&record));
            sheet.row("Genres", used(&record, "genres", 10));
            sheet.row("Tags", used(&record, "tags", 10));
            sheet.row("MBID", Some(id));
            let (groups, cut) = discography(ctx, &mbid, &record, deadline)?;
            by_kind(&groups, cut)
                .iter()
                .for_each(|line| sheet.line(line));
        }
        Entity::Release => {
            sheet.row("By", credit(&record));
            sheet.row("Date", name(&record, "date"));
            sheet.row("Country", name(&record, "country"));
            sheet.row("Status", name(&record, "status"));
            sheet.row("Label", labels(&record));
            sheet.row("Barcode", name(&record, "barcode"));
            sheet.row("Genres", used(&record, "genres", 10));
            sheet.row("Tracks", tracks(&record));
            sheet.row("MBID", Some(id));
            track_list(&record).iter().for_each(|line| sheet.line(line));
        }
        Entity::Recording => {
            sheet.row("By", credit(&record));
            sheet.row("Length", track_length(&record, "length"));
            sheet.row("Video", record.flag("video").then(|| "yes".to_owned()));
            sheet.row("First release", name(&record, "first-release-date"));
            sheet.row(
                "ISRC",
                joined_or_none(
                    record
                        .texts("isrcs")
                        .into_iter()
                        .map(|isrc| Some(clip(&escape_controls(isrc), 20))),
                ),
            );
            sheet.row("Genres", used(&record, "genres", 10));
            sheet.row("MBID", Some(id));
            releases(&record).iter().for_each(|line| sheet.line(line));
        }
    }
    Ok(sheet.text())
}

/// The MBID in the input: itself, or the address of the record's page.
fn mbid(given: &str) -> Option<String> {
    let last = given.trim().split(['?', '#']).next()?;
    let last = last.trim_end_matches('/').rsplit('/').next()?;
    let parts: Vec<&str> = last.split('-').collect();
    let long = [8, 4, 4, 4, 12];
    let is = parts.len() == long.len()
        && parts
            .iter()
            .zip(long)
            .all(|(part, long)| part.len() == long && part.bytes().all(|b| b.is_ascii_hexdigit()));
    is.then(|| last.to_lowercase())
}

fn joined_or_none(parts: impl IntoIterator<Item = Option<String>>) -> Option<String> {
    let text = joined(parts, ", ");
    (!text.is_empty()).then_some(text)
}

fn origin(artist: &Value) -> Option<String> {
    let area = name(artist, "area/name");
    let country = name(artist, "country");
    let place = match (area, country) {
        (Some(area), Some(country)) => Some(format!("{area} ({country})")),
        (area, country) => area.or(country),
    };
    joined_or_none([name(artist, "begin-area/name"), place])
}

/// All release groups of an artist, and whether there are more than could be fetched. A lookup that may be truncated is completed by browsing; if that fails,
/// its result stays.
fn discography(
    ctx: &ToolContext,
    mbid: &str,
    artist: &Value,
    deadline: Instant,
) -> Outcome<(Vec<Value>, bool)> {
    let first = artist.list("release-groups");
    if first.len() < MAX_LINKED {
        return Ok((first.to_vec(), false));
    }
    let mut all: Vec<Value> = Vec::new();
    for page in 0..PAGES {
        let path = format!(
            "release-group?artist={mbid}&limit={PAGE_ITEMS}&offset={}&fmt=json",
            page * PAGE_ITEMS
        );
        let found = match reply(ctx, &path, deadline, || {
            Problem::missing("No release groups.")
        }) {
            Ok(found) => found,
            Err(problem) if problem.is_cancelled() => return Err(problem),
            Err(_) if all.is_empty() => return Ok((first.to_vec(), true)),
            Err(_) => return Ok((all, true)),
        };
        let list = found.list("release-groups");
        all.extend(list.iter().cloned());
        let count = found.whole("release-group-count").unwrap_or(0);
        if list.is_empty() || usize::try_from(count).unwrap_or(0) <= all.len() {
            return Ok((all, false));
        }
    }
    Ok((all, true))
}

/// Albums, EPs and singles by date; the rest is counted.
fn by_kind(groups: &[Value], cut: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let mut listed = 0;
    for (kind, label, max) in GROUPS {
        let mut rows: Vec<(String, String)> = groups
            .iter()
            .filter(|group| {
                let primary = group.text("primary-type");
                primary.is_some_and(|primary| primary.eq_ignore_ascii_case(kind))
            })
            .map(|group| {
                let mut title = titled(group, "title");
                let more = group.texts("secondary-types").join(", ");
                if !more.is_empty() {
                    title = format!("{title} [{}]", clip(&escape_controls(&more), 80));
                }
                (name(group, "first-release-date").unwrap_or_default(), title)
            })
            .collect();
        // Entries without a date come last.
        rows.shared_sort_by(|(a, at), (b, bt)| (a.is_empty(), a, at).cmp(&(b.is_empty(), b, bt)));
        listed += rows.len();
        if rows.is_empty() {
            continue;
        }
        lines.push(format!("\n{label} ({}):", rows.len()));
        let more = rows.len().saturating_sub(max);
        lines.extend(rows.into_iter().take(max).map(|(date, title)| {
            let date = if date.is_empty() { "no date" } else { &date };
            format!("  {date:<10}  {title}")
        }));
        if more > 0 {
            lines.push(format!("  and {}", plural(more, "later one")));
        }
    }
    let others = groups.len().saturating_sub(listed);
    if others > 0 {
        lines.push(format!("\nOf other kinds: {others}, not listed."));
    }
    if cut {
        lines.push("\nMusicBrainz has more of this artist than was read.".to_owned());
    }
    lines
}

fn labels(release: &Value) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for info in release.list("label-info") {
        let label = name(info, "label/name");
        let number = name(info, "catalog-number");
        let text = match (label, number) {
            (Some(label), Some(number)) => format!("{label} ({number})"),
            (Some(label), None) => label,
            (None, Some(number)) => number,
            (None, None) => continue,
        };
        if !names.contains(&text) {
            names.push(text);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The tracks of each medium; a track's own credit only where it differs from the release's.
fn track_list(release: &Value) -> Vec<String> {
    let media = release.list("media");
    let whole = credit(release);
    let (mut lines, mut left, mut more) = (Vec::new(), MAX_TRACKS, 0);
    for (index, medium) in media.iter().enumerate() {
        let format = name(medium, "format").unwrap_or_else(|| "Medium".to_owned());
        let number = if media.len() > 1 {
            format!(" {}", medium.whole("position").unwrap_or(index as i64 + 1))
        } else {
            String::new()
        };
        let title = name(medium, "title").map_or_else(String::new, |title| format!(": {title}"));
        let list = medium.list("tracks").iter().chain(medium.list("track"));
        let rows: Vec<String> = medium
            .at("pregap")
            .into_iter()
            .chain(list)
            .chain(medium.list("data-tracks"))
            .filter(|track| track.is_object())
            .map(|track| track_line(track, whole.as_deref()))
            .collect();
        if rows.is_empty() {
            continue;
        }
        lines.push(format!("\n{format}{number}{title}"));
        let shown = rows.len().min(left);
        left -= shown;
        more += rows.len() - shown;
        lines.extend(rows.into_iter().take(shown));
    }
    if more > 0 {
        lines.push(format!("  and {}", plural(more, "more track")));
    }
    lines
}

fn track_line(track: &Value, whole: Option<&str>) -> String {
    let number = track.word("number").or_else(|| track.word("position"));
    let number = number.map_or_else(String::new, |number| clip(&escape_controls(&number), 8));
    let title = name(track, "title").or_else(|| name(track, "recording/title"));
    let own = credit(track).or_else(|| track.at("recording").and_then(credit));
    let own = own.filter(|own| Some(own.as_str()) != whole);
    let by = own.map_or_else(String::new, |own| format!(" by {own}"));
    let long = track_length(track, "length").or_else(|| track_length(track, "recording/length"));
    let long = long.map_or_else(String::new, |long| format!("  {long}"));
    format!(
        "  {number:>3}. {}{by}{long}",
        title.unwrap_or_else(|| "(untitled)".to_owned())
    )
}

fn releases(recording: &Value) -> Vec<String> {
    let rows = objects(recording, "releases").into_iter().map(|release| {
        let format = release
            .list("media")
            .first()
            .and_then(|medium| name(medium, "format"));
        let parts = [
            Some(titled(release, "title")),
            name(release, "date"),
            name(release, "country"),
            name(release, "status"),
            format,
            name(release, "id").map(|id| format!("MBID {id}")),
        ];
        format!("  {}", joined(parts, ", "))
    });
    let rows: Vec<String> = rows.collect();
    if rows.is_empty() {
        return rows;
    }
    let more = rows.len().saturating_sub(MAX_RELEASES);
    let mut lines = vec![format!("\nReleases ({}):", rows.len())];
    lines.extend(rows.into_iter().take(MAX_RELEASES));
    if more > 0 {
        lines.push(format!("  and {more} more"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;
    use serde_json::json;

    #[test]
    fn an_mbid_is_a_uuid_or_a_page_address() {
        let id = "b8a7c51f-362c-4dcb-a259-bc6e0095f0a6";
        assert_eq!(
            mbid(" B8A7C51F-362C-4DCB-A259-BC6E0095F0A6 ").as_deref(),
            Some(id)
        );
        let page = format!("https://musicbrainz.org/artist/{id}/?x=1");
        assert_eq!(mbid(&page).as_deref(), Some(id));
        for wrong in [
            "",
            "abc",
            "b8a7c51f362c4dcba259bc6e0095f0a6",
            "../artist",
            "b8a7c51f-362c-4dcb-a259-bc6e0095f0ag",
        ] {
            assert_eq!(mbid(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn groups_are_sorted_by_date_and_cut() {
        let mut groups: Vec<Value> = (0..22)
            .map(|n| json!({"title": format!("T{n}"), "primary-type": "Album", "first-release-date": format!("{}", 2020 - n)}))
            .collect();
        groups
            .push(json!({"title": "Undated", "primary-type": "Single", "first-release-date": ""}));
        groups.push(json!({"title": "Odd", "primary-type": null}));
        let text = by_kind(&groups, false).join("\n");
        assert!(
            text.starts_with("\nAlbums (22):\n  1999        T21\n  2000        T20\n"),
            "{text}"
        );
        assert_has(
            &text,
            &["  and 2 later ones\n\nSingles (1):\n  no date     Undated\n"],
        );
        assert!(text.ends_with("Of other kinds: 1, not listed."), "{text}");
    }

    #[test]
    fn labels_without_names_are_passed_over() {
        let release = json!({"label-info": [{"label": null}, {"label": {"name": "Blue"}, "catalog-number": "B 1"}, {"label": {"name": "Red"}}]});
        assert_eq!(labels(&release).as_deref(), Some("Blue (B 1), Red"));
    }
}
