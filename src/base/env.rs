//! `Env`: the environment read once into a value. No module asks the operating system for a variable after `main`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

/// The variables of this process, with the values of `config.yaml` as fallback.
///
/// Names and values are text; bytes that are not UTF-8 are replaced, so no variable can prevent a start. An empty variable counts as unset.
#[derive(Debug, Clone, Default)]
pub struct Env {
    /// Shared by the copies that the parts of a session keep.
    vars: Arc<BTreeMap<String, String>>,
    below: BTreeMap<String, String>,
}

impl Env {
    /// Takes the variables from `std::env::vars_os`.
    pub fn new(vars: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let text = |s: OsString| {
            s.into_string()
                .unwrap_or_else(|s| s.to_string_lossy().into_owned())
        };
        Self {
            vars: Arc::new(vars.into_iter().map(|(k, v)| (text(k), text(v))).collect()),
            below: BTreeMap::new(),
        }
    }

    /// Adds a value that applies when the environment does not set `name`. `config.yaml` uses it.
    pub fn set_below(&mut self, name: &str, value: String) {
        self.below.insert(name.to_owned(), value);
    }

    /// Sets `name`, whatever the environment says.
    pub fn set(&mut self, name: &str, value: &str) {
        Arc::make_mut(&mut self.vars).insert(name.to_owned(), value.to_owned());
    }

    /// The value of `name` if it is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        let set =
            |vars: &BTreeMap<String, String>| vars.get(name).filter(|v| !v.is_empty()).is_some();
        if set(&self.vars) {
            self.vars.get(name)
        } else {
            self.below.get(name).filter(|v| !v.is_empty())
        }
        .map(String::as_str)
    }

    /// Whether the value of `name` is one that only applies where the environment does not set it.
    pub(crate) fn is_below(&self, name: &str) -> bool {
        let is_set = self.vars.get(name).is_some_and(|value| !value.is_empty());
        !is_set && self.get(name).is_some()
    }

    /// True when `name` is `1`, `true`, `yes` or `on`.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|v| {
            matches!(
                v.trim().to_ascii_lowercase().as_str(),
                "1" | "true" | "yes" | "on"
            )
        })
    }

    /// A non-negative integer; anything else gives `default` and a warning.
    pub fn number(&self, name: &str, default: u64, warn: &mut dyn FnMut(String)) -> u64 {
        let Some(text) = self.get(name) else {
            return default;
        };
        text.trim().parse().unwrap_or_else(|_| {
            warn(format!("{name} is \"{text}\", which is not a whole number of zero or more; using {default}."));
            default
        })
    }

    /// Every variable of the process, as inherited. For building a child's environment from an allow-list.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Env {
    fn from(vars: [(&str, &str); N]) -> Self {
        Self::new(vars.map(|(k, v)| (k.into(), v.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_is_unset_and_the_environment_beats_the_file() {
        let mut env = Env::from([("A", ""), ("B", "env")]);
        env.set_below("A", "file".into());
        env.set_below("B", "file".into());
        assert_eq!(
            (env.get("A"), env.get("B"), env.get("C")),
            (Some("file"), Some("env"), None)
        );
        assert_eq!(
            ["A", "B", "C"].map(|name| env.is_below(name)),
            [true, false, false]
        );
    }

    #[test]
    fn a_bad_number_gives_the_default_and_a_warning() {
        let env = Env::from([("N", "-3"), ("M", "7")]);
        let mut warnings = Vec::new();
        assert_eq!(env.number("N", 50, &mut |w| warnings.push(w)), 50);
        assert_eq!(env.number("M", 50, &mut |w| warnings.push(w)), 7);
        assert_eq!(
            warnings,
            ["N is \"-3\", which is not a whole number of zero or more; using 50."]
        );
    }
}
