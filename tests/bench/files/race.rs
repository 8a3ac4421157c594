//! Programs that run in turn, round after round, so that all see the same machine.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// One program at one work.
pub(crate) struct Job {
    name: String,
    program: String,
    command: Command,
}

/// What one job took: medians over the rounds.
pub(crate) struct Run {
    pub(crate) name: String,
    /// The program's file name.
    pub(crate) program: String,
    /// Milliseconds.
    pub(crate) wall: f64,
    /// Times the first job's, within a round.
    pub(crate) ratio: f64,
}

impl Job {
    pub(crate) fn new(name: &str, program: &str, words: &[&str], dir: &Path) -> Self {
        let mut command = Command::new(program);
        command.args(words).current_dir(dir).stdin(Stdio::null());
        let program = Path::new(program).file_name().unwrap().to_string_lossy();
        Self {
            name: name.to_owned(),
            program: program.into_owned(),
            command,
        }
    }

    /// As above, in a home of its own.
    pub(crate) fn home(mut self, home: &Path) -> Self {
        self.command
            .env("HOME", home)
            .env("MARVIN_CONFIG_DIR", home.join("config"));
        self
    }
}

/// Runs the jobs in turn; the first is the baseline.
pub(crate) fn race(jobs: &mut [Job], rounds: usize) -> Vec<Run> {
    let mut times = vec![Vec::new(); jobs.len()];
    for round in 0..=rounds {
        for (times, job) in times.iter_mut().zip(jobs.iter_mut()) {
            let began = Instant::now();
            let output = job.command.output();
            let took = began.elapsed().as_secs_f64() * 1e3;
            let output = output.unwrap_or_else(|why| panic!("{}: {why}", job.name));
            assert!(
                output.status.success() && output.stdout.len() > 60,
                "{}: {}{}",
                job.name,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            if round > 0 {
                times.push(took); // The first round warms the caches.
            }
        }
    }
    let first = times[0].clone();
    let runs = jobs.iter().zip(times).map(|(job, own)| {
        let ratios = own.iter().zip(&first).map(|(own, first)| own / first);
        Run {
            name: job.name.clone(),
            program: job.program.clone(),
            ratio: median(ratios.collect()),
            wall: median(own),
        }
    });
    runs.collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    #[allow(
        clippy::disallowed_methods,
        reason = "a benchmark may be as large as it likes"
    )]
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
