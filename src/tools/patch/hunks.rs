//! Unified diffs of one file, applied: context is checked, wrong counts are mended, a hunk that stands a few lines off is found
//! (contract/services/unified-diff.md). All hunks or none.

use super::edit::{rebuild, split, wanted};
use super::parse::Line;
use super::replace::numbered;
use super::seek::Sought;
use super::wrap::fence;
use super::{Edited, parted, without_last_break};
use crate::base::error::{Kind, Outcome, Problem};
use crate::base::text::{clip, plural, visible};

/// Lines of the file, and of the hunk, shown when a place was not found.
const SHOWN: usize = 12;

/// Empty lines at the end of a hunk of which each may be context.
const SOFT: usize = 8;

const EXAMPLE: &str = "A hunk looks like this, with a space, \"-\" or \"+\" in front of every line:\n@@ -3,2 +3,2 @@\n unchanged line\n-old line\n+new line";

/// One hunk.
struct Hunk<'a> {
    /// The header, as written.
    header: &'a str,
    /// Where the header stands in the patch, counted from 1.
    number: usize,
    /// Line and count of the old side, when the header states them.
    stated: Option<(usize, usize)>,
    lines: Vec<Line>,
    /// How many of the last lines are wholly empty: they may be context, or nothing but the patch text's end.
    soft: usize,
    /// The last line of the old side, of the new side, has no break.
    bare: (bool, bool),
}

/// True when some line is a hunk's header.
pub fn is_hunks(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@"))
}

/// The text `old` with the unified diff `patch` applied; `name` is the file in messages.
///
/// # Errors
/// `Input` with the line of the patch that is no diff; `Missing` with the hunk that does not fit and what stands there instead.
pub fn apply_hunks(old: &str, patch: &str, name: &str) -> Outcome<Edited> {
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
            "Nothing was changed. Send a diff of the note as it is, or write the whole note anew.",
        ));
    }
    let lines = split(body);
    let texts = Sought::new(lines.iter().map(|line| line.text).collect());
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
    let changes: Vec<(usize, &[Line])> = places
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
        let other = clip(&visible(other), 120);
        report.push(format!(
            "The patch renames the file to {other}; it keeps its name."
        ));
    }
    Ok(Edited {
        text: format!("{mark}{text}"),
        report,
    })
}

/// What the lines before the first hunk ask for beside the change of the text.
struct Asked<'a> {
    /// The file is new.
    new: bool,
    /// The file goes.
    gone: bool,
    /// The file gets this name.
    other: Option<&'a str>,
}

fn asked(patch: &str) -> Asked<'_> {
    let head = || patch.lines().take_while(|line| !line.starts_with("@@"));
    let is_null = |line: &str, sign: &str| {
        let name = line.strip_prefix(sign).map(str::trim_start);
        name.is_some_and(|name| name.split_whitespace().next() == Some("/dev/null"))
    };
    Asked {
        new: head().any(|line| is_null(line, "--- ")),
        gone: head().any(|line| is_null(line, "+++ ")),
        other: head().find_map(|line| line.strip_prefix("rename to ")),
    }
}

fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

/// The place, counted from 0, that a header states: an old side without lines stands after its line.
fn first(line: usize, count: usize) -> usize {
    if count == 0 {
        line
    } else {
        line.saturating_sub(1)
    }
}

