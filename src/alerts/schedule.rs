//! Passes records to the scheduler, so that they fire when Marvin is closed, and removes them from it.

use std::path::PathBuf;
use std::time::Duration;

use jiff::civil::DateTime;
use jiff::{RoundMode, Timestamp, Unit, ZonedRound};

use super::record::AlertRecord;
use crate::alerts::Alerts;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::lock::Lock;
use crate::proc::cron::{CronMark, daemon_runs};
use crate::proc::{at, cron};

/// Variables that a notification needs and a scheduler does not set; none is a secret, except a proxy address with a password.
const PASSED_VARIABLES: [&str; 23] = [
    "HOME",
    "PATH",
    "TZ",
    "TZDIR",
    "LANG",
    "MARVIN_CONFIG_DIR",
    "MARVIN_URL_NTFY",
    "MARVIN_ALLOW_PRIVATE",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];
/// Time limit for passing a record to the scheduler.
const HAND_OVER_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum wait for another Marvin process that is changing the crontab.
const LOCK_TIMEOUT: Duration = Duration::from_secs(6);

/// Saves the records and hands them to cron, else to at; returns a warning for the user when neither works well.
///
/// # Errors
/// The records cannot be written.
pub(crate) fn add(
    alerts: &Alerts,
    records: &mut [AlertRecord],
    stop: &Cancel,
) -> Outcome<Option<String>> {
    for record in records.iter() {
        record.save(&alerts.paths)?;
    }
    let mut reason = String::new();
    for (scheduler, installed) in [
        ("cron", cron::is_installed(&alerts.env)),
        ("at", at::is_installed(&alerts.env)),
    ] {
        if !installed {
            continue;
        }
        let handed = if scheduler == "cron" {
            with_cron(alerts, records, stop)
        } else {
            with_at(alerts, records, stop)
        };
        match handed {
            Ok(()) => {
                for record in records.iter_mut() {
                    record.scheduler = Some(scheduler.to_owned());
                    record.save(&alerts.paths)?;
                }
                return Ok(unheard(scheduler));
            }
            Err(problem) if problem.is_cancelled() => return Err(problem),
            Err(problem) => {
                reason.push_str(&problem.what);
                reason.push(' ');
            }
        }
    }
    if reason.is_empty() {
        reason.push_str("Neither crontab nor at is installed (packages cron and at). ");
    }
    Ok(Some(format!(
        "{reason}It will only ring while Marvin is open."
    )))
}

/// The warning about a scheduler whose daemon is not running.
fn unheard(scheduler: &str) -> Option<String> {
    let (names, program): (&[&str], _) = match scheduler {
        "cron" => (&["cron", "crond", "fcron", "dcron", "bcron-sched"], "cron"),
        _ => (&["atd"], "atd"),
    };
    (!daemon_runs(names)).then(|| {
        format!("It is scheduled, but no {program} seems to run here: until one does, it will only ring while Marvin is open.")
    })
}

fn with_cron(alerts: &Alerts, records: &mut [AlertRecord], stop: &Cancel) -> Outcome<()> {
    // First: waiting for the lock may take time, the rest does not.
    let _lock = lock(alerts, stop)?;
    let mut lines = String::new();
    for record in records {
        let when = assign_minute(alerts, record);
        let script = write_script(alerts, record, when)?;
        let line = script
            .to_str()
            .and_then(|script| cron::line(when?, script, &mark(record)?));
        lines.push_str(&line.ok_or_else(|| {
            Problem::refused(format!("{} cannot be used in a crontab.", script.display()))
        })?);
    }
    cron::change(&alerts.env, stop, &[], &lines)
}

fn with_at(alerts: &Alerts, records: &mut [AlertRecord], stop: &Cancel) -> Outcome<()> {
    for record in records.iter_mut() {
        let when = assign_minute(alerts, record);
        let script = write_script(alerts, record, when)?;
        let (Some(when), Some(mark), Some(script)) = (when, mark(record), script.to_str()) else {
            return Err(Problem::refused(
                "The path of the alarm cannot be given to at.",
            ));
        };
        record.job = Some(at::add(&alerts.env, stop, when, script, &mark)?);
    }
    Ok(())
}

fn write_script(alerts: &Alerts, record: &AlertRecord, when: Option<DateTime>) -> Outcome<PathBuf> {
    let script = record.script(&alerts.paths)?;
    let text = script_text(alerts, record, when.map_or(0, DateTime::year))?;
    atomic::write(&script, text.as_bytes(), Access::Private)?;
    executable(&script)?;
    Ok(script)
}

/// Removes the records from their scheduler, then from disk. A failing scheduler is reported, not an error: without its record, a line does
/// nothing.
///
/// # Errors
/// The files cannot be removed.
pub(crate) fn remove(
    alerts: &Alerts,
    records: &[AlertRecord],
    stop: &Cancel,
) -> Outcome<Option<String>> {
    for record in records {
        record.remove(&alerts.paths)?;
    }
    Ok(take_back(alerts, records, stop))
}

