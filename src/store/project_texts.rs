//! The instructions of a project, and which of its texts go into a system prompt. They have a heading and a size limit, and count as data.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::open;
use crate::base::variables::MARVIN_PROJECT_TEXTS;
use crate::disk::beneath::Root;
use crate::disk::paths::Paths;

/// Size limit in bytes: they are part of every request.
const MAX_INSTRUCTIONS_BYTES: usize = 60_000;

/// What the writer of tests is told to write, among other things.
const WRITTEN_BY_CHILDREN: &str = ".marvin-instructions";

/// The texts of the project that the system prompt of a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectTexts {
    /// Instructions and documents.
    All,
    /// The instructions: the documents are in the prompt, where they are needed.
    Instructions,
    /// What the user has written about it, beside their own settings: nothing that lies in the project.
    OfUser,
    /// None: who judges one document by itself has to see nothing else.
    None,
}

impl ProjectTexts {
    const INSTRUCTIONS: &str = "instructions";
    const OF_USER: &str = "user";
    const NONE: &str = "none";

    /// As the environment says.
    pub(crate) fn of(env: &Env) -> Self {
        match MARVIN_PROJECT_TEXTS.read(env).map(str::trim) {
            Some(Self::INSTRUCTIONS) => Self::Instructions,
            Some(Self::OF_USER) => Self::OfUser,
            Some(Self::NONE) => Self::None,
            _ => Self::All,
        }
    }

    /// The value of the variable; `None` when it is not set.
    pub(crate) fn word(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Instructions => Some(Self::INSTRUCTIONS),
            Self::OfUser => Some(Self::OF_USER),
            Self::None => Some(Self::NONE),
        }
    }

    /// The same for a child of a process that holds those of `parent`: who was told to leave the project's alone has children that do. To hold none is of one
    /// child's task alone.
    pub(crate) fn beneath(self, parent: Self) -> Self {
        match (parent, self) {
            (Self::OfUser, Self::All | Self::Instructions) => Self::OfUser,
            (_, own) => own,
        }
    }
}

/// The project's instructions: the first of the three places of [`Paths::instructions`], else `AGENTS.md` (<https://agents.md>) from the directory
/// up to the repository's root; outside a repository, in the directory alone. Returns where they were found and their text.
///
/// A file that says nothing but how the tests are run is added to the next one instead of taking its place: the pipeline has one written where the
/// project had none. For a child (`is_child`) that is so whatever it says, because another child may have written it.
///
/// With [`ProjectTexts::OfUser`] only the first place is looked at, which is the user's.
///
/// Files of the project are read through the path fence, so no symlink there gets a file from elsewhere into a request.
pub(crate) fn instructions(
    paths: &Paths,
    root: &Root,
    is_child: bool,
    texts: ProjectTexts,
) -> Option<(PathBuf, String)> {
    let dir = root.path();
    if texts == ProjectTexts::None {
        return None;
    }
    if texts == ProjectTexts::OfUser {
        let path = paths.instructions_for(dir).ok()?;
        return read_own(&path).map(|text| (path, text));
    }
    let of_children = is_child.then(|| dir.join(WRITTEN_BY_CHILDREN));
    let places = paths.instructions(dir).into_iter().filter_map(|path| {
        let text = match path.strip_prefix(dir) {
            Ok(rel) => read_within(root, rel.to_str()?, MAX_INSTRUCTIONS_BYTES),
            Err(_) => read_own(&path),
        };
        text.map(|text| (path, text))
    });
    let mut command: Option<(PathBuf, String)> = None;
    for (path, text) in places.chain(std::iter::once_with(|| agents(root)).flatten()) {
        match command.take() {
            Some((_, command)) => return Some((path, format!("{}\n\n{text}", command.trim_end()))),
            None if is_test_command(&text) || of_children.as_ref() == Some(&path) => {
                command = Some((path, text));
            }
            None => return Some((path, text)),
        }
    }
    command
}

/// The command of a line such as `Test command: …`, with or without Markdown around it.
pub(crate) fn test_command(line: &str) -> Option<&str> {
    let line = line.trim().trim_start_matches(['-', '*', '#', ' ']);
    let (name, command) = line.split_once(':')?;
    let name = name.trim_matches(['*', ' ']);
    name.eq_ignore_ascii_case("test command")
        .then(|| command.trim_matches(['*', '`', ' ']))
}

/// Whether a text says how the tests are run, and nothing else.
fn is_test_command(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.all(|line| test_command(line).is_some())
}

fn agents(root: &Root) -> Option<(PathBuf, String)> {
    const NAME: &str = "AGENTS.md";
    let dir = root.path();
    if let Some(text) = read_within(root, NAME, MAX_INSTRUCTIONS_BYTES) {
        return Some((dir.join(NAME), text));
    }
    let top = dir.ancestors().find(|above| above.join(".git").exists())?;
    let between = dir
        .ancestors()
        .skip(1)
        .filter(|above| above.starts_with(top));
    for above in between {
        let path = above.join(NAME);
        if fs::symlink_metadata(&path).is_ok() {
            // A link may point to another place in the repository.
            let rel = path.strip_prefix(top).ok()?.to_str()?;
            if let Some(text) = read_within(&Root::open(top).ok()?, rel, MAX_INSTRUCTIONS_BYTES) {
                return Some((path, text));
            }
        }
    }
    None
}

/// A file of the project; `None` when it is absent, empty, no regular file, or a link out of the project.
fn read_within(root: &Root, rel: &str, cap: usize) -> Option<String> {
    // Usually the file is absent, and the check of a path looks at the whole tree.
    fs::symlink_metadata(root.path().join(rel)).ok()?;
    let file = root.open_read(&root.check(rel).ok()?).ok()?;
    read_capped(file, rel, cap)
}

