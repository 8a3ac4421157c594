//! The projects that the user trusts: `trusted-projects.json`, private, one entry for each folder.
//!
//! What a project brings along and what acts by itself (its hooks, its skills, its MCP servers) stays closed until the user has agreed. Agreement is with a
//! folder and with what lay in it: the entry has the SHA-256 of the hooks file and of each server's entry, so that what has changed is asked about again.
//! Skills are text, and go with the folder. A folder that others may write is never trusted for good, whatever the file says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest;
use serde_json::{Map, Value, json};

use crate::base::clock::Clock;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, STATE_CAP};
use crate::disk::paths::{PROJECT_HOOKS, PROJECT_SERVERS, PROJECT_SKILLS, Paths};
use crate::disk::{git_head, lock};

/// How long to wait for another process that is writing.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

const SKILLS: &str = "skills";
const HOOK_LINES: &str = "hook_lines";
const TRUSTED: &str = "trusted";
const REFUSED: &str = "refused";

/// A kind of thing that acts by itself once its project is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TrustKind {
    /// A command of the project's hooks file.
    Hook,
    /// An entry of its `.mcp.json`.
    Server,
    Skill,
}

impl TrustKind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Server => "MCP server",
            Self::Skill => "skill",
        }
    }
}

/// Something that a project brings along, as the user is asked about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrustItem {
    pub kind: TrustKind,
    /// A line: a hook's event and command, a server's command line or address, a skill's name.
    pub words: String,
    /// The SHA-256 that agreement is with: of the hooks file, of the server's entry, of the rules of a skill. Empty for a skill that is only text.
    pub digest: String,
}

/// The folder that agreement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectFolder {
    /// Without links.
    pub path: PathBuf,
    /// It is the top of a working tree, which nothing above it speaks for.
    is_repository: bool,
}

impl ProjectFolder {
    /// The folder of the project in which `dir` lies: the top of the working tree, else `dir` itself.
    pub(crate) fn around(dir: &Path) -> Self {
        let dir = fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
        match git_head::repository(&dir) {
            Some(top) => Self {
                path: top.to_owned(),
                is_repository: true,
            },
            None => Self {
                path: dir,
                is_repository: false,
            },
        }
    }

    /// Whether what was said about it counts for `other` too: for itself and, where it is no working tree, for the folders in it that are none.
    pub(crate) fn speaks_for(&self, other: &Self) -> bool {
        let own = self.path.to_str();
        *self == *other || (!self.is_repository && other.speaking().any(|path| own == Some(path)))
    }

    /// The folders whose entries count for it, the nearest first: a working tree stands for itself alone.
    fn speaking(&self) -> impl Iterator<Item = &str> {
        let count = match self.is_repository {
            true => 1,
            false => usize::MAX,
        };
        self.path.ancestors().take(count).filter_map(Path::to_str)
    }

    /// Why it cannot be trusted for good, as the end of a sentence: who else may change what was agreed to.
    pub(crate) fn shared_with(&self) -> Option<String> {
        // Not the skills one by one: what counts is who may put one there.
        let skills = PROJECT_SKILLS.map(Path::new);
        let above = skills.iter().filter_map(|skills| skills.parent());
        let files = [PROJECT_HOOKS, PROJECT_SERVERS].map(Path::new);
        let mut parts = above.chain(skills.iter().copied()).chain(files);
        self.part_shared_with(Path::new(""))
            .or_else(|| parts.find_map(|part| self.part_shared_with(part)))
    }

    fn part_shared_with(&self, part: &Path) -> Option<String> {
        let about = fs::metadata(self.path.join(part)).ok()?;
        let own = rustix::process::geteuid().as_raw();
        let name = match part.to_str() {
            None | Some("") => String::new(),
            Some(name) => format!(" ({name})"),
        };
        if about.uid() != own && about.uid() != 0 {
            return Some(format!(
                "it belongs to another user (number {}){name}",
                about.uid()
            ));
        }
        match about.mode() & 0o022 {
            0 => None,
            0o020 => Some(format!("its group may write there{name}")),
            _ => Some(format!("everybody may write there{name}")),
        }
    }

    /// The words about it where it cannot be trusted for good.
    fn refusal(&self) -> Option<Problem> {
        let path = self.path.display();
        if self.path.to_str().is_none() {
            return Some(Problem::input(format!(
                "{path} cannot be trusted for good: its name is not UTF-8."
            )));
        }
        self.shared_with().map(|why| {
            Problem::refused(format!("{path} cannot be trusted for good: {why}."))
                .next("Make it yours alone (chmod go-w), or trust it for a run: --trust-project.")
        })
    }
}

/// What the user said about a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustDecision {
    Trusted,
    Refused,
}

impl TrustDecision {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Trusted => TRUSTED,
            Self::Refused => REFUSED,
        }
    }
}

