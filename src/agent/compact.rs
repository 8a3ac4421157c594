//! Keeping a conversation within its limits: the message cap, and compaction with a backup before anything is dropped.

use crate::base::problem::{Outcome, Problem};
use crate::chat::budget;
use crate::chat::event::{Event, Level};
use crate::chat::message::Message;
use crate::chat::wait::Wait;
use crate::disk::atomic::{self, Access};
use crate::disk::beneath::Root;
use crate::disk::paths::{CONTEXT_BACKUP, PROJECT_LOGS, PROJECT_MEMORIES};
use crate::tools::engine::context::ToolContext;
use crate::tools::project::scratch;

/// Backs up the whole conversation, then replaces everything between the user's task and the last messages by one summary. False when there was
/// nothing to drop.
///
/// # Errors
/// If the backup cannot be written nothing is dropped.
pub(crate) fn compact(ctx: &ToolContext, messages: &mut Vec<Message>) -> Outcome<bool> {
    let Some(cut) = budget::cut(messages) else {
        return Ok(false);
    };
    ctx.listener.emit(Event::Wait(Wait::Compaction));
    ctx.listener.emit(Event::Notice(
        Level::Info,
        "🔄 Compacting conversation history...".to_owned(),
    ));
    let project = ctx.session.working_dir.root();
    let stamp = ctx.session.clock.stamp();
    scratch::hide(ctx);
    backup(ctx, project.as_deref(), &stamp, messages)?;
    let dropped = budget::take_dropped(messages, cut);
    let index = project.and_then(|root| write_index(&root, &dropped, &stamp).ok());
    budget::insert_summary(messages, budget::summary(&dropped, index.as_deref()));
    ctx.session.reading.reset();
    ctx.listener.emit(Event::Notice(
        Level::Info,
        "── Context compacted. Older messages summarized. ──".to_owned(),
    ));
    Ok(true)
}

/// Writes one message per line to a new file: in the project, or in the profile if there is no project or its folder is not writable or points
/// elsewhere.
fn backup(
    ctx: &ToolContext,
    project: Option<&Root>,
    stamp: &str,
    messages: &[Message],
) -> Outcome<()> {
    let mut text = Vec::new();
    for message in messages {
        serde_json::to_writer(&mut text, message)
            .map_err(|why| Problem::internal(format!("A message cannot be written: {why}.")))?;
        text.push(b'\n');
    }
    if project.is_some_and(|root| in_project(root, stamp, &text).is_ok()) {
        return Ok(());
    }
    let logs = ctx.session.paths.profile(&ctx.session.profile())?.logs();
    let free = names(stamp)
        .map(|name| logs.join(name))
        .find(|path| !path.exists());
    free.map_or(Ok(()), |path| atomic::write(&path, &text, Access::Private))
}

fn in_project(root: &Root, stamp: &str, text: &[u8]) -> Outcome<()> {
    for name in names(stamp) {
        let rel = root.check(&format!("{PROJECT_LOGS}/{name}"))?;
        if !root.exists(&rel)? {
            return root.create_new(&rel, text);
        }
    }
    Ok(())
}

fn names(stamp: &str) -> impl Iterator<Item = String> {
    (1u32..).map(move |n| match n {
        1 => format!("{CONTEXT_BACKUP}{stamp}.jsonl"),
        n => format!("{CONTEXT_BACKUP}{stamp}-{n}.jsonl"),
    })
}

/// Lists the dropped messages in the project's memory index; returns the name of the index.
fn write_index(root: &Root, dropped: &[Message], stamp: &str) -> Outcome<String> {
    let name = format!("{PROJECT_MEMORIES}/INDEX.md");
    let rel = root.check(&name)?;
    let mut text = if root.exists(&rel)? {
        root.read(&rel, atomic::STATE_CAP)?
    } else {
        Vec::new()
    };
    text.extend_from_slice(budget::index(dropped, stamp).as_bytes());
    root.put(&rel, &text)?;
    Ok(name)
}
