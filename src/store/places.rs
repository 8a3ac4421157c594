//! `saved_places.json`: the address book of one profile.

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls};
use crate::disk::paths::ProfilePaths;
use crate::disk::{atomic, json_records};

/// A place as in the file. Missing texts are empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Place {
    pub(crate) label: String,
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) phone: String,
    pub(crate) website: String,
    /// In degrees.
    pub(crate) lat: Option<f64>,
    pub(crate) lng: Option<f64>,
    pub(crate) notes: String,
}

impl Place {
    fn read(raw: &str) -> Self {
        let map = json_records::object(raw);
        let text = |key: &str| text(&map, key).to_owned();
        let number = |key: &str| map.get(key).and_then(Value::as_f64);
        Self {
            label: text("label"),
            name: text("name"),
            address: text("address"),
            phone: text("phone"),
            website: text("website"),
            lat: number("lat"),
            lng: number("lng"),
            notes: text("notes"),
        }
    }

    /// Writes the known facts into the place's record. Unknown ones keep the record's value, and so do keys of other programs.
    fn fill(&self, record: &mut Map<String, Value>) {
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                record.insert(key.to_owned(), value);
            }
        };
        let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
        put("label", text(&self.label));
        put("name", text(&self.name));
        put("address", text(&self.address));
        put("phone", text(&self.phone));
        put("website", text(&self.website));
        put("lat", self.lat.map(Value::from));
        put("lng", self.lng.map(Value::from));
        put("notes", text(&self.notes));
    }

    /// False for a manually edited entry with neither label nor name.
    fn is_usable(&self) -> bool {
        [&self.label, &self.name]
            .iter()
            .any(|text| !text.trim().is_empty())
    }

    /// Latitude and longitude, when both are known.
    pub(crate) fn coordinates(&self) -> Option<(f64, f64)> {
        self.lat.zip(self.lng)
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PlacesChange {
    /// A place was added rather than updated.
    pub(crate) new: bool,
    /// Number of places afterwards.
    pub(crate) total: usize,
    /// What the user should know about the file.
    pub(crate) notice: Option<String>,
}

/// The address book of one profile. Several processes may use it at the same time.
pub(crate) struct SavedPlaces<'a> {
    path: PathBuf,
    clock: &'a Clock,
}

impl<'a> SavedPlaces<'a> {
    /// Opens the address book of the profile; nothing is read or created yet.
    pub(crate) fn of(profile: &ProfilePaths, clock: &'a Clock) -> Self {
        Self {
            path: profile.saved_places(),
            clock,
        }
    }

    /// The places that have a label or name, in file order.
    ///
    /// # Errors
    /// The file cannot be read (`Config` when it is not understood).
    pub(crate) fn read(&self) -> Outcome<Vec<Place>> {
        let bytes = json_records::read(&self.path)?.unwrap_or_default();
        let records = json_records::raw(&self.path, &bytes)?;
        let places = records.into_iter().map(Place::read);
        Ok(places.filter(Place::is_usable).collect())
    }

    /// [`SavedPlaces::read`] for callers that have to continue: problems go to `warn`, and a file that cannot be parsed is moved aside, never
    /// silently replaced.
    pub(crate) fn read_or_set_aside(&self, warn: &mut dyn FnMut(String)) -> Vec<Place> {
        let problem = match self.read() {
            Ok(places) => return places,
            Err(problem) => problem,
        };
        if problem.kind != ProblemKind::Config {
            warn(problem.one_line());
            return Vec::new();
        }
        let moved = atomic::set_aside(&self.path, self.clock, &problem.what);
        warn(moved.unwrap_or_else(|problem| problem.one_line()));
        Vec::new()
    }

    /// Number of entries; 0 when the file cannot be read.
    pub(crate) fn count(&self) -> usize {
        let Ok(Some(bytes)) = json_records::read(&self.path) else {
            return 0;
        };
        json_records::raw(&self.path, &bytes).map_or(0, |records| records.len())
    }

    /// Adds the place, or updates the one with the same label.
    ///
    /// # Errors
    /// The lock or the disk; the file is then as it was.
    pub(crate) fn save(&self, place: &Place) -> Outcome<PlacesChange> {
        let label = label_key(&place.label);
        let place = Place {
            label: label.clone(),
            ..place.clone()
        };
        let now = self.clock.utc();
        let (mut total, mut new) = (0, false);
        let notice = json_records::update(&self.path, None, self.clock, |records| {
            let old = records
                .iter_mut()
                .map(|raw| (json_records::object(raw.get()), raw))
                .find(|(record, _)| label_key(text(record, "label")) == label);
            new = old.is_none();
            let (mut record, raw) = match old {
                Some((record, raw)) => (record, Some(raw)),
                None => (Map::new(), None),
            };
            place.fill(&mut record);
            record.insert("updated_at".to_owned(), now.into());
            let filled = json_records::record(&record)?;
            match raw {
                Some(raw) => *raw = filled,
                None => records.push(filled),
            }
            total = records.len();
            Ok(())
        })?;
        Ok(PlacesChange { new, total, notice })
    }

