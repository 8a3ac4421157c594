//! Module `places`: the address book of the profile, `saved_places.json`.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{capitalize, clip, did_you_mean, escape_controls, plural};
use crate::disk::json_records;
use crate::tools::engine::context::ToolContext;
use crate::tools::{READ, RECORDS};

crate::tools! { "places";
    /// Add or update an address-book entry of the active profile.
    save_place(SavePlace; RECORDS.seconds(5).destructive().idempotent()) {
        /// short nickname; stored lower-case and trimmed
        label: String, example: "home";
        /// place or business name
        name: String = "";
        /// street address
        address: String = "", example: "5 Main Street, Porto";
        /// phone
        phone: String = "";
        /// web address
        website: String = "", alias: &["web", "url"];
        /// latitude
        lat: Option<f64> = 0.0, alias: &["latitude"];
        /// longitude
        lng: Option<f64> = 0.0, alias: &["longitude", "lon", "long"];
        /// free text
        notes: String = "", alias: &["note"];
    } => save, says ["save place {label}: {address}", "remember that {label} is at {address}"];

    /// Delete an address-book entry by label.
    remove_place(RemovePlace; RECORDS.seconds(5).destructive().idempotent()) {
        /// label to delete
        label: String, example: "home", alias: &["name"];
    } => remove, says ["forget the place {label}", "remove place {label}"];

    /// Show the address book.
    list_places(ListPlaces; READ.seconds(5)) {
    } => list, says ["show my places", "list places", "my places", "saved places"];
}

fn file(ctx: &ToolContext) -> Outcome<PathBuf> {
    let profile = ctx.world.paths.profile(&ctx.world.profile())?;
    Ok(profile.saved_places())
}

/// The label as it is stored and compared.
fn plain(label: &str) -> String {
    label.trim().to_lowercase()
}

fn label_of(place: &Map<String, Value>) -> String {
    plain(text(place, "label"))
}

fn text<'a>(place: &'a Map<String, Value>, key: &str) -> &'a str {
    place.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The coordinates that were given. Models fill both with the published 0 when they have none; a place has 0 in one of them only.
fn coordinates(lat: Option<f64>, lng: Option<f64>) -> Outcome<(Option<f64>, Option<f64>)> {
    if lat.unwrap_or(0.0) == 0.0 && lng.unwrap_or(0.0) == 0.0 {
        return Ok((None, None));
    }
    for (name, value, most) in [("lat", lat, 90.0), ("lng", lng, 180.0)] {
        if let Some(value) = value.filter(|value| !(-most..=most).contains(value)) {
            return Err(Problem::input(format!("{name} cannot be {value}."))
                .next(format!("It lies between -{most} and {most}, in degrees.")));
        }
    }
    Ok((lat, lng))
}

fn save(ctx: &ToolContext, args: SavePlace) -> Outcome<String> {
    let label = plain(&args.label);
    if label.is_empty() {
        return Err(Problem::input("The label is empty.").next("For example home."));
    }
    if label.chars().any(char::is_control) {
        return Err(Problem::input("The label holds control characters.")
            .next("Give a short word, for example home."));
    }
    let (lat, lng) = coordinates(args.lat, args.lng)?;
    let words = [
        ("name", args.name),
        ("address", args.address),
        ("phone", args.phone),
        ("website", args.website),
    ];
    let notes = [("notes", args.notes)];
    let given = |(key, text): (&'static str, String)| {
        let text = text.trim();
        (!text.is_empty()).then(|| (key, Value::from(text)))
    };
    let numbers = [("lat", lat), ("lng", lng)];
    let numbers = numbers
        .into_iter()
        .filter_map(|(key, number)| Some((key, number?.into())));
    let fields: Vec<(&str, Value)> = words
        .into_iter()
        .filter_map(given)
        .chain(numbers)
        .chain(notes.into_iter().filter_map(given))
        .collect();
    let now = ctx.world.clock.utc();
    let (mut total, mut new) = (0, false);
    let notice = json_records::update(&file(ctx)?, None, &ctx.world.clock, |records| {
        let place = records
            .iter_mut()
            .map(|raw| (json_records::object(raw.get()), raw))
            .find(|(place, _)| label_of(place) == label);
        let fill = |place: &mut Map<String, Value>| {
            for (key, value) in &fields {
                place.insert((*key).to_owned(), value.clone());
            }
            place.insert("updated_at".to_owned(), now.clone().into());
        };
        match place {
            Some((mut place, raw)) => {
                place.insert("label".to_owned(), label.clone().into());
                fill(&mut place);
                *raw = json_records::record(&place)?;
            }
            None => {
                let mut place = Map::new();
                place.insert("label".to_owned(), label.clone().into());
                fill(&mut place);
                records.push(json_records::record(&place)?);
                new = true;
            }
        }
        total = records.len();
        Ok(())
    })?;
    let said = format!(
        "{} {} ({}).",
        if new { "Saved" } else { "Updated" },
        clip(&escape_controls(&label), 200),
        plural(total, "place")
    );
    Ok(with(said, notice))
}

