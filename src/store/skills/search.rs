//! Where skills are found, and which of one name counts.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::skill::{SKILL_FILE, Skill, SkillOwner, head};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::escape_controls;
use crate::disk::paths::{PROJECT_SKILLS, Paths};
use crate::formats::skill_file::{SkillFile, is_name};
use crate::store::trusted_projects::ProjectFolder;

/// Skills that are found.
pub(super) const MAX_SKILLS: usize = 200;
/// Folders that are looked into for them.
const MAX_FOLDERS: usize = 2_000;
/// Entries of a folder that are read, before their order decides which of them count.
const MAX_ENTRIES: usize = 100_000;
/// How deep a skill may lie below its place.
const MAX_DEPTH: usize = 4;
/// Folders that hold no skills.
const PASSED_OVER: [&str; 2] = ["node_modules", ".git"];

/// A place where skills may lie.
struct SkillPlace {
    dir: PathBuf,
    owner: SkillOwner,
    /// What links may not leave: each of them stays in one of these.
    within: Vec<PathBuf>,
}

/// The skills of a project, seen from `dir`: those of that folder first, then of each above it up to the project's own.
fn project_places(dir: &Path, folder: &ProjectFolder) -> Vec<SkillPlace> {
    let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    let above = dir
        .ancestors()
        .take_while(|dir| dir.starts_with(&folder.path));
    above
        .flat_map(|above| PROJECT_SKILLS.map(|name| above.join(name)))
        .map(|dir| SkillPlace {
            dir,
            owner: SkillOwner::Project,
            within: vec![folder.path.clone()],
        })
        .collect()
}

fn user_places(paths: &Paths) -> Vec<SkillPlace> {
    let home = || paths.home().ok().map(Path::to_owned);
    let place = |dir: PathBuf, within: Vec<PathBuf>| SkillPlace {
        dir,
        owner: SkillOwner::User,
        within,
    };
    let shared = paths.shared_skills().ok();
    let shared = shared.map(|dir| place(dir, home().into_iter().collect()));
    // The configuration may lie elsewhere than in the home directory.
    let own = paths.skills().ok();
    let own = own.map(|dir| place(dir.clone(), home().into_iter().chain([dir]).collect()));
    shared.into_iter().chain(own).collect()
}

/// The skills of a project, in the order in which they count.
pub(crate) fn of_project(dir: &Path, folder: &ProjectFolder) -> Vec<Skill> {
    let mut search = SkillSearch::default();
    search.look_in(project_places(dir, folder), Some(&folder.path));
    search.found
}

/// All skills that count here: those of the project first, if it is one that may bring them along.
pub(crate) fn all(paths: &Paths, project: Option<(&Path, &ProjectFolder)>) -> Vec<Skill> {
    all_and_end(paths, project).0
}

/// [`all`], and the folder at which the search ended early, if it did: what comes after is not found.
pub(crate) fn all_and_end(
    paths: &Paths,
    project: Option<(&Path, &ProjectFolder)>,
) -> (Vec<Skill>, Option<PathBuf>) {
    let mut search = SkillSearch::default();
    if let Some((dir, folder)) = project {
        search.look_in(project_places(dir, folder), Some(&folder.path));
    }
    search.look_in(user_places(paths), None);
    (search.found, search.ended_at)
}

/// What is told where the search ended early.
pub(crate) fn end_words(end: &Path) -> String {
    format!(
        "At most {MAX_SKILLS} skills are found, in at most {MAX_FOLDERS} folders: {} and what comes after it is left out.",
        escape_controls(&end.display().to_string())
    )
}

#[derive(Default)]
struct SkillSearch {
    found: Vec<Skill>,
    /// Folders that were looked into, without links.
    seen: BTreeSet<PathBuf>,
    /// The first folder that was too much.
    ended_at: Option<PathBuf>,
}

impl SkillSearch {
    fn look_in(&mut self, places: Vec<SkillPlace>, project: Option<&Path>) {
        for place in places {
            if !place.dir.is_dir() {
                continue;
            }
            let ignored = project.map(|top| ignored_beneath(top, &place.dir));
            if let Some(dir) = inside(&place.dir, &place.within) {
                self.look(&place, &dir, ignored.as_ref(), 0);
            }
        }
    }

