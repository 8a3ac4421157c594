//! The output of the tests: its end, and how many tests it says were executed.

use std::collections::VecDeque;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use crate::base::text::{clip, tail};

/// Bytes of the output's end that a child is shown.
const SHOWN_BYTES: usize = 12_000;
/// Characters of one line of output that are kept.
const MAX_LINE_CHARS: usize = 2_000;

/// The end of the output, and the tests that it tells of.
#[derive(Default)]
pub(super) struct TestOutput {
    lines: VecDeque<String>,
    kept: usize,
    counted: i64,
    /// What lines say that are no totals; the totals say the same better.
    hinted: i64,
    /// Every test has a line of its own.
    is_verbose: bool,
}

impl TestOutput {
    pub(super) fn line(&mut self, bytes: &[u8]) {
        // No line that counts is long, and a long one need not be decoded.
        let bytes = bytes.get(..MAX_LINE_CHARS * 4).unwrap_or(bytes);
        let line = clip(String::from_utf8_lossy(bytes).trim_end(), MAX_LINE_CHARS);
        self.counted = self.counted.saturating_add(counted(&line));
        self.hinted = self.hinted.saturating_add(hinted(&line));
        // go test -v
        self.is_verbose |= line.starts_with("=== RUN ");
        self.kept += line.len() + 1;
        self.lines.push_back(line);
        while self.kept > 2 * SHOWN_BYTES
            && let Some(first) = self.lines.pop_front()
        {
            self.kept -= first.len() + 1;
        }
    }

    /// Tests that were executed.
    pub(super) fn executed(&self) -> u64 {
        let hinted = if self.is_verbose { 0 } else { self.hinted };
        let counted = if self.counted > 0 {
            self.counted
        } else {
            hinted
        };
        counted.try_into().unwrap_or_default()
    }

    pub(super) fn end(self) -> String {
        let text = Vec::from(self.lines).join("\n");
        tail(&text, SHOWN_BYTES).to_owned()
    }
}

/// Tests that a line of output says were executed, less those that it says were not: lines with totals of the common test programs. Suites and files are
/// no tests, and skipped ones were not executed.
fn counted(line: &str) -> i64 {
    // Digits and letters of ASCII: those of all of Unicode took more than a megabyte for as long as the run lasts. The group `skipped` is subtracted.
    static TOTALS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = [
            // cargo: test result: FAILED. 3 passed; 1 failed; 0 ignored; …
            r"^test result: [A-Za-z]+\. ([0-9]+) passed; ([0-9]+) failed;",
            // cargo nextest:     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped
            r"^ *Summary \[[^\]]*\] ([0-9]+)(?:/[0-9]+)? tests? run:",
            // pytest: ==== 1 failed, 3 passed in 0.12s ====
            r"^=* ?(?:([0-9]+) failed)?(?:, )?(?:([0-9]+) passed)?(?:, [^=]*)? in [0-9.]+s",
            // unittest: Ran 3 tests in 0.001s, and below it OK (skipped=1)
            r"^Ran ([0-9]+) tests? in ",
            r"^(?:OK|FAILED) \((?:[a-z ]+=[0-9]+, )*skipped=(?P<skipped>[0-9]+)",
            // node:test: ℹ pass 3, # fail 1
            r"^(?:#|(?u:ℹ)) (?:pass|fail) ([0-9]+)$",
            // bun:  3 pass
            r"^[ \t]*([0-9]+) (?:pass|fail)$",
            // deno: ok | 3 passed (2 steps) | 0 failed (5ms)
            r"^(?:ok|FAILED) \| ([0-9]+) passed(?: \([^)]*\))? \| ([0-9]+) failed",
            // dotnet: Passed!  - Failed:     0, Passed:     3, Skipped: …
            r"^(?:Passed|Failed)! +- Failed: +([0-9]+), Passed: +([0-9]+),",
            // PHPUnit
            r"^(?:OK \(|Tests: )([0-9]+)(?: tests?)?, (?:[0-9]+ assertions?|Assertions: [0-9]+)(?:.*, Skipped: (?P<skipped>[0-9]+))?",
            // jest, vitest: Tests:  1 failed, 1 skipped, 3 passed, 5 total
            r"^[ \t]*Tests:? +(?:[0-9]+ (?:skipped|todo|pending)[,|]? *\|? *)*(?:([0-9]+) failed[,|]? *\|? *)?(?:[0-9]+ (?:skipped|todo|pending)[,|]? *\|? *)*(?:([0-9]+) passed)?",
            // mocha, AVA: 3 passing (10ms), 1 failing
            r"^[ \t]*([0-9]+) (?:passing|failing)(?-u:\b)",
            // go test -v: a line for each test
            r"^()--- (?:PASS|FAIL): \S",
            // TAP of bats, prove and scripts: a line for each test; one that was skipped was not executed
            r"^()(?:not )?ok (?:- [^#]+|[0-9]+(?: [^#]*)?)$",
            // GoogleTest: [  PASSED  ] 3 tests.
            r"^\[  (?:PASSED|FAILED)  \] ([0-9]+) tests?[.,]",
            // XCTest: Executed 3 tests, with 1 test skipped and 0 failures
            r"^[ \t]*Executed ([0-9]+) tests?, with (?:(?P<skipped>[0-9]+) tests? skipped and )?[0-9]+ failures?",
            // RSpec, minitest, test-unit, ExUnit, Jasmine: 3 examples, 0 failures, 1 pending
            r"^(?:[0-9]+ (?:doctests?|properties|property), )?([0-9]+) (?:tests?|runs|examples?|specs?),(?: [0-9]+ assertions?,)? [0-9]+ failures?(?:, [0-9]+ errors?)?(?:[a-z0-9 ,]*?, (?P<skipped>[0-9]+) (?:skip|pending|excluded))?",
            // Maven, and CTest with a line for each test that was not executed
            r"^(?:\[[A-Za-z]+\] )?Tests run: ([0-9]+), Failures: [0-9]+, Errors: [0-9]+, Skipped: (?P<skipped>[0-9]+)$",
            r"^[0-9]+% tests passed, [0-9]+ tests? failed out of ([0-9]+)$",
            r"^(?P<skipped>)[ \t]*[0-9]+ - .*\(Skipped\)$",
            // cucumber: 3 scenarios (3 passed)
            r"^([0-9]+) scenarios? \(",
            // Anything else that says it plainly: 12 tests passed, All 3 tests passed, 3 passed
            r"^[ \t]*(?:All )?([0-9]+) (?:tests? )?(?:passed|failed)(?-u:\b)",
            r"(?:^|[ \t|,(])([0-9]+) (?:tests?|scenarios?|specs?|examples?) passed(?-u:\b)",
        ];
        patterns.iter().filter_map(|text| of_bytes(text)).collect()
    });
    let is_of_a_test = ["--- ", "ok - ", "not ok - "].map(|mark| line.starts_with(mark));
    if !line.contains(|c: char| c.is_ascii_digit()) && !is_of_a_test.contains(&true) {
        return 0;
    }
    let line = without_colors(line);
    let found = TOTALS
        .iter()
        .find_map(|pattern| Some((pattern, pattern.captures(line.as_bytes())?)));
    let Some((pattern, totals)) = found else {
        return 0;
    };
    let groups = pattern.capture_names().zip(totals.iter()).skip(1);
    let counts = groups.filter_map(|(name, count)| {
        let digits = std::str::from_utf8(count?.as_bytes()).unwrap_or("0");
        let count = match digits {
            // A group that is empty stands for one test.
            "" => 1,
            digits => digits.parse().unwrap_or(0),
        };
        Some(if name.is_some() { -count } else { count })
    });
    counts.fold(0, i64::saturating_add)
}

