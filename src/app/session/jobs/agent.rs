//! One agent in the background: what it does now, what it has done, what it asks.

use std::collections::{HashMap, VecDeque};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::worker_event::agent::AgentQuestions;
use crate::base::cancel::{Cancel, OnFire};
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::chat::pipeline_event::PipelineEvent;
use crate::chat::usage::dollars;
use crate::disk::beneath::Root;
use crate::pipeline::child::log_of;
use crate::pipeline::places::RunPlaces;

/// What happened, as far as it is kept to be looked into.
const KEPT_STEPS: usize = 12;
/// Lines at the end of a child's log that are shown, and the bytes that they may have.
const LOG_LINES: usize = 30;
const LOG_BYTES: u64 = 8 << 10;

pub(super) struct Agent {
    pub(super) number: u64,
    /// The conversation in which it was launched, and its profile.
    pub(super) conversation: u64,
    pub(super) profile: String,
    /// Its task, in a line.
    pub(super) title: String,
    /// The project that it works in, and the id of the ticket that it works for.
    pub(super) root: Arc<Root>,
    pub(super) ticket: String,
    pub(super) since: Instant,
    pub(super) progress: Progress,
    pub(super) questions: Option<AgentQuestions>,
    pub(super) stop: Cancel,
    pub(super) _with_session: OnFire,
}

/// How far an agent has come.
#[derive(Default)]
pub(super) struct Progress {
    /// What it does now; empty before it has begun.
    now: String,
    /// What happened, the latest last.
    steps: VecDeque<String>,
    /// What each of its children has cost.
    costs: HashMap<String, f64>,
    is_estimated: bool,
    /// The child that was started last.
    child: Option<String>,
    /// The folder of its worktree, if it works in one.
    worktree: Option<Arc<Root>>,
}

impl Agent {
    /// What it does now.
    pub(super) fn doing(&self) -> &str {
        match (&self.questions, self.progress.now.as_str()) {
            (Some(_), _) => "asks you",
            (None, "") => "starting",
            (None, now) => now,
        }
    }

    pub(super) fn row(&self) -> String {
        format!(
            "{}  {}{}  {}  {}",
            self.number,
            took(self.since.elapsed()),
            self.progress.cost("  "),
            self.doing(),
            self.title
        )
    }

    /// Shows what it has done, what it asks, and the end of its log, which is read on a thread.
    pub(super) fn look(&self, run: &Run, orders: &mut Orders) {
        let mut text = format!("Agent {}\n", self.row());
        for step in &self.progress.steps {
            text.push_str(&format!("  {step}\n"));
        }
        if let Some(questions) = &self.questions {
            text.push_str(&format!(
                "It asks (answer with /agents {} TEXT):\n{}\n",
                self.number,
                questions.text.trim_end()
            ));
        }
        let child = self.progress.child.as_ref();
        let places = RunPlaces::of_project(
            self.progress
                .worktree
                .as_ref()
                .unwrap_or(&self.root)
                .clone(),
        );
        let log = child.and_then(|child| log_of(&places, child));
        orders.list(run, move |_| {
            if let Some(log) = &log {
                text.push_str(&format!("The end of {}:\n{}", log.display(), end_of(log)?));
            }
            Ok(text)
        });
    }
}

impl Progress {
    /// Something happened.
    pub(super) fn step(&mut self, words: String) {
        if self.steps.len() == KEPT_STEPS {
            self.steps.pop_front();
        }
        self.steps.push_back(words);
    }

    pub(super) fn follow(&mut self, event: &PipelineEvent) {
        let (now, step) = match event {
            PipelineEvent::ChildUsage {
                id,
                cost,
                estimated,
                ..
            } => {
                self.costs.insert(id.clone(), *cost);
                self.is_estimated |= estimated;
                return;
            }
            PipelineEvent::PhaseStarted { phase } => {
                let words = format!("phase {phase}");
                (Some(words.clone()), words)
            }
            PipelineEvent::ChildStarted {
                id,
                label,
                model,
                attempt,
            } => {
                self.child = Some(id.clone());
                let words = format!("{label} ({model}), attempt {attempt}");
                (Some("thinking".to_owned()), words)
            }
            PipelineEvent::InWorktree { folder, words } => {
                self.worktree = Root::open(Path::new(folder)).ok().map(Arc::new);
                (None, words.clone())
            }
            PipelineEvent::ChildTools { tools, .. } => {
                let words = tools.join(", ");
                (Some(words.clone()), words)
            }
            PipelineEvent::ChildEnded { words, .. } => {
                (Some("between children".to_owned()), words.clone())
            }
            PipelineEvent::TestsRun { words, .. } | PipelineEvent::Warning { words } => {
                (None, words.clone())
            }
            _ => return,
        };
        if let Some(now) = now {
            self.now = one_line(&now);
        }
        self.step(one_line(&step));
    }

    pub(super) fn has_worktree(&self) -> bool {
        self.worktree.is_some()
    }

    /// What it has cost so far, after `before`; nothing as long as that is not known.
    pub(super) fn cost(&self, before: &str) -> String {
        let cost: f64 = self.costs.values().sum();
        match self.costs.is_empty() {
            true => String::new(),
            false => format!("{before}{}", dollars(cost, self.is_estimated)),
        }
    }
}

/// `45s`, `3m 05s`.
pub(super) fn took(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds / 60 {
        0 => format!("{seconds}s"),
        minutes => format!("{minutes}m {:02}s", seconds % 60),
    }
}

/// The last lines of a log.
fn end_of(log: &Path) -> Outcome<String> {
    let fail = |error| Problem::system(format!("Cannot read {}", log.display()), error);
    let mut file = open::read(log).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let from = size.saturating_sub(LOG_BYTES);
    file.seek(SeekFrom::Start(from)).map_err(fail)?;
    let mut bytes = Vec::new();
    file.take(LOG_BYTES).read_to_end(&mut bytes).map_err(fail)?;
    let text = String::from_utf8_lossy(&bytes);
    // A line that begins before the bytes that were read is none.
    let whole = text.lines().skip(usize::from(from > 0));
    let lines: Vec<&str> = whole.collect();
    let first = lines.len().saturating_sub(LOG_LINES);
    Ok(lines
        .into_iter()
        .skip(first)
        .map(|line| format!("{line}\n"))
        .collect())
}
