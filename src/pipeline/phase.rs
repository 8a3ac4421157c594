//! The phases of a run, in order.

use super::places::DocumentKind;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};

/// Which runs have a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Runs that design first.
    Design,
    /// Runs that write the tests first.
    Tests,
    /// Every run.
    Always,
}

/// How a phase ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PhaseEnd {
    /// It did what it is for.
    Done,
    /// It had nothing to do; the reason as a sentence.
    Skipped(String),
}

/// The work of a phase; the run knows the function for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PhaseWork {
    Specify,
    ReviewSpecification,
    Design,
    ReviewDesign,
    FunctionalTests,
    IntegrationTests,
    Implement,
    Debug,
    SmokeTest,
    FrontEnd,
    Quality,
}

/// A phase.
pub(crate) struct Phase {
    /// Its name in the state file.
    pub name: &'static str,
    /// What it does, a few words.
    pub about: &'static str,
    /// Which runs have it.
    pub part: Part,
    /// Words that the state file may hold before the phase is done: its rounds, in order.
    pub steps: &'static [&'static str],
    /// The documents it leaves behind; without them it is not done, whatever the state file says.
    pub documents: &'static [DocumentKind],
    /// What it does.
    pub work: PhaseWork,
}

const NONE: &[&str] = &[];

/// All phases, in order.
pub(crate) static PHASES: &[Phase] = &[
    Phase {
        name: "1a",
        about: "specification and user experience",
        part: Part::Design,
        steps: NONE,
        documents: &[DocumentKind::Spec, DocumentKind::Ux],
        work: PhaseWork::Specify,
    },
    Phase {
        name: "1a_review",
        about: "review of both",
        part: Part::Design,
        steps: &[
            "1a_review_i",
            "1a_review_ii",
            "1a_review_iii",
            "1a_review_iv",
            "1a_review_ux_i",
            "1a_review_ux_ii",
            "1a_review_ux_iii",
            "1a_review_ux_iv",
        ],
        documents: &[DocumentKind::Spec, DocumentKind::Ux],
        work: PhaseWork::ReviewSpecification,
    },
    Phase {
        name: "1b",
        about: "architecture and test plan",
        part: Part::Design,
        steps: NONE,
        documents: &[DocumentKind::Design],
        work: PhaseWork::Design,
    },
    Phase {
        name: "1b_review",
        about: "review of the architecture",
        part: Part::Design,
        steps: &[
            "1b_review_i",
            "1b_review_ii",
            "1b_review_iii",
            "1b_review_iv",
        ],
        documents: &[DocumentKind::Design],
        work: PhaseWork::ReviewDesign,
    },
    Phase {
        name: "2a",
        about: "functional tests, which must fail",
        part: Part::Tests,
        steps: NONE,
        documents: &[],
        work: PhaseWork::FunctionalTests,
    },
    Phase {
        name: "2b",
        about: "integration tests, which must fail",
        part: Part::Tests,
        steps: NONE,
        documents: &[],
        work: PhaseWork::IntegrationTests,
    },
    Phase {
        name: "3",
        about: "implementation",
        part: Part::Always,
        steps: NONE,
        documents: &[],
        work: PhaseWork::Implement,
    },
    Phase {
        name: "4a",
        about: "tests run and mended until green",
        part: Part::Tests,
        steps: NONE,
        documents: &[],
        work: PhaseWork::Debug,
    },
    Phase {
        name: "4b",
        about: "the program started and tried",
        part: Part::Tests,
        steps: NONE,
        documents: &[],
        work: PhaseWork::SmokeTest,
    },
    Phase {
        name: "4c",
        about: "served pages checked",
        part: Part::Tests,
        steps: NONE,
        documents: &[],
        work: PhaseWork::FrontEnd,
    },
    Phase {
        name: "5",
        about: "attempts to break it, and fixes",
        part: Part::Tests,
        steps: NONE,
        documents: &[],
        work: PhaseWork::Quality,
    },
];

/// The phase with this name.
///
/// # Errors
/// There is none.
pub(crate) fn named(word: &str) -> Outcome<&'static Phase> {
    let word = word.trim();
    if let Some(phase) = PHASES.iter().find(|phase| phase.name == word) {
        return Ok(phase);
    }
    let names: Vec<&str> = PHASES.iter().map(|phase| phase.name).collect();
    Err(Problem::input(format!(
        "There is no phase \"{}\".",
        clip(&one_line(word), 40)
    ))
    .next(format!("Phases: {}.", names.join(", "))))
}

/// The phase after which everything is done.
pub(crate) fn last() -> &'static str {
    PHASES.last().map_or("", |phase| phase.name)
}

/// Where a phase stands in the order.
pub(crate) fn position(name: &str) -> Option<usize> {
    PHASES.iter().position(|phase| phase.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phases_are_in_order_and_designing_and_testing_can_be_left_out() {
        let named = |part: &[Part]| -> Vec<&str> {
            let phases = PHASES.iter().filter(|phase| part.contains(&phase.part));
            phases.map(|phase| phase.name).collect()
        };
        let all = [Part::Design, Part::Tests, Part::Always];
        assert_eq!(
            named(&all).join(" "),
            "1a 1a_review 1b 1b_review 2a 2b 3 4a 4b 4c 5"
        );
        assert_eq!(named(&all[..1]).join(" "), "1a 1a_review 1b 1b_review");
        assert_eq!(named(&all[1..2]).join(" "), "2a 2b 4a 4b 4c 5");
        assert_eq!(named(&all[2..]).join(" "), "3");
        // Each reviewed document has four rounds of its own.
        for phase in PHASES {
            let rounds = match phase.name.ends_with("_review") {
                true => 4 * phase.documents.len(),
                false => 0,
            };
            assert_eq!(phase.steps.len(), rounds, "{}", phase.name);
        }
    }
}
