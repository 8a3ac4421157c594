//! A tool that comes at run time is everywhere where a built-in one is.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Receiver;
use serde_json::Value;
use serde_json::value::RawValue;

use super::stage::{Stage, small};
use crate::app::session::Session;
use crate::app::session::approve::AskMode;
use crate::app::session::ui_update::UiUpdate;
use crate::app::settings::{CliArgs, ProcessFacts, Settings};
use crate::base::env::Env;
use crate::chat::event::Event;
use crate::tools::engine::owned_tool::OwnedTool;
use crate::tools::{OUTSIDE, ToolOk};
use crate::ui::editor::complete::Sources;
use crate::ui::sources::Candidates;

/// Says what it was called with.
fn lamp() -> OwnedTool {
    let schema = r#"{"type": "object", "properties": {
        "level": {"type": "integer", "description": "how bright", "maximum": 9},
        "rooms": {"type": "array", "items": {"type": "integer"}}
    }, "required": ["level"]}"#;
    OwnedTool {
        name: "lamp_switch".to_owned(),
        module: "lamps".to_owned(),
        summary: "Switch the lamp.".to_owned(),
        schema: RawValue::from_string(schema.to_owned()).unwrap(),
        rules: OUTSIDE,
        phrases: Arc::new(["switch the lamp to {level}".to_owned()]),
        run: Box::new(|_, args| Ok(ToolOk::from(Value::from(args.clone()).to_string()))),
    }
}

struct Opened {
    session: Session,
    bell: Receiver<()>,
    _home: tempfile::TempDir,
}

impl Opened {
    /// A session without a model, in which the lamp appears once everything else is there.
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().to_str().unwrap();
        let env = Env::from([
            ("HOME", dir),
            ("MARVIN_CONFIG_DIR", dir),
            ("LLM_PROVIDER", "offline"),
        ]);
        let settings = Settings::new(CliArgs::default(), env, ProcessFacts::default());
        let (session, bell) = Session::open(settings, AskMode::Nobody).unwrap();
        let mut opened = Self {
            session,
            bell,
            _home: home,
        };
        opened.rest();
        opened
            .session
            .context()
            .registry()
            .register(lamp())
            .unwrap();
        opened
    }

    /// Waits until nothing is under way; what was shown meanwhile.
    fn rest(&mut self) -> Vec<UiUpdate> {
        let mut shown = Vec::new();
        loop {
            self.session.receive();
            shown.extend(self.session.take_updates());
            if !self.session.busy() {
                return shown;
            }
            self.bell.recv_timeout(Duration::from_secs(20)).unwrap();
        }
    }

    /// The lists and failures that `line` brings.
    fn told(&mut self, line: &str) -> String {
        self.session.submit(line);
        let told = self.rest().into_iter().filter_map(|show| match show {
            UiUpdate::Listing(text) => Some(text),
            UiUpdate::Failed(problem) => Some(problem.one_line()),
            _ => None,
        });
        told.collect::<Vec<_>>().join("\n")
    }
}

#[test]
fn commands_list_explain_and_call_it() {
    let mut opened = Opened::new();
    assert!(opened.told("!tools lamp").starts_with("lamp_switch "));
    for (line, words) in [
        ("!tools lamp", "lamps"),
        (
            "!tool lamp_switch --help",
            "how bright (a whole number, required, at most 9)",
        ),
        (
            "!tool lamp_switch --help",
            r#"marvin tool lamp_switch --json '{"level":1}'"#,
        ),
        ("!tool lamp_switch levl=3", "Did you mean \"level\"?"),
        ("!tool lamp_swich level=3", "Did you mean \"lamp_switch\"?"),
    ] {
        let told = opened.told(line);
        assert!(told.contains(words), "{line}: {told}");
    }
    let called = opened.told("!tool lamp_switch level=3 rooms=1,2");
    assert_eq!(called, r#"{"level":3,"rooms":[1,2]}"#);
}

#[test]
fn it_and_its_parameters_are_completed() {
    let opened = Opened::new();
    let candidates = Candidates(opened.session.context());
    assert!(candidates.tools().contains(&"lamp_switch".to_owned()));
    assert_eq!(candidates.parameters("lamp_switch"), ["level", "rooms"]);
}

#[test]
fn it_is_offered_from_the_next_message_on() {
    let mut opened = Opened::new();
    opened.session.submit("switch the lamp to 3");
    let shown = opened.rest();
    let is_call = |show: &UiUpdate| match show {
        UiUpdate::Event(Event::ToolDone { name, text, .. }) => {
            name == "lamp_switch" && text == r#"{"level":"3"}"#
        }
        _ => false,
    };
    assert!(shown.iter().any(is_call), "{shown:?}");
}

#[test]
fn the_line_of_its_call_begins_with_what_is_required() {
    let mut stage = Stage::new();
    stage.tools.register(lamp()).unwrap();
    stage.calls(&[("1", "lamp_switch", r#"{"rooms": [1], "level": 3}"#)]);
    let frame = small(&mut stage);
    assert!(frame.contains("lamp_switch  3 rooms=[1]"), "{frame}");
}

#[test]
fn the_line_of_a_call_has_the_arguments_with_which_it_runs() {
    let mut stage = Stage::new();
    stage.tools.register(lamp()).unwrap();
    stage.calls(&[("1", "lamp_switch", r#"{"level": 3}"#)]);
    assert!(small(&mut stage).contains("lamp_switch  3"));
    stage.show(&UiUpdate::Event(Event::CallChanged {
        id: "1".to_owned(),
        args: r#"{"level": 7}"#.to_owned(),
    }));
    let frame = small(&mut stage);
    assert!(
        frame.contains("lamp_switch  7") && !frame.contains("lamp_switch  3"),
        "{frame}"
    );
}
