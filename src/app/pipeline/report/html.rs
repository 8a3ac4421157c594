//! The report as one page: well-formed, without scripts and without anything from outside; dark where the reader's system is.

use std::fmt::Write as _;
use std::time::Duration;

use super::data::{ReportFinding, RunReport, Spending, TracedRequirement};
use crate::app::pipeline::summary::time;
use crate::base::text::{counted, thousands};
use crate::chat::usage::dollars;

/// Size of the plot in its own units.
const PLOT: (f64, f64) = (760.0, 240.0);
/// Room for the words around it: left, bottom.
const MARGIN: (f64, f64) = (90.0, 30.0);

const STYLE: &str = "
:root { color-scheme: light dark; --line: #d0d0d8; --soft: #f4f4f7; --ink: #1c1c22; --page: #ffffff; --mark: #2458c5; --bad: #b3261e; --good: #1b7a3d; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a3a44; --soft: #23232b; --ink: #e6e6ea; --page: #17171c; --mark: #8ab0ff; --bad: #ff8a80; --good: #7fd89a; }
}
body { background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { border-bottom: 1px solid var(--line); padding: .35rem .6rem; text-align: left; vertical-align: top; overflow-wrap: break-word; }
th { background: var(--soft); white-space: nowrap; } th.number { text-align: right; }
td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
ul { margin: 0; padding-left: 1.1rem; }
code { font-size: .85rem; }
.none { color: var(--bad); }
.resolved, .corrected, .done { color: var(--good); }
.open, .repeated { color: var(--bad); }
svg { width: 100%; height: auto; } svg text { fill: var(--ink); font-size: 12px; }
svg .axis { stroke: var(--line); } svg .curve { fill: none; stroke: var(--mark); stroke-width: 2; }
";

pub(crate) fn page(report: &RunReport) -> String {
    let mut out = String::with_capacity(64 << 10);
    let task = escaped(&report.run.task);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{task}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{task}</h1>\n"
    );
    facts(&mut out, report);
    requirements(&mut out, report);
    spending(
        &mut out,
        "By phase",
        "Phase",
        &report.phases,
        report.spent.cost_estimated,
    );
    spending(
        &mut out,
        "By model",
        "Model",
        &report.models,
        report.spent.cost_estimated,
    );
    plot(&mut out, &report.spent.plot);
    findings(&mut out, &report.findings);
    commits(&mut out, report);
    list(&mut out, "Warnings", &report.warnings);
    out.push_str("</body>\n</html>\n");
    out
}

/// A text from outside as part of the page: nothing in it is markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(' '),
            // XML has no place for these (<https://www.w3.org/TR/xml/#charsets>); those that turn the direction of writing would turn the page's.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn facts(out: &mut String, report: &RunReport) {
    let end = report
        .run
        .end
        .as_deref()
        .unwrap_or("it runs, or was killed");
    let is_known = report.notes.is_empty();
    let known = |words: String| if is_known { words } else { String::new() };
    let cost = known(format!(
        "{}, {}",
        counted(report.spent.tokens, "token"),
        dollars(report.spent.cost, report.spent.cost_estimated)
    ));
    let rows = [
        ("Ticket", report.run.ticket.clone()),
        ("Started", report.run.started.clone().unwrap_or_default()),
        ("End", end.to_owned()),
        ("Tests", report.tests.clone().unwrap_or_default()),
        ("Cost", cost),
        ("Children's time", known(time(report.spent.child_time))),
        ("Not known", report.notes.join(" ")),
    ];
    out.push_str("<dl>\n");
    for (name, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
    }
    out.push_str("</dl>\n");
}

fn requirements(out: &mut String, report: &RunReport) {
    out.push_str("<h2>Requirements</h2>\n");
    if report.requirements.is_empty() {
        out.push_str("<p>None were found: there is no specification, or it has no ids, lists or headings.</p>\n");
        return;
    }
    out.push_str(
        "<div class=\"wide\"><table>\n<thead><tr><th>Requirement</th><th>Design</th><th>Tests</th><th>Tickets</th><th>Commits</th><th>Findings</th></tr></thead>\n<tbody>\n",
    );
    for traced in &report.requirements {
        let requirement = &traced.requirement;
        let _ = write!(
            out,
            "<tr><td><strong>{}</strong> {}</td>",
            escaped(&requirement.id),
            escaped(&requirement.text)
        );
        for entries in [
            &traced.sections,
            &traced.tests,
            &traced.tickets,
            &traced.commits,
        ] {
            let entries = entries.iter().map(|entry| escaped(entry));
            cell(out, entries, "none");
        }
        cell(out, findings_of(report, traced), "");
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

fn findings_of<'a>(
    report: &'a RunReport,
    traced: &'a TracedRequirement,
) -> impl Iterator<Item = String> + 'a {
    let found = traced
        .findings
        .iter()
        .filter_map(|at| report.findings.get(*at));
    found.map(|finding| format!("{} {}", escaped(&finding.text), state(finding)))
}

fn state(finding: &ReportFinding) -> String {
    // A class is one of our own words, whatever is in the file.
    let class = match finding.state.as_str() {
        known @ ("open" | "corrected" | "resolved" | "repeated") => known,
        _ => "open",
    };
    format!("<span class=\"{class}\">{}</span>", escaped(&finding.state))
}

