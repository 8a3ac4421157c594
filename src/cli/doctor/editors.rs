//! How Marvin is entered in the settings of editors.

use serde_json::json;

use super::finding::{Finding, finding};
use crate::app::settings::Settings;

/// The name of the editor, the file, and whether its entries say what kind they are.
const EDITORS: [(&str, &str, bool); 2] = [
    ("Zed", "settings.json", true),
    ("JetBrains", "~/.jetbrains/acp.json", false),
];

/// What to enter where.
pub(super) fn findings(settings: &Settings) -> Vec<Finding> {
    let program = settings.process.executable.as_ref();
    let program = program.map_or_else(|| "marvin".to_owned(), |path| path.display().to_string());
    let entry = |(name, file, has_type): (&'static str, &str, bool)| {
        let mut server = json!({"command": program, "args": ["acp"]});
        if has_type && let Some(server) = server.as_object_mut() {
            server.insert("type".to_owned(), json!("custom"));
        }
        let entry = json!({"agent_servers": {"Marvin": server}});
        finding("editor", name, true, format!("in {file}: {entry}"), "")
    };
    EDITORS.into_iter().map(entry).collect()
}
