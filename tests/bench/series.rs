//! Paired runs: every program once in each round, in turning order, and the medians of all rounds.

use crate::measure::Cost;

/// The costs of one program, one per round; or why there are none.
pub struct Series {
    pub runs: Result<Vec<Cost>, String>,
}

/// Runs each of `jobs` once untimed, which may refuse, and then `rounds` times in turn.
pub fn paired<J>(
    jobs: &[J],
    rounds: usize,
    mut check: impl FnMut(&J) -> Result<(), String>,
    mut run: impl FnMut(&J) -> Result<Cost, String>,
) -> Vec<Series> {
    let mut series: Vec<Series> = jobs
        .iter()
        .map(|job| Series {
            runs: check(job).map(|()| Vec::new()),
        })
        .collect();
    for round in 0..rounds {
        for i in 0..jobs.len() {
            let at = (i + round) % jobs.len();
            let runs = &mut series[at].runs;
            if let Ok(list) = runs {
                match run(&jobs[at]) {
                    Ok(cost) => list.push(cost),
                    Err(why) => *runs = Err(why),
                }
            }
        }
    }
    series
}

impl Series {
    pub fn median(&self, figure: impl Fn(&Cost) -> f64) -> Option<f64> {
        let runs = self.runs.as_ref().ok()?;
        median(runs.iter().map(figure).collect())
    }

    /// The median of the ratios to another program in the same round.
    pub fn ratio(&self, base: &Self, figure: impl Fn(&Cost) -> f64) -> Option<f64> {
        let (mine, base) = (self.runs.as_ref().ok()?, base.runs.as_ref().ok()?);
        let pairs = mine.iter().zip(base);
        median(pairs.map(|(m, b)| figure(m) / figure(b)).collect())
    }

    /// The largest peak in KiB.
    pub fn peak(&self) -> Option<u64> {
        self.runs.as_ref().ok()?.iter().map(|c| c.peak).max()
    }
}

/// The middle of the values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    #[allow(
        clippy::disallowed_methods,
        reason = "a benchmark may be as large as it likes"
    )]
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A duration in the unit that suits it.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s.abs() >= 0.1 => format!("{s:.2} s"),
        s if s.abs() >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.2} us", s * 1e6),
    }
}

/// A cell, or a dash.
pub fn cell<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}
