//! What a provider tells the user once.

use std::sync::{Mutex, PoisonError};

use super::provider::{Delta, Request};
use crate::chat::event::Level;

/// What was told and is not told again.
#[derive(Debug, Default)]
pub(super) struct Remarks(Mutex<Vec<String>>);

impl Remarks {
    /// Tells `words`, unless `subject` was told before.
    pub(super) fn tell(&self, subject: &str, words: &str, emit: &mut dyn FnMut(Delta<'_>)) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !told.iter().any(|told| told == subject) {
            told.push(subject.to_owned());
            drop(told);
            emit(Delta::Notice(Level::Info, words));
        }
    }
}

/// That the effort of `request` changes nothing.
pub(super) fn no_effort(provider: &str, request: &Request<'_>) -> String {
    let (model, effort) = (request.model, request.effort.word());
    if request.info.thinks {
        format!(
            "{model} at {provider} thinks as its maker set it up: effort \"{effort}\" changes nothing."
        )
    } else {
        format!("{model} at {provider} takes no reasoning effort: \"{effort}\" changes nothing.")
    }
}
