//! Long texts of short repeated pieces: the time of every parser grows with the length, not with its square.
//!
//! An input is a text in four parts, separated by a zero byte: head, two pieces that are repeated, one after the other, and tail. A byte 1 in a
//! piece becomes the number of the repetition. The first byte selects the parser.
#![no_main]

use std::fs;
use std::time::Duration;

use jiff::{Timestamp, ToSpan, tz::TimeZone};
use libfuzzer_sys::fuzz_target;
use marvin::testing::address::Address;
use marvin::testing::calendar::between;
use marvin::testing::front_matter::{FrontMatter, with_note};
use marvin::testing::patch::{apply_commands, apply_hunks, replace_once};
use marvin::testing::{ZoneFiles, feed, html, web_results};

/// Bytes of a long text.
const LONG: usize = 256 * 1024;
/// What they may cost in CPU time, many times what they do.
const MOST: Duration = Duration::from_millis(1_500);

/// Time of this thread on a processor: what else runs on the machine does not count.
fn cpu_time() -> Duration {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = times.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// The piece so often that it is half of the text.
fn repeated(piece: &[u8], out: &mut Vec<u8>) {
    let end = out.len() + LONG / 2;
    for number in 0.. {
        if piece.is_empty() || out.len() >= end {
            break;
        }
        for byte in piece {
            match byte {
                1 => out.extend(number.to_string().bytes()),
                byte => out.push(*byte),
            }
        }
    }
}

fn read(reader: u8, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (one, two) = text.split_at(text.floor_char_boundary(text.len() / 2));
    match reader % 8 {
        0 => {
            let from = Timestamp::from_second(1_795_000_000)
                .unwrap()
                .to_zoned(TimeZone::UTC);
            let _ = between(
                bytes,
                &from,
                &from.checked_add(60.days()).unwrap(),
                &ZoneFiles::default(),
            );
        }
        1 => {
            let address = Address::parse("https://site.test/a/feed.xml").unwrap();
            let _ = feed::read(bytes, "", &address, 20);
        }
        2 => {
            let _ = html::page_part(&text, None, &["nav", "header"]);
        }
        3 => {
            let _ = apply_hunks(one, two, "file");
        }
        4 => {
            let _ = apply_commands(one, two, "file");
        }
        5 => {
            let (old, new) = two.split_at(two.floor_char_boundary(two.len() / 2));
            let _ = replace_once(one, old, new, "file");
        }
        6 => {
            let doc = FrontMatter::parse(bytes);
            let _ = (
                doc.list("deps"),
                doc.set("status", "closed"),
                with_note(bytes, "now", two),
            );
        }
        _ => {
            let _ = web_results::read(&text);
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((reader, text)) = input.split_first() else {
        return;
    };
    let mut parts = text.splitn(4, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or_default();
    let mut long = part().to_vec();
    repeated(part(), &mut long);
    repeated(part(), &mut long);
    long.extend_from_slice(part());
    let begun = cpu_time();
    read(*reader, &long);
    let took = cpu_time().saturating_sub(begun);
    assert!(took < MOST, "{} bytes took {:?}", long.len(), took);
});
