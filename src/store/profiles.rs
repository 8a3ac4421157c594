//! Profiles as folders: listing, the active one, creating.

use std::fs;
use std::sync::{PoisonError, RwLock};

use crate::base::problem::Outcome;
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;

/// How much of `last_profile` is read, in bytes.
const NAME_CAP: u64 = 4096;

/// The active profile: the one in `last_profile` if it exists, else `main`, else `default` if only that exists.
pub(crate) fn active(paths: &Paths) -> String {
    let named = paths
        .last_profile()
        .ok()
        .and_then(|path| atomic::read_text(&path, NAME_CAP).ok().flatten());
    if let Some(name) = named
        .as_deref()
        .map(str::trim)
        .filter(|name| exists(paths, name))
    {
        return name.to_owned();
    }
    let only_default = !exists(paths, "main") && exists(paths, "default");
    if only_default { "default" } else { "main" }.to_owned()
}

/// Name of the profile that a session uses; the session may switch it while calls are running.
pub struct ActiveProfile(RwLock<String>);

impl Default for ActiveProfile {
    fn default() -> Self {
        Self(RwLock::new("main".to_owned()))
    }
}

impl ActiveProfile {
    pub fn get(&self) -> String {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub fn set(&self, name: &str) {
        name.clone_into(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

pub(crate) fn exists(paths: &Paths, name: &str) -> bool {
    paths
        .profile(name)
        .is_ok_and(|profile| profile.dir().is_dir())
}

/// The names of all profiles, sorted. Folders with names that no profile can have are skipped.
pub(crate) fn names(paths: &Paths) -> Vec<String> {
    let Ok(dir) = paths.profiles() else {
        return Vec::new();
    };
    let mut names: Vec<String> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| exists(paths, name))
        .collect();
    names.sort();
    names
}

/// The profile name for the input `raw`: lower case, underscores for spaces. An existing name that differs only in case wins.
///
/// # Errors
/// The name cannot be a folder's name here.
pub(crate) fn name(paths: &Paths, raw: &str) -> Outcome<String> {
    let name = raw.trim().to_lowercase().replace(' ', "_");
    paths.profile(&name)?;
    if exists(paths, &name) {
        return Ok(name);
    }
    let same = names(paths)
        .into_iter()
        .find(|other| other.to_lowercase() == name);
    Ok(same.unwrap_or(name))
}

/// Makes the profile active from the next start on, creating it if necessary; true when it is new.
///
/// # Errors
/// The name is invalid, or the disk is not writable.
pub(crate) fn switch(paths: &Paths, name: &str) -> Outcome<bool> {
    let profile = paths.profile(name)?;
    let new = !profile.dir().is_dir();
    atomic::make_folder(profile.dir(), Access::Private)?;
    atomic::write(
        &paths.last_profile()?,
        format!("{name}\n").as_bytes(),
        Access::Private,
    )?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::home;

    #[test]
    fn the_active_profile_is_the_last_one_that_exists() {
        let (home, paths) = home();
        assert_eq!(active(&paths), "main");
        fs::create_dir_all(home.path().join("profiles/default")).unwrap();
        fs::create_dir_all(home.path().join("profiles/not a name")).unwrap();
        assert_eq!(active(&paths), "default");
        assert!(switch(&paths, "main").unwrap());
        assert_eq!(active(&paths), "main");
        assert!(!switch(&paths, "default").unwrap());
        assert_eq!(active(&paths), "default");
        assert_eq!(names(&paths), ["default", "main"]);
        for gone in ["gone", "../..", "", "\u{0}", "not a name"] {
            fs::write(paths.last_profile().unwrap(), gone).unwrap();
            assert_eq!(active(&paths), "main", "{gone:?}");
        }
    }

    #[test]
    fn what_is_said_becomes_a_name_or_is_refused() {
        let (home, paths) = home();
        assert_eq!(name(&paths, " Ann Lee ").unwrap(), "ann_lee");
        fs::create_dir_all(home.path().join("profiles/Work")).unwrap();
        assert_eq!(name(&paths, "work").unwrap(), "Work");
        for bad in [
            "",
            "..",
            ".",
            "a/b",
            "a\nb",
            "-x",
            "j\u{f6}rg",
            &"x".repeat(65),
        ] {
            assert!(name(&paths, bad).is_err(), "{bad:?}");
        }
    }
}
