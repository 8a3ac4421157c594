//! The summary of a run for standard output.

use std::fmt::Write as _;
use std::time::Duration;

use super::progress::{PhaseProgress, PhaseState, RunProgress, Usage};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, counted, one_line};
use crate::chat::usage::{dollars, estimate_mark};
use crate::disk::beneath::FileKind;
use crate::formats::duration;
use crate::pipeline::phase;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::record::RunRecord;
use crate::pipeline::steering::Pause;
use crate::pipeline::worktree::record::WorktreeRecord;
use crate::proc::git::Git;

/// Characters of a text from outside.
const MAX_TEXT_CHARS: usize = 500;
/// Entries of a list; the newest ones.
const MAX_LISTED: usize = 20;

/// Newest commits that are looked at.
const MAX_COMMITS: u64 = 1000;

/// What the events of a run do not say.
#[derive(Default)]
pub(crate) struct SummaryFacts<'a> {
    /// Why it ended early.
    pub problem: Option<&'a Problem>,
    /// The branch that it worked on.
    pub branch: Option<String>,
    /// What its reviews found, and what is open.
    pub findings: Option<String>,
    /// The worktree that it worked in.
    pub worktree: Option<&'a WorktreeRecord>,
    /// Where it stopped because the user wanted it to.
    pub pause: Option<&'a Pause>,
    /// How to go on from there.
    pub next: Vec<String>,
}

/// First lines of the messages of the commits since the run was first started, with short ids, oldest first; none when git cannot say. What stopped the run
/// does not stop this.
pub(super) fn commits(places: &RunPlaces, env: &Env) -> Vec<String> {
    let log = || -> Outcome<Option<String>> {
        let Some(record) = RunRecord::read(places)? else {
            return Ok(None);
        };
        // An id and nothing else: git would take other words for options.
        if record.base.len() < 40 || !record.base.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let stop = Cancel::new();
        let git = Git::open(places.root.path(), env, &stop)?;
        match git.count_since(&record.base)?.min(MAX_COMMITS) {
            0 => Ok(None),
            count => git.log(count, true).map(Some),
        }
    };
    let log = log().ok().flatten().unwrap_or_default();
    log.lines().rev().map(str::to_owned).collect()
}

/// A document of the project and its size in bytes.
pub(super) struct Document {
    path: String,
    bytes: u64,
}

/// The documents that exist.
pub(super) fn documents(places: &RunPlaces) -> Vec<Document> {
    let root = &places.root;
    let found = places.documents().into_iter().filter_map(|path| {
        let meta = root.metadata(&root.check(&path).ok()?).ok()?;
        (meta.kind == FileKind::File).then_some(Document {
            path,
            bytes: meta.len,
        })
    });
    found.collect()
}

/// The summary, with a newline at its end; without `commits` it lists the checkpoints.
pub(super) fn text(
    progress: &RunProgress,
    documents: &[Document],
    commits: &[String],
    facts: &SummaryFacts<'_>,
) -> String {
    let done = progress.end.as_ref().is_some_and(|end| end.done) && facts.problem.is_none();
    let mut out = String::new();
    let mut line = |words: &str| {
        out.push_str(words);
        out.push('\n');
    };
    match facts.pause {
        Some(pause) => line(&paused(progress, pause)),
        None => line(&headline(progress, done)),
    }
    if let Some(words) = reason(progress, facts, done) {
        line(&words);
    }
    line(&format!("Task: {}", foreign(&progress.task)));
    if let Some(branch) = &facts.branch {
        line(&format!("Branch: {}", foreign(branch)));
    }
    if let Some(record) = facts.worktree {
        line(&format!(
            "Worktree: {}",
            one_line(&record.root().to_string_lossy())
        ));
    }
    line(&format!(
        "Time: {}",
        time(progress.elapsed(progress.times.latest))
    ));
    line(&format!("Cost: {}", cost(progress)));
    line("");
    line("Phases:");
    let widest = progress.phases.iter().map(|phase| phase.name.len()).max();
    for phase in &progress.phases {
        line(&phase_row(phase, widest.unwrap_or_default()));
    }
    let tests = progress.product.tests.as_ref().map(|(passed, words)| {
        let mark = if *passed { "passed" } else { "failed" };
        format!("{mark}. {}", foreign(words))
    });
    line("");
    line(&format!(
        "Tests: {}",
        tests.as_deref().unwrap_or("not run by the pipeline.")
    ));
    if let Some(findings) = &facts.findings {
        line(&format!("Findings of reviews: {findings}"));
    }
    let files = documents
        .iter()
        .map(|document| format!("{} ({})", document.path, counted(document.bytes, "byte")));
    let files: Vec<String> = files.collect();
    if !files.is_empty() {
        line(&format!("Documents: {}", files.join(", ")));
    }
    let commits = match commits {
        [] => &progress.product.checkpoints,
        commits => commits,
    };
    line(&list("Commits", commits, commits.len()));
    line(&list(
        "Warnings",
        &progress.warnings.newest,
        progress.warnings.count,
    ));
    line("");
    for read in facts.pause.iter().flat_map(|pause| &pause.read) {
        line(&format!("Read: {}", foreign(read)));
    }
    for step in next_steps(facts, done) {
        line(&format!("Next: {step}"));
    }
    out
}

