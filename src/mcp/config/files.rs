//! The two files of servers: the user's `mcp.json`, and `.mcp.json` of the project.
//!
//! The forms are those of other programs: `mcpServers`, or `servers` as VS Code has it
//! (<https://code.visualstudio.com/docs/copilot/reference/mcp-configuration>), with comments.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::configured::{ConfiguredServer, Source};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::disk::atomic;
use crate::disk::git_head;
use crate::disk::paths::{PROJECT_SERVERS, Paths};
use crate::formats::json_comments;

/// Largest file in bytes.
const MAX_FILE: u64 = 4 << 20;
/// The keys under which servers stand; the first is written.
pub(super) const KEYS: [&str; 2] = ["mcpServers", "servers"];

/// A file of servers.
#[derive(Debug, Clone)]
pub(crate) struct ServerFile {
    pub path: PathBuf,
    pub source: Source,
}

impl ServerFile {
    /// The user's.
    ///
    /// # Errors
    /// There is no home folder.
    pub(crate) fn of_user(env: &Env) -> Outcome<Self> {
        Ok(Self {
            path: Paths::new(env).mcp_servers()?,
            source: Source::User,
        })
    }

    /// That of the project around a folder: in its repository's root, or in the folder itself where there is none; never further above.
    pub(crate) fn of_project(folder: &Path) -> Self {
        let root = git_head::repository(folder).unwrap_or(folder);
        Self {
            path: root.join(PROJECT_SERVERS),
            source: Source::Project,
        }
    }

    /// Its servers in their order; none when there is no such file.
    ///
    /// # Errors
    /// It cannot be read, or is no JSON: line and column are told.
    pub(crate) fn read(&self) -> Outcome<Vec<ConfiguredServer>> {
        match atomic::read_text(&self.path, MAX_FILE)? {
            Some(text) => self.parse(&text).map(|whole| self.servers(&whole)),
            None => Ok(Vec::new()),
        }
    }

    pub(super) fn text(&self) -> Outcome<Option<String>> {
        atomic::read_text(&self.path, MAX_FILE)
    }

    /// The whole of a text of this file.
    pub(super) fn parse(&self, text: &str) -> Outcome<Value> {
        let path = self.path.display();
        if text.trim().is_empty() {
            return Ok(Value::Object(serde_json::Map::new()));
        }
        let whole = json_comments::parse(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default();
            Problem::config(format!(
                "{path} is no JSON in line {line}, column {column}: {words}."
            ))
            .next("Fix it there: until then its servers are left out, and it is not changed.")
        })?;
        let servers = KEYS.iter().filter_map(|key| whole.get(*key));
        let mut servers = servers.filter(|servers| !servers.is_null());
        if !whole.is_object() || servers.any(|servers| !servers.is_object()) {
            return Err(Problem::config(format!(
                "{path} has another form than {{\"mcpServers\": {{\"NAME\": {{…}}}}}}."
            ))
            .next("Fix it: until then its servers are left out, and it is not changed."));
        }
        Ok(whole)
    }

    pub(super) fn servers(&self, whole: &Value) -> Vec<ConfiguredServer> {
        let members = KEYS.iter().filter_map(|key| whole.get(*key)?.as_object());
        let mut servers: Vec<ConfiguredServer> = Vec::new();
        for (name, entry) in members.flatten() {
            if servers.iter().all(|own| own.name != *name) {
                servers.push(ConfiguredServer {
                    name: name.clone(),
                    source: self.source,
                    entry: entry.clone(),
                });
            }
        }
        servers
    }
}

/// The servers of the user and of the project around `folder`, and what is wrong with the files. A name that both have is the user's.
pub(crate) fn read_all(env: &Env, folder: Option<&Path>) -> (Vec<ConfiguredServer>, Vec<Problem>) {
    let user = ServerFile::of_user(env).ok();
    let project = folder.map(ServerFile::of_project);
    let (mut servers, mut faults) = (Vec::<ConfiguredServer>::new(), Vec::new());
    for file in user.iter().chain(&project) {
        match file.read() {
            Ok(read) => {
                let is_new =
                    |server: &ConfiguredServer| servers.iter().all(|own| own.name != server.name);
                let new: Vec<_> = read.into_iter().filter(is_new).collect();
                servers.extend(new);
            }
            Err(problem) => faults.push(problem),
        }
    }
    (servers, faults)
}

/// The server of this name.
///
/// # Errors
/// There is none; the nearest name is told.
pub(crate) fn find(servers: Vec<ConfiguredServer>, name: &str) -> Outcome<ConfiguredServer> {
    let names: Vec<String> = servers.iter().map(|server| server.name.clone()).collect();
    servers
        .into_iter()
        .find(|server| server.name == name)
        .ok_or_else(|| unknown(name, &names))
}

pub(super) fn unknown(name: &str, known: &[String]) -> Problem {
    let shown = one_line(&clip(name, 60));
    Problem::missing(format!("There is no server \"{shown}\".")).near_or(
        name,
        known.iter().map(String::as_str),
        "marvin mcp list shows them, marvin mcp add NAME … adds one.",
    )
}
