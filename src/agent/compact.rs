//! Keeping a conversation within its limits: the message cap, and compaction with a backup before anything is dropped.

use std::path::Path;

use crate::base::error::{Outcome, Problem};
use crate::chat::budget;
use crate::chat::event::{Event, Level};
use crate::chat::message::Message;
use crate::disk::atomic::{self, Access};
use crate::disk::paths::ProjectPaths;
use crate::tools::context::Ctx;
use crate::tools::scratch;

/// Writes the whole conversation to a backup, then replaces all but its last messages by one summary.
/// False when there was nothing to drop.
///
/// # Errors
/// When the backup cannot be written nothing is dropped.
pub fn compact(ctx: &Ctx, messages: &mut Vec<Message>) -> Outcome<bool> {
    let Some(at) = budget::cut(messages) else {
        return Ok(false);
    };
    ctx.listener.hear(Event::Notice(
        Level::Info,
        "🔄 Compacting conversation history...".to_owned(),
    ));
    let world = &ctx.world;
    let project = world.place.root().map(|root| root.path().to_owned());
    let logs = match &project {
        Some(dir) => ProjectPaths::new(dir).logs(),
        None => world.paths.profile(&world.profile())?.logs(),
    };
    scratch::hide(ctx);
    backup(&logs, &world.clock.stamp(), messages)?;
    let dropped: Vec<Message> = messages.drain(..at).collect();
    let index = project
        .as_deref()
        .and_then(|dir| write_index(dir, &dropped, &world.clock.stamp()).ok());
    messages.insert(0, budget::summary(&dropped, index.as_deref()));
    ctx.listener.hear(Event::Notice(
        Level::Info,
        "── Context compacted. Older messages summarized. ──".to_owned(),
    ));
    Ok(true)
}

/// One message a line, in a file of its own that is never overwritten.
fn backup(logs: &Path, stamp: &str, messages: &[Message]) -> Outcome<()> {
    let named = |n: u32| {
        logs.join(if n == 1 {
            format!("context-backup-{stamp}.jsonl")
        } else {
            format!("context-backup-{stamp}-{n}.jsonl")
        })
    };
    let path = (1..)
        .map(named)
        .find(|path| !path.exists())
        .unwrap_or_else(|| named(1));
    let mut text = Vec::new();
    for message in messages {
        serde_json::to_writer(&mut text, message)
            .map_err(|why| Problem::internal(format!("A message cannot be written: {why}.")))?;
        text.push(b'\n');
    }
    atomic::write(&path, &text, Access::Usual)
}

/// Adds what was dropped to the index of the project's memories; returns the index's name for the model.
fn write_index(dir: &Path, dropped: &[Message], stamp: &str) -> Outcome<String> {
    let path = ProjectPaths::new(dir).memories_index();
    let mut text = atomic::read_text(&path, atomic::STATE_CAP)?.unwrap_or_default();
    text.push_str(&budget::index(dropped, stamp));
    atomic::write(&path, text.as_bytes(), Access::Usual)?;
    Ok(".marvin/memories/INDEX.md".to_owned())
}
