//! The report as a table for a terminal.

use std::fmt::Write as _;

use super::data::{RunReport, Spending, TracedRequirement};
use crate::app::pipeline::summary::{foreign, time};
use crate::base::text::{clip, counted, plural};
use crate::chat::usage::dollars;

/// Findings that are listed; the newest ones.
const MAX_FINDINGS: usize = 40;

/// The report for a reader.
pub(crate) fn text(report: &RunReport) -> String {
    let mut out = format!("Task: {}\n", foreign(&report.run.task));
    let _ = writeln!(out, "Ticket: {}", foreign(&report.run.ticket));
    if let Some(started) = &report.run.started {
        let _ = writeln!(out, "Started: {started}");
    }
    let end = report
        .run
        .end
        .as_deref()
        .unwrap_or("it runs, or was killed");
    let _ = writeln!(out, "End: {}", foreign(end));
    if let Some(tests) = &report.tests {
        let _ = writeln!(out, "Tests: {}", foreign(tests));
    }
    for note in &report.notes {
        let _ = writeln!(out, "Note: {note}");
    }
    if report.notes.is_empty() {
        let _ = writeln!(
            out,
            "Cost: {}, {}, {} of children's time",
            counted(report.spent.tokens, "token"),
            dollars(report.spent.cost, report.spent.cost_estimated),
            time(report.spent.child_time)
        );
    }
    out.push_str("\nRequirements:\n");
    if report.requirements.is_empty() {
        out.push_str(
            "  none found: there is no specification, or it has no ids, lists or headings\n",
        );
    }
    for requirement in &report.requirements {
        requirement_rows(&mut out, report, requirement);
    }
    table(
        &mut out,
        "Phases",
        &report.phases,
        report.spent.cost_estimated,
    );
    if report.notes.is_empty() {
        table(
            &mut out,
            "Models",
            &report.models,
            report.spent.cost_estimated,
        );
    }
    let _ = writeln!(out, "\nFindings ({}):", report.findings.len());
    let left_out = report.findings.len().saturating_sub(MAX_FINDINGS);
    for finding in report.findings.iter().skip(left_out) {
        let words = [
            &finding.subject,
            &finding.reviewer,
            &finding.severity,
            &finding.state,
        ];
        let words: Vec<String> = words
            .into_iter()
            .filter(|word| !word.is_empty())
            .map(|word| foreign(word))
            .collect();
        let _ = writeln!(
            out,
            "  {}, round {}: {}",
            words.join(", "),
            finding.round,
            foreign(&clip(&finding.text, 120))
        );
    }
    let _ = writeln!(
        out,
        "\n{} {}.",
        plural(report.commits.len(), "commit"),
        match report.notes.is_empty() {
            true => "since the run began",
            false => "that name a ticket of the run",
        }
    );
    out
}

fn requirement_rows(out: &mut String, report: &RunReport, traced: &TracedRequirement) {
    let requirement = &traced.requirement;
    let _ = writeln!(
        out,
        "  {}  {}",
        foreign(&requirement.id),
        foreign(&clip(&requirement.text, 100))
    );
    let findings = traced
        .findings
        .iter()
        .filter_map(|at| report.findings.get(*at));
    let findings = findings.map(|finding| format!("{} ({})", finding.text, finding.state));
    for (title, entries) in [
        ("design", traced.sections.clone()),
        ("tests", traced.tests.clone()),
        ("tickets", traced.tickets.clone()),
        ("commits", traced.commits.clone()),
        ("findings", findings.collect()),
    ] {
        let shown: Vec<String> = entries
            .iter()
            .map(|entry| foreign(&clip(entry, 80)))
            .collect();
        let _ = writeln!(
            out,
            "      {title:<9}{}",
            match shown.is_empty() {
                true => "-".to_owned(),
                false => shown.join("; "),
            }
        );
    }
}

fn table(out: &mut String, title: &str, rows: &[Spending], estimated: bool) {
    let _ = writeln!(out, "\n{title}:");
    let names: Vec<String> = rows.iter().map(|row| foreign(&row.name)).collect();
    let widest = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or_default();
    for (row, name) in rows.iter().zip(names) {
        if row.is_nothing() {
            let _ = writeln!(out, "  {name:<widest$}  {}", foreign(&row.state));
            continue;
        }
        let _ = write!(
            out,
            "  {name:<widest$}  {:>3} {}  {:>12}  {:>9}  {:>12}",
            row.children,
            if row.children == 1 {
                "child   "
            } else {
                "children"
            },
            counted(row.tokens, "token"),
            dollars(row.cost, estimated),
            time(row.time)
        );
        match row.state.as_str() {
            "" => out.push('\n'),
            state => {
                let _ = writeln!(out, "  {}", foreign(state));
            }
        }
    }
}
