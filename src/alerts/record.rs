//! Records of alarms and reminders: one JSON file each, beside the script that the scheduler runs.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Zoned;
use serde::{Deserialize, Serialize};

use crate::alerts::Alerts;
use crate::base::problem::{Outcome, Problem};
use crate::base::shared_sort::SharedSort as _;
use crate::base::zones::ZoneFiles;
use crate::disk::atomic::{self, Access};
use crate::disk::paths::Paths;

/// Maximum size of a record.
const MAX_RECORD_BYTES: u64 = 1 << 20;

/// An event that a reminder belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EventRef {
    /// The profile whose calendar it is.
    pub profile: String,
    /// The event.
    pub uid: String,
}

/// An alert that fires once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AlertRecord {
    /// Random; the scheduler's line ends with it.
    pub id: String,
    /// An alarm's name; a reminder's is its id.
    pub label: String,
    /// When, with zone (RFC 9557).
    pub time: String,
    pub message: String,
    /// `cron`, `at`, or empty: fires only while Marvin is open.
    #[serde(default)]
    pub scheduler: Option<String>,
    /// The job's number where the scheduler is `at`.
    #[serde(default)]
    pub job: Option<u64>,
    /// When the scheduler fires it, if that is later than its time: schedulers only take whole future minutes. A session fires it on time.
    #[serde(skip)]
    pub late: Option<Zoned>,
    /// The event, for a reminder.
    #[serde(default, rename = "event")]
    pub of: Option<EventRef>,
}

impl AlertRecord {
    /// When it rings.
    pub(crate) fn at(&self, zones: &ZoneFiles) -> Option<Zoned> {
        zones.stored(&self.time)
    }

    /// When it fires as far as this process knows: outside a session, by the scheduler.
    pub(crate) fn due(&self, alerts: &Alerts) -> Option<Zoned> {
        let late = self.late.clone().filter(|_| !alerts.has_session());
        late.or_else(|| self.at(alerts.clock.zones()))
    }

    /// The path of the record.
    ///
    /// # Errors
    /// The label is not a valid file name.
    pub(crate) fn path(&self, paths: &Paths) -> Outcome<PathBuf> {
        match self.of {
            Some(_) => paths.reminder_record(&self.id),
            None => paths.alarm_record(&self.label),
        }
    }

    /// The path of its script.
    ///
    /// # Errors
    /// The label is not a valid file name.
    pub(crate) fn script(&self, paths: &Paths) -> Outcome<PathBuf> {
        match self.of {
            Some(_) => paths.reminder_script(&self.id),
            None => paths.alarm_script(&self.label),
        }
    }

    pub(crate) fn save(&self, paths: &Paths) -> Outcome<()> {
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| Problem::internal("An alarm cannot be written.").because(error))?;
        text.push(b'\n');
        atomic::write(&self.path(paths)?, &text, Access::Private)
    }

    /// Removes script and record; missing files are not a problem.
    pub(crate) fn remove(&self, paths: &Paths) -> Outcome<()> {
        for path in [self.script(paths)?, self.path(paths)?] {
            match fs::remove_file(&path) {
                Err(reason) if reason.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Problem::system(
                        format!("Cannot remove {}", path.display()),
                        reason,
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// All records, alarms and reminders, by time; unreadable files are left alone and listed in `odd`.
pub(crate) fn all(
    paths: &Paths,
    zones: &ZoneFiles,
    odd: &mut Vec<PathBuf>,
) -> Outcome<Vec<AlertRecord>> {
    let mut records = Vec::new();
    for (folder, reminders) in [(paths.alarms()?, false), (paths.reminders()?, true)] {
        let Ok(entries) = fs::read_dir(&folder) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|ext| ext != "json") {
                continue;
            }
            match read(&path, zones).filter(|record| record.of.is_some() == reminders) {
                // The name decides what is removed later, so it must be the record's own.
                Some(record) if record.path(paths).is_ok_and(|own| own == path) => {
                    records.push(record);
                }
                _ if path.exists() => odd.push(path),
                _ => {}
            }
        }
    }
    records.shared_sort_by_key(|record| {
        let at = record.at(zones).map(|at| at.timestamp());
        (at, record.label.clone())
    });
    Ok(records)
}

fn read(path: &Path, zones: &ZoneFiles) -> Option<AlertRecord> {
    let bytes = atomic::read(path, MAX_RECORD_BYTES).ok()??;
    let record: AlertRecord = serde_json::from_slice(&bytes).ok()?;
    record.at(zones).is_some().then_some(record)
}

/// The record with this id.
///
/// # Errors
/// `HOME` is not set.
pub(crate) fn find(paths: &Paths, zones: &ZoneFiles, id: &str) -> Outcome<Option<AlertRecord>> {
    Ok(all(paths, zones, &mut Vec::new())?
        .into_iter()
        .find(|record| record.id == id))
}
