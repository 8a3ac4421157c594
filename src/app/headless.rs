//! The non-interactive mode: one prompt in, the answer on standard output, the cost as the last line of standard error.
//!
//! The turn runs on the main thread; [`RunWatch`] stops it from a thread of its own.

use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::json_stream::answer_lines::{AnswerLines, LineDetail};
use super::json_stream::child_lines::ToldToParent;
use super::json_stream::line_writer::LineWriter;
use super::json_stream::run::JsonRun;
use super::json_stream::{self, result_line};
use super::pipeline::run as pipeline_run;
use super::pipeline::sinks::MakeDisplay;
use super::session::one_shot::{OneShot, TurnWays};
use super::session::turn_job::Notice;
use super::sessions::{self, BegunSession};
use super::settings::Settings;
use super::settings::session::{SessionChoice, SessionFlags};
use super::stream::{StdoutSink, say};
use super::watch::{RECORD_GRACE, RunWatch, TURN_GRACE};
use super::{extensions, images, setup};
use crate::app::run_notice;
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{MARVIN_PARENT_SOCKET, MARVIN_TELL_LINES};
use crate::chat::event::EventSink;
use crate::chat::failure_report::{FailureReport, ProviderOutage};
use crate::chat::image::Image;
use crate::chat::usage::Totals;
use crate::llm::copilot;
use crate::llm::failure::FailureKind;
use crate::mcp::session::{self as session_servers, SessionServers};
use crate::model_call::model_target::ModelTarget;
use crate::pipeline::record;
use crate::proc::descendants;
use crate::store::sessions::{Replay, SessionId};
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::hook_set::HookedSession;
use crate::tools::engine::hooks::turns;
use crate::tools::engine::permission::mode::PermissionMode;
use crate::tools::engine::permission::parent_socket::ParentApprover;
use crate::tools::project::command_watch;

/// The state of the run, shared with the thread that watches for signals.
struct HeadlessRun {
    settings: Arc<Settings>,
    display: MakeDisplay,
    started: Instant,
    stop: Cancel,
    /// Set as soon as the session exists.
    session: OnceLock<Arc<SessionContext>>,
    /// Set when the provider cannot answer now.
    outage: OnceLock<ProviderOutage>,
    /// Set when no other try can do better, because the account is used up.
    lasting: AtomicBool,
    json: Option<JsonOutput>,
    finished: AtomicBool,
}

/// The lines of a run whose output is JSON.
struct JsonOutput {
    writer: Arc<LineWriter>,
    lines: Arc<AnswerLines>,
    /// The result of a turn, or of the failure to begin one, is written.
    has_begun: AtomicBool,
}

impl JsonOutput {
    fn new(settings: &Settings, stop: &Cancel) -> Option<Self> {
        let flags = &settings.json;
        let detail = LineDetail::of(flags.output, flags.is_partial, flags.schema.is_some())?;
        // Where it is closed the first line fails.
        let writer = Arc::new(LineWriter::new(stop.clone()).ok()?);
        let lines = Arc::new(AnswerLines::new(Arc::clone(&writer), detail));
        Some(Self {
            writer,
            lines,
            has_begun: AtomicBool::new(false),
        })
    }
}

/// Runs to the end and returns the exit status. The cost is always the last line on standard error.
pub(crate) fn run(settings: Settings, display: MakeDisplay) -> u8 {
    let stop = Cancel::new();
    let run = Arc::new(HeadlessRun {
        json: JsonOutput::new(&settings, &stop),
        settings: Arc::new(settings),
        display,
        started: Instant::now(),
        stop,
        session: OnceLock::new(),
        outage: OnceLock::new(),
        lasting: AtomicBool::new(false),
        finished: AtomicBool::new(false),
    });
    let late = Arc::clone(&run);
    let leashed = run.settings.is_leashed();
    if leashed {
        descendants::adopt();
    }
    let grace = match run.settings.pipeline {
        Some(_) => RECORD_GRACE,
        None => TURN_GRACE,
    };
    let watch = RunWatch::start(run.stop.clone(), leashed, grace, move |status| {
        // The turn hangs where cancellation cannot reach it, such as a name lookup: end the run without it.
        if let Some(status) = late.end(status) {
            copilot::close_all(copilot::HURRIED_CLOSE_TIMEOUT);
            session_servers::end_all();
            crate::proc::sandbox::private_dir::remove();
            descendants::end_all(Duration::ZERO);
            std::process::exit(status.into());
        }
    });
    let status = match watch {
        Ok(watch) => {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(&run)))
                .unwrap_or_else(|_| Err(Problem::internal("Marvin crashed. This is a bug.")));
            if let (true, Err(problem)) = (leashed, &outcome) {
                // Tells the parent why this child fails.
                let report = FailureReport {
                    kind: problem.kind,
                    outage: run.outage.get().cloned(),
                    lasting: run.lasting.load(Ordering::SeqCst),
                };
                say(&report.line());
            }
            if let (Some(json), Err(problem)) = (&run.json, &outcome)
                && json.lines.writes_results()
                && !json.has_begun.load(Ordering::SeqCst)
            {
                if let Some(id) = &run.settings.session.id {
                    json.writer.set_session(id.as_str());
                }
                let is_driven = run.settings.json.reads_lines && !problem.is_cancelled();
                json_stream::end_early(&json.writer, problem, is_driven);
            }
            watch.status().unwrap_or_else(|| exit_status(outcome))
        }
        Err(error) => fail(&Problem::system("Cannot watch for signals", error)),
    };
    run.end(status).unwrap_or_else(|| {
        loop {
            // The watcher thread is ending the process.
            thread::park();
        }
    })
}

