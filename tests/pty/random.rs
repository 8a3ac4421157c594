//! Two thousand random keys, mixed with answers, tools, pastes and resizes: no panic, no broken screen, a clean end.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::broken::redrawn_the_same;
use crate::stage::{SIZE, calls, command, input, quit, says, started};
use crate::support::home::Home;
use crate::support::pty::Pty;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai::Stream;

/// Keys of one run.
const KEYS: usize = 2_000;

/// Random numbers that are the same in every run (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }
}

/// Letters of all kinds. No `!`: what follows it would be run.
const LETTERS: &[&str] = &[
    "a",
    "b",
    "y",
    "n",
    "e",
    " ",
    "@",
    "?",
    ".",
    "\\",
    "/",
    "日",
    "本",
    "é",
    "e\u{301}",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{5e9}",
    "\u{1f1e9}\u{1f1ea}",
    "\t",
    "<",
    "*",
    "`",
    "한",
    "\u{200d}",
    "\u{fe0f}",
];

/// Keys and half keys. No Ctrl-C, Ctrl-D, Ctrl-Q: they leave. No Ctrl-Z: while `$EDITOR` has the terminal it makes the kernel drop what is on its way to the
/// terminal (`NOFLSH` in termios(3)), the sequences of the program as well.
const KEYS_OF_ALL_KINDS: &[&str] = &[
    "\r",
    "\r",
    "\r",
    "\x1b\r",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b[H",
    "\x1b[F",
    "\x1b[3~",
    "\x1b[5~",
    "\x1b[6~",
    "\x1b[1;2A",
    "\x1b[1;2B",
    "\x1b[1;5H",
    "\x1b[1;5F",
    "\x1b[1;5C",
    "\x1b[1;5D",
    "\x1b[Z",
    "\x1b",
    "\x1b[",
    "\x1bO",
    "\x1bOP",
    "\x1b[200~",
    "\x1b[201~",
    "\x1b[999;999R",
    "\x1b]11;rgb:0/0/0\x07",
    "\x1b[<0;5;5M",
    "\x1b[M  ",
    "\x01",
    "\x02",
    "\x05",
    "\x06",
    "\x08",
    "\x0b",
    "\x0c",
    "\x0f",
    "\x12",
    "\x12",
    "\x14",
    "\x15",
    "\x17",
    "\x19",
    "\x1f",
    "\x7f",
    "\x7f",
    "\x1bb",
    "\x1bf",
    "\x1bd",
    "\x1by",
    "\x1bu",
    "\x1br",
    "\x1bc",
    "\x1bk",
    "\x1be",
    "\x00",
    "\u{9b}",
];

const SIZES: &[(u16, u16)] = &[
    (80, 24),
    (20, 5),
    (120, 50),
    (41, 13),
    (3, 2),
    (1, 1),
    (200, 60),
];

/// What the server answers, one after another.
fn answer(n: usize) -> Answer {
    let text = format!(
        "# Answer {n}\n\nSome **words**, `code`, 日本語 and \u{1f44d}\u{1f3fd}.\n\n```rust\nlet x = {n};\n```\n\n\
         - a list\n- of things that is long enough to be wrapped where the screen is narrow, and it mostly is\n\n\
         | a | b |\n|---|---|\n| {n} | two |\n\n"
    );
    match n % 5 {
        1 => calls("read_file", json!({"path": "notes.txt"})),
        2 => calls("run_command", json!({"command": "echo by chance"})),
        3 => Answer::sse(
            Stream::new()
                .text(&["Two calls.\n"])
                .call(0, "c1", "list_files", "{}")
                .call(1, "c2", "nosuch", "{}")
                .end(),
        ),
        4 => Answer::sse(Stream::new().text(&["An answer cut o"]).frames()).reset(),
        _ => says(&text.repeat(1 + n % 3)),
    }
}

fn run(seed: u64) {
    let home = Home::new();
    home.write("work/notes.txt", "alpha\nbeta\n");
    let server = Server::answering(|_, n| answer(n));
    let mut command = command(&home, &server);
    command.env("EDITOR", "true");
    let pty = started(&command);
    let mut dice = Dice(seed);
    let mut typed = String::new();
    for n in 0..KEYS {
        match dice.roll(100) {
            0..60 => typed.push_str(dice.pick(LETTERS)),
            60..96 => typed.push_str(dice.pick(KEYS_OF_ALL_KINDS)),
            96 => typed.push_str("\x1b[200~pasted\rlines \x1b[31m\r and more\x1b[201~"),
            97 => {
                let (width, height) = SIZES[dice.roll(SIZES.len())];
                pty.resize(width, height);
            }
            _ => typed.push('\r'),
        }
        // Now a burst, now a key alone.
        if dice.roll(4) == 0 || n + 1 == KEYS {
            pty.send(std::mem::take(&mut typed));
            if dice.roll(8) == 0 {
                std::thread::sleep(Duration::from_millis(3));
            }
        }
    }
    // Closes whatever is open: a paste, a sequence, help, a search, questions, answers.
    pty.resize(SIZE.0, SIZE.1);
    pty.send("\x1b[201~");
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        pty.send("\x1b");
        std::thread::sleep(Duration::from_millis(60));
        let screen = pty.screen();
        let last = pty.with(input);
        let idle = !screen.contains("Esc to stop") && !screen.contains("Run this command?");
        if idle && last == ">" && !screen.contains("queued") && quiet(&pty) {
            break;
        }
        assert!(
            Instant::now() < until,
            "it does not come to rest (seed {seed}):\n{screen}"
        );
    }
    assert!(
        !home.has("config/crash.log"),
        "{}",
        home.read("config/crash.log")
    );
    // A key that does nothing ends what the last one made the status line say.
    pty.send("\x05");
    pty.wait_gone("Up restores it");
    redrawn_the_same(&pty);
    let requests = server.requests().len();
    assert!(requests > 1, "only {requests} messages went");
    pty.send("\x1b[201~");
    quit(pty, &home);
    assert!(
        !home.has("config/crash.log"),
        "{}",
        home.read("config/crash.log")
    );
}

/// No output for a while.
fn quiet(pty: &Pty) -> bool {
    let before = pty.raw().len();
    std::thread::sleep(Duration::from_millis(300));
    pty.raw().len() == before
}

#[test]
fn random_keys_one() {
    run(0x5eed_0001);
}

#[test]
fn random_keys_two() {
    run(0xdead_beef_cafe);
}

#[test]
fn random_keys_three() {
    run(20_260_101);
}
