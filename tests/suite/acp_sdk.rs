//! The official TypeScript SDK of the Agent Client Protocol drives Marvin, where `MARVIN_TEST_AGENT_SDKS` names the folder of `scripts/agent-sdks.sh`, and
//! every line is checked against the schema that comes with it. Without it each test says that it skips, and fails where `MARVIN_REQUIRE_AGENT_SDKS` is 1.

use std::collections::HashMap;
use std::path::Path;
use std::{env, fs};

use marvin::testing::json_schema::Schema;
use serde_json::{Map, Value, json};

use crate::agent_sdks::{script, sdks};
use crate::support::editor::obedient_model;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::wait::LIMIT;

/// The schema of the protocol, without what says nothing about values.
struct Protocol {
    definitions: Value,
    checked: HashMap<String, Schema>,
}

fn without_notes(value: &Value, has_names: bool) -> Value {
    const NOTES: [&str; 5] = [
        "description",
        "title",
        "default",
        "discriminator",
        "unevaluatedProperties",
    ];
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| {
                has_names || !NOTES.contains(&key.as_str()) && !key.starts_with("x-")
            });
            let kept = kept.map(|(key, value)| {
                let has_names = !has_names && matches!(key.as_str(), "properties" | "$defs");
                (key.clone(), without_notes(value, has_names))
            });
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_notes(item, false))
            .collect(),
        other => other.clone(),
    }
}

impl Protocol {
    fn of(sdks: &Path) -> (Self, HashMap<String, String>) {
        let path = "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json";
        let whole: Value = serde_json::from_slice(&fs::read(sdks.join(path)).unwrap()).unwrap();
        let definitions = whole["$defs"].as_object().unwrap();
        // The definitions name the methods that they are for.
        let names = definitions.iter().filter_map(|(name, definition)| {
            let method = definition["x-method"].as_str()?;
            let kind = ["Request", "Response", "Notification"]
                .into_iter()
                .find(|kind| name.ends_with(kind))?;
            Some((format!("{method} {kind}"), name.clone()))
        });
        let names = names.collect();
        let protocol = Self {
            definitions: without_notes(&whole["$defs"], true),
            checked: HashMap::new(),
        };
        (protocol, names)
    }

    fn check(&mut self, name: &str, value: &Value) {
        let definitions = &self.definitions;
        let schema = self.checked.entry(name.to_owned()).or_insert_with(|| {
            let schema = json!({"$ref": format!("#/$defs/{name}"), "$defs": definitions});
            Schema::parse(&schema.to_string()).unwrap()
        });
        let misfits = schema.check(value);
        assert!(misfits.is_empty(), "{name}: {misfits:?}\n{value}");
    }

    /// Checks a line; the kind of its update, else its method.
    fn check_line(&mut self, names: &HashMap<String, String>, line: &Value) -> String {
        assert_eq!(line["jsonrpc"], "2.0");
        let Some(method) = line["method"].as_str() else {
            if line["error"].is_object() {
                self.check("Error", &line["error"]);
            }
            return String::new();
        };
        let kind = match line["id"].is_null() {
            true => "Notification",
            false => "Request",
        };
        self.check(&names[&format!("{method} {kind}")], &line["params"]);
        let update = line["params"]["update"]["sessionUpdate"].as_str();
        update.unwrap_or(method).to_owned()
    }
}

/// Checks these lines of Marvin against the schema, where there is one.
pub(crate) fn assert_fit(test: &str, lines: &[Value]) {
    if let Some(sdks) = sdks(test) {
        let (mut protocol, names) = Protocol::of(&sdks);
        for line in lines {
            protocol.check_line(&names, line);
        }
    }
}

#[test]
fn the_official_sdk_drives_it_and_every_line_fits_the_schema() {
    let Some(sdks) = sdks("the_official_sdk_drives_it_and_every_line_fits_the_schema") else {
        return;
    };
    let (home, server) = (Home::new(), obedient_model());
    fs::write(home.work().join("a.txt"), "on disk\n").unwrap();
    let done = Marvin::new(Path::new("node"))
        .dir(&home.work())
        .env("HOME", home.path())
        .env("PATH", env::var_os("PATH").unwrap_or_default())
        .env("LLM_PROVIDER", "openai-compat")
        .env("OPENAI_COMPAT_URL", server.url("/v1"))
        .env("OPENAI_COMPAT_API_KEY", "test-key")
        .arg(script("acp_sdk.mjs"))
        .arg(&sdks)
        .arg(env!("CARGO_BIN_EXE_marvin"))
        .arg(home.work())
        .line("--model test-model")
        .limit(LIMIT)
        .run()
        .expect(0);
    let lines: Vec<Value> = (done.text().lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let answer = |step: &str| {
        let found = lines
            .iter()
            .find(|line| line["type"] == "answer" && line["step"] == step);
        found.unwrap_or_else(|| panic!("no answer to {step}"))["answer"].clone()
    };
    for step in ["hello", "run", "refused", "edit", "more"] {
        assert_eq!(answer(step)["stopReason"], "end_turn", "{step}");
    }
    assert_eq!(answer("cancelled")["stopReason"], "cancelled");
    assert_eq!(answer("unknown")["code"], -32601);
    assert_eq!(answer("list")["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(answer("exit"), 0);
    assert!(!home.work().join("refused").exists());
    let wrote = lines.iter().find(|line| line["type"] == "wrote").unwrap();
    assert_eq!(wrote["content"], "from the editor\n");
    let asked: Vec<&Value> = lines
        .iter()
        .filter(|line| line["type"] == "asked")
        .collect();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[2]["content"][0]["type"], "diff");
    // Every line of the wire.
    let (mut protocol, names) = Protocol::of(&sdks);
    let mut kinds = HashMap::<String, usize>::new();
    for line in lines.iter().filter(|line| line["type"] == "wire") {
        let told = protocol.check_line(&names, &line["line"]);
        *kinds.entry(told).or_default() += 1;
    }
    for (step, method) in [
        ("initialize", "initialize"),
        ("hello", "session/prompt"),
        ("mode", "session/set_mode"),
        ("option", "session/set_config_option"),
        ("close", "session/close"),
        ("load", "session/load"),
        ("list", "session/list"),
        ("delete", "session/delete"),
    ] {
        protocol.check(&names[&format!("{method} Response")], &answer(step));
    }
    for kind in [
        "agent_message_chunk",
        "user_message_chunk",
        "tool_call",
        "tool_call_update",
        "usage_update",
        "session_info_update",
        "current_mode_update",
        "config_option_update",
    ] {
        assert!(kinds.contains_key(kind), "no {kind}: {kinds:?}");
    }
}
