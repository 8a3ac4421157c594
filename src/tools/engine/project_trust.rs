//! Which of the things that a project brings along a session uses: what the user agreed to for good, or for this run.

use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use crate::disk::paths::Paths;
use crate::store::trusted_projects::{ProjectFolder, TrustItem, TrustKind, TrustedProjects};

/// Nothing but that the folder is trusted, as the Marvin above says it.
const FOLDER_ALONE: &str = "folder";

/// What is agreed to in this run, whatever the file of trusted projects says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum RunTrust {
    /// Nothing is said: the file counts.
    #[default]
    AsStored,
    /// All that the project has when the session begins.
    Everything,
    /// The servers that it has when the session begins; for the rest the file counts.
    Servers,
    /// The folder, and of what acts by itself what has one of these digests.
    Agreed(Vec<String>),
    Nothing,
}

impl RunTrust {
    /// What the Marvin above this one says; it is the only one whose word counts.
    pub(crate) fn of_parent(words: &str) -> Self {
        let mut words = words.split(',').map(str::trim);
        match words.next() {
            Some(FOLDER_ALONE) => Self::Agreed(words.map(str::to_owned).collect()),
            _ => Self::Nothing,
        }
    }
}

/// What a session uses of the project in which it began. A folder to which it moves later brings nothing.
#[derive(Debug, Default)]
pub(crate) struct SessionTrust {
    dir: OnceLock<PathBuf>,
    folder: OnceLock<ProjectFolder>,
    run: RwLock<RunTrust>,
    known: OnceLock<TrustedProjects>,
    left_out: OnceLock<String>,
}

impl SessionTrust {
    pub(crate) fn new(run: RunTrust) -> Self {
        Self {
            run: RwLock::new(run),
            ..Self::default()
        }
    }

    /// Sets the folder in which the session begins; later ones change nothing.
    pub(crate) fn begin_in(&self, dir: &Path) {
        let _ = self.dir.set(dir.to_owned());
    }

    /// The project in which the session began, if it began in one.
    pub(crate) fn folder(&self) -> Option<&ProjectFolder> {
        let dir = self.dir.get()?;
        Some(self.folder.get_or_init(|| ProjectFolder::around(dir)))
    }

    pub(crate) fn run(&self) -> RunTrust {
        let run = self.run.read().unwrap_or_else(PoisonError::into_inner);
        run.clone()
    }

    /// The user agrees to these for this session.
    pub(crate) fn agree(&self, items: &[TrustItem]) {
        let digests = items.iter().map(|item| item.digest.clone());
        self.set(RunTrust::Agreed(
            digests.filter(|digest| !digest.is_empty()).collect(),
        ));
    }

    /// The user agrees to nothing in this session.
    pub(crate) fn close(&self) {
        self.set(RunTrust::Nothing);
    }

    /// Notes what is not used, as the user was told.
    pub(crate) fn note_left_out(&self, words: String) {
        let _ = self.left_out.set(words);
    }

    /// What is not used, as the user was told.
    pub(crate) fn left_out(&self) -> Option<&str> {
        self.left_out.get().map(String::as_str)
    }

    fn set(&self, trust: RunTrust) {
        *self.run.write().unwrap_or_else(PoisonError::into_inner) = trust;
    }

    /// Whether the session may use something of its project: a hooks file or a server's entry with this digest, or its skills.
    pub(crate) fn agrees(&self, paths: &Paths, kind: TrustKind, digest: &str) -> bool {
        let Some(folder) = self.folder() else {
            return false;
        };
        match self.run() {
            RunTrust::Everything => true,
            RunTrust::Servers if kind == TrustKind::Server => true,
            RunTrust::AsStored | RunTrust::Servers => {
                self.known(paths).agrees(folder, kind, digest)
            }
            RunTrust::Agreed(digests) => {
                let is_text = kind == TrustKind::Skill && digest.is_empty();
                is_text || digests.iter().any(|known| known == digest)
            }
            RunTrust::Nothing => false,
        }
    }

    /// The file of trusted projects as it was when it was first needed. One that cannot be read trusts nothing.
    pub(crate) fn known(&self, paths: &Paths) -> &TrustedProjects {
        (self.known).get_or_init(|| TrustedProjects::read(paths).unwrap_or_default())
    }

