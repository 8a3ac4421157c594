//! An answer as it is spoken: links become words, markup goes. What is printed is never changed like this.

mod inline;
mod links;
pub(crate) mod stream;
mod table;

use std::borrow::Cow;

use table::Table;

/// Highest number of a list; beyond it, a number at the start of a line is a year or a count.
const MAX_LIST_NUMBER: u32 = 99;
/// Characters of an underline below a heading.
const MIN_UNDERLINE: usize = 3;

pub(crate) fn spoken(answer: &str) -> String {
    let mut cleaner = LineCleaner::default();
    let lines: Vec<Cow<'_, str>> = answer.split('\n').map(links::in_words).collect();
    let has_number: Vec<bool> = lines.iter().map(|line| has_number(line)).collect();
    let at = |i: Option<usize>| {
        i.and_then(|i| has_number.get(i))
            .copied()
            .unwrap_or_default()
    };
    let out = lines.iter().enumerate().filter_map(|(i, line)| {
        // At least two entries make a list.
        let is_entry = at(Some(i)) && (at(i.checked_sub(1)) || at(Some(i + 1)));
        cleaner.line(line, is_entry)
    });
    out.collect::<Vec<String>>().join("\n")
}

/// Cleans the lines of an answer one after the other.
#[derive(Debug, Default)]
struct LineCleaner {
    /// The mark of the block of code that is open.
    fence: Option<&'static str>,
    previous_is_text: bool,
    table: Table,
}

impl LineCleaner {
    /// A line, with its links in words already, as it is spoken; `None` if it is only markup. `is_entry` says that it belongs to a numbered list.
    fn line(&mut self, line: &str, is_entry: bool) -> Option<String> {
        let trimmed = line.trim();
        if let Some(mark) = self.fence {
            return match trimmed.strip_prefix(mark) {
                Some(rest) if rest.trim_matches(['`', '~']).is_empty() => {
                    self.fence = None;
                    None
                }
                _ => Some(line.to_owned()),
            };
        }
        if let Some(mark) = opening_fence(trimmed) {
            self.fence = Some(mark);
            return None;
        }
        if let Some(row) = self.table.row(trimmed) {
            self.previous_is_text = false;
            return row.map(|row| inline::plain(&row));
        }
        if self.previous_is_text && is_underline(trimmed) {
            self.previous_is_text = false;
            return None;
        }
        self.previous_is_text = !trimmed.is_empty();
        Some(inline::plain(without_marker(line, is_entry)))
    }
}

/// The mark that opens a block of code.
fn opening_fence(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|mark| {
        line.strip_prefix(mark)
            .is_some_and(|language| !language.contains('`'))
    })
}

fn is_underline(line: &str) -> bool {
    line.len() >= MIN_UNDERLINE
        && ["=", "-"]
            .iter()
            .any(|mark| line.trim_start_matches(mark).is_empty())
}

fn has_number(line: &str) -> bool {
    after_number(line).is_some()
}

/// What follows the number of a list entry.
fn after_number(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let digits = line.bytes().take(4).take_while(u8::is_ascii_digit).count();
    let (number, rest) = line.split_at_checked(digits)?;
    let rest = rest.strip_prefix(['.', ')'])?;
    let is_entry = rest.starts_with([' ', '\t'])
        && number
            .parse::<u32>()
            .is_ok_and(|number| number <= MAX_LIST_NUMBER);
    is_entry.then(|| rest.trim_start())
}

