//! Where things are on the screen: the talk next to the input, the input set apart, messages as bands.

use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};

use ratatui::layout::Size;

use super::super::view::RowLayout;
use super::stage::{Stage, rows};
use crate::app::session::ui_update::{TurnOutcome, UiUpdate};
use crate::chat::event::{CallEnd, Event};
use crate::ui::keys::Action;
use crate::ui::term::screen::{Colours, Screen};
use crate::ui::text::theme::ColorMode;

fn short_talk() -> Stage {
    let mut stage = Stage::new();
    stage.you("Hello.");
    stage.marvin("Hi.");
    stage
}

fn row_of(rows: &[String], text: &str) -> usize {
    let found = rows.iter().position(|row| row.contains(text));
    found.unwrap_or_else(|| panic!("no {text:?} in {rows:#?}"))
}

#[test]
fn a_short_talk_is_next_to_the_input() {
    for height in 4..=60 {
        let rows = rows(&mut short_talk(), (80, height), ColorMode::Ansi256);
        let said = row_of(&rows, "Hi.");
        let input = row_of(&rows, "> ");
        let between = &rows[said + 1..input];
        let is_bare = |row: &String| row.is_empty() || row.starts_with("──");
        assert!(between.len() <= 2, "{height}: {rows:#?}");
        assert!(between.iter().all(is_bare), "{height}: {rows:#?}");
    }
}

#[test]
fn the_input_is_set_apart_where_there_is_room() {
    for (height, above, below) in [(24, true, true), (12, true, false), (10, false, false)] {
        let rows = rows(&mut short_talk(), (40, height), ColorMode::Ansi256);
        let input = row_of(&rows, "> ");
        let is_rule = |row: usize| rows[row].chars().all(|c| c == '─') && !rows[row].is_empty();
        assert_eq!(is_rule(input - 1), above, "{height}: {rows:#?}");
        assert_eq!(is_rule(input + 1), below, "{height}: {rows:#?}");
    }
    // With one row there is the input alone.
    assert!(rows(&mut short_talk(), (40, 1), ColorMode::Ansi256)[0].starts_with('>'));
}

#[test]
fn an_empty_input_says_what_can_be_typed() {
    for mode in [ColorMode::None, ColorMode::Ansi16, ColorMode::Ansi256] {
        let mut stage = short_talk();
        let (buffer, cursor) = stage.draw((80, 24), mode);
        let shown = rows(&mut stage, (80, 24), mode);
        let input = row_of(&shown, "> Ask anything");
        assert!(shown[input].ends_with("F1 keys"), "{shown:#?}");
        assert_eq!((usize::from(cursor.y), cursor.x), (input, 2));
        let cell = &buffer[(2, cursor.y)];
        assert!(cell.modifier.contains(Modifier::DIM), "{mode:?} {cell:?}");
        assert_eq!(stage.editor.whole_text(), "");
        // It goes with the first letter, and is never sent.
        stage.editor.act(Action::Insert('x'), &());
        let shown = rows(&mut stage, (80, 24), mode);
        assert_eq!(shown[input], "> x");
        stage.editor.set_text("");
        let sent = stage.editor.act(Action::Send, &());
        assert_eq!(sent, crate::ui::editor::Outcome::Nothing);
    }
}

#[test]
fn the_placeholder_fits_and_says_what_is_so() {
    let mut stage = short_talk();
    for width in 1..200 {
        let rows = rows(&mut stage, (width, 12), ColorMode::None);
        let input = rows.iter().rfind(|row| row.starts_with('>')).unwrap();
        assert!(!input.contains('…'), "{width}: {input:?}");
        for (words, least) in [("Ask anything", 15), ("/ commands", 28)] {
            let is_shown = input.contains(words);
            assert_eq!(is_shown, width >= least, "{width}: {input:?}");
        }
    }
    stage.runs("", false);
    let input_row = |stage: &mut Stage, sign: &str| {
        let rows = rows(stage, (80, 24), ColorMode::None);
        rows[row_of(&rows, sign)].clone()
    };
    let input = input_row(&mut stage, "> ");
    let says_keys = input.contains("queue") && input.contains("Esc stops");
    assert!(says_keys, "{input:?}");
    stage.status.running.clear();
    stage.status.shell = Some("/tmp".into());
    let input = input_row(&mut stage, "$ ");
    let is_shell = input.contains("/shell") && !input.contains("Ask");
    assert!(is_shell, "{input:?}");
    // Keys answer the question: the input invites to nothing.
    stage.status.shell = None;
    stage.ask("ls", "");
    let rows_now = rows(&mut stage, (80, 24), ColorMode::None);
    assert!(!rows_now.iter().any(|row| row.contains("Ask anything")));
}

/// Whether a row is filled from one edge to the other with a background.
fn is_filled(buffer: &Buffer, y: usize) -> bool {
    let y = u16::try_from(y).unwrap();
    let is_filled = |x| {
        let cell = &buffer[(x, y)];
        cell.bg != Color::Reset || cell.modifier.contains(Modifier::REVERSED)
    };
    (0..buffer.area.width).all(is_filled)
}