    /// Removes the place with this label.
    ///
    /// # Errors
    /// `Missing` with the nearest label when there is none, and nothing is written; the lock or the disk.
    pub(crate) fn remove(&self, label: &str) -> Outcome<PlacesChange> {
        let label = label_key(label);
        let labels: Vec<String> = self
            .read()?
            .iter()
            .map(|place| label_key(&place.label))
            .collect();
        if !labels.contains(&label) {
            return Err(no_such_place(&label, &labels));
        }
        let mut total = 0;
        let notice = json_records::update(&self.path, None, self.clock, |records| {
            records
                .retain(|raw| label_key(text(&json_records::object(raw.get()), "label")) != label);
            total = records.len();
            Ok(())
        })?;
        Ok(PlacesChange {
            new: false,
            total,
            notice,
        })
    }
}

/// A label in the form in which it is stored and compared.
pub(crate) fn label_key(label: &str) -> String {
    label.trim().to_lowercase()
}

fn text<'a>(record: &'a Map<String, Value>, key: &str) -> &'a str {
    record.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn no_such_place(label: &str, labels: &[String]) -> Problem {
    let problem = Problem::missing(format!(
        "There is no saved place \"{}\".",
        clip(&escape_controls(label), 60)
    ));
    let labels = labels.iter().map(String::as_str);
    problem.near_or(label, labels, "list_places shows them.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::disk::paths::Paths;
    use std::fs;

    fn profile(home: &tempfile::TempDir) -> ProfilePaths {
        let dir = home.path().to_str().unwrap();
        let paths = Paths::new(&Env::from([("MARVIN_CONFIG_DIR", dir)]));
        let profile = paths.profile("main").unwrap();
        fs::create_dir_all(profile.dir()).unwrap();
        profile
    }

    #[test]
    fn a_saved_place_is_updated_by_its_label_and_keeps_what_is_not_given() {
        let home = tempfile::tempdir().unwrap();
        let (profile, clock) = (profile(&home), Clock::default());
        let places = SavedPlaces::of(&profile, &clock);
        fs::write(
            profile.saved_places(),
            r#"[{"label": " Work ", "phone": "1", "theirs": 7}]"#,
        )
        .unwrap();
        let update = Place {
            label: "WORK".into(),
            address: "5 Main Street".into(),
            lat: Some(1.5),
            ..Place::default()
        };
        let change = places.save(&update).unwrap();
        assert_eq!((change.new, change.total, change.notice), (false, 1, None));
        let home_of_ann = Place {
            label: "home".into(),
            ..Place::default()
        };
        assert!(places.save(&home_of_ann).unwrap().new);
        let text = fs::read_to_string(profile.saved_places()).unwrap();
        assert!(text.contains(r#""theirs":7"#), "{text}");
        let work = &places.read().unwrap()[0];
        assert_eq!(
            (work.label.as_str(), work.phone.as_str(), work.coordinates()),
            ("work", "1", None)
        );
        let problem = places.remove("wrok").unwrap_err();
        assert!(problem.one_line().contains("\"work\""), "{problem}");
        assert_eq!(places.remove(" Work").unwrap().total, 1);
    }

    #[test]
    fn every_reader_takes_a_byte_order_mark_and_an_empty_file() {
        let home = tempfile::tempdir().unwrap();
        let (profile, clock) = (profile(&home), Clock::default());
        let places = SavedPlaces::of(&profile, &clock);
        let mut warned = Vec::new();
        for (bytes, count) in [
            (b"\xef\xbb\xbf[{\"label\": \"home\"}]".as_slice(), 1),
            (b"", 0),
            (b"[7, {\"notes\": \"nothing to call it by\"}]", 0),
        ] {
            fs::write(profile.saved_places(), bytes).unwrap();
            let read = places.read_or_set_aside(&mut |text| warned.push(text));
            assert_eq!((read.len(), &warned), (count, &Vec::new()));
            assert_eq!(places.read().unwrap().len(), count);
        }
        assert_eq!(places.count(), 2, "entries, also those that cannot be used");
    }

    #[test]
    fn a_file_that_is_not_understood_is_moved_aside_with_a_warning() {
        let home = tempfile::tempdir().unwrap();
        let (profile, clock) = (profile(&home), Clock::default());
        let places = SavedPlaces::of(&profile, &clock);
        fs::write(profile.saved_places(), "[{").unwrap();
        assert_eq!(places.count(), 0);
        assert_eq!(places.read().unwrap_err().kind, ProblemKind::Config);
        let mut warned = Vec::new();
        assert!(
            places
                .read_or_set_aside(&mut |text| warned.push(text))
                .is_empty()
        );
        assert!(warned[0].contains("It was moved to"), "{warned:?}");
        assert!(!profile.saved_places().exists());
    }
}
