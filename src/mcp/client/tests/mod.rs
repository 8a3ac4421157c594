//! Connections to servers that behave in every way: real processes, written for the shell, and real sockets.

mod http;
mod stdio;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::connection::{Connection, ServerEvent, ServerEvents, Wait};
use super::dial::{ClientHost, dial};
use super::questions::{Answer, Question, Questions};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::Outcome;
use crate::mcp::config::entry::{EntrySecrets, Limits, Reach, ServerEntry};

pub(super) const LIMIT: Duration = Duration::from_secs(20);

pub(super) fn entry(reach: Reach) -> ServerEntry {
    ServerEntry {
        hash: String::new(),
        name: "calc".to_owned(),
        reach,
        limits: Limits {
            startup: LIMIT,
            call: LIMIT,
            total: LIMIT,
            idle: LIMIT,
        },
        protocol: None,
        included: Vec::new(),
        excluded: Vec::new(),
        is_always_loaded: false,
        secrets: EntrySecrets::default(),
    }
}

/// A server for the shell: `script` is run for each message, with its method in `$method` and its id in `$id`; `say` sends a message, `result` and `error`
/// answer.
pub(super) fn shell(script: &str) -> Reach {
    let script = format!(
        r#"say() {{ printf '%s\n' "$1"; }}
result() {{ say "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}}"; }}
error() {{ say "{{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{{\"code\":$1,\"message\":\"$2\"}}}}"; }}
hello() {{ result '{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"shell","version":"1"}}}}'; }}
discovered() {{ result '{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{{"tools":{{}}}},"_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"shell","version":"2"}}}}}}'; }}
text() {{ result "{{\"content\":[{{\"type\":\"text\",\"text\":\"$1\"}}]}}"; }}
{script}"#
    );
    Reach::Stdio {
        command: "sh".to_owned(),
        args: vec!["-c".to_owned(), script],
        env: Vec::new(),
        cwd: Some("/".into()),
    }
}

/// The loop in which a shell reads messages.
pub(super) fn each_message(cases: &str) -> String {
    format!(
        r#"while IFS= read -r line; do
id=${{line#*\"id\":}}; id=${{id%%,*}}
method=${{line#*\"method\":\"}}; method=${{method%%\"*}}
case $method in
{cases}
esac
done"#
    )
}

pub(super) fn connect(reach: Reach) -> Arc<dyn Connection> {
    dial(&entry(reach), host())
}

pub(super) fn host() -> ClientHost {
    ClientHost {
        env: Env::from([("PATH", "/usr/local/bin:/usr/bin:/bin")]),
        ..ClientHost::default()
    }
}

pub(super) fn wait(stop: &Cancel) -> Wait<'_> {
    Wait::new(LIMIT, stop)
}

pub(super) fn call(connection: &dyn Connection, tool: &str) -> Outcome<Value> {
    connection.call(tool, &Map::new(), wait(&Cancel::new()))
}

pub(super) fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

/// Keeps what happens.
#[derive(Default)]
pub(super) struct Kept(pub Mutex<Vec<ServerEvent>>);

impl ServerEvents for Kept {
    fn happened(&self, event: ServerEvent) {
        // When it is settled is not of the server's own accord.
        if !matches!(event, ServerEvent::SettledBy(_)) {
            self.0.lock().unwrap().push(event);
        }
    }
}

/// A person who knows their name, and opens nothing.
pub(super) struct Ada;

impl Questions for Ada {
    fn takes_forms(&self) -> bool {
        true
    }

    fn opens_addresses(&self) -> bool {
        false
    }

    fn ask(&self, _: &str, question: Question<'_>, _: &Cancel) -> Answer {
        match question {
            Question::Form { .. } => {
                let values = json!({"name": "Ada"});
                Answer::Accept(values.as_object().unwrap().clone())
            }
            Question::Url { .. } | Question::SignIn { .. } => Answer::Decline,
        }
    }
}
