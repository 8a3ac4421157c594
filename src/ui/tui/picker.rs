//! A list over the conversation (sessions, models, themes): arrows choose, typing filters.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::ask::rule;
use crate::app::choice::{ChoiceKind, ChoiceList, ChoiceRow, TypedLine};
use crate::app::sessions::list::SessionRow;
use crate::ui::keys::Action;
use crate::ui::text::clean::clean_line;
use crate::ui::text::theme::Theme;
use crate::ui::text::width;

/// From this many columns on, a row has its details and its note too.
const ROOM_FOR_DETAILS: usize = 60;
/// Columns that the title keeps beside the details.
const TITLE_COLUMNS: usize = 24;
/// Rows above the list: the title and the filter.
const HEADER_ROWS: usize = 2;

/// What a key has done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PickerOutcome {
    Open,
    Closed,
    /// None was chosen before the conversation.
    Leave,
    /// The line that was asked for; none when the question was closed.
    Answered(Option<TypedLine>),
    /// The row of this id was chosen.
    Chosen(ChoiceKind, String),
    /// The key is not for the list.
    Pass,
}

pub(super) struct Picker {
    kind: ChoiceKind,
    rows: Vec<ChoiceRow>,
    /// The rows as they came, where long ones are folded to the screen: what is agreed to is shown whole.
    whole: Option<WholeRows>,
    hint: String,
    /// There is no conversation yet to go back to.
    at_start: bool,
    filter: String,
    /// Indices of the rows that fit the filter.
    fitting: Vec<usize>,
    selected: usize,
    /// The first visible of the fitting ones.
    top: usize,
    /// Rows of the list that fit on the screen.
    page: usize,
}

/// Rows of which each character can be read before the question is answered.
struct WholeRows {
    rows: Vec<ChoiceRow>,
    /// The columns for which they were folded.
    columns: usize,
    /// How many of the folded rows were on the screen so far.
    seen: usize,
}

impl Picker {
    pub(super) fn new(mut list: ChoiceList) -> Self {
        for row in &mut list.rows {
            row.title = clean_line(&row.title);
            row.note = clean_line(&row.note);
        }
        let whole = (list.kind == ChoiceKind::Trust).then(|| WholeRows {
            rows: list.rows.clone(),
            columns: 0,
            seen: 0,
        });
        let mut picker = Self {
            kind: list.kind,
            rows: list.rows,
            whole,
            hint: list.hint,
            at_start: false,
            filter: String::new(),
            fitting: Vec::new(),
            selected: 0,
            top: 0,
            page: 1,
        };
        picker.apply_filter();
        picker
    }

    /// The sessions, in a conversation or before it.
    pub(super) fn of_sessions(sessions: Vec<SessionRow>, at_start: bool) -> Self {
        let list = ChoiceList {
            kind: ChoiceKind::Sessions,
            rows: sessions.into_iter().map(ChoiceRow::from).collect(),
            hint: String::new(),
            listing: String::new(),
        };
        Self {
            at_start,
            ..Self::new(list)
        }
    }

    pub(super) fn kind(&self) -> ChoiceKind {
        self.kind
    }

    /// Looks for what was pasted.
    pub(super) fn filter(&mut self, text: &str) {
        if !self.has_filter() {
            return;
        }
        self.filter
            .push_str(&clean_line(text.lines().next().unwrap_or_default()));
        self.apply_filter();
    }

    /// Whether typing filters. What somebody types may be a message, whose words must not lead to an agreement.
    fn has_filter(&self) -> bool {
        self.kind != ChoiceKind::Trust
    }

