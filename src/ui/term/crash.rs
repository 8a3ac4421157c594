//! The crash report: a panic is written to a file, and the terminal is restored before any message about it.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::{self, ThreadId};

use crate::base::open;
use crate::base::redact;

/// Something that can restore the terminal.
pub(super) trait RestoreTerminal: Send + Sync {
    /// Restores the terminal if it is in use; true when it was.
    fn restore_if_taken(&self) -> bool;
    /// Whether the terminal is in use.
    fn is_taken(&self) -> bool;
}

/// Panics recorded while the terminal is in use.
pub(super) struct Crashes {
    file: Option<PathBuf>,
    /// The thread that draws: its panic ends the interface.
    drawing: ThreadId,
    /// Messages from panics of other threads, for after the terminal is restored.
    messages: Mutex<Option<String>>,
}

impl Crashes {
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self {
            file,
            drawing: thread::current().id(),
            messages: Mutex::new(None),
        }
    }

    /// The sentence about a panic of another thread, once.
    pub(super) fn take(&self) -> Option<String> {
        self.messages().take()
    }

    /// Whether another thread panicked.
    pub(super) fn any(&self) -> bool {
        self.messages().is_some()
    }

    fn messages(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Installs a panic hook before the existing one, for as long as `terminal` lives. A panic of the drawing thread restores the terminal and names the report;
/// after one of another thread the interface goes on, and the report is named when it ends.
pub(super) fn watch<T: RestoreTerminal + 'static>(terminal: &Arc<T>, crashes: &Arc<Crashes>) {
    let (terminal, crashes) = (Arc::downgrade(terminal), Arc::downgrade(crashes));
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !report(&terminal, &crashes, info) {
            before(info);
        }
    }));
}

/// False when the terminal is not in use, so that the default hook reports the panic.
fn report<T: RestoreTerminal>(
    terminal: &Weak<T>,
    crashes: &Weak<Crashes>,
    info: &PanicHookInfo<'_>,
) -> bool {
    let (Some(terminal), Some(crashes)) = (terminal.upgrade(), crashes.upgrade()) else {
        return false;
    };
    if !terminal.is_taken() {
        return false;
    }
    let drawing = thread::current().id() == crashes.drawing;
    if drawing {
        terminal.restore_if_taken();
    }
    let told = describe(info);
    let text = redact::secrets(&told, &[]);
    let written = crashes
        .file
        .as_deref()
        .map(|file| (file, save(file, &text)));
    let sentence = match written {
        Some((file, Ok(()))) => format!("Marvin crashed. The report is in {}.\n", file.display()),
        Some((file, Err(reason))) => format!(
            "Marvin crashed, and {} cannot be written: {reason}.\n{text}",
            file.display()
        ),
        None => format!("Marvin crashed.\n{text}"),
    };
    if drawing {
        say(&sentence);
    } else {
        *crashes.messages() = Some(sentence);
    }
    true
}

/// Writes to standard error; a failure cannot be reported anywhere.
pub(super) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let mut text = String::new();
    let thread = thread::current();
    let _ = writeln!(
        text,
        "Marvin {} crashed at {}, thread {}.\n",
        env!("CARGO_PKG_VERSION"),
        jiff::Timestamp::now(),
        thread.name().unwrap_or("without a name")
    );
    let _ = writeln!(text, "{info}\n\n{}", Backtrace::force_capture());
    text
}

/// Writes a report that only its owner can read. It appends, because two threads may crash.
fn save(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    open::with(
        OpenOptions::new().append(true).create(true).mode(0o600),
        file,
    )?
    .write_all(text.as_bytes())
}
