//! The GitHub Action of `scripts/action`, run as GitHub documents it: a composite action's steps, its expressions, `$GITHUB_OUTPUT` and `$GITHUB_STEP_SUMMARY`.
//! Reference: <https://docs.github.com/actions/reference/workflows-and-actions/metadata-syntax>.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use serde_yaml::Value as Yaml;

use crate::support::conversation::{last_sent, playing, says};
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::server::Server;

type Texts = BTreeMap<String, String>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/action")
}

fn text(yaml: &Yaml) -> String {
    match yaml {
        Yaml::String(text) => text.clone(),
        other => panic!("no text: {other:?}"),
    }
}

/// What a run of the action left behind.
struct ActionRun {
    outputs: Texts,
    summary: String,
    log: String,
    is_success: bool,
}

/// A value of an expression; what the action does not use is not known here.
fn evaluated(expression: &str, inputs: &Texts, steps: &BTreeMap<String, Texts>) -> String {
    let words: Vec<&str> = expression.split_whitespace().collect();
    match words.as_slice() {
        ["github.token"] => "the-job's-token".to_owned(),
        [name] if name.starts_with("inputs.") => inputs[&name["inputs.".len()..]].clone(),
        [name] if name.starts_with("steps.") => {
            let parts: Vec<&str> = name.splitn(4, '.').collect();
            let outputs = steps.get(parts[1]).cloned().unwrap_or_default();
            outputs.get(parts[3]).cloned().unwrap_or_default()
        }
        [name, "==", literal] => {
            let value = evaluated(name, inputs, steps);
            (value == literal.trim_matches('\'')).to_string()
        }
        other => panic!("an expression that nobody here knows: {other:?}"),
    }
}

fn filled(text: &str, inputs: &Texts, steps: &BTreeMap<String, Texts>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        let (expression, after) = after.split_once("}}").unwrap();
        out.push_str(before);
        out.push_str(&evaluated(expression.trim(), inputs, steps));
        rest = after;
    }
    out + rest
}

/// The outputs that a step wrote, `name=value` or with a delimiter.
fn outputs(text: &str) -> Texts {
    let mut all = Texts::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let delimited = line.split_once("<<");
        if let Some((name, end)) = delimited {
            let value: Vec<&str> = lines.by_ref().take_while(|line| *line != end).collect();
            all.insert(name.to_owned(), value.join("\n"));
        } else if let Some((name, value)) = line.split_once('=') {
            all.insert(name.to_owned(), value.to_owned());
        }
    }
    all
}

/// Runs the action with these inputs, as a step of a job whose environment is `job`.
fn act(home: &Home, given: &[(&str, &str)], job: &[(&str, String)]) -> ActionRun {
    let action: Yaml =
        serde_yaml::from_str(&fs::read_to_string(folder().join("action.yml")).unwrap()).unwrap();
    let mut inputs = Texts::new();
    for (name, input) in action["inputs"].as_mapping().unwrap() {
        let default = filled(&text(&input["default"]), &Texts::new(), &BTreeMap::new());
        inputs.insert(text(name), default);
    }
    for (name, value) in given {
        assert!(
            inputs
                .insert((*name).to_owned(), (*value).to_owned())
                .is_some(),
            "no input {name}"
        );
    }
    let runs = &action["runs"];
    assert_eq!(text(&runs["using"]), "composite");
    let dir = home.path().join("runner");
    fs::create_dir_all(&dir).unwrap();
    let (output, summary) = (dir.join("output"), dir.join("summary"));
    fs::write(&summary, "").unwrap();
    let mut steps = BTreeMap::new();
    let (mut log, mut is_success) = (String::new(), true);
    for step in runs["steps"].as_sequence().unwrap() {
        let condition = step
            .get("if")
            .map(|condition| filled(&text(condition), &inputs, &steps));
        if condition.as_deref() == Some("false") || !is_success {
            continue;
        }
        let Some(script) = step.get("run").map(text) else {
            panic!("a step that only GitHub can run: {step:?}");
        };
        assert_eq!(text(&step["shell"]), "bash");
        fs::write(&output, "").unwrap();
        let file = dir.join("step.sh");
        fs::write(&file, filled(&script, &inputs, &steps)).unwrap();
        let mut command = Command::new("bash");
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail"])
            .arg(&file)
            .current_dir(home.work())
            .env_clear()
            .env("PATH", std::env::var("PATH").unwrap())
            .env("HOME", home.path())
            .env("MARVIN_CONFIG_DIR", home.config())
            .env("RUNNER_TEMP", &dir)
            .env("GITHUB_ACTION_PATH", folder())
            .env("GITHUB_OUTPUT", &output)
            .env("GITHUB_STEP_SUMMARY", &summary)
            .envs(job.iter().map(|(name, value)| (name, value)));
        for (name, value) in step
            .get("env")
            .and_then(Yaml::as_mapping)
            .into_iter()
            .flatten()
        {
            command.env(text(name), filled(&text(value), &inputs, &steps));
        }
        let done = command.output().unwrap();
        log += &String::from_utf8_lossy(&done.stdout);
        log += &String::from_utf8_lossy(&done.stderr);
        is_success = done.status.success();
        if let Some(id) = step.get("id") {
            let written = fs::read_to_string(&output).unwrap();
            steps.insert(text(id), outputs(&written));
        }
    }
    let mut outputs = Texts::new();
    for (name, output) in action["outputs"].as_mapping().unwrap() {
        outputs.insert(text(name), filled(&text(&output["value"]), &inputs, &steps));
    }
    ActionRun {
        outputs,
        summary: fs::read_to_string(&summary).unwrap(),
        log,
        is_success,
    }
}