fn exit_status(outcome: Outcome<()>) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(problem) => fail(&problem),
    }
}

impl HeadlessRun {
    /// Records the usage, sends the ntfy message and prints the cost line. Only the first caller gets the status back.
    fn end(&self, status: u8) -> Option<u8> {
        if self.finished.swap(true, Ordering::SeqCst) {
            return None;
        }
        if let (Some(json), Some(session)) = (&self.json, self.session.get()) {
            result_line::break_off(&json.lines, session);
        }
        let totals = self
            .session
            .get()
            .map_or_else(Totals::default, |session| session.ledger.totals());
        if let Some(notice) = self.session.get().and_then(|session| session.save_usage()) {
            say(&notice);
        }
        // A run of the pipeline has told its end already.
        if let Some(topic) = self
            .settings
            .ntfy
            .as_ref()
            .filter(|_| self.settings.pipeline.is_none())
        {
            let took = self.started.elapsed();
            // Whoever stopped it is waiting for the exit.
            let ntfy_timeout = Duration::from_secs(if self.stop.is_fired() { 1 } else { 5 });
            run_notice::notify_end(
                &self.settings.env,
                topic,
                ntfy_timeout,
                status == 0,
                took,
                &totals,
            );
        }
        say(&totals.cost_line());
        Some(status)
    }
}

/// Prints `Error: …` on one line and the details below it. Failures to write are ignored.
pub(crate) fn fail(problem: &Problem) -> u8 {
    if !problem.is_cancelled() {
        say(&format!("Error: {}", problem.one_line()));
        if let Some(facts) = &problem.facts {
            say(facts);
        }
    }
    1
}

/// The images of the command line.
fn images_of(settings: &Settings, target: &ModelTarget) -> Outcome<Vec<Image>> {
    let read = |path: &PathBuf| images::from_path(path, target);
    let all: Vec<Image> = settings
        .prompt
        .images
        .iter()
        .map(read)
        .collect::<Outcome<_>>()?;
    images::check(&all, target)?;
    if settings.verbose {
        for image in &all {
            say(&images::line(image, target));
        }
    }
    Ok(all)
}

/// The session that the run writes; none where nothing was asked of it, unless a program was told its id.
fn begin_session(settings: &Settings, session: &SessionContext) -> Outcome<Option<BegunSession>> {
    let flags = &settings.session;
    let is_kept = settings.json.is_json();
    match *flags == SessionFlags::default() && !is_kept {
        true => Ok(None),
        false => sessions::begin(flags, session, settings).map(Some),
    }
}

/// What was said in the session that a run goes on with which keeps nothing itself, and the id of it.
fn earlier_messages(
    settings: &Settings,
    session: &SessionContext,
) -> Outcome<Option<(SessionId, Replay)>> {
    let flags = SessionFlags {
        fork: false,
        id: None,
        ..settings.session.clone()
    };
    if flags.choice() == SessionChoice::New {
        return Ok(None);
    }
    let begun = sessions::begin(&flags, session, settings)?;
    begun.log.close();
    let id = begun.log.id().clone();
    Ok(begun.replay.map(|replay| (id, replay)))
}

/// The id that the lines tell: that of the session that is written, the one of the command line, or that of the session that the run goes on with.
fn told_id(
    settings: &Settings,
    begun: Option<&BegunSession>,
    earlier: Option<&SessionId>,
) -> SessionId {
    let flags = &settings.session;
    let begun = begun.map(|begun| begun.log.id());
    let earlier = earlier.filter(|_| !flags.fork);
    let id = begun.or(flags.id.as_ref()).or(earlier);
    id.cloned().unwrap_or_else(SessionId::random)
}

/// Whether a feature is named and nothing else.
fn continues_feature(settings: &Settings) -> Outcome<bool> {
    let flags = settings.pipeline.as_ref();
    let is_named = flags.is_some_and(|flags| flags.feature.is_some());
    Ok(is_named && settings.prompt.first()?.is_none())
}

