//! Files in a message: the menu that opens with `@`, and what is attached.

use std::fs;
use std::time::Duration;

use crate::stage::{full, input, last_sent, playing, quit, says};
use crate::support::home::Home;

/// A project as git sees it: something ignored, something of git's own, names that are hard to type.
fn project(home: &Home) {
    home.write("work/.git/config", "");
    home.write("work/.git/HEAD", "ref: refs/heads/main\n");
    home.write("work/.gitignore", "target\n");
    home.write("work/target/file_of_the_build.txt", "");
    for number in 10..30 {
        home.write(
            &format!("work/src/file_{number}.txt"),
            format!("text {number}\n"),
        );
    }
    home.write("work/src/my notes/été.txt", "an umlaut's cousin\n");
}

/// The highlighted row of the menu.
fn highlighted(screen: &vt100::Screen) -> String {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let row = (0..rows).find(|row| {
        screen
            .cell(*row, 1)
            .is_some_and(|cell| cell.inverse() && cell.has_contents())
    });
    let Some(row) = row else {
        return String::new();
    };
    let cells = (0..columns).filter_map(|column| screen.cell(row, column));
    let text: String = cells
        .take_while(|cell| cell.inverse())
        .map(vt100::Cell::contents)
        .collect();
    text.trim().to_owned()
}

#[test]
fn a_menu_opens_with_the_at_sign_and_scrolls() {
    let home = Home::new();
    project(&home);
    let server = playing([says("Read.")]);
    let pty = full(&home, &server);
    pty.send("see @file");
    pty.wait_text("1 of 20");
    let screen = pty.screen();
    assert!(screen.contains("src/file_10.txt") && screen.contains("src/file_17.txt"));
    assert!(!screen.contains("src/file_18.txt"), "eight rows:\n{screen}");
    assert!(!screen.contains("file_of_the_build"), "ignored:\n{screen}");
    for _ in 0..11 {
        pty.send("\x1b[B");
    }
    pty.wait_for("the twelfth", |screen| {
        highlighted(screen) == "src/file_21.txt" && screen.contents().contains("12 of 20")
    });
    pty.send("\r");
    pty.wait_for("the path", |screen| {
        input(screen) == "> see @src/file_21.txt"
    });
    assert_eq!(pty.with(highlighted), "", "closed");
    pty.send("\r");
    pty.wait_text("Read.");
    assert!(last_sent(&server, 0).contains("text 21"));
    quit(pty, &home);
}

#[test]
fn nothing_of_git_is_offered_and_names_with_blanks_are_quoted() {
    let home = Home::new();
    project(&home);
    let server = playing([says("Read.")]);
    let pty = full(&home, &server);
    pty.send("@git");
    pty.wait_for("the ignore file", |screen| {
        highlighted(screen) == ".gitignore"
    });
    assert!(!pty.screen().contains(".git/"));
    pty.send("\x1b");
    pty.wait_for("no menu", |screen| highlighted(screen).is_empty());
    assert!(
        pty.with(|screen| input(screen) == "> @git"),
        "the text stays"
    );
    pty.send("\x15@été");
    pty.wait_for("the note", |screen| {
        highlighted(screen) == "src/my notes/été.txt"
    });
    pty.send("\t");
    pty.wait_for("its name", |screen| {
        input(screen) == "> @\"src/my notes/été.txt\""
    });
    pty.send("what is it?\r");
    pty.wait_text("Read.");
    assert!(last_sent(&server, 0).contains("cousin"));
    quit(pty, &home);
}

#[test]
fn a_folder_is_entered_and_what_fits_nothing_stays() {
    let home = Home::new();
    project(&home);
    let server = playing([says("Hello.")]);
    let pty = full(&home, &server);
    pty.send("@src/my\t");
    pty.wait_for("the folder", |screen| input(screen) == "> @\"src/my notes/");
    pty.wait_for("what is in it", |screen| {
        highlighted(screen) == "src/my notes/" || highlighted(screen) == "src/my notes/été.txt"
    });
    pty.send("\x15hi @somebody\t");
    pty.send(" there\r");
    pty.wait_text("Hello.");
    assert_eq!(last_sent(&server, 0), "hi @somebody there");
    quit(pty, &home);
}

#[test]
fn twenty_thousand_files_are_searched_while_one_types() {
    let home = Home::new();
    for folder in 0..100 {
        let folder = home.work().join(format!("part{folder}"));
        fs::create_dir_all(&folder).unwrap();
        for file in 0..200 {
            fs::write(folder.join(format!("item{file}.txt")), "x").unwrap();
        }
    }
    home.write("work/part77/needle.txt", "found it\n");
    let server = playing([says("Read.")]);
    let pty = full(&home, &server);
    pty.send("@");
    pty.wait_for("a first row", |screen| !highlighted(screen).is_empty());
    // A key is answered at once, whatever is searched.
    let typed = std::time::Instant::now();
    pty.send("p77");
    pty.wait_for("the keys", |screen| input(screen) == "> @p77");
    let waited = typed.elapsed();
    assert!(waited < Duration::from_secs(5), "{waited:?}");
    pty.send("needle");
    pty.wait_for("the file", |screen| {
        highlighted(screen) == "part77/needle.txt"
    });
    pty.send("\tplease\r");
    pty.wait_text("Read.");
    assert!(last_sent(&server, 0).contains("found it"));
    quit(pty, &home);
}
