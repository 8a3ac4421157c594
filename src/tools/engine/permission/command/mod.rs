//! What a rule says about commands: [`pattern`] is its content, [`split`] takes a command apart into the simple commands in it, [`indirect`] knows which of
//! those run others.

mod indirect;
pub(super) mod pattern;
mod simple_command;
mod split;