/// [`act`] with the model of a server and the built binary.
fn act_with(home: &Home, server: &Server, prompt: &str, more: &[(&str, &str)]) -> ActionRun {
    let mut inputs = vec![
        ("prompt", prompt),
        ("provider", "openai-compat"),
        ("model", "test-model"),
        ("api-key", "test-key"),
        ("marvin", env!("CARGO_BIN_EXE_marvin")),
        // What a sandbox needs is no subject of the action.
        ("sandbox", "danger-full-access"),
    ];
    inputs.extend_from_slice(more);
    act(home, &inputs, &[("OPENAI_COMPAT_URL", server.url("/v1"))])
}

/// Whether the action can run here: it reads JSON with jq, and always asks for a sandbox.
fn can_run(home: &Home) -> bool {
    let has_jq = Command::new("jq").arg("--version").output().is_ok();
    let flags = home.marvin().args(["help", "flags"]).run().expect(0);
    let is_able = has_jq && flags.text().contains("--sandbox-network");
    if !is_able {
        eprintln!("SKIPPED: the action needs jq and the flag --sandbox");
    }
    is_able
}

#[test]
fn texts_of_strangers_are_never_code() {
    if !can_run(&Home::new()) {
        return;
    }
    for title in [
        "$(touch pwned) `touch pwned`",
        "'; touch pwned; '\"; touch pwned; \"",
        "x\ntouch pwned\n",
        "x\nEOF\ntouch pwned",
        "--trust-project",
        "-e touch pwned",
        "${{ github.token }}\n%0A::set-env name=PATH::x\n::add-mask::test",
        "\\$(touch pwned) %s %n",
        "é \u{202e} \u{1b}[2J",
    ] {
        let home = Home::new();
        // The answer tries to write outputs and to leave its fence.
        let answer = format!("{title}\nresult<<x\nis-error=false\n`````\n## Not the answer");
        let server = playing([says(&answer)]);
        let prompt = format!("Fix this: {title}");
        // With the network as the action has it unless it is told otherwise.
        let sandbox = ["danger-full-access", "read-only"][title.len() % 2];
        let more = [("sandbox", sandbox), ("sandbox-network", "on")];
        let run = act_with(&home, &server, &prompt, &more);
        assert!(run.is_success, "{title}: {}", run.log);
        assert!(
            !home.has("work/pwned") && !home.has("runner/pwned"),
            "{title}"
        );
        assert_eq!(last_sent(&server, 0).trim_end(), prompt.trim_end());
        assert_eq!(run.outputs["result"].trim_end(), answer, "{title}");
        assert_eq!(run.outputs["is-error"], "false");
        assert!(
            run.outputs["cost"].parse::<f64>().is_ok() && run.outputs["session-id"].len() == 36
        );
        let fenced = format!("``````text\n{answer}\n``````");
        assert!(run.summary.contains(&fenced), "{}", run.summary);
        assert!(run.log.contains("::add-mask::test-key"));
        let events = fs::read_to_string(&run.outputs["events"]).unwrap();
        assert!(
            events
                .lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok())
        );
    }
}

