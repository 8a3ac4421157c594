//! An answer as it is spoken, sentence by sentence, while it arrives.

use super::{LineCleaner, has_number, inline, links, opening_fence};

/// A line without an end of a sentence is cut after so many bytes: it would never be spoken, and is searched with each piece that arrives.
const MAX_OPEN_BYTES: usize = 1_000;
/// Longest text that is spoken at once, in bytes.
const MAX_SENTENCE_BYTES: usize = 400;
/// A sentence of the first words alone is worth its own start.
const MIN_SENTENCE_CHARS: usize = 12;
/// A word of at most this length before a period is taken for an abbreviation if it begins with a capital: Dr., Mrs., No.
const ABBREVIATION_CHARS: usize = 3;

/// Cleans an answer and cuts it into sentences.
///
/// A sentence in the middle of a line is spoken before the line is complete only where no markup is open, so that the whole line would be cleaned alike.
#[derive(Debug, Default)]
pub(crate) struct SpeechStream {
    cleaner: LineCleaner,
    /// What has arrived of the current line and is not cleaned yet.
    open: String,
    /// The beginning of the current line is cleaned already.
    mid_line: bool,
    /// A line that begins with a number: the next one tells whether it belongs to a list.
    held: Option<String>,
    previous_has_number: bool,
}

impl SpeechStream {
    /// Adds what arrived; returns the sentences that are complete.
    pub(crate) fn push(&mut self, piece: &str) -> Vec<String> {
        let mut out = Vec::new();
        let mut parts = piece.split('\n');
        self.open.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let line = std::mem::replace(&mut self.open, part.to_owned());
            self.end_line(line, &mut out);
        }
        while let Some(at) = self.cut() {
            let rest = self.open.split_off(at);
            let part = std::mem::replace(&mut self.open, rest);
            self.part_of_line(&part, &mut out);
        }
        out
    }

    /// What is left at the end of the answer, or before tools are called.
    pub(crate) fn finish(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        let line = std::mem::take(&mut self.open);
        self.end_line(line, &mut out);
        self.release(false, &mut out);
        *self = Self::default();
        out
    }

    /// A line, or its rest, is complete.
    fn end_line(&mut self, line: String, out: &mut Vec<String>) {
        if std::mem::take(&mut self.mid_line) {
            self.rest_of_line(&line, out);
            return;
        }
        let line = links::in_words(&line).into_owned();
        let is_numbered = has_number(&line);
        self.release(is_numbered, out);
        if is_numbered && !self.previous_has_number {
            self.held = Some(line);
        } else {
            let line = self.cleaner.line(&line, is_numbered);
            out.extend(line.iter().flat_map(|line| sentences(line)));
        }
        self.previous_has_number = is_numbered;
    }

    /// Cleans the line that was held back; `is_list` says that the next one has a number too.
    fn release(&mut self, is_list: bool, out: &mut Vec<String>) {
        if let Some(line) = self.held.take() {
            let line = self.cleaner.line(&line, is_list);
            out.extend(line.iter().flat_map(|line| sentences(line)));
        }
    }

    /// Cleans sentences of a line that is not complete.
    fn part_of_line(&mut self, part: &str, out: &mut Vec<String>) {
        if std::mem::replace(&mut self.mid_line, true) {
            self.rest_of_line(part, out);
            return;
        }
        self.release(false, out);
        self.previous_has_number = false;
        let line = self.cleaner.line(&links::in_words(part), false);
        out.extend(line.iter().flat_map(|line| sentences(line)));
    }

    /// What follows the beginning of a line has no marks of its own.
    fn rest_of_line(&self, rest: &str, out: &mut Vec<String>) {
        if self.cleaner.fence.is_some() {
            out.extend(sentences(rest));
        } else {
            out.extend(sentences(&inline::plain(&links::in_words(rest))));
        }
    }

    /// Where the current line can be cut: after the last complete sentence.
    fn cut(&self) -> Option<usize> {
        let line = self.open.as_str();
        let is_marked = !self.mid_line && {
            let start = line.trim_start();
            // Whether this is a fence or an entry of a list is known at the end of the line.
            opening_fence(start).is_some() || has_number(start) || start.len() < 4
        };
        if self.cleaner.fence.is_none() && !is_marked {
            let ends = sentence_ends(line).filter(|at| {
                let before = line.get(..*at).unwrap_or_default();
                is_closed(before)
            });
            if let Some(at) = ends.last() {
                return Some(at);
            }
        }
        (line.len() > MAX_OPEN_BYTES).then(|| {
            let near = line.floor_char_boundary(MAX_OPEN_BYTES);
            let blank = line.get(..near).and_then(|near| near.rfind(' '));
            blank.filter(|at| *at > 0).unwrap_or(near)
        })
    }
}

