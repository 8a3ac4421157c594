//! The files of one child in the logs of its run: its prompt while it runs, and its log, which is written while it runs.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use super::ChildTask;
use crate::base::ids;
use crate::base::problem::{Outcome, Problem};
use crate::base::redact::{self, LogLines};
use crate::base::text::clip;
use crate::disk::beneath::RelPath;
use crate::pipeline::Run;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::PROMPT_ENDING;
use crate::proc::pump::OutputStream;
use crate::tools::engine::context::SessionContext;

/// Characters of the prompt that the log shows.
const PROMPT_CHARS: usize = 2_000;
/// The log ends at this many bytes: a child may print for ever.
const MAX_LOG_BYTES: usize = 16 << 20;
/// Attempts to find a name that is free.
const MAX_NAMES: usize = 8;

/// The log of a child.
pub(super) struct ChildLog {
    /// Identifies the child in this run: its label, the time and a random part, because several may start at once.
    pub id: String,
    /// Where the log is.
    pub path: PathBuf,
    session: Arc<SessionContext>,
    file: File,
    written: usize,
    lines: LogLines,
}

impl ChildLog {
    /// Creates a log with a name of its own.
    ///
    /// # Errors
    /// The folder leads out of the project, or the disk fails.
    pub(super) fn create(run: &Run, task: &ChildTask<'_>, head: &str) -> Outcome<Self> {
        let session = Arc::clone(&run.ctx.session);
        let mut tried = 0;
        loop {
            let now = session.clock.now().timestamp();
            let id = format!(
                "{}-{}-{}",
                task.label,
                now.strftime("%Y%m%d-%H%M%S"),
                ids::hex(2)
            );
            let rel = file(&run.places, &id, "log")?;
            tried += 1;
            match run.root().create_open(&rel) {
                Err(_) if tried < MAX_NAMES => {}
                created => {
                    let mut log = Self {
                        path: run.root().path().join(rel.as_str()),
                        file: created?,
                        id,
                        session,
                        written: 0,
                        lines: LogLines::default(),
                    };
                    let prompt = clip(&task.prompt, PROMPT_CHARS);
                    log.write(&format!(
                        "{head}started: {}\n\n--- prompt ---\n{prompt}\n\n--- output ---\n",
                        log.session.clock.utc()
                    ));
                    return Ok(log);
                }
            }
        }
    }

    /// The file in which the child records its tool calls.
    pub(super) fn tool_log(&self) -> PathBuf {
        self.path.with_file_name(format!("{}.tools.jsonl", self.id))
    }

    /// Adds a line of the child's output.
    pub(super) fn line(&mut self, stream: OutputStream, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if !self.lines.may_show(&text) {
            return;
        }
        match stream {
            OutputStream::Stdout => self.write(&text),
            OutputStream::Stderr => self.write(&format!("stderr: {text}")),
        }
    }

    /// Adds how the child ended.
    pub(super) fn end(&mut self, words: &str) {
        // Room for the end is left, however long the output was.
        self.written = 0;
        self.write(&format!("\n--- end ---\n{words}\n"));
    }

    /// A log that cannot be written must not end the child.
    fn write(&mut self, text: &str) {
        if self.written > MAX_LOG_BYTES {
            return;
        }
        let text = redact::logged(text, &self.session.secrets.all());
        self.written += text.len();
        let _ = self.file.write_all(text.as_bytes());
        if self.written > MAX_LOG_BYTES {
            let _ = self
                .file
                .write_all("\n[… the rest of the output is left out …]\n".as_bytes());
        }
    }
}

/// A file that holds a prompt as long as this value lives.
pub(super) struct PromptFile<'a> {
    places: &'a RunPlaces,
    rel: RelPath,
}

impl<'a> PromptFile<'a> {
    /// Writes `prompt` for the child `id`.
    ///
    /// # Errors
    /// As [`Root::create_new`].
    pub(super) fn create(places: &'a RunPlaces, id: &str, prompt: &str) -> Outcome<Self> {
        let rel = file(places, id, PROMPT_ENDING.trim_start_matches('.'))?;
        let mut file = places.root.create_open(&rel)?;
        let own = Self { places, rel };
        file.write_all(prompt.as_bytes())
            .map_err(|error| Problem::system("Cannot write the prompt of a child", error))?;
        Ok(own)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.places.root.path().join(self.rel.as_str())
    }
}

impl Drop for PromptFile<'_> {
    fn drop(&mut self) {
        let _ = self.places.root.remove_file(&self.rel);
    }
}

/// The log of the child of this id, as [`crate::chat::pipeline_event::PipelineEvent::ChildStarted`] tells it.
pub(crate) fn log_of(places: &RunPlaces, id: &str) -> Option<PathBuf> {
    let rel = file(places, id, "log").ok()?;
    Some(places.root.path().join(rel.as_str()))
}

fn file(places: &RunPlaces, id: &str, suffix: &str) -> Outcome<RelPath> {
    places.root.check(&places.log(&format!("{id}.{suffix}")))
}
