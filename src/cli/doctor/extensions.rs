//! Hooks, skills and what the current folder brings along.

use super::finding::{Finding, finding};
use crate::app::extensions;
use crate::app::settings::Settings;
use crate::cli::skills;
use crate::disk::paths::Paths;
use crate::store::skills::end_words;
use crate::store::trusted_projects::{ProjectFolder, TrustDecision, TrustedProjects};

/// The area of the findings.
const AREA: &str = "extension";

pub(super) fn findings(settings: &Settings) -> Vec<Finding> {
    let paths = Paths::new(&settings.env);
    let mut all = Vec::new();
    if let Some(read) = extensions::user_hooks(&paths) {
        all.push(match &read.hooks {
            Ok(hooks) => finding(
                AREA,
                "hooks",
                true,
                format!("{} in hooks.json", hooks.len()),
                "",
            ),
            Err(problem) => finding(
                AREA,
                "hooks",
                false,
                format!("hooks.json cannot be used: {}", problem.one_line()),
                "Fix the file; until then none of its hooks runs.",
            ),
        });
    }
    let found = skills::found(settings);
    for skill in &found.skills {
        let mut faults = skill.file.faults.clone();
        if let Some(other) = &skill.shadowed_by {
            faults.push(format!("{} has its name and counts.", other.display()));
        }
        if !faults.is_empty() {
            let state = format!("{}: {}", skill.dir.display(), faults.join(" "));
            let advice = "Change its SKILL.md or its folder's name.";
            all.push(finding(
                AREA,
                &format!("skill {}", skill.name),
                false,
                state,
                advice,
            ));
        }
    }
    if let Some(end) = &found.ended_at {
        let advice = "Remove skills that you do not use.";
        all.push(finding(AREA, "skills", false, end_words(end), advice));
    }
    all.extend(project(settings, &paths));
    let dir = settings.process.current.as_ref();
    if let Some(fault) = dir.and_then(|dir| extensions::project_fault(&ProjectFolder::around(dir)))
    {
        let advice = "Mend the file; marvin help hooks says what it may have.";
        all.push(finding(AREA, "project hooks", false, fault, advice));
    }
    all
}

/// What the current folder brings along, and whether it is open.
fn project(settings: &Settings, paths: &Paths) -> Option<Finding> {
    let dir = settings.process.current.as_ref()?;
    let folder = ProjectFolder::around(dir);
    let what = extensions::summary(&extensions::items(&folder, dir))?;
    let known = TrustedProjects::read(paths);
    let decision = match &known {
        Ok(known) => known.of(&folder).map(|known| known.decision),
        Err(_) => None,
    };
    let shared = folder.shared_with();
    let (ok, state) = match (decision, shared) {
        (Some(TrustDecision::Trusted), _) => (true, "trusted".to_owned()),
        (Some(TrustDecision::Refused), _) => (true, "refused, so it is not used".to_owned()),
        (None, Some(why)) => (true, format!("not used; only for a run, because {why}")),
        (None, None) => (
            true,
            "not used; marvin trust shows and trusts it".to_owned(),
        ),
    };
    Some(finding(AREA, "project", ok, format!("{what}: {state}"), ""))
}