/// Removes the records from their scheduler; returns a warning if that failed.
pub(crate) fn take_back(alerts: &Alerts, records: &[AlertRecord], stop: &Cancel) -> Option<String> {
    let mut trouble = None;
    let marks: Vec<CronMark> = records.iter().filter_map(mark).collect();
    if !marks.is_empty() && cron::is_installed(&alerts.env) {
        // Also for records that do not mention cron: a process that was killed may have written the line but not yet the record.
        let taken =
            lock(alerts, stop).and_then(|_lock| cron::change(&alerts.env, stop, &marks, ""));
        if let Err(problem) = taken
            && records
                .iter()
                .any(|record| record.scheduler.as_deref() == Some("cron"))
        {
            trouble = Some(format!(
                "{} Its line stays there and does nothing.",
                problem.what
            ));
        }
    }
    for record in records {
        if let (Some(job), Some(mark)) = (record.job, mark(record)) {
            let _ = at::remove(&alerts.env, stop, job, &mark);
        }
    }
    trouble
}

fn lock(alerts: &Alerts, stop: &Cancel) -> Outcome<Lock> {
    let beside = alerts
        .paths
        .cache()
        .or_else(|_| alerts.paths.config().map(Into::into))?;
    Lock::take(&beside.join("crontab"), LOCK_TIMEOUT, stop)
}

fn mark(record: &AlertRecord) -> Option<CronMark> {
    CronMark::new(&record.id)
}

/// The minute for the scheduler, in its zone: the record's own, whose second the program then waits for; the next one if that has already begun.
fn assign_minute(alerts: &Alerts, record: &mut AlertRecord) -> Option<DateTime> {
    let zones = alerts.clock.zones();
    let heard = alerts
        .clock
        .now()
        .timestamp()
        .checked_add(HAND_OVER_TIMEOUT)
        .ok()?;
    let at = record.at(zones)?;
    let minute = |moment: Timestamp, mode: RoundMode| {
        let whole = ZonedRound::new().smallest(Unit::Minute).mode(mode);
        moment.to_zoned(zones.machine()).round(whole).ok()
    };
    let own = minute(at.timestamp(), RoundMode::Trunc)?;
    if own.timestamp() >= heard {
        return Some(own.datetime());
    }
    let next = minute(at.timestamp().max(heard), RoundMode::Ceil)?;
    record.late = Some(next.with_time_zone(at.time_zone().clone()));
    Some(next.datetime())
}

/// The script holds an id, a year and paths; the message stays in its record, where no shell reads it.
fn script_text(alerts: &Alerts, record: &AlertRecord, year: i16) -> Outcome<String> {
    let marvin = std::env::current_exe()
        .map_err(|error| Problem::system("Cannot find Marvin's own program", error))?;
    let marvin = quoted(without_deleted_suffix(&marvin.to_string_lossy()));
    let id = &record.id;
    let mut exports = String::new();
    for name in PASSED_VARIABLES {
        let holds_password =
            |value: &&str| name.to_lowercase().ends_with("_proxy") && value.contains('@');
        if let Some(value) = alerts.env.get(name).filter(|value| !holds_password(value)) {
            exports.push_str(&format!("export {name}={}\n", quoted(value)));
        }
    }
    Ok(format!(
        "#!/bin/sh\n\
         # Rings once, then Marvin removes it. The scheduler knows no years, so this does.\n\
         PATH=\"$PATH:/usr/bin:/bin\"\n\
         case \"$(date +%Y)\" in {year} | '') ;; *) exit 0 ;; esac\n\
         {exports}\
         PATH=\"$PATH:/usr/bin:/bin\"\n\
         if [ -x {marvin} ]; then exec {marvin} --fire-alarm {id}; fi\n\
         exec notify-send -a Marvin -- Marvin 'An alarm is due, but Marvin is no longer where it was.'\n"
    ))
}

/// The path of a program that was replaced while running: Linux appends " (deleted)" to it.
fn without_deleted_suffix(path: &str) -> &str {
    path.strip_suffix(" (deleted)").unwrap_or(path)
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\0', "").replace('\'', "'\\''"))
}

fn executable(path: &std::path::Path) -> Outcome<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).map_err(|error| {
        Problem::system(format!("Cannot make {} executable", path.display()), error)
    })
}

#[cfg(test)]
mod tests {
    use super::without_deleted_suffix;

    #[test]
    fn a_replaced_program_keeps_its_path() {
        assert_eq!(
            without_deleted_suffix("/bin/marvin (deleted)"),
            "/bin/marvin"
        );
        assert_eq!(without_deleted_suffix("/bin/marvin"), "/bin/marvin");
    }
}
