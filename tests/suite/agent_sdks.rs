//! The official Claude Agent SDKs drive Marvin, where `MARVIN_TEST_AGENT_SDKS` names the folder of `scripts/agent-sdks.sh`. Without it each test says that it
//! skips, and fails where `MARVIN_REQUIRE_AGENT_SDKS` is 1.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::conversation::{calls, says};
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::shared::skip;
use crate::support::wire::openai;

const LIMIT: Duration = Duration::from_secs(60);

/// The folder of the SDKs, or nothing, which is said.
pub(crate) fn sdks(test: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("MARVIN_TEST_AGENT_SDKS") {
        let path = PathBuf::from(path);
        assert!(path.is_dir(), "{} is no folder", path.display());
        return Some(path);
    }
    let required = std::env::var_os("MARVIN_REQUIRE_AGENT_SDKS").is_some_and(|value| value == "1");
    assert!(!required, "MARVIN_TEST_AGENT_SDKS is not set");
    skip(
        test,
        "MARVIN_TEST_AGENT_SDKS does not name the SDKs (scripts/agent-sdks.sh)",
    );
    None
}

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts")
        .join(name)
}

/// A model that does what the last message of the user says.
fn model() -> Server {
    Server::answering(|request, _| {
        let body = request.json();
        let messages = body["messages"].as_array().unwrap();
        let said = |role: &str| {
            let mut said = messages.iter().filter(|message| message["role"] == role);
            said.next_back().map(|message| message["content"].clone())
        };
        let user = said("user").unwrap_or_default();
        let user = user.as_str().unwrap_or_default();
        let user = user.lines().next().unwrap_or_default();
        let result = messages.last().filter(|last| last["role"] == "tool");
        let result = result.map(|last| last["content"].to_string());
        match (user, result) {
            ("add", None) => calls("calc__add", json!({"a": 2, "b": 3})),
            ("add", Some(result)) if result.contains("sum 5") => {
                calls("calc__draw", json!({"what": "a line"}))
            }
            ("add", Some(result)) if result.contains("image") => calls("calc__fail", json!({})),
            ("count", None) => calls("structured_output", json!({"n": 2})),
            ("slow", _) => Answer::sse([openai::data(&openai::chunk(
                json!({"content": "slow"}),
                None,
            ))])
            .stall(),
            ("run echo one", Some(result)) if result.contains("not one") => {
                calls("run_command", json!({"command": "echo two"}))
            }
            (_, Some(result)) => says(&format!("It said {result}")),
            (user, None) if user.starts_with("run ") => {
                calls("run_command", json!({"command": &user[4..]}))
            }
            (user, None) => says(&format!("Answer to {user}")),
        }
    })
    .lenient()
}

/// What an SDK says that drives Marvin through a scenario.
struct Driven {
    server: Server,
    lines: Vec<Value>,
}