    fn look(&mut self, place: &SkillPlace, dir: &Path, ignored: Option<&Gitignore>, depth: usize) {
        let is_ignored = |path: &Path| {
            ignored.is_some_and(|rules| {
                path.strip_prefix(rules.path()).is_ok()
                    && rules.matched_path_or_any_parents(path, true).is_ignore()
            })
        };
        if self.seen.len() >= MAX_FOLDERS {
            self.ended_at.get_or_insert_with(|| dir.to_owned());
            return;
        }
        if !self.seen.insert(dir.to_owned()) || is_ignored(dir) {
            return;
        }
        if depth > 0 && self.take(place, dir) {
            return;
        }
        let Ok(entries) = fs::read_dir(dir) else {
            return;
        };
        let mut below: Vec<(PathBuf, bool)> = entries
            .flatten()
            .take(MAX_ENTRIES)
            .filter_map(|entry| {
                let kind = entry.file_type().ok()?;
                (kind.is_dir() || kind.is_symlink()).then(|| (entry.path(), kind.is_symlink()))
            })
            .collect();
        below.shared_sort_by(Ord::cmp);
        for (path, is_link) in below {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if depth == MAX_DEPTH || PASSED_OVER.contains(&name.as_ref()) {
                continue;
            }
            if self.found.len() >= MAX_SKILLS {
                self.ended_at.get_or_insert(path);
                return;
            }
            match is_link {
                false => self.look(place, &path, ignored, depth + 1),
                // Followed once: what lies behind it is a skill, or nothing is.
                true => {
                    let behind = inside(&path, &place.within).filter(|dir| dir.is_dir());
                    if let Some(dir) = behind
                        && self.seen.insert(dir.clone())
                    {
                        self.take_as(place, &dir, &name);
                    }
                }
            }
        }
    }

    /// Takes a folder that is a skill; false where it is none.
    fn take(&mut self, place: &SkillPlace, dir: &Path) -> bool {
        let name = dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self.take_as(place, dir, &name)
    }

    fn take_as(&mut self, place: &SkillPlace, dir: &Path, name: &str) -> bool {
        let Some(text) = head(&dir.join(SKILL_FILE)) else {
            return false;
        };
        let mut file = SkillFile::parse(&text);
        let is_nameless = !is_name(name);
        if is_nameless {
            file.faults.push(
                "Its folder's name cannot be a skill's: lowercase letters, digits and single hyphens, 64 at most."
                    .to_owned(),
            );
        } else if !file.name.is_empty() && file.name != name {
            file.faults
                .push("Its name is not that of its folder, which counts.".to_owned());
        }
        let before = self
            .found
            .iter()
            .find(|skill| skill.is_usable() && skill.name == name);
        let shadowed_by = before.map(|skill| skill.dir.clone());
        self.found.push(Skill {
            name: name.to_owned(),
            dir: dir.to_owned(),
            owner: place.owner,
            file,
            shadowed_by,
            is_nameless,
        });
        true
    }
}

/// The path without links, if that is still inside one of these.
fn inside(path: &Path, within: &[PathBuf]) -> Option<PathBuf> {
    let path = fs::canonicalize(path).ok()?;
    let mut within = within.iter().flat_map(fs::canonicalize);
    within
        .any(|within| path.starts_with(&within))
        .then_some(path)
}

/// What git passes over on the way from the project's top to a place, by the files that say so.
fn ignored_beneath(top: &Path, place: &Path) -> Gitignore {
    let mut rules = GitignoreBuilder::new(top);
    let between = place.ancestors().take_while(|dir| dir.starts_with(top));
    let mut between: Vec<&Path> = between.collect();
    between.reverse();
    for dir in between {
        let file = dir.join(".gitignore");
        if file.is_file() {
            rules.add(file);
        }
    }
    rules.build().unwrap_or_else(|_| Gitignore::empty())
}
