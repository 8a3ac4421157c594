//! One child process from its start to its end.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::environment;
use super::log::{ChildLog, PromptFile};
use super::report::{ChildLine, ReportReader};
use super::{ChildReport, ChildTask};
use crate::base::pauses::Pauses;
use crate::base::problem::Outcome;
use crate::base::redact;
use crate::base::variables::{
    MARVIN_BRANCH, MARVIN_PARENT_SOCKET, MARVIN_PROVIDER_PATIENCE, MARVIN_TELL_LINES,
    MARVIN_WITHHELD_WORDS, TICKETS_DIR,
};
use crate::chat::event::Event;
use crate::chat::failure_report::FailureReport;
use crate::chat::pipeline_event::{PipelineEvent, TierChoice};
use crate::chat::usage::{ReportedCost, dollars};
use crate::pipeline::{Run, record, worktree};
use crate::proc::child::{ProgramOutput, ProgramSpec, Stdin};
use crate::proc::pump::OutputStream;
use crate::store::trusted_projects::ProjectFolder;
use crate::tools::engine::permission::parent_socket::ParentSocket;
use crate::tools::project::scratch;

/// Time between TERM and KILL when the run is stopped: enough for a child to end its own children, and less than a person waits.
const CANCEL_GRACE: Duration = Duration::from_millis(150);

/// What a child is started with.
pub(super) struct ChildStart<'a> {
    /// Provider and model.
    pub model: &'a TierChoice,
    /// Counted from 1.
    pub attempt: u32,
    /// What it is told.
    pub prompt: &'a str,
    pub limit: Duration,
    /// US dollars it may spend.
    pub max_cost: Option<f64>,
    /// How long it may wait for a provider that cannot answer.
    pub patience: Duration,
}

/// A child that ended.
pub(super) struct EndedChild {
    pub id: String,
    pub report: ChildReport,
    pub output: ProgramOutput,
    /// Its last error message.
    pub error: Option<String>,
    /// The failure that it reported.
    pub failure: Option<FailureReport>,
    /// A model has answered it at least once.
    pub was_answered: bool,
    /// US dollars it has spent.
    pub spent: f64,
    pub took: Duration,
    /// How long it has waited for its provider.
    pub waited: Duration,
}

impl EndedChild {
    /// Tells whoever watches how it ended.
    pub(super) fn announce(&self, run: &Run, done: bool, words: impl Into<String>) {
        run.emit(PipelineEvent::ChildEnded {
            id: self.id.clone(),
            done,
            words: words.into(),
            took: self.took,
        });
    }
}

