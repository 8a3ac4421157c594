//! Applies unified diffs of one file: context is checked, wrong counts are corrected, and a hunk is found a few lines off. All hunks or none.

use super::edit::{rebuild, split, wanted};
use super::parse::PatchLine;
use super::replace::numbered;
use super::seek::LineIndex;
use super::wrap::fence;
use super::{EditedText, split_bom, without_last_break};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls, plural};

/// Lines of the file and of the hunk shown when the place was not found.
const SHOWN_LINES: usize = 12;

/// How many empty lines at the end of a hunk are tried as context one by one.
const MAX_SOFT_STEPS: usize = 8;

const EXAMPLE: &str = "A hunk looks like this, with a space, \"-\" or \"+\" in front of every line:\n@@ -3,2 +3,2 @@\n unchanged line\n-old line\n+new line";

struct Hunk<'a> {
    header: &'a str,
    /// The header's line in the patch, 1-based.
    number: usize,
    /// Line and count of the old side, when the header gives them.
    stated: Option<(usize, usize)>,
    lines: Vec<PatchLine>,
    /// How many of the last lines are completely empty: they may be context, or just the end of the patch text.
    soft: usize,
    /// Whether the last line of the old side and of the new side has no line break.
    bare: (bool, bool),
}

/// True when some line is a hunk's header.
pub fn is_hunks(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@"))
}

/// Applies the unified diff `patch` to the text `old`; `name` is the file in messages.
///
/// # Errors
/// `Input` with the line of the patch that is not a diff; `Missing` with the hunk that does not fit and the actual text.
pub fn apply_hunks(old: &str, patch: &str, name: &str) -> Outcome<EditedText> {
    let (mark, body) = split_bom(old);
    let patch = fence(patch.trim()).unwrap_or(patch);
    let mut hunks = parse(patch)?;
    let header_requests = header_requests(patch);
    if header_requests.new && !body.is_empty() {
        return Err(Problem::input(format!(
            "The patch makes a new file (--- /dev/null), and {name} exists with {}.",
            plural(split(body).len(), "line")
        ))
        .next(
            "Nothing was changed. Send a diff of the note as it is, or rewrite the whole note.",
        ));
    }
    let lines = split(body);
    let texts = LineIndex::new(lines.iter().map(|line| line.text).collect());
    let mut places = Vec::new();
    let (mut from, mut drift) = (0, 0);
    for (index, hunk) in hunks.iter_mut().enumerate() {
        let at = place(hunk, &texts, from, drift)
            .ok_or_else(|| does_not_fit(hunk, index, &texts, from, name))?;
        let at =
            at.map_err(|problem| problem.next(format!("It is hunk {} of the patch.", index + 1)))?;
        if let Some((line, count)) = hunk.stated {
            drift = signed(at) - signed(first(line, count));
        }
        from = at + wanted(&hunk.lines).len();
        places.push(at);
    }
    let changes: Vec<(usize, &[PatchLine])> = places
        .iter()
        .zip(&hunks)
        .map(|(at, hunk)| (*at, hunk.lines.as_slice()))
        .collect();
    let mut text = rebuild(&lines, &changes);
    // A text without line breaks of its own gets those of the patch.
    if !body.contains('\n') && patch.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    if !ends_in_break(body, &hunks, &places, texts.lines.len()) {
        text = without_last_break(text);
    }
    let report = hunks.iter().zip(&places).enumerate();
    let mut report: Vec<String> = report
        .map(|(index, (hunk, at))| report_line(index, hunk, *at))
        .collect();
    if header_requests.deleted {
        report.push(
            "The patch asks to delete the file; the file is kept, with the remaining text."
                .to_owned(),
        );
    }
    if let Some(other) = header_requests.other {
        let other = clip(&escape_controls(other), 120);
        report.push(format!(
            "The patch asks to rename the file to {other}; the file keeps its name."
        ));
    }
    Ok(EditedText {
        text: format!("{mark}{text}"),
        report,
    })
}