fn work(run: &HeadlessRun) -> Outcome<()> {
    let (settings, stop) = (&run.settings, &run.stop);
    let mut warn = |text: String| say(&format!("Warning: {text}"));
    let prompt = match settings.json.reads_lines {
        true if settings.is_leashed() => {
            return Err(Problem::input(
                "--input-format stream-json cannot be used with MARVIN_LEASH: standard input is held by the parent.",
            ));
        }
        true => None,
        // A feature that was begun knows its task.
        false if continues_feature(settings)? => None,
        false => Some(
            settings
                .prompt
                .required(settings.process.stdin_is_terminal)?,
        ),
    };
    let session = Arc::new(setup::session(settings, &mut warn)?);
    session.working_dir.bind_to_first();
    extensions::open_unasked(&session, settings, &mut warn);
    if settings.json.wants_permissions() {
        session.permissions.choose_mode(PermissionMode::Default);
    }
    if let Some(path) = MARVIN_PARENT_SOCKET
        .read(&settings.env)
        .filter(|_| settings.is_leashed())
    {
        let approver = ParentApprover(path.into());
        session.permissions.set_approver(Some(Arc::new(approver)));
    }
    let _ = run.session.set(Arc::clone(&session));
    if let Some(flags) = &settings.pipeline {
        if !settings.prompt.images.is_empty() {
            return Err(Problem::input(
                "--image cannot be used with --design-first: the pipeline reads text only.",
            )
            .next("Describe the image in the prompt."));
        }
        let display = (run.display)(settings);
        let prompt = prompt.unwrap_or_default();
        return pipeline_run::run(&session, stop, settings, flags, prompt, display);
    }
    // A resumed run waits for children of the one before.
    let _attending = match (settings.is_leashed(), session.working_dir.root()) {
        (true, Some(root)) => record::attend(&root).ok(),
        _ => None,
    };
    let effort = setup::effort(settings)?;
    let spending = setup::spending(settings, &session.clock, &mut warn)?;
    let mut target =
        setup::model_target(&settings.model.choice, &spending, &settings.env, &mut warn)?;
    setup::ask_server(&mut target, stop, &mut warn);
    let (begun, earlier) = match settings.json.keeps_nothing {
        true => (None, earlier_messages(settings, &session)?),
        false => (begin_session(settings, &session)?, None),
    };
    let replay = begun.as_ref().and_then(|begun| begun.replay.as_ref());
    let replay = replay.or(earlier.as_ref().map(|(_, replay)| replay));
    replay.and_then(Replay::damage).into_iter().for_each(warn);
    let message = match prompt {
        Some(prompt) => Some((prompt, images_of(settings, &target)?)),
        None => None,
    };
    let mut one_shot = OneShot::new(
        Arc::clone(settings),
        Arc::clone(&session),
        stop.clone(),
        begun.as_ref(),
        (spending.clone(), effort),
    );
    if let Some((_, earlier)) = &earlier {
        one_shot.resume(earlier);
    }
    let id = told_id(settings, begun.as_ref(), earlier.as_ref().map(|(id, _)| id));
    session.hooks.set_session(HookedSession {
        transcript: match &begun {
            Some(begun) => begun.log.path().display().to_string(),
            None => String::new(),
        },
        id: id.to_string(),
        source: settings.session.source(),
    });
    if let Some(json) = &run.json {
        json.writer.set_session(id.as_str());
        json.has_begun.store(true, Ordering::SeqCst);
        let json_run = JsonRun {
            settings: Arc::clone(settings),
            session,
            stop: stop.clone(),
            spending,
            lines: Arc::clone(&json.lines),
            writer: Arc::clone(&json.writer),
            source: settings.session.source(),
            has_begun: AtomicBool::new(false),
            has_told_of_tools: AtomicBool::new(false),
        };
        return json_run.run(one_shot, target, message);
    }
    let message = message.unwrap_or_default();
    one_shot.set_ways(TurnWays {
        max_requests: settings.json.max_turns,
        prompt: settings.json.prompt.clone(),
        ..TurnWays::default()
    });
    let stream = Arc::new(
        StdoutSink::new(stop.clone(), settings.verbose)
            .map(|sink| match settings.is_leashed() {
                true => sink.reporting_cost(Arc::clone(&session)),
                false => sink,
            })
            .map_err(|error| Problem::system("Cannot write to standard output", error))?,
    );
    let warn: Notice = Arc::new(|text| say(&format!("Warning: {text}")));
    let provider = target.provider.name();
    let told = settings.is_leashed() && MARVIN_TELL_LINES.read(&settings.env);
    let listener: Arc<dyn EventSink> = match told {
        true => Arc::new(ToldToParent::new(stream.clone(), &target.model)),
        false => stream.clone(),
    };
    let answer = one_shot.answer(Arc::new(target), message, listener, &warn, |_| {});
    let ending = ToolContext::new(Arc::clone(&session), stop.clone(), stream.clone());
    turns::session_ends(&ending, "other");
    if let Some(notice) = command_watch::settle_at_end(&session) {
        warn(notice);
    }
    let written = stream.finish();
    let servers = session.modules.get::<SessionServers>();
    servers.finish_looking(stop);
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Problem::cancelled()),
        // The signal cancelled the turn; the turn itself only reports a cancellation.
        Err(error) => Err(Problem::system(
            "Cannot write the answer to standard output",
            error,
        )),
        Ok(()) => answer.map_err(|failure| {
            if let Some(wait) = failure.long_outage() {
                let _ = run.outage.set(ProviderOutage::new(provider, wait));
            }
            let is_used_up = failure.kind == FailureKind::Quota;
            run.lasting.store(is_used_up, Ordering::SeqCst);
            *failure.problem
        }),
    }
}