/// The entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectTrust {
    pub decision: TrustDecision,
    /// The day, such as `2026-11-23`.
    pub since: String,
    /// The SHA-256 of the hooks file that was agreed to.
    pub hooks: Option<String>,
    /// The SHA-256 of each entry of a server that was agreed to.
    pub servers: Vec<String>,
    /// The hooks that were agreed to, as the user saw them: a later question shows what is new.
    pub hook_lines: Vec<String>,
    /// The SHA-256 of the rules of each skill that has some.
    pub skills: Vec<String>,
}

impl ProjectTrust {
    fn parse(entry: &Value) -> Option<Self> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let texts = |key: &str| -> Vec<String> {
            let texts = entry.get(key).and_then(Value::as_array);
            let texts = texts.into_iter().flatten().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        };
        Some(Self {
            decision: match text("decision")?.as_str() {
                TRUSTED => TrustDecision::Trusted,
                REFUSED => TrustDecision::Refused,
                _ => return None,
            },
            since: text("since").unwrap_or_default(),
            hooks: text("hooks"),
            servers: texts("mcp"),
            hook_lines: texts(HOOK_LINES),
            skills: texts(SKILLS),
        })
    }

    /// Whether something of this kind was agreed to.
    pub(crate) fn agrees(&self, kind: TrustKind, digest: &str) -> bool {
        self.decision == TrustDecision::Trusted
            && match kind {
                TrustKind::Hook => self.hooks.as_deref() == Some(digest),
                TrustKind::Server => self.servers.iter().any(|known| known == digest),
                TrustKind::Skill => {
                    digest.is_empty() || self.skills.iter().any(|known| known == digest)
                }
            }
    }
}

/// The file, read.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedProjects {
    projects: BTreeMap<String, ProjectTrust>,
}

impl TrustedProjects {
    /// The file as it is now.
    ///
    /// # Errors
    /// It cannot be read or understood; nothing is trusted then.
    pub(crate) fn read(paths: &Paths) -> Outcome<Self> {
        let path = paths.trusted_projects()?;
        let Some(bytes) = atomic::read(&path, STATE_CAP)? else {
            return Ok(Self::default());
        };
        let file = parse(&path, &bytes)?;
        let projects = file.get("projects").and_then(Value::as_object);
        let projects = projects.into_iter().flatten();
        let projects = projects
            .filter_map(|(folder, entry)| Some((folder.clone(), ProjectTrust::parse(entry)?)));
        Ok(Self {
            projects: projects.collect(),
        })
    }

    /// What was said about a folder, where that still counts.
    pub(crate) fn of(&self, folder: &ProjectFolder) -> Option<&ProjectTrust> {
        let entry = folder.speaking().find_map(|path| self.projects.get(path));
        entry.filter(|entry| {
            entry.decision == TrustDecision::Refused || folder.shared_with().is_none()
        })
    }

    /// Whether the user agreed to something of a project: a hooks file or a server's entry with this digest, or its skills.
    pub(crate) fn agrees(&self, folder: &ProjectFolder, kind: TrustKind, digest: &str) -> bool {
        self.of(folder)
            .is_some_and(|entry| entry.agrees(kind, digest))
    }

    /// Every folder and what was said about it.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, &ProjectTrust)> {
        let all = self.projects.iter();
        all.map(|(folder, trust)| (folder.as_str(), trust))
    }
}

/// Keeps what the user said about a folder; with trust, what of it they agreed to. Returns a notice where the file could not be understood and was moved aside.
///
/// # Errors
/// The folder cannot be trusted for good; the file cannot be written.
pub(crate) fn decide(
    paths: &Paths,
    clock: &Clock,
    folder: &ProjectFolder,
    decision: TrustDecision,
    items: &[TrustItem],
) -> Outcome<Option<String>> {
    if decision == TrustDecision::Trusted
        && let Some(refusal) = folder.refusal()
    {
        return Err(refusal);
    }
    let of = |kind: TrustKind| items.iter().filter(move |item| item.kind == kind);
    let name = folder.path.to_string_lossy().into_owned();
    let since = clock.now().date().to_string();
    update(paths, clock, |projects| {
        let entry = projects.entry(name).or_insert_with(|| json!({}));
        if !entry.is_object() {
            *entry = json!({});
        }
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("decision".to_owned(), Value::from(decision.word()));
            entry.insert("since".to_owned(), Value::from(since));
            entry.shift_remove("hooks");
            entry.shift_remove("mcp");
            entry.shift_remove(HOOK_LINES);
            entry.shift_remove(SKILLS);
            if decision == TrustDecision::Trusted {
                if let Some(hook) = of(TrustKind::Hook).next() {
                    let lines: Vec<&str> = of(TrustKind::Hook)
                        .map(|hook| hook.words.as_str())
                        .collect();
                    entry.insert("hooks".to_owned(), Value::from(hook.digest.as_str()));
                    entry.insert(HOOK_LINES.to_owned(), Value::from(lines));
                }
                let servers: Vec<&str> = of(TrustKind::Server)
                    .map(|server| server.digest.as_str())
                    .collect();
                if !servers.is_empty() {
                    entry.insert("mcp".to_owned(), Value::from(servers));
                }
                let skills: Vec<&str> = of(TrustKind::Skill)
                    .map(|skill| skill.digest.as_str())
                    .filter(|digest| !digest.is_empty())
                    .collect();
                if !skills.is_empty() {
                    entry.insert(SKILLS.to_owned(), Value::from(skills));
                }
            }
        }
        true
    })
}

