//! Whether Blender answers: for `!blender` and `marvin doctor`.

use std::time::Duration;

use serde_json::json;

use super::add_on::{AddOn, Command};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::json::JsonExt as _;
use crate::base::problem::Outcome;
use crate::base::text::{clip, counted, one_line};

/// How long the answer may take.
const CHECK_LIMIT: Duration = Duration::from_secs(2);

/// Asks for the open scene, and says what it is.
///
/// # Errors
/// Blender is not connected, or does not answer as the add-on does within two seconds; `Cancelled`.
pub(crate) fn check(env: &Env, stop: &Cancel) -> Outcome<String> {
    let add_on = AddOn::new(env)?;
    let scene = add_on.ask(Command::SceneInfo, &json!({}), CHECK_LIMIT, stop)?;
    let name = clip(
        &one_line(scene.text("name").unwrap_or("without a name")),
        80,
    );
    let objects = scene
        .whole("object_count")
        .and_then(|count| u64::try_from(count).ok());
    let objects = objects.map_or_else(String::new, |count| {
        format!(" with {}", counted(count, "object"))
    });
    Ok(format!(
        "Blender answers at {}: scene {name}{objects}.",
        add_on.address()
    ))
}
