//! `marvin tools --json` against the specification of the tools, where a checkout of it lies beside the repository.

use std::fs;

use serde_json::{Map, Value};

use crate::support::home::Home;
use crate::support::shared::shared;
use crate::support::snapshot;

fn published() -> Vec<Value> {
    let home = Home::new();
    let output = home.marvin().args(["tools", "--json"]).run().expect(0);
    assert_eq!(output.errors(), "");
    serde_json::from_str(output.text()).unwrap()
}

fn contract(test: &str) -> Option<Vec<Value>> {
    let path = shared(test)?.join("contract/tools.json");
    let list: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    Some(list["tools"].as_array().unwrap().clone())
}

fn named<'a>(list: &'a [Value], name: &Value) -> Option<&'a Value> {
    list.iter().find(|row| row["name"] == *name)
}

/// One parameter of the specification as the published schema should show it.
fn property(expected: &Value) -> Map<String, Value> {
    let mut shown = Map::new();
    shown.insert("type".into(), expected["type"].clone());
    for (theirs, ours) in [
        ("default", "default"),
        ("min", "minimum"),
        ("max", "maximum"),
    ] {
        // null means that an absent value has a meaning of its own.
        if let Some(value) = expected.get(theirs).filter(|value| !value.is_null()) {
            shown.insert(ours.into(), value.clone());
        }
    }
    shown
}

/// What is published about a tool, one parameter per line.
fn sheet(tool: &Value) -> String {
    let word = |key: &str| tool[key].as_str().unwrap_or("-").to_owned();
    let flags: Vec<&str> = tool["flags"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, set)| **set == true)
        .map(|(name, _)| name.as_str())
        .collect();
    let flags = match flags.as_slice() {
        [] => "none".to_owned(),
        flags => flags.join(", "),
    };
    let mut lines = vec![
        format!("{} ({}): {}", word("name"), word("module"), word("summary")),
        format!("  service: {}; flags: {flags}", word("service")),
    ];
    let schema = &tool["parameters"];
    let required = schema["required"].as_array().unwrap();
    for (name, parameter) in schema["properties"].as_object().unwrap() {
        let mark = match required.iter().any(|own| own == name) {
            true => " required",
            false => "",
        };
        lines.push(format!("  {name}{mark} {parameter}"));
    }
    lines.join("\n")
}

#[test]
fn the_published_tools_match_the_snapshot() {
    let sheets: Vec<String> = published().iter().map(sheet).collect();
    snapshot::same("tools", &sheets.join("\n\n"));
}

/// Parameters that tools have beyond the specification, each with its tool.
const ADDED: [(&str, &str); 1] = [("launch_agent", "background")];

#[test]
fn every_published_tool_matches_the_specification() {
    let Some(contract) = contract("catalogue") else {
        return;
    };
    let published = published();
    let mut faults = Vec::new();
    for tool in &published {
        let name = tool["name"].as_str().unwrap();
        let Some(expected) = named(&contract, &tool["name"]) else {
            faults.push(format!("{name} is not in the contract"));
            continue;
        };
        let mut same = |what: &str, got: &Value, want: &Value| {
            if got != want {
                faults.push(format!("{name}: {what} is {got}, the contract has {want}"));
            }
        };
        for key in ["module", "summary", "flags", "service"] {
            same(key, &tool[key], &expected[key]);
        }
        let parameters = expected["parameters"].as_array().unwrap();
        let schema = &tool["parameters"];
        same("schema type", &schema["type"], &"object".into());
        let names: Value = parameters.iter().map(|p| p["name"].clone()).collect();
        let keys = schema["properties"].as_object().unwrap().keys();
        let got: Value = keys
            .filter(|key| !ADDED.contains(&(name, key.as_str())))
            .map(|key| Value::from(key.as_str()))
            .collect();
        same("order of parameters", &got, &names);
        let required: Value = parameters
            .iter()
            .filter(|p| p["required"] == true)
            .map(|p| p["name"].clone())
            .collect();
        same("required", &schema["required"], &required);
        for parameter in parameters {
            let label = parameter["name"].as_str().unwrap();
            let mut got = schema["properties"][label]
                .as_object()
                .cloned()
                .unwrap_or_default();
            let doc = got.remove("description").unwrap_or_default();
            got.remove("items");
            let text = got.remove("enum").unwrap_or_default();
            if !text.is_null() || parameter.get("enum").is_some() {
                same(&format!("{label}'s words"), &text, &parameter["enum"]);
            }
            same(
                &format!("{label}'s schema"),
                &Value::Object(got),
                &Value::Object(property(parameter)),
            );
            if doc.as_str().is_none_or(str::is_empty) {
                same(
                    &format!("{label}'s description"),
                    &doc,
                    &parameter["meaning"],
                );
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_tool_is_missing() {
    let Some(contract) = contract("catalogue") else {
        return;
    };
    let published = published();
    let missing: Vec<&Value> = contract
        .iter()
        .map(|tool| &tool["name"])
        .filter(|name| named(&published, name).is_none())
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let mut names: Vec<&str> = published
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), published.len(), "a name twice");
    assert_eq!(names.len(), 123);
}

#[test]
fn a_read_only_process_loses_the_write_tools_and_keeps_notes_and_tickets() {
    let published = published();
    let home = Home::new();
    let mut seen = 0;
    for tool in &published {
        let name = tool["name"].as_str().unwrap();
        let output = home
            .marvin()
            .env("MARVIN_READONLY", "1")
            // Tools without required arguments run even without any programs on the path and with a proxy that does not answer.
            .env("PATH", home.path())
            .env("HTTP_PROXY", "http://127.0.0.1:9")
            .env("HTTPS_PROXY", "http://127.0.0.1:9")
            .args(["tool", name, "--json", "{}"])
            .run();
        let refused = output.errors().contains("MARVIN_READONLY");
        if tool["flags"]["write_op"] == true {
            assert!(refused, "{name}: {}", output.errors());
        }
        if ["write_note", "create_ticket", "tk", "read_note"].contains(&name) {
            assert!(!refused, "{name}: {}", output.errors());
        }
        seen += usize::from(refused);
    }
    assert!(seen >= 20, "{seen} tools are refused");
}