fn paused(progress: &RunProgress, pause: &Pause) -> String {
    let (finished, all) = progress.count();
    // Before they are mended they are to fail.
    let are_mended = phase::position(pause.phase) >= phase::position("4a");
    let tests = match progress.product.tests {
        Some((false, _)) if are_mended => "The tests do not pass. ",
        _ => "",
    };
    format!(
        "{tests}{} {finished} of {all} phases are done. Ticket {}.",
        pause.words,
        one_line(&progress.ticket)
    )
}

fn headline(progress: &RunProgress, done: bool) -> String {
    let ticket = one_line(&progress.ticket);
    let (finished, all) = progress.count();
    match (done, progress.stopped_in()) {
        (true, _) => format!("The pipeline is done. Ticket {ticket}."),
        (false, Some(phase)) => format!(
            "The pipeline stopped in phase {}; {finished} of {all} phases are done. Ticket {ticket}.",
            one_line(&phase.name)
        ),
        (false, None) if finished == all => format!(
            "The run is not done, though all of its phases were gone through. Ticket {ticket}."
        ),
        (false, None) => {
            format!("The pipeline stopped; {finished} of {all} phases are done. Ticket {ticket}.")
        }
    }
}

/// Why it stopped.
fn reason(progress: &RunProgress, facts: &SummaryFacts<'_>, done: bool) -> Option<String> {
    if done || facts.pause.is_some() {
        return None;
    }
    let words = match facts.problem {
        Some(problem) => problem.what.clone(),
        None => progress.end.as_ref()?.words.clone(),
    };
    Some(format!("Reason: {}", foreign(&words)))
}

/// What the problem says, which includes how to continue.
fn next_steps(facts: &SummaryFacts<'_>, done: bool) -> Vec<String> {
    if facts.pause.is_some() {
        // A command is to be copied: nothing of it is cut.
        return facts.next.iter().map(|step| one_line(step)).collect();
    }
    let steps = facts.problem.map_or(&[][..], |problem| &problem.next);
    match (done, steps) {
        (true, _) => {
            let look = "Look at the commits, and try the program.".to_owned();
            let merge = facts.worktree.map(merge_steps);
            std::iter::once(look)
                .chain(merge.into_iter().flatten())
                .collect()
        }
        (false, []) => vec![
            "Run the same command again to continue: finished phases are not repeated.".to_owned(),
        ],
        (false, steps) => steps.iter().map(|step| foreign(step)).collect(),
    }
}

/// How the work of a worktree gets into the branch of the user.
pub(crate) fn merge_steps(record: &WorktreeRecord) -> [String; 2] {
    let merge = record.command(&["merge", &record.name]);
    [
        format!("Merge it as one commit: {merge}"),
        format!(
            "Or with all of its commits: {}",
            record.command(&["merge", &record.name, "--all"])
        ),
    ]
}

/// `1,234 tokens, $0.1234`, with what earlier runs used.
fn cost(progress: &RunProgress) -> String {
    let mut out = used(progress.own_usage());
    if progress.earlier.tokens > 0 {
        let _ = write!(
            out,
            "; with the runs before it {}",
            used(progress.all_usage())
        );
    }
    out
}

/// `1,234 tokens, $0.1234`; estimates begin with `~`.
pub(crate) fn used(usage: Usage) -> String {
    format!(
        "{}{}, {}",
        estimate_mark(usage.estimated),
        counted(usage.tokens, "token"),
        dollars(usage.cost, usage.estimated)
    )
}

fn phase_row(phase: &PhaseProgress, widest: usize) -> String {
    let result = match &phase.state {
        PhaseState::Omitted => "not asked for".to_owned(),
        PhaseState::ToCome => "to come".to_owned(),
        PhaseState::Running(_) => "running".to_owned(),
        PhaseState::Done(Some(took)) => format!("done in {}", time(*took)),
        PhaseState::Done(None) => "done".to_owned(),
        PhaseState::Skipped(why) => format!("skipped. {}", foreign(why)),
        PhaseState::Stopped(took) => format!("stopped after {}", time(*took)),
    };
    let name = one_line(&phase.name);
    match one_line(&phase.about).as_str() {
        "" => format!("  {name:<widest$}  {result}"),
        about => format!("  {name:<widest$}  {about}: {result}"),
    }
}

fn list(title: &str, entries: &[String], count: usize) -> String {
    if count == 0 {
        return format!("{title}: none");
    }
    let shown = entries.len().min(MAX_LISTED);
    let mut out = format!("{title} ({count}");
    if shown < count {
        let _ = write!(out, ", the last {shown}");
    }
    out.push_str("):");
    for entry in entries.iter().skip(entries.len() - shown) {
        let _ = write!(out, "\n  - {}", foreign(entry));
    }
    out
}

/// A time in words, to the nearest second.
pub(crate) fn time(time: Duration) -> String {
    duration::words(duration::rounded(time))
}

