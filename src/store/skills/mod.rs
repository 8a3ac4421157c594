//! Skills: folders with a `SKILL.md`, of the user and of a project. Nothing of a skill but the beginning of that file is read until somebody uses it.

mod search;
mod skill;

pub(crate) use search::{all, all_and_end, end_words, of_project};
pub(crate) use skill::{Skill, SkillOwner};

#[cfg(test)]
mod tests;