/// A pattern of bytes: even "anything but" is a large class where characters are meant.
fn of_bytes(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}

/// Tests that a line tells of where there are no totals: a package that go tested, or the dots of a quiet pytest.
fn hinted(line: &str) -> i64 {
    static PACKAGE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let pattern = r"^ok[ \t]+\S+[ \t]+(?:[0-9.]+s|\(cached\))(?:[ \t]+coverage: .*)?$";
        of_bytes(pattern)
    });
    let line = line.trim_end();
    let is_package = |ok: &Regex| ok.is_match(line.as_bytes());
    if line.starts_with("ok ") && PACKAGE.as_ref().is_some_and(is_package) {
        return 1;
    }
    let marks = line
        .strip_suffix("%]")
        .and_then(|line| line.rsplit_once('['));
    let marks = marks.map_or("", |(marks, _)| marks.trim_end());
    match marks.chars().all(|c| ".FEsxX".contains(c)) {
        true => marks.matches(['.', 'F']).count().try_into().unwrap_or(0),
        false => 0,
    }
}

/// A line without the sequences that colour it.
fn without_colors(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after
            .split_once(|c: char| c.is_ascii_alphabetic())
            .map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executed(lines: &[&str]) -> u64 {
        let mut output = TestOutput::default();
        for line in lines {
            output.line(line.as_bytes());
        }
        output.executed()
    }

    #[test]
    fn what_other_lines_say_was_skipped_is_taken_off() {
        for (lines, count) in [
            (&["Ran 3 tests in 0.001s", "", "OK (skipped=3)"][..], 0),
            (&["Ran 3 tests in 0.001s", "OK"], 3),
            (
                &["Ran 4 tests in 0.001s", "FAILED (failures=1, skipped=2)"],
                2,
            ),
            (
                &[
                    "100% tests passed, 0 tests failed out of 2",
                    "\t1 - a (Skipped)",
                    "\t2 - b (Skipped)",
                ],
                0,
            ),
            // The totals, and not the dots besides.
            (&["...   [100%]", "==== 3 passed in 0.1s ===="], 3),
            (
                &[
                    "=== RUN   TestA",
                    "--- SKIP: TestA (0.00s)",
                    "ok  \ta\t0.1s",
                ],
                0,
            ),
        ] {
            assert_eq!(executed(lines), count, "{lines:?}");
        }
    }

    #[test]
    fn totals_of_the_common_test_programs_are_read() {
        for (line, count) in [
            (
                "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
                3,
            ),
            (
                "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
                5,
            ),
            (
                "test result: ok. 0 passed; 0 failed; 4 ignored; 0 measured; 2 filtered out",
                0,
            ),
            ("running 3 tests", 0),
            ("============ 3 passed in 0.12s ============", 3),
            ("======= 1 failed, 3 passed, 1 warning in 0.12s =======", 4),
            ("1 failed in 0.01s", 1),
            ("==== no tests ran in 0.01s ====", 0),
            ("==== 2 skipped in 0.01s ====", 0),
            ("Ran 3 tests in 0.001s", 3),
            ("Ran 0 tests in 0.000s", 0),
            ("# pass 3", 3),
            ("ℹ fail 1", 1),
            ("# tests 3", 0),
            ("Tests:       1 failed, 3 passed, 4 total", 4),
            ("Test Suites: 1 failed, 1 passed, 2 total", 0),
            ("      Tests  3 passed (3)", 3),
            (" Test Files  1 passed (1)", 0),
            ("  3 passing (10ms)", 3),
            ("\u{1b}[32m  3 passing\u{1b}[0m", 3),
            ("--- PASS: TestA (0.00s)", 1),
            ("    --- PASS: TestA/sub (0.00s)", 0),
            ("3 examples, 1 failure", 3),
            ("OK (3 tests, 5 assertions)", 3),
            ("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0", 3),
            ("100% tests passed, 0 tests failed out of 3", 3),
            ("12 tests passed", 12),
            ("All 2 tests passed.", 2),
            ("ok 1 - doubles", 1),
            ("not ok 2 doubles", 1),
            ("ok 3", 1),
            ("ok 4 - doubles # skip no network", 0),
            ("1..4", 0),
            ("ok - words", 1),
            ("not ok - nothing", 1),
            ("[  PASSED  ] 3 tests.", 3),
            ("[  FAILED  ] 1 test, listed below:", 1),
            ("ok  \texample.com/a\t0.003s", 1),
            (
                "ok  \texample.com/a\t(cached)\tcoverage: 80.0% of statements",
                1,
            ),
            ("ok  \texample.com/a\t0.003s [no tests to run]", 0),
            (
                "     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped",
                3,
            ),
            (" 3 pass", 3),
            ("ok | 3 passed (2 steps) | 1 failed (5ms)", 4),
            (
                "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 4 ms - a.dll (net8.0)",
                3,
            ),
            ("3 tests, 0 failures", 3),
            ("2 doctests, 3 tests, 0 failures, 1 excluded", 2),
            ("3 runs, 5 assertions, 0 failures, 0 errors, 0 skips", 3),
            ("3 runs, 0 assertions, 0 failures, 0 errors, 3 skips", 0),
            (
                "3 tests, 3 assertions, 0 failures, 0 errors, 1 pendings, 0 omissions",
                2,
            ),
            (
                "Executed 3 tests, with 0 failures (0 unexpected) in 0.005 (0.006) seconds",
                3,
            ),
            ("3 specs, 0 failures", 3),
            ("3 examples, 0 failures, 3 pending", 0),
            ("Tests:       1 todo, 3 passed, 4 total", 3),
            ("Tests:       1 skipped, 1 todo, 3 passed, 5 total", 3),
            ("Tests:       1 failed, 2 skipped, 3 passed, 6 total", 4),
            ("3 scenarios passed, 0 failed, 0 skipped", 3),
            ("3 scenarios (3 passed)", 3),
            ("Test run with 3 tests passed after 0.1 seconds.", 3),
            ("..F   [100%]", 3),
            ("sss   [100%]", 0),
            ("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 3", 0),
            ("Tests: 3, Assertions: 0, Skipped: 3.", 0),
            ("server listening on port 3 passed", 0),
            ("?   \texample.com/a\t[no test files]", 0),
            ("compiled in 3.0s", 0),
            ("", 0),
        ] {
            assert_eq!(executed(&[line]), count, "{line}");
        }
    }

    #[test]
    fn only_the_end_of_long_output_is_kept() {
        let mut output = TestOutput::default();
        for number in 0..100_000 {
            output.line(format!("line {number}").as_bytes());
        }
        output.line(&vec![b'x'; 16 << 20]);
        assert!(output.kept < 3 * SHOWN_BYTES);
        let end = output.end();
        assert!(
            end.len() <= SHOWN_BYTES && end.contains("line 99999"),
            "{end}"
        );
    }
}
