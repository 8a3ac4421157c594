//! Applies unified diffs of one file: context is checked, wrong counts are corrected, a hunk that is a few lines off is found. All hunks or none.

use super::edit::{rebuild, split, wanted};
use super::parse::PatchLine;
use super::replace::numbered;
use super::seek::LineIndex;
use super::wrap::fence;
use super::{EditedText, parted, without_last_break};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{clip, escape_controls, plural};

/// Lines of the file, and of the hunk, shown when a place was not found.
const SHOWN: usize = 12;

/// Empty lines at the end of a hunk of which each may be context.
const SOFT: usize = 8;

const EXAMPLE: &str = "A hunk looks like this, with a space, \"-\" or \"+\" in front of every line:\n@@ -3,2 +3,2 @@\n unchanged line\n-old line\n+new line";

/// One hunk.
struct Hunk<'a> {
    /// The header, as written.
    header: &'a str,
    /// The header's line in the patch, 1-based.
    number: usize,
    /// Line and count of the old side, when the header states them.
    stated: Option<(usize, usize)>,
    lines: Vec<PatchLine>,
    /// How many of the last lines are completely empty: they may be context, or just the end of the patch text.
    soft: usize,
    /// The last line of the old side, of the new side, has no break.
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
    let (mark, body) = parted(old);
    let patch = fence(patch.trim()).unwrap_or(patch);
    let mut hunks = parse(patch)?;
    let asked = asked(patch);
    if asked.new && !body.is_empty() {
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
            .ok_or_else(|| no_place(hunk, index, &texts, from, name))?;
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
    // A text without breaks of its own takes those of the patch.
    if !body.contains('\n') && patch.contains("\r\n") {
        text = text.replace('\n', "\r\n");
    }
    if !ends_in_break(body, &hunks, &places, texts.lines.len()) {
        text = without_last_break(text);
    }
    let report = hunks.iter().zip(&places).enumerate();
    let mut report: Vec<String> = report
        .map(|(index, (hunk, at))| told(index, hunk, *at))
        .collect();
    if asked.gone {
        report.push("The patch deletes the file; it stays, with what is left in it.".to_owned());
    }
    if let Some(other) = asked.other {
        let other = clip(&escape_controls(other), 120);
        report.push(format!(
            "The patch renames the file to {other}; it keeps its name."
        ));
    }
    Ok(EditedText {
        text: format!("{mark}{text}"),
        report,
    })
}

/// Changes other than to the text that the lines before the first hunk request.
struct DiffHeader<'a> {
    /// The file is new.
    new: bool,
    /// The file goes.
    gone: bool,
    /// The file gets this name.
    other: Option<&'a str>,
}

fn asked(patch: &str) -> DiffHeader<'_> {
    let head = || patch.lines().take_while(|line| !line.starts_with("@@"));
    let is_null = |line: &str, sign: &str| {
        let name = line.strip_prefix(sign).map(str::trim_start);
        name.is_some_and(|name| name.split_whitespace().next() == Some("/dev/null"))
    };
    DiffHeader {
        new: head().any(|line| is_null(line, "--- ")),
        gone: head().any(|line| is_null(line, "+++ ")),
        other: head().find_map(|line| line.strip_prefix("rename to ")),
    }
}

fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// The 0-based place that a header states; a hunk without old lines goes after its line.
fn first(line: usize, count: usize) -> usize {
    if count == 0 {
        line
    } else {
        line.saturating_sub(1)
    }
}

/// Where the hunk fits; `None` when nowhere. Drops completely empty lines from its end if it only fits without them.
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
                (true, None) => return Some(Err(nowhere(hunk))),
                (true, Some(at)) => (at >= from && at <= texts.lines.len()).then_some(at),
                (false, Some(at)) => texts.seek_near(&wanted, from, at),
                (false, None) => match texts.seek(&wanted, from, false) {
                    Some(at)
                        if texts
                            .seek(&wanted, at + 1, false)
                            .is_some_and(|next| same(&texts.lines, at, next, wanted.len())) =>
                    {
                        return Some(Err(twice(hunk, at)));
                    }
                    found => found,
                },
            }
        };
        if found.is_some() || hunk.soft == 0 {
            return found.map(Ok);
        }
        // One by one while they may be context; a page of them is only the end of the text.
        let off = if hunk.soft > SOFT {
            hunk.soft - SOFT
        } else {
            1
        };
        hunk.soft -= off;
        hunk.lines.truncate(hunk.lines.len().saturating_sub(off));
    }
}

/// Two places hold the same lines, so that a hunk without line numbers means neither.
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

fn told(index: usize, hunk: &Hunk<'_>, at: usize) -> String {
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

fn nowhere(hunk: &Hunk<'_>) -> Problem {
    Problem::input(format!(
        "The hunk at line {} of the patch only adds lines and does not say where.",
        hunk.number
    ))
    .next("Add line numbers, @@ -LINE,0 +LINE,COUNT @@, or a line of context.")
}

fn twice(hunk: &Hunk<'_>, at: usize) -> Problem {
    Problem::input(format!(
        "The lines of the hunk at line {} of the patch stand more than once in the file (first at line {}).",
        hunk.number,
        at + 1
    ))
    .next("Add line numbers, @@ -LINE,COUNT +LINE,COUNT @@, or more context.")
}

fn no_place(
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
            "Its lines stand at line {}, before the end of an earlier hunk: put hunks in the order of the file.",
            at + 1
        ));
    }
    let stated = hunk.stated.map_or(0, |(line, count)| first(line, count));
    let start = stated.min(
        texts
            .lines
            .len()
            .saturating_sub(wanted.len().clamp(3, SHOWN)),
    );
    let sought: Vec<String> = wanted
        .iter()
        .take(SHOWN)
        .map(|line| clip(&escape_controls(line), 200))
        .collect();
    problem
        .next("Read the note again and copy the lines exactly.")
        .facts(format!(
            "Expected:\n{}\n\nFound:\n{}",
            sought.join("\n"),
            numbered(&texts.lines, start, wanted.len().clamp(3, SHOWN))
        ))
}

/// Reads the hunks of a diff of one file.
fn parse(text: &str) -> Outcome<Vec<Hunk<'_>>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = lines
        .iter()
        .position(|line| line.starts_with("@@"))
        .ok_or_else(|| {
            Problem::input("The patch has no hunk: no line begins with \"@@\".").next(EXAMPLE)
        })?;
    let mut hunks = Vec::new();
    while let Some(header) = lines.get(at) {
        let (hunk, next) = hunk(&lines, at, header)?;
        hunks.push(hunk);
        match next {
            Some(next) => at = next,
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
            // The signature of a mailed patch.
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
        // Lines beyond the header's counts are the space between hunks.
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
