//! Prompts for children: Markdown files under `src/prompts/pipeline`, built in, with `{{slot}}`s filled by name.

use super::Run;
use crate::base::template::fill;

macro_rules! prompts {
    ($( $(#[$doc:meta])* $name:ident = $file:literal; )*) => {
        $( $(#[$doc])* pub(crate) const $name: &str = include_str!(concat!("../prompts/pipeline/", $file)); )*

        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$( ($file, $name) ),*];
    };
}

prompts! {
    /// What an attempt at a document finds of the one before.
    SET_ASIDE = "set_aside.md";
    /// Around every other prompt: the project, and what the child may do.
    CONTEXT = "context.md";
    /// The rule about tests.
    NO_MOCKS = "no_mocks.md";
    /// What a reader may do.
    ACCESS_READ = "access_read.md";
    /// What a writer of named files may do.
    ACCESS_FILES = "access_files.md";
    /// What a writer may do.
    ACCESS_WRITE = "access_write.md";
    /// What a writer has to do about tickets and commits.
    TICKETS = "tickets.md";
    /// The specification.
    SPEC = "spec.md";
    /// The user experience.
    UX = "ux.md";
    /// Architecture and test plan.
    DESIGN = "design.md";
    /// How a document is put down.
    WRITING = "writing.md";
    /// The first, adversarial review of a document: it must not name a passing word.
    REVIEW_FIRST = "review_first.md";
    /// Later reviews of a document.
    REVIEW_AGAIN = "review_again.md";
    /// What the user edited in a document since its review.
    EDITED = "edited.md";
    /// What a specification is judged against.
    SOURCE_TASK = "source_task.md";
    /// What an architecture is judged against.
    SOURCE_SPEC = "source_spec.md";
    /// A document is judged by itself.
    SOURCE_NONE = "source_none.md";
    /// The main reviewer.
    ANGLE_MAIN = "angle_main.md";
    /// The reviewer for gaps.
    ANGLE_GAPS = "angle_gaps.md";
    /// The reviewer for contradictions.
    ANGLE_CONFLICTS = "angle_conflicts.md";
    /// The reviewer who sees the document alone.
    ANGLE_QUALITY = "angle_quality.md";
    /// The editor of a document.
    FIX_DOCUMENT = "fix_document.md";
    /// Functional tests.
    TESTS_FUNCTIONAL = "tests_functional.md";
    /// Integration tests.
    TESTS_INTEGRATION = "tests_integration.md";
    /// What came of the first try at tests.
    TESTS_TOLD = "tests_told.md";
    /// What reviewers and fixers of tests know about tests that come first.
    RED_TESTS = "red_tests.md";
    /// What a finding in tests is.
    REVIEW_TESTS = "review_tests.md";
    /// What a finding in code is.
    REVIEW_SOURCES = "review_sources.md";
    /// The review of an area of the code.
    REVIEW_CODE = "review_code.md";
    /// How findings are marked.
    SEVERITY = "severity.md";
    /// What reviewers of code are shown of the changes since the run began.
    CHANGES = "changes.md";
    /// The area of the reviewer for conformance.
    AREA_CONFORMANCE = "area_conformance.md";
    /// A look at what the code does.
    FOCUS_LOGIC = "focus_logic.md";
    /// A look at what goes wrong.
    FOCUS_ERRORS = "focus_errors.md";
    /// A look at tests and interfaces.
    FOCUS_TESTS = "focus_tests.md";
    /// The fixer of code.
    FIX_CODE = "fix_code.md";
    /// The child that resolves the conflicts of a merge.
    RESOLVE = "resolve.md";
    /// The implementation.
    IMPLEMENT = "implement.md";
    /// Failing tests.
    DEBUG = "debug.md";
    /// Trying the program.
    SMOKE = "smoke.md";
    /// Checking served pages.
    FRONT_END = "front_end.md";
    /// Attempts to break the program.
    QUALITY = "quality.md";
    /// Fixes of what they found.
    QUALITY_FIX = "quality_fix.md";
}

/// A prompt with the places of the run in their slots.
pub(crate) fn placed(run: &Run, prompt: &str) -> String {
    let [spec, ux, design] = run.places.documents();
    let own = run.places.own_folders();
    let slots = [
        ("spec_path", spec.as_str()),
        ("ux_path", &ux),
        ("design_path", &design),
        ("own_folders", &own),
    ];
    fill(prompt, &slots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::word_list::WordList;
    use crate::pipeline::review::verdict::without_passing_words;

    /// Every slot that a prompt may have.
    const SLOTS: WordList = WordList(
        "access angle area base base_changes changes design_path documents earlier facts \
         files findings guidance history history_path kept instructions min_bytes min_chars \
         most no_mocks ours outcome own_folders passing path round severity source spec_path \
         stat subject theirs ticket told ux_path words writing",
    );

    #[test]
    fn every_slot_of_every_prompt_is_known() {
        for (file, prompt) in ALL {
            assert!(!prompt.trim().is_empty(), "{file}");
            let mut rest = *prompt;
            while let Some((_, after)) = rest.split_once("{{") {
                let (slot, after) = after.split_once("}}").unwrap();
                assert!(SLOTS.has(slot), "{file}: {slot}");
                rest = after;
            }
        }
    }

    #[test]
    fn every_file_of_the_folder_is_declared() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/prompts/pipeline");
        for entry in std::fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            // What is added to the prompt of any child is declared beside it.
            let is_added = include_str!("child/prompts.rs").contains(&format!("/{name}\""));
            assert!(
                is_added || ALL.iter().any(|(file, _)| *file == name),
                "{name}"
            );
        }
    }

    #[test]
    fn fixers_are_told_to_correct_and_stop_and_not_to_judge_themselves() {
        for (prompt, parts) in [
            (
                FIX_DOCUMENT,
                &[
                    "You are the editor of",
                    "in one pass, and stop",
                    "Do not analyse, grade or summarize",
                    "Do not review your own work",
                    "Create no tickets",
                    "Do not ask for confirmation and do not stop halfway",
                ][..],
            ),
            (
                FIX_CODE,
                &[
                    "in one pass, and stop",
                    "do not review your own work",
                    "Never weaken or remove a test",
                    "Do not ask for confirmation and do not stop halfway",
                ],
            ),
        ] {
            for part in parts {
                assert!(prompt.contains(part), "{part}");
            }
            // No word that would pass the work.
            assert_eq!(without_passing_words(prompt), prompt);
        }
    }

    #[test]
    fn the_first_review_does_not_name_a_passing_word() {
        let told = [
            CONTEXT,
            NO_MOCKS,
            ACCESS_READ,
            REVIEW_FIRST,
            SEVERITY,
            SOURCE_TASK,
            SOURCE_SPEC,
            SOURCE_NONE,
            ANGLE_MAIN,
            ANGLE_GAPS,
            ANGLE_CONFLICTS,
            ANGLE_QUALITY,
        ];
        for prompt in told {
            assert_eq!(without_passing_words(prompt), prompt);
        }
    }
}