/// The user's own file about the project; its links may point anywhere.
fn read_own(path: &Path) -> Option<String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    read_capped(open::read(path).ok()?, &name, MAX_INSTRUCTIONS_BYTES)
}

/// The first `cap` bytes of a file, with a note when there is more.
fn read_capped(file: fs::File, name: &str, cap: usize) -> Option<String> {
    let len = file.metadata().ok()?.len();
    let mut bytes = Vec::new();
    file.take(cap as u64 + 4).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut text = crate::base::text::head(&text, cap).to_owned();
    if len > text.len() as u64 {
        text.push_str(&format!(
            "\n[Cut: {len} bytes in all. Read the rest of {name} with read_file and a line range.]"
        ));
    }
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::paths::PROJECT_DOCUMENTS;
    use crate::store::project_documents;

    fn instructions(paths: &Paths, dir: &Path) -> Option<(PathBuf, String)> {
        super::instructions(paths, &Root::open(dir).unwrap(), false, ProjectTexts::All)
    }

    fn documents(dir: &Path) -> Vec<(&'static str, String)> {
        project_documents::documents(&Root::open(dir).unwrap(), &PROJECT_DOCUMENTS)
    }

    #[test]
    fn links_out_of_the_project_bring_nothing_in() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let paths = Paths::new(&Env::from([("HOME", home.to_str().unwrap())]));
        let link = |to: &str, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
        let repo = home.join("repo");
        let sub = repo.join("sub");
        fs::create_dir_all(repo.join(".git")).unwrap();
        fs::create_dir_all(sub.join(".marvin")).unwrap();
        fs::write(home.join("secret"), "secret").unwrap();
        link("../../secret", &sub.join(".marvin-instructions"));
        link("../../../secret", &sub.join(".marvin/instructions.md"));
        link("../../../secret", &sub.join(".marvin/spec.md"));
        link("../../secret", &sub.join("AGENTS.md"));
        link("../secret", &repo.join("AGENTS.md"));
        assert_eq!(instructions(&paths, &sub), None);
        assert_eq!(documents(&sub), []);
        fs::remove_file(repo.join("AGENTS.md")).unwrap();
        fs::write(repo.join("CLAUDE.md"), "shared").unwrap();
        link("CLAUDE.md", &repo.join("AGENTS.md"));
        assert_eq!(instructions(&paths, &sub).unwrap().1, "shared");
        // The user's own file may be a link.
        let own = paths.instructions_for(&sub).unwrap();
        fs::create_dir_all(own.parent().unwrap()).unwrap();
        link(home.join("secret").to_str().unwrap(), &own);
        assert_eq!(instructions(&paths, &sub).unwrap().1, "secret");
    }

    #[test]
    fn without_a_repository_folders_above_say_nothing() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(&Env::from([("HOME", home.path().to_str().unwrap())]));
        let dir = home.path().join("a");
        fs::create_dir(&dir).unwrap();
        fs::write(home.path().join("AGENTS.md"), "from above").unwrap();
        assert_eq!(instructions(&paths, &dir), None);
        fs::write(dir.join("AGENTS.md"), "here").unwrap();
        assert_eq!(instructions(&paths, &dir).unwrap().1, "here");
    }

    #[test]
    fn the_first_place_wins_and_agents_md_is_found_up_to_the_root() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(&Env::from([("HOME", home.path().to_str().unwrap())]));
        let repo = home.path().join("repo");
        let deep = repo.join("a/b");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(repo.join(".git")).unwrap();
        fs::write(home.path().join("AGENTS.md"), "outside").unwrap();
        assert_eq!(
            instructions(&paths, &deep),
            None,
            "not beyond the repository"
        );
        fs::write(repo.join("AGENTS.md"), "agents").unwrap();
        assert_eq!(instructions(&paths, &deep).unwrap().1, "agents");
        fs::create_dir_all(deep.join(".marvin")).unwrap();
        fs::write(deep.join(".marvin/instructions.md"), "inner").unwrap();
        assert_eq!(instructions(&paths, &deep).unwrap().1, "inner");
        fs::write(deep.join(".marvin-instructions"), "own").unwrap();
        assert_eq!(instructions(&paths, &deep).unwrap().1, "own");
        // What a child of a run wrote there hides nothing from the next one.
        let of_child =
            super::instructions(&paths, &Root::open(&deep).unwrap(), true, ProjectTexts::All);
        assert_eq!(of_child.unwrap().1, "own\n\ninner");
    }

    #[test]
    fn a_file_with_the_test_command_alone_hides_no_other_instructions() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::new(&Env::from([("HOME", home.path().to_str().unwrap())]));
        let dir = home.path().join("a");
        fs::create_dir(&dir).unwrap();
        let own = dir.join(".marvin-instructions");
        fs::write(&own, "\n- **Test command:** `sh run.sh`\n").unwrap();
        let alone = instructions(&paths, &dir).unwrap();
        assert_eq!(alone.0, own);
        fs::write(dir.join("AGENTS.md"), "Indent with tabs.\n").unwrap();
        let (path, text) = instructions(&paths, &dir).unwrap();
        assert_eq!(path, dir.join("AGENTS.md"));
        assert_eq!(
            text,
            "\n- **Test command:** `sh run.sh`\n\nIndent with tabs.\n"
        );
        fs::write(&own, "Test command: x\nNo tabs.").unwrap();
        let (path, text) = instructions(&paths, &dir).unwrap();
        assert_eq!((path, text.as_str()), (own, "Test command: x\nNo tabs."));
    }
}
