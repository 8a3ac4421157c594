//! What a conversation may know of earlier ones: `history` in the preferences.

use serde_json::Value;

use super::context::SessionContext;
use crate::base::problem::Outcome;
use crate::base::text::{clip, one_line};
use crate::disk::git_head;
use crate::disk::paths::ProfilePaths;
use crate::store::preferences;
use crate::store::sessions::SessionStore;

pub(crate) const HISTORY: &str = "history";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum HistoryScope {
    /// Everything that the profile's chat log holds.
    All,
    /// What was said in the same project, or outside of projects.
    #[default]
    Folder,
    /// Nothing.
    None,
}

impl HistoryScope {
    /// How far a profile wants a conversation to remember; what is no word for it is told to `warn`.
    pub(crate) fn of(profile: &ProfilePaths, warn: &mut dyn FnMut(String)) -> Self {
        match preferences::value(profile, HISTORY) {
            None => Self::default(),
            Some(Value::String(word)) if word == "all" => Self::All,
            Some(Value::String(word)) if word == "folder" => Self::Folder,
            Some(Value::String(word)) if word == "none" => Self::None,
            Some(other) => {
                warn(format!(
                    "\"{HISTORY}\" in the preferences is all, folder or none, not {}; folder is meant.",
                    clip(&one_line(&other.to_string()), 40)
                ));
                Self::default()
            }
        }
    }
}

impl SessionContext {
    /// The project that a conversation is held in: the git repository around the working directory, else the folder of `--working-dir`.
    pub(crate) fn workspace(&self) -> Option<String> {
        let root = self.working_dir.root()?;
        let around = git_head::repository(root.path());
        let given = || self.working_dir.is_given().then_some(root.path());
        around.or_else(given).map(|path| path.display().to_string())
    }

    /// The sessions of the active profile.
    ///
    /// # Errors
    /// `HOME` is not set.
    pub(crate) fn sessions(&self) -> Outcome<SessionStore> {
        let profile = self.paths.profile(&self.profile())?;
        Ok(SessionStore::new(profile.sessions(), &self.clock))
    }

    /// Whether a conversation here may know the whole chat log of a profile, which is that of all folders.
    pub(crate) fn may_know_log(&self, profile: &ProfilePaths) -> bool {
        match HistoryScope::of(profile, &mut |_| {}) {
            HistoryScope::All => true,
            HistoryScope::None => false,
            HistoryScope::Folder => {
                let sessions = SessionStore::new(profile.sessions(), &self.clock);
                sessions.are_all_in(self.workspace().as_deref())
            }
        }
    }
}
