//! The processes below this one, those included that left its group and its session (`setsid`, a daemon): they are found in `/proc`.
//!
//! Whose parent has ended becomes a child of the nearest process above that adopts (`PR_SET_CHILD_SUBREAPER`, prctl(2)), so nothing that was started below an
//! adopting process gets out of its sight, and nothing that was not started below it comes into it. Where the system has no `/proc` or does not adopt, nothing
//! is done here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// Whether this process adopts in order to end whom it adopts.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Whether a command in the sandbox has left a process behind.
static HAS_LEFT: AtomicBool = AtomicBool::new(false);

/// Time between the polite request and the force, at the end of a process.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// From now on this process adopts those below it whose parent ends, and ends them with [`end_all`]. Failure means that it does not.
pub(crate) fn adopt() {
    ENDS.store(true, Ordering::Relaxed);
    keep_in_sight();
}

/// From now on this process adopts those below it whose parent ends, but they may outlive it unless they run in a sandbox of commands.
pub(crate) fn keep_in_sight() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Whether a process below this one runs in a sandbox of commands: it has so many more filters of system calls than this one, and cannot get rid of them. A
/// program with a sandbox of its own, such as a browser, has fewer.
pub(crate) fn has_sandboxed() -> bool {
    #[cfg(target_os = "linux")]
    let has_left = linux::has_sandboxed();
    #[cfg(not(target_os = "linux"))]
    let has_left = false;
    HAS_LEFT.fetch_or(has_left, Ordering::Relaxed);
    has_left
}

/// Ends those that run in a sandbox of commands, as [`has_sandboxed`] sees them.
pub(crate) fn end_sandboxed(grace: Duration) {
    #[cfg(target_os = "linux")]
    linux::end_sandboxed(grace);
    #[cfg(not(target_os = "linux"))]
    let _ = grace;
}

/// Ends processes below this one, politely and after `grace` by force: every one, if [`adopt`] was called; else those that commands in the sandbox have left
/// behind, since nobody looks any more at what they change.
pub(crate) fn end_all(grace: Duration) {
    #[cfg(target_os = "linux")]
    if ENDS.load(Ordering::Relaxed) {
        linux::end_all(grace);
        return;
    }
    if HAS_LEFT.load(Ordering::Relaxed) {
        end_sandboxed(grace);
    }
}

/// Ends those that are not in the process group of this one, as [`end_all`]: the group has its signal already.
pub(super) fn end_outside_group(grace: Duration) {
    #[cfg(target_os = "linux")]
    linux::end_outside_group(grace);
    #[cfg(not(target_os = "linux"))]
    let _ = grace;
}

/// Processes below another one that are not in its group, as they were once.
#[derive(Debug, Default)]
pub(super) struct LeftGroup {
    #[cfg(target_os = "linux")]
    processes: Vec<linux::Process>,
}

impl LeftGroup {
    /// Those of the group that `leader` leads.
    pub(super) fn of(leader: Pid) -> Self {
        #[cfg(not(target_os = "linux"))]
        let _ = leader;
        Self {
            #[cfg(target_os = "linux")]
            processes: linux::outside_group(leader),
        }
    }

    /// Signals those that have not ended since.
    pub(super) fn signal(&self, signal: Signal) {
        #[cfg(not(target_os = "linux"))]
        let _ = signal;
        #[cfg(target_os = "linux")]
        for process in &self.processes {
            linux::send(process, signal);
        }
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::fs;
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::io::Errno;
    use rustix::process::{
        Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, child_subreaper, getpgrp, getpid,
        pidfd_open, pidfd_send_signal, waitid,
    };

    /// How many filters a sandbox of commands has at least.
    const FILTERS: u32 = if cfg!(target_arch = "x86_64") { 3 } else { 2 };
    /// Time between two looks.
    const LOOK: Duration = Duration::from_millis(5);
    /// How long processes may take to go after KILL; one that is stuck in the kernel takes longer.
    const KILL_WAIT: Duration = Duration::from_secs(1);

    /// A process that has not ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Process {
        pub pid: i32,
        pub parent: i32,
        pub group: i32,
        /// When it started, in ticks since the system's start: a process id may be given again, and then this differs.
        pub started: u64,
    }

    pub(super) fn end_all(grace: Duration) {
        if matches!(child_subreaper(), Ok(Some(_))) {
            end(grace, |_| true);
        }
    }