#[test]
fn a_failure_fails_the_step_and_says_why() {
    let home = Home::new();
    if !can_run(&home) {
        return;
    }
    let server = Server::start().lenient();
    let run = act_with(
        &home,
        &server,
        "work",
        &[("model", "m"), ("max-turns", "0")],
    );
    assert!(
        !run.is_success && run.log.contains("::error::Marvin failed"),
        "{}",
        run.log
    );
    assert_eq!(run.outputs["is-error"], "true");
    assert!(
        run.outputs["result"].contains("--max-turns"),
        "{:?}",
        run.outputs
    );
    std::os::unix::fs::symlink("/proc/self/environ", home.work().join("p.md")).unwrap();
    let linked = [("prompt", ""), ("prompt-file", "p.md")];
    let run = act_with(&home, &server, "", &linked);
    assert!(!run.is_success && run.log.contains("leads out of the workspace"));
    // What a checkout makes a link of is not written to.
    std::os::unix::fs::symlink("/usr/local/bin", home.work().join("sub")).unwrap();
    let absolute = home.work().join("sub");
    let absolute = absolute.to_str().unwrap();
    for (name, value, words) in [
        ("prompt", "", "There is no prompt."),
        ("prompt-file", "x", "not both"),
        ("provider", "", "api-key needs provider"),
        ("provider", "nonesuch", "is not known"),
        (
            "marvin",
            "./nowhere/marvin",
            "::error::There is no Marvin at",
        ),
        ("working-directory", "nowhere", "no folder that exists"),
        ("working-directory", "sub", "leads out of the workspace"),
        ("working-directory", absolute, "leads out of the workspace"),
    ] {
        let run = act_with(&home, &server, "work", &[(name, value)]);
        assert_eq!(run.outputs["is-error"], "true", "{words}");
        assert!(
            !run.is_success && run.log.contains(words),
            "{words}: {}",
            run.log
        );
    }
}

#[test]
fn structured_output_and_the_token_of_the_job_come_as_they_are_asked_for() {
    let home = Home::new();
    if !can_run(&home) {
        return;
    }
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let server = playing([crate::support::conversation::calls(
        "structured_output",
        json!({"n": 5}),
    )]);
    let run = act_with(
        &home,
        &server,
        "count",
        &[("json-schema", &schema.to_string())],
    );
    assert!(run.is_success, "{}", run.log);
    assert_eq!(run.outputs["structured-output"], "{\"n\":5}");
    // What the process is given, seen from a stand-in for the binary.
    let stand_in = format!(
        "#!/bin/sh\n[ \"$1\" = services ] && exec '{}' services --json\nenv > env\nexit 3\n",
        env!("CARGO_BIN_EXE_marvin")
    );
    let stand_in = home.program("stand-in", &stand_in);
    // A provider by its second name, and a key of several lines.
    let named = [
        ("prompt", "x"),
        ("provider", "Claude"),
        ("api-key", "a%b\n\nc"),
        ("marvin", stand_in.to_str().unwrap()),
    ];
    let run = act(&home, &named, &[]);
    assert!(home.read("work/env").contains("ANTHROPIC_API_KEY=a%b\n"));
    let masks = run.log.lines().filter(|line| line.starts_with("::add"));
    let masks: Vec<&str> = masks.collect();
    assert_eq!(masks, ["::add-mask::a%25b", "::add-mask::c"]);
    for (pass, expected) in [("false", false), ("true", true)] {
        let inputs = [
            ("prompt", "x"),
            ("marvin", stand_in.to_str().unwrap()),
            ("pass-github-token", pass),
        ];
        let job = [
            ("GITHUB_TOKEN", "of the job".to_owned()),
            ("GH_TOKEN", "of the job".to_owned()),
        ];
        let run = act(&home, &inputs, &job);
        assert!(!run.is_success);
        let given = home.read("work/env");
        assert_eq!(
            given.contains("GITHUB_TOKEN=the-job's-token"),
            expected,
            "{given}"
        );
        assert!(
            !given.contains("of the job") && !given.contains("INPUT_"),
            "{given}"
        );
    }
}

#[test]
fn no_script_of_the_action_holds_an_expression() {
    let text = fs::read_to_string(folder().join("action.yml")).unwrap();
    for line in text
        .lines()
        .filter(|line| line.trim_start().starts_with("run:"))
    {
        assert!(!line.contains("${{"), "{line}");
    }
    let done = Marvin::new(Path::new("bash"))
        .args(["-n", folder().join("run.sh").to_str().unwrap()])
        .run();
    done.expect(0);
}