/// Where the hunk stands; `None` when nowhere. Takes wholly empty lines off its end when it only fits without them.
fn place(
    hunk: &mut Hunk<'_>,
    texts: &Sought<'_>,
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
        // One after the other while they may be context; a page of them is nothing but the end of the text.
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
    let count = |wanted: fn(&Line) -> bool| hunk.lines.iter().filter(|line| wanted(line)).count();
    let removed = count(|line| matches!(line, Line::Remove(_)));
    let added = count(|line| matches!(line, Line::Add(_)));
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

fn no_place(hunk: &Hunk<'_>, index: usize, texts: &Sought<'_>, from: usize, name: &str) -> Problem {
    let wanted = wanted(&hunk.lines);
    let header = clip(&visible(hunk.header), 80);
    let total = plural(texts.lines.len(), "line");
    let problem = Problem::new(
        Kind::Missing,
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
        .map(|line| clip(&visible(line), 200))
        .collect();
    problem
        .next("Read the note again and copy the lines exactly.")
        .facts(format!(
            "Expected:\n{}\n\nThere stands:\n{}",
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
    let changes = |line: &Line| !matches!(line, Line::Keep(_));
    if !hunks.iter().any(|hunk| hunk.lines.iter().any(changes)) {
        return Err(Problem::input(
            "The patch changes nothing: no line begins with \"-\" or \"+\".",
        )
        .next(EXAMPLE));
    }
    Ok(hunks)
}

/// The hunk whose header stands at `start`, and where the next one begins.
fn hunk<'a>(
    lines: &[&'a str],
    start: usize,
    header: &'a str,
) -> Outcome<(Hunk<'a>, Option<usize>)> {
    let number = start + 1;
    let ranges = ranges(header);
    if ranges.is_none() && !is_plain(header) {
        return Err(Problem::input(format!(
            "Line {number} of the patch, \"{}\", is no hunk header.",
            clip(&visible(header), 80)
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
            None if soft => hunk.lines.push(Line::Keep(String::new())),
            Some((" ", text)) => hunk.lines.push(Line::Keep(text.to_owned())),
            Some(("-", text)) => hunk.lines.push(Line::Remove(text.to_owned())),
            Some(("+", text)) => hunk.lines.push(Line::Add(text.to_owned())),
            Some(("\\", _)) => match hunk.lines.last() {
                Some(Line::Keep(_)) => hunk.bare = (true, true),
                Some(Line::Remove(_)) => hunk.bare.0 = true,
                Some(Line::Add(_)) => hunk.bare.1 = true,
                None => {}
            },
            _ if full => break,
            _ => {
                return Err(Problem::input(format!(
                    "Line {} of the patch, \"{}\", does not begin with a space, \"-\" or \"+\".",
                    at + 1,
                    clip(&visible(line), 80)
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
        // What the header does not count is the space between hunks.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n";

    fn done(old: &str, patch: &str) -> Result<String, String> {
        apply_hunks(old, patch, "n.md")
            .map(|done| done.text)
            .map_err(|problem| problem.for_model())
    }

    #[test]
    fn hunks_of_programs_and_of_models() {
        for (patch, line, new) in [
            (
                "--- a/n\n+++ b/n\n@@ -2,2 +2,2 @@ head\n two\n-three\n+3\n",
                "three",
                "3",
            ),
            // Wrong counts, no file lines, a fence.
            (
                "```diff\n@@ -2,9 +2,1 @@\n two\n-three\n+3\n```",
                "three",
                "3",
            ),
            // The stated line is wrong.
            ("@@ -40,2 +40,2 @@\n two\n-three\n+3\n", "three", "3"),
            ("@@ -3 +3 @@\n-three\n+3", "three", "3"),
            ("@@ ... @@\n two\n-three\n+3\n", "three", "3"),
            ("@@ -3,1 +3,1 @@\r\n-three\r\n+3\r\n", "three", "3"),
            // White space at the ends of lines.
            (
                "@@ -2,2 +2,2 @@\n two  \n-three\n+3\n-- \n2.40\n",
                "three",
                "3",
            ),
        ] {
            assert_eq!(done(OLD, patch), Ok(OLD.replace(line, new)), "{patch}");
        }
        assert_eq!(done("", "@@ -0,0 +1,2 @@\n+a\n+b\n"), Ok("a\nb\n".into()));
        assert_eq!(
            done("a\nb\n", "@@ -1,0 +2 @@\n+x\n"),
            Ok("a\nx\nb\n".into())
        );
        assert_eq!(
            done(
                "a\n\nb\n",
                "@@ -1,3 +1,3 @@\n-a\n+A\n\n b\n\n\n@@ -3 +3,2 @@\n+c\n"
            ),
            Ok("A\n\nb\nc\n".into())
        );
    }

    #[test]
    fn what_the_file_headers_ask_for_is_refused_or_told() {
        let new = "--- /dev/null\t1970-01-01\n+++ b/n.md\n@@ -0,0 +1 @@\n+one\n";
        assert_eq!(done("", new), Ok("one\n".into()));
        let said = done("old\n", new).unwrap_err();
        assert!(
            said.contains("makes a new file (--- /dev/null), and n.md exists with 1 line."),
            "{said}"
        );
        let report = |patch: &str| apply_hunks("a\n", patch, "n.md").unwrap().report;
        let gone = report("--- a/n.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert!(gone.last().unwrap().contains("it stays"), "{gone:?}");
        let other = report(
            "rename from n.md\nrename to o.md\n--- a/n.md\n+++ b/o.md\n@@ -1 +1 @@\n-a\n+b\n",
        );
        assert!(other.last().unwrap().contains("to o.md; it keeps its name"));
        // The same lines within a hunk are text.
        assert_eq!(
            done("a\n", "@@ -1 +1,2 @@\n-a\n+b\n+--- /dev/null\n"),
            Ok("b\n--- /dev/null\n".into())
        );
    }

    #[test]
    fn breaks_are_kept_and_the_last_one_follows_its_mark() {
        let crlf = "@@ -0,0 +1,2 @@\n+a\r\n+b\r\n";
        assert_eq!(done("", crlf), Ok("a\r\nb\r\n".into()));
        assert_eq!(done("x\n", crlf), Ok("a\nb\nx\n".into()));
        assert_eq!(
            done("a\r\nb\r\n", "@@ -1 +1,2 @@\n-a\n+x\n+y\n"),
            Ok("x\r\ny\r\nb\r\n".into())
        );
        assert_eq!(done("a\nb", "@@ -1 +1 @@\n-a\n+x\n"), Ok("x\nb".into()));
        let no = "\\ No newline at end of file";
        assert_eq!(
            done("a\nb", &format!("@@ -2 +2 @@\n-b\n{no}\n+c\n")),
            Ok("a\nc\n".into())
        );
        assert_eq!(
            done("a\nb\n", &format!("@@ -2 +2 @@\n-b\n+c\n{no}\n")),
            Ok("a\nc".into())
        );
        assert_eq!(
            done("a\nb", &format!("@@ -1,2 +1,2 @@\n-a\n+x\n b\n{no}\n")),
            Ok("x\nb".into())
        );
        assert_eq!(
            done("\u{feff}a\n", "@@ -1 +1 @@\n-a\n+b\n"),
            Ok("\u{feff}b\n".into())
        );
        assert_eq!(done("a\n", "@@ -1 +0,0 @@\n-a\n"), Ok(String::new()));
    }

    #[test]
    fn what_does_not_fit_is_shown_and_nothing_is_done() {
        let said = done(
            OLD,
            "@@ -1 +1 @@\n-one\n+1\n@@ -5,2 +5,2 @@\n five\n-SIX\n+6\n",
        )
        .unwrap_err();
        for part in [
            "Hunk 2 (@@ -5,2 +5,2 @@, line 4 of the patch)",
            "8 lines",
            "Nothing was changed",
            "Expected:\nfive\nSIX",
            "5. five\n6. six",
        ] {
            assert!(said.contains(part), "{part} not in {said}");
        }
        let said = done(OLD, "@@ -5 +5 @@\n-five\n+5\n@@ -1 +1 @@\n-one\n+1\n").unwrap_err();
        assert!(
            said.contains("line 1, before the end of an earlier hunk"),
            "{said}"
        );
        for (patch, words) in [
            ("@@ -9,0 +30 @@\n+x\n", "does not fit"),
            ("@@\n+x\n", "does not say where"),
            ("@@ what\n-x\n", "no hunk header"),
            ("@@ -1 +1 @@\n one\n", "changes nothing"),
            ("@@ -1 +1 @@\n", "is empty"),
            ("@@ -1 +1 @@\nstray\n", "Line 2 of the patch, \"stray\""),
            (
                "@@ -1 +1 @@\n-one\n+1\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n",
                "another file begins",
            ),
            ("nothing", "no hunk"),
        ] {
            let said = done(OLD, patch).unwrap_err();
            assert!(said.contains(words), "{patch:?}: {said}");
        }
        let said = done("a\nb\na\nb\n", "@@ @@\n-a\n+c\n").unwrap_err();
        assert!(said.contains("more than once"), "{said}");
    }

    #[test]
    fn the_report_tells_where_and_how_far_off() {
        let done = apply_hunks(
            OLD,
            "@@ -1 +1 @@\n-three\n+3\n@@ -3,0 +3 @@\n+x\n@@ -6 +6 @@\n-eight\n",
            "n",
        )
        .unwrap();
        assert_eq!(
            done.report,
            [
                "hunk 1 at line 3: 1 removed, 1 added, found 2 lines further down",
                "hunk 2 at line 6: 0 removed, 1 added, found 2 lines further down",
                "hunk 3 at line 8: 1 removed, 0 added, found 2 lines further down"
            ]
        );
        assert_eq!(done.text, "one\ntwo\n3\nfour\nfive\nx\nsix\nseven\n");
    }

    /// Lines with and without a break at the end.
    fn text() -> impl Strategy<Value = String> {
        (
            proptest::collection::vec("[ab@+ -]{0,3}", 0..14),
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(|(lines, ends, crlf)| {
                let end = if crlf { "\r\n" } else { "\n" };
                let mut text = lines.join(end);
                if ends && !text.is_empty() {
                    text.push_str(end);
                }
                text
            })
    }

    fn with_breaks_of(old: &str, new: &str) -> String {
        let flat = new.replace("\r\n", "\n");
        if old.contains("\r\n") {
            flat.replace('\n', "\r\n")
        } else {
            flat
        }
    }

    #[test]
    fn a_page_of_empty_lines_behind_a_hunk_costs_no_time() {
        let old = "a\n".to_owned() + &"\n".repeat(20_000) + "x\n";
        let begun = std::time::Instant::now();
        let done = apply_hunks(
            &old,
            &format!("@@\n-x\n+y\n{}", "\n".repeat(20_000)),
            "n.md",
        );
        assert_eq!(done.unwrap().text, old.replace('x', "y"));
        let none = apply_hunks(
            &old,
            &format!("@@ -1 +1 @@\n-z\n{}", " \n".repeat(20_000)),
            "n.md",
        );
        assert!(none.is_err());
        let hunks: String = (0..3_000).map(|_| "@@ -1 +1 @@\n- \n+b\n").collect();
        assert!(apply_hunks(&old, &hunks, "n.md").is_ok());
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    proptest! {
        #[test]
        fn a_diff_turns_the_old_text_into_the_new_one(old in text(), new in text(), radius in 0usize..4) {
            let new = with_breaks_of(&old, &new);
            prop_assume!(old != new && old.contains("\r\n") == new.contains("\r\n"));
            let patch = similar::TextDiff::from_lines(&old, &new).unified_diff().context_radius(radius).to_string();
            prop_assert_eq!(done(&old, &patch), Ok(new), "{}", patch);
        }

        #[test]
        fn a_diff_of_distinct_lines_fits_after_lines_were_put_before(count in 1usize..12, at in 0usize..12, above in 0usize..9) {
            let old: String = (0..count).map(|n| format!("line {n}\n")).collect();
            let new = old.replace(&format!("line {}\n", at % count), "new\n");
            let patch = similar::TextDiff::from_lines(&old, &new).unified_diff().to_string();
            let head = "head\n".repeat(above);
            prop_assert_eq!(done(&format!("{head}{old}"), &patch), Ok(format!("{head}{new}")));
        }

        #[test]
        fn any_text_gives_an_answer(old in text(), lines in proptest::collection::vec("(@@( -[0-9]{1,3}(,[0-9])? [+][0-9](,[0-9])? @@)?|[ +\\\\-][ab ]{0,2}|--- a|[+]{3} b|```|\\PC{0,4})", 0..10)) {
            let _ = done(&old, &lines.join("\n"));
        }
    }
}
