//! Module `places`: the address book of the profile.

use std::fmt::Write as _;

use crate::base::problem::{Outcome, Problem, not_empty};
use crate::base::text::{clip, escape_controls, plural};
use crate::store::places::{Place, SavedPlaces, label_key};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{READ, RECORDS};

tools! { "places";
    /// Add or update an address-book entry of the active profile.
    save_place(SavePlace; RECORDS.direct().seconds(5).destructive().idempotent().planned_as_written()) {
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
    list_places(ListPlaces; READ.seconds(5).compact()) {
    } => list, says ["show my places", "list places", "my places", "saved places"];
}

/// The active profile's address book.
fn saved_places(ctx: &ToolContext) -> Outcome<SavedPlaces<'_>> {
    let profile = ctx.session.paths.profile(&ctx.session.profile())?;
    Ok(SavedPlaces::of(&profile, &ctx.session.clock))
}

/// Models fill in the published default 0 for both coordinates when they have none; no real place has 0 for both.
fn coordinates(lat: Option<f64>, lng: Option<f64>) -> Outcome<(Option<f64>, Option<f64>)> {
    if lat.unwrap_or(0.0) == 0.0 && lng.unwrap_or(0.0) == 0.0 {
        return Ok((None, None));
    }
    for (name, value, max) in [("lat", lat, 90.0), ("lng", lng, 180.0)] {
        if let Some(value) = value.filter(|value| !(-max..=max).contains(value)) {
            return Err(Problem::input(format!("{name} cannot be {value}."))
                .next(format!("It lies between -{max} and {max}, in degrees.")));
        }
    }
    Ok((lat, lng))
}

fn save(ctx: &ToolContext, args: SavePlace) -> Outcome<String> {
    let label = label_key(&args.label);
    not_empty("label", &label, "For example home.")?;
    if label.chars().any(char::is_control) {
        return Err(Problem::input("The label holds control characters.")
            .next("Give a short word, for example home."));
    }
    let (lat, lng) = coordinates(args.lat, args.lng)?;
    let trimmed = |text: String| text.trim().to_owned();
    let place = Place {
        name: trimmed(args.name),
        address: trimmed(args.address),
        phone: trimmed(args.phone),
        website: trimmed(args.website),
        notes: trimmed(args.notes),
        label,
        lat,
        lng,
    };
    let change = saved_places(ctx)?.save(&place)?;
    let report = format!(
        "{} {} ({}).",
        if change.new { "Saved" } else { "Updated" },
        clip(&escape_controls(&place.label), 200),
        plural(change.total, "place")
    );
    Ok(with_notice(report, change.notice))
}

fn with_notice(report: String, notice: Option<String>) -> String {
    match notice {
        Some(notice) => format!("{report}\n{notice}"),
        None => report,
    }
}

fn remove(ctx: &ToolContext, args: RemovePlace) -> Outcome<String> {
    let change = saved_places(ctx)?.remove(&args.label)?;
    let report = format!(
        "Removed {} ({} left).",
        clip(&escape_controls(&label_key(&args.label)), 200),
        plural(change.total, "place")
    );
    Ok(with_notice(report, change.notice))
}

fn list(ctx: &ToolContext, _: ListPlaces) -> Outcome<String> {
    let places = saved_places(ctx)?.read()?;
    if places.is_empty() {
        return Ok("No places are saved.".to_owned());
    }
    let mut out = String::new();
    for place in &places {
        entry(place, &mut out);
    }
    let _ = write!(out, "{}.", plural(places.len(), "place"));
    Ok(out)
}

fn entry(place: &Place, out: &mut String) {
    let label = escape_controls(&place.label.trim().to_uppercase());
    let name = escape_controls(&place.name);
    let gap = if name.is_empty() || label.is_empty() {
        ""
    } else {
        "  "
    };
    let _ = writeln!(out, "{label}{gap}{name}");
    for fact in [&place.address, &place.phone, &place.website, &place.notes] {
        for line in escape_controls(fact).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    if let Some((lat, lng)) = place.coordinates() {
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
