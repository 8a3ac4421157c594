//! Attempts at a task: which child is started next, what it is told, and when to give up.

use std::time::Duration;

use super::budget::Budget;
use super::idle;
use super::process::{ChildStart, EndedChild, outage_wait, run_child};
use super::questions::{self, MAX_ROUNDS};
use super::{Access, ChildReport, ChildTask, prompts};
use crate::base::marks::enclosed;
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::template::fill;
use crate::base::text::{counted, tail};
use crate::base::variables::{MARVIN_PROVIDER_PATIENCE, MARVIN_PROVIDER_PAUSE};
use crate::chat::failure_report::ProviderOutage;
use crate::formats::duration;
use crate::llm::patience::Patience;
use crate::pipeline::Run;
use crate::pipeline::tier::Tier;
use crate::pipeline::working_tree;
use crate::pipeline::worktree::record as worktree_record;

/// Attempts with the task's own tier; one with the fallback tier follows. Who twice in a row changes nothing and does not say why has no third one, and that
/// of the fallback tier only where it is another model.
const OWN_ATTEMPTS: u32 = 3;
/// Characters of the output that the next attempt is told.
const OUTPUT_CHARS: usize = 3_000;
/// Wait after a child that failed, times the number of its attempt: its provider may need a moment, and the child has waited and retried itself.
const RETRY_WAIT: Duration = Duration::from_secs(2);
/// Exit statuses of a shell that found no program, or may not run it.
const NOT_RUNNABLE: [i32; 2] = [126, 127];

/// Tries until the work is done. See [`super::run`].
pub(super) fn run(run: &Run, task: &ChildTask<'_>, budget: &Budget<'_>) -> Outcome<ChildReport> {
    tries(run, task, budget, MAX_ROUNDS)
}

fn tries(
    run: &Run,
    task: &ChildTask<'_>,
    budget: &Budget<'_>,
    question_rounds: usize,
) -> Outcome<ChildReport> {
    let mut answers = String::new();
    let mut rounds_left = question_rounds;
    let mut failure: Option<Failure> = None;
    let mut patience = Patience::of(&run.ctx.session.env, &mut |words| run.warn(words));
    // Without any, a fault of the provider is one like another.
    let is_patient = !patience.left().is_zero();
    let mut attempt = 1;
    let mut is_last = false;
    loop {
        let prompt = prompt(task, &answers, failure.as_ref());
        let tier = match is_last {
            true => Tier::Fallback,
            false => task.tier,
        };
        let start = ChildStart {
            model: run.tiers.of(tier),
            attempt,
            prompt: &prompt,
            limit: task.limit.saturating_mul(attempt),
            max_cost: budget.left()?,
            patience: patience.left(),
        };
        let begun = match task.access.is_read_only() {
            true => None,
            false => working_tree::begin_child(run)?,
        };
        let child = run_child(run, task, &start)?;
        budget.spend(child.spent);
        worktree_record::keep_spent(run.root(), run.spent());
        patience.spend(child.waited);
        if child.output.cancelled {
            child.announce(run, false, "It was stopped.");
            return Err(Problem::cancelled());
        }
        let put_back = working_tree::end_child(run, &task.label, begun.as_deref())?;
        if rounds_left > 0
            && child.output.success()
            && let Some(questions) = questions::asked(&child.report.text)
        {
            child.announce(run, true, "It has questions.");
            rounds_left -= 1;
            answers.push_str("\n\n");
            // Who answers may ask nothing.
            let ask = |question: &ChildTask<'_>| tries(run, question, budget, 0);
            let answered = questions::answered(run, task, questions, budget, ask)?;
            answers.push_str(&withheld(&answered, task.withhold));
            if rounds_left == 0 {
                answers.push_str("\n\n");
                answers.push_str(prompts::NO_MORE_QUESTIONS.trim_end());
            }
            continue;
        }
        let mut failed = match judge(task, &child) {
            Ok(()) => {
                child.announce(run, true, "It did its work.");
                return Ok(child.report);
            }
            Err(failed) => failed,
        };
        child.announce(run, false, failed.words.as_str());
        failed.left = left(task);
        if let Some(words) = &put_back {
            failed.left = format!("{} {words}", failed.left.trim_end());
        }
        if failed.outage.is_some() && !child.was_answered {
            patience.waited(child.took);
        }
        if let Some(outage) = failed.outage.clone()
            && let Some(pause) = patience.pause(&outage)
        {
            run.emit(outage_wait(task, outage.provider, pause));
            if !run.ctx.stop.sleep(pause) {
                return Err(Problem::cancelled());
            }
            // Who had not begun left nothing that the next has to know.
            failure = match child.was_answered {
                true => Some(failed),
                false => failure,
            };
            continue;
        }
        if let Some(outage) = failed.outage.as_ref().filter(|_| is_patient) {
            if is_last || run.tiers.of(Tier::Fallback).provider == outage.provider {
                return Err(out_of_patience(run, task, outage, &failed, &child));
            }
            // Each further child would be paid from its beginning for an answer that does not come; another provider may have one.
            is_last = true;
            attempt += 1;
            failure = Some(failed);
            continue;
        }
        // The second time it was told: the same model would be paid for the same answer.
        let is_idle_again = idle::is_told_in(&failed.words)
            && failure
                .as_ref()
                .is_some_and(|before| before.words == failed.words);
        let (own, other) = (start.model, run.tiers.of(Tier::Fallback));
        let is_same = (&own.provider, &own.model) == (&other.provider, &other.model);
        if is_last || failed.is_final || is_idle_again && is_same {
            return Err(gave_up(run, task, attempt, failed, &child));
        }
        if failed.is_worth_a_wait && !run.ctx.stop.sleep(retry_wait(run).saturating_mul(attempt)) {
            return Err(Problem::cancelled());
        }
        failure = Some(failed);
        is_last = attempt >= OWN_ATTEMPTS || is_idle_again;
        attempt += 1;
    }
}