/// Starts a child and waits for its end; the caller announces the end when it knows what became of the work.
///
/// # Errors
/// It cannot be started.
pub(super) fn run_child(
    run: &Run,
    task: &ChildTask<'_>,
    start: &ChildStart<'_>,
) -> Outcome<EndedChild> {
    let session = &run.ctx.session;
    environment::check_depth(session)?;
    let model = start.model;
    let head = format!(
        "label: {}\nmodel: {} ({})\nattempt: {}\n",
        task.label, model.model, model.provider, start.attempt
    );
    let mut log = ChildLog::create(run, task, &head)?;
    scratch::hide(&run.ctx);
    let prompt = PromptFile::create(&run.places, &log.id, start.prompt)?;
    let mut variables = environment::variables(
        session,
        run.root(),
        &task.access,
        task.texts,
        model,
        &log.tool_log(),
    )?;
    if !task.withhold.is_empty() {
        // The child reads the project's instructions itself.
        let words = task.withhold.join(",");
        variables.push((MARVIN_WITHHELD_WORDS.name.to_owned(), words));
    }
    if !run.branch.is_empty() {
        variables.push((MARVIN_BRANCH.name.to_owned(), run.branch.clone()));
    }
    let socket = ParentSocket::open(&run.ctx);
    if let Some(socket) = &socket {
        variables.push((MARVIN_PARENT_SOCKET.name.to_owned(), socket.address()));
    }
    if run.ctx.listener.takes_child_lines() {
        variables.push((MARVIN_TELL_LINES.name.to_owned(), "1".to_owned()));
    }
    let mut set = |name: &str, value: String| {
        variables.retain(|(own, _)| own != name);
        variables.push((name.to_owned(), value));
    };
    set(
        MARVIN_PROVIDER_PATIENCE.name,
        start.patience.as_secs().to_string(),
    );
    if let Some(tickets) = &run.tickets {
        set(TICKETS_DIR.name, tickets.display().to_string());
    }
    let pauses = Arc::new(Pauses::default());
    let mut program = ProgramSpec::new(
        run.program.as_os_str(),
        arguments(run, start, &prompt),
        variables,
    );
    program.dir = Some(run.root().path().to_owned());
    program.stdin = Stdin::Leash;
    program.supervisor.clone_from(&run.supervisor);
    program.limit = start.limit;
    program.pauses = Some(Arc::clone(&pauses));
    program.cancel_grace = CANCEL_GRACE;

    let id = log.id.clone();
    run.emit(PipelineEvent::ChildStarted {
        id: id.clone(),
        label: task.label.clone(),
        model: model.model.clone(),
        attempt: u64::from(start.attempt),
    });
    let started = Instant::now();
    let mut reader = ReportReader::new();
    let mut cost = ReportedCost::default();
    let mut failure = None;
    let mut waited = Duration::ZERO;
    let mut on_line = |stream: OutputStream, line: &[u8]| {
        match reader.push(stream, line) {
            ChildLine::Tools(tools) => {
                let id = id.clone();
                run.emit(PipelineEvent::ChildTools { id, tools });
            }
            ChildLine::Cost(reported) => {
                session
                    .ledger
                    .set_child(&id, &model.provider, reported.clone());
                run.emit(PipelineEvent::ChildUsage {
                    id: id.clone(),
                    tokens: reported.tokens().total(),
                    cost: reported.session_cost,
                    estimated: reported.estimated,
                });
                cost = reported;
                if run.spent_before.is_some()
                    && let Err(problem) = record::add_spent(&run.places, run.spent())
                {
                    run.warn(problem.one_line());
                }
                // It is told at the end of the log.
                return;
            }
            ChildLine::Failure(reported) => {
                failure = Some(reported);
                return;
            }
            ChildLine::Wait(outage) => {
                let pause = outage.retry_after().unwrap_or_default().min(start.patience);
                // Its provider's time is not its own.
                pauses.add(pause);
                waited += pause;
                run.emit(outage_wait(task, outage.provider, pause));
                return;
            }
            ChildLine::Message(line) => {
                let call = run.ctx.call.clone();
                let line = redact::secrets(&line, &session.secrets.all()).into_owned();
                run.ctx.listener.emit(Event::ChildLine { call, line });
                return;
            }
            ChildLine::Text => {}
        }
        log.line(stream, line);
    };
    let mut run_program = || program.run_lines(&run.ctx.stop, &mut on_line);
    let output = match &socket {
        Some(socket) => socket.while_answering(&run.ctx, &pauses, run_program),
        None => run_program(),
    };
    let took = started.elapsed();
    let output = match output {
        Ok(output) => output,
        Err(problem) => {
            log.end(&problem.one_line());
            run.emit(PipelineEvent::ChildEnded {
                id,
                done: false,
                words: problem.what.clone(),
                took,
            });
            return Err(problem);
        }
    };
    log.end(&format!(
        "{}\n{:.1} s, {}, {}",
        output.ending(),
        took.as_secs_f64(),
        cost.tokens().words(),
        dollars(cost.session_cost, cost.estimated)
    ));
    let hide = |text: &str| redact::secrets(text, &session.secrets.all()).into_owned();
    Ok(EndedChild {
        id,
        report: ChildReport {
            text: hide(&reader.text()),
            log: log.path.clone(),
            tool_log: log.tool_log(),
        },
        output,
        error: reader.error().map(|error| hide(&error)),
        failure,
        was_answered: cost.tokens().total() > 0,
        spent: cost.session_cost,
        took,
        waited,
    })
}

/// Tells that a child waits for its provider.
pub(super) fn outage_wait(
    task: &ChildTask<'_>,
    provider: String,
    pause: Duration,
) -> PipelineEvent {
    PipelineEvent::ProviderWait {
        label: task.label.clone(),
        provider,
        milliseconds: u64::try_from(pause.as_millis()).unwrap_or(u64::MAX),
    }
}

fn arguments(run: &Run, start: &ChildStart<'_>, prompt: &PromptFile<'_>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![
        "--non-interactive".into(),
        "--working-dir".into(),
        run.root().path().into(),
        "--prompt-file".into(),
        prompt.path().into(),
    ];
    let session = &run.ctx.session;
    let project = ProjectFolder::around(&worktree::record::started_in(run.root()));
    if let Some(trust) = session.trust.for_child(&session.paths, &project) {
        arguments.push(format!("--inherit-trust={trust}").into());
    }
    if session.hooks.is_off() {
        arguments.push("--no-hooks".into());
    }
    for folder in session.working_dir.added() {
        let mut flag = OsString::from("--add-dir=");
        flag.push(folder.path());
        arguments.push(flag);
    }
    // After `=`, a value may begin with a dash.
    if !start.model.model.is_empty() {
        arguments.push(format!("--model={}", start.model.model).into());
    }
    if !start.model.provider.is_empty() {
        arguments.push(format!("--provider={}", start.model.provider).into());
    }
    if let Some(left) = start.max_cost {
        arguments.push(format!("--max-cost={left:.6}").into());
    }
    arguments
}