    /// Folds what is to be read whole to the screen.
    fn fold(&mut self, columns: usize) {
        let Some(whole) = self.whole.as_mut().filter(|it| it.columns != columns) else {
            return;
        };
        (whole.columns, whole.seen) = (columns, 0);
        self.rows = whole
            .rows
            .iter()
            .flat_map(|row| folded(row, columns))
            .collect();
        self.fitting = (0..self.rows.len()).collect();
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    /// Rows that were not on the screen yet and must have been.
    fn unseen(&self) -> usize {
        let whole = self.whole.as_ref();
        whole.map_or(0, |whole| self.rows.len().saturating_sub(whole.seen))
    }

    fn apply_filter(&mut self) {
        let fits = |(_, row): &(usize, &ChoiceRow)| row.fits(&self.filter);
        let fitting = self.rows.iter().enumerate().filter(fits);
        self.fitting = fitting.map(|(at, _)| at).collect();
        let current = match self.filter.is_empty() {
            true => self.rows.iter().position(|row| row.is_current),
            false => None,
        };
        (self.selected, self.top) = (current.unwrap_or_default(), 0);
    }

    /// Moves the selection by this many rows, no further than to an end.
    pub(super) fn turn(&mut self, rows: isize) {
        let last = self.fitting.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(rows).min(last);
    }

    pub(super) fn act(&mut self, action: Action) -> PickerOutcome {
        let last = self.fitting.len().saturating_sub(1);
        match action {
            Action::Up | Action::ScrollUp => self.selected = self.selected.saturating_sub(1),
            Action::Down | Action::ScrollDown | Action::Complete => {
                self.selected = (self.selected + 1).min(last);
            }
            Action::PageUp | Action::TenUp => {
                self.selected = self.selected.saturating_sub(self.page);
            }
            Action::PageDown | Action::TenDown => {
                self.selected = (self.selected + self.page).min(last);
            }
            Action::Top | Action::LineStart => self.selected = 0,
            Action::Bottom | Action::LineEnd => self.selected = last,
            Action::Insert(c) if self.has_filter() => {
                self.filter.push(c);
                self.apply_filter();
            }
            Action::EraseBack => {
                self.filter.pop();
                self.apply_filter();
            }
            Action::KillLine | Action::KillWordBack | Action::KillBlankBack => {
                self.filter.clear();
                self.apply_filter();
            }
            Action::Send => {
                let chosen = self.fitting.get(self.selected);
                let chosen = chosen.and_then(|at| self.rows.get(*at));
                return match chosen {
                    Some(row) if row.agrees() && self.unseen() > 0 => {
                        // On with reading.
                        let seen = self.whole.as_ref().map_or(0, |whole| whole.seen);
                        self.selected = (seen + self.page).saturating_sub(1).min(last);
                        PickerOutcome::Open
                    }
                    Some(row) => PickerOutcome::Chosen(self.kind, row.id.clone()),
                    None => PickerOutcome::Open,
                };
            }
            Action::Escape if self.at_start => return PickerOutcome::Leave,
            // Only a second Ctrl-C leaves, as everywhere.
            Action::Cancel if self.at_start => return PickerOutcome::Pass,
            Action::Escape | Action::Cancel => return PickerOutcome::Closed,
            Action::Quit | Action::QuitIfEmpty | Action::Suspend | Action::Redraw => {
                return PickerOutcome::Pass;
            }
            _ => {}
        }
        PickerOutcome::Open
    }

    /// Its rows where all of them fit and nothing is filtered.
    pub(super) fn all_rows(&self) -> usize {
        HEADER_ROWS + self.rows.len()
    }

    /// Its rows on a screen of this size.
    pub(super) fn rows(
        &mut self,
        columns: usize,
        height: usize,
        theme: &Theme,
    ) -> Vec<Line<'static>> {
        self.fold(columns);
        self.page = height.saturating_sub(HEADER_ROWS).max(1);
        self.top = self
            .top
            .min(self.selected)
            .max((self.selected + 1).saturating_sub(self.page));
        let end_of_page = self.top + height.saturating_sub(HEADER_ROWS);
        if let Some(whole) = &mut self.whole
            && self.top <= whole.seen
        {
            whole.seen = whole.seen.max(end_of_page);
        }
        let (name, verb) = match self.kind {
            ChoiceKind::Sessions => ("Sessions", "opens"),
            ChoiceKind::Models => ("Models", "chooses"),
            ChoiceKind::Themes => ("Themes", "chooses"),
            ChoiceKind::SetUp => ("Language model", "chooses"),
            ChoiceKind::KeyProviders => ("Key for", "chooses"),
            ChoiceKind::ServerModels => ("Models of the server", "chooses"),
            ChoiceKind::Trust => ("May this project act by itself", "chooses"),
        };
        let end = match self.kind {
            ChoiceKind::SetUp => "goes on without",
            ChoiceKind::Trust => "uses none of it",
            ChoiceKind::KeyProviders | ChoiceKind::ServerModels => "goes back",
            _ if self.at_start => "quits",
            _ => "closes",
        };
        let title = match columns < ROOM_FOR_DETAILS {
            true => format!("{name}: Enter, Esc"),
            false if self.has_filter() => {
                format!("{name}: Enter {verb}, typing filters, Esc {end}")
            }
            false => format!("{name}: arrows and Enter choose, Esc {end}"),
        };
        let count = format!("{} of {}", self.fitting.len(), self.rows.len());
        let count = match self.unseen() {
            0 => count,
            unseen => format!("{unseen} more below, to be read before you agree"),
        };
        let filter = match self.filter.is_empty() {
            true if !self.hint.is_empty() => format!("{count} · {}", self.hint),
            true => count,
            false => format!("{count} with \"{}\"", self.filter),
        };
        let mut rows = vec![
            rule(&title, columns, theme),
            Line::styled(width::clip(&filter, columns), theme.dim),
        ];
        let visible = self
            .fitting
            .iter()
            .enumerate()
            .skip(self.top)
            .take(self.page);
        for (place, at) in visible {
            if let Some(row) = self.rows.get(*at) {
                rows.push(choice_row(row, place == self.selected, columns, theme));
            }
        }
        rows.truncate(height);
        rows
    }
}

