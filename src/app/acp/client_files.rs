//! The client's files: texts that are not saved, and writes that its undo knows.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use super::client::{Client, error_words};
use super::given_paths::GivenPaths;
use super::params::NOT_FOUND;
use super::tool_call::set;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::formats::json_rpc::RpcError;
use crate::tools::engine::editor_files::EditorFiles;

/// The files of a session.
pub(super) struct ClientFiles {
    pub(super) client: Arc<Client>,
    pub(super) session: Arc<str>,
    pub(super) paths: Arc<GivenPaths>,
}

impl ClientFiles {
    /// What the client is asked about a file.
    fn params(&self, path: &Path) -> Value {
        let path = self.paths.of(path);
        json!({"sessionId": &*self.session, "path": path.display().to_string()})
    }

    fn ask(&self, method: &str, params: &Value, stop: &Cancel) -> Outcome<Result<Value, RpcError>> {
        self.client.ask(&self.session, method, params, stop)
    }
}

fn failed(what: &str, path: &Path, why: &str) -> Problem {
    Problem::refused(format!(
        "The editor cannot {what} {}: {why}.",
        path.display()
    ))
}

impl EditorFiles for ClientFiles {
    fn reads(&self) -> bool {
        self.client.abilities().reads_files
    }

    fn writes(&self) -> bool {
        self.client.abilities().writes_files
    }

    fn read(&self, path: &Path, stop: &Cancel) -> Outcome<Option<String>> {
        let params = self.params(path);
        match self.ask("fs/read_text_file", &params, stop)? {
            Ok(mut answer) => match answer.get_mut("content").map(Value::take) {
                Some(Value::String(text)) => Ok(Some(text)),
                _ => Err(failed("read", path, "its answer has no text")),
            },
            Err(error) if error.code == NOT_FOUND => Ok(None),
            Err(error) => Err(failed("read", path, &error_words(&error))),
        }
    }

    fn write(&self, path: &Path, text: &str, stop: &Cancel) -> Outcome<()> {
        let mut params = self.params(path);
        set(&mut params, "content", json!(text));
        let answer = self.ask("fs/write_text_file", &params, stop)?;
        answer
            .map(drop)
            .map_err(|error| failed("write", path, &error_words(&error)))
    }
}
