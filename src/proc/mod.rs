//! Floor 2: child processes: how they are started, what they may see, and the programs Marvin drives.

pub(crate) mod at;
pub(crate) mod capture;
pub(crate) mod child;
pub(crate) mod child_env;
mod child_pid;
pub(crate) mod clipboard;
pub(crate) mod cron;
pub(crate) mod desktop;
pub(crate) mod detached;
pub(crate) mod editor;
pub(crate) mod foreground;
pub(crate) mod git;
pub(crate) mod last_lines;
pub(crate) mod piped;
pub(crate) mod program;
pub(crate) mod pump;
pub(crate) mod shell;
mod spawn;
pub(crate) mod supervise;
pub(crate) mod tmux;

#[cfg(test)]
pub(crate) mod tests;
