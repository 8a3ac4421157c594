//! Floor 2: child processes: how they are started, what they may see, and the programs Marvin drives.
//!
//! [`child`] runs a program within limits and ends its whole group; [`child_env`] decides what it sees; the rest are programs with a use of their own: git, a
//! shell, an editor, cron, at, the clipboard. Called by `tools`, `pipeline`, `voice`, `llm::copilot`, `app` and the interface. It knows no model, and asks
//! nobody for approval.

pub(crate) mod at;
pub(crate) mod browser;
pub(crate) mod capture;
pub(crate) mod child;
pub(crate) mod child_env;
mod child_pid;
pub(crate) mod clipboard;
pub(crate) mod cron;
pub(crate) mod descendants;
pub(crate) mod desktop;
pub(crate) mod detached;
pub(crate) mod editor;
pub(crate) mod foreground;
pub(crate) mod git;
pub(crate) mod last_lines;
pub(crate) mod own_image;
pub(crate) mod piped;
mod process_group;
pub(crate) mod program;
pub(crate) mod pump;
pub(crate) mod ripgrep;
pub(crate) mod sandbox;
pub(crate) mod shell;
mod spawn;
pub(crate) mod supervise;
pub(crate) mod tmux;
pub(crate) mod writable_by_commands;

#[cfg(test)]
pub(crate) mod tests;
