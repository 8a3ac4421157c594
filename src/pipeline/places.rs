//! [`RunPlaces`]: where a run keeps its documents, its state and its logs. Made once for each run and handed on; nobody else makes such a path.
//!
//! A run of the project itself keeps everything in Marvin's folder. That of a feature has its documents and its state in `specs/NNN-name`, where they are
//! committed with its code, and its logs in a folder of that name below the project's.

use std::sync::Arc;

use crate::base::own_command;
use crate::disk::beneath::Root;
use crate::disk::paths::{
    FEATURE_TESTS, FEATURES, PIPELINE_STATE, PIPELINE_TASK, PROJECT_FOLDER, PROJECT_LOGS,
    REVIEW_HISTORY,
};

/// A document that the pipeline writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentKind {
    /// The product specification.
    Spec,
    /// The user experience.
    Ux,
    /// Architecture and test plan.
    Design,
}

impl DocumentKind {
    /// Every one, in the order in which they are written.
    pub(crate) const ALL: [Self; 3] = [Self::Spec, Self::Ux, Self::Design];

    /// The name of its file, also in messages and histories.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec.md",
            Self::Ux => "ux.md",
            Self::Design => "design.md",
        }
    }
}

/// Where a run keeps what, by paths from its project.
#[derive(Debug, Clone)]
pub(crate) struct RunPlaces {
    /// The project.
    pub root: Arc<Root>,
    /// `NNN-name` of the feature; empty for the project itself.
    feature: String,
}

impl RunPlaces {
    /// Those of the project itself.
    pub(crate) fn of_project(root: Arc<Root>) -> Self {
        Self {
            root,
            feature: String::new(),
        }
    }

    /// Those of the feature with the folder `feature`; of the project itself when that is empty.
    pub(crate) fn of_feature(root: Arc<Root>, feature: &str) -> Self {
        Self {
            root,
            feature: feature.to_owned(),
        }
    }

    #[cfg(test)]
    pub(crate) fn at(dir: &std::path::Path) -> Self {
        Self::of_project(Arc::new(Root::open(dir).unwrap()))
    }

    /// `NNN-name` of the feature, if it is one.
    pub(crate) fn feature(&self) -> Option<&str> {
        (!self.feature.is_empty()).then_some(self.feature.as_str())
    }

    /// A command about the run: `words` follow `marvin pipeline`.
    pub(crate) fn command(&self, words: &[&str]) -> String {
        let feature = self.feature().map(|name| ["--feature", name]);
        let all = ["pipeline"].iter().chain(words).copied();
        let all: Vec<&str> = all.chain(feature.into_iter().flatten()).collect();
        own_command::about(self.root.path(), &all)
    }

    /// The folder of documents, histories and state.
    pub(crate) fn folder(&self) -> String {
        match self.feature() {
            Some(feature) => format!("{FEATURES}/{feature}"),
            None => PROJECT_FOLDER.to_owned(),
        }
    }

    fn beside_documents(&self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }

    pub(crate) fn document(&self, kind: DocumentKind) -> String {
        self.beside_documents(kind.name())
    }

    pub(crate) fn documents(&self) -> [String; 3] {
        DocumentKind::ALL.map(|kind| self.document(kind))
    }

    /// The last phase that is done.
    pub(crate) fn state(&self) -> String {
        self.beside_documents(PIPELINE_STATE)
    }

    /// The task for which the state and the documents are. Committed with them: a clone has it.
    pub(crate) fn task(&self) -> String {
        self.beside_documents(PIPELINE_TASK)
    }

    /// The list of a feature's tests.
    pub(crate) fn tests(&self) -> Option<String> {
        self.feature().map(|_| self.beside_documents(FEATURE_TESTS))
    }

    /// The history of the reviews of `subject`.
    pub(crate) fn history(&self, subject: &str) -> String {
        self.beside_documents(&format!("{REVIEW_HISTORY}{subject}.md"))
    }