/// The wait after a first failure: no longer than whoever started the run wants to pause for a provider.
fn retry_wait(run: &Run) -> Duration {
    let pause = MARVIN_PROVIDER_PAUSE.read(&run.ctx.session.env, &mut |words| run.warn(words));
    RETRY_WAIT.min(Duration::from_secs(pause))
}

/// Why an attempt did not do the work.
struct Failure {
    /// As a sentence.
    words: String,
    kind: ProblemKind,
    /// No further attempt can do better.
    is_final: bool,
    /// Something outside failed that may recover.
    is_worth_a_wait: bool,
    /// The provider could not answer.
    outage: Option<ProviderOutage>,
    /// The end of what it printed.
    output: String,
    /// What the next attempt is told about what it left.
    left: String,
}

/// Clears away what a failed attempt left, and says what the next attempt finds.
fn left(task: &ChildTask<'_>) -> String {
    let kept = match (task.after_failure, &task.access) {
        (Some(clear), _) => return clear().unwrap_or_else(|| prompts::RETRY_NOTHING.to_owned()),
        (None, Access::Read | Access::Research) => prompts::RETRY_NOTHING,
        (None, Access::Write { .. } | Access::WriteFiles(_)) => prompts::RETRY_KEPT,
    };
    kept.to_owned()
}

