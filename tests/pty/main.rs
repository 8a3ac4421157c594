//! A real terminal.
fn main() {}
