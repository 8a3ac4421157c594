//! What the user decides about a run: where it stops, from where on it is done again, what waits for approval, and the documents that they edited.

use std::sync::Arc;

use super::approval::{self, ApprovalPrompt, PendingApproval, UserDecision};
use super::child::{self, ChildTask};
use super::context::writer_task;
use super::documents::{self, Document};
use super::phase::{self, PHASES, Phase, PhaseWork};
use super::places::DocumentKind;
use super::review::history::History;
use super::review::{self, code, document};
use super::tier::Tier;
use super::{
    Run, files, limits, nothing_to_change, phase_record, prompts, repository, state, worktree,
};
use crate::base::marks::enclosed;
use crate::base::problem::{Outcome, Problem};
use crate::base::template::fill;
use crate::base::text::clip;
use crate::chat::pipeline_event::PipelineEvent;

/// Characters of the user's words that a child gets.
const MAX_WORDS_CHARS: usize = 20_000;

/// What the flags say. Nothing of it, unless asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steering {
    /// The phase after which the run stops.
    pub until: Option<&'static str>,
    /// The phase from which on it is done again.
    pub from: Option<&'static str>,
    /// The phases after which it waits for approval.
    pub approve: Vec<&'static str>,
    /// Asks for it on a terminal; without one the run stops there.
    pub prompt: Option<Arc<dyn ApprovalPrompt>>,
}

impl Steering {
    /// Makes sure that the flags can be meant together.
    ///
    /// # Errors
    /// It was to stop before the phase that was to be done again, or to wait when everything is done.
    pub(crate) fn check(&self) -> Outcome<()> {
        let last = phase::last();
        if self.approve.contains(&last) {
            return Err(Problem::input(format!(
                "After phase {last} nothing is left that could wait for approval."
            ))
            .next("Name an earlier point with --approve; the end of a run tells what there is to look at."));
        }
        match (self.from, self.until) {
            (Some(from), Some(until)) if phase::position(from) > phase::position(until) => {
                Err(Problem::input(format!(
                    "--from {from} and --until {until} leave nothing to do: phase {from} comes after {until}."
                ))
                .next("Give phases in the order in which they come, or leave one of the two out."))
            }
            _ => Ok(()),
        }
    }
}

/// How a run ended that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RunOutcome {
    /// Every phase is done.
    Done,
    /// It stopped where the user wanted it to.
    Paused(Pause),
}

/// Where a run stopped because the user wanted it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pause {
    /// The last phase that is done.
    pub phase: &'static str,
    /// Why, as a sentence.
    pub words: String,
    /// What there is to read.
    pub read: Vec<String>,
    /// It waits for approval.
    pub waits: bool,
}

/// What has to be done before the next phase.
pub(super) enum GateDecision {
    GoOn,
    /// The phase has to be done again: something was edited or corrected.
    Again,
    Pause(Pause),
}

/// Makes sure that the run has come as far as `from`: `recorded` is its state.
///
/// # Errors
/// It has not: then there is nothing to do again.
pub(crate) fn check_from(from: &str, recorded: Option<&str>) -> Outcome<()> {
    let before = phase::position(from).and_then(|at| PHASES.get(at.checked_sub(1)?));
    let is_reached = before.is_none_or(|before| state::reaches(recorded, before.name));
    if is_reached && recorded.is_some() {
        return Ok(());
    }
    let last = match recorded {
        Some(recorded) => format!("The last one that is done is {recorded}."),
        None => "Nothing is done yet.".to_owned(),
    };
    Err(
        Problem::refused(format!("The run has not come to phase {from}. {last}"))
            .next("Leave out --from: the run goes on where it is."),
    )
}

