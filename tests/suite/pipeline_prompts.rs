//! A whole run, and what its children are sent, as the provider gets it: every document once, and nothing that is not for this child.

use std::sync::{Arc, Mutex};

use serde_json::json;

use super::pipeline_run::{builds, is_installed, pipeline};
use crate::support::engineer::{self, PYTHON, Role};
use crate::support::home::Home;
use crate::support::server::Answer;
use crate::support::wire::openai;

/// Sentences that stand once in the files of the project.
const IN_SPEC: &str = "The hands of the clock are of brass.";
const IN_UX: &str = "A person turns the key on Sundays.";
const IN_DESIGN: &str = "The wheels know nothing of the dial.";
const IN_INSTRUCTIONS: &str = "In this house lines are short.";

/// The first request of a child: who it is, its work, and the whole text that the provider got.
struct First {
    role: Role,
    work: String,
    text: String,
}

impl First {
    /// Whether it is the reviewer who sees one document alone.
    fn is_alone(&self) -> bool {
        self.work.contains("Judge the document by itself.")
    }

    /// Whether it reviews or edits the document at `path`, or writes it.
    fn is_about(&self, path: &str) -> bool {
        self.work.contains(&format!("`{path}`"))
    }
}

/// The first requests of the children of a whole run.
fn requests() -> Vec<First> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let model = engineer::server_with(&PYTHON, move |request, role, step| {
        if step == 0 {
            let body = request.json();
            let mut text = String::new();
            for message in body["messages"].as_array().unwrap() {
                text.push_str(message["content"].as_str().unwrap_or_default());
                text.push('\n');
            }
            let work = text.rsplit("# Your work").next().unwrap().to_owned();
            keep.lock().unwrap().push(First { role, work, text });
        }
        let (path, sentence) = match role {
            Role::SpecWriter => (".marvin/spec.md", IN_SPEC),
            Role::UxWriter => (".marvin/ux.md", IN_UX),
            Role::DesignWriter => (".marvin/design.md", IN_DESIGN),
            _ => return None,
        };
        let rest = "And much more that nobody has to know by heart.\n".repeat(40);
        let content = format!("# Document\n\n{sentence}\n\n{rest}");
        Some(Answer::sse(match step {
            0 => openai::call("", "create_file", json!({"path": path, "content": content})),
            _ => openai::text(&["The document is written."]),
        }))
    });
    let home = Home::new();
    home.write("work/AGENTS.md", format!("{IN_INSTRUCTIONS}\n"));
    let run = pipeline(&home, &model.0, &home.work());
    builds(&home, run, &model.1, &PYTHON, &["AGENTS.md"]);
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn an_idea_becomes_a_python_program_and_no_child_is_told_anything_twice_or_that_is_not_for_it() {
    if !is_installed("python3") {
        return;
    }
    for first in requests() {
        let role = first.role;
        let count = |text: &str| first.text.matches(text).count();
        // What is there when the child begins.
        let (ux, design) = match role {
            Role::SpecWriter => (0, 0),
            Role::UxWriter => (0, 0),
            Role::DesignWriter => (1, 0),
            Role::FirstReviewer | Role::LaterReviewer | Role::DocumentFixer => {
                (1, usize::from(first.is_about(".marvin/design.md")))
            }
            _ => (1, 1),
        };
        let spec = usize::from(role != Role::SpecWriter);
        let expected = match first.is_alone() {
            false => (spec, ux, design, 1, 1),
            true => (
                usize::from(first.is_about(".marvin/spec.md")),
                usize::from(first.is_about(".marvin/ux.md")),
                usize::from(first.is_about(".marvin/design.md")),
                0,
                0,
            ),
        };
        let found = (
            count(IN_SPEC),
            count(IN_UX),
            count(IN_DESIGN),
            count(IN_INSTRUCTIONS),
            count("A program that counts the words of a file."),
        );
        assert_eq!(found, expected, "{role:?}: {}", first.text);
        if first.is_alone() {
            assert_eq!(count("AGENTS.md") + count("wordcount"), 0, "{}", first.text);
        }
        // Nobody keeps a child company.
        for word in ["little cheer", "Recipes", "profile", "preference"] {
            assert_eq!(count(word), 0, "{role:?}: {word}: {}", first.text);
        }
        let runs = matches!(
            role,
            Role::FunctionalTests
                | Role::IntegrationTests
                | Role::CodeFixer
                | Role::Implementer
                | Role::Debugger
                | Role::SmokeTester
                | Role::PageChecker
                | Role::QualityFixer
        );
        let told = [
            "Run the project's own tests",
            "Commit with a message",
            "Make small changes",
        ]
        .map(count);
        let expected = match (role, runs) {
            (_, true) => [1, 1, 1],
            (Role::SpecWriter | Role::UxWriter | Role::DesignWriter | Role::DocumentFixer, _) => {
                [0, 0, 1]
            }
            _ => [0, 0, 0],
        };
        assert_eq!(told, expected, "{role:?}: {}", first.text);
    }
}
