//! The `marvin` program.
fn main() {}