/// Sets the recorded state back to before `from`. What writers of documents left is set aside, because they write nothing that is there. Returns what
/// will be done again, as a sentence.
///
/// # Errors
/// It cannot be recorded.
pub(super) fn go_back(run: &Run, from: &str) -> Outcome<String> {
    let at = phase::position(from).unwrap_or_default();
    let again: Vec<&Phase> = PHASES.iter().skip(at).collect();
    let mut done = Vec::new();
    for phase in &again {
        if state::is_done(&run.places, phase.name)? {
            done.push(phase.name);
        }
    }
    // First the record: a kill in between leaves less recorded than is there, which costs nothing but a review.
    state::set_back(&run.places, at.checked_sub(1).and_then(|at| PHASES.get(at)))?;
    let writing = again
        .iter()
        .filter(|phase| matches!(phase.work, PhaseWork::Specify | PhaseWork::Design));
    let written: Vec<String> = writing
        .flat_map(|phase| phase.documents)
        .map(|kind| run.places.document(*kind))
        .collect();
    phase_record::forget(run, &again, &written)?;
    approval::withdraw(&run.places, |phase| {
        again.iter().any(|again| again.name == phase)
    })?;
    let mut kept = Vec::new();
    for path in written {
        let rel = run.root().check(&path)?;
        if run.root().exists(&rel)? && run.root().kind_name(&rel)? == "file" {
            let to =
                documents::set_aside(run, &rel).unwrap_or_else(|| "the history of git".to_owned());
            kept.push(format!("{path} is in {to} now"));
        }
    }
    let mut words = match done.as_slice() {
        [] => format!("Phase {from} is done again from its beginning."),
        done => format!(
            "Done again from phase {from} on, as you asked: {}.",
            done.join(", ")
        ),
    };
    if !kept.is_empty() {
        words.push_str(&format!(" {}.", kept.join(", ")));
    }
    Ok(words)
}

/// Looks for documents that are not as the last phase left them. A reviewed one is reviewed again, and nothing else is done for it.
///
/// # Errors
/// It cannot be recorded.
pub(super) fn note_edits(run: &Run) -> Outcome<()> {
    note_edits_but(run, &[])
}

/// The same while `working` is in progress: of the documents on which that does not work.
///
/// # Errors
/// It cannot be recorded.
pub(super) fn note_edits_beside(run: &Run, working: &Phase) -> Outcome<()> {
    note_edits_but(run, working.documents)
}

fn note_edits_but(run: &Run, own: &[DocumentKind]) -> Outcome<()> {
    for phase in PHASES.iter().filter(|phase| !phase.steps.is_empty()) {
        for (position, kind) in phase.documents.iter().enumerate() {
            if own.contains(kind) {
                continue;
            }
            let path = run.places.document(*kind);
            let is_reviewed = document::is_reviewed(run, phase, position)?;
            if is_reviewed && phase_record::mark_edited(run, &path)? {
                run.emit(PipelineEvent::Steered {
                    words: format!("{path} was edited, so it is reviewed again as it is."),
                });
            }
        }
    }
    Ok(())
}

/// Records the documents as a phase left them.
///
/// # Errors
/// It cannot be recorded.
pub(super) fn save_documents(run: &Run) -> Outcome<()> {
    let commit = repository::head(run).unwrap_or_default();
    for path in run.places.documents() {
        phase_record::save_document(run, &path, &commit)?;
    }
    Ok(())
}

/// Whether the run may go on after `phase`.
///
/// # Errors
/// It was stopped; a correction failed.
pub(super) fn gate(run: &Run, steering: &Steering, phase: &'static Phase) -> Outcome<GateDecision> {
    if steering.approve.contains(&phase.name) {
        let all = approval::read(&run.places)?;
        let is_approved = all.of(phase.name).is_some();
        if !is_approved {
            let was_told = all.waiting == phase.name;
            let decision = match &steering.prompt {
                Some(prompt) => ask(run, prompt.as_ref(), phase)?,
                None if was_told => {
                    approve(run, phase, "by running the command again")?;
                    GateDecision::GoOn
                }
                None => {
                    approval::wait(&run.places, phase.name)?;
                    GateDecision::Pause(pause(run, phase, true))
                }
            };
            if !matches!(decision, GateDecision::GoOn) {
                return Ok(decision);
            }
        }
    }
    Ok(match steering.until == Some(phase.name) {
        true => GateDecision::Pause(pause(run, phase, false)),
        false => GateDecision::GoOn,
    })
}

fn pause(run: &Run, phase: &Phase, waits: bool) -> Pause {
    // The user is elsewhere when the run has a worktree.
    let there = worktree::record::of(run.root()).map(|_| run.root().path());
    let mut read = documents_of(run, phase);
    if let Some(there) = there {
        read = read
            .iter()
            .map(|path| there.join(path).display().to_string())
            .collect();
    }
    if read.is_empty() {
        let log = match there {
            Some(there) => shlex::try_join(["git", "-C", &there.to_string_lossy(), "log"]),
            None => Ok("git log".to_owned()),
        };
        read.push(format!(
            "the commits of the run, newest first: {}",
            log.unwrap_or_default()
        ));
    }
    Pause {
        phase: phase.name,
        words: match waits {
            true => format!(
                "Phase {} is done and waits for your approval ({}).",
                phase.name,
                approval::name_of(phase.name)
            ),
            false => format!(
                "Phase {} is done, and the run was to stop after it.",
                phase.name
            ),
        },
        read,
        waits,
    }
}