/// What the lines before the first hunk ask for besides changes to the text.
struct DiffHeader<'a> {
    /// The patch creates the file.
    new: bool,
    /// The patch deletes the file.
    deleted: bool,
    /// The new name of the file.
    other: Option<&'a str>,
}

fn header_requests(patch: &str) -> DiffHeader<'_> {
    let head = || patch.lines().take_while(|line| !line.starts_with("@@"));
    let is_null = |line: &str, sign: &str| {
        let name = line.strip_prefix(sign).map(str::trim_start);
        name.is_some_and(|name| name.split_whitespace().next() == Some("/dev/null"))
    };
    DiffHeader {
        new: head().any(|line| is_null(line, "--- ")),
        deleted: head().any(|line| is_null(line, "+++ ")),
        other: head().find_map(|line| line.strip_prefix("rename to ")),
    }
}

fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// The 0-based line that a header means; a hunk without old lines goes after its line.
fn first(line: usize, count: usize) -> usize {
    if count == 0 {
        line
    } else {
        line.saturating_sub(1)
    }
}

/// Where the hunk fits; `None` if nowhere. Drops empty lines from its end if it only fits without them.
fn place(
    hunk: &mut Hunk<'_>,
    texts: &LineIndex<'_>,
    from: usize,
    drift: isize,
) -> Option<Outcome<usize>> {
    loop {
        let found = {
            let wanted = wanted(&hunk.lines);
            let stated = hunk.stated.map(|(line, count)| {
                let count = count.min(wanted.len());
                first(line, count).saturating_add_signed(drift)
            });
            match (wanted.is_empty(), stated) {
                (true, None) => return Some(Err(no_position(hunk))),
                (true, Some(at)) => (at >= from && at <= texts.lines.len()).then_some(at),
                (false, Some(at)) => texts.seek_near(&wanted, from, at),
                (false, None) => match texts.seek(&wanted, from, false) {
                    Some(at)
                        if texts
                            .seek(&wanted, at + 1, false)
                            .is_some_and(|next| same(&texts.lines, at, next, wanted.len())) =>
                    {
                        return Some(Err(ambiguous(hunk, at)));
                    }
                    found => found,
                },
            }
        };
        if found.is_some() || hunk.soft == 0 {
            return found.map(Ok);
        }
        // One by one while they may be context; a page of them is only the end of the text.
        let dropped = if hunk.soft > MAX_SOFT_STEPS {
            hunk.soft - MAX_SOFT_STEPS
        } else {
            1
        };
        hunk.soft -= dropped;
        hunk.lines
            .truncate(hunk.lines.len().saturating_sub(dropped));
    }
}

/// Both places match, so a hunk without line numbers is ambiguous.
fn same(texts: &[&str], one: usize, other: usize, count: usize) -> bool {
    texts.get(one..one + count) == texts.get(other..other + count)
}

