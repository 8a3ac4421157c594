//! Module `history`: compacting the stored conversation, and searching what was removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::base::clock::Clock;
use crate::base::problem::{Outcome, not_empty};
use crate::base::shared_sort::SharedSort as _;
use crate::base::text::{clip, counted, escape_controls, plural, tail, thousands};
use crate::chat::budget;
use crate::chat::compaction::water_level;
use crate::chat::shorten::shortened;
use crate::chat::tokens::estimate;
use crate::disk::atomic::{self, STATE_CAP};
use crate::disk::beneath::{FileKind, RelPath, Root};
use crate::disk::paths::{CONTEXT_BACKUP, PROJECT_LOGS};
use crate::store::chat_log::{ChatLog, RawEntry as Entry};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{Effect, MEMORY, READ, ToolOk};

tools! { "history";
    /// Shrink the stored conversation.
    compact_history(CompactHistory; MEMORY.seconds(60).destructive().of_conversation()) {
        /// budget
        target_tokens: u64 = 50000, min: 1;
    } => compact, says ["compact the history"];

    /// Search compacted-away messages.
    search_history_backups(SearchHistoryBackups; READ.seconds(10)) {
        /// text
        query: String, example: "retry";
        /// how many
        max_results: u32 = 20, min: 1, max: 50, alias: &["limit"];
    } => search, says ["search the history for {query}"];
}

/// Why a model does not see the chat log.
const FOREIGN_LOG: &str = "The log holds what was said in other folders too, and only \"history: all\" in the preferences lets a conversation know that.";
/// Newest entries, which are kept verbatim.
const KEEP: usize = 20;
/// Older entries are shortened to this many characters before any is dropped.
const SHORTENED_CHARS: usize = 400;

fn compact(ctx: &ToolContext, args: CompactHistory) -> Outcome<ToolOk> {
    let profile = ctx.session.paths.profile(&ctx.session.profile())?;
    let log = ChatLog::new(profile.chat_log(), &ctx.session.clock);
    let mut notes = Vec::new();
    // The model is called before the log is locked, so that no writer has to wait for it.
    let summary = match log.entries(&mut |note| notes.push(note))? {
        Some(entries) if ctx.session.may_know_log(&profile) => {
            summarized(ctx, entries, args.target_tokens)?
        }
        Some(_) => {
            notes.push(format!("It was not summarised by the model. {FOREIGN_LOG}"));
            None
        }
        None => None,
    };
    let mut report = String::from("There is no stored conversation.");
    let change = |entries: Vec<Entry>, backup: &Path| {
        let tokens = weigh(&entries);
        if tokens <= args.target_tokens {
            report = format!(
                "Nothing to do: {} with about {}, within {}.",
                plural(entries.len(), "message"),
                counted(tokens, "token"),
                thousands(args.target_tokens)
            );
            return None;
        }
        let count = entries.len();
        let (mut kept, how) = compacted(entries, summary, args.target_tokens, &ctx.session.clock);
        shorten_longest(&mut kept, args.target_tokens, backup);
        report = format!(
            "Compacted {} (about {}) to {} (about {}); {how}.",
            plural(count, "message"),
            counted(tokens, "token"),
            kept.len(),
            thousands(weigh(&kept)),
        );
        Some(kept)
    };
    let backup = log.compact(change, &mut |note| notes.push(note))?;
    if let Some(backup) = &backup {
        report.push_str(&format!(" Backup: {}", backup.display()));
    }
    for note in notes {
        report.push_str(&format!("\n{note}"));
    }
    let done = ToolOk::from(report);
    Ok(match backup {
        Some(_) => done.and(Effect::HistoryCompacted),
        None => done,
    })
}

/// The entries with the older ones summarized, or without a summary shortened and dropped, and a note on what was done.
fn compacted(
    entries: Vec<Entry>,
    summary: Option<Summary>,
    target: u64,
    clock: &Clock,
) -> (Vec<Entry>, String) {
    let reason = match summary {
        Some(Summary { of, text: Ok(text) }) if entries.starts_with(&of) => {
            let kept = replaced(entries, of.len(), &text, clock);
            return (
                kept,
                format!("the {} older ones are summarised in one", of.len()),
            );
        }
        Some(Summary { text: Ok(_), .. }) => {
            " (shortened without the model: another Marvin changed the log)".to_owned()
        }
        Some(Summary {
            text: Err(reason), ..
        }) => format!(" (shortened without the model: {reason})"),
        None => String::new(),
    };
    let count = entries.len();
    let kept = shrink(entries, target);
    let dropped = plural(count - kept.len(), "message");
    (kept, format!("{dropped} dropped{reason}"))
}