fn choice_row(row: &ChoiceRow, is_selected: bool, columns: usize, theme: &Theme) -> Line<'static> {
    let mark = if is_selected { "› " } else { "  " };
    let mut left = format!("{mark}{}  ", row.lead);
    let mut right = String::new();
    if columns >= ROOM_FOR_DETAILS {
        if !row.detail.is_empty() {
            left.push_str(&format!("{}  ", row.detail));
        }
        let room = columns.saturating_sub(width::of(&left) + TITLE_COLUMNS + 2);
        right = width::clip(&row.note, room);
    }
    let room = columns.saturating_sub(width::of(&left) + width::of(&right) + 2);
    let title = width::pad(&width::clip(&row.title, room), room);
    if is_selected {
        let text = width::pad(&format!("{left}{title}  {right}"), columns);
        return Line::styled(
            width::clip(&text, columns),
            theme.accent.add_modifier(Modifier::REVERSED),
        );
    }
    Line::from(vec![
        Span::styled(left, theme.dim),
        Span::styled(title, theme.text),
        Span::styled(format!("  {right}"), theme.dim),
    ])
}

/// A row that only shows something, as rows that show it whole; any other as it is.
fn folded(row: &ChoiceRow, columns: usize) -> Vec<ChoiceRow> {
    if !row.id.is_empty() {
        return vec![row.clone()];
    }
    let around = width::of(&row.lead) + width::of(&row.note) + 6;
    let room = columns.saturating_sub(around).max(1);
    let mut rows = Vec::new();
    let mut rest = row.title.as_str();
    loop {
        let (fits, _) = width::prefix(rest, room);
        // A wide character on a narrow screen: it is clipped, but it does not stop the rest.
        let first = rest.chars().next().map_or(0, char::len_utf8);
        let (part, after) = rest.split_at(fits.len().max(first));
        rows.push(match rows.is_empty() {
            true => ChoiceRow {
                title: part.to_owned(),
                ..row.clone()
            },
            false => ChoiceRow {
                lead: " ".repeat(width::of(&row.lead)),
                title: part.to_owned(),
                ..ChoiceRow::default()
            },
        });
        rest = after;
        if rest.is_empty() {
            return rows;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::choice::TRUST;
    use crate::ui::text::theme::ColorMode;

    fn picker(count: usize) -> Picker {
        let row = |n: usize| SessionRow {
            id: format!("id-{n}"),
            short: format!("id-{n}"),
            when: "2026-11-21 14:30".to_owned(),
            length: "12 messages".to_owned(),
            place: "~/src/fetcher".to_owned(),
            title: format!("title {n} with wide 日本語 words"),
        };
        Picker::of_sessions((0..count).map(row).collect(), false)
    }

    fn text(picker: &mut Picker, columns: usize, height: usize) -> Vec<String> {
        let theme = Theme::new(ColorMode::None);
        let rows = picker.rows(columns, height, &theme);
        rows.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn arrows_choose_and_typing_filters() {
        let chosen = |id: &str| PickerOutcome::Chosen(ChoiceKind::Sessions, id.to_owned());
        let mut picker = picker(30);
        for _ in 0..3 {
            picker.act(Action::Down);
        }
        picker.act(Action::Up);
        assert_eq!(picker.act(Action::Send), chosen("id-2"));
        picker.act(Action::Insert('2'));
        picker.act(Action::Insert('9'));
        assert!(text(&mut picker, 80, 10)[1].starts_with("1 of 30 with \"29\""));
        assert_eq!(picker.act(Action::Send), chosen("id-29"));
        picker.filter("x\ny");
        assert_eq!(picker.act(Action::Send), PickerOutcome::Open, "none fits");
        picker.act(Action::KillLine);
        picker.act(Action::Bottom);
        assert_eq!(picker.act(Action::Send), chosen("id-29"));
        assert_eq!(picker.act(Action::Escape), PickerOutcome::Closed);
        assert_eq!(picker.act(Action::Quit), PickerOutcome::Pass);
    }

    #[test]
    fn what_is_in_use_is_selected_until_something_is_typed() {
        let row = |n: usize| ChoiceRow {
            id: format!("id-{n}"),
            lead: format!("  provider-{n}"),
            title: format!("model\u{202e}-{n}"),
            is_current: n == 7,
            ..ChoiceRow::default()
        };
        let mut picker = Picker::new(ChoiceList {
            kind: ChoiceKind::Models,
            rows: (0..9).map(row).collect(),
            hint: "more with Tab".to_owned(),
            listing: String::new(),
        });
        let chosen = |id: &str| PickerOutcome::Chosen(ChoiceKind::Models, id.to_owned());
        let rows = text(&mut picker, 40, 5);
        assert_eq!(rows[1], "9 of 9 · more with Tab");
        assert!(rows[4].starts_with("›   provider-7  model-7"), "{rows:?}");
        assert_eq!(picker.act(Action::Send), chosen("id-7"));
        picker.filter("model");
        assert_eq!(picker.act(Action::Send), chosen("id-0"));
        picker.act(Action::KillLine);
        assert_eq!(picker.act(Action::Send), chosen("id-7"));
    }

    #[test]
    fn what_a_project_brings_is_read_whole_and_no_typed_word_agrees_to_it() {
        let row = |id: &str, title: &str| ChoiceRow {
            id: id.to_owned(),
            title: title.to_owned(),
            ..ChoiceRow::default()
        };
        let command = format!(
            "SessionStart: check {}; touch HIDDEN",
            "-- --never ".repeat(300)
        );
        let question = |command: &str| {
            Picker::new(ChoiceList {
                kind: ChoiceKind::Trust,
                rows: vec![
                    row("no", "Not in this session"),
                    row(TRUST, "Trust this project: use this from now on"),
                    ChoiceRow {
                        lead: "hook ".to_owned(),
                        ..row("", command)
                    },
                ],
                hint: "about".to_owned(),
                listing: String::new(),
            })
        };
        let chosen = |id: &str| PickerOutcome::Chosen(ChoiceKind::Trust, id.to_owned());
        for word in ["now", "use", "project"] {
            let mut picker = question("true");
            text(&mut picker, 80, 10);
            word.chars()
                .for_each(|c| drop(picker.act(Action::Insert(c))));
            picker.filter(word);
            assert_eq!(picker.act(Action::Send), chosen("no"), "{word}");
        }
        let mut picker = question("true");
        text(&mut picker, 80, 10);
        picker.act(Action::Down);
        assert_eq!(
            picker.act(Action::Send),
            chosen(TRUST),
            "all of it was shown"
        );
        for columns in [20, 50, 100] {
            let mut picker = question(&command);
            let mut shown = text(&mut picker, columns, 12);
            assert!(shown[1].contains(" more below"), "{shown:?}");
            let mut pages = 0;
            loop {
                picker.act(Action::Top);
                picker.act(Action::Down);
                let unseen = picker.unseen().min(10);
                match picker.act(Action::Send) {
                    PickerOutcome::Open => {
                        let mut rows = text(&mut picker, columns, 12);
                        shown.extend(rows.drain(rows.len() - unseen..));
                    }
                    outcome => break assert_eq!(outcome, chosen(TRUST)),
                }
                pages += 1;
                assert!(pages < 1_000);
            }
            assert!(pages > 1, "{columns}");
            let parts = shown.iter().filter(|line| line.len() > 9);
            let parts: String = parts
                .filter_map(|line| line.get(9..))
                .map(str::trim)
                .collect();
            assert!(parts.replace(' ', "").contains("touchHIDDEN"), "{parts}");
            let never = parts.replace(' ', "").matches("----never").count();
            assert_eq!(never, 300, "{columns}");
        }
    }

    #[test]
    fn the_chosen_row_is_visible_on_every_screen() {
        for (columns, height) in [(1, 1), (10, 3), (40, 12), (80, 24), (200, 50)] {
            let mut picker = picker(30);
            for _ in 0..29 {
                picker.act(Action::Down);
                let rows = text(&mut picker, columns, height);
                assert!(rows.len() <= height);
                let fit = rows.iter().all(|row| width::of(row) <= columns.max(1));
                let has_mark = rows.iter().any(|row| row.starts_with('›'));
                assert!(fit && (height < 3 || has_mark), "{rows:?}");
            }
        }
        assert!(text(&mut picker(0), 40, 5)[1].starts_with("0 of 0"));
    }
}
