//! Profiles as folders: which exist, which is active, making one (contract/interfaces.md 10).

use std::fs;
use std::time::Duration;

use super::atomic::{self, Access};
use super::paths::Paths;
use crate::base::error::Outcome;

/// Bytes of `last_profile` that are looked at.
const NAME_CAP: u64 = 4096;

/// The active profile: `last_profile` if it names one that exists, else `main`, else `default` if only that exists.
pub fn active(paths: &Paths) -> String {
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

/// Whether there is such a profile.
pub fn exists(paths: &Paths, name: &str) -> bool {
    paths
        .profile(name)
        .is_ok_and(|profile| profile.dir().is_dir())
}

/// The names of all profiles, sorted; folders whose names no profile can have are passed over.
pub fn names(paths: &Paths) -> Vec<String> {
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

/// What a profile is called when somebody says `raw`: lower case, spaces to underscores; an existing one that differs only in
/// case is meant.
///
/// # Errors
/// The name cannot be a folder's name here.
pub fn name(paths: &Paths, raw: &str) -> Outcome<String> {
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

/// Makes the profile active for the next start, and its folder when there is none; true when it is new.
///
/// # Errors
/// The name cannot be used, or the disk is not writable.
pub fn switch(paths: &Paths, name: &str) -> Outcome<bool> {
    let profile = paths.profile(name)?;
    let new = !profile.dir().is_dir();
    atomic::make_folder(profile.dir(), Access::Usual)?;
    atomic::write(
        &paths.last_profile()?,
        format!("{name}\n").as_bytes(),
        Access::Usual,
    )?;
    let _ = Duration::ZERO;
    Ok(new)
}
