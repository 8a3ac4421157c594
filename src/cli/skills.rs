//! `marvin skills`: the skills that count here.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::app::session::commands;
use crate::app::settings::Settings;
use crate::base::problem::{Outcome, Problem};
use crate::disk::paths::Paths;
use crate::store::skills::{self, Skill, SkillOwner};
use crate::store::trusted_projects::{ProjectFolder, TrustKind, TrustedProjects};
use crate::tools::engine::project_trust::RunTrust;
use crate::tools::session::skills as session_skills;

/// `marvin skills [--json]`: what is printed.
pub(super) fn run(words: &[String], settings: &Settings) -> Outcome<String> {
    let is_json = match words {
        [] => false,
        [word] if word == "--json" => true,
        _ => return Err(Problem::input("marvin skills takes only --json.")),
    };
    let found = found(settings);
    if is_json {
        let rows: Vec<Value> = found.skills.iter().map(|skill| found.row(skill)).collect();
        return Ok(format!("{:#}\n", Value::from(rows)));
    }
    let mut text = session_skills::listing(&found.skills, &commands::names(), |skill| {
        found.state(skill)
    });
    if !found.is_trusted
        && found
            .skills
            .iter()
            .any(|skill| skill.owner == SkillOwner::Project)
    {
        text.push_str(
            "\nThose of the project are not used, because nobody said that it is trusted: marvin trust.\n",
        );
    }
    if let Some(end) = &found.ended_at {
        text.push_str(&format!("\n{}\n", skills::end_words(end)));
    }
    Ok(text)
}

/// The skills here, and whether those of the project count.
pub(super) struct FoundSkills {
    pub skills: Vec<Skill>,
    /// The folder at which the search ended early, if it did.
    pub ended_at: Option<PathBuf>,
    pub is_trusted: bool,
}

pub(super) fn found(settings: &Settings) -> FoundSkills {
    let paths = Paths::new(&settings.env);
    let dir = settings.process.current.as_deref();
    let folder = dir.map(ProjectFolder::around);
    let known = TrustedProjects::read(&paths).unwrap_or_default();
    let is_stored = |folder: &ProjectFolder| known.agrees(folder, TrustKind::Skill, "");
    let is_trusted = match settings.access.trust {
        RunTrust::Everything => true,
        _ => folder.as_ref().is_some_and(is_stored),
    };
    let (skills, ended_at) = skills::all_and_end(&paths, dir.zip(folder.as_ref()));
    FoundSkills {
        skills,
        ended_at,
        is_trusted,
    }
}

impl FoundSkills {
    fn state(&self, skill: &Skill) -> &'static str {
        match self.is_trusted || skill.owner == SkillOwner::User {
            true => session_skills::state(skill),
            false => "not trusted",
        }
    }

    fn row(&self, skill: &Skill) -> Value {
        json!({
            "name": skill.name,
            "folder": skill.dir.display().to_string(),
            "owner": match skill.owner {
                SkillOwner::Project => "project",
                SkillOwner::User => "user",
            },
            "description": skill.file.description,
            "license": skill.file.license,
            "compatibility": skill.file.compatibility,
            "metadata": skill.file.metadata.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "allowed_tools": skill.file.allowed_tools,
            "state": self.state(skill),
            "faults": skill.file.faults,
        })
    }
}
