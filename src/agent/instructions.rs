//! Texts that a project gives Marvin: its instructions and documents. Data with a heading, capped, never orders from nowhere.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::disk::paths::Paths;

/// Most bytes of one such text, and of all documents together (contract/interfaces.md 11).
const CAP: usize = 60_000;

/// The project's instructions: the first of the contract's three places, else `AGENTS.md` from the directory up to the
/// repository's root (contract/interfaces.md 10.2, decisions.md 13). Returns where they stand and what they say.
pub fn instructions(paths: &Paths, dir: &Path) -> Option<(PathBuf, String)> {
    let found = paths
        .instructions(dir)
        .into_iter()
        .find_map(|path| read_capped(&path, CAP).map(|text| (path, text)));
    found.or_else(|| {
        for dir in dir.ancestors() {
            let path = dir.join("AGENTS.md");
            if let Some(text) = read_capped(&path, CAP) {
                return Some((path, text));
            }
            if dir.join(".git").exists() {
                break;
            }
        }
        None
    })
}

/// The project's specification, interface and design documents that exist, within one cap for all.
pub fn documents(dir: &Path) -> Vec<(&'static str, String)> {
    let mut left = CAP;
    let mut found = Vec::new();
    for name in [".marvin/spec.md", ".marvin/ux.md", ".marvin/design.md"] {
        if let Some(text) = read_capped(&dir.join(name), left) {
            left = left.saturating_sub(text.len());
            found.push((name, text));
        }
    }
    found
}

/// The file's text up to `cap` bytes, with a note when more is there. Only regular files; `None` when absent or empty.
fn read_capped(path: &Path, cap: usize) -> Option<String> {
    let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    fs::File::open(path)
        .ok()?
        .take(cap as u64 + 4)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let mut text = crate::base::text::head(&text, cap).to_owned();
    if meta.len() > text.len() as u64 {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        text.push_str(&format!(
            "\n[Cut: {} bytes in all. Read the rest of {name} with read_file and a line range.]",
            meta.len()
        ));
    }
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;

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
    }

    #[test]
    fn documents_share_one_cap() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".marvin")).unwrap();
        fs::write(dir.path().join(".marvin/spec.md"), "é".repeat(40_000)).unwrap();
        fs::write(dir.path().join(".marvin/design.md"), "d").unwrap();
        let found = documents(dir.path());
        assert!(found[0].1.contains("[Cut: 80000 bytes in all."));
        assert!(found[0].1.len() < CAP + 200);
    }
}
