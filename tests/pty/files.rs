//! Files in a message: the menu that opens with `@`, and what is attached.

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::stage::{command, full, input, last_sent, playing, quit, says, started, wait_input};
use crate::support::home::Home;
use crate::support::image::png;
use crate::support::pty::Pty;
use crate::support::run::program;
use crate::support::server::Server;
use crate::support::words::TextAssertions;

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
    screen.assert_has(&["src/file_10.txt", "src/file_17.txt"]);
    assert!(!screen.contains("src/file_18.txt"), "eight rows:\n{screen}");
    assert!(!screen.contains("file_of_the_build"), "ignored:\n{screen}");
    for _ in 0..11 {
        pty.send("\x1b[B");
    }
    pty.wait_for("the twelfth", |screen| {
        highlighted(screen) == "src/file_21.txt" && screen.contents().contains("12 of 20")
    });
    pty.send("\r");
    wait_input(&pty, "> see @src/file_21.txt");
    assert_eq!(pty.with(highlighted), "", "closed");
    pty.send("\r");
    pty.wait_text("Read.");
    last_sent(&server, 0).assert_has(&["text 21"]);
    quit(pty, &home);
}

#[test]
fn an_attachment_is_confirmed_with_its_size() {
    let home = Home::new();
    home.write("work/src/main.rs", "fn main() {}\n".repeat(340));
    let server = playing([says("Short.")]);
    let pty = full(&home, &server);
    pty.enter("read @src/main.rs", "Short.");
    pty.wait_text("@src/main.rs  5 KB, 340 lines");
    quit(pty, &home);
}

#[test]
fn a_message_with_a_missing_file_stays_in_the_input() {
    let home = Home::new();
    home.write("work/src/main.rs", "fn main() {}\n");
    let server = playing([says("Then without it.")]);
    let pty = full(&home, &server);
    pty.enter(
        "read @src/mian.txt please",
        "There is no file \"src/mian.txt\".",
    );
    wait_input(&pty, "> read @src/mian.txt please");
    // Once more, and it goes without the file.
    pty.send("\r");
    pty.wait_text("Then without it.");
    assert_eq!(last_sent(&server, 0), "read @src/mian.txt please");
    quit(pty, &home);
}

#[test]
fn an_image_that_is_dragged_onto_the_terminal_goes_with_the_message() {
    let home = Home::new();
    home.write("work/s.png", png(640, 480));
    home.write("work/my shot (1).png", png(1280, 800));
    home.write("work/notes.txt", "text");
    let work = home.work().display().to_string();
    let server = playing([says("Grey.")]);
    let pty = full(&home, &server);
    // As xterm, GNOME and macOS write a path, and what is none stays as it is.
    pty.paste(&format!("'{work}/missing.png'"));
    pty.send("\x15");
    pty.paste(&format!("'{work}/notes.txt'"));
    pty.wait_text("notes.txt'");
    pty.send("\x15");
    for pasted in [
        format!("'{work}/my shot (1).png' "),
        format!("{work}/my\\ shot\\ \\(1\\).png"),
        format!("file://{work}/my%20shot%20(1).png"),
    ] {
        pty.send("is this grey?");
        pty.paste(&pasted);
        pty.wait_for("a mention", |screen| {
            let input = input(screen);
            input.contains("@\"/") && input.ends_with("(1).png\"")
        });
        if pasted.starts_with("file") {
            break;
        }
        pty.send("\x15");
        wait_input(&pty, ">");
    }
    pty.paste("s.png");
    pty.wait_text("@s.png");
    pty.send("\r");
    pty.wait_text("Grey.");
    let content = server.request(0).json()["messages"][1]["content"].clone();
    assert_eq!(content[1]["image_url"]["url"], data_url(&png(1280, 800)));
    assert_eq!(content[2]["image_url"]["url"], data_url(&png(640, 480)));
    // In a command and in the shell it is a path.
    pty.send("!ls ");
    pty.paste(&format!("{work}/s.png"));
    pty.wait_text("!ls /");
    pty.send("\x15");
    // Where the model takes no images, the message stays.
    pty.enter(
        "!model gpt-3.5-turbo",
        "openai-compat answers, with gpt-3.5-turbo.",
    );
    pty.paste("s.png");
    wait_input(&pty, "> @s.png");
    pty.send("\r");
    pty.wait_text("gpt-3.5-turbo takes no images.");
    wait_input(&pty, "> @s.png");
    assert_eq!(server.requests().len(), 1);
    pty.send("\x15");
    quit(pty, &home);
}