struct Summary {
    of: Vec<Entry>,
    /// Its text, or why there is none.
    text: Result<String, String>,
}

/// Summarizes all but the newest entries with the session's model; `None` without a model or when it is not necessary.
///
/// # Errors
/// The call was cancelled.
fn summarized(ctx: &ToolContext, mut entries: Vec<Entry>, target: u64) -> Outcome<Option<Summary>> {
    let older = entries.len().saturating_sub(KEEP);
    let Some(summarizer) = ctx.session.summarizer() else {
        return Ok(None);
    };
    if older == 0 || weigh(&entries) <= target {
        return Ok(None);
    }
    entries.truncate(older);
    let each = (summarizer.max_chars() / older).clamp(100, 8_000);
    let lines = entries.iter().map(|entry| {
        let role = entry
            .get("role")
            .and_then(Value::as_str)
            .unwrap_or("system");
        format!("{role}: {}\n\n", clip(text_of(entry), each))
    });
    let record: String = lines.collect();
    // Of a log with many thousand entries the newest matter most.
    let record = tail(&record, summarizer.max_chars());
    ctx.progress("writing a summary");
    let text = summarizer.summarize(ctx, record);
    ctx.stop.check()?;
    Ok(Some(Summary {
        of: entries,
        text: text.map_err(|error| error.what.trim_end_matches('.').to_owned()),
    }))
}

/// Replaces the first `older` entries by one.
fn replaced(mut entries: Vec<Entry>, older: usize, text: &str, clock: &Clock) -> Vec<Entry> {
    let newest = entries.split_off(older.min(entries.len()));
    let text = format!("{}:\n{text}", budget::SUMMARY);
    let summary = Entry::from_iter([
        ("role".to_owned(), Value::from("system")),
        ("text".to_owned(), Value::from(text)),
        ("time".to_owned(), Value::from(clock.hour_minute())),
    ]);
    std::iter::once(summary).chain(newest).collect()
}

