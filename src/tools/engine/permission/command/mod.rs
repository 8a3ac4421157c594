//! What a rule says about commands: [`pattern`] is its content, [`split`] takes a command apart into the simple commands in it.
//!
//! Of programs that run others, [`holders`] is the table and [`arguments`] reads their words by it, [`awk_program`] and [`sed_script`] their texts; [`indirect`]
//! is what a rule that denies has to see of what they run, [`held`] what one that allows has to say.

mod arguments;
mod awk_program;
mod held;
mod holders;
pub(crate) mod indirect;
pub(super) mod pattern;
mod sed_script;
pub(crate) mod simple_command;
pub(crate) mod split;
