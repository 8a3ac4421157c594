//! One run of the pipeline, from top to bottom.

use std::path::PathBuf;
use std::time::Instant;

use super::child::environment::check_depth;
use super::documents;
use super::heartbeat::{AliveTimes, Heartbeat};
use super::phase::{self, PHASES, Part, Phase, PhaseEnd, PhaseWork};
use super::places::RunPlaces;
use super::record::{self, RunRecord};
use super::repository::{self, Uncommitted};
use super::review::document;
use super::steering::{self, GateDecision, Pause, RunOutcome, Steering};
use super::tier::TierModels;
use super::{
    Run, approval, debugging, epic, first_line, front_end, implementation, next_task, phase_record,
    quality, smoke_test, state, test_command, test_writing, upstream, working_tree,
};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::chat::pipeline_event::{PhaseOutline, PipelineEvent};
use crate::proc::sandbox::policy::SandboxMode;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::permission::mode::PermissionMode;
use crate::tools::project::scratch;

/// The tool by which documents come to be.
const WRITER: &str = "create_file";

/// What is asked of the pipeline.
#[derive(Debug, Clone)]
pub(crate) struct RunRequest {
    /// The project, and where the run keeps what there.
    pub places: RunPlaces,
    /// The whole task.
    pub task: String,
    /// The ticket of the task; a new epic when there is none.
    pub ticket: Option<String>,
    /// As in [`Run::tickets`].
    pub tickets: Option<PathBuf>,
    /// Write and review the documents first.
    pub design_first: bool,
    /// Write the tests first, and run and try the program afterwards.
    pub tdd: bool,
    /// The branch to work on instead of the current one.
    pub branch: Option<String>,
    /// The first checkpoint may take what is not committed.
    pub allow_dirty: bool,
    /// The model of each tier.
    pub tiers: TierModels,
    /// No child is started once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
    /// The program that children run: this one.
    pub program: PathBuf,
    /// As in [`Run::supervisor`].
    pub supervisor: Option<PathBuf>,
    /// Where it stops, waits, and begins again.
    pub steering: Steering,
}