/// Whether the work is done. A child that failed has not done it, whatever is in its files: a provider may have gone away in the middle of a document that is
/// long enough already. When it ended well, the task's check alone decides.
fn judge(task: &ChildTask<'_>, child: &EndedChild) -> Result<(), Failure> {
    let output = &child.output;
    let failure = |words: String, kind: ProblemKind| Failure {
        words,
        kind,
        is_final: false,
        is_worth_a_wait: false,
        outage: None,
        output: withheld(tail(&child.report.text, OUTPUT_CHARS), task.withhold),
        left: String::new(),
    };
    if output.timed_out {
        let words = format!("It did not end within {} s.", output.limit.as_secs());
        return Err(failure(words, ProblemKind::Timeout));
    }
    if output.success() {
        return (task.check)(&child.report)
            .map_err(|missing| failure(missing, ProblemKind::Missing));
    }
    let words = match &child.error {
        Some(error) => format!("It failed ({}): {error}", output.ending()),
        None => format!("It failed ({}).", output.ending()),
    };
    let reported = child.failure.as_ref();
    let kind = reported.map_or(ProblemKind::System, |failure| failure.kind);
    let cannot_run = output.code.is_some_and(|code| NOT_RUNNABLE.contains(&code));
    Err(Failure {
        is_final: cannot_run || is_lasting(kind) || reported.is_some_and(|failure| failure.lasting),
        is_worth_a_wait: true,
        outage: reported.and_then(|failure| failure.outage.clone()),
        ..failure(withheld(&words, task.withhold), kind)
    })
}

/// Whether a failure that a child reported itself comes again however often it is tried: a wrong setting, a missing key, a model that does not exist.
fn is_lasting(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::Input | ProblemKind::Config | ProblemKind::Auth | ProblemKind::Missing
    )
}

/// `text` without the words that the next attempt must not see.
fn withheld(text: &str, words: &[&str]) -> String {
    let mut text = text.to_owned();
    for word in words.iter().filter(|word| !word.is_empty()) {
        // Lower case of ASCII letters alone, so that places in the text stay the same.
        let word = word.to_ascii_lowercase();
        while let Some(at) = text.to_ascii_lowercase().find(&word) {
            text.replace_range(at..at + word.len(), "…");
        }
    }
    text
}

fn prompt(task: &ChildTask<'_>, answers: &str, failure: Option<&Failure>) -> String {
    let mut prompt = format!("{}{answers}", task.prompt);
    if let Some(failure) = failure {
        let output = match failure.output.trim() {
            "" => "(It printed nothing.)".to_owned(),
            output => enclosed("output", "", output),
        };
        prompt.push_str("\n\n");
        prompt.push_str(&fill(
            prompts::RETRY,
            &[
                ("missing", failure.words.as_str()),
                ("left", failure.left.trim_end()),
                ("output", &output),
            ],
        ));
    }
    prompt
}

/// The problem when a provider cannot answer and everything was waited that may be, or it asks for more. That ends the run: the next child would wait as long.
fn out_of_patience(
    run: &Run,
    task: &ChildTask<'_>,
    outage: &ProviderOutage,
    failed: &Failure,
    child: &EndedChild,
) -> Problem {
    let wait = match outage.retry_after() {
        Some(wait) if wait >= Duration::from_secs(1) => {
            format!("asks to wait {}", duration::words(wait))
        }
        _ => "cannot answer now".to_owned(),
    };
    let problem = Problem::limit(format!(
        "{} could not do its work, because {} {wait}, and no more is waited for it: {}",
        task.label, outage.provider, failed.words
    ));
    problem
        .next(format!("Its log: {}", log_of(run, child)))
        .next(format!(
            "How long is waited in all: {}, in seconds.",
            MARVIN_PROVIDER_PATIENCE.name
        ))
}

/// The log of a child as the user finds it, who is elsewhere when the run has a worktree.
fn log_of(run: &Run, child: &EndedChild) -> String {
    let log = &child.report.log;
    let here = log.strip_prefix(run.root().path()).ok();
    let here = here.filter(|_| worktree_record::of(run.root()).is_none());
    here.unwrap_or(log).display().to_string()
}

fn gave_up(
    run: &Run,
    task: &ChildTask<'_>,
    attempts: u32,
    failed: Failure,
    child: &EndedChild,
) -> Problem {
    let what = format!(
        "{} did not do its work in {}: {}",
        task.label,
        counted(attempts.into(), "attempt"),
        failed.words
    );
    let problem = Problem::new(failed.kind, what).next(format!("Its log: {}", log_of(run, child)));
    match failed.output.trim() {
        "" => problem,
        output => problem.facts(output),
    }
}
