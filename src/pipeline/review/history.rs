//! `review-history-<name>.md` beside the documents: what every round of a review found. Reviewers and fixers read it; so does an interrupted run that goes on.
//!
//! Reports are quoted line by line, so that no report can pass for an entry of the history. No passing word is ever in it.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use super::judged::Judged;
use super::severity::by_severity;
use super::verdict::{Verdict, without_passing_words};
use crate::base::problem::Outcome;
use crate::base::text::clip;
use crate::disk::paths::REVIEW_HISTORY;
use crate::pipeline::Run;
use crate::pipeline::places::RunPlaces;

/// Bytes of the history's end that are read back.
const MAX_READ_BYTES: u64 = 4 << 20;
/// Characters of what one reviewer found that its prompt shows: more than several long reports have.
const MAX_SHOWN_CHARS: usize = 60_000;
/// Characters of a report that are kept.
const MAX_REPORT_CHARS: usize = 60_000;

const SATISFIED: &str = "satisfied";
const FINDINGS: &str = "findings";
const NO_REVIEW: &str = "did not review";

/// The history of a subject.
pub(crate) struct History {
    name: String,
}

/// What a round adds.
pub(super) struct RoundEntry<'a> {
    pub number: u64,
    /// The commit that the fixer of this round starts from.
    pub base: &'a str,
    pub judged: &'a [Judged<'a>],
}

impl History {
    /// The history of `subject`: `spec.md` and `spec` are one.
    pub(crate) fn of(subject: &str) -> Self {
        let name = subject.strip_suffix(".md").unwrap_or(subject);
        Self {
            name: name.to_owned(),
        }
    }

    /// Whether a file in Marvin's folder of the project is called like one.
    pub(crate) fn is_one(name: &str) -> bool {
        name.starts_with(REVIEW_HISTORY)
    }

    /// Its path in the project.
    pub(crate) fn path(&self, places: &RunPlaces) -> String {
        places.history(&self.name)
    }