/// True when no markup is open at the end of `text`, as far as a count can tell.
fn is_closed(text: &str) -> bool {
    let count = |mark: char| text.matches(mark).count();
    let is_even = |mark: char| run_count(text, mark).is_multiple_of(2);
    ['*', '_', '`', '~'].into_iter().all(is_even)
        && [('[', ']'), ('(', ')'), ('<', '>')]
            .into_iter()
            .all(|(open, close)| count(open) == count(close))
}

/// How many runs of `mark` there are.
fn run_count(text: &str, mark: char) -> usize {
    let mut previous = None;
    let mut count = 0;
    for c in text.chars() {
        count += usize::from(c == mark && previous != Some(mark));
        previous = Some(c);
    }
    count
}

/// Where sentences end that something follows: behind the punctuation, before the blank.
fn sentence_ends(text: &str) -> impl Iterator<Item = usize> {
    let mut last = 0;
    let ends = text.char_indices().filter_map(|(at, c)| {
        let end = at + c.len_utf8();
        match c {
            '。' | '！' | '？' => Some(end),
            '.' | '!' | '?' | '…' => {
                let rest = text.get(end..)?;
                let after =
                    rest.trim_start_matches(['"', '\'', '”', '’', '»', ')', ']', '*', '_', '`']);
                let next = after.trim_start();
                let begins = !next.starts_with(char::is_lowercase) && !next.is_empty();
                let is_apart = next.len() < after.len();
                let is_end = is_apart && begins && (c != '.' || !is_abbreviation(text.get(..at)?));
                is_end.then(|| end + rest.len() - after.len())
            }
            _ => None,
        }
    });
    ends.filter(move |end| {
        let chars = text.get(last..*end).unwrap_or_default().chars();
        let is_long = chars.count() >= MIN_SENTENCE_CHARS;
        if is_long {
            last = *end;
        }
        is_long
    })
    .collect::<Vec<_>>()
    .into_iter()
}

/// True when the period after `text` belongs to its last word.
fn is_abbreviation(text: &str) -> bool {
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    let count = word.chars().count();
    word.contains('.')
        || (count == 1 && word.chars().all(char::is_alphabetic))
        || (count <= ABBREVIATION_CHARS && word.starts_with(char::is_uppercase))
}

/// Clean text in pieces that are spoken at once; what has nothing to say is left out.
fn sentences(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut from = 0;
    for end in sentence_ends(text).chain([text.len()]) {
        let mut rest = text.get(from..end).unwrap_or_default().trim();
        from = end;
        while rest.len() > MAX_SENTENCE_BYTES {
            let near = rest.floor_char_boundary(MAX_SENTENCE_BYTES);
            let blank = rest.get(..near).and_then(|near| near.rfind(' '));
            let (first, after) = rest.split_at(blank.filter(|at| *at > 0).unwrap_or(near));
            out.push(first.trim().to_owned());
            rest = after.trim_start();
        }
        out.push(rest.to_owned());
    }
    out.retain(|sentence| sentence.contains(char::is_alphanumeric));
    out
}

#[cfg(test)]
mod tests {
    use super::super::spoken;
    use super::*;
    use crate::base::cpu_time::CpuTime;
    use proptest::prelude::*;
    use std::time::Duration;

    fn streamed(pieces: &[&str]) -> Vec<Vec<String>> {
        let mut stream = SpeechStream::default();
        let mut out: Vec<Vec<String>> = pieces.iter().map(|piece| stream.push(piece)).collect();
        out.push(stream.finish());
        out
    }

    fn all(text: &str) -> Vec<String> {
        streamed(&[text]).concat()
    }