fn text_of(entry: &Entry) -> &str {
    entry
        .get("text")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn weigh(entries: &[Entry]) -> u64 {
    entries
        .iter()
        .map(|entry| estimate(text_of(entry).len()) + 4)
        .sum()
}

/// Shortens the longest of the entries that stay until the target is met; `backup` has the whole ones.
fn shorten_longest(entries: &mut [Entry], target: u64, backup: &Path) {
    let sizes: Vec<u64> = entries
        .iter()
        .map(|entry| estimate(text_of(entry).len()))
        .collect();
    let level = water_level(&sizes, target.saturating_sub(4 * sizes.len() as u64));
    let bytes = usize::try_from(level.saturating_mul(4)).unwrap_or(usize::MAX);
    let whole = escape_controls(&backup.display().to_string());
    for entry in entries {
        if let Some(short) = shortened(text_of(entry), bytes, &whole)
            && short.len() < text_of(entry).len()
        {
            entry.insert("text".to_owned(), Value::from(short));
        }
    }
}

/// Shortens the older entries, then drops the oldest until the target is met or only the newest are left.
fn shrink(mut entries: Vec<Entry>, target: u64) -> Vec<Entry> {
    let older = entries.len().saturating_sub(KEEP);
    for entry in entries.iter_mut().take(older) {
        let short = clip(text_of(entry), SHORTENED_CHARS);
        entry.insert("text".to_owned(), Value::from(short));
    }
    let mut weight = weigh(&entries);
    let mut drop = 0;
    for entry in entries.iter().take(older) {
        if weight <= target {
            break;
        }
        weight -= estimate(text_of(entry).len()) + 4;
        drop += 1;
    }
    entries.split_off(drop)
}

fn search(ctx: &ToolContext, args: SearchHistoryBackups) -> Outcome<String> {
    let what = "Give a word or phrase of the lost message.";
    let query = not_empty("query", &args.query, what)?.to_lowercase();
    let max = args.max_results as usize;
    let mut hits = Vec::new();
    let mut troubles = Vec::new();
    for backup in backups(ctx, &mut troubles)? {
        ctx.stop.check()?;
        match backup.entries() {
            Ok(entries) => {
                let found = entries.iter().flat_map(|entry| texts(entry, &query));
                hits.extend(found.map(|(entry, text)| hit(&backup.name, entry, &text)));
            }
            Err(problem) => troubles.push(problem.one_line()),
        }
        if hits.len() >= max {
            break;
        }
    }
    hits.truncate(max);
    let mut out = if hits.is_empty() {
        format!("No backup holds \"{}\".", args.query)
    } else {
        hits.join("\n")
    };
    for trouble in troubles.iter().take(3) {
        out.push_str(&format!("\nNot searched: {trouble}"));
    }
    Ok(out)
}

/// A file of removed messages.
struct Backup {
    name: String,
    place: BackupPlace,
}

enum BackupPlace {
    /// In the user's own folders.
    Profile(PathBuf),
    /// In a project, whose author may have put a link there, so it is read through the fence.
    Project(Arc<Root>, RelPath),
}

/// Backups of the chat log and of contexts, newest first; `troubles` gets what is not searched.
fn backups(ctx: &ToolContext, troubles: &mut Vec<String>) -> Outcome<Vec<Backup>> {
    let profile = ctx.session.paths.profile(&ctx.session.profile())?;
    let mut found = Vec::new();
    let contexts = fs::read_dir(profile.logs()).into_iter().flatten().flatten();
    let contexts = contexts
        .map(|entry| entry.path())
        .filter(|path| name_of(path).starts_with(CONTEXT_BACKUP));
    let log = ChatLog::new(profile.chat_log(), &ctx.session.clock);
    let mut logs = log.backups();
    if !logs.is_empty() && !ctx.session.may_know_log(&profile) {
        logs.clear();
        troubles.push(format!("backups of the chat log. {FOREIGN_LOG}"));
    }
    found.extend(logs.into_iter().chain(contexts).map(|path| Backup {
        name: name_of(&path),
        place: BackupPlace::Profile(path),
    }));
    if let Some(root) = ctx.session.working_dir.root() {
        let logs = root.check(PROJECT_LOGS)?;
        for entry in root.list(&logs).unwrap_or_default() {
            if entry.kind == FileKind::File && entry.name.starts_with(CONTEXT_BACKUP) {
                let rel = root.check(&format!("{PROJECT_LOGS}/{}", entry.name))?;
                found.push(Backup {
                    name: entry.name,
                    place: BackupPlace::Project(Arc::clone(&root), rel),
                });
            }
        }
    }
    let stamp = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    found.shared_sort_by_key(|backup| std::cmp::Reverse(stamp(&backup.name)));
    Ok(found)
}

fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

impl Backup {
    /// Its entries: one array, or one object per line.
    fn entries(&self) -> Outcome<Vec<Entry>> {
        let bytes = match &self.place {
            BackupPlace::Profile(path) => atomic::read(path, STATE_CAP)?.unwrap_or_default(),
            BackupPlace::Project(root, rel) => root.read(rel, STATE_CAP)?,
        };
        if let Ok(entries) = serde_json::from_slice(&bytes) {
            return Ok(entries);
        }
        Ok(bytes
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect())
    }
}

/// What is searched in an entry: its text, and the arguments of tool calls.
fn texts<'a>(entry: &'a Entry, query: &'a str) -> impl Iterator<Item = (&'a Entry, String)> {
    let calls = entry.get("calls").and_then(Value::as_array);
    let calls = calls.into_iter().flatten().map(|call| {
        let field = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default();
        (format!("called {} ", field("name")), field("args"))
    });
    std::iter::once((String::new(), text_of(entry)))
        .chain(calls)
        .filter_map(move |(before, text)| {
            let text = before + text;
            let lower = text.to_lowercase();
            let pos = lower.find(query)?;
            // Lower case can have another length; the snippet is then slightly off, but never splits a character.
            let from = text.floor_char_boundary(pos.saturating_sub(80));
            // A call can be understood only from its beginning.
            let from = if text.starts_with("called ") && from < 160 {
                0
            } else {
                from
            };
            let shown = text.get(from..).unwrap_or_default().replace('\n', " ");
            Some((entry, clip(&shown, 240 + query.chars().count())))
        })
}

fn hit(name: &str, entry: &Entry, text: &str) -> String {
    let field = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or("?");
    format!("{name} [{}] {}: {text}", field("time"), field("role"))
}
