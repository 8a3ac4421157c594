//! A run as lines: one for each event that matters. Other programs may read them, so their wording stays.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::app::pipeline::progress::{RunProgress, Usage};
use crate::app::pipeline::summary::{time, used};
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::{PipelineEvent, TierChoice};
use crate::ui::text::clean::clean_line;
use crate::ui::text::width;

/// Before each line that is Marvin's own.
const LABEL: &str = "[pipeline] ";
/// Before the rows of a table.
pub(super) const INDENT: &str = "    ";
const MAX_TEXT_COLUMNS: usize = 400;

/// Writes lines to standard error as the events come.
pub(super) struct LineDisplay {
    began: Instant,
    progress: Mutex<RunProgress>,
}

impl Default for LineDisplay {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            progress: Mutex::default(),
        }
    }
}

impl EventSink for LineDisplay {
    fn emit(&self, event: Event) {
        let mut text = String::new();
        match event {
            Event::Pipeline(event) => {
                let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
                progress.apply(&event, self.began.elapsed());
                for line in lines(&event, &progress, usize::MAX) {
                    let label = if line.starts_with(INDENT) { "" } else { LABEL };
                    let _ = writeln!(text, "{label}{line}");
                }
                // Written while the lock is held, so that the lines keep the order of the events.
                write(&text);
            }
            Event::Notice(_, words) => write(&format!("{LABEL}{}\n", foreign(&words))),
            Event::Delta(_)
            | Event::Thinking(_)
            | Event::ToolsStarted(_)
            | Event::CallState { .. }
            | Event::Progress { .. }
            | Event::Output { .. }
            | Event::CallChanged { .. }
            | Event::Wait(_)
            | Event::ToolDone { .. }
            | Event::Turn(_)
            | Event::ReplyEnded(_)
            | Event::Compacted { .. }
            | Event::ChildLine { .. }
            | Event::ThoughtSigned(_)
            | Event::Denied { .. }
            | Event::Reply(_) => {}
        }
    }
}

/// Failures to write are ignored: the run goes on without a reader.
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// The lines about an event, after which the run is at `progress`; none when it does not matter. Only tables depend on the room.
pub(super) fn lines(event: &PipelineEvent, progress: &RunProgress, columns: usize) -> Vec<String> {
    let line = match event {
        PipelineEvent::RunStarted {
            task,
            ticket,
            tiers,
            resumed,
            ..
        } => {
            let (done, all) = progress.count();
            let ticket = foreign(ticket);
            let mut out = vec![match resumed {
                true => format!("Run resumed, ticket {ticket}: {done} of {all} phases are done."),
                false => format!("Run started, ticket {ticket}: {all} phases."),
            }];
            out.push(format!("Task: {}", foreign(task)));
            out.extend(tier_table(tiers, columns));
            return out;
        }
        PipelineEvent::PhaseStarted { phase } => {
            let about = progress.phases.iter().find(|known| known.name == *phase);
            let about = about.map_or_else(String::new, |phase| foreign(&phase.about));
            let (_, all) = progress.count();
            match progress.number(phase) {
                Some(number) => {
                    format!(
                        "Phase {} started ({number} of {all}): {about}",
                        foreign(phase)
                    )
                }
                None => format!("Phase {} started: {about}", foreign(phase)),
            }
        }
        PipelineEvent::PhaseSkipped { phase, reason } => {
            format!("Phase {} skipped: {}", foreign(phase), foreign(reason))
        }
        PipelineEvent::PhaseDone { phase, took } => {
            format!("Phase {} done in {}", foreign(phase), time(*took))
        }
        PipelineEvent::RoundStarted {
            phase,
            subject,
            round,
            most,
        } => format!(
            "Phase {}, round {round} of {most}: {}",
            foreign(phase),
            foreign(subject)
        ),
        PipelineEvent::ChildStarted {
            label,
            model,
            attempt,
            ..
        } => format!(
            "Child {} started: {}, attempt {attempt}",
            foreign(label),
            foreign(model)
        ),
        PipelineEvent::ChildEnded {
            id,
            done,
            words,
            took,
        } => {
            let child = progress.child(id);
            let usage = child.map_or_else(Usage::default, |child| child.usage);
            let label = child.map_or_else(|| foreign(id), |child| foreign(&child.label));
            let verb = if *done { "done in" } else { "failed after" };
            format!(
                "Child {label} {verb} {} ({}): {}",
                time(*took),
                used(usage),
                foreign(words)
            )
        }
        PipelineEvent::ProviderWait {
            label,
            provider,
            milliseconds,
        } => format!(
            "Child {} waits {} for {}, which cannot answer now",
            foreign(label),
            time(Duration::from_secs(milliseconds.div_ceil(1_000))),
            foreign(provider)
        ),
        PipelineEvent::TestsRun { passed, words } => {
            let mark = if *passed { "passed" } else { "failed" };
            format!("Tests {mark}: {}", foreign(words))
        }
        PipelineEvent::Checkpoint { message } => format!("Checkpoint: {}", foreign(message)),
        PipelineEvent::Warning { words } => format!("Warning: {}", foreign(words)),
        PipelineEvent::Steered { words }
        | PipelineEvent::InWorktree { words, .. }
        | PipelineEvent::ApprovalAwaited { words, .. } => foreign(words),
        PipelineEvent::RunPaused { words, .. } => format!(
            "Run paused after {} ({}): {}",
            time(progress.elapsed(progress.times.latest)),
            used(progress.own_usage()),
            foreign(words)
        ),
        PipelineEvent::RunEnded { done, words } => format!(
            "Run {} after {} ({}): {}",
            if *done { "done" } else { "stopped" },
            time(progress.elapsed(progress.times.latest)),
            used(progress.own_usage()),
            foreign(words)
        ),
        PipelineEvent::ChildTools { .. } | PipelineEvent::ChildUsage { .. } => return Vec::new(),
    };
    vec![line.trim_end_matches([' ', ':']).to_owned()]
}

/// The model of each tier as a table, or as a list where the table has no room.
fn tier_table(tiers: &[TierChoice], columns: usize) -> Vec<String> {
    let cells = |choice: &TierChoice| {
        [
            &choice.tier,
            &choice.model,
            &choice.provider,
            &choice.source,
        ]
        .map(|cell| foreign(cell))
    };
    let mut rows = vec![["tier", "model", "provider", "chosen by"].map(str::to_owned)];
    rows.extend(tiers.iter().map(cells));
    if tiers.is_empty() {
        return Vec::new();
    }
    let widest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| width::of(cell)).max().unwrap_or_default()
    };
    let widths = [widest(0), widest(1), widest(2), widest(3)];
    if widths.iter().sum::<usize>() + 3 * 2 + INDENT.len() > columns {
        let list = rows.iter().skip(1);
        return list
            .map(|[tier, model, provider, source]| {
                format!("{INDENT}{tier}: {model} of {provider} ({source})")
            })
            .collect();
    }
    let table = rows.iter().map(|row| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, columns)| width::pad(cell, columns));
        let row = cells.collect::<Vec<_>>().join("  ");
        format!("{INDENT}{}", row.trim_end())
    });
    table.collect()
}

/// A text from outside: on one line, safe, and not endless.
pub(super) fn foreign(text: &str) -> String {
    width::clip(&clean_line(text), MAX_TEXT_COLUMNS)
}
