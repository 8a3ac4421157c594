//! `preferences.yaml`, which is created with explanations. `prefs.yaml`, its former name, is read when only that exists.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::problem::Outcome;
use crate::disk::paths::ProfilePaths;
use crate::disk::{atomic, lock, yaml};

/// How long to wait for another process's write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

/// The content of a new file. Everything is commented out: Marvin assumes nothing about the user.
const BEGINNING: &str = "\
# What Marvin should know about you. Take the \"#\" off a line to set it; keys of your own are kept, and shown to the model.

# What you do not eat, or only eat: vegetarian, nut-free, halal, ...
#dietary: []

# How hot: none, mild, medium, hot, extra-hot
#spice_tolerance: medium

# Kitchens you like, and those to leave out: thai, italian, ...
#favorite_cuisines: []
#avoid_cuisines: []

# Whether you can drive there: true or false
#has_car: true

# How far places may be
#max_distance_km: 10

# What you would spend: free, inexpensive, moderate, expensive, any
#budget: any

# What places must have: step-free entrance, quiet, ...
#accessibility: []

# Units of distances and weather: km or mi
#distance_unit: km

# What a conversation knows of earlier ones: what was said in the same project, or outside of projects (folder), everything (all), nothing (none)
#history: folder

# Anything else
#notes: \"\"
";

/// All keys; none when there is no file. A `preferences.yaml` that cannot be read does not bring the former file back.
///
/// # Errors
/// It cannot be read, or is not a list of keys.
pub(crate) fn read(profile: &ProfilePaths) -> Outcome<Map<String, Value>> {
    Ok(match yaml::read_keys(&profile.preferences())? {
        Some(keys) => keys,
        None => yaml::read_keys(&profile.preferences_fallback())?.unwrap_or_default(),
    })
}

/// The value of a key; `None` when the key or the file is missing or cannot be read.
pub(crate) fn value(profile: &ProfilePaths, key: &str) -> Option<Value> {
    let value = read(profile).ok()?.shift_remove(key)?;
    (!value.is_null()).then_some(value)
}

/// Changes the preferences under their lock; comments and unknown keys are kept.
///
/// # Errors
/// The file is not a list of keys, `change` fails, or the disk does; the file is then as it was.
pub(crate) fn update(
    profile: &ProfilePaths,
    change: impl FnOnce(&mut Map<String, Value>) -> Outcome<()>,
) -> Outcome<()> {
    yaml::update_from(
        &profile.preferences(),
        LOCK_TIMEOUT,
        || beginning(profile),
        change,
    )
}

/// Creates the file if it does not exist, for a user who wants to edit it.
pub(crate) fn make(profile: &ProfilePaths) -> Outcome<()> {
    lock::update(&profile.preferences(), LOCK_TIMEOUT, |old| match old {
        Some(_) => Ok(None),
        None => beginning(profile).map(|text| Some(text.into_bytes())),
    })
}

fn beginning(profile: &ProfilePaths) -> Outcome<String> {
    let other = atomic::read_text(&profile.preferences_fallback(), yaml::CAP)?;
    Ok(other.unwrap_or_else(|| BEGINNING.to_owned()))
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
        paths.profile("main").unwrap()
    }

    fn set(profile: &ProfilePaths, key: &str, value: impl Into<Value>) {
        update(profile, |keys| {
            keys.insert(key.to_owned(), value.into());
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn a_new_file_has_comments_and_claims_nothing() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(&home);
        make(&profile).unwrap();
        assert_eq!(read(&profile).unwrap(), Map::new());
        set(&profile, "budget", "free");
        set(&profile, "dietary", vec!["vegan"]);
        let text = fs::read_to_string(profile.preferences()).unwrap();
        assert!(text.contains("#budget: any\nbudget: free\n"), "{text}");
        assert!(text.starts_with(BEGINNING.split("#dietary").next().unwrap()));
        make(&profile).unwrap();
        assert_eq!(fs::read_to_string(profile.preferences()).unwrap(), text);
    }

    #[test]
    fn the_file_of_the_other_name_is_read_and_left() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(&home);
        fs::create_dir_all(profile.dir()).unwrap();
        let old = "# old\ntransport: bike # always\nbudget: any\n";
        fs::write(profile.preferences_fallback(), old).unwrap();
        set(&profile, "budget", "free");
        let text = fs::read_to_string(profile.preferences()).unwrap();
        assert_eq!(text, old.replace("any", "free"));
        let kept = fs::read_to_string(profile.preferences_fallback()).unwrap();
        assert_eq!(kept, old);
    }

    #[test]
    fn a_broken_file_is_an_error_and_the_one_of_the_other_name_does_not_replace_it() {
        let home = tempfile::tempdir().unwrap();
        let profile = profile(&home);
        fs::create_dir_all(profile.dir()).unwrap();
        fs::write(profile.preferences_fallback(), "budget: any\n").unwrap();
        assert_eq!(value(&profile, "budget"), Some(Value::from("any")));
        for (broken, said) in [("budget: [", "line"), ("- budget\n", "not a list of")] {
            fs::write(profile.preferences(), broken).unwrap();
            let problem = read(&profile).unwrap_err();
            assert!(problem.what.contains("preferences.yaml"), "{problem}");
            assert!(problem.what.contains(said), "{problem}");
            assert_eq!(value(&profile, "budget"), None);
        }
    }
}