/// Forgets what was said about a folder, given by its path as the file has it. False where nothing was said.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn forget(paths: &Paths, clock: &Clock, folder: &Path) -> Outcome<bool> {
    let mut was_known = false;
    let name = folder.to_string_lossy();
    update(paths, clock, |projects| {
        was_known = projects.shift_remove(name.as_ref()).is_some();
        was_known
    })?;
    Ok(was_known)
}

/// The SHA-256 of what was agreed to, as the file has it.
pub(crate) fn digest(bytes: &[u8]) -> String {
    let digest = digest::digest(&digest::SHA256, bytes);
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Changes the entries under the file's lock; nothing is written where `change` says that nothing has changed.
fn update(
    paths: &Paths,
    clock: &Clock,
    change: impl FnOnce(&mut Map<String, Value>) -> bool,
) -> Outcome<Option<String>> {
    let path = paths.trusted_projects()?;
    let mut notice = None;
    lock::update(&path, LOCK_TIMEOUT, |old| {
        let mut file = match old.map(|bytes| parse(&path, &bytes)) {
            Some(Ok(file)) => file,
            Some(Err(problem)) => {
                notice = Some(atomic::set_aside(&path, clock, &problem.what)?);
                Map::new()
            }
            None => Map::new(),
        };
        let projects = file.entry("projects").or_insert_with(|| json!({}));
        if !projects.is_object() {
            *projects = json!({});
        }
        let has_changed = projects.as_object_mut().is_some_and(change);
        let text = serde_json::to_vec_pretty(&file).map_err(|error| {
            Problem::internal("The trusted projects are not JSON.").because(error)
        });
        has_changed
            .then(|| {
                text.map(|mut text| {
                    text.push(b'\n');
                    text
                })
            })
            .transpose()
    })?;
    Ok(notice)
}

fn parse(path: &Path, bytes: &[u8]) -> Outcome<Map<String, Value>> {
    serde_json::from_slice(bytes).map_err(|error| {
        Problem::config(format!("{} cannot be understood: {error}.", path.display()))
            .next(
                "Fix the file; until then no project is trusted. The next decision moves it aside.",
            )
            .because(error)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::base::env::Env;
    use crate::store::home;

    fn clock() -> Clock {
        Clock::new(&Env::from([(
            "MARVIN_NOW",
            "2026-11-23T10:00:00+00:00[UTC]",
        )]))
    }

    fn private(dir: PathBuf) -> PathBuf {
        fs::create_dir_all(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        dir.canonicalize().unwrap()
    }

    fn item(kind: TrustKind, digest: &str) -> TrustItem {
        TrustItem {
            kind,
            words: String::new(),
            digest: digest.to_owned(),
        }
    }

    fn agrees(paths: &Paths, dir: &Path, kind: TrustKind, digest: &str) -> bool {
        let known = TrustedProjects::read(paths).unwrap();
        known.agrees(&ProjectFolder::around(dir), kind, digest)
    }

    #[test]
    fn agreement_is_with_a_folder_and_with_what_lay_in_it() {
        use TrustKind::{Hook, Server, Skill};
        let (dir, paths) = home();
        let repo = private(dir.path().join("repo"));
        private(repo.join(".git"));
        let folder = ProjectFolder::around(&repo);
        for kind in [Hook, Server, Skill] {
            assert!(!agrees(&paths, &repo, kind, "a"));
        }
        let items = [
            item(Hook, "a"),
            item(Hook, "a"),
            item(Server, "s1"),
            item(Server, "s2"),
            item(Skill, ""),
        ];
        decide(&paths, &clock(), &folder, TrustDecision::Trusted, &items).unwrap();
        let written = fs::read_to_string(paths.trusted_projects().unwrap()).unwrap();
        let written: Value = serde_json::from_str(&written).unwrap();
        let expected = json!({"decision": "trusted", "since": "2026-11-23", "hooks": "a", "hook_lines": ["", ""], "mcp": ["s1", "s2"]});
        assert_eq!(written["projects"][repo.to_str().unwrap()], expected);
        let mode = fs::metadata(paths.trusted_projects().unwrap())
            .unwrap()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let sub = private(repo.join("sub"));
        let link = dir.path().join("link");
        symlink(&sub, &link).unwrap();
        for place in [&repo, &sub, &link] {
            assert!(agrees(&paths, place, Hook, "a") && agrees(&paths, place, Skill, ""));
            assert!(agrees(&paths, place, Server, "s2"));
            assert!(!agrees(&paths, place, Hook, "b") && !agrees(&paths, place, Server, "a"));
        }
        // A repository in it asks for itself.
        let inner = private(repo.join("vendor/inner"));
        assert!(agrees(&paths, &inner, Skill, ""));
        private(inner.join(".git"));
        assert!(!agrees(&paths, &inner, Skill, ""));
        // So does the worktree of another branch, whose .git is a file.
        let linked = private(dir.path().join("linked"));
        fs::write(
            linked.join(".git"),
            format!("gitdir: {}\n", repo.join(".git").display()),
        )
        .unwrap();
        assert!(!agrees(&paths, &linked, Skill, ""));
        decide(&paths, &clock(), &folder, TrustDecision::Refused, &items).unwrap();
        assert!(!agrees(&paths, &repo, Hook, "a"));
        let known = TrustedProjects::read(&paths).unwrap();
        assert_eq!(known.of(&folder).unwrap().decision, TrustDecision::Refused);
        assert!(forget(&paths, &clock(), &repo).unwrap());
        assert!(!forget(&paths, &clock(), &repo).unwrap());
        assert!(TrustedProjects::read(&paths).unwrap().of(&folder).is_none());
    }

    #[test]
    fn a_folder_without_a_repository_speaks_for_those_in_it() {
        let (dir, paths) = home();
        let project = private(dir.path().join("project"));
        let folder = ProjectFolder::around(&project);
        decide(&paths, &clock(), &folder, TrustDecision::Trusted, &[]).unwrap();
        let sub = private(project.join("a/b"));
        assert!(agrees(&paths, &sub, TrustKind::Skill, ""));
        assert!(!agrees(&paths, dir.path(), TrustKind::Skill, ""));
    }

    #[test]
    fn what_others_may_write_is_never_trusted_for_good() {
        let (dir, paths) = home();
        let project = private(dir.path().join("project"));
        let folder = ProjectFolder::around(&project);
        decide(&paths, &clock(), &folder, TrustDecision::Trusted, &[]).unwrap();
        for (mode, words) in [
            (0o775, "its group"),
            (0o757, "everybody"),
            (0o777, "everybody"),
        ] {
            fs::set_permissions(&project, fs::Permissions::from_mode(mode)).unwrap();
            assert!(!agrees(&paths, &project, TrustKind::Skill, ""));
            let problem =
                decide(&paths, &clock(), &folder, TrustDecision::Trusted, &[]).unwrap_err();
            assert!(problem.what.contains(words), "{problem}");
        }
        // No is kept all the same.
        decide(&paths, &clock(), &folder, TrustDecision::Refused, &[]).unwrap();
        let known = TrustedProjects::read(&paths).unwrap();
        assert_eq!(known.of(&folder).unwrap().decision, TrustDecision::Refused);
    }

    #[test]
    fn a_broken_file_trusts_nothing_and_is_moved_aside_by_the_next_decision() {
        let (dir, paths) = home();
        let project = private(dir.path().join("project"));
        let path = paths.trusted_projects().unwrap();
        for broken in ["{\"projects\": {", "[]", "\u{0}"] {
            fs::write(&path, broken).unwrap();
            assert!(TrustedProjects::read(&paths).is_err(), "{broken}");
            let folder = ProjectFolder::around(&project);
            let notice = decide(&paths, &clock(), &folder, TrustDecision::Trusted, &[]).unwrap();
            assert!(notice.unwrap().contains("was moved to"));
            assert!(agrees(&paths, &project, TrustKind::Skill, ""));
        }
        // What is strange in it agrees to nothing; foreign keys stay.
        let name = project.to_str().unwrap();
        let odd =
            json!({"later": 1, "projects": {name: {"decision": "maybe", "note": 5}, "/x": 7}});
        fs::write(&path, odd.to_string()).unwrap();
        assert!(!agrees(&paths, &project, TrustKind::Skill, ""));
        let folder = ProjectFolder::around(&project);
        decide(&paths, &clock(), &folder, TrustDecision::Trusted, &[]).unwrap();
        let written: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(written["later"], 1);
        assert_eq!(written["projects"][name]["note"], 5);
        assert_eq!(written["projects"]["/x"], 7);
    }

    #[test]
    fn a_digest_is_sha_256_in_hexadecimal() {
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), expected);
    }
}