fn ends_in_break(body: &str, hunks: &[Hunk<'_>], places: &[usize], total: usize) -> bool {
    let last = hunks.iter().zip(places).next_back();
    let at_end = last.filter(|(hunk, at)| *at + wanted(&hunk.lines).len() == total);
    match at_end.map(|(hunk, _)| hunk.bare) {
        Some((_, true)) => false,
        Some((true, false)) => true,
        Some((false, false)) | None => body.is_empty() || body.ends_with('\n'),
    }
}

fn report_line(index: usize, hunk: &Hunk<'_>, at: usize) -> String {
    let count =
        |wanted: fn(&PatchLine) -> bool| hunk.lines.iter().filter(|line| wanted(line)).count();
    let removed = count(|line| matches!(line, PatchLine::Remove(_)));
    let added = count(|line| matches!(line, PatchLine::Add(_)));
    let off = match hunk
        .stated
        .map(|(line, count)| first(line, count.min(wanted(&hunk.lines).len())))
    {
        Some(stated) if stated != at => format!(
            ", found {} {}",
            plural(stated.abs_diff(at), "line"),
            if at > stated {
                "further down"
            } else {
                "further up"
            }
        ),
        _ => String::new(),
    };
    format!(
        "hunk {} at line {}: {removed} removed, {added} added{off}",
        index + 1,
        at + 1
    )
}

fn no_position(hunk: &Hunk<'_>) -> Problem {
    Problem::input(format!(
        "The hunk at line {} of the patch only adds lines and does not say where.",
        hunk.number
    ))
    .next("Add line numbers, @@ -LINE,0 +LINE,COUNT @@, or a line of context.")
}

fn ambiguous(hunk: &Hunk<'_>, at: usize) -> Problem {
    Problem::input(format!(
        "The lines of the hunk at line {} of the patch occur more than once in the file (first at line {}).",
        hunk.number,
        at + 1
    ))
    .next("Add line numbers, @@ -LINE,COUNT +LINE,COUNT @@, or more context.")
}

fn does_not_fit(
    hunk: &Hunk<'_>,
    index: usize,
    texts: &LineIndex<'_>,
    from: usize,
    name: &str,
) -> Problem {
    let wanted = wanted(&hunk.lines);
    let header = clip(&escape_controls(hunk.header), 80);
    let total = plural(texts.lines.len(), "line");
    let problem = Problem::new(
        ProblemKind::Missing,
        format!(
            "Hunk {} ({header}, line {} of the patch) does not fit {name}, which has {total}.",
            index + 1,
            hunk.number
        ),
    )
    .next("Nothing was changed.");
    if let Some(at) = texts
        .seek(&wanted, 0, false)
        .filter(|at| !wanted.is_empty() && *at < from)
    {
        return problem.next(format!(
            "Its lines are at line {}, before the end of an earlier hunk: put hunks in the order of the file.",
            at + 1
        ));
    }
    let stated = hunk.stated.map_or(0, |(line, count)| first(line, count));
    let start = stated.min(
        texts
            .lines
            .len()
            .saturating_sub(wanted.len().clamp(3, SHOWN_LINES)),
    );
    let expected: Vec<String> = wanted
        .iter()
        .take(SHOWN_LINES)
        .map(|line| clip(&escape_controls(line), 200))
        .collect();
    problem
        .next("Read the note again and copy the lines exactly.")
        .facts(format!(
            "Expected:\n{}\n\nFound:\n{}",
            expected.join("\n"),
            numbered(&texts.lines, start, wanted.len().clamp(3, SHOWN_LINES))
        ))
}

/// Reads the hunks of a diff of one file.
fn parse(text: &str) -> Outcome<Vec<Hunk<'_>>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut pos = lines
        .iter()
        .position(|line| line.starts_with("@@"))
        .ok_or_else(|| {
            Problem::input("The patch has no hunk: no line begins with \"@@\".").next(EXAMPLE)
        })?;
    let mut hunks = Vec::new();
    while let Some(header) = lines.get(pos) {
        let (hunk, next) = hunk(&lines, pos, header)?;
        hunks.push(hunk);
        match next {
            Some(next) => pos = next,
            None => break,
        }
    }
    let changes = |line: &PatchLine| !matches!(line, PatchLine::Keep(_));
    if !hunks.iter().any(|hunk| hunk.lines.iter().any(changes)) {
        return Err(Problem::input(
            "The patch changes nothing: no line begins with \"-\" or \"+\".",
        )
        .next(EXAMPLE));
    }
    Ok(hunks)
}