impl Driven {
    fn by(program: &Path, args: Vec<String>) -> Self {
        let (server, home) = (model(), Home::new());
        let done = Marvin::new(program)
            .dir(&home.work())
            .env("HOME", home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LLM_PROVIDER", "openai-compat")
            .env("OPENAI_COMPAT_URL", server.url("/v1"))
            .env("OPENAI_COMPAT_API_KEY", "test-key")
            .args(args)
            .limit(LIMIT)
            .run()
            .expect(0);
        let lines = done.text().lines();
        let lines = lines.filter_map(|line| serde_json::from_str(line).ok());
        Self {
            lines: lines.collect(),
            server,
        }
    }

    fn typescript(sdks: &Path, scenario: &str) -> Self {
        let args = [
            script("agent_sdk.mjs").display().to_string(),
            sdks.display().to_string(),
            env!("CARGO_BIN_EXE_marvin").to_owned(),
            scenario.to_owned(),
        ];
        Self::by(Path::new("node"), args.to_vec())
    }

    fn python(sdks: &Path, scenario: &str) -> Self {
        let args = [
            script("agent_sdk.py").display().to_string(),
            env!("CARGO_BIN_EXE_marvin").to_owned(),
            scenario.to_owned(),
        ];
        Self::by(&sdks.join("python/bin/python"), args.to_vec())
    }

    fn of(&self, kind: &str) -> Vec<&Value> {
        let lines = self.lines.iter();
        lines.filter(|line| line["type"] == kind).collect()
    }

    /// The results of the turns.
    fn results(&self) -> Vec<&str> {
        let all = self
            .of("result")
            .into_iter()
            .chain(self.of("ResultMessage"));
        all.map(|line| line["result"].as_str().unwrap_or_default())
            .collect()
    }
}

#[test]
fn typescript_gets_text_pieces_tools_and_several_messages() {
    let Some(sdks) = sdks("typescript_gets_text_pieces_tools_and_several_messages") else {
        return;
    };
    let plain = Driven::typescript(&sdks, "plain");
    assert_eq!(plain.results(), ["Answer to say hi"]);
    let pieces: String = plain
        .of("stream_event")
        .iter()
        .filter_map(|line| line["event"]["delta"]["text"].as_str())
        .collect();
    assert_eq!(pieces, "Answer to say hi");
    let system = plain.server.request(0).json()["messages"][0]["content"].clone();
    assert!(system.as_str().unwrap().ends_with("Be brief."), "{system}");
    let tools = Driven::typescript(&sdks, "tools");
    assert!(tools.results()[0].contains("found"), "{:?}", tools.lines);
    let messages = Driven::typescript(&sdks, "messages");
    assert_eq!(messages.results(), ["Answer to first", "Answer to second"]);
    let resumed = Driven::typescript(&sdks, "resume");
    let ids: Vec<&Value> = resumed
        .of("result")
        .iter()
        .map(|line| &line["session_id"])
        .collect();
    assert!(ids[0] == ids[1] && ids[1] != ids[2], "{ids:?}");
    let last = resumed.server.requests().last().unwrap().json();
    let said = last["messages"].to_string();
    assert!(
        said.contains("Answer to first") && said.contains("Answer to second"),
        "{said}"
    );
}

#[test]
fn typescript_interrupts_and_switches_the_model() {
    let Some(sdks) = sdks("typescript_interrupts_and_switches_the_model") else {
        return;
    };
    let stopped = Driven::typescript(&sdks, "interrupt");
    let ends: Vec<&Value> = stopped
        .of("result")
        .iter()
        .map(|line| &line["subtype"])
        .collect();
    assert_eq!(
        ends,
        ["error_during_execution", "success"],
        "{:?}",
        stopped.lines
    );
    assert_eq!(stopped.results()[1], "Answer to after");
    let switched = Driven::typescript(&sdks, "model");
    assert_eq!(switched.results().len(), 2, "{:?}", switched.lines);
    assert_eq!(switched.server.request(1).json()["model"], "other-model");
    let modes: Vec<&Value> = switched
        .of("system")
        .into_iter()
        .filter(|line| line["subtype"] == "init")
        .map(|line| &line["permissionMode"])
        .collect();
    assert_eq!(modes, ["default", "acceptEdits"]);
}

#[test]
fn typescript_and_python_decide_about_calls() {
    let Some(sdks) = sdks("typescript_and_python_decide_about_calls") else {
        return;
    };
    for driven in [
        Driven::typescript(&sdks, "permissions"),
        Driven::python(&sdks, "permissions"),
    ] {
        let asked: Vec<&Value> = driven
            .of("asked")
            .iter()
            .map(|line| &line["input"]["command"])
            .collect();
        assert_eq!(asked, ["echo one", "echo two"], "{:?}", driven.lines);
        let result = driven.results()[0];
        assert!(result.contains("two changed"), "{result}");
    }
    let driven = Driven::typescript(&sdks, "permissions");
    let denials = &driven.of("result")[0]["permission_denials"];
    assert_eq!(
        denials[0]["tool_input"],
        json!({"command": "echo one"}),
        "{denials}"
    );
    assert_eq!(denials.as_array().unwrap().len(), 1);
}

#[test]
fn python_gets_text_several_messages_and_interrupts() {
    let Some(sdks) = sdks("python_gets_text_several_messages_and_interrupts") else {
        return;
    };
    let plain = Driven::python(&sdks, "plain");
    assert_eq!(plain.results(), ["Answer to say hi"], "{:?}", plain.lines);
    let messages = Driven::python(&sdks, "messages");
    assert_eq!(
        messages.results(),
        ["Answer to first", "Answer to second", "Answer to third"]
    );
    assert_eq!(messages.server.request(2).json()["model"], "other-model");
    let stopped = Driven::python(&sdks, "interrupt");
    assert_eq!(
        stopped.results().last(),
        Some(&"Answer to after"),
        "{:?}",
        stopped.lines
    );
}

#[test]
fn hooks_of_both_see_calls_messages_and_ends() {
    let Some(sdks) = sdks("hooks_of_both_see_calls_messages_and_ends") else {
        return;
    };
    for driven in [
        Driven::typescript(&sdks, "hooks"),
        Driven::python(&sdks, "hooks"),
    ] {
        let told: Vec<&str> = driven
            .of("hook")
            .iter()
            .filter_map(|line| line["event"].as_str())
            .collect();
        let wanted = [
            "UserPromptSubmit",
            "PreToolUse",
            "PreToolUse",
            "PostToolUse",
            "Stop",
            "Stop",
        ];
        assert_eq!(told, wanted, "{:?}", driven.lines);
        assert_eq!(
            driven.results(),
            ["Answer to [A hook of the user says: count again]"]
        );
        let last = driven.server.requests().last().unwrap().json();
        let said = last["messages"].to_string();
        for words in [
            "From the hook.",
            "not one",
            "two changed",
            "Mind two.",
            "After two.",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}

#[test]
fn servers_in_both_offer_their_tools() {
    let Some(sdks) = sdks("servers_in_both_offer_their_tools") else {
        return;
    };
    for driven in [
        Driven::typescript(&sdks, "servers"),
        Driven::python(&sdks, "servers"),
    ] {
        let results = driven.results();
        assert!(results[0].contains("out of ink"), "{:?}", driven.lines);
        let last = driven.server.requests().last().unwrap().json();
        let said = last["messages"].to_string();
        for words in [
            "sum 5",
            "a line\\n[image, 3 bytes png]",
            "Error: out of ink",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let offered = driven.server.request(0).json()["tools"].to_string();
        assert!(offered.contains("Adds two numbers."), "{offered}");
        let asked = driven.of("asked");
        let asked: Vec<&Value> = asked.iter().map(|line| &line["name"]).collect();
        assert_eq!(asked, ["calc__draw", "calc__fail"], "{:?}", driven.lines);
    }
}

#[test]
fn both_get_answers_that_fit_a_schema() {
    let Some(sdks) = sdks("both_get_answers_that_fit_a_schema") else {
        return;
    };
    for driven in [
        Driven::typescript(&sdks, "schema"),
        Driven::python(&sdks, "schema"),
    ] {
        let results = driven
            .of("result")
            .into_iter()
            .chain(driven.of("ResultMessage"));
        let results: Vec<&Value> = results.map(|line| &line["structured_output"]).collect();
        assert_eq!(results, [&json!({"n": 2})], "{:?}", driven.lines);
    }
}

/// A function that takes every line, with all that its type asks for; what the types do not know may stand in it. Of what is Anthropic's own API, messages,
/// events of its stream and counts of tokens, a line has what there is for every provider.
const TYPED: &str = "import type { SDKMessage } from '@anthropic-ai/claude-agent-sdk';
type Some<T> = T extends object ? { [K in keyof T]?: Some<T[K]> } : T;
type Line<M> = M extends unknown ? { [K in keyof M]: K extends 'message' | 'event' | 'usage' ? Some<M[K]> : M[K] } : never;
declare function line<T extends Line<SDKMessage>>(line: T): void;
";

/// The answer of the compiler to this program.
fn compiled(sdks: &Path, name: &str, program: &str) -> String {
    let file = sdks.join(name);
    std::fs::write(&file, program).unwrap();
    let args = "--noEmit --strict --skipLibCheck --target es2022 --module nodenext --moduleResolution nodenext --types node";
    let done = Marvin::new(&sdks.join("node_modules/.bin/tsc"))
        .dir(sdks)
        .line(args)
        .arg(&file)
        .limit(LIMIT)
        .run();
    let said = done.text().to_owned();
    std::fs::remove_file(file).unwrap();
    said
}

#[test]
fn every_line_has_a_type_of_the_npm_package() {
    let Some(sdks) = sdks("every_line_has_a_type_of_the_npm_package") else {
        return;
    };
    let id = std::process::id();
    // The check can fail.
    let wrong = format!("{TYPED}line({{\"type\":\"result\",\"subtype\":\"success\"}});\n");
    let said = compiled(&sdks, &format!("wrong-{id}.mts"), &wrong);
    assert!(said.contains("error TS2345"), "{said}");
    let mut program = TYPED.to_owned();
    let mut kinds = std::collections::BTreeSet::new();
    for scenario in [
        "plain",
        "tools",
        "permissions",
        "interrupt",
        "hooks",
        "servers",
        "schema",
    ] {
        let driven = Driven::typescript(&sdks, scenario);
        let own = ["hook", "asked", "thrown"].map(Value::from);
        let lines = driven.lines.iter();
        for line in lines.filter(|line| !own.contains(&line["type"])) {
            let subtype = line["subtype"].as_str().unwrap_or_default();
            // What the form has no word for.
            if subtype != "marvin" {
                kinds.insert(format!("{} {subtype}", line["type"].as_str().unwrap()));
                program.push_str(&format!("line({line});\n"));
            }
        }
    }
    let told: Vec<&str> = kinds.iter().map(String::as_str).collect();
    assert_eq!(
        told,
        [
            "assistant ",
            "result error_during_execution",
            "result success",
            "stream_event ",
            "system init",
            "system permission_denied",
            "user ",
        ]
    );
    let said = compiled(&sdks, &format!("lines-{id}.mts"), &program);
    assert_eq!(said, "");
}