    #[test]
    fn a_sentence_is_spoken_as_soon_as_the_next_one_begins() {
        let got = streamed(&[
            "The tide is",
            " high now. ",
            "It fal",
            "ls at six.",
            " Bring boots",
            ".",
        ]);
        let want: [&[&str]; 7] = [
            &[],
            &[],
            &["The tide is high now."],
            &[],
            &["It falls at six."],
            &[],
            &["Bring boots."],
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn abbreviations_numbers_and_lower_case_do_not_end_a_sentence() {
        for text in [
            "Ask Dr. Reed or Mrs. Fenn about it.",
            "It weighs 3.5 kg, i.e. little more than nothing.",
            "In the U.S. Navy it is different, they say.",
            "She asked \"why now?\" and left the room at once.",
            "Version 2.0.1 came out on 3.4.2021 in Berlin.",
        ] {
            assert_eq!(all(text), [text]);
        }
        assert_eq!(
            all(
                "He said \"it is late.\" Then he left. 東京は大きいですよとても。大阪も大きいですよとても。"
            ),
            [
                "He said \"it is late.\"",
                "Then he left.",
                "東京は大きいですよとても。",
                "大阪も大きいですよとても。"
            ]
        );
    }

    #[test]
    fn markup_is_never_cut() {
        assert_eq!(
            all(
                "**First this one. And then that.** See [the page. Really](https://x.example/a). Done it is now."
            ),
            [
                "First this one.",
                "And then that.",
                "See Link to a page under x.example with the text 'the page.",
                "Really'. Done it is now."
            ]
        );
        let got = streamed(&["Say **it is late. ", "Go home** now. Good night to you."]);
        assert_eq!(
            got.concat(),
            ["Say it is late.", "Go home now.", "Good night to you."]
        );
        assert!(got[0].is_empty());
    }

    #[test]
    fn lists_headings_and_code_are_spoken_line_by_line() {
        let got = streamed(&[
            "# Tea\n\n1. Boil",
            " water\n",
            "2. Wait\n\n3. alone\n",
            "```sh\nls -l\n",
            "```\n- last",
            "\nText\n----\n***\n",
        ]);
        let want: [&[&str]; 7] = [
            &["Tea"],
            &[],
            &["Boil water", "Wait"],
            &["3. alone", "ls -l"],
            &[],
            &["last", "Text"],
            &[],
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn long_texts_are_cut_between_words() {
        let text = "word ".repeat(1_000);
        let got = streamed(&[&text]);
        assert!(got[0].len() > 5, "it waits for the end");
        for sentence in got.concat() {
            assert!(sentence.len() <= MAX_SENTENCE_BYTES && !sentence.contains("wordword"));
        }
    }

    #[test]
    fn a_line_without_an_end_takes_time_by_its_length() {
        let time = |len: usize| {
            let start = CpuTime::now();
            let mut stream = SpeechStream::default();
            for _ in 0..len {
                stream.push("*a_");
            }
            stream.finish();
            start.elapsed()
        };
        let short = (0..5).map(|_| time(2_000)).min().unwrap();
        let long = time(20_000);
        assert!(
            long < short * 10 * 4 + Duration::from_millis(50),
            "{short:?}, then {long:?}"
        );
    }

    /// What is heard of a text: its letters and digits.
    fn heard(text: &str) -> String {
        text.chars().filter(|c| c.is_alphanumeric()).collect()
    }

    fn line() -> impl Strategy<Value = String> {
        let words = "[a-z]{3,9}( [a-z]{2,9}){1,5}";
        prop_oneof![
            3 => (words, words).prop_map(|(a, b)| format!("The {a}. Then **{b}**. It ends `here`.")),
            1 => words.prop_map(|a| format!("- {a}")),
            2 => (1u8..99, words).prop_map(|(n, a)| format!("{n}. {a}")),
            1 => words.prop_map(|a| format!("## {a}")),
            1 => words.prop_map(|a| format!("See [{a}. Really](https://x.example/{a}) now. It is _good_.").replace(' ', " ")),
            1 => words.prop_map(|a| format!("```\n*{a}. Or [so\n1. x\n```")),
            1 => Just("-----".to_owned()),
            1 => Just(String::new()),
        ]
    }

    proptest! {
        #[test]
        fn a_stream_says_what_the_whole_answer_says(
            lines in proptest::collection::vec(line(), 0..8), sizes in proptest::collection::vec(1usize..30, 1..20)
        ) {
            let text = lines.join("\n");
            let mut stream = SpeechStream::default();
            let mut said = Vec::new();
            let mut rest = text.as_str();
            for size in sizes.iter().cycle() {
                let (piece, after) = rest.split_at(rest.floor_char_boundary(*size));
                said.extend(stream.push(piece));
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            said.extend(stream.finish());
            prop_assert_eq!(heard(&said.concat()), heard(&spoken(&text)), "{}", text);
        }

        #[test]
        fn anything_can_be_streamed(pieces in proptest::collection::vec("([*_~`<>\\[\\]()#=.!? \n-]|1\\.|https?://|\\PC){0,20}", 0..10)) {
            let mut stream = SpeechStream::default();
            for piece in pieces {
                for sentence in stream.push(&piece) {
                    prop_assert!(sentence.len() <= MAX_SENTENCE_BYTES && !sentence.contains('\n'));
                }
            }
            stream.finish();
        }
    }
}
