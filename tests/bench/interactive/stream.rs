//! What happens while an answer streams: keys are shown, the stream is not held up, few bytes are written, the cost stays the same.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::Row;
use crate::place::{Home, LIMIT, ms, percentile};
use crate::prose;
use crate::provider::{Did, Provider, Script};
use crate::terminal::Terminal;

/// Capital letters that occur neither in the prose nor at the end of an escape sequence.
const LETTERS: [&str; 8] = ["Q", "X", "Z", "W", "Y", "V", "U", "N"];
/// A last word that is found on the screen.
pub const LAST: &str = "ZQXWYVUN";

fn script(tokens: usize, rate: Option<u32>) -> Script {
    Script {
        tokens,
        rate,
        last: LAST.to_owned(),
    }
}

/// Sends a message and returns the number of bytes written before it.
pub fn say(terminal: &Terminal, text: &str) -> u64 {
    let before = terminal.total();
    terminal.send(text);
    terminal
        .settled(before, Duration::from_millis(60), LIMIT)
        .expect("an echo");
    let before = terminal.total();
    terminal.send("\r");
    before
}

/// Waits until the answer's last word is on the screen.
pub fn shown(terminal: &Terminal, after: u64) -> Instant {
    match terminal.wait(LAST.as_bytes(), after, LIMIT) {
        Some(at) => at,
        None => panic!("no end of the answer: {:?}", terminal.text()),
    }
}

/// Key to paint while 5,000 tokens a second stream in.
pub fn keys() -> Vec<Row> {
    let mut rows = Vec::new();
    for (rate, wanted) in [(Some(5_000), "p99 below 10 ms"), (Some(50), "")] {
        let (provider, home) = (Provider::start(), Home::new(0));
        let terminal = home.open(&provider);
        let seconds = 20;
        provider.set(script(seconds * rate.unwrap_or(0) as usize, rate));
        say(&terminal, "go");
        provider.wait(LIMIT, |did| matches!(did, Did::Asked));
        thread::sleep(Duration::from_millis(500));
        let mut times = Vec::new();
        for n in 0..350 {
            if n % 40 == 39 {
                terminal.send("\x15");
                thread::sleep(Duration::from_millis(50));
            }
            let letter = LETTERS[n % LETTERS.len()];
            let before = terminal.total();
            let typed = Instant::now();
            terminal.send(letter);
            let Some(at) = terminal.wait(letter.as_bytes(), before, Duration::from_secs(2)) else {
                panic!("{letter} is not shown: {:?}", terminal.text());
            };
            times.push((at - typed).as_secs_f64());
            // No rhythm that could agree with that of the frames.
            thread::sleep(Duration::from_micros(41_000 + (n as u64 * 7_919) % 18_000));
        }
        let worst = percentile(&mut times, 100);
        let (p50, p99) = (percentile(&mut times, 50), percentile(&mut times, 99));
        rows.push(Row {
            what: format!(
                "key to paint, {} tokens a second stream in",
                rate.unwrap_or(0)
            ),
            wanted,
            measured: format!(
                "p50 {}, p99 {}, worst of 350 {}",
                ms(p50),
                ms(p99),
                ms(worst)
            ),
            holds: (!wanted.is_empty()).then_some(p99 < 0.010),
        });
    }
    rows
}

/// The time of a whole stream, against a reader that only drains.
pub fn slowed() -> Vec<Row> {
    let mut rows = Vec::new();
    for (tokens, rate, most) in [(20_000, Some(5_000), 1.02), (200_000, None, f64::MAX)] {
        let (mut drained, mut drawn, mut keyed) = (f64::MAX, f64::MAX, f64::MAX);
        for _ in 0..3 {
            let provider = Provider::start();
            provider.set(script(tokens, rate));
            drained = drained.min(drain(&provider));
            drawn = drawn.min(talk(&provider, script(tokens, rate), false));
            keyed = keyed.min(talk(&provider, script(tokens, rate), true));
        }
        let speed = rate.map_or("at full speed".to_owned(), |rate| {
            format!("at {rate} a second")
        });
        rows.push(Row {
            what: format!("{tokens} tokens {speed}: first to last byte sent"),
            wanted: if rate.is_some() { "as a reader that only drains" } else { "" },
            measured: format!(
                "drained {drained:.3} s, drawn {drawn:.3} s ({:.3} x), with keys {keyed:.3} s ({:.3} x)",
                drawn / drained,
                keyed / drained
            ),
            holds: rate.is_some().then_some(drawn / drained <= most && keyed / drained <= most),
        });
    }
    rows
}