fn data_url(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// The full screen with these programs first on its path.
fn with_programs(home: &Home, server: &Server, path: &str) -> Pty {
    let mut command = command(home, server);
    command.env("PATH", path).env_remove("WAYLAND_DISPLAY");
    started(&command)
}

#[test]
fn ctrl_v_attaches_the_image_on_the_clipboard() {
    let home = Home::new();
    let image = png(640, 480);
    let file = home.write("clip.png", &image);
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in\n*TARGETS*) printf 'TARGETS\\nimage/png\\n' ;;\n*image/png*) cat '{}' ;;\n*) exit 1 ;;\nesac\n",
        file.display()
    );
    home.program("bin/xclip", script);
    let server = playing([says("Grey.")]);
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let pty = with_programs(&home, &server, &path);
    // It becomes a word of its own.
    pty.send("what is this?");
    pty.control('v');
    wait_input(&pty, "> what is this? @clipboard-1.png");
    pty.send("\r");
    pty.wait_text("Grey.");
    pty.wait_text("@clipboard-1.png  PNG, 640x480, ");
    let content = server.request(0).json()["messages"][1]["content"].clone();
    assert_eq!(content[1]["image_url"]["url"], data_url(&image));
    quit(pty, &home);
}

#[test]
fn a_clipboard_that_does_not_answer_is_waited_for_in_sight_and_esc_stops_that() {
    let home = Home::new();
    home.program("bin/xclip", "#!/bin/sh\nsleep 30\n");
    let server = playing([says("Without it.")]);
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let pty = with_programs(&home, &server, &path);
    pty.send("what is this?");
    pty.control('v');
    pty.wait_text("Reading the clipboard; Esc stops.");
    // The message does not go without what is on its way.
    pty.send("\r");
    pty.wait_text("The clipboard is still being read; Esc stops.");
    assert_eq!(pty.with(input), "> what is this?");
    pty.send("\x1b");
    // Only the wait ends; the draft stays.
    pty.wait_gone("being read");
    assert_eq!(pty.with(input), "> what is this?");
    crate::stage::until("it was sent", || {
        pty.send("\r");
        server.requests().len() == 1
    });
    pty.wait_text("Without it.");
    assert_eq!(last_sent(&server, 0), "what is this?");
    quit(pty, &home);
}

#[test]
fn ctrl_v_inserts_text_and_says_when_nothing_can_read_the_clipboard() {
    let home = Home::new();
    let script = "#!/bin/sh\ncase \"$*\" in\n*TARGETS*) printf 'TARGETS\\nUTF8_STRING\\n' ;;\n*) printf 'copied words' ;;\nesac\n";
    home.program("bin/xclip", script);
    let server = playing([]);
    let path = format!("{}:/usr/bin:/bin", home.path().join("bin").display());
    let pty = with_programs(&home, &server, &path);
    pty.control('v');
    wait_input(&pty, "> copied words");
    pty.send("\x15");
    quit(pty, &home);
    let home = Home::new();
    // What starts the terminal, and nothing else.
    fs::create_dir(home.path().join("empty")).unwrap();
    let setsid = program("setsid").unwrap();
    std::os::unix::fs::symlink(setsid, home.path().join("empty/setsid")).unwrap();
    let empty = home.path().join("empty").display().to_string();
    let pty = with_programs(&home, &server, &empty);
    pty.control('v');
    pty.wait_text("neither wl-paste nor xclip");
    quit(pty, &home);
}
