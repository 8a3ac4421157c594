//! Separates thinking that comes inside the text, between tags at its start, wherever the stream is cut into chunks.

/// Opening tags with their closing tags.
const TAGS: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thought>", "</thought>"),
    ("<thinking>", "</thinking>"),
];

/// The state of the stream's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ThinkSplitter {
    place: ThinkState,
    /// What may be the start of a tag.
    held: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ThinkState {
    #[default]
    Start,
    Inside(&'static str),
    /// After the closing tag: the blank lines before the answer do not belong to it.
    Gap,
    Text,
}

/// The classification of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ThinkPart<'a> {
    Text(&'a str),
    Thinking(&'a str),
}

impl ThinkSplitter {
    /// Stops looking for tags: this server has a separate field for thinking.
    pub(super) fn off(&mut self, on: &mut dyn FnMut(ThinkPart<'_>)) {
        self.finish(on);
        self.place = ThinkState::Text;
    }

    /// Sorts one piece of text.
    pub(super) fn feed(&mut self, piece: &str, on: &mut dyn FnMut(ThinkPart<'_>)) {
        if piece.is_empty() {
            return;
        }
        if self.place == ThinkState::Text {
            return on(ThinkPart::Text(piece));
        }
        let mut all = std::mem::take(&mut self.held);
        all.push_str(piece);
        match self.place {
            ThinkState::Text => on(ThinkPart::Text(&all)),
            ThinkState::Start => self.start(all, on),
            ThinkState::Inside(close) => self.inside(&all, close, on),
            ThinkState::Gap => self.gap(&all, on),
        }
    }

    /// The text has ended: what was held back is text, or thinking without a closing tag.
    pub(super) fn finish(&mut self, on: &mut dyn FnMut(ThinkPart<'_>)) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            _ if held.is_empty() => {}
            ThinkState::Inside(_) => on(ThinkPart::Thinking(&held)),
            ThinkState::Start | ThinkState::Gap | ThinkState::Text => on(ThinkPart::Text(&held)),
        }
    }

    fn start(&mut self, all: String, on: &mut dyn FnMut(ThinkPart<'_>)) {
        let word = all.trim_start();
        let open = TAGS
            .iter()
            .find_map(|(open, close)| Some((word.strip_prefix(open)?, *close)));
        if let Some((rest, close)) = open {
            self.place = ThinkState::Inside(close);
            self.inside(rest, close, on);
        } else if TAGS.iter().any(|(open, _)| open.starts_with(word)) {
            self.held = all;
        } else {
            self.place = ThinkState::Text;
            on(ThinkPart::Text(&all));
        }
    }

    fn inside(&mut self, all: &str, close: &'static str, on: &mut dyn FnMut(ThinkPart<'_>)) {
        if let Some((thinking, rest)) = all.split_once(close) {
            if !thinking.is_empty() {
                on(ThinkPart::Thinking(thinking));
            }
            self.place = ThinkState::Gap;
            return self.gap(rest, on);
        }
        let hold = (1..close.len())
            .rev()
            .find(|len| close.get(..*len).is_some_and(|head| all.ends_with(head)));
        let (now, held) = all
            .split_at_checked(all.len() - hold.unwrap_or(0))
            .unwrap_or((all, ""));
        if !now.is_empty() {
            on(ThinkPart::Thinking(now));
        }
        held.clone_into(&mut self.held);
    }

    fn gap(&mut self, all: &str, on: &mut dyn FnMut(ThinkPart<'_>)) {
        let text = all.trim_start();
        if !text.is_empty() {
            self.place = ThinkState::Text;
            on(ThinkPart::Text(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pieces: &[&str]) -> (String, String) {
        let (mut text, mut thinking) = (String::new(), String::new());
        let mut on = |part: ThinkPart<'_>| match part {
            ThinkPart::Text(piece) => text.push_str(piece),
            ThinkPart::Thinking(piece) => thinking.push_str(piece),
        };
        let mut think = ThinkSplitter::default();
        for piece in pieces {
            think.feed(piece, &mut on);
        }
        think.finish(&mut on);
        (text, thinking)
    }

    #[test]
    fn q21_tags_are_found_wherever_they_are_cut() {
        for (all, text, thinking) in [
            (
                "\n<think>\nhm</thi</think>\n\nYes <think>no</think>",
                "Yes <think>no</think>",
                "\nhm</thi",
            ),
            ("<thought>größe</thought>a", "a", "größe"),
            ("<think>for ever</th", "", "for ever</th"),
            ("\n <thin", "\n <thin", ""),
            ("<b>bold</b>", "<b>bold</b>", ""),
            ("\n\nplain", "\n\nplain", ""),
        ] {
            assert_eq!(
                split(&[all]),
                (text.to_owned(), thinking.to_owned()),
                "{all}"
            );
            for at in (0..all.len()).filter(|at| all.is_char_boundary(*at)) {
                let (one, two) = all.split_at(at);
                assert_eq!(split(&[one, two]), split(&[all]), "{all} cut at {at}");
            }
            let letters: Vec<String> = all.chars().map(String::from).collect();
            let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
            assert_eq!(split(&letters), split(&[all]), "{all} by letters");
        }
    }
}
