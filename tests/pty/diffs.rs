//! What an edit looks like on the full screen: marked words, tinted rows.

use serde_json::json;

use crate::stage::{calls, command, playing, quit, rows, says};
use crate::support::home::Home;
use crate::support::pty::Pty;

#[test]
fn changed_rows_are_tinted_to_their_end_and_changed_words_more() {
    let home = Home::new();
    let lines: String = (1..=30)
        .map(|n| match n {
            9 => "line 9: three tries\n".to_owned(),
            n => format!("line {n}\n"),
        })
        .collect();
    home.write("work/notes.txt", lines);
    let patch = json!({"path": "notes.txt", "old_str": "three tries", "new_str": "five tries"});
    let server = playing([calls("apply_patch", patch), says("Done.")]);
    let mut command = command(&home, &server);
    command
        .env("COLORTERM", "truecolor")
        .env("MARVIN_THEME", "dark");
    let pty = Pty::spawn(&command, (80, 24));
    pty.wait_text("test-model");
    pty.enter("patch it", "Done.");
    pty.with(|screen| {
        let at = |words: &str| {
            let all = rows(screen);
            let row = all.iter().position(|row| row.contains(words)).unwrap();
            let row = u16::try_from(row).unwrap();
            move |column: u16| screen.cell(row, column).unwrap().bgcolor()
        };
        let plain = vt100::Color::Default;
        let (removed, added, same) = (at("three tries"), at("five tries"), at("line 10"));
        assert_eq!(same(0), plain);
        for row in [&removed as &dyn Fn(u16) -> _, &added] {
            assert_ne!(row(0), plain);
            assert_eq!(row(79), row(0), "the tint ends before the row");
        }
        assert_ne!(removed(0), added(0));
        // "-  9  line 9: three tries"
        assert_ne!(removed(14), removed(0), "the changed word");
        assert_eq!(removed(20), removed(0), "the same word");
        assert_ne!(added(14), added(0));
    });
    quit(pty, &home);
}
