//! Lines of a calling program: however they arrive, the same lines are read, none is longer than it may be, and what is an object stays one.
#![no_main]

use std::io::BufReader;

use libfuzzer_sys::fuzz_target;
use marvin::testing::caller_lines::{NextLine, next_line, object};
use serde_json::Value;

const MOST: usize = 64;

fn lines(bytes: &[u8], buffer: usize) -> Vec<NextLine> {
    let mut input = BufReader::with_capacity(buffer, bytes);
    let mut lines = Vec::new();
    loop {
        match next_line(&mut input, MOST).unwrap() {
            NextLine::End => return lines,
            line => lines.push(line),
        }
    }
}

fuzz_target!(|input: (u8, &[u8])| {
    let (buffer, bytes) = input;
    let whole = lines(bytes, 4_096);
    assert_eq!(whole, lines(bytes, usize::from(buffer).max(1)));
    for line in whole {
        let NextLine::Line(line) = line else {
            continue;
        };
        assert!(line.len() <= MOST && !line.contains(&b'\n'));
        if let Ok(read) = object(&line) {
            let again = Value::Object(read.clone()).to_string();
            assert_eq!(object(again.as_bytes()), Ok(read));
        }
    }
});
