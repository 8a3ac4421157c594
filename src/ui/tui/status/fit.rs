//! Which parts of the status line are shown, and in which form, where there is no room for all.
//!
//! From an empty line to a full one there is one sequence of steps, the same for every width: parts come in their short forms, the most important first, then
//! they get longer. A line takes as many steps as fit and none after the first that does not. So a wider line never shows less of anything, nor a narrow one
//! something less important at the cost of something more important.

use std::cmp::Reverse;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::base::shared_sort::SharedSort as _;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// Between two parts.
const SEPARATOR: &str = " · ";

/// When each step comes: the higher, the earlier. What is running and what it costs come before where that is.
pub(super) mod priority {
    pub(in super::super) const FLASH: u8 = 40;
    pub(in super::super) const RUNNING: u8 = 39;
    pub(in super::super) const KEYS: u8 = 38;
    pub(in super::super) const COST: u8 = 37;
    pub(in super::super) const MODEL: u8 = 36;
    pub(in super::super) const MODE: u8 = 35;
    /// The model's name in full, before anything else that could do without.
    pub(in super::super) const WHOLE_MODEL: u8 = 34;
    pub(in super::super) const CLOCK: u8 = 33;
    pub(in super::super) const PROFILE: u8 = 32;
    pub(in super::super) const CONTEXT: u8 = 31;
    pub(in super::super) const PLACE: u8 = 30;
    pub(in super::super) const TOPICS: u8 = 29;
    pub(in super::super) const MESSAGES: u8 = 28;
    pub(in super::super) const TOKENS: u8 = 27;
    /// So much later than a part its longer form comes.
    pub(in super::super) const LONGER: u8 = 20;
}

#[derive(Debug, Clone)]
pub(super) struct StatusPart {
    /// From short to long, each with its priority.
    forms: Vec<(u8, String)>,
    style: Style,
    /// Before the first form of its own size fits, the beginning of a longer one is shown.
    is_elastic: bool,
    /// It is at the end of the row.
    is_last: bool,
}

impl StatusPart {
    pub(super) fn new(text: String, style: Style, priority: u8) -> Self {
        Self {
            forms: vec![(priority, text)],
            style,
            is_elastic: false,
            is_last: false,
        }
    }

    /// The part at the end of the row.
    pub(super) fn last(text: &str, style: Style, priority: u8) -> Self {
        Self {
            is_last: true,
            ..Self::new(text.to_owned(), style, priority)
        }
    }

    /// With a longer form for where there is room.
    pub(super) fn or_longer(self, text: String) -> Self {
        let priority = self.forms.last().map_or(0, |(priority, _)| *priority);
        self.or_at(priority.saturating_sub(priority::LONGER), text)
    }

    /// With a longer form that comes with this priority, and before that as much of it as fits.
    pub(super) fn or_elastic(self, priority: u8, text: String) -> Self {
        Self {
            is_elastic: true,
            ..self.or_at(priority, text)
        }
    }

    fn or_at(mut self, priority: u8, text: String) -> Self {
        let shorter = self.forms.last();
        if shorter.is_none_or(|(_, shorter)| *shorter != text) {
            self.forms.push((priority, text));
        }
        self
    }

    /// The form of this number; the first is 0.
    fn form(&self, number: usize) -> &str {
        self.forms
            .get(number)
            .map(|(_, text)| text.as_str())
            .unwrap_or_default()
    }
}

/// What the line shows of each part.
#[derive(Debug, Default)]
struct Shown {
    texts: Vec<Option<String>>,
}

impl Shown {
    /// Columns that this takes, with a blank before it and one after it.
    fn columns(&self, parts: &[StatusPart]) -> usize {
        let mut used = 1;
        let mut count = 0;
        for (part, text) in parts.iter().zip(&self.texts) {
            let Some(text) = text else { continue };
            used += width::of(text);
            if part.is_last {
                used += 1;
            } else {
                count += 1;
            }
        }
        used + SEPARATOR.chars().count() * usize::saturating_sub(count, 1) + 1
    }
}