/// Runs the phases that are asked for and not done yet.
///
/// # Errors
/// This process is as deep as a child may be, another run is in progress here, the repository is in no state for one, a phase failed, the ceiling on cost is
/// reached, or the run was stopped. What is done is recorded, and the message says how to go on.
pub(crate) fn run(ctx: &ToolContext, request: RunRequest) -> Outcome<RunOutcome> {
    check_depth(&ctx.session)?;
    // A task by itself may be to find something out.
    if request.design_first || request.tdd || ctx.session.policy.readonly {
        check_may_write(ctx)?;
    }
    let places = request.places.clone();
    let _lock = record::lock(&places, &ctx.stop)?;
    record::wait_for_children(&places, &ctx.stop)?;
    scratch::hide(ctx);
    let earlier = record::known(&places)?;
    let recorded = state::recorded(&places)?;
    // Another task is another feature.
    let is_next = places.feature().is_none()
        && next_task::begins(&request.task, earlier.as_ref(), recorded.as_deref());
    let is_anothers = request.ticket.is_none()
        && places.feature().is_none()
        && earlier.is_none()
        && recorded.is_some()
        && epic::is_anothers(ctx, &places.root, &request.task);
    let earlier = match is_anothers {
        // It came with the repository, without the record of its run.
        true => Some(RunRecord {
            finished: state::reaches(recorded.as_deref(), phase::last()),
            ..RunRecord::default()
        }),
        false => earlier,
    };
    let is_next = is_next || is_anothers && earlier.as_ref().is_some_and(|one| one.finished);
    let (done, earlier, recorded) = match is_next {
        true => (earlier, None, None),
        false => (None, earlier, recorded),
    };
    refuse_other_task(&request, earlier.as_ref())?;
    let mut run = Run {
        ctx: ctx.clone(),
        program: request.program.clone(),
        supervisor: request.supervisor.clone(),
        places,
        task: request.task.clone(),
        ticket: String::new(),
        tiers: request.tiers.clone(),
        max_cost: request.max_cost,
        is_staged: request.design_first || request.tdd,
        branch: String::new(),
        tickets: request.tickets.clone(),
        spent_before: None,
    };
    let earlier = earlier.map(|record| epic::complete(&run, record));
    let done = done.map(|record| epic::complete(&run, record));
    let was_interrupted = earlier
        .as_ref()
        .is_some_and(|record| !record.working.is_empty());
    let uncommitted = match (request.allow_dirty, was_interrupted) {
        (true, _) => Uncommitted::Take,
        (false, true) => {
            AliveTimes::read(&run.places).map_or(Uncommitted::Take, Uncommitted::TakeOf)
        }
        (false, false) => Uncommitted::Refuse,
    };
    request.steering.check()?;
    if let Some(from) = request.steering.from {
        steering::check_from(from, recorded.as_deref())?;
    }
    steering::note_edits(&run)?;
    let is_left = is_next || request.steering.from.is_some() || is_anything_left(&run, &request)?;
    if !is_left && earlier.as_ref().is_none_or(|record| record.finished) {
        run.ticket = earlier.map(|record| record.ticket).unwrap_or_default();
        announce(&run, &request, true)?;
        return finish(&run, &request, Ok(RunOutcome::Done));
    }
    if earlier.is_none() {
        // Before anything is made for it. What an earlier start spent is not known yet.
        let left = run.budget_left();
        left.map_err(|problem| problem.next("Start it with a higher --max-cost."))?;
    }
    let own_repository = own_repository(&run, earlier.as_ref().or(done.as_ref()))?;
    let mut tree = working_tree::share(run.root())?;
    if request.branch.is_none()
        && let Some(earlier) = earlier.as_ref().filter(|earlier| !earlier.finished)
        && repository::exists(run.root())?
    {
        run.branch.clone_from(&earlier.branch);
        repository::check_branch(&run)?;
    }
    repository::prepare(&run, request.branch.as_deref(), uncommitted, own_repository)?;
    run.branch = repository::branch(ctx, run.root()).unwrap_or_default();
    if tree.is_none() {
        tree = working_tree::share(run.root())?;
    }
    if let Some(done) = &done {
        // Without documents of its own it works from those that are there.
        next_task::set_aside(&run, done, request.design_first)?;
    }
    run.ticket = epic::find_or_create(&run, request.ticket.as_deref(), earlier.as_ref())?;
    let mut record = RunRecord {
        task: run.task.clone(),
        ticket: run.ticket.clone(),
        started: ctx.session.clock.utc(),
        base: repository::head(&run).unwrap_or_default(),
        made_repository: own_repository,
        branch: run.branch.clone(),
        ..RunRecord::default()
    };
    // Going back in a finished run goes on with it.
    let goes_back = request.steering.from.is_some();
    let is_continued = earlier
        .as_ref()
        .is_some_and(|earlier| goes_back || !earlier.finished);
    if !is_continued {
        approval::withdraw(&run.places, |_| true)?;
    }
    if let Some(earlier) = earlier {
        // Until what the interrupted run left is committed, it was interrupted still.
        (record.started, record.base, record.working) =
            (earlier.started, earlier.base, earlier.working);
        record.begun = earlier.begun;
    }
    record.write(&run.places)?;
    record::save_task(&run.places, &run.task)?;
    let _alive = Heartbeat::start(&run.places)?;
    // An earlier start in this process is in the ledger.
    let here = ctx.session.ledger.totals().cost;
    run.spent_before = Some(match is_continued {
        true => (record::spent(&run.places) - here).max(0.0),
        false => 0.0,
    });
    record::save_spent(&run.places, run.spent())?;
    let gone_back = match request.steering.from {
        Some(from) => Some(steering::go_back(&run, from)?),
        None => None,
    };
    announce(&run, &request, recorded.is_some() || was_interrupted)?;
    if let Some(words) = gone_back {
        run.emit(PipelineEvent::Steered { words });
    }
    let outcome = begin(&run, was_interrupted)
        .and_then(|()| record_beginning(&run, &mut record, is_continued))
        .and_then(|()| walk(&run, &request, &mut record))
        .and_then(|pause| match pause {
            Some(pause) => Ok(RunOutcome::Paused(pause)),
            None => check_tests(&run, &request)
                .and_then(|()| end(&run, &mut record))
                .map(|()| RunOutcome::Done),
        });
    drop(tree);
    finish(&run, &request, outcome)
}

