//! How long children and test runs may take. A child's second attempt gets twice as long, and so on.

use std::time::Duration;

/// Writing one document.
pub(crate) const DOCUMENT: Duration = Duration::from_secs(1200);
/// Reading and judging.
pub(crate) const REVIEW: Duration = Duration::from_secs(900);
/// Writing code or tests.
pub(crate) const IMPLEMENTATION: Duration = Duration::from_secs(1200);
/// Running a program, finding out what is wrong with it, and correcting it.
pub(crate) const DEBUGGING: Duration = Duration::from_secs(1800);
/// Trying to break the program by reading it.
pub(crate) const QUALITY: Duration = Duration::from_secs(1200);
/// The project's own tests.
pub(crate) const TESTS: Duration = Duration::from_secs(600);