/// A cell with a list of markup; `missing` is its class and word when the list is empty.
fn cell(out: &mut String, entries: impl Iterator<Item = String>, missing: &str) {
    // What several reviewers say alike stands once.
    let mut all: Vec<(String, usize)> = Vec::new();
    for entry in entries {
        match all.iter_mut().find(|(known, _)| *known == entry) {
            Some((_, times)) => *times += 1,
            None => all.push((entry, 1)),
        }
    }
    if all.is_empty() {
        let _ = match missing {
            "" => write!(out, "<td></td>"),
            class => write!(out, "<td class=\"{class}\">{class}</td>"),
        };
        return;
    }
    out.push_str("<td><ul>");
    for (entry, times) in all {
        let _ = match times {
            1 => write!(out, "<li>{entry}</li>"),
            times => write!(out, "<li>{entry} ({times} times)</li>"),
        };
    }
    out.push_str("</ul></td>");
}

fn spending(out: &mut String, title: &str, first: &str, rows: &[Spending], estimated: bool) {
    let _ = write!(
        out,
        "<h2>{title}</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>{first}</th><th class=\"number\">Children</th><th class=\"number\">Tokens</th><th class=\"number\">Cost</th><th class=\"number\">Time</th><th></th></tr></thead>\n<tbody>\n"
    );
    for row in rows {
        let shown = |words: String| {
            if row.is_nothing() {
                String::new()
            } else {
                words
            }
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{}</td></tr>",
            escaped(&row.name),
            shown(row.children.to_string()),
            shown(thousands(row.tokens)),
            shown(escaped(&dollars(row.cost, estimated))),
            shown(escaped(&time(row.time))),
            escaped(&row.state)
        );
    }
    out.push_str("</tbody></table></div>\n");
}

/// Tokens over time.
fn plot(out: &mut String, points: &[(u64, u64)]) {
    out.push_str("<h2>Tokens over time</h2>\n");
    let (Some((seconds, _)), Some(most)) =
        (points.last(), points.iter().map(|point| point.1).max())
    else {
        out.push_str("<p>No tokens are recorded.</p>\n");
        return;
    };
    let (width, height) = PLOT;
    let (left, bottom) = MARGIN;
    let x = |at: u64| left + (width - left - 10.0) * share(at, *seconds);
    let y = |tokens: u64| (height - bottom) - (height - bottom - 16.0) * share(tokens, most);
    let mut curve = format!("{:.1},{:.1}", x(0), y(0));
    for (at, tokens) in points {
        let _ = write!(curve, " {:.1},{:.1}", x(*at), y(*tokens));
    }
    let floor = y(0);
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"Tokens over time\">\n\
         <line class=\"axis\" x1=\"{left}\" y1=\"{floor}\" x2=\"{width}\" y2=\"{floor}\"/>\n\
         <line class=\"axis\" x1=\"{left}\" y1=\"10\" x2=\"{left}\" y2=\"{floor}\"/>\n\
         <polyline class=\"curve\" points=\"{curve}\"/>\n\
         <text x=\"{}\" y=\"20\" text-anchor=\"end\">{}</text>\n\
         <text x=\"{}\" y=\"{floor}\" text-anchor=\"end\">0</text>\n\
         <text x=\"{left}\" y=\"{}\">start</text>\n\
         <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n</svg>\n",
        left - 6.0,
        thousands(most),
        left - 6.0,
        height - 8.0,
        width - 10.0,
        height - 8.0,
        escaped(&time(Duration::from_secs(*seconds)))
    );
}

fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

fn findings(out: &mut String, findings: &[ReportFinding]) {
    let _ = writeln!(out, "<h2>Findings ({})</h2>", findings.len());
    if findings.is_empty() {
        return;
    }
    out.push_str("<div class=\"wide\"><table>\n<thead><tr><th>Where</th><th class=\"number\">Round</th><th>Reviewer</th><th>Severity</th><th>Finding</th><th>End</th></tr></thead>\n<tbody>\n");
    for finding in findings {
        let place = format!("{} {}", finding.phase, finding.subject);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} <code>{}</code></td></tr>",
            escaped(place.trim()),
            finding.round,
            escaped(&finding.reviewer),
            escaped(&finding.severity),
            escaped(&finding.text),
            state(finding),
            escaped(&finding.commit.chars().take(10).collect::<String>())
        );
    }
    out.push_str("</tbody></table></div>\n");
}

fn commits(out: &mut String, report: &RunReport) {
    let _ = writeln!(out, "<h2>Commits ({})</h2>", report.commits.len());
    if report.commits.is_empty() {
        return;
    }
    out.push_str("<ul>\n");
    for commit in &report.commits {
        let (id, subject) = (escaped(&commit.id), escaped(&commit.subject));
        let _ = writeln!(out, "<li><code>{id}</code> {subject}</li>");
    }
    out.push_str("</ul>\n");
}

fn list(out: &mut String, title: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(out, "<h2>{title} ({})</h2>\n<ul>", entries.len());
    for entry in entries {
        let _ = writeln!(out, "<li>{}</li>", escaped(entry));
    }
    out.push_str("</ul>\n");
}
