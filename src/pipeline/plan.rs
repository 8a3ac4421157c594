//! What a run would start: the children of each phase with their tiers, and how much each reads and writes, at least and at most. Nothing here starts or
//! writes anything. `tests/plan.rs` compares the table with the children of real runs.

use super::phase::PhaseWork;
use super::tier::Tier;

/// At least and at most.
pub(crate) type Range = (u64, u64);

/// Children that a phase starts for one purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedChild {
    /// The label that they get.
    pub label: &'static str,
    pub tier: Tier,
    /// How many there are.
    pub starts: Range,
    /// They work while those of the row above do.
    pub beside: bool,
    /// Model calls of one.
    pub calls: Range,
    /// Tokens that one writes in all its calls.
    pub written: Range,
    /// It reads the code, not only documents.
    pub reads_code: bool,
}

/// What limits the rounds of loops, as the variables say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RoundLimits {
    pub debugging: u64,
    pub smoke_test: u64,
    pub front_end: u64,
    pub quality: u64,
}

/// Debugging rarely needs more rounds than these, whatever is allowed.
const USUAL_DEBUG_ROUNDS: u64 = 8;
/// Rounds until somebody finds nothing wrong; more are rare.
const USUAL_TRIALS: u64 = 3;
/// Rounds of debugging after a later phase changed the code.
const LATER_DEBUG_ROUNDS: u64 = 2;

const REVIEW_CALLS: Range = (2, 8);
const REVIEW_WRITTEN: Range = (500, 3_000);
const CODE_REVIEW_CALLS: Range = (4, 15);

const fn writer(label: &'static str, tier: Tier, calls: Range, written: Range) -> PlannedChild {
    PlannedChild {
        label,
        tier,
        starts: (1, 2),
        beside: false,
        calls,
        written,
        reads_code: true,
    }
}

impl PlannedChild {
    const fn starts(mut self, starts: Range) -> Self {
        self.starts = starts;
        self
    }

    const fn beside(mut self) -> Self {
        self.beside = true;
        self
    }

    const fn without_code(mut self) -> Self {
        self.reads_code = false;
        self
    }
}

/// A document's reviewers and its fixer. The first round passes nobody, so there are two rounds and a fixer at least.
const fn document_review(labels: [&'static str; 5]) -> [PlannedChild; 5] {
    const fn reviewer(label: &'static str, tier: Tier) -> PlannedChild {
        writer(label, tier, REVIEW_CALLS, REVIEW_WRITTEN)
            .starts((2, 4))
            .without_code()
    }
    let [main, gaps, conflicts, quality, fixer] = labels;
    [
        reviewer(main, Tier::Opus),
        reviewer(gaps, Tier::AuxReviewer).beside(),
        reviewer(conflicts, Tier::AuxReviewer).beside(),
        reviewer(quality, Tier::AuxReviewer).beside(),
        writer(fixer, Tier::Fallback, (2, 8), (1_000, 6_000))
            .starts((1, 4))
            .without_code(),
    ]
}

/// Reviewers of code or tests, of which files decide the number, and their fixer.
fn code_review(name: &str, files: usize) -> Vec<PlannedChild> {
    const CODE: [&str; 5] = [
        "review-code-area-1",
        "review-code-area-2",
        "review-code-area-3",
        "review-code-conformance",
        "code-fixer",
    ];
    const TESTS: [&str; 5] = [
        "review-tests-area-1",
        "review-tests-area-2",
        "review-tests-area-3",
        "review-tests-conformance",
        "tests-fixer",
    ];
    let [one, two, three, conformance, fixer] = if name == "tests" { TESTS } else { CODE };
    let reviewer = |label, tier| {
        writer(label, tier, CODE_REVIEW_CALLS, REVIEW_WRITTEN)
            .starts((1, 3))
            .beside()
    };
    // Few files are for one reviewer; the run may write more of them.
    let further = |label, from: usize| {
        let least = u64::from(files > from);
        reviewer(label, Tier::AuxReviewer).starts((least, 3))
    };
    let first = PlannedChild {
        beside: false,
        ..reviewer(one, Tier::Opus)
    };
    vec![
        first,
        further(two, 8),
        further(three, 16),
        reviewer(conformance, Tier::Opus),
        writer(fixer, Tier::Fallback, (3, 20), (500, 8_000)).starts((0, 3)),
    ]
}

/// The children that a phase would start in a project of so many files.
pub(crate) fn children(work: PhaseWork, files: usize, limits: RoundLimits) -> Vec<PlannedChild> {
    let document = |label| writer(label, Tier::PlanGen, (3, 8), (2_000, 12_000));
    let tests = |label| writer(label, Tier::TestWriter, (5, 25), (3_000, 15_000));
    let debugger =
        |most: u64| writer("debugger", Tier::Plan, (5, 25), (1_000, 8_000)).starts((0, most));
    let trial = |label, least: u64, most: u64| {
        let most = most.min(USUAL_TRIALS);
        writer(label, Tier::Plan, (4, 25), (1_000, 6_000)).starts((least.min(most), most))
    };
    let later = debugger(LATER_DEBUG_ROUNDS.min(limits.debugging));
    match work {
        PhaseWork::Specify => vec![document("spec-writer"), document("ux-writer")],
        PhaseWork::ReviewSpecification => [
            document_review([
                "review-spec-main",
                "review-spec-gaps",
                "review-spec-conflicts",
                "review-spec-quality",
                "spec-fixer",
            ]),
            document_review([
                "review-ux-main",
                "review-ux-gaps",
                "review-ux-conflicts",
                "review-ux-quality",
                "ux-fixer",
            ]),
        ]
        .concat(),
        PhaseWork::Design => vec![document("design-writer")],
        PhaseWork::ReviewDesign => document_review([
            "review-design-main",
            "review-design-gaps",
            "review-design-conflicts",
            "review-design-quality",
            "design-fixer",
        ])
        .to_vec(),
        PhaseWork::FunctionalTests => [
            vec![tests("functional-test-writer")],
            code_review("tests", files),
        ]
        .concat(),
        PhaseWork::IntegrationTests => [
            vec![tests("integration-test-writer")],
            code_review("tests", files),
        ]
        .concat(),
        PhaseWork::Implement => {
            let implementer = writer("implementer", Tier::Codex, (8, 50), (5_000, 40_000));
            [vec![implementer], code_review("code", files)].concat()
        }
        PhaseWork::Debug => {
            let debugger = debugger(USUAL_DEBUG_ROUNDS.min(limits.debugging));
            [vec![debugger], code_review("code", files)].concat()
        }
        PhaseWork::SmokeTest => vec![trial("smoke-tester", 1, limits.smoke_test), later],
        PhaseWork::FrontEnd => vec![trial("front-end-checker", 0, limits.front_end), later],
        PhaseWork::Quality => {
            let most = limits.quality;
            let tester = writer("quality-tester", Tier::Opus, (4, 20), (1_000, 5_000));
            let fixer = writer("quality-fixer", Tier::Plan, (4, 25), (1_000, 8_000));
            vec![
                tester.starts((most.min(1), most)),
                fixer.starts((0, most)),
                later,
            ]
        }
    }
}