#[test]
fn what_the_user_said_is_a_filled_band() {
    let mut stage = Stage::new();
    stage.you("First line.\n\nLast line, with [pasted 40 lines] and @shot.png.");
    stage.marvin("Yes.");
    stage.show(&UiUpdate::CommandOutput {
        command: "ls".to_owned(),
        output: "a  b".to_owned(),
        background: false,
    });
    stage.queue = vec!["And then.".to_owned()];
    for mode in [ColorMode::Ansi16, ColorMode::Ansi256, ColorMode::True] {
        let (buffer, _) = stage.draw((80, 24), mode);
        let shown = rows(&mut stage, (80, 24), mode);
        let first = row_of(&shown, "you  09:05");
        let last = row_of(&shown, "Last line");
        assert_eq!(last, first + 3, "{shown:#?}");
        let mut filled: Vec<usize> = (first..=last).collect();
        filled.extend([row_of(&shown, "$ ls"), row_of(&shown, "queued  And")]);
        for y in 0..shown.len() {
            let is_filled = is_filled(&buffer, y);
            assert_eq!(is_filled, filled.contains(&y), "{mode:?} {y}: {shown:#?}");
        }
        // The text begins where the row begins, and what is attached is told apart.
        assert!(shown[last].starts_with("Last line"), "{shown:#?}");
        let y = u16::try_from(last).unwrap();
        let look = |text: &str| {
            buffer[(u16::try_from(shown[last].find(text).unwrap()).unwrap(), y)].style()
        };
        assert_ne!(look("[pasted"), look("with"));
        assert_ne!(look("@shot"), look("with"));
        assert_eq!(look("and"), look("with"));
    }
    // Without colours a rule leads it; the text is as wide as before.
    let shown = rows(&mut stage, (80, 24), ColorMode::None);
    let label = &shown[row_of(&shown, "you  09:05")];
    let is_rule = label.starts_with("── you  09:05 ──") && label.ends_with("──");
    assert!(is_rule, "{label:?}");
    assert!(shown[row_of(&shown, "Last line")].starts_with("Last line"));
}

#[test]
fn nothing_slides_down_when_a_wait_ends() {
    for size in [(80, 24), (40, 12), (80, 60)] {
        let mut stage = short_talk();
        stage.you("Go on.");
        let mut before = rows(&mut stage, size, ColorMode::None);
        let mut check = |stage: &mut Stage| {
            let now = rows(stage, size, ColorMode::None);
            let at = |rows: &[String]| rows.iter().position(|row| row.contains("Go on."));
            assert!(at(&now) <= at(&before), "{size:?}: {before:#?} {now:#?}");
            before = now;
        };
        stage.delta("A word");
        // After thirteen seconds of silence a row says that more is awaited.
        check(&mut stage);
        stage.calls(&[("1", "tree", "{}")]);
        check(&mut stage);
        stage.done("1", CallEnd::Success, "src");
        check(&mut stage);
        stage.delta("Another");
        check(&mut stage);
        stage.ask("ls", "");
        check(&mut stage);
        stage.open_question = None;
        check(&mut stage);
        stage.editor.set_text("a\nb\nc");
        check(&mut stage);
        stage.editor.set_text("");
        check(&mut stage);
        stage.show(&UiUpdate::AnswerEnd(TurnOutcome::Complete));
        check(&mut stage);
        // The next message is by the input again.
        stage.you("Next.");
        stage.marvin("Yes.");
        let rows = rows(&mut stage, size, ColorMode::None);
        let (answer, input) = (row_of(&rows, "Yes."), row_of(&rows, "> "));
        assert!(answer + 3 >= input, "{rows:#?}");
    }
}

#[test]
fn a_frame_writes_what_has_changed_and_no_more() {
    for size in [Size::new(80, 24), Size::new(200, 60)] {
        let mut screen = Screen::new(Vec::new(), size, Colours::On);
        let mut placed = RowLayout::default();
        let mut bytes = |stage: &mut Stage| {
            let drawn = stage.draw_onto(screen.frame(), ColorMode::Ansi256, &placed);
            placed = drawn.placed;
            screen.flush(drawn.cursor, drawn.scroll.as_ref()).unwrap()
        };
        let mut stage = short_talk();
        stage.you(&"A long message in a band. ".repeat(20));
        stage.show(&UiUpdate::Event(Event::Delta("An answer".to_owned())));
        bytes(&mut stage);
        assert_eq!(bytes(&mut stage), 0, "{size}: nothing has changed");
        stage.delta(" goes on");
        assert!(bytes(&mut stage) < 40, "{size}: one row has changed");
        // All rows move up by two: the bands among them are not painted again.
        stage.delta("\n\nAnother");
        let moved = bytes(&mut stage);
        assert!(moved < 140, "{size}: {moved} bytes");
        stage.editor.set_text("x");
        let letter = bytes(&mut stage);
        assert!(letter < 80, "{size}: a letter for the placeholder");
        stage.editor.set_text("xy");
        assert!(bytes(&mut stage) < 20, "{size}: one letter");
        // A second row of the input moves the conversation as one.
        stage.editor.set_text("xy\nz");
        let grown = bytes(&mut stage);
        let limit = 3 * usize::from(size.width) + 400;
        assert!(grown < limit, "{size}: {grown} bytes");
    }
}
