//! Runs that stop, wait, go back and take a document as the user left it.

use std::collections::VecDeque;
use std::fs;
use std::sync::{Arc, Mutex};

use super::Stage;
use super::resume::{WORKERS, since};
use crate::base::cancel::Cancel;
use crate::base::problem::Outcome;
use crate::base::testing::assert_has;
use crate::chat::pipeline_event::PipelineEvent;
use crate::pipeline::approval::{self, ApprovalPrompt, PendingApproval, UserDecision};
use crate::pipeline::phase::PHASES;
use crate::pipeline::phase_record;
use crate::pipeline::places::DocumentKind;
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::state;
use crate::pipeline::steering::{self, GateDecision, RunOutcome, Steering};

fn start(stage: &Stage, steering: Steering) -> Outcome<RunOutcome> {
    run::run(
        &stage.run.ctx,
        RunRequest {
            allow_dirty: true,
            steering,
            ..stage.request()
        },
    )
}

fn until(phase: &'static str) -> Steering {
    Steering {
        until: Some(phase),
        ..Steering::default()
    }
}

fn from(phase: &'static str) -> Steering {
    Steering {
        from: Some(phase),
        ..Steering::default()
    }
}

fn approve(phase: &'static str) -> Steering {
    Steering {
        approve: vec![phase],
        ..Steering::default()
    }
}

/// The phase after which a run stopped.
fn paused(outcome: &RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Paused(pause) => pause.phase,
        RunOutcome::Done => panic!("the run is done"),
    }
}

fn recorded(stage: &Stage) -> Option<String> {
    state::recorded(&stage.run.places).unwrap()
}

