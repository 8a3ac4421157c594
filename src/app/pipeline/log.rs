//! The logs of a phase's children, one after the other.

use std::io::{Read, Seek, SeekFrom};

use super::event_log;
use super::progress::{ChildProgress, RunProgress};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::pipeline::places::RunPlaces;

/// Of each log so many bytes from its beginning and from its end; the middle is left out.
const HEAD_BYTES: u64 = 64 << 10;
const TAIL_BYTES: u64 = 192 << 10;
/// Newest children of a phase whose logs are shown.
const MAX_LOGS: usize = 40;

/// The logs of the children of `phase`, or of the last phase that had some, in the order in which they were started.
///
/// # Errors
/// No run is recorded, the phase is unknown, or no child ran in it.
pub(crate) fn text(places: &RunPlaces, phase: Option<&str>) -> Outcome<String> {
    let mut progress = RunProgress::default();
    let mut children: Vec<ChildProgress> = Vec::new();
    for (at, event) in event_log::read(places)?.events {
        progress.apply(&event, at);
        if matches!(event, PipelineEvent::ChildStarted { .. }) {
            children.extend(progress.children.last().cloned());
        }
    }
    if children.is_empty() {
        return Err(super::status::no_run(
            &places.root,
            "No child of the pipeline is recorded in",
        ));
    }
    let last = children.last().map_or("", |child| child.phase.as_str());
    let phase = phase.unwrap_or(last).to_owned();
    let known = children.iter().any(|child| child.phase == phase)
        || progress.phases.iter().any(|known| known.name == phase);
    if !known {
        let names: Vec<&str> = progress
            .phases
            .iter()
            .map(|phase| phase.name.as_str())
            .collect();
        return Err(
            Problem::input(format!("No phase is called \"{}\".", one_line(&phase)))
                .next(format!("Phases: {}.", names.join(", "))),
        );
    }
    children.retain(|child| child.phase == phase);
    if children.is_empty() {
        return Err(Problem::missing(format!(
            "No child has run in phase {} so far.",
            one_line(&phase)
        ))
        .next(format!(
            "See what has happened with: {}",
            places.command(&["status"])
        )));
    }
    let left_out = children.len().saturating_sub(MAX_LOGS);
    let mut out = String::new();
    if left_out > 0 {
        out.push_str(&format!(
            "{left_out} older logs are left out; they are in {}.\n\n",
            places.logs()
        ));
    }
    for child in children.iter().skip(left_out) {
        out.push_str(&section(places, child));
    }
    Ok(out)
}

/// The log of a child under a heading.
fn section(places: &RunPlaces, child: &ChildProgress) -> String {
    let path = places.log(&format!("{}.log", child.id));
    let heading = format!(
        "==> {} (attempt {}, {}) {} <==",
        one_line(&child.label),
        child.attempt,
        one_line(&child.model),
        one_line(&path)
    );
    let text = read(&places.root, &path).unwrap_or_else(|problem| problem.one_line());
    format!("{heading}\n{}\n\n", text.trim_end())
}

/// Both ends of a log.
fn read(root: &Root, path: &str) -> Outcome<String> {
    let mut file = root.open_read(&root.check(path)?)?;
    let fail = |error| Problem::system(format!("Cannot read {path}"), error);
    let len = file.metadata().map_err(fail)?.len();
    let mut take = |from, count| -> Outcome<String> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from)).map_err(fail)?;
        (&file).take(count).read_to_end(&mut bytes).map_err(fail)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    if len <= HEAD_BYTES + TAIL_BYTES {
        return take(0, HEAD_BYTES + TAIL_BYTES);
    }
    let (first, last) = (take(0, HEAD_BYTES)?, take(len - TAIL_BYTES, TAIL_BYTES)?);
    let left_out = len - HEAD_BYTES - TAIL_BYTES;
    Ok(format!(
        "{first}\n[… {left_out} bytes are left out …]\n{last}"
    ))
}