/// The paths of a phase's documents.
fn documents_of(run: &Run, phase: &Phase) -> Vec<String> {
    let documents = phase.documents.iter();
    documents.map(|kind| run.places.document(*kind)).collect()
}

fn approve(run: &Run, phase: &Phase, how: &str) -> Outcome<()> {
    let at = run.ctx.session.clock.utc();
    let approved = approval::approve(&run.places, phase.name, at, how)?;
    run.emit(PipelineEvent::Steered {
        words: format!(
            "Phase {} was approved {} ({}).",
            phase.name, approved.how, approved.at
        ),
    });
    Ok(())
}

fn ask(run: &Run, prompt: &dyn ApprovalPrompt, phase: &'static Phase) -> Outcome<GateDecision> {
    let words = pause(run, phase, true);
    approval::wait(&run.places, phase.name)?;
    run.emit(PipelineEvent::ApprovalAwaited {
        phase: phase.name.to_owned(),
        words: words.words.clone(),
    });
    let pending = PendingApproval {
        phase: phase.name,
        about: phase.about,
        documents: &documents_of(run, phase),
        root: run.root(),
    };
    let is_approved = || {
        let all = approval::read(&run.places);
        all.is_ok_and(|all| all.of(phase.name).is_some())
    };
    let decided = prompt.ask(&pending, &is_approved, &run.ctx.stop);
    if decided.is_err() {
        // Whoever stops the run at the question has not approved: the next start asks again.
        approval::unwait(&run.places, phase.name)?;
    }
    match decided? {
        UserDecision::GoOn => {
            approve(run, phase, "on the terminal")?;
            Ok(GateDecision::GoOn)
        }
        UserDecision::Edited => Ok(GateDecision::Again),
        UserDecision::Stop => Ok(GateDecision::Pause(words)),
        UserDecision::Wrong { document, words } => {
            correct(run, phase, document.as_deref(), &words)?;
            Ok(GateDecision::Again)
        }
    }
}

/// Has corrected what the user says is wrong.
fn correct(run: &Run, phase: &'static Phase, document: Option<&str>, words: &str) -> Outcome<()> {
    let findings = enclosed(
        "findings",
        "reviewer=\"the user\"",
        &clip(words, MAX_WORDS_CHARS),
    );
    let known: [&'static Document; 3] = [&documents::SPEC, &documents::UX, &documents::DESIGN];
    let document =
        document.and_then(|path| known.into_iter().find(|known| known.path(run) == path));
    if let Some(document) = document {
        document::correct(run, document, phase.name, &findings)?;
        return repository::checkpoint(
            run,
            &format!("{}: corrected as the user said", document.kind.name()),
        );
    }
    let tier = match phase.work {
        PhaseWork::FunctionalTests | PhaseWork::IntegrationTests => Tier::TestWriter,
        _ => Tier::Codex,
    };
    let about = match tier {
        Tier::TestWriter => (
            "tests",
            format!("{}{}", prompts::RED_TESTS, prompts::REVIEW_TESTS),
        ),
        _ => ("code", prompts::REVIEW_SOURCES.to_owned()),
    };
    let instructions = fill(
        prompts::FIX_CODE,
        &[
            ("subject", &review::as_part(&about.1)),
            ("history_path", &History::of(about.0).path(&run.places)),
            ("findings", &findings),
        ],
    );
    let before = files::states(run.root(), &run.ctx.stop);
    let task = ChildTask {
        check: &|report| {
            let has_changed = files::states(run.root(), &run.ctx.stop) != before;
            let missing = "No file has changed. Correct the findings in the files.";
            nothing_to_change::check(report, has_changed, missing)
        },
        ..writer_task(
            run,
            "user-fixer",
            tier,
            limits::IMPLEMENTATION,
            &instructions,
        )
    };
    let report = child::run(run, &task)?;
    if let Some(reasons) = nothing_to_change::reasons(&report)
        && files::states(run.root(), &run.ctx.stop) == before
    {
        run.emit(PipelineEvent::Steered {
            words: format!(
                "The {} is as it was before your words, and these are the reasons: {reasons}",
                about.0
            ),
        });
        return Ok(());
    }
    repository::checkpoint(run, &format!("{}: corrected as the user said", phase.name))?;
    match phase.work {
        PhaseWork::FunctionalTests | PhaseWork::IntegrationTests => {
            code::review_tests(run, phase.name, &before)?;
        }
        PhaseWork::Implement | PhaseWork::Debug => code::review_sources(run, phase.name)?,
        _ => {}
    }
    phase_record::end_phase(run, phase.name)
}