    pub(super) fn end_sandboxed(grace: Duration) {
        if matches!(child_subreaper(), Ok(Some(_))) {
            let own = filters("self");
            end(grace, |process| is_sandboxed(process, own));
        }
    }

    pub(super) fn has_sandboxed() -> bool {
        if has_no_child() {
            return false;
        }
        let own = filters("self");
        let mut below = below(getpid()).into_iter();
        below.any(|process| is_sandboxed(&process, own))
    }

    fn is_sandboxed(process: &Process, own: u32) -> bool {
        filters(&process.pid.to_string()) >= own + FILTERS
    }

    /// How many filters of system calls a process has; see proc_pid_status(5).
    fn filters(process: &str) -> u32 {
        let status = fs::read_to_string(format!("/proc/{process}/status"));
        let status = status.unwrap_or_default();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("Seccomp_filters:"));
        count
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or_default()
    }

    pub(super) fn outside_group(leader: Pid) -> Vec<Process> {
        let mut below = below(leader);
        below.retain(|process| process.group != leader.as_raw_nonzero().get());
        below
    }

    pub(super) fn end_outside_group(grace: Duration) {
        let own = getpgrp().as_raw_nonzero().get();
        end(grace, |process| process.group != own);
    }

    fn end(grace: Duration, is_meant: impl Fn(&Process) -> bool) {
        let signalled = |signal| {
            let below = below(getpid());
            let meant: Vec<&Process> = below.iter().filter(|process| is_meant(process)).collect();
            for process in &meant {
                send(process, signal);
            }
            meant.len()
        };
        if has_no_child() || signalled(Signal::TERM) == 0 {
            return;
        }
        let until = Instant::now() + grace;
        while Instant::now() < until {
            thread::sleep(LOOK);
            if !below(getpid()).iter().any(&is_meant) {
                return;
            }
        }
        // Again and again: one that is ended may have started another in the meantime.
        let until = Instant::now() + KILL_WAIT;
        while signalled(Signal::KILL) > 0 && Instant::now() < until {
            thread::sleep(LOOK);
        }
    }

    /// True in the ordinary case, and then nothing is read: whoever is below has an ancestor that is a child of this process.
    fn has_no_child() -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
    }

    fn below(top: Pid) -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let pids = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        for process in pids.filter_map(look) {
            children.entry(process.parent).or_default().push(process);
        }
        let mut found = Vec::new();
        let mut parents = vec![top.as_raw_nonzero().get()];
        while let Some(parent) = parents.pop() {
            for process in children.remove(&parent).unwrap_or_default() {
                parents.push(process.pid);
                found.push(process);
            }
        }
        found
    }

    /// The process with this id, unless it has ended.
    fn look(pid: i32) -> Option<Process> {
        parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// A line of `/proc/PID/stat` (proc_pid_stat(5)): the name, in parentheses, may hold anything.
    pub(super) fn parse(pid: i32, stat: &str) -> Option<Process> {
        let (_, after) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = after.split(' ').collect();
        let field = |number: usize| fields.get(number - 3).copied();
        // A zombie has ended; whoever is to collect it does.
        if matches!(field(3)?, "Z" | "X" | "x") {
            return None;
        }
        Some(Process {
            pid,
            parent: field(4)?.parse().ok()?,
            group: field(5)?.parse().ok()?,
            started: field(22)?.parse().ok()?,
        })
    }

    /// Signals this very process, and none that got its id since.
    pub(super) fn send(process: &Process, signal: Signal) {
        let Some(pid) = Pid::from_raw(process.pid) else {
            return;
        };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        if look(process.pid).is_some_and(|now| now.started == process.started) {
            let _ended = pidfd_send_signal(handle, signal);
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::linux::{Process, parse};

    #[test]
    fn a_name_may_hold_anything_and_a_zombie_is_none() {
        let stat = |name: &str, state: &str| {
            format!(
                "42 ({name}) {state} 7 42 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 99000 1 2 3\n"
            )
        };
        let expected = Process {
            pid: 42,
            parent: 7,
            group: 42,
            started: 99_000,
        };
        for name in ["sh", "a) S 1 1", "((", ""] {
            assert_eq!(parse(42, &stat(name, "S")), Some(expected), "{name}");
            assert_eq!(parse(42, &stat(name, "Z")), None, "{name}");
        }
        for broken in ["", "42 (sh)", "42 (sh) S 7", "42 (sh) S x 42 9"] {
            assert_eq!(parse(42, broken), None, "{broken}");
        }
    }
}
