//! The rate limit per host: a minimum gap between two requests, whichever tool makes them, and longer pauses that the host asks for.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::base::cancel::Cancel;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};

/// Gaps of at least this length also apply between processes.
const SHARED: Duration = Duration::from_secs(1);
/// A time further ahead than this in the shared file is invalid.
const AHEAD: Duration = Duration::from_secs(60);
/// Between two attempts to lock the shared file.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The rate limits of one process.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    hosts: Mutex<HashMap<String, HostLimit>>,
    /// The folder shared by processes.
    dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, Default)]
struct HostLimit {
    /// Earliest time of the next request.
    next: Option<Instant>,
    /// No request before this time, because the service asked for a pause.
    paused_until: Option<Instant>,
}

impl RateLimiter {
    /// Limits shared with other processes that use the same folder, for gaps of a second and more.
    pub(crate) fn new(dir: Option<PathBuf>) -> Self {
        Self {
            hosts: Mutex::default(),
            dir,
        }
    }

    /// Waits until a request to the service `name` on `host` may be sent.
    ///
    /// # Errors
    /// `Limit` during a pause that the service asked for; `Cancelled`.
    pub(crate) fn pass(&self, host: &str, name: &str, gap: Duration, stop: &Cancel) -> Outcome<()> {
        stop.check()?;
        self.check_pause(host, name)?;
        let now = Instant::now();
        let wait = {
            let mut hosts = self.lock();
            let gate = hosts.entry(host.to_owned()).or_default();
            let turn = gate.next.map_or(now, |next| next.max(now));
            gate.next = Some(turn + gap);
            turn.duration_since(now)
        };
        let others = match &self.dir {
            Some(dir) if gap >= SHARED && !is_local_host(host) => {
                among_processes(dir, host, gap, wait, stop)
            }
            _ => wait,
        };
        if !stop.sleep(others) {
            return Err(Problem::cancelled());
        }
        // The response to an earlier request in the queue may have imposed a pause.
        self.check_pause(host, name)
    }

    /// Fails during a pause that the service asked for.
    fn check_pause(&self, host: &str, name: &str) -> Outcome<()> {
        let closed = self
            .lock()
            .get(&pause_key(host, name))
            .and_then(|gate| gate.paused_until);
        match closed.and_then(|until| until.checked_duration_since(Instant::now())) {
            Some(left) => Err(shut(name, left)),
            None => Ok(()),
        }
    }