/// Makes sure that children can write: they inherit what binds this process.
///
/// # Errors
/// They could not.
pub(crate) fn check_may_write(ctx: &ToolContext) -> Outcome<()> {
    let session = &ctx.session;
    let policy = &session.policy;
    let offered = || session.registry().allowed(policy);
    let (bound, next) = if policy.readonly {
        (
            "may only read (MARVIN_READONLY=1)",
            "Start the run without MARVIN_READONLY.",
        )
    } else if session.permissions.mode() == PermissionMode::Plan {
        (
            "may only look and plan (--permission-mode plan)",
            "Start the run in another mode, such as --permission-mode acceptEdits.",
        )
    } else if session.sandbox.mode() == SandboxMode::ReadOnly {
        (
            "may change no files (--sandbox read-only)",
            "Start the run with --sandbox workspace-write.",
        )
    } else if !offered().iter().any(|tool| tool.name() == WRITER) {
        (
            "has no tool that writes files (--tools, --disallowed-tools)",
            "Start the run without --tools, and without taking create_file away.",
        )
    } else {
        return Ok(());
    };
    Err(Problem::refused(format!(
        "This process {bound}, and so it is with its children: they could write nothing of what is asked for."
    ))
    .next(next))
}

/// Whether the repository is the run's own: there is none yet, or an earlier start of the run made it. Recorded before it is made.
fn own_repository(run: &Run, earlier: Option<&RunRecord>) -> Outcome<bool> {
    if earlier.is_some_and(|earlier| earlier.made_repository) {
        return Ok(true);
    }
    if repository::exists(run.root())? {
        return Ok(false);
    }
    let record = RunRecord {
        task: run.task.clone(),
        started: run.ctx.session.clock.utc(),
        made_repository: true,
        ..earlier.cloned().unwrap_or_default()
    };
    record.write(&run.places)?;
    Ok(true)
}

fn announce(run: &Run, request: &RunRequest, resumed: bool) -> Outcome<()> {
    run.emit(PipelineEvent::RunStarted {
        task: first_line(&run.task),
        ticket: run.ticket.clone(),
        tiers: run.tiers.all(),
        phases: outline(request)?,
        resumed,
    });
    Ok(())
}

/// Commits what stands here before the first phase.
fn begin(run: &Run, was_interrupted: bool) -> Outcome<()> {
    upstream::copy(run)?;
    repository::checkpoint(
        run,
        match was_interrupted {
            true => "What the interrupted run left",
            false => "Before the pipeline",
        },
    )
}

/// Records the commit of what was here before the run, at its first start.
fn record_beginning(run: &Run, record: &mut RunRecord, is_continued: bool) -> Outcome<()> {
    if record.begun.is_empty() && (!is_continued || record.base.is_empty()) {
        record.begun = repository::head(run)?;
        record.write(&run.places)?;
    }
    Ok(())
}

/// Makes sure that the tests pass at the end of a run that wrote some: without that it is not done, whatever was tried.
fn check_tests(run: &Run, request: &RunRequest) -> Outcome<()> {
    if !request.tdd {
        return Ok(());
    }
    let tests = test_command::run_tests(run)?;
    if tests.is_green() {
        return Ok(());
    }
    Err(Problem::refused(format!(
        "Every phase was gone through, but the run is not done. {}",
        tests.words()
    ))
    .next("Mend that, and run the same command again: it runs the tests, and closes the ticket when they pass.")
    .next("To have the tests mended again: the same command with --from 4a"))
}

/// Closes the ticket and commits that. A run that is killed here does it again.
fn end(run: &Run, record: &mut RunRecord) -> Outcome<()> {
    epic::close(run)?;
    repository::checkpoint(run, "The pipeline is done")?;
    record.working.clear();
    record.finished = true;
    record.write(&run.places)
}

/// Every phase in order, until the user wants a stop.
fn walk(run: &Run, request: &RunRequest, record: &mut RunRecord) -> Outcome<Option<Pause>> {
    let phases: Vec<&'static Phase> = PHASES.iter().filter(|phase| request.has(phase)).collect();
    for (at, phase) in phases.iter().enumerate() {
        review_edited(run, phases.get(..at).unwrap_or_default(), record)?;
        let next = phases.get(at + 1);
        let mut again = !is_complete(run, phase)?;
        loop {
            if again {
                // Whatever was approved was other work.
                approval::withdraw(&run.places, |other| other == phase.name)?;
                do_phase(run, phase, record)?;
            }
            // After the last phase, and where the run is further already, nothing is asked.
            let Some(next) = next else { break };
            if state::is_done(&run.places, next.name)? && request.steering.until != Some(phase.name)
            {
                break;
            }
            match steering::gate(run, &request.steering, phase)? {
                GateDecision::GoOn => break,
                GateDecision::Pause(pause) => return Ok(Some(pause)),
                GateDecision::Again => {
                    steering::note_edits(run)?;
                    again = !is_complete(run, phase)?;
                }
            }
        }
    }
    review_edited(run, &phases, record)?;
    Ok(None)
}

