//! Permissions: which calls run, which are asked about, and which are refused, by modes and rules of the user or of the program that started Marvin.
//!
//! [`mode`] has the modes as a table, [`rule`] the rules, with [`command`], [`path_glob`] and [`second_names`] for what stands in them; [`call_facts`] is what
//! they look at in a call. [`permissions`] is the state that a session shares and decides; [`call_approver`] is who is asked about a whole call,
//! [`parent_socket`] how a sub-agent asks through its parent; [`gate`] is what the registry calls.
//! Rules restrict what a model does by itself. They are no sandbox: a program that may run can run others.

pub(crate) mod call_approver;
pub(crate) mod call_facts;
pub(crate) mod command;
pub(crate) mod gate;
pub(crate) mod mode;
pub(crate) mod parent_socket;
mod path_glob;
pub(crate) mod permissions;
pub(crate) mod rule;
pub(crate) mod second_names;

#[cfg(test)]
mod tests;