fn drain(provider: &Provider) -> f64 {
    let mut socket = TcpStream::connect(("127.0.0.1", provider.port)).expect("the provider");
    let request = "POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}";
    socket.write_all(request.as_bytes()).expect("a request");
    let ended = thread::spawn(move || {
        let mut piece = vec![0; 64 * 1024];
        while socket.read(&mut piece).is_ok_and(|read| read > 0) {}
    });
    let took = sent(provider);
    drop(ended);
    took
}

/// From the request to the last byte of the reply.
fn sent(provider: &Provider) -> f64 {
    let began = provider.wait(LIMIT, |did| matches!(did, Did::Asked));
    let done = provider.wait(LIMIT, |did| matches!(did, Did::Done));
    (done - began).as_secs_f64()
}

fn talk(provider: &Provider, script: Script, keys: bool) -> f64 {
    let home = Home::new(0);
    let terminal = home.open(provider);
    provider.set(script);
    let before = say(&terminal, "go");
    let took = thread::scope(|scope| {
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let terminal = &terminal;
        if keys {
            scope.spawn(move || {
                while stopped.recv_timeout(Duration::from_millis(50)).is_err() {
                    terminal.send("a");
                }
            });
        }
        let took = sent(provider);
        let _ = stop.send(());
        took
    });
    shown(&terminal, before);
    took
}

/// Bytes to the terminal against bytes of text.
pub fn bytes() -> Vec<Row> {
    let mut rows = Vec::new();
    for (tokens, rate) in [(2_000, 100), (10_000, 1_000)] {
        let (provider, home) = (Provider::start(), Home::new(0));
        let terminal = home.open(&provider);
        provider.set(script(tokens, Some(rate)));
        let before = say(&terminal, "go");
        shown(&terminal, before);
        terminal.settled(before, Duration::from_millis(200), LIMIT);
        let text = prose::bytes(tokens);
        let written = terminal.total() - before;
        let ratio = written as f64 / text as f64;
        rows.push(Row {
            what: format!("bytes to the terminal, {tokens} tokens at {rate} a second, 80x24"),
            wanted: "at most 12 x the text",
            measured: format!("{written} of {text}, {ratio:.2} x"),
            holds: Some(ratio <= 12.0),
        });
    }
    rows
}

/// CPU for a token at the end of a long reply and at its start.
pub fn cost() -> Vec<Row> {
    let (tokens, rate) = (100_000, 20_000);
    let mut ratios = Vec::new();
    let mut firsts = Vec::new();
    for _ in 0..5 {
        let (provider, home) = (Provider::start(), Home::new(0));
        let terminal = home.open(&provider);
        provider.set(script(tokens, Some(rate)));
        let before = say(&terminal, "go");
        let mut at = Vec::new();
        for tenth in 1..=10 {
            provider.wait(
                LIMIT,
                |did| matches!(did, Did::Sent(n) if n == tokens / 10 * tenth),
            );
            at.push(terminal.cpu().as_secs_f64());
        }
        shown(&terminal, before);
        // The first tenth holds the request and the first touch of everything; the second is the start.
        let (first, last) = (at[1] - at[0], at[9] - at[8]);
        ratios.push(last / first);
        firsts.push(first / (tokens / 10) as f64);
    }
    let ratio = percentile(&mut ratios, 50);
    vec![Row {
        what: "CPU for a token in the last tenth of 100,000 against the second".to_owned(),
        wanted: "the same (within 15 %)",
        measured: format!(
            "{ratio:.2} x ({:.2} us each)",
            percentile(&mut firsts, 50) * 1e6
        ),
        holds: Some(ratio <= 1.15),
    }]
}
