//! Floor 1: child processes: how they are started, what they may see, and the programs Marvin drives.

pub mod at;
pub mod capture;
pub mod child;
pub mod child_env;
pub mod cron;
pub mod desktop;
pub mod editor;
pub mod git;
pub mod program;
mod pump;
pub mod shell;
mod spawn;

#[cfg(test)]
mod tests;