    /// The folder of logs and of what is no part of the project's commits.
    pub(crate) fn logs(&self) -> String {
        match self.feature() {
            Some(feature) => format!("{PROJECT_LOGS}/{feature}"),
            None => PROJECT_LOGS.to_owned(),
        }
    }

    /// A file in that folder.
    pub(crate) fn log(&self, name: &str) -> String {
        format!("{}/{name}", self.logs())
    }

    /// What children leave alone, as their prompts say it.
    pub(crate) fn own_folders(&self) -> String {
        match self.feature() {
            Some(_) => format!("`{PROJECT_FOLDER}/`, `{FEATURES}/` and `.git/`"),
            None => format!("`{PROJECT_FOLDER}/` and `.git/`"),
        }
    }
}

/// Whether a file of the project, by its path, is the pipeline's own and no code: state, histories and documents of the project or of a feature.
pub(crate) fn is_own(path: &str) -> bool {
    is_of_feature(path) || path.split('/').next() == Some(PROJECT_FOLDER)
}

/// Whether `path` is a file that runs keep in a feature's folder. Other files there are somebody else's.
pub(crate) fn is_of_feature(path: &str) -> bool {
    let mut parts = path.split('/');
    let (Some(FEATURES), Some(folder), Some(name), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    number(folder).is_some()
        && (is_document(name)
            || name == PIPELINE_STATE
            || name == PIPELINE_TASK
            || name == FEATURE_TESTS
            || name.starts_with(REVIEW_HISTORY))
}

/// Whether `path` is a document of the project or of a feature.
pub(crate) fn is_document_path(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return false;
    };
    is_document(name) && (folder == PROJECT_FOLDER || is_of_feature(path))
}

fn is_document(name: &str) -> bool {
    DocumentKind::ALL.iter().any(|kind| kind.name() == name)
}

/// The number of a feature's folder, `NNN-name`; `None` for other names.
pub(crate) fn number(folder: &str) -> Option<u32> {
    let (number, name) = folder.split_once('-')?;
    let is_number = number.len() >= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !name.is_empty()).then(|| number.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_keeps_everything_in_its_folder_and_the_project_in_marvins() {
        let dir = tempfile::tempdir().unwrap();
        let project = RunPlaces::at(dir.path());
        let all = |places: &RunPlaces| {
            let mut all = places.documents().to_vec();
            all.extend([
                places.state(),
                places.history("code"),
                places.log("phase.json"),
            ]);
            all.extend(places.tests());
            all.join(" ")
        };
        assert_eq!(
            all(&project),
            ".marvin/spec.md .marvin/ux.md .marvin/design.md .marvin/pipeline_state .marvin/review-history-code.md .marvin/logs/phase.json"
        );
        let feature = RunPlaces::of_feature(project.root, "002-login");
        assert_eq!(
            all(&feature),
            "specs/002-login/spec.md specs/002-login/ux.md specs/002-login/design.md specs/002-login/pipeline_state specs/002-login/review-history-code.md .marvin/logs/002-login/phase.json specs/002-login/tests.md"
        );
        let documents = feature.documents();
        assert!(documents.iter().all(|path| is_document_path(path)));
        assert!(is_of_feature(&feature.state()) && !is_document_path(&feature.state()));
    }

    #[test]
    fn only_the_files_of_a_run_are_its_own_in_a_folder_of_specs() {
        for path in [
            "specs/001-login/login.spec.js",
            "specs/login/spec.md",
            "specs/001-login/more/spec.md",
            "specs/spec.md",
            "specs/01-login/spec.md",
            "src/specs/001-login/spec.md",
        ] {
            assert!(!is_own(path) && !is_document_path(path), "{path}");
        }
        assert_eq!(number("1204-x"), Some(1204));
        assert_eq!((number("001-"), number("9999999999-x")), (None, None));
    }
}
