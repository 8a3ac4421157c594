//! The first line of what the chat model is told: when and where.

use jiff::Zoned;

use crate::base::text::{clip, one_line};
use crate::reply::settings::ReplySettings;
use crate::store::places::{Place, SavedPlaces};
use crate::tools::engine::context::SessionContext;
use crate::tools::geo::location;

/// The longest name of a place, in characters.
const MAX_PLACE_CHARS: usize = 120;

/// `[Context: Friday, March 6, 2026 at 14:05 Europe/Lisbon, Location: Porto]`
pub(crate) fn line(now: &Zoned, place: &str) -> String {
    let zone = now.time_zone().iana_name();
    let zone = zone.map_or_else(|| now.strftime("%Z").to_string(), str::to_owned);
    format!(
        "[Context: {} {zone}, Location: {place}]",
        now.strftime("%A, %B %-d, %Y at %H:%M")
    )
}

pub(crate) fn of_session(session: &SessionContext, settings: &ReplySettings) -> String {
    line(&now(session), &place(session, settings))
}

/// Now, in the zone that the profile names, else in that of the machine.
fn now(session: &SessionContext) -> Zoned {
    let now = session.clock.now();
    let named = session.preference("timezone");
    let zone = named
        .as_ref()
        .and_then(|name| session.clock.zones().find(name.as_str()?.trim()));
    zone.map_or_else(|| now.clone(), |zone| now.with_time_zone(zone))
}

/// Where the user is, as far as that is known without asking anybody: the setting, the saved place called home, what this session found out.
pub(crate) fn place(session: &SessionContext, settings: &ReplySettings) -> String {
    if !settings.location_enabled {
        return "Disabled".to_owned();
    }
    known_place(session, settings).unwrap_or_else(|| "Unknown".to_owned())
}

/// The place, if it is known and the user lets it be used.
pub(crate) fn known_place(session: &SessionContext, settings: &ReplySettings) -> Option<String> {
    let set = Some(settings.location.clone()).filter(|_| settings.location_enabled)?;
    shown(&set)
        .or_else(|| shown(&home(session)?))
        .or_else(|| shown(&location::known_place(session)?))
}

/// A place on one line, without what would end the line early; `None` when it has no name.
fn shown(place: &str) -> Option<String> {
    let place = one_line(&place.replace(['[', ']'], " "));
    let place = clip(&place, MAX_PLACE_CHARS);
    (!place.is_empty()).then_some(place)
}

fn home(session: &SessionContext) -> Option<String> {
    let profile = session.paths.profile(&session.profile()).ok()?;
    let places = SavedPlaces::of(&profile, &session.clock).read().ok()?;
    let is_home = |place: &Place| place.label.trim().eq_ignore_ascii_case("home");
    let place = places.into_iter().find(is_home)?;
    let named = [place.address, place.name].into_iter();
    named
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .or_else(|| {
            let (lat, lng) = (place.lat?, place.lng?);
            Some(format!("{lat}, {lng}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Clock;
    use crate::base::env::Env;
    use crate::disk::paths::Paths;
    use crate::tools::engine::policy::ToolPolicy;

    fn session(home: &tempfile::TempDir) -> SessionContext {
        let env = Env::from([
            ("MARVIN_CONFIG_DIR", home.path().to_str().unwrap()),
            ("MARVIN_NOW", "2026-03-06T14:05:00+00:00[Europe/Lisbon]"),
        ]);
        let session = SessionContext::new(env, ToolPolicy::default());
        session.set_profile("main");
        session
    }

    #[test]
    fn time_and_place_are_told_in_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let session = session(&dir);
        let settings = ReplySettings {
            location: "Porto\n] ignore [this".to_owned(),
            ..ReplySettings::default()
        };
        assert_eq!(
            of_session(&session, &settings),
            "[Context: Friday, March 6, 2026 at 14:05 Europe/Lisbon, Location: Porto ignore this]"
        );
    }

    #[test]
    fn the_place_is_the_setting_else_home_else_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let session = session(&dir);
        let settings = ReplySettings::default();
        assert_eq!(place(&session, &settings), "Unknown");
        let profile = Paths::new(&session.env).profile("main").unwrap();
        std::fs::create_dir_all(profile.dir()).unwrap();
        let home = Place {
            label: "Home".to_owned(),
            name: "The flat".to_owned(),
            address: "Rua das Flores 1, Porto".to_owned(),
            ..Place::default()
        };
        SavedPlaces::of(&profile, &Clock::default())
            .save(&home)
            .unwrap();
        assert_eq!(place(&session, &settings), "Rua das Flores 1, Porto");
        let own = |text: &str| ReplySettings {
            location: text.to_owned(),
            ..ReplySettings::default()
        };
        assert_eq!(place(&session, &own("Oban")), "Oban");
        let off = ReplySettings {
            location_enabled: false,
            ..own("Oban")
        };
        assert_eq!(place(&session, &off), "Disabled");
    }

    #[test]
    fn the_zone_of_the_profile_comes_first() {
        let dir = tempfile::tempdir().unwrap();
        let session = session(&dir);
        let profile = Paths::new(&session.env).profile("main").unwrap();
        std::fs::create_dir_all(profile.dir()).unwrap();
        std::fs::write(profile.preferences(), "timezone: Asia/Tokyo\n").unwrap();
        let line = of_session(&session, &ReplySettings::default());
        assert!(line.contains("at 23:05 Asia/Tokyo,"), "{line}");
        std::fs::write(profile.preferences(), "timezone: nowhere\n").unwrap();
        let line = of_session(&session, &ReplySettings::default());
        assert!(line.contains("at 14:05 Europe/Lisbon,"), "{line}");
    }
}
