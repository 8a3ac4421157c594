//! Environment variables: what the code reads is what the help and the manual name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::home::Home;

/// Variables that every program reads; they need no documentation by Marvin.
const SYSTEM: &str = "XDG_CONFIG_HOME BROWSER COLORFGBG COLORTERM DBUS_SYSTEM_BUS_ADDRESS DISPLAY HOME KONSOLE_VERSION \
    PATH PULSE_SERVER SSH_CONNECTION TERM TERM_PROGRAM TERM_PROGRAM_VERSION TMPDIR TMUX TZDIR \
    VTE_VERSION WAYLAND_DISPLAY WT_SESSION XDG_DATA_HOME XDG_RUNTIME_DIR";

/// What Marvin sets for the git that it starts, and how it begins a line for its parent.
const INTERNAL: [&str; 4] = [
    "MARVIN_FAILURE",
    "MARVIN_GIT_EMPTY",
    "MARVIN_GIT_FALSE",
    "MARVIN_PROJECT_DIR",
];

/// The table itself, which reads no variable.
const TABLE: &str = "base/variables.rs";

/// Whether `name` is one of `words`.
fn is_among(words: &str, name: &str) -> bool {
    words.split_ascii_whitespace().any(|word| word == name)
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn is_name(text: &str) -> bool {
    text.len() > 3 && !text.ends_with('_') && text.bytes().all(is_part)
}

fn is_part(c: u8) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_'
}

/// Names in the sources below `dir`: Marvin's own anywhere, others where the environment is read.
fn read_in(dir: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("tests") {
            continue;
        }
        if path.is_dir() {
            read_in(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") && !path.ends_with(TABLE) {
            let text = fs::read_to_string(&path).unwrap();
            let parts: Vec<&str> = text.split('"').collect();
            for pair in parts.windows(2) {
                let [before, name] = pair else { continue };
                if is_name(name)
                    && (name.starts_with("MARVIN_") || before.trim_end().ends_with("get("))
                {
                    found.insert((*name).to_owned());
                }
            }
        }
    }
}

#[test]
fn every_variable_that_the_code_reads_is_in_the_help_and_the_manual() {
    let mut names = BTreeSet::new();
    read_in(&src(), &mut names);
    assert!(
        names.contains("MARVIN_SHELL") && names.len() > 20,
        "{names:?}"
    );
    names.retain(|name| !is_among(SYSTEM, name) && !INTERNAL.contains(&name.as_str()));
    let home = Home::new();
    for page in [&["help", "variables"][..], &["man"]] {
        let output = home.marvin().args(page.to_vec()).run().expect(0);
        let text: BTreeSet<&str> = output
            .text()
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .collect();
        let missing: Vec<&String> = names
            .iter()
            .filter(|name| !text.contains(name.as_str()))
            .collect();
        assert!(missing.is_empty(), "{page:?}: {missing:?}");
        assert!(output.text().contains("disables it"), "{page:?}");
    }
}

/// The code of every file but the table, without comments and from the first test-only line on.
fn code(dir: &Path, out: &mut String) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let tests = path.ends_with("tests") || path.ends_with("tests.rs");
        if tests || path.ends_with(TABLE) {
            continue;
        }
        if path.is_dir() {
            code(&path, out);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let product = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        let lines = product
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        lines.for_each(|line| out.push_str(line.trim()));
    }
}

#[test]
fn every_variable_of_the_table_is_read() {
    let mut others = String::new();
    code(&src(), &mut others);
    let table = fs::read_to_string(src().join(TABLE)).unwrap();
    let (_, rows) = table.split_once("variables! {\n").unwrap();
    let names = rows.lines().filter_map(|row| row.trim().split(':').next());
    let listed: Vec<&str> = names.filter(|name| is_name(name)).collect();
    assert!(listed.len() > 20, "{listed:?}");
    // One pass over all the code: a name is read where one of these is behind it.
    let read: BTreeSet<&str> = others
        .match_indices(['.', ')', ','])
        .map(|(end, _)| &others[..end])
        .map(|before| {
            let name = before.bytes().rev().take_while(|c| is_part(*c)).count();
            &before[before.len() - name..]
        })
        .collect();
    let unread: Vec<&&str> = listed
        .iter()
        .filter(|name| !read.contains(**name))
        .collect();
    assert!(unread.is_empty(), "nothing reads {unread:?}");
    // By its constant, so that the compiler knows who reads what.
    let got: Vec<&str> = others.split("get(\"").skip(1).collect();
    let by_text = |name: &str| {
        got.iter()
            .any(|text| text.starts_with(&format!("{name}\")")))
    };
    let by_text: Vec<&&str> = listed.iter().filter(|name| by_text(name)).collect();
    assert!(by_text.is_empty(), "read by their names: {by_text:?}");
}
