//! JSON Schema, draft 2020-12 (json-schema.org/draft/2020-12), as far as structured answers need it: [`schema`] reads one, [`check`] compares a value with it.
//!
//! References stay inside the document. A keyword that would restrict and is not known here is an error, so that nothing is taken for checked that was not.
//! [`number`] compares numbers, [`pattern`] reads regular expressions, [`pointer`] names places.

pub(crate) mod check;
mod number;
mod pattern;
mod pointer;
pub(crate) mod schema;
#[cfg(test)]
mod tests;
