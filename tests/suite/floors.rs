//! The floors of the house: a file imports only its own folder and lower floors.

use std::path::Path;

/// Folders and their floor; siblings on one floor do not know each other.
const FLOORS: [(&str, u8); 10] = [
    ("base", 0),
    ("disk", 1),
    ("net", 1),
    ("proc", 1),
    ("chat", 2),
    ("llm", 3),
    ("tools", 4),
    ("agent", 5),
    ("app", 6),
    ("cli", 7),
];

fn floor(name: &str) -> Option<u8> {
    FLOORS
        .iter()
        .find(|(folder, _)| *folder == name)
        .map(|(_, floor)| *floor)
}

fn sources(dir: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn nothing_reaches_up_or_sideways() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut wrong = Vec::new();
    for path in files {
        let here = path
            .strip_prefix(&src)
            .unwrap()
            .components()
            .next()
            .unwrap();
        let here = here.as_os_str().to_string_lossy().into_owned();
        let Some(mine) = floor(&here) else { continue };
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (at, _) in code.match_indices("crate::") {
            let rest = code[at + 7..].trim_start_matches('{');
            let there: String = rest
                .chars()
                .take_while(|c| c.is_ascii_lowercase() || *c == '_')
                .collect();
            let line = code[..at].lines().count();
            let comment = code[..at]
                .lines()
                .last()
                .is_some_and(|line| line.trim_start().starts_with("//"));
            if let Some(theirs) = floor(&there).filter(|_| there != here && !comment)
                && theirs >= mine
            {
                wrong.push(format!(
                    "{}:{line}: {here} reaches into {there}",
                    path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
