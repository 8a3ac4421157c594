//! Every crate that is compiled on this machine has a licence from the list that cargo-deny reads.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    let rustc = Command::new("rustc").arg("-vV").output().unwrap();
    let rustc = String::from_utf8(rustc.stdout).unwrap();
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", host.expect("a host")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        metadata.status.success(),
        "{}",
        String::from_utf8_lossy(&metadata.stderr)
    );
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| {
            let licence = package["license"].as_str().unwrap_or_default();
            !is_allowed(licence, &allowed)
        })
        .map(|package| {
            let word = |key: &str| package[key].as_str().unwrap_or("none").to_owned();
            format!("{} {}: {}", word("name"), word("version"), word("license"))
        })
        .collect();
    assert!(
        refused.is_empty(),
        "not allowed by scripts/deny.toml:\n{}",
        refused.join("\n")
    );
}

#[test]
fn an_expression_is_allowed_when_one_of_its_choices_is() {
    let allowed = ["MIT".to_owned(), "Zlib".to_owned()];
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("Zlib AND MIT", true),
        ("GPL-3.0 OR Zlib AND MIT", true),
        ("(GPL-3.0 OR MIT) AND Zlib", true),
        ("(GPL-3.0 OR MIT) AND ISC", false),
        ("MIT WITH Some-exception", false),
        ("MIT WITH Some-exception OR MIT", true),
    ] {
        assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
    }
}

/// The list of `scripts/deny.toml`.
fn allowed() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/deny.toml");
    let text = fs::read_to_string(path).unwrap();
    let list = text.lines().find_map(|line| line.strip_prefix("allow = ["));
    list.expect("a list of licences in one line")
        .trim_end_matches(']')
        .split(',')
        .map(|name| name.trim().trim_matches('"').to_owned())
        .collect()
}

/// Whether an SPDX expression (with `/` for OR, as older crates write it) leaves a choice that `allowed` names in full.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    let parts = |separator: &str| split(expression, separator);
    let expression = expression.trim();
    match expression
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        _ if parts(" OR ").len() > 1 => parts(" OR ").iter().any(|p| is_allowed(p, allowed)),
        _ if parts("/").len() > 1 => parts("/").iter().any(|p| is_allowed(p, allowed)),
        _ if parts(" AND ").len() > 1 => parts(" AND ").iter().all(|p| is_allowed(p, allowed)),
        Some(inner) => is_allowed(inner, allowed),
        None => allowed.iter().any(|name| name == expression),
    }
}

/// The parts of an expression between separators outside brackets.
fn split<'a>(expression: &'a str, separator: &str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in expression.match_indices(separator) {
        let before = &expression[..at];
        if before.matches('(').count() == before.matches(')').count() {
            parts.push(&expression[from..at]);
            from = at + separator.len();
        }
    }
    parts.push(&expression[from..]);
    parts
}
