//! CPU time of the current thread, for tests: what an algorithm costs, however busy the machine is.

use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};

/// A start time that is used like `Instant`.
pub(crate) struct CpuTime(Duration);

impl CpuTime {
    pub(crate) fn now() -> Self {
        Self(of_thread())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        of_thread().saturating_sub(self.0)
    }
}

fn of_thread() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).unwrap();
    let spent = [usage.user_time(), usage.system_time()].map(|time| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        Duration::from_micros(micros.unsigned_abs())
    });
    spent.iter().sum()
}

mod tests {
    use super::*;

    #[test]
    fn sleep_uses_no_cpu_time_and_work_does() {
        let begun = CpuTime::now();
        std::thread::sleep(Duration::from_millis(300));
        assert!(begun.elapsed() < Duration::from_millis(200));
        while begun.elapsed() < Duration::from_millis(20) {
            std::hint::black_box(of_thread());
        }
    }
}
