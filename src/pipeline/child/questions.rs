//! Questions of a child to its parent: it prints a list instead of working, and is started again with the answers.

use std::time::Duration;

use super::budget::Budget;
use super::prompts;
use super::{Access, ChildReport, ChildTask};
use crate::base::marks::enclosed;
use crate::base::problem::Outcome;
use crate::base::template::fill;
use crate::base::text::clip;
use crate::pipeline::Run;
use crate::pipeline::places::DocumentKind;
use crate::pipeline::shown_documents;
use crate::pipeline::tier::Tier;
use crate::store::project_texts::ProjectTexts;

/// What a report with questions begins with.
const MARKER: &str = "QUESTIONS_FOR_PARENT:";
/// How often the questions of a task are answered.
pub(super) const MAX_ROUNDS: usize = 3;
/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(120);
/// How many characters of the task the prompt holds.
const TASK_CHARS: usize = 30_000;

/// The list of questions, when `report` is one and nothing else.
pub(super) fn asked(report: &str) -> Option<&str> {
    let list = report
        .trim()
        .strip_prefix(MARKER)?
        .trim_start_matches(['\r', '\n']);
    let mut count = 0;
    for line in list.lines().filter(|line| !line.trim().is_empty()) {
        if is_numbered(line) {
            count += 1;
        } else if count == 0 || !line.starts_with([' ', '\t']) {
            return None;
        }
    }
    (count > 0).then(|| list.trim())
}

/// True for `1. Why?` and `2) Why?`.
fn is_numbered(line: &str) -> bool {
    let rest = line
        .trim_start()
        .trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.trim_start().len() && rest.starts_with(['.', ')'])
}

/// What is appended to the prompt of a child that asked `questions`: them and the answers of the person who is there for that, else those of a read-only child,
/// which `ask` runs.
///
/// # Errors
/// The run was stopped, or the ceiling on cost is reached.
pub(super) fn answered(
    run: &Run,
    task: &ChildTask<'_>,
    questions: &str,
    budget: &Budget<'_>,
    ask: impl FnOnce(&ChildTask<'_>) -> Outcome<ChildReport>,
) -> Outcome<String> {
    if let Some(person) = &run.ctx.answerer
        && let Some(answers) = person.answer(questions, &run.ctx.stop)?
    {
        return Ok(filled(questions, &answers));
    }
    let prompt = fill(
        prompts::ANSWER,
        &[
            ("documents", &documents(run)),
            ("questions", &enclosed("questions", "", questions)),
        ],
    );
    let answer = ask(&ChildTask {
        label: format!("{}-answers", task.label),
        tier: Tier::Plan,
        access: Access::Read,
        prompt,
        texts: ProjectTexts::Instructions,
        withhold: task.withhold,
        limit: ANSWER_LIMIT,
        after_failure: None,
        check: &|report| match report.text.trim().is_empty() {
            true => Err("It answered nothing.".to_owned()),
            false => Ok(()),
        },
    });
    let answers = match answer {
        Ok(report) => report.text.trim().to_owned(),
        Err(problem) if problem.is_cancelled() => return Err(problem),
        Err(problem) => {
            budget.left()?;
            run.warn(format!(
                "The questions of {} were not answered: {}",
                task.label, problem.what
            ));
            "There are none. Make the simplest choice that fits the documents.".to_owned()
        }
    };
    Ok(filled(questions, &answers))
}

fn filled(questions: &str, answers: &str) -> String {
    fill(
        prompts::ANSWERED,
        &[
            ("questions", &enclosed("questions", "", questions)),
            ("answers", answers),
        ],
    )
}

/// The task of the run and its documents, marked as data.
fn documents(run: &Run) -> String {
    let task = enclosed("task", "", &clip(&run.task, TASK_CHARS));
    let documents = shown_documents::part(run, &DocumentKind::ALL);
    format!("{task}\n\n{documents}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_numbered_list_after_the_marker_is_a_list_of_questions() {
        for (report, questions) in [
            (
                "\nQUESTIONS_FOR_PARENT:\n1. Which port?\n   The default?\n2) Why?\n\n",
                Some("1. Which port?\n   The default?\n2) Why?"),
            ),
            ("QUESTIONS_FOR_PARENT:\n", None),
            ("QUESTIONS_FOR_PARENT:\nWhich port?", None),
            ("I did it.\nQUESTIONS_FOR_PARENT:\n1. Which port?", None),
            ("QUESTIONS_FOR_PARENT:\n1. Which?\nI wrote it anyway.", None),
            ("QUESTIONS_FOR_PARENT:\n. Which?", None),
            ("", None),
        ] {
            assert_eq!(asked(report), questions, "{report}");
        }
    }
}
