//! The input line: several lines of text, edited.