    /// Adds a round.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn append(&self, run: &Run, entry: &RoundEntry<'_>) -> Outcome<()> {
        let rel = run.root().check(&self.path(&run.places))?;
        let text = without_passing_words(&entry.text(&run.ctx.session.clock.utc()));
        if run.root().exists(&rel)? {
            run.root().append(&rel, text.as_bytes())?;
        } else {
            let heading = format!("# Review history of {}\n", self.name);
            run.root().create_new(&rel, (heading + &text).as_bytes())?;
        }
        Ok(())
    }

    /// Adds why the fixer of a round changed nothing, if it says so: who reviews next judges the reasons by the subject itself.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn append_reasons(
        &self,
        run: &Run,
        number: u64,
        reasons: Option<&str>,
    ) -> Outcome<()> {
        let Some(reasons) = reasons else {
            return Ok(());
        };
        let quoted: String = reasons.lines().map(quoted).collect();
        let text =
            format!("\n### {FIXER} of round {number} changed nothing, and says why\n\n{quoted}");
        let rel = run.root().check(&self.path(&run.places))?;
        run.root()
            .append(&rel, without_passing_words(&text).as_bytes())
            .map(drop)
    }

    /// What each reviewer has found in this review so far, by its name: its reports under the headings of their rounds. Of more than a prompt has room
    /// for the newest part, and where the rest is.
    pub(super) fn by_reviewer(&self, run: &Run) -> BTreeMap<String, String> {
        let mut all = reports(&since_first_round(&self.read(run)));
        for own in all.values_mut() {
            let skipped = own.chars().count().saturating_sub(MAX_SHOWN_CHARS);
            if skipped > 0 {
                let end: String = own.chars().skip(skipped).collect();
                *own = format!(
                    "(What comes before is in {}.)\n{end}",
                    self.path(&run.places)
                );
            }
        }
        all
    }

    /// Names of the reviewers who were satisfied in a round of this review.
    pub(super) fn satisfied(&self, run: &Run) -> Vec<String> {
        let text = since_first_round(&self.read(run));
        let names = text.lines().filter_map(|line| {
            let (name, verdict) = line.strip_prefix("- ")?.rsplit_once(": ")?;
            verdict.starts_with(SATISFIED).then(|| name.to_owned())
        });
        names.collect()
    }

    /// The commit that the last fixer started from.
    pub(super) fn last_base(&self, run: &Run) -> Option<String> {
        let text = since_first_round(&self.read(run));
        let mut bases = text.lines().filter_map(|line| line.strip_prefix(BASE));
        bases.next_back().map(|base| base.trim().to_owned())
    }

    /// The end of the file; empty when there is none.
    fn read(&self, run: &Run) -> String {
        let read = || -> Option<Vec<u8>> {
            let mut file = run
                .root()
                .open_read(&run.root().check(&self.path(&run.places)).ok()?)
                .ok()?;
            let len = file.metadata().ok()?.len();
            file.seek(SeekFrom::Start(len.saturating_sub(MAX_READ_BYTES)))
                .ok()?;
            let mut bytes = Vec::new();
            file.take(MAX_READ_BYTES).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        let bytes = read().unwrap_or_default();
        // The beginning may be cut inside a report.
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// How the line with the commit begins.
const BASE: &str = "Commit before the fixer: ";

/// The rounds since the last first one: earlier ones belong to another run.
fn since_first_round(text: &str) -> String {
    let from = text.rfind("\n## Round 1 ").unwrap_or_default();
    text.get(from..).unwrap_or_default().to_owned()
}

/// A line of somebody's words.
fn quoted(line: &str) -> String {
    format!("{}\n", format!("> {line}").trim_end())
}

/// How the heading above a fixer's reasons begins.
const FIXER: &str = "The fixer";

/// The reports of each reviewer, by its name, under the headings of their rounds, and for each of them the reasons of a fixer who changed nothing.
fn reports(text: &str) -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    let (mut round, mut reviewer) = ("", None);
    // A line of a report begins with `>`, so none is taken for a heading.
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            (round, reviewer) = (heading, None);
        } else if let Some(words) = line.strip_prefix("### ")
            && words.starts_with(FIXER)
        {
            reviewer = Some(FIXER);
            for own in all.values_mut() {
                own.push_str(&format!("{words}:\n"));
            }
        } else if let Some(name) = line.strip_prefix("### ") {
            let own = all.entry(name.to_owned()).or_default();
            own.push_str(&format!("{round}:\n"));
            reviewer = Some(name);
        } else if let (Some(name), Some(quoted)) = (reviewer, line.strip_prefix('>')) {
            let quoted = quoted.strip_prefix(' ').unwrap_or(quoted);
            let told = all
                .iter_mut()
                .filter(|(own, _)| name == FIXER || *own == name);
            for (_, own) in told {
                own.push_str(quoted);
                own.push('\n');
            }
        }
    }
    all
}

impl RoundEntry<'_> {
    fn text(&self, time: &str) -> String {
        let mut text = format!("\n## Round {} ({time})\n\n", self.number);
        for judged in self.judged {
            let verdict = match (judged.verdict, judged.report) {
                (Verdict::Satisfied, _) => SATISFIED,
                (Verdict::Findings, Some(_)) => FINDINGS,
                (Verdict::Findings, None) => NO_REVIEW,
            };
            let counts = by_severity(judged.findings.iter().map(|one| one.severity));
            let counts = counts.map(|counts| format!(" ({counts})"));
            let counts = counts.unwrap_or_default();
            text.push_str(&format!("- {}: {verdict}{counts}\n", judged.name));
        }
        text.push_str(&format!("\n{BASE}{}\n", self.base));
        for judged in self.judged {
            if let Some(report) = judged.open_report() {
                text.push_str(&format!("\n### {}\n\n", judged.name));
                text.extend(clip(report, MAX_REPORT_CHARS).lines().map(quoted));
            }
        }
        text
    }
}