/// A text from outside as one line.
pub(crate) fn foreign(text: &str) -> String {
    one_line(&clip(text, MAX_TEXT_CHARS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::pipeline::progress::{RunEnd, RunProduct, RunTimes, Warnings};

    fn phase(name: &str, state: PhaseState) -> PhaseProgress {
        PhaseProgress {
            name: name.to_owned(),
            about: "what it does".to_owned(),
            state,
        }
    }

    fn progress(done: bool) -> RunProgress {
        let at = |seconds| Duration::from_secs(seconds);
        RunProgress {
            task: "A to-do list\u{1b}[31m".to_owned(),
            ticket: "app-1a2b".to_owned(),
            phases: vec![
                phase("1a", PhaseState::Done(Some(at(185)))),
                phase("1a_review", PhaseState::Done(None)),
                phase("4c", PhaseState::Skipped("It serves no pages.".to_owned())),
                phase(
                    "5",
                    if done {
                        PhaseState::Done(Some(at(1)))
                    } else {
                        PhaseState::Stopped(at(9))
                    },
                ),
            ],
            product: RunProduct {
                checkpoints: vec!["Before the pipeline".to_owned()],
                tests: Some((true, "12 tests, all passed.".to_owned())),
            },
            warnings: Warnings {
                newest: vec!["The reviewer printed\nnothing.".to_owned()],
                count: 1,
            },
            earlier: Usage {
                tokens: 1000,
                cost: 0.5,
                estimated: false,
            },
            times: RunTimes {
                started: Some(at(10)),
                latest: at(100),
                ..RunTimes::default()
            },
            end: Some(RunEnd {
                done,
                paused: false,
                words: "The ceiling is reached.".to_owned(),
                at: at(100),
            }),
            ..RunProgress::default()
        }
    }

    #[test]
    fn a_finished_run_says_what_there_is() {
        let document = Document {
            path: ".marvin/spec.md".to_owned(),
            bytes: 12_345,
        };
        let text = text(&progress(true), &[document], &[], &SummaryFacts::default());
        assert_eq!(
            text,
            "The pipeline is done. Ticket app-1a2b.\n\
             Task: A to-do list\\x1b[31m\n\
             Time: 1 min 30 s\n\
             Cost: 0 tokens, $0.0000; with the runs before it 1,000 tokens, $0.5000\n\
             \n\
             Phases:\n  \
               1a         what it does: done in 3 min 5 s\n  \
               1a_review  what it does: done\n  \
               4c         what it does: skipped. It serves no pages.\n  \
               5          what it does: done in 1 s\n\
             \n\
             Tests: passed. 12 tests, all passed.\n\
             Documents: .marvin/spec.md (12,345 bytes)\n\
             Commits (1):\n  \
               - Before the pipeline\n\
             Warnings (1):\n  \
               - The reviewer printed nothing.\n\
             \n\
             Next: Look at the commits, and try the program.\n"
        );
    }

    #[test]
    fn a_run_that_waits_says_first_that_its_tests_do_not_pass_once_they_were_to_be_mended() {
        let first = |phase, passed| {
            let pause = Pause {
                phase,
                words: format!("Phase {phase} is done."),
                read: Vec::new(),
                waits: true,
            };
            let mut progress = progress(false);
            progress.product.tests = Some((passed, "2 of 3 tests failed.".to_owned()));
            let facts = SummaryFacts {
                pause: Some(&pause),
                ..SummaryFacts::default()
            };
            let text = text(&progress, &[], &[], &facts);
            text.lines().next().unwrap_or_default().to_owned()
        };
        for (phase, passed, begins) in [
            ("4a", false, "The tests do not pass. Phase 4a is done. "),
            ("4a", true, "Phase 4a is done. "),
            ("4c", false, "The tests do not pass. Phase 4c is done. "),
            // They come before the product.
            ("2b", false, "Phase 2b is done. "),
            ("3", false, "Phase 3 is done. "),
        ] {
            let line = first(phase, passed);
            assert!(line.starts_with(begins), "{line}");
        }
    }

    #[test]
    fn a_run_that_stopped_says_why_and_how_to_continue() {
        let problem = Problem::limit("The run has reached its ceiling of $2.00.").next("Raise it.");
        let facts = SummaryFacts {
            problem: Some(&problem),
            ..SummaryFacts::default()
        };
        let commits = ["1a2b3c4 Add the list".to_owned()];
        let text = text(&progress(false), &[], &commits, &facts);
        for line in [
            "The pipeline stopped in phase 5; 3 of 4 phases are done. Ticket app-1a2b.\n",
            "Reason: The run has reached its ceiling of $2.00.\n",
            "  5          what it does: stopped after 9 s\n",
            "Commits (1):\n  - 1a2b3c4 Add the list\n",
            "Warnings (1):\n  - The reviewer printed nothing.\n\nNext: Raise it.\n",
        ] {
            assert!(text.contains(line), "{line:?} is not in {text}");
        }
        let many: Vec<String> = (0..30).map(|n| format!("entry {n}")).collect();
        let listed = list("Commits", &many, 30);
        assert!(
            listed.starts_with("Commits (30, the last 20):\n  - entry 10\n"),
            "{listed}"
        );
    }
}
