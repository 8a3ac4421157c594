//! Which theme the user chose: `MARVIN_THEME`, else what `/theme` stored, else whatever fits the terminal.

use std::sync::{Mutex, PoisonError};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::did_you_mean;
use crate::base::variables::MARVIN_THEME;
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;

/// A theme by its name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ThemeChoice {
    /// Dark or light, as the terminal is.
    #[default]
    Auto,
    Dark,
    Light,
    /// Strong contrast.
    Contrast,
    /// Sixteen colours that differ without red and green.
    ColorBlind,
}

impl ThemeChoice {
    /// Each with its name and a line about it.
    pub(crate) const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Auto, "auto", "dark or light, as the terminal is"),
        (Self::Dark, "dark", "for dark backgrounds"),
        (Self::Light, "light", "for light backgrounds"),
        (
            Self::Contrast,
            "contrast",
            "strong contrast, dark or light as the terminal is",
        ),
        (
            Self::ColorBlind,
            "color-blind",
            "16 colours that differ without red and green",
        ),
    ];

    pub(crate) fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(choice, ..)| *choice == self)
            .map_or("auto", |(_, name, _)| name)
    }

    /// The theme with this name.
    ///
    /// # Errors
    /// There is none; the nearest one is named.
    pub(crate) fn parse(word: &str) -> Outcome<Self> {
        let mut all = Self::ALL.iter();
        let found = all.find(|(_, name, _)| name.eq_ignore_ascii_case(word.trim()));
        if let Some((choice, ..)) = found {
            return Ok(*choice);
        }
        let names = Self::ALL.map(|(_, name, _)| name);
        let near = did_you_mean(word, names).map_or_else(String::new, |near| format!("; {near}"));
        Err(
            Problem::input(format!("There is no theme \"{word}\"{near}."))
                .next(format!("Choose one of {}.", names.join(", "))),
        )
    }

    /// The choice for a new run; `warn` gets what is wrong with it.
    pub(crate) fn read(env: &Env, warn: &mut dyn FnMut(String)) -> Self {
        if let Some(word) = MARVIN_THEME.read(env) {
            return Self::parse(word).unwrap_or_else(|problem| {
                warn(format!("MARVIN_THEME: {}", problem.one_line()));
                Self::default()
            });
        }
        let stored = Paths::new(env)
            .theme()
            .ok()
            .and_then(|path| atomic::read(&path, MAX_NAME_BYTES).ok());
        let name = stored.flatten().unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&name)).unwrap_or_default()
    }

    /// Stores the choice for later runs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn store(self, paths: &Paths) -> Outcome<()> {
        let text = format!("{}\n", self.name());
        atomic::write(&paths.theme()?, text.as_bytes(), Access::Private)
    }
}

/// The choice of the running session, for lists and completion.
#[derive(Debug, Default)]
pub(crate) struct CurrentTheme(Mutex<ThemeChoice>);

impl CurrentTheme {
    pub(crate) fn get(&self) -> ThemeChoice {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, choice: ThemeChoice) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = choice;
    }
}

/// How much of the stored name is read.
const MAX_NAME_BYTES: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_wins_over_what_was_stored() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_str().unwrap();
        let mut warnings = Vec::new();
        let read = |vars: &[(&'static str, &str)], warnings: &mut Vec<String>| {
            let mut env = Env::default();
            for (name, value) in vars {
                env.set_below(name, (*value).to_owned());
            }
            ThemeChoice::read(&env, &mut |text| warnings.push(text))
        };
        let config = ("MARVIN_CONFIG_DIR", folder);
        assert_eq!(read(&[config], &mut warnings), ThemeChoice::Auto);
        let mut env = Env::default();
        env.set_below("MARVIN_CONFIG_DIR", folder.to_owned());
        ThemeChoice::ColorBlind.store(&Paths::new(&env)).unwrap();
        assert_eq!(read(&[config], &mut warnings), ThemeChoice::ColorBlind);
        assert_eq!(
            read(&[config, ("MARVIN_THEME", "Light")], &mut warnings),
            ThemeChoice::Light
        );
        assert_eq!(
            read(&[config, ("MARVIN_THEME", "drak")], &mut warnings),
            ThemeChoice::Auto
        );
        assert!(
            warnings.concat().contains("did you mean \"dark\""),
            "{warnings:?}"
        );
        std::fs::write(dir.path().join("theme"), [0xff, 0, 7]).unwrap();
        assert_eq!(read(&[config], &mut warnings), ThemeChoice::Auto);
    }
}
