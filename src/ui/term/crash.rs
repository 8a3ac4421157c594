//! The crash report.