/// A line without the marks of quotes, headings, bullets and, in a list, numbers at its start.
fn without_marker(line: &str, is_numbered: bool) -> &str {
    let mut text = line;
    while let Some(quoted) = text.trim_start().strip_prefix('>') {
        text = quoted.strip_prefix(' ').unwrap_or(quoted);
    }
    let start = text.trim_start();
    let hashes = start.bytes().take_while(|b| *b == b'#').count();
    if let Some(heading) = start.get(hashes..).filter(|_| (1..=6).contains(&hashes))
        && (heading.is_empty() || heading.starts_with([' ', '\t']))
    {
        return heading.trim_start();
    }
    if let Some(entry) = start.strip_prefix(['-', '*', '+'])
        && entry.starts_with([' ', '\t'])
    {
        return entry.trim_start();
    }
    if is_numbered && let Some(entry) = after_number(start) {
        return entry;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::assert_linear;
    use proptest::prelude::*;

    #[test]
    fn links_become_words() {
        for (text, want) in [
            (
                "See [the timetable](https://www.ferries.example/times?day=1).",
                "See Link to a page under ferries.example with the text 'the timetable'.",
            ),
            (
                "[Ferries](http://FERRIES.example)",
                "Link to FERRIES.example homepage with the text 'Ferries'",
            ),
            (
                "[mill](https://wiki.example/Mill_(building))",
                "Link to a page under wiki.example with the text 'mill'",
            ),
            ("[mail](mailto:a@b.example) [up](#top)", "mail up"),
            ("![a boat](https://x.example/b.png)", "a boat"),
            ("<https://x.example/b>", "a page under x.example"),
            (
                "at https://x.example:8080/, www.y.example/z!",
                "at x.example homepage, a page under y.example!",
            ),
            ("(see https://x.example/a)", "(see https://x.example/a)"),
            ("(https://x.example/a)", "a page under x.example"),
            ("[www.x.example] is it", "x.example homepage is it"),
            ("( https://x.example/a", "( a page under x.example"),
            (
                "awww.such nonsense https:// and www.",
                "awww.such nonsense https:// and www.",
            ),
            ("訪問https://x.example/a。", "訪問a page under x.example。"),
            (
                "[no link] (https://x.example)",
                "[no link] x.example homepage",
            ),
        ] {
            assert_eq!(spoken(text), want);
        }
    }

    #[test]
    fn markup_goes_and_words_stay() {
        for (text, want) in [
            (
                "**Two** boats, *one* day, __no__ ~~rain~~.",
                "Two boats, one day, no rain.",
            ),
            (
                "**bold with *both* and `code*d*`**",
                "bold with both and code*d*",
            ),
            (
                "snake_case_name and _this_, 4 * 5 * 6, 4*5*6",
                "snake_case_name and this, 4 * 5 * 6, 4*5*6",
            ),
            ("a ** b ** c, 2 ** 3", "a ** b ** c, 2 ** 3"),
            ("*open, _open, **open, `open", "*open, _open, **open, `open"),
            (
                "Vec<String> <em>x</em><br/> 1 < 2 > 0",
                "Vec<String> x 1 < 2 > 0",
            ),
            (
                "```rust\nlet a = b * c * d; // **x**\n```\nafter",
                "let a = b * c * d; // **x**\nafter",
            ),
            ("before\n```\n*half* a fence", "before\n*half* a fence"),
            (
                "## Boats\n> - first\n>> second\n+ third\n#tag -dash",
                "Boats\nfirst\nsecond\nthird\n#tag -dash",
            ),
            ("Boats\n-----\nrow\n\n-----", "Boats\nrow\n\n-----"),
            ("where a<b and c>d, or a < b", "where a<b and c>d, or a < b"),
            ("<a href=\"x\">a boat</a>, <br />", "a boat, "),
            (
                "| Town | Height |\n|---|--:|\n| **Wick** | 12 m |\n| Thurso | |\nBoth are small.",
                "Town: Wick, Height: 12 m.\nTown: Thurso.\nBoth are small.",
            ),
            ("| Town | Height |\n|---|---|", ""),
            ("|x| is a size.", "|x| is a size."),
            ("1. one\n2. two\n\n3. alone", "one\ntwo\n\n3. alone"),
            ("7) one\n8) two", "one\ntwo"),
            ("100. one\n101. two", "100. one\n101. two"),
            ("1.5 km\n2.5 km", "1.5 km\n2.5 km"),
            ("*東京*と**大阪**", "東京と大阪"),
            ("", ""),
        ] {
            assert_eq!(spoken(text), want);
        }
    }

    #[test]
    fn time_grows_with_the_length_and_no_faster() {
        let texts = |len: usize| -> Vec<String> {
            let pieces = [
                "*",
                "**a",
                "_a ",
                "`",
                "[",
                "[a](",
                "(",
                "<",
                "<b",
                "www.",
                "http://",
                "~~",
                "1. ",
                "1.\n",
                "> ",
                "a*\n",
                "](http://a",
            ];
            pieces
                .iter()
                .map(|piece| piece.repeat(len / piece.len()))
                .collect()
        };
        assert_linear(texts, |text| {
            spoken(text);
        });
    }

    proptest! {
        #[test]
        fn prose_without_markup_is_spoken_as_it_is(text in "[\\p{L}0-9 ,.!?'\u{4e00}-\u{4e20}]{0,60}") {
            prop_assume!(!text.to_lowercase().contains("www."));
            prop_assert_eq!(spoken(&text), text);
        }

        #[test]
        fn anything_can_be_spoken(text in "([*_~`<>\\[\\]()#=\n -]|https?://|www\\.|\\PC){0,60}") {
            spoken(&text);
        }
    }
}
