//! The skills of a session: found when they are first asked about, and the same from then on, so that the system prompt stays the same too.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::store::skills::Skill;

#[derive(Debug, Default)]
pub(crate) struct SessionSkills {
    found: RwLock<Option<Arc<Vec<Skill>>>>,
    /// The only ones that are offered, where the calling program has named them.
    chosen: OnceLock<Vec<String>>,
    /// Names of those that were used.
    used: Mutex<Vec<String>>,
}

impl SessionSkills {
    /// Names the only skills that are offered.
    pub(crate) fn choose(&self, names: Vec<String>) {
        let _ = self.chosen.set(names);
    }

    /// What is trusted has changed: they are looked for again.
    pub(crate) fn forget(&self) {
        *self.found.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The skills, looked for with `find` where nobody has yet.
    pub(crate) fn all(&self, find: impl FnOnce() -> Vec<Skill>) -> Arc<Vec<Skill>> {
        let found = &self.found;
        let known = found.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return known;
        }
        let mut all = find();
        if let Some(chosen) = self.chosen.get() {
            all.retain(|skill| chosen.contains(&skill.name));
        }
        let all = Arc::new(all);
        *found.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&all));
        all
    }

    /// Notes that a skill is used.
    pub(crate) fn note_used(&self, name: &str) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if !used.iter().any(|known| known == name) {
            used.push(name.to_owned());
        }
    }

    /// The names of those that were used, the first first.
    pub(crate) fn used(&self) -> Vec<String> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.clone()
    }
}
