//! Reminders of events: records that ring before the start and are removed with the event.

use jiff::{Span, Zoned};

use super::new::BEFORE;
use crate::alerts::record::{self, AlertRecord, EventRef};
use crate::alerts::{Alerts, schedule};
use crate::base::ids;
use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::tools::engine::context::ToolContext;

/// Schedules the reminders of an event; returns what the user has to know about them.
pub(crate) fn add(
    ctx: &ToolContext,
    uid: &str,
    title: &str,
    start: &Zoned,
    when: &str,
) -> Outcome<String> {
    let session = &ctx.session;
    let now = session.clock.now();
    let mut records = Vec::new();
    for minutes in BEFORE {
        let span = Span::new().minutes(minutes);
        let Some(at) = start.checked_sub(span).ok().filter(|at| *at > now) else {
            continue;
        };
        records.push(AlertRecord {
            id: ids::hex(8),
            label: String::new(),
            time: at.to_string(),
            message: format!("{} ({when})", clip(title, 300)),
            scheduler: None,
            job: None,
            late: None,
            of: Some(EventRef {
                profile: session.profile(),
                uid: uid.to_owned(),
            }),
        });
    }
    if records.is_empty() {
        return Ok("No reminders: the time for them has passed.".to_owned());
    }
    let note = schedule::add(&session.alerts, &mut records, &ctx.stop)?;
    Alerts::wake(&session.alerts);
    let scheduled = records.iter().any(|record| record.scheduler.is_some());
    let minutes: Vec<String> = records
        .iter()
        .filter_map(|record| record.due(&session.alerts))
        .map(|at| {
            at.with_time_zone(now.time_zone().clone())
                .strftime("%a %-d %b %H:%M")
                .to_string()
        })
        .collect();
    let mut out = if scheduled {
        format!("Reminders: {}.", minutes.join(" and "))
    } else {
        format!(
            "Reminders were not scheduled outside Marvin (due {}).",
            minutes.join(" and ")
        )
    };
    if let Some(note) = note {
        out.push(' ');
        out.push_str(&note);
    }
    Ok(out)
}

/// Removes the reminders of an event; returns their number and any problem with the scheduler.
pub(crate) fn remove(ctx: &ToolContext, uid: &str) -> Outcome<(usize, Option<String>)> {
    let session = &ctx.session;
    let profile = session.profile();
    let mut records = record::all(&session.paths, session.clock.zones(), &mut Vec::new())?;
    records.retain(|record| {
        record
            .of
            .as_ref()
            .is_some_and(|of| of.uid == uid && of.profile == profile)
    });
    let trouble = if records.is_empty() {
        None
    } else {
        schedule::remove(&session.alerts, &records, &ctx.stop)?
    };
    Alerts::wake(&session.alerts);
    Ok((records.len(), trouble))
}
