//! Where Marvin is measured: homes, the command, and small arithmetic.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::provider::Provider;
use crate::terminal::Terminal;

/// Longest wait of a test of the interface.
pub const LIMIT: Duration = Duration::from_secs(120);
/// What ends the first frame: the cursor shows.
pub const FRAME_END: &[u8] = b"\x1b[?25h";

/// A temporary home.
pub struct Home(tempfile::TempDir);

impl Home {
    /// An empty home, or one whose chat log has this many entries.
    pub fn new(entries: usize) -> Self {
        let home = Self(tempfile::tempdir().expect("a temporary folder"));
        let profile = home.path().join("config/profiles/main");
        for folder in [&profile, &home.path().join("work")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        fs::write(home.path().join("config/last_profile"), "main").expect("a profile");
        if entries > 0 {
            log(&profile.join("chat_log.json"), entries).expect("a chat log");
        }
        home
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Marvin in this home, with this provider.
    pub fn marvin(&self, provider: &Provider) -> Command {
        let mut command = Command::new(marvin());
        command
            .env_clear()
            .env("HOME", self.path())
            .env("MARVIN_CONFIG_DIR", self.path().join("config"))
            .env(
                "OPENAI_COMPAT_URL",
                format!("http://127.0.0.1:{}/v1", provider.port),
            )
            .env("OPENAI_COMPAT_API_KEY", "x")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8")
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .args(["--provider", "openai-compat", "--model", "bench"])
            .current_dir(self.path().join("work"));
        command
    }

    /// The same, started and greeted.
    pub fn open(&self, provider: &Provider) -> Terminal {
        let terminal = Terminal::start(&mut self.marvin(provider), false);
        terminal.wait(FRAME_END, 0, LIMIT).expect("a first frame");
        terminal
            .settled(0, Duration::from_millis(300), LIMIT)
            .expect("a greeting");
        terminal
    }
}

fn log(path: &Path, entries: usize) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for i in 0..entries {
        let (lead, role) = (
            if i == 0 { "[\n" } else { ",\n" },
            ["you", "assistant"][i % 2],
        );
        write!(
            file,
            r#"{lead}{{"role":"{role}","text":"entry {i} of a talk that went on for longer than either side would have liked.","time":"14:30"}}"#
        )?;
    }
    writeln!(file, "\n]")?;
    file.flush()
}

/// The Marvin that is measured.
pub fn marvin() -> PathBuf {
    let built = || PathBuf::from(env!("CARGO_BIN_EXE_marvin"));
    std::env::var_os("BENCH_MARVIN").map_or_else(built, PathBuf::from)
}

/// The given percentile.
pub fn percentile(values: &mut [f64], percent: usize) -> f64 {
    #[allow(
        clippy::disallowed_methods,
        reason = "a benchmark may be as large as it likes"
    )]
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

pub fn median(mut values: Vec<f64>) -> f64 {
    percentile(&mut values, 50)
}

/// Milliseconds.
pub fn ms(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}

/// Megabytes.
pub fn mb(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
