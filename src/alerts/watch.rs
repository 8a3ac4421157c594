//! The one thread that waits for the next alert.

use std::collections::BTreeSet;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::record::{self, AlertRecord};
use super::ring;
use crate::alerts::Alerts;
use crate::base::cancel::Cancel;

/// While an alarm is pending the clock is read this often: it can be set, and a machine can sleep.
const CLOCK_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Starts the thread, once per [`Alerts`]: it fires timers, and alarms and reminders where a session shows them. It ends when the [`Alerts`] are dropped.
pub fn watch(alerts: &Arc<Alerts>) {
    let mut waker = alerts.waker();
    if waker.is_some() {
        return;
    }
    let Ok((woken, wake)) = io::pipe() else {
        return;
    };
    *waker = Some(wake);
    drop(waker);
    let alerts = Arc::downgrade(alerts);
    // Without a thread nothing rings here; the scheduler's lines still do.
    let _ = std::thread::Builder::new()
        .name("bells".into())
        .spawn(move || AlertLoop::new(alerts, woken).run());
}

struct AlertLoop {
    alerts: Weak<Alerts>,
    woken: PipeReader,
    files: Option<OwnedFd>,
    /// Ids that this session has announced.
    told: BTreeSet<String>,
}

impl AlertLoop {
    fn new(alerts: Weak<Alerts>, woken: PipeReader) -> Self {
        // Both ends are ours: neither may block this thread.
        let _ = rustix::io::ioctl_fionbio(woken.as_fd(), true);
        Self {
            alerts,
            woken,
            files: files(),
            told: BTreeSet::new(),
        }
    }

    fn run(mut self) {
        while let Some(alerts) = self.alerts.upgrade() {
            if let Some(files) = &self.files {
                follow(files, &alerts);
            }
            let (ended, next) = alerts.ended(Instant::now());
            for name in ended {
                say(
                    &alerts,
                    "Timer",
                    format!("Timer \"{name}\" has ended."),
                    None,
                );
            }
            let timer = next.map(|next| next.saturating_duration_since(Instant::now()));
            let alarm = if alerts.has_session() {
                self.alarms(&alerts)
            } else {
                None
            };
            drop(alerts);
            if !self.wait([timer, alarm].into_iter().flatten().min()) {
                return;
            }
        }
    }

    /// Rings the due records; returns how long to wait for the next.
    fn alarms(&mut self, alerts: &Arc<Alerts>) -> Option<Duration> {
        let records =
            record::all(&alerts.paths, alerts.clock.zones(), &mut Vec::new()).unwrap_or_default();
        self.told
            .retain(|id| records.iter().any(|record| record.id == *id));
        let now = alerts.clock.now().timestamp();
        let mut next = None;
        for record in records {
            let Some(at) = record.at(alerts.clock.zones()) else {
                continue;
            };
            let wait = at.timestamp().duration_since(now);
            match Duration::try_from(wait) {
                Ok(wait) if !wait.is_zero() => {
                    next = Some(
                        next.map_or(wait, |next: Duration| next.min(wait))
                            .min(CLOCK_POLL_INTERVAL),
                    );
                }
                _ if self.told.insert(record.id.clone()) => tell(alerts, &record),
                _ => {}
            }
        }
        next
    }

    /// Waits until the time is over, a wake-up comes or files change; false when the alerts were dropped.
    fn wait(&mut self, time: Option<Duration>) -> bool {
        // Rounded up, or the last fraction of a millisecond would be spent spinning.
        let time = time.and_then(|time| {
            Timespec::try_from(time.saturating_add(Duration::from_millis(1))).ok()
        });
        let mut fds = vec![PollFd::new(&self.woken, PollFlags::IN)];
        fds.extend(
            self.files
                .as_ref()
                .map(|files| PollFd::new(files, PollFlags::IN)),
        );
        let _ = poll(&mut fds, time.as_ref());
        let gone = fds
            .first()
            .is_some_and(|fd| fd.revents().contains(PollFlags::HUP));
        let mut scratch = [0u8; 4096];
        while rustix::io::read(&self.woken, &mut scratch).is_ok_and(|count| count > 0) {}
        if let Some(files) = &self.files {
            while rustix::io::read(files, &mut scratch).is_ok_and(|count| count > 0) {}
        }
        !gone
    }
}

fn tell(alerts: &Arc<Alerts>, record: &AlertRecord) {
    if ring::is_wanted(alerts, record) {
        let words = ring::words(alerts, record);
        say(alerts, "", words, Some(record.id.clone()));
    } else {
        let (alerts, id) = (Arc::clone(alerts), record.id.clone());
        beside(move || drop(ring::fire(&alerts, &id, &Cancel::new())));
    }
}

/// Tells the session at once, and everything else on another thread: a desktop that hangs must not delay other alerts.
fn say(alerts: &Arc<Alerts>, title: &'static str, words: String, id: Option<String>) {
    alerts.announce(&words);
    let alerts = Arc::clone(alerts);
    beside(move || match id {
        Some(id) => drop(ring::fire(&alerts, &id, &Cancel::new())),
        None => {
            let _ =
                ring::notify_out_of_band(&alerts, &alerts.profile(), title, &words, &Cancel::new());
        }
    });
}

fn beside(work: impl FnOnce() + Send + 'static) {
    let _ = std::thread::Builder::new().name("bell".into()).spawn(work);
}

/// Reports changes in the folders of alarms and reminders, also by another process.
#[cfg(target_os = "linux")]
fn files() -> Option<OwnedFd> {
    use rustix::fs::inotify::{CreateFlags, init};
    init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()
}

#[cfg(not(target_os = "linux"))]
fn files() -> Option<OwnedFd> {
    None
}

/// Watches the folders that exist by now; watching one twice has no effect.
#[cfg(target_os = "linux")]
fn follow(files: &OwnedFd, alerts: &Alerts) {
    use rustix::fs::inotify::{WatchFlags, add_watch};
    for folder in [alerts.paths.alarms(), alerts.paths.reminders()]
        .into_iter()
        .flatten()
    {
        let _ = add_watch(files, &folder, WatchFlags::MOVED_TO | WatchFlags::DELETE);
    }
}

#[cfg(not(target_os = "linux"))]
fn follow(_: &OwnedFd, _: &Alerts) {}
