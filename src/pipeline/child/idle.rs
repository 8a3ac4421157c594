//! A child that changes nothing: by which word it says so, and what it is told that did not.

/// What its last line says.
pub(crate) const MARKER: &str = "NOTHING_TO_CHANGE";

/// What is said to one that did not say why it changed nothing, although `missing`.
pub(crate) fn unexplained(missing: &str) -> String {
    format!(
        "{missing} Whoever changes nothing says why, and ends with a line that holds nothing but {MARKER}."
    )
}

/// Whether a failure is that of a child which changed nothing and did not say why.
pub(super) fn is_told_in(failure: &str) -> bool {
    failure.contains(MARKER)
}
