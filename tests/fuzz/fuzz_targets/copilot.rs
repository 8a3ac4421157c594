//! What the Copilot CLI writes on its pipe: headers, lengths, JSON, events.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::copilot::read_all;

fuzz_target!(|bytes: &[u8]| {
    let whole = read_all(bytes, bytes.len().max(1));
    // Nothing depends on how the stream is cut.
    assert_eq!(read_all(bytes, 1), whole);
    assert!(whole.0 <= bytes.len());
});