    /// Imposes a pause of `time` on the service `name` on `host`.
    pub(crate) fn pause(&self, host: &str, name: &str, time: Duration) {
        let until = Instant::now() + time;
        let mut hosts = self.lock();
        let gate = hosts.entry(pause_key(host, name)).or_default();
        gate.paused_until = gate.paused_until.max(Some(until));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, HostLimit>> {
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a pause applies to: the host with everything it serves. On this machine only the one service, because a test server may stand for several.
fn pause_key(host: &str, name: &str) -> String {
    if is_local_host(host) {
        format!("{name} at {host}")
    } else {
        host.to_owned()
    }
}

fn shut(name: &str, left: Duration) -> Problem {
    Problem::limit(format!(
        "{name} asked for a pause; it gets no requests for another {} s.",
        left.as_secs() + 1
    ))
    .next("Wait until then, or use another source.")
}

/// True for hosts on this machine, which have no limit; `host` may have a port.
pub(crate) fn is_local_host(host: &str) -> bool {
    is_local_name(host.rsplit_once(':').map_or(host, |(name, _)| name))
}

/// True for loopback addresses and the names that lead to them (RFC 6761, section 6.3).
pub(super) fn is_local_name(name: &str) -> bool {
    let name = name.trim_matches(['[', ']']).trim_end_matches('.');
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name
            .parse::<std::net::IpAddr>()
            .is_ok_and(|ip| ip.is_loopback())
}

/// How long to wait, including requests of other processes; `own` when those are unknown.
fn among_processes(
    dir: &Path,
    host: &str,
    gap: Duration,
    own: Duration,
    stop: &Cancel,
) -> Duration {
    let name: String = host
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let take = || {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .ok()?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let mut file = open::with(options.truncate(false), &dir.join(name)).ok()?;
        locked(&file, stop)?;
        let mut text = String::new();
        (&file).take(64).read_to_string(&mut text).ok()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let next = text.trim().parse().map_or(Duration::ZERO, |millis| {
            Duration::from_millis(millis).saturating_sub(now)
        });
        let wait = own.max(if next > AHEAD { Duration::ZERO } else { next });
        file.rewind().ok()?;
        file.set_len(0).ok()?;
        let until = (now + wait + gap).as_millis();
        file.write_all(until.to_string().as_bytes()).ok()?;
        Some(wait)
    };
    take().unwrap_or(own)
}

/// Locks the file, which every process holds only briefly.
fn locked(file: &File, stop: &Cancel) -> Option<()> {
    for _ in 0..200 {
        match file.try_lock() {
            Ok(()) => return Some(()),
            Err(TryLockError::WouldBlock) if stop.sleep(POLL_INTERVAL) => {}
            Err(_) => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_has;

    const GAP: Duration = Duration::from_secs(1);

    /// How long another request would have to wait. The token has fired, so nothing waits here.
    fn turns(gates: &RateLimiter, host: &str) -> Duration {
        let hosts = gates.lock();
        let next = hosts.get(host).and_then(|gate| gate.next);
        next.map_or(Duration::ZERO, |next| {
            next.saturating_duration_since(Instant::now())
        })
    }

    #[test]
    fn requests_to_one_host_queue_and_others_do_not_wait() {
        let gates = RateLimiter::default();
        let stop = Cancel::new();
        gates.pass("a", "O", GAP, &stop).unwrap();
        assert!(turns(&gates, "a") > GAP / 2 && turns(&gates, "b").is_zero());
        stop.fire();
        assert!(gates.pass("a", "O", GAP, &stop).unwrap_err().is_cancelled());
    }

    #[test]
    fn a_service_that_asked_for_a_pause_is_left_alone() {
        let gates = RateLimiter::default();
        gates.pause("a", "arXiv", Duration::from_secs(60));
        gates.pause("a", "arXiv", Duration::from_secs(1));
        let problem = gates.pass("a", "arXiv", GAP, &Cancel::new()).unwrap_err();
        assert_has(&problem.what, &["arXiv asked for a pause"]);
        assert!(problem.what.contains("60 s"), "{}", problem.what);
        gates.pass("b", "O", GAP, &Cancel::new()).unwrap();
        // Everything else on the host pauses too, unless it is on this machine.
        assert!(gates.pass("a", "O", GAP, &Cancel::new()).is_err());
        gates.pause("127.0.0.1:1", "I", Duration::from_secs(60));
        let here = |service| gates.pass("127.0.0.1:1", service, Duration::ZERO, &Cancel::new());
        assert!(here("I").is_err() && here("O").is_ok());
    }

    #[test]
    fn processes_take_turns_through_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("gates");
        let stop = Cancel::new();
        let ask = |own| among_processes(&at, "x.test:443", GAP, own, &stop);
        assert_eq!(ask(Duration::ZERO), Duration::ZERO);
        let second = ask(Duration::ZERO);
        assert!(second > GAP / 2 && second <= GAP, "{second:?}");
        let third = ask(Duration::ZERO);
        assert!(third > GAP && third <= GAP * 2, "{third:?}");
        for nonsense in ["", "soon", "99999999999999999"] {
            std::fs::write(at.join("x-test-443"), nonsense).unwrap();
            assert_eq!(ask(Duration::ZERO), Duration::ZERO, "{nonsense}");
        }
        assert!(
            is_local_host("127.0.0.1:80")
                && is_local_host("[::1]:80")
                && !is_local_host("x.test:443")
        );
    }

    #[test]
    fn who_waits_for_a_turn_obeys_a_pause_that_begins_meanwhile() {
        let gates = RateLimiter::default();
        let stop = Cancel::new();
        gates.pass("a", "O", GAP / 2, &stop).unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| gates.pass("a", "O", GAP / 2, &stop));
            while turns(&gates, "a") <= GAP / 2 {
                std::thread::yield_now();
            }
            gates.pause("a", "O", Duration::from_secs(60));
            assert!(waits.join().unwrap().is_err());
        });
    }
}
