//! A whole run: which model does which work, in which order, and that the task is kept whole.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use super::Stage;
use crate::base::testing::assert_has;
use crate::pipeline::phase::PHASES;
use crate::pipeline::plan::{self, PlannedChild, RoundLimits};
use crate::pipeline::run::{self, RunRequest};
use crate::pipeline::tier::{OwnModel, TierModels, TierOverrides};

/// Everybody does their work; whatever is reviewed has findings once.
const WORKERS: &str = r#"
case "$NAME" in
  spec-writer-*) document .marvin/spec.md;;
  ux-writer-*) document .marvin/ux.md;;
  design-writer-*) document .marvin/design.md;;
  functional-test-writer-*) mkdir -p tests; echo 'exit 1' > tests/test_all.sh;;
  integration-test-writer-*) echo '# more' >> tests/test_all.sh;;
  implementer-*) echo '<html>' > index.html;;
  debugger-*) echo 'echo 1 passed' > tests/test_all.sh;;
  smoke-tester-*) called run_command success; echo E2E_SMOKE_PASS;;
  front-end-checker-*) called run_command success; echo FRONTEND_VALID;;
  quality-tester-*) if nth quality-tester 2; then report REVIEW_CLEAN; else report X REVIEW_FAILED; fi;;
  quality-fixer-*) echo fixed >> index.html;;
  review-*-conformance-*) report SPEC_CONFORMANT;;
  review-code-*|review-tests-*) if told "round 2 of 3"; then report REVIEW_CLEAN; else report X REVIEW_FAILED; fi;;
  review-*) if told "round 2 of 4"; then report SPEC_VERIFIED; else report X REVIEW_FAILED; fi;;
  tests-fixer-*) echo '# fixed' >> tests/test_all.sh;;
  code-fixer-*) echo fixed >> index.html;;
  *-fixer-*) echo "Corrected." >> "$MARVIN_WRITABLE_FILES";;
esac
true"#;

const TASK: &str = "A clock.\n\nIt ticks, and the second line of the task says how often.";

fn whole_run() -> Stage {
    let mut stage = Stage::new(WORKERS);
    stage.put(".marvin-instructions", "Test command: sh tests/test_all.sh");
    let mut overrides = TierOverrides::default();
    for tier in [
        "codex",
        "opus",
        "plan",
        "plan_gen",
        "test_writer",
        "aux_reviewer",
        "fallback",
    ] {
        overrides.add(tier, &format!("openai:{tier}")).unwrap();
    }
    let own = OwnModel {
        provider: "openai",
        model: "own",
    };
    let session = Arc::clone(&stage.run.ctx.session);
    stage.run.tiers = TierModels::resolve(&overrides, &session.env, &own, &session.clock);
    let request = RunRequest {
        task: TASK.to_owned(),
        tdd: true,
        allow_dirty: true,
        ..stage.request()
    };
    run::run(&stage.run.ctx, request).unwrap();
    stage
}

#[test]
fn each_kind_of_work_has_the_model_of_its_tier_and_its_place_as_planned() {
    let stage = whole_run();
    check_order_and_models(&stage);
    check_plan(&stage);
}

fn check_order_and_models(stage: &Stage) {
    let mut models = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    for call in stage.calls() {
        let model = call.bounds.rsplit_once("model=").unwrap().1.to_owned();
        let earlier = models.insert(call.label.clone(), model.clone());
        assert!(
            earlier.is_none_or(|earlier| earlier == model),
            "{}",
            call.label
        );
        if !call.label.starts_with("review-") && order.last() != Some(&call.label) {
            order.push(call.label);
        }
    }
    let expected = [
        ("code-fixer", "fallback"),
        ("debugger", "plan"),
        ("design-fixer", "fallback"),
        ("design-writer", "plan_gen"),
        ("front-end-checker", "plan"),
        ("functional-test-writer", "test_writer"),
        ("implementer", "codex"),
        ("integration-test-writer", "test_writer"),
        ("quality-fixer", "plan"),
        ("quality-tester", "opus"),
        ("review-code-area-1", "opus"),
        ("review-code-conformance", "opus"),
        ("review-design-conflicts", "aux_reviewer"),
        ("review-design-gaps", "aux_reviewer"),
        ("review-design-main", "opus"),
        ("review-design-quality", "aux_reviewer"),
    ];
    for (label, tier) in expected {
        assert_eq!(models.get(label).map(String::as_str), Some(tier), "{label}");
    }
    assert_eq!(
        order.join(" "),
        "spec-writer ux-writer spec-fixer ux-fixer design-writer design-fixer functional-test-writer tests-fixer \
         integration-test-writer tests-fixer implementer code-fixer debugger code-fixer smoke-tester front-end-checker \
         quality-tester quality-fixer quality-tester"
    );
    // The title of the ticket is a line; the task is kept whole.
    let tickets = fs::read_dir(stage.path(".tickets")).unwrap();
    let text: String = tickets
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default())
        .collect();
    assert_has(&text, &["type: epic", "priority: 0"]);
    assert_has(&text, &[TASK, "\n# A clock.\n"]);
}

/// The plan names every child of the run with its tier, and often enough.
fn check_plan(stage: &Stage) {
    let limits = RoundLimits {
        debugging: 50,
        smoke_test: 10,
        front_end: 10,
        quality: 3,
    };
    let planned: Vec<PlannedChild> = PHASES
        .iter()
        .flat_map(|phase| plan::children(phase.work, 3, limits))
        .collect();
    let mut calls = BTreeMap::<String, u64>::new();
    for call in stage.calls() {
        let model = call.bounds.rsplit_once("model=").unwrap().1;
        let known = planned.iter().find(|child| child.label == call.label);
        let tier = known.map(|child| stage.run.tiers.of(child.tier).model.as_str());
        assert_eq!(tier, Some(model), "{}", call.label);
        *calls.entry(call.label).or_default() += 1;
    }
    let mut bounds = BTreeMap::<&str, (u64, u64)>::new();
    for child in &planned {
        let sum = bounds.entry(child.label).or_default();
        *sum = (sum.0 + child.starts.0, sum.1 + child.starts.1);
    }
    for (label, (least, most)) in bounds {
        let count = calls.get(label).copied().unwrap_or_default();
        assert!((least..=most).contains(&count), "{label}: {count}");
    }
}
