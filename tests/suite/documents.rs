//! What the README and CONTRIBUTING name exists: files, folders, links and recipes.

use std::fs;
use std::path::PathBuf;

use regex::Regex;

use crate::support::home::Home;

const DOCUMENTS: [&str; 2] = ["README.md", "CONTRIBUTING.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    let path = root().join(name);
    fs::read_to_string(&path).unwrap_or_else(|reason| panic!("{}: {reason}", path.display()))
}

/// The first group of every match.
fn all<'a>(pattern: &str, text: &'a str) -> Vec<&'a str> {
    let pattern = Regex::new(pattern).unwrap();
    let groups = pattern.captures_iter(text).map(|found| found.get(1));
    groups.flatten().map(|group| group.as_str()).collect()
}

#[test]
fn every_path_in_the_documents_exists() {
    for name in DOCUMENTS {
        let text = read(name);
        let paths = all(
            r"(?m)(?:^|[`\s(])((?:src|tests|scripts|fixtures|\.ci)/[\w./-]*\w)",
            &text,
        );
        let links = all(r"\]\(([^):#]+)\)", &text);
        assert!(paths.len() + links.len() > 5, "{name}: {paths:?} {links:?}");
        let missing: Vec<&str> = paths
            .into_iter()
            .chain(links)
            .filter(|path| !root().join(path).exists())
            .collect();
        assert!(missing.is_empty(), "{name} names {missing:?}");
    }
}

#[test]
fn every_recipe_in_the_documents_is_in_the_justfile() {
    let justfile = read("Justfile");
    let recipes = all(r"(?m)^([a-z-]+)\b[^:\n]*:(?:[^=]|$)", &justfile);
    assert!(recipes.contains(&"picture"), "{recipes:?}");
    for name in DOCUMENTS {
        let text = read(name);
        for named in all(r"(?m)(?:^|`)just ([a-z-]+)", &text) {
            assert!(recipes.contains(&named), "{name} names `just {named}`");
        }
    }
}

#[test]
fn every_script_can_be_run() {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in fs::read_dir(root().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let is_script = path.extension().is_some_and(|ext| ext == "sh");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert!(!is_script || mode & 0o111 != 0, "{}", path.display());
    }
}

/// Rows and columns that the README may have; rows of a table are one line.
const README_LINES: usize = 168;
const README_COLUMNS: usize = 160;

#[test]
fn the_readme_is_short() {
    let text = read("README.md");
    assert!(
        text.lines().count() <= README_LINES,
        "{} lines",
        text.lines().count()
    );
    let wide = text
        .lines()
        .find(|line| !line.starts_with('|') && line.chars().count() > README_COLUMNS);
    assert_eq!(wide, None);
    // Programs that try the project run these two, in this order.
    let blocks = all(r"(?s)```sh\n(.*?)```", &text);
    assert_eq!(
        blocks[..2],
        ["cargo build --release && scripts/demo.sh\n", "cargo test\n"]
    );
}

/// Comments have the columns that texts have.
#[test]
fn comments_are_no_wider_than_texts() {
    let is_wide = |line: &&str| {
        let is_comment = line.trim_start().starts_with("//") && !line.starts_with("//! |");
        is_comment && line.chars().count() > README_COLUMNS + 1
    };
    let wide: Vec<String> = crate::floors::all()
        .iter()
        .filter_map(|(path, text)| Some(format!("{path}: {}", text.lines().find(is_wide)?)))
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
}

/// What stands in backticks and in blocks of code, a command a line.
fn commands(text: &str) -> Vec<&str> {
    let blocks = all(r"(?s)```sh\n(.*?)```", text).into_iter();
    let lines = blocks.flat_map(str::lines);
    lines.chain(all(r"`([^`\n]+)`", text)).collect()
}

#[test]
fn every_command_in_the_readme_exists() {
    let home = Home::new();
    let help = |words: &[&str]| {
        let done = home.marvin().args(words.to_vec()).run().expect(0);
        done.text().to_owned()
    };
    let (screen, flags, list) = (help(&["--help"]), help(&["help", "flags"]), help(&["help"]));
    let keys = help(&["help", "keys"]);
    let has_row = |text: &str, word: &str| text.contains(&format!("\n  {word} "));
    let text = read("README.md");
    let mut count = 0;
    let quoted = Regex::new("\"[^\"]*\"?|'[^']*'").unwrap();
    for command in commands(&text) {
        let command = command.split(" #").next().unwrap();
        if command.starts_with('/') && !command.contains(' ') {
            assert!(keys.contains(&format!("  {command} ")), "{command}");
        }
        for part in command.split(['|', '>', '(', ')', '&']) {
            let mut words = part.split_whitespace();
            if words.next() != Some("marvin") {
                continue;
            }
            count += 1;
            // What is in quotes is a prompt.
            let bare = quoted.replace_all(part, "");
            let words: Vec<&str> = bare.split_whitespace().skip(1).collect();
            let subcommand = words.first().filter(|word| !word.starts_with('-'));
            if let Some(name) = subcommand {
                assert!(has_row(&screen, name), "{command}: no subcommand {name}");
            }
            if let ["help", topic] = words[..]
                && topic.chars().all(|c| c.is_ascii_lowercase())
            {
                assert!(has_row(&list, topic), "{command}: no topic {topic}");
            }
            if let ["tool", tool, ..] = words[..] {
                help(&["tool", tool, "--help"]);
            }
            if subcommand.is_none() {
                for flag in words.iter().filter(|word| word.starts_with('-')) {
                    let is_flag =
                        flags.contains(&format!("{flag} ")) || flags.contains(&format!("{flag}, "));
                    assert!(is_flag, "{command}: no flag {flag}");
                }
            }
        }
    }
    assert!(count > 15, "only {count} commands were found");
    // Topics that are named in remarks.
    for named in all(r"marvin help \w+ +# and ([a-z, ]+)", &text) {
        for topic in named.split(", ") {
            assert!(has_row(&list, topic), "no topic {topic}");
        }
    }
}

#[test]
fn no_topic_lists_by_hand_what_the_program_has_a_table_of() {
    let home = Home::new();
    let lines = |words: &[&str]| -> Vec<String> {
        let done = home.marvin().args(words.to_vec()).run().expect(0);
        let rows = done.text().lines();
        let names = rows.filter_map(|row| row.split_whitespace().next());
        names.map(str::to_owned).collect()
    };
    let tools = lines(&["tools"]);
    let services = lines(&["services"]);
    let is_in = |line: &str, name: &String| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        line.split(|c| !is_part(c)).any(|word| word == name)
    };
    let dir = root().join("src/app/help/topics");
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        for paragraph in text.split("\n\n").filter(|part| !part.starts_with("    ")) {
            let of_tools = tools.iter().filter(|name| is_in(paragraph, name)).count();
            let of_services = services
                .iter()
                .filter(|name| is_in(paragraph, name))
                .count();
            assert!(
                of_tools < 8 && of_services < 8,
                "{}: {paragraph}",
                path.display()
            );
        }
        // Variables in a row of their own are described where they are declared.
        let rows = all(r"(?m)^\| ([A-Z][A-Z_]+) \|", &text);
        assert!(rows.is_empty(), "{}: {rows:?}", path.display());
    }
}