fn steered(stage: &Stage) -> String {
    let events = stage.events.0.lock().unwrap();
    let words = events.iter().filter_map(|event| match event {
        PipelineEvent::Steered { words } => Some(words.as_str()),
        _ => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_run_stops_after_a_phase_goes_on_without_repeating_any_and_goes_back_to_one() {
    let stage = Stage::new(WORKERS);
    // Without a run there is nothing to go back to.
    let problem = start(&stage, from("1a")).unwrap_err();
    assert_has(&problem.to_string(), &["Nothing is done yet"]);
    assert_eq!(
        paused(&start(&stage, until("1a_review")).unwrap()),
        "1a_review"
    );
    assert_eq!(recorded(&stage).as_deref(), Some("1a_review"));
    let first = stage.labels().len();
    // The same command again does nothing more.
    assert_eq!(
        paused(&start(&stage, until("1a_review")).unwrap()),
        "1a_review"
    );
    assert_eq!(stage.labels().len(), first);
    for phase in ["2a", "3"] {
        let problem = start(&stage, from(phase)).unwrap_err();
        assert_has(&problem.to_string(), &[phase, "is 1a_review", "--from"]);
    }
    assert_eq!(
        start(&stage, Steering::default()).unwrap(),
        RunOutcome::Done
    );
    let again = [
        "design-fixer",
        "design-writer",
        "implementer",
        "review-code-area-1",
        "review-code-conformance",
        "review-design-conflicts",
        "review-design-gaps",
        "review-design-main",
        "review-design-quality",
    ];
    assert_eq!(since(&stage, first), again);
    // The last phase is the end of a run.
    assert_eq!(start(&stage, until("3")).unwrap(), RunOutcome::Done);
    let spec = stage.read(".marvin/spec.md");
    let first = stage.labels().len();
    assert_eq!(start(&stage, from("1b")).unwrap(), RunOutcome::Done);
    assert_eq!(since(&stage, first), again);
    assert_eq!(stage.read(".marvin/spec.md"), spec);
    assert_has(
        &steered(&stage),
        &[
            "from phase 1b on",
            "1b, 1b_review, ",
            "3",
            "design.md is in .marvin/logs/design-",
        ],
    );
}

#[test]
fn a_run_waits_for_approval_and_the_same_command_gives_it() {
    let stage = Stage::new(WORKERS);
    let start = || {
        let steering = Steering {
            until: Some("1b"),
            ..approve("1a")
        };
        start(&stage, steering).unwrap()
    };
    assert_eq!(paused(&start()), "1a");
    assert_eq!(stage.labels(), ["spec-writer", "ux-writer"]);
    assert_eq!(approval::read(&stage.run.places).unwrap().waiting, "1a");
    assert_eq!(paused(&start()), "1b");
    let all = approval::read(&stage.run.places).unwrap();
    assert_has(&all.of("1a").unwrap().how, &["running the command again"]);
    assert_eq!(all.waiting, "");
}

#[test]
fn an_approval_from_elsewhere_counts_and_one_of_other_work_does_not() {
    let stage = Stage::new(WORKERS);
    start(&stage, approve("1a_review")).unwrap();
    let places = &stage.run.places;
    approval::approve(places, "1a_review", "yesterday".to_owned(), "elsewhere").unwrap();
    // The document changes after its approval: it is reviewed, and asked about, again.
    let edited = stage.read(".marvin/spec.md") + "One more line.\n";
    fs::write(stage.path(".marvin/spec.md"), edited).unwrap();
    assert_eq!(
        paused(&start(&stage, approve("1a_review")).unwrap()),
        "1a_review"
    );
    approval::approve(places, "1a_review", "today".to_owned(), "elsewhere").unwrap();
    let first = stage.labels().len();
    let steering = Steering {
        until: Some("1b"),
        ..approve("1a_review")
    };
    assert_eq!(paused(&start(&stage, steering).unwrap()), "1b");
    assert_eq!(since(&stage, first), ["design-writer"]);
}

#[test]
fn an_edited_document_is_taken_as_it_is_and_reviewed_alone_with_the_difference() {
    let stage = Stage::new(WORKERS);
    start(&stage, until("1a_review")).unwrap();
    let (first, ux) = (stage.labels().len(), stage.read(".marvin/ux.md"));
    let edited = format!(
        "The clock has two hands of zorkmid.\n{}",
        stage.read(".marvin/spec.md")
    );
    fs::write(stage.path(".marvin/spec.md"), &edited).unwrap();
    start(&stage, until("1a_review")).unwrap();
    assert_eq!(
        since(&stage, first),
        [
            "review-spec-conflicts",
            "review-spec-gaps",
            "review-spec-main",
            "review-spec-quality",
            "spec-fixer",
        ]
    );
    assert!(stage.read(".marvin/spec.md").starts_with(&edited));
    assert_eq!(stage.read(".marvin/ux.md"), ux);
    let prompts = stage.calls().into_iter().skip(first);
    for call in prompts {
        assert_has(
            &call.prompt,
            &["+The clock has two hands of zorkmid.", "never undo"],
        );
    }
    assert_has(&steered(&stage), &["spec.md was edited"]);
    // And that is all.
    let first = stage.labels().len();
    start(&stage, until("1a_review")).unwrap();
    assert_eq!(since(&stage, first), [] as [&str; 0]);
    // The user edits again, its fixer is at work in the second round, and the run is killed.
    let path = stage.run.places.document(DocumentKind::Spec);
    let edit = |line: &str| stage.put(&path, &format!("{}{line}\n", stage.read(&path)));
    edit("Of the user.");
    assert!(phase_record::mark_edited(&stage.run, &path).unwrap());
    phase_record::save_round(&stage.run, "1a_review", "spec.md", 1).unwrap();
    edit("Of the fixer.");
    assert!(
        !phase_record::mark_edited(&stage.run, &path).unwrap(),
        "what the fixer did is no edit of the user's"
    );
    let done = phase_record::rounds(&stage.run, "1a_review", "spec.md");
    assert_eq!(done, 1, "the review goes on where it was");
}

#[test]
fn a_folder_in_the_place_of_a_document_is_named() {
    let stage = Stage::new(WORKERS);
    start(&stage, until("1a")).unwrap();
    fs::remove_file(stage.path(".marvin/spec.md")).unwrap();
    fs::create_dir(stage.path(".marvin/spec.md")).unwrap();
    let first = stage.labels().len();
    let problem = start(&stage, Steering::default()).unwrap_err();
    assert_has(
        &problem.to_string(),
        &[".marvin/spec.md is a folder", "Move it away"],
    );
    let problem = start(&stage, from("1a")).unwrap_err();
    assert_has(&problem.to_string(), &[".marvin/spec.md is a folder"]);
    assert_eq!(stage.labels().len(), first);
}

#[test]
fn a_document_that_goes_or_changes_while_others_work_is_noticed_before_the_next_phase() {
    let writer = "design-writer-*) rm .marvin/ux.md; echo 'Of the user.' >> .marvin/spec.md;";
    let stage = Stage::new(&WORKERS.replacen("design-writer-*)", writer, 1));
    let outcome = start(&stage, until("1b_review")).unwrap();
    assert_eq!(paused(&outcome), "1b_review");
    assert_eq!(stage.prompts("ux-writer").len(), 2);
    assert_eq!(stage.prompts("review-spec-main").len(), 4);
    assert_eq!(stage.prompts("review-ux-main").len(), 4);
    assert_has(&steered(&stage), &[".marvin/spec.md was edited"]);
    let labels = stage.labels();
    let at = |label: &str| labels.iter().rposition(|own| own == label).unwrap();
    let design = labels.iter().position(|own| own == "review-design-main");
    assert!(at("review-ux-main") < design.unwrap(), "{labels:?}");
    assert!(at("review-spec-main") < design.unwrap(), "{labels:?}");
    // One that becomes a folder, whatever is in it, stops the run.
    let stage = Stage::new(&WORKERS.replacen(
        "design-writer-*)",
        "design-writer-*) rm .marvin/spec.md; mkdir -p .marvin/spec.md/x;",
        1,
    ));
    let problem = start(&stage, until("1b_review")).unwrap_err();
    assert_has(&problem.to_string(), &[".marvin/spec.md is a folder"]);
}

/// Answers what is written down for it.
#[derive(Debug)]
struct Answers(Mutex<VecDeque<UserDecision>>);

impl ApprovalPrompt for Answers {
    fn ask(
        &self,
        pending: &PendingApproval<'_>,
        _: &dyn Fn() -> bool,
        _: &Cancel,
    ) -> Outcome<UserDecision> {
        let next = self.0.lock().unwrap().pop_front().unwrap();
        if next == UserDecision::Edited {
            let path = pending.root.path().join(&pending.documents[0]);
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, format!("Edited here.\n{text}")).unwrap();
        }
        Ok(next)
    }
}

fn asking(phase: &'static str, answers: Vec<UserDecision>) -> Steering {
    Steering {
        prompt: Some(Arc::new(Answers(Mutex::new(answers.into())))),
        ..approve(phase)
    }
}

#[test]
fn on_a_terminal_words_go_to_the_fixer_and_edits_are_reviewed_before_it_is_asked_again() {
    let stage = Stage::new(WORKERS);
    let wrong = |document| UserDecision::Wrong {
        document,
        words: "The hands turn the wrong way.".to_owned(),
    };
    let answers = vec![
        wrong(Some(".marvin/spec.md".to_owned())),
        UserDecision::Edited,
        UserDecision::Stop,
    ];
    let outcome = start(&stage, asking("1a_review", answers)).unwrap();
    assert_eq!(paused(&outcome), "1a_review");
    let told = stage.prompts("spec-fixer");
    let with_words = told
        .iter()
        .filter(|prompt| prompt.contains("The hands turn the wrong way."));
    // In the difference that reviewers' fixers get there are only lines of the document.
    assert_eq!(with_words.count(), 1);
    // Three reviews: the first, one after the correction, one after the edit.
    assert_eq!(stage.prompts("review-spec-main").len(), 6);
    assert_has(&stage.read(".marvin/spec.md"), &["Edited here."]);
    let answers = vec![UserDecision::GoOn];
    let steering = Steering {
        until: Some("1b"),
        ..asking("1a_review", answers)
    };
    assert_eq!(paused(&start(&stage, steering).unwrap()), "1b");
}

#[test]
fn a_fixer_may_tell_the_user_that_nothing_is_wrong() {
    let stage = Stage::new("echo 'Line 3 does that.'; echo NOTHING_TO_CHANGE");
    let words = "The hands turn the wrong way.".to_owned();
    let wrong = UserDecision::Wrong {
        document: None,
        words,
    };
    let phase = PHASES.iter().find(|phase| phase.name == "3").unwrap();
    let decision = steering::gate(&stage.run, &asking("3", vec![wrong]), phase);
    assert!(matches!(decision, Ok(GateDecision::Again)));
    assert_eq!(stage.labels(), ["user-fixer"]);
    assert_has(
        &steered(&stage),
        &[
            "The code is as it was before your words",
            "Line 3 does that.",
        ],
    );
    assert_eq!(stage.checkpoints(), [] as [&str; 0]);
}
