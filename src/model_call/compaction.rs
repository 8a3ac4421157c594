//! Keeping a conversation within the model's window: compaction with a backup before anything is dropped, and results that are shortened before they enter.

use crate::base::problem::{Outcome, Problem};
use crate::base::redact;
use crate::base::text::escape_controls;
use crate::chat::budget;
use crate::chat::compaction::{self, CompactionGoal, water_level};
use crate::chat::event::{Event, Level};
use crate::chat::message::{Message, ToolOutput};
use crate::chat::shorten::shortened;
use crate::chat::tokens::TokenMeter;
use crate::chat::wait::Wait;
use crate::disk::atomic::{self, Access};
use crate::disk::beneath::Root;
use crate::disk::paths::{CONTEXT_BACKUP, PROJECT_LOGS, PROJECT_MEMORIES};
use crate::tools::engine::context::ToolContext;
use crate::tools::project::scratch;
use crate::tools::session::skills;

/// Bytes of a result that stand for a token: fewer than most texts have, so that what is cut to them fits.
const BYTES_PER_TOKEN: u64 = 3;

/// Backs up the whole conversation, then replaces what is too much between the user's task and the last messages by one summary, and shortens what is still
/// too large. False when there was nothing to do.
///
/// # Errors
/// If the backup cannot be written nothing is dropped.
pub(crate) fn compact(
    ctx: &ToolContext,
    messages: &mut Vec<Message>,
    meter: &mut TokenMeter,
    goal: CompactionGoal,
) -> Outcome<bool> {
    let before = meter.measure(messages, 0, goal.limit);
    let Some(plan) = compaction::plan(messages, &meter.counts(), goal) else {
        return Ok(false);
    };
    ctx.listener.emit(Event::Wait(Wait::Compaction));
    ctx.listener.emit(Event::Notice(
        Level::Info,
        "🔄 Compacting conversation history...".to_owned(),
    ));
    let project = ctx.session.working_dir.root();
    let stamp = ctx.session.clock.stamp();
    let whole = back_up(ctx, &stamp, messages)?;
    let index =
        |dropped: &[Message]| project.and_then(|root| write_index(&root, dropped, &stamp).ok());
    let count = |message: &Message| meter.recount(message);
    let note = skills_in_use(ctx);
    compaction::apply(messages, plan, goal, &whole, &count, index, note.as_deref());
    ctx.session.reading.reset();
    ctx.listener.emit(Event::Compacted {
        before,
        after: meter.measure(messages, 0, u64::MAX),
    });
    ctx.listener.emit(Event::Notice(
        Level::Info,
        "── Context compacted. Older messages summarized. ──".to_owned(),
    ));
    Ok(true)
}

/// The skills whose instructions may have been dropped.
fn skills_in_use(ctx: &ToolContext) -> Option<String> {
    let used = ctx.session.skills.used();
    (!used.is_empty()).then(|| {
        format!(
            "Skills in use: {}. Read one again with {} before you go on with its work.",
            used.join(", "),
            skills::TOOL
        )
    })
}

/// Shortens the longest results of a round until they have about `room` tokens together. The whole ones go to a file first, which the marks name. Returns how
/// many were shortened.
pub(crate) fn cap_results(ctx: &ToolContext, results: &mut [&mut ToolOutput], room: u64) -> usize {
    let sizes: Vec<u64> = results
        .iter()
        .map(|result| (result.text.len() as u64).div_ceil(BYTES_PER_TOKEN))
        .collect();
    let level = water_level(&sizes, room);
    if level == u64::MAX {
        return 0;
    }
    let is_long = |size: &u64| *size > level;
    let long: Vec<Message> = results
        .iter()
        .zip(&sizes)
        .filter(|(_, size)| is_long(size))
        .map(|(result, _)| Message::Tool((*result).clone()))
        .collect();
    // Without the file the rest can still be asked for again.
    let whole = back_up(ctx, &ctx.session.clock.stamp(), &long).unwrap_or_default();
    let bytes = usize::try_from(level.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    let mut count = 0;
    for result in results {
        if let Some(short) = shortened(&result.text, bytes, &whole)
            && short.len() < result.text.len()
        {
            result.text = short;
            count += 1;
        }
    }
    count
}

/// Writes the messages to a new file, in the project or in the profile, and returns what the model may call it.
///
/// # Errors
/// It cannot be written in either.
pub(crate) fn back_up(ctx: &ToolContext, stamp: &str, messages: &[Message]) -> Outcome<String> {
    let project = ctx.session.working_dir.root();
    scratch::hide(ctx);
    backup(ctx, project.as_deref(), stamp, messages)
}

/// Writes one message per line to a new file: in the project, or in the profile if there is no project or its folder is not writable or points
/// elsewhere.
fn backup(
    ctx: &ToolContext,
    project: Option<&Root>,
    stamp: &str,
    messages: &[Message],
) -> Outcome<String> {
    let mut text = Vec::new();
    let known = ctx.session.secrets.all();
    for message in messages {
        let mut message = serde_json::to_value(message)
            .map_err(|why| Problem::internal(format!("A message cannot be written: {why}.")))?;
        redact::secrets_in_json(&mut message, &known);
        text.extend_from_slice(message.to_string().as_bytes());
        text.push(b'\n');
    }
    if let Some(name) = project.and_then(|root| in_project(root, stamp, &text).ok()) {
        return Ok(name);
    }
    let logs = ctx.session.paths.profile(&ctx.session.profile())?.logs();
    let free = names(stamp)
        .map(|name| logs.join(name))
        .find(|path| !path.exists());
    let path = free.ok_or_else(no_name)?;
    atomic::write(&path, &text, Access::Private)?;
    Ok(escape_controls(&path.display().to_string()))
}

fn in_project(root: &Root, stamp: &str, text: &[u8]) -> Outcome<String> {
    for name in names(stamp) {
        let path = format!("{PROJECT_LOGS}/{name}");
        let rel = root.check(&path)?;
        if !root.exists(&rel)? {
            root.create_new(&rel, text)?;
            return Ok(path);
        }
    }
    Err(no_name())
}

fn no_name() -> Problem {
    Problem::internal("Every name for a backup is taken.")
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
    let index = budget::index(dropped, stamp);
    text.extend_from_slice(redact::secrets(&index, &[]).as_bytes());
    root.put(&rel, &text)?;
    Ok(name)
}
