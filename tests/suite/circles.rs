//! No import cycles: two files of a floor that import each other should be one file, or share a third one below both.
//!
//! A file that imports from its parent module is not a cycle: a parent declares what its children share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::floors::{all, product};

type Module = Vec<String>;

/// The module that a file below src is.
fn module(file: &str) -> Module {
    let mut parts: Module = file
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if parts.len() > 1 && parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

/// A use tree as single paths.
fn flatten(before: &[String], tree: &str, out: &mut Vec<Module>) {
    let parts = |text: &str| -> Module {
        let expected = text
            .split("::")
            .map(str::trim)
            .filter(|part| !part.is_empty());
        expected.map(str::to_owned).collect()
    };
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree);
        if !path.is_empty() {
            out.push([before, &parts(path)].concat());
        }
        return;
    };
    let before = [before, &parts(head)].concat();
    let group = group.trim_end().trim_end_matches('}');
    // The last brace belongs to this group; those of groups within it were cut off with it.
    let missing = group.matches('{').count() - group.matches('}').count();
    let group = format!("{group}{}", "}".repeat(missing));
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                flatten(&before, &group[start..at], out);
                start = at + 1;
            }
            _ => {}
        }
    }
    flatten(&before, &group[start..], out);
}

static USES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))? )?use ([^;]+);").unwrap());
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"[A-Za-z_0-9:]*[a-z_]+(?:::\w+)+").unwrap());

/// Every path that the code of a file names.
fn paths(code: &str) -> Vec<Module> {
    let mut out = Vec::new();
    for found in USES.captures_iter(code) {
        flatten(&[], &found[1], &mut out);
    }
    for found in NAMED.find_iter(&USES.replace_all(code, "")) {
        out.push(found.as_str().split("::").map(str::to_owned).collect());
    }
    out
}

/// What a path means in the module `here`; `None` when it does not lead to a module.
fn absolute(path: &[String], here: &Module, modules: &BTreeMap<Module, String>) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([here, rest].concat()),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            let above = here.get(..here.len().checked_sub(up)?)?;
            Some([above, path.get(up..)?].concat())
        }
        _ => {
            let child = [here.as_slice(), std::slice::from_ref(first)].concat();
            let is_child = modules.contains_key(&child);
            is_child.then(|| [child.as_slice(), rest].concat())
        }
    }
}

/// Which file names what of which.
fn edges(files: &[(String, String)]) -> BTreeMap<String, BTreeSet<String>> {
    let is_test = |file: &str| file.ends_with("tests.rs") || file.contains("/tests/");
    let modules: BTreeMap<Module, String> = files
        .iter()
        .map(|(file, _)| (module(file), file.clone()))
        .collect();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in files.iter().filter(|(file, _)| !is_test(file)) {
        let here = module(file);
        for path in paths(&product(text)) {
            let Some(meant) = absolute(&path, &here, &modules) else {
                continue;
            };
            let target = (1..=meant.len())
                .rev()
                .find_map(|n| modules.get_key_value(meant.get(..n)?));
            // Its own module and those around it are no others.
            if let Some((_, target)) = target.filter(|(other, _)| !here.starts_with(other)) {
                edges
                    .entry(file.clone())
                    .or_default()
                    .insert(target.clone());
            }
        }
    }
    edges
}

/// Everything that can be reached from `file`.
fn reached(file: &str, edges: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![file.to_owned()];
    while let Some(file) = open.pop() {
        for next in edges.get(&file).into_iter().flatten() {
            if found.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    found
}

/// The circles, each as its files in order.
fn circles(files: &[(String, String)]) -> BTreeSet<String> {
    let edges = edges(files);
    let reach: BTreeMap<&String, BTreeSet<String>> = edges
        .keys()
        .map(|file| (file, reached(file, &edges)))
        .collect();
    let mut found = BTreeSet::new();
    for (file, ahead) in &reach {
        if ahead.contains(*file) {
            let back = |other: &&String| reach.get(other).is_some_and(|all| all.contains(*file));
            let members: Vec<&str> = ahead.iter().filter(back).map(String::as_str).collect();
            found.insert(members.join(" "));
        }
    }
    found
}

#[test]
fn no_two_files_import_each_other() {
    let files = all();
    let count: usize = edges(&files).values().map(BTreeSet::len).sum();
    assert!(count > 1_000, "only {count} edges were found");
    let found = circles(&files);
    assert!(found.is_empty(), "files that need each other:\n{found:#?}");
}

#[test]
fn the_check_finds_cycles() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let seen = |files: &[(String, String)]| circles(files).into_iter().collect::<Vec<_>>();
    // By the crate, by the module above, by a tree, by a child's path; two and three files.
    let two = [
        file("a/x.rs", "use crate::{b, a::{y::Y, z}};\n"),
        file("a/y.rs", "fn f() {\n    super::x::g();\n}\n"),
        file("a/z.rs", "use super::w;\n"),
        file("a/w.rs", "// use super::z;\n"),
    ];
    assert_eq!(seen(&two), ["a/x.rs a/y.rs"]);
    let three = [
        file("a/mod.rs", "mod x;\nuse x::X;\n"),
        file("a/x.rs", "use super::{y::Y, Shared};\n"),
        file("a/y.rs", "use crate::b::c::C;\n"),
        file("b/mod.rs", ""),
        file("b/c.rs", "use crate::a::x;\n"),
    ];
    assert_eq!(seen(&three), ["a/x.rs a/y.rs b/c.rs"]);
    // What only tests name, and what a parent shares with its children.
    let none = [
        file("a/mod.rs", "mod x;\nuse x::X;\n"),
        file("a/x.rs", "use super::Shared;\n"),
        file(
            "a/y.rs",
            "use super::x::X;\n#[cfg(test)]\nmod tests {\n    use super::super::z;\n}\n",
        ),
        file("a/z.rs", "use super::y::Y;\n"),
    ];
    assert_eq!(seen(&none), Vec::<String>::new());
}