/// Reviews documents of finished phases again that the user has edited since, and has those written again that are gone.
fn review_edited(run: &Run, done: &[&'static Phase], record: &mut RunRecord) -> Outcome<()> {
    steering::note_edits(run)?;
    for phase in done {
        if missing_document(run, phase).is_some() || rewritten(run, phase).is_some() {
            do_phase(run, phase, record)?;
        }
    }
    Ok(())
}

/// Does a phase and commits it. An interruption leaves the record as it is, which tells the next run that children may have been writing.
fn do_phase(run: &Run, phase: &Phase, record: &mut RunRecord) -> Outcome<()> {
    let mut mark = |working: &str| {
        working.clone_into(&mut record.working);
        record.write(&run.places)
    };
    run.ctx.stop.check()?;
    run.budget_left()?;
    tell_what_is_missing(run, phase)?;
    if !state::is_done(&run.places, phase.name)? {
        phase_record::keep_only(run, phase.name)?;
    }
    mark(phase.name)?;
    approval::pass(&run.places, phase.name)?;
    let outcome = work(run, phase);
    // Stopped: whatever a child was writing is left, and the record says so.
    run.ctx.stop.check()?;
    if outcome.is_ok() {
        state::save(&run.places, phase.name)?;
        phase_record::end_phase(run, phase.name)?;
    }
    // What a failed phase left is committed too, so that nothing of the children's is mistaken for the user's.
    let committed = repository::checkpoint(run, &format!("{}: {}", phase.name, phase.about));
    if !run.root().path().is_dir() {
        // What its children said is no help.
        return committed.and(outcome);
    }
    if let (Err(_), Err(problem)) = (&outcome, &committed) {
        // What failed first is the reason to tell; the record stays that of an interrupted run.
        run.warn(problem.one_line());
        return outcome;
    }
    committed?;
    // Whoever edited a document on which the phase did not work.
    steering::note_edits_beside(run, phase)?;
    steering::save_documents(run)?;
    mark("")?;
    outcome
}

fn work(run: &Run, phase: &Phase) -> Outcome<()> {
    let name = || phase.name.to_owned();
    run.emit(PipelineEvent::PhaseStarted { phase: name() });
    let started = Instant::now();
    run.emit(match do_work(run, phase.work)? {
        PhaseEnd::Done => PipelineEvent::PhaseDone {
            phase: name(),
            took: started.elapsed(),
        },
        PhaseEnd::Skipped(reason) => PipelineEvent::PhaseSkipped {
            phase: name(),
            reason,
        },
    });
    Ok(())
}

fn is_anything_left(run: &Run, request: &RunRequest) -> Outcome<bool> {
    for phase in PHASES.iter().filter(|phase| request.has(phase)) {
        if !is_complete(run, phase)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn do_work(run: &Run, work: PhaseWork) -> Outcome<PhaseEnd> {
    match work {
        PhaseWork::Specify => documents::specify(run),
        PhaseWork::ReviewSpecification => document::review_specification(run),
        PhaseWork::Design => documents::design(run),
        PhaseWork::ReviewDesign => document::review_design(run),
        PhaseWork::FunctionalTests => test_writing::functional(run),
        PhaseWork::IntegrationTests => test_writing::integration(run),
        PhaseWork::Implement => implementation::implement(run),
        PhaseWork::Debug => debugging::debug(run),
        PhaseWork::SmokeTest => smoke_test::smoke_test(run),
        PhaseWork::FrontEnd => front_end::check_front_end(run),
        PhaseWork::Quality => quality::assure_quality(run),
    }
}

/// Whether a phase is recorded as done and what it left is still there.
fn is_complete(run: &Run, phase: &Phase) -> Outcome<bool> {
    let is_recorded = state::is_done(&run.places, phase.name)?;
    Ok(is_recorded && missing_document(run, phase).is_none() && rewritten(run, phase).is_none())
}

/// Says why a phase that is recorded as done is done again.
fn tell_what_is_missing(run: &Run, phase: &Phase) -> Outcome<()> {
    if state::is_done(&run.places, phase.name)? {
        let name = phase.name;
        if let Some(path) = missing_document(run, phase) {
            run.warn(format!("{path} is missing or too short, although phase {name} is recorded as done; it is done again."));
        } else if let Some(path) = rewritten(run, phase)
            && phase_record::edited_since(run, &path).is_none()
        {
            run.warn(format!(
                "{path} was written again after its review, so it is reviewed again."
            ));
        }
    }
    Ok(())
}

/// The document of a review that is not the one that was reviewed.
fn rewritten(run: &Run, phase: &Phase) -> Option<String> {
    if phase.steps.is_empty() {
        return None;
    }
    let documents = phase.documents.iter();
    let mut paths = documents.map(|kind| run.places.document(*kind));
    paths.find(|path| phase_record::is_rewritten(run, path))
}

/// The first of the documents that a finished phase left which is not there any more.
fn missing_document(run: &Run, phase: &Phase) -> Option<String> {
    let stands = |path: &str| {
        let state = run
            .root()
            .check(path)
            .map(|rel| documents::state(run.root(), &rel));
        matches!(state, Ok(Ok(Ok(()))))
    };
    let documents = phase.documents.iter();
    let mut paths = documents.map(|kind| run.places.document(*kind));
    paths.find(|path| !stands(path))
}

impl RunRequest {
    fn has(&self, phase: &Phase) -> bool {
        match phase.part {
            Part::Design => self.design_first,
            Part::Tests => self.tdd,
            Part::Always => true,
        }
    }
}

/// A run continues only with the task it was started with; another one would mix two programs.
fn refuse_other_task(request: &RunRequest, earlier: Option<&RunRecord>) -> Outcome<()> {
    let Some(earlier) = earlier.filter(|earlier| earlier.task.trim() != request.task.trim()) else {
        return Ok(());
    };
    if let Some(feature) = request.places.feature() {
        return Err(Problem::refused(format!(
            "The feature {feature} is for another task: \"{}\".",
            first_line(&earlier.task)
        ))
        .next("Give the same prompt to continue it, or none.")
        .next("For another task give a name of its own: --feature NAME"));
    }
    let other = match earlier.task.as_str() {
        "" => "one that is not recorded here; its epic is in the tickets".to_owned(),
        task => format!("\"{}\"", first_line(task)),
    };
    Err(Problem::refused(format!(
        "The pipeline was run in this directory for another task: {other}."
    ))
    .next("Give the same prompt to continue it.")
    .next(format!(
        "For a new task finish that one first, use another directory, or remove {} and the documents beside it.",
        request.places.state()
    )))
}

fn outline(request: &RunRequest) -> Outcome<Vec<PhaseOutline>> {
    let outlined = PHASES.iter().map(|phase| {
        Ok(PhaseOutline {
            name: phase.name.to_owned(),
            about: phase.about.to_owned(),
            done: state::is_done(&request.places, phase.name)?,
            omitted: !request.has(phase),
        })
    });
    outlined.collect()
}

/// Whether every phase that was asked for is done.
fn is_gone_through(run: &Run, request: &RunRequest) -> bool {
    let mut asked_for = PHASES.iter().filter(|phase| request.has(phase));
    asked_for.all(|phase| state::is_done(&run.places, phase.name).unwrap_or(false))
}

/// Tells how the run ended, and how to go on when it is not done.
fn finish(run: &Run, request: &RunRequest, outcome: Outcome<RunOutcome>) -> Outcome<RunOutcome> {
    let same = match request.steering.from {
        Some(_) => "Run the same command again without --from",
        None => "Run the same command again",
    };
    let outcome = outcome.map_err(|problem| match problem.kind {
        ProblemKind::Limit if run.budget_left().is_err() => problem.next(format!(
            "{same} with a higher --max-cost: finished phases are not repeated."
        )),
        // There is nothing to continue with, and the problem says what there is to do.
        _ if is_gone_through(run, request) => problem,
        _ => problem.next(format!(
            "{same} to continue: finished phases are not repeated."
        )),
    });
    let words = match &outcome {
        Ok(RunOutcome::Done) => "Every phase is done.".to_owned(),
        Ok(RunOutcome::Paused(pause)) => {
            run.emit(PipelineEvent::RunPaused {
                phase: pause.phase.to_owned(),
                words: pause.words.clone(),
                waits: pause.waits,
            });
            return outcome;
        }
        Err(problem) => problem.one_line(),
    };
    run.emit(PipelineEvent::RunEnded {
        done: outcome.is_ok(),
        words,
    });
    outcome
}