/// The hunk whose header is at `start`, and where the next one begins.
fn hunk<'a>(
    lines: &[&'a str],
    start: usize,
    header: &'a str,
) -> Outcome<(Hunk<'a>, Option<usize>)> {
    let number = start + 1;
    let ranges = ranges(header);
    if ranges.is_none() && !is_plain(header) {
        return Err(Problem::input(format!(
            "Line {number} of the patch, \"{}\", is not a hunk header.",
            clip(&escape_controls(header), 80)
        ))
        .next(EXAMPLE));
    }
    let mut hunk = Hunk {
        header,
        number,
        stated: ranges.map(|(old, _)| old),
        lines: Vec::new(),
        soft: 0,
        bare: (false, false),
    };
    let (mut old, mut new) = (0, 0);
    let mut at = start + 1;
    let mut next = None;
    while let Some(line) = lines.get(at) {
        if line.starts_with("@@") {
            next = Some(at);
            break;
        }
        let full = ranges.is_some_and(|((_, a), (_, b))| old >= a && new >= b);
        if full && *line == "-- " {
            // The signature of a mailed patch (`-- `).
            break;
        }
        let pair = line.starts_with("--- ")
            && lines
                .get(at + 1)
                .is_some_and(|next| next.starts_with("+++ "));
        if full && (pair || line.starts_with("diff --git ")) {
            return Err(Problem::input(format!(
                "At line {} of the patch another file begins.",
                at + 1
            ))
            .next("One call changes one note: call file_apply_patch once for each."));
        }
        let soft = line.is_empty();
        match line.split_at_checked(1) {
            None if soft => hunk.lines.push(PatchLine::Keep(String::new())),
            Some((" ", text)) => hunk.lines.push(PatchLine::Keep(text.to_owned())),
            Some(("-", text)) => hunk.lines.push(PatchLine::Remove(text.to_owned())),
            Some(("+", text)) => hunk.lines.push(PatchLine::Add(text.to_owned())),
            Some(("\\", _)) => match hunk.lines.last() {
                Some(PatchLine::Keep(_)) => hunk.bare = (true, true),
                Some(PatchLine::Remove(_)) => hunk.bare.0 = true,
                Some(PatchLine::Add(_)) => hunk.bare.1 = true,
                None => {}
            },
            _ if full => break,
            _ => {
                return Err(Problem::input(format!(
                    "Line {} of the patch, \"{}\", does not begin with a space, \"-\" or \"+\".",
                    at + 1,
                    clip(&escape_controls(line), 80)
                ))
                .next(EXAMPLE));
            }
        }
        if !line.starts_with('\\') {
            hunk.soft = if soft { hunk.soft + 1 } else { 0 };
            old += usize::from(!line.starts_with('+'));
            new += usize::from(!line.starts_with('-'));
        }
        at += 1;
    }
    while let (true, Some(((_, stated), _))) = (hunk.soft > 0, ranges) {
        // Empty lines beyond the header's counts separate hunks.
        if old <= stated {
            break;
        }
        hunk.lines.pop();
        hunk.soft -= 1;
        old -= 1;
    }
    if hunk.lines.is_empty() {
        return Err(
            Problem::input(format!("The hunk at line {number} of the patch is empty."))
                .next(EXAMPLE),
        );
    }
    Ok((hunk, next))
}

/// A range: first line and count.
type Range = (usize, usize);

/// Both ranges of `@@ -a[,b] +c[,d] @@ text`; the second pair of `@@` may be missing.
fn ranges(header: &str) -> Option<(Range, Range)> {
    let mut words = header.strip_prefix("@@")?.split_whitespace();
    let mut range = |sign: char| {
        let text = words.next()?.strip_prefix(sign)?;
        let (line, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((line.parse().ok()?, count.parse().ok()?))
    };
    Some((range('-')?, range('+')?))
}

/// A header without numbers: `@@`, `@@ @@`, `@@ ... @@`.
fn is_plain(header: &str) -> bool {
    let rest = header.trim_matches('@').trim();
    rest.is_empty()
        || rest
            .chars()
            .all(|c| matches!(c, '.' | '…' | '-' | '+' | ',' | ' '))
}

#[cfg(test)]
mod tests;
