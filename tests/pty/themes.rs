//! Themes on the full screen: light and dark told apart by the terminal's own answer, chosen by name, and remembered.

use crate::stage::{command, conversation, full, quit, says, started, unasked};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::words::TextAssertions;

/// The colour of the prompt, which is the accent.
fn accent(screen: &vt100::Screen) -> vt100::Color {
    let (row, _) = screen.cursor_position();
    screen
        .cell(row, 0)
        .map_or(vt100::Color::Default, vt100::Cell::fgcolor)
}

/// Waits until the accent has this colour.
fn has_accent(pty: &Pty, colour: vt100::Color) {
    pty.wait_for(&format!("{colour:?}"), |screen| accent(screen) == colour);
}

/// The terminal's own.
const NAMED: vt100::Color = vt100::Color::Idx(6);
/// Readable on black and on white.
const EITHER: vt100::Color = vt100::Color::Idx(30);
const DARK: vt100::Color = vt100::Color::Idx(80);
const LIGHT: vt100::Color = vt100::Color::Idx(23);

#[test]
fn the_terminal_is_asked_and_its_answer_repaints_the_screen() {
    let (home, _server, pty) = conversation([says("Hello.")]);
    pty.wait_raw(b"\x1b]11;?\x1b\\", 1);
    // Nothing waited for the answer.
    has_accent(&pty, EITHER);
    for (answer, colour) in [
        ("\x1b]11;rgb:fdfd/f6f6/e3e3\x1b\\", LIGHT),
        ("\x1b]11;rgb:1e/1e/2e\x07", DARK),
    ] {
        pty.send(answer);
        has_accent(&pty, colour);
    }
    pty.enter("hi", "Hello.");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    assert_eq!(raw.matches("\x1b]11;?").count(), 1);
    quit(pty, &home);
}

#[test]
fn a_theme_is_chosen_by_name_and_remembered() {
    let (home, server, pty) = conversation([]);
    for (name, colour) in [
        ("dark", DARK),
        ("contrast", vt100::Color::Idx(123)),
        ("color-blind", vt100::Color::Idx(14)),
        ("light", LIGHT),
    ] {
        pty.send(format!("/theme {name}\r"));
        pty.wait_text(&format!("Theme: {name}."));
        has_accent(&pty, colour);
    }
    pty.send("/theme \t");
    pty.wait_text("for light backgrounds (in use)");
    assert_eq!(pty.screen().matches("(in use)").count(), 1);
    pty.enter("\x15/theme ligth", "did you mean \"light\"");
    quit(pty, &home);
    assert_eq!(home.read("config/theme"), "light\n");
    let pty = full(&home, &server);
    has_accent(&pty, LIGHT);
    // What was chosen stays, whatever the terminal says.
    pty.send("\x1b]11;rgb:0000/0000/0000\x07x");
    pty.wait_text("> x");
    has_accent(&pty, LIGHT);
    pty.send("\x15");
    quit(pty, &home);
    // The variable wins.
    let mut command = command(&home, &server);
    command.env("MARVIN_THEME", "dark");
    let pty = started(&command);
    has_accent(&pty, DARK);
    quit(pty, &home);
}

/// Waits until the prompt is bold, or not.
fn has_bold_accent(pty: &Pty, bold: bool) {
    pty.wait_for(&format!("bold: {bold}"), |screen| {
        let (row, _) = screen.cursor_position();
        screen.cell(row, 0).is_some_and(|cell| cell.bold() == bold)
    });
}

#[test]
fn with_sixteen_colours_the_background_decides_among_them() {
    let home = Home::new();
    let server = unasked();
    let mut command = command(&home, &server);
    command.env("TERM", "xterm");
    let pty = started(&command);
    has_accent(&pty, NAMED);
    has_bold_accent(&pty, true);
    // White: blue that is not bold, which many terminals would brighten.
    pty.send("\x1b]11;rgb:ffff/ffff/ffff\x07x");
    pty.wait_text("> x");
    has_accent(&pty, vt100::Color::Idx(4));
    has_bold_accent(&pty, false);
    pty.enter("\x15/theme dark", "Theme: dark.");
    has_accent(&pty, NAMED);
    has_bold_accent(&pty, true);
    pty.enter("/theme light", "Theme: light.");
    has_accent(&pty, vt100::Color::Idx(4));
    pty.screen().assert_lacks(&["only 16 colours"]);
    // What cannot be shown is said.
    pty.enter("/theme contrast", "Theme: contrast.");
    pty.wait_text("only 16 colours");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    raw.assert_lacks(&["38;5;"]);
    quit(pty, &home);
}

#[test]
fn without_colours_no_theme_adds_any() {
    let home = Home::new();
    let server = unasked();
    let mut command = command(&home, &server);
    command.env("MARVIN_THEME", "light").env("NO_COLOR", "1");
    let pty = started(&command);
    pty.send("\x1b]11;rgb:ffff/ffff/ffff\x07x");
    pty.wait_text("> x");
    has_accent(&pty, vt100::Color::Default);
    pty.enter("\x15/theme dark", "There are no colours here");
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    raw.assert_lacks(&["38;5;"]);
    quit(pty, &home);
}

#[test]
fn the_variable_of_rxvt_and_konsole_counts_before_an_answer() {
    let home = Home::new();
    let server = unasked();
    let mut command = command(&home, &server);
    command.env("COLORFGBG", "0;15");
    let pty = started(&command);
    has_accent(&pty, LIGHT);
    quit(pty, &home);
}
