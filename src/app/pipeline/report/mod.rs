//! `marvin pipeline report`: what became of each requirement, and what it cost.
//!
//! [`data`] reads events, findings and documents, [`work`] the tickets and commits of the run; [`matching`] finds which sections, tests, commits and findings
//! belong to a requirement, by its id or by its words. [`terminal`] is the table for a terminal, [`html`] the page. All text in it is data: of models, of the
//! project, of the user.

pub(crate) mod data;
pub(crate) mod html;
mod matching;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
mod work;

/// What is said where only the committed files of a run are.
pub(crate) const NOT_HERE: &str = "The run's own records are not here: they stay where it ran, and no clone has them. So when it ran, what it cost, its tests' last run and its warnings are unknown.";
