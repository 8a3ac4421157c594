//! What a rule says about commands: [`pattern`] is its content, [`split`] takes a command apart into the simple commands in it, [`indirect`] knows which of
//! those run others.

pub(crate) mod indirect;
pub(super) mod pattern;
pub(crate) mod simple_command;
pub(crate) mod split;
