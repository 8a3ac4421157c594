//! `marvin pipeline report`: what became of each requirement, and what it cost.
//!
//! [`data`] reads events, findings, commits and documents; [`matching`] finds which sections, tests, commits and findings belong to a requirement, by its id or
//! by its words. [`terminal`] is the table for a terminal, [`html`] the page. All text in it is data: of models, of the project, of the user.

pub(crate) mod data;
pub(crate) mod html;
mod matching;
pub(crate) mod terminal;
#[cfg(test)]
mod tests;
