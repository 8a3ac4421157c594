//! Rows with a limit, as all benchmarks print them.

use std::fmt;

/// The head of a table of [`Row`]s.
pub(crate) const HEAD: &str = "| what | wanted | measured | holds |\n|---|---|---|---|";

/// One line of a table.
pub(crate) struct Row {
    /// The work.
    pub(crate) what: String,
    /// The limit.
    pub(crate) wanted: &'static str,
    /// What came out.
    pub(crate) measured: String,
    /// `None` when there is no limit.
    pub(crate) holds: Option<bool>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holds = holds(self.holds);
        write!(
            f,
            "| {} | {} | {} | {holds} |",
            self.what, self.wanted, self.measured
        )
    }
}

/// The cell that says whether a limit holds.
pub(crate) fn holds(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "yes",
        Some(false) => "**no**",
        None => "",
    }
}

/// The machine's load, under a table: figures of a busy machine say little.
pub(crate) fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    format!("\nLoad {load} at the end.")
}