    /// What a child is told that works for the project `its`, and decides for itself nothing; `None` where it may use nothing.
    pub(crate) fn for_child(&self, paths: &Paths, its: &ProjectFolder) -> Option<String> {
        // Another project brings what nobody was asked about.
        let folder = self.folder().filter(|folder| folder.speaks_for(its))?;
        let digests = match self.run() {
            RunTrust::Agreed(digests) => digests,
            RunTrust::AsStored | RunTrust::Servers => {
                let known = self.known(paths).of(folder);
                let known = known.filter(|known| known.agrees(TrustKind::Skill, ""))?;
                let digests = known.hooks.iter().chain(&known.servers);
                digests.chain(&known.skills).cloned().collect()
            }
            RunTrust::Everything | RunTrust::Nothing => return None,
        };
        let words = std::iter::once(FOLDER_ALONE.to_owned()).chain(digests);
        Some(words.collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Clock;
    use crate::base::env::Env;
    use crate::store::trusted_projects::{TrustDecision, decide};

    fn item(kind: TrustKind, digest: &str) -> TrustItem {
        TrustItem {
            kind,
            words: String::new(),
            digest: digest.to_owned(),
        }
    }

    #[test]
    fn a_run_decides_over_the_file_and_tells_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap())]);
        let (paths, clock) = (Paths::new(&env), Clock::new(&env));
        let folder = ProjectFolder::around(dir.path());
        let items = [item(TrustKind::Hook, "a"), item(TrustKind::Skill, "")];
        let stored = [items[0].clone(), item(TrustKind::Server, "s")];
        decide(&paths, &clock, &folder, TrustDecision::Trusted, &stored).unwrap();
        let in_folder = |run: RunTrust| {
            let trust = SessionTrust::new(run);
            assert!(
                !trust.agrees(&paths, TrustKind::Skill, "")
                    && trust.for_child(&paths, &folder).is_none()
            );
            trust.begin_in(dir.path());
            trust
        };
        let open = |trust: &SessionTrust| {
            [
                (TrustKind::Skill, ""),
                (TrustKind::Hook, "a"),
                (TrustKind::Hook, "b"),
                (TrustKind::Server, "s"),
            ]
            .map(|(kind, digest)| trust.agrees(&paths, kind, digest))
        };
        let as_stored = in_folder(RunTrust::AsStored);
        assert_eq!(open(&as_stored), [true, true, false, true]);
        assert_eq!(as_stored.for_child(&paths, &folder).unwrap(), "folder,a,s");
        let servers = SessionTrust::new(RunTrust::Servers);
        let other = tempfile::tempdir().unwrap();
        servers.begin_in(other.path());
        assert_eq!(open(&servers), [false, false, false, true]);
        // A folder within is the project's, a repository within is another one.
        for (inner, expected) in [("src", Some("folder,a,s")), ("vendor/.git", None)] {
            std::fs::create_dir_all(dir.path().join(inner)).unwrap();
            let inner = ProjectFolder::around(&dir.path().join(inner.trim_end_matches(".git")));
            let told = as_stored.for_child(&paths, &inner);
            assert_eq!(told.as_deref(), expected, "{inner:?}");
        }
        let elsewhere = ProjectFolder::around(other.path());
        assert_eq!(as_stored.for_child(&paths, &elsewhere), None);
        let nothing = in_folder(RunTrust::Nothing);
        assert_eq!(open(&nothing), [false; 4]);
        assert_eq!(nothing.for_child(&paths, &folder), None);
        nothing.agree(&items);
        assert_eq!(open(&nothing), [true, true, false, false]);
        assert_eq!(nothing.for_child(&paths, &folder).unwrap(), "folder,a");
        for (words, expected) in [
            ("folder,b", [true, false, true, false]),
            ("folder", [true, false, false, false]),
            ("", [false; 4]),
            ("a", [false; 4]),
        ] {
            assert_eq!(
                open(&in_folder(RunTrust::of_parent(words))),
                expected,
                "{words}"
            );
        }
        as_stored.close();
        assert_eq!(open(&as_stored), [false; 4]);
    }
}
