//! A line of JSON-RPC: a message or an error, and what is written of it is one line and a message again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::json_rpc::{echo, is_message};

fuzz_target!(|line: &[u8]| {
    let written = echo(line);
    assert!(!written.contains('\n'));
    assert!(is_message(written.as_bytes()), "{written}");
});
