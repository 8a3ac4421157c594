//! What an edit looks like on the full screen: numbers of the file, marked words, tinted rows.

use serde_json::json;

use crate::stage::{calls, command, playing, quit, rows, says};
use crate::support::home::Home;
use crate::support::pty::Pty;

const PATCH: &str = "*** Begin Patch\n*** Update File: notes.txt\n@@ line 8\n-line 9: three tries\n+line 9: five tries\n@@\n-line 25\n\
    *** Add File: new.txt\n+fresh\n*** Delete File: old.txt\n*** Update File: from.txt\n*** Move to: to.txt\n@@\n-one\n+two\n*** End Patch\n";

fn home() -> Home {
    let home = Home::new();
    let lines: String = (1..=30)
        .map(|n| match n {
            9 => "line 9: three tries\n".to_owned(),
            n => format!("line {n}\n"),
        })
        .collect();
    home.write("work/notes.txt", lines);
    home.write("work/old.txt", "stale\n");
    home.write("work/from.txt", "one\n");
    home
}

#[test]
fn a_patch_document_has_the_numbers_of_the_files() {
    let home = home();
    let server = playing([calls("apply_patch", json!({"input": PATCH})), says("Done.")]);
    let pty = Pty::spawn(&command(&home, &server), (80, 50));
    pty.wait_text("test-model");
    pty.enter("patch it", "Done.");
    let screen = pty.with(rows);
    let from = screen.iter().position(|row| row.contains("apply_patch"));
    let shown: Vec<&str> = screen[from.unwrap() + 1..]
        .iter()
        .map(|row| row.trim_end())
        .take_while(|row| !row.is_empty())
        .collect();
    assert_eq!(
        shown,
        [
            "notes.txt",
            "   6  line 6",
            "   7  line 7",
            "   8  line 8",
            "-  9  line 9: three tries",
            "+  9  line 9: five tries",
            "  10  line 10",
            "  11  line 11",
            "  12  line 12",
            "⋮",
            "  22  line 22",
            "  23  line 23",
            "  24  line 24",
            "- 25  line 25",
            "  25  line 26",
            "  26  line 27",
            "  27  line 28",
            "new.txt (new)",
            "+  1  fresh",
            "old.txt (deleted)",
            "-  1  stale",
            "from.txt → to.txt",
            "-  1  one",
            "+  1  two",
        ]
    );
    assert!(
        screen.iter().any(|row| row.ends_with("+3 −4")),
        "{screen:#?}"
    );
    quit(pty, &home);
}

#[test]
fn changed_rows_are_tinted_to_their_end_and_changed_words_more() {
    let home = home();
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
