//! The cost of the interface when idle, after much has happened, and of saving and scrolling back.

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Row;
use crate::place::{Home, LIMIT, mb, median, ms, percentile};
use crate::prose;
use crate::provider::{Did, Provider, Script};
use crate::stream::{LAST, say, shown};
use crate::terminal::Terminal;

/// The tokenizer's tables in memory (52 MiB).
const TABLES: u64 = 52 << 20;

/// Wake-ups of all threads in ten seconds without the turn of a minute.
pub fn idle() -> Vec<Row> {
    let (provider, home) = (Provider::start(), Home::new(0));
    let terminal = home.open(&provider);
    provider.set(reply(100));
    let before = say(&terminal, "go");
    shown(&terminal, before);
    terminal.settled(before, Duration::from_secs(2), LIMIT);
    let second = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock")
        .as_secs()
        % 60;
    if second > 48 {
        thread::sleep(Duration::from_secs(62 - second));
    }
    let (before, cpu) = (terminal.wakeups(), terminal.cpu());
    thread::sleep(Duration::from_secs(10));
    let after = terminal.wakeups();
    let sum = |threads: &[(String, u64)]| threads.iter().map(|(_, n)| n).sum::<u64>();
    let woken = sum(&after) - sum(&before);
    let names: Vec<&str> = after.iter().map(|(name, _)| name.as_str()).collect();
    let spent = (terminal.cpu() - cpu).as_micros();
    vec![Row {
        what: "wake-ups in 10 s of idleness, all threads".to_owned(),
        wanted: "none but the clock's minute",
        measured: format!("{woken}, {spent} us of CPU (threads: {})", names.join(", ")),
        holds: Some(woken == 0),
    }]
}

fn reply(tokens: usize) -> Script {
    Script {
        tokens,
        rate: None,
        last: LAST.to_owned(),
    }
}

/// From the key that sends a message to the request, which waits until the message is on disk.
pub fn save() -> Vec<Row> {
    let homes = [Home::new(0), Home::new(100_000)];
    let provider = Provider::start();
    let terminals = homes.each_ref().map(|home| home.open(&provider));
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..31 {
        for (terminal, times) in terminals.iter().zip(&mut times) {
            provider.set(reply(1));
            let before = terminal.total();
            terminal.send("go");
            terminal
                .settled(before, Duration::from_millis(60), LIMIT)
                .expect("an echo");
            let began = Instant::now();
            terminal.send("\r");
            let asked = provider.wait(LIMIT, |did| matches!(did, Did::Asked));
            times.push((asked - began).as_secs_f64());
            provider.wait(LIMIT, |did| matches!(did, Did::Done));
            terminal.settled(before, Duration::from_millis(120), LIMIT);
        }
    }
    let [short, long] = &times;
    let ratio = median(long.iter().zip(short).map(|(l, s)| l / s).collect());
    vec![Row {
        what: "Enter to request, message saved before: log of 100,000 entries against an empty one"
            .to_owned(),
        wanted: "the same (within 15 %)",
        measured: format!(
            "{} against {}, {ratio:.2} x",
            ms(median(long.clone())),
            ms(median(short.clone()))
        ),
        holds: Some(ratio <= 1.15),
    }]
}

/// Resident memory at start and after a million tokens.
pub fn memory() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut starts = Vec::new();
    for (what, replies, tokens, tables) in [
        ("one reply of 1,000,000", 1, 1_000_000, 0),
        ("20 replies of 50,000", 20, 50_000, TABLES),
        ("1,000 replies of 1,000", 1_000, 1_000, 0),
    ] {
        let (provider, home) = (Provider::start(), Home::new(0));
        let terminal = home.open(&provider);
        starts.push((terminal.memory().0, terminal.own_memory()));
        for _ in 0..replies {
            answer(&terminal, &provider, tokens);
        }
        thread::sleep(Duration::from_secs(1));
        let (now, peak) = terminal.memory();
        let log = home.path().join("config/profiles/main/chat_log.json");
        let saved = std::fs::metadata(log).map_or(0, |file| file.len());
        assert!(
            saved > text(replies, tokens),
            "{saved} bytes of the talk are in its log"
        );
        // A conversation near the model's window is counted exactly, which loads the tables. Replies that fit the count but not the window do so;
        // one too long to count, and many small ones of which only the last are kept, do not.
        let own = now.saturating_sub(tables);
        rows.push(Row {
            what: format!(
                "resident after 1,000,000 tokens: {what} ({} of text)",
                mb(text(replies, tokens))
            ),
            wanted: "at most 60 MB",
            measured: format!(
                "{} and {} of tokenizer tables; {} at most meanwhile, tables and all",
                mb(own),
                mb(tables),
                mb(peak)
            ),
            holds: Some(own <= 60_000_000),
        });
    }
    let (start, own) = starts.into_iter().max().unwrap_or_default();
    rows.insert(
        0,
        Row {
            what: "resident at start".to_owned(),
            wanted: "at most 10 MB",
            measured: format!(
                "{}, of which {} are its own and the others pages of the program and its libraries",
                mb(start),
                mb(own)
            ),
            holds: Some(start <= 10_000_000),
        },
    );
    rows
}

fn text(replies: usize, tokens: usize) -> u64 {
    (replies * prose::bytes(tokens)) as u64
}

fn answer(terminal: &Terminal, provider: &Provider, tokens: usize) {
    provider.set(reply(tokens));
    let before = terminal.total();
    terminal.send("go\r");
    provider.wait(LIMIT, |did| matches!(did, Did::Done));
    shown(terminal, before);
    terminal.settled(before, Duration::from_millis(20), LIMIT);
}

/// Looking through ten megabytes.
pub fn scroll() -> Vec<Row> {
    let (provider, home) = (Provider::start(), Home::new(0));
    let terminal = home.open(&provider);
    let mut bytes = 0;
    while bytes < 10_000_000 {
        answer(&terminal, &provider, 200_000);
        bytes += prose::bytes(200_000);
    }
    let mut rows = Vec::new();
    for (what, key, rounds) in [
        ("a page up", "\x1b[5~", 200),
        ("a page down", "\x1b[6~", 200),
        ("to the top", "\x1b[1;5H", 1),
        ("a page down from there", "\x1b[6~", 200),
        ("to the end", "\x1b[1;5F", 1),
    ] {
        let cpu = terminal.cpu();
        let mut times = Vec::new();
        for _ in 0..rounds {
            let before = terminal.total();
            let began = Instant::now();
            terminal.send(key);
            let painted =
                terminal.settled(before, Duration::from_millis(15), Duration::from_secs(5));
            times.push((painted.expect("a frame") - began).as_secs_f64());
        }
        let cpu = (terminal.cpu() - cpu).as_secs_f64() / f64::from(rounds);
        let worst = percentile(&mut times, 100);
        let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
        rows.push(Row {
            what: format!(
                "transcript of {}: {what}, key to painted frame",
                mb(bytes as u64)
            ),
            wanted: "below 5 ms",
            measured: format!(
                "p50 {}, p99 {}, worst of {rounds} {}; CPU {} a frame",
                ms(p50),
                ms(p99),
                ms(worst),
                ms(cpu)
            ),
            holds: Some(p99 < 0.005),
        });
    }
    rows
}