fn with(said: String, notice: Option<String>) -> String {
    match notice {
        Some(notice) => format!("{said}\n{notice}"),
        None => said,
    }
}

fn remove(ctx: &ToolContext, args: RemovePlace) -> Outcome<String> {
    let label = plain(&args.label);
    let path = file(ctx)?;
    // A look first: what is not there changes no file.
    let bytes = json_records::read(&path)?.unwrap_or_default();
    let places = json_records::raw(&path, &bytes)?;
    let labels: Vec<String> = places
        .iter()
        .map(|raw| label_of(&json_records::object(raw)))
        .collect();
    if !labels.contains(&label) {
        return Err(nothing(&label, &labels));
    }
    let mut total = 0;
    let notice = json_records::update(&path, None, &ctx.world.clock, |records| {
        records.retain(|raw| label_of(&json_records::object(raw.get())) != label);
        total = records.len();
        Ok(())
    })?;
    let said = format!(
        "Removed {} ({} left).",
        clip(&escape_controls(&label), 200),
        plural(total, "place")
    );
    Ok(with(said, notice))
}

fn nothing(label: &str, labels: &[String]) -> Problem {
    let problem = Problem::missing(format!(
        "There is no saved place \"{}\".",
        clip(&escape_controls(label), 60)
    ));
    match did_you_mean(label, labels.iter().map(String::as_str)) {
        Some(hint) => problem.next(capitalize(&hint)),
        None => problem.next("list_places shows them."),
    }
}

fn list(ctx: &ToolContext, _: ListPlaces) -> Outcome<String> {
    let path = file(ctx)?;
    let bytes = json_records::read(&path)?.unwrap_or_default();
    let places = json_records::raw(&path, &bytes)?;
    let (mut out, mut count) = (String::new(), 0);
    for raw in &places {
        let place = json_records::object(raw);
        // An entry without label and name, edited manually, is not usable.
        if ["label", "name"]
            .iter()
            .any(|key| !text(&place, key).trim().is_empty())
        {
            entry(&place, &mut out);
            count += 1;
        }
    }
    if count == 0 {
        return Ok("No places are saved.".to_owned());
    }
    let _ = write!(out, "{}.", plural(count, "place"));
    Ok(out)
}

fn entry(place: &Map<String, Value>, out: &mut String) {
    let shown = |key: &str| escape_controls(text(place, key));
    let label = escape_controls(&text(place, "label").trim().to_uppercase());
    let name = shown("name");
    let gap = if name.is_empty() || label.is_empty() {
        ""
    } else {
        "  "
    };
    let _ = writeln!(out, "{label}{gap}{name}");
    for key in ["address", "phone", "website", "notes"] {
        for line in shown(key).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    let number = |key: &str| place.get(key).and_then(Value::as_f64);
    if let (Some(lat), Some(lng)) = (number("lat"), number("lng")) {
        let _ = writeln!(out, "  {lat}, {lng}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_counts_when_the_other_is_none() {
        for (given, taken) in [
            ((None, None), (None, None)),
            ((Some(0.0), Some(0.0)), (None, None)),
            ((Some(0.0), None), (None, None)),
            ((Some(51.5), Some(0.0)), (Some(51.5), Some(0.0))),
            ((Some(51.5), None), (Some(51.5), None)),
            ((Some(-90.0), Some(180.0)), (Some(-90.0), Some(180.0))),
        ] {
            assert_eq!(coordinates(given.0, given.1).unwrap(), taken, "{given:?}");
        }
        assert!(coordinates(Some(90.1), Some(1.0)).is_err());
        assert!(coordinates(Some(1.0), Some(-180.5)).is_err());
    }
}
