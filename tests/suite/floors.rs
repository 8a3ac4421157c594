//! The floors of the code: every import in src points to its own folder or a lower floor, and no file is too long for one subject.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The floors, lowest first; folders in one row do not import each other.
const FLOORS: [&[&str]; 11] = [
    &["base"],
    &["formats"],
    &["disk", "net", "proc"],
    &["chat"],
    &["store", "llm"],
    &["alerts", "voice"],
    &["tools"],
    &["model_call"],
    &["agent", "reply", "pipeline", "mcp"],
    &["app"],
    &["ui", "cli"],
];
/// Longest file in lines.
const LONGEST: usize = 800;

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// Every source file with its path from src.
pub(super) fn all() -> Vec<(String, String)> {
    let mut found = Vec::new();
    sources(&src(), &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(src()).unwrap().display().to_string();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// The code without comments, and without what only tests see: `#[cfg(test)]` before a block or a statement.
pub(super) fn product(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        match line.trim_start() {
            comment if comment.starts_with("//") => {}
            "#[cfg(test)]" => {
                let closing = format!("{}}}", " ".repeat(indent));
                for skipped in lines.by_ref() {
                    let level = skipped.len() - skipped.trim_start().len() == indent;
                    if skipped == closing || (level && skipped.ends_with(';')) {
                        break;
                    }
                }
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// First parts of all `crate::` paths, those in braces too.
fn imports(code: &str) -> Vec<String> {
    let word = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect()
    };
    let mut found = Vec::new();
    for (at, _) in code.match_indices("crate::") {
        // `$crate::` is the same; `lexopt_crate::` would be another.
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + "crate::".len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let (mut depth, mut start) = (0, 0);
        for (i, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => {
                    found.push(word(&group[start..i]));
                    break;
                }
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    found.push(word(&group[start..i]));
                    start = i + 1;
                }
                _ => {}
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

fn floor(folder: &str) -> Option<usize> {
    FLOORS.iter().position(|row| row.contains(&folder))
}

/// What is wrong with one import, if anything.
fn fault(file: &str, import: &str) -> Option<String> {
    let (from, _) = file.split_once('/')?;
    let Some(to) = floor(import) else {
        return Some(format!("{file}: crate::{import} is on no floor"));
    };
    let Some(here) = floor(from) else {
        return Some(format!("{file}: the folder {from} is on no floor"));
    };
    (from != import && to >= here)
        .then(|| format!("{file} ({from}) imports crate::{import}, which is not below it"))
}

#[test]
fn every_import_points_down() {
    let mut faults = Vec::new();
    let mut edges = 0;
    for (file, text) in all() {
        for import in imports(&product(&text)) {
            edges += 1;
            faults.extend(fault(&file, &import));
        }
    }
    assert!(edges > 150, "only {edges} imports were found");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The floors as the map's table has them: number and folders.
fn table(map: &str) -> Vec<(usize, Vec<&str>)> {
    let rows = map.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("//! | ")?.split(" | ");
        let number = cells.next()?.parse().ok()?;
        let links = cells.next()?.split(", ");
        let folders = links.map(|link| link.trim_matches(['[', '`', ']']));
        Some((number, folders.collect()))
    });
    rows.collect()
}

#[test]
fn the_map_and_each_folder_say_its_floor() {
    let files: BTreeMap<String, String> = all().into_iter().collect();
    let floors: Vec<(usize, Vec<&str>)> =
        FLOORS.iter().map(|row| row.to_vec()).enumerate().collect();
    assert_eq!(table(&files["lib.rs"]), floors, "the table in src/lib.rs");
    let folders: BTreeSet<&str> = files
        .keys()
        .filter_map(|file| Some(file.split_once('/')?.0))
        .collect();
    assert_eq!(
        folders,
        FLOORS.concat().into_iter().collect(),
        "the folders of src"
    );
    let mut faults = Vec::new();
    for folder in folders {
        let begin = format!("//! Floor {}: ", floor(folder).unwrap());
        if !files[&format!("{folder}/mod.rs")].starts_with(&begin) {
            faults.push(format!("src/{folder}/mod.rs does not begin with {begin:?}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn modules_do_not_climb_by_super_either() {
    let mut faults = Vec::new();
    for (file, text) in all() {
        let depth = file.matches('/').count() + usize::from(!file.ends_with("mod.rs"));
        let code = product(&text);
        let max = code
            .match_indices("super::")
            .map(|(at, _)| {
                let mut rest = &code[at..];
                let mut count = 0;
                while let Some(next) = rest.strip_prefix("super::") {
                    count += 1;
                    rest = next;
                }
                count
            })
            .max()
            .unwrap_or(0);
        // A module inside the file may add one; the floor's own folder is the last that may be reached.
        if file.contains('/') && max >= depth.max(1) {
            faults.push(format!("{file}: super:: {max} times leaves the floor"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<String> = all()
        .into_iter()
        .filter(|(_, text)| text.lines().count() > LONGEST)
        .map(|(file, text)| format!("{file} has {} lines", text.lines().count()))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_file_begins_with_a_doc_comment() {
    let silent: Vec<String> = all()
        .into_iter()
        .filter(|(_, text)| !text.starts_with("//! "))
        .map(|(file, _)| file)
        .collect();
    assert!(silent.is_empty(), "no //! in: {}", silent.join(", "));
}

#[test]
fn the_check_finds_upward_and_sideways_imports() {
    let code = product(
        "use crate::{base::a, llm::{b, c}};\n// crate::cli\nuse $crate::net;\n#[cfg(test)]\nmod tests {\n    use crate::app;\n}\nfn f() { crate::proc::run(); }\n#[cfg(test)]\nuse crate::cli;\nuse crate::tools;\n",
    );
    assert_eq!(imports(&code), ["base", "llm", "net", "proc", "tools"]);
    assert!(fault("disk/a.rs", "net").is_some(), "sideways");
    assert!(fault("chat/a.rs", "llm").is_some(), "upwards");
    assert!(fault("chat/a.rs", "nowhere").is_some(), "unknown");
    assert!(fault("chat/a.rs", "disk").is_none() && fault("llm/x/a.rs", "llm").is_none());
}

#[test]
fn time_zones_come_from_the_machine_first() {
    // jiff must do its own lookups in the bundled database.
    const BUNDLED: [&str; 6] = [
        "TimeZone::get(",
        "TimeZone::system(",
        "tz::db(",
        "Zoned::now(",
        ".in_tz(",
        "parse::<Zoned>",
    ];
    for (name, text) in all() {
        let code = product(&text);
        for call in BUNDLED {
            assert!(
                name == "base/zones.rs" || !code.contains(call),
                "{name} calls {call}: use base::zones"
            );
        }
    }
}