/// What of the parts fits into `columns`: the most important one in any case.
fn fitting(parts: &[StatusPart], columns: usize) -> Shown {
    let mut steps: Vec<(u8, usize, usize)> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let forms = part.forms.iter().enumerate();
        steps.extend(forms.map(|(form, (priority, _))| (*priority, index, form)));
    }
    steps.shared_sort_by_key(|(priority, index, form)| (Reverse(*priority), *index, *form));
    let mut shown = Shown {
        texts: vec![None; parts.len()],
    };
    for (step, (_, index, form)) in steps.into_iter().enumerate() {
        let (Some(part), Some(place)) = (parts.get(index), shown.texts.get_mut(index)) else {
            continue;
        };
        let before = place.replace(part.form(form).to_owned());
        let over = shown.columns(parts).saturating_sub(columns);
        if over == 0 {
            continue;
        }
        // The first step that does not fit: as much of it as there is room for, or nothing.
        let text = part.form(form);
        let clipped = width::clip(text, width::of(text).saturating_sub(over));
        let is_more =
            (before.as_deref()).is_none_or(|before| width::of(before) < width::of(&clipped));
        let is_partly = step == 0 || (part.is_elastic && form > 0 && is_more);
        if let Some(place) = shown.texts.get_mut(index) {
            *place = if is_partly { Some(clipped) } else { before };
        }
        break;
    }
    shown
}

pub(super) fn line(parts: &[StatusPart], columns: usize, theme: &Theme) -> Line<'static> {
    let shown = fitting(parts, columns);
    let mut spans = vec![Span::raw(" ")];
    let mut end = None;
    for (part, text) in parts.iter().zip(shown.texts) {
        let Some(text) = text else { continue };
        let text = Span::styled(text, part.style);
        if part.is_last {
            end = Some(text);
            continue;
        }
        if spans.len() > 1 {
            spans.push(Span::styled(SEPARATOR, theme.dim));
        }
        spans.push(text);
    }
    if let Some(end) = end {
        let used = width::of_spans(&spans) + width::of(&end.content) + 1;
        spans.push(Span::raw(" ".repeat(columns.saturating_sub(used))));
        spans.push(end);
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::ColorMode;
    use proptest::prelude::*;

    fn any_part() -> impl Strategy<Value = StatusPart> {
        let text = "[a-z日é$]{1,24}";
        let more = "[a-z日é ]{0,20}";
        (
            text,
            proptest::option::of(more),
            21u8..41,
            any::<bool>(),
            any::<bool>(),
        )
            .prop_map(|(text, more, priority, is_elastic, is_last)| {
                let mut part = StatusPart::new(text.clone(), Style::new(), priority);
                part.is_last = is_last;
                match more {
                    Some(more) if is_elastic => part.or_elastic(priority - 1, text + &more),
                    Some(more) => part.or_longer(text + &more),
                    None => part,
                }
            })
    }

    /// How much of each part is shown.
    fn amounts(parts: &[StatusPart], columns: usize) -> Vec<usize> {
        let shown = fitting(parts, columns);
        let amount = |text: &Option<String>| {
            let shown = text.as_deref().unwrap_or_default();
            width::of(shown.trim_end_matches('…'))
        };
        shown.texts.iter().map(amount).collect()
    }

    proptest! {
        // Each case is tried at 190 widths.
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn a_wider_line_never_shows_less_of_any_part(parts in proptest::collection::vec(any_part(), 1..9)) {
            // One part is at the end.
            let mut parts = parts;
            let mut has_last = false;
            for part in &mut parts {
                part.is_last &= !has_last;
                has_last |= part.is_last;
            }
            let theme = Theme::new(ColorMode::None);
            let mut narrower = amounts(&parts, 10);
            for columns in 10..=200 {
                let row = line(&parts, columns, &theme);
                prop_assert!(width::of_spans(&row.spans) < columns, "{columns}: {row}");
                let now = amounts(&parts, columns);
                for (now, before) in now.iter().zip(&narrower) {
                    prop_assert!(now >= before, "{columns}: {row}");
                }
                narrower = now;
            }
            let all = amounts(&parts, usize::MAX);
            let longest = parts.iter().map(|part| part.forms.last().map_or(0, |(_, text)| width::of(text)));
            prop_assert_eq!(all, longest.collect::<Vec<_>>());
        }
    }
}
