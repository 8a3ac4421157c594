//! CPU time of the current thread, for tests: what an algorithm costs, however busy the machine is.

use std::time::Duration;

use rustix::time::ClockId;

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

/// To the nanosecond, where `getrusage` may count whole ticks of the kernel, and nothing for what ends before the first.
fn of_thread() -> Duration {
    let spent = rustix::time::clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(spent).unwrap_or_default()
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
