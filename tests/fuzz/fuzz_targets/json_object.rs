//! One JSON object out of a stream: read alike however it is cut, within its limit, and the same when it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::json_object::ObjectReader;
use serde_json::Value;

const MAX_BYTES: usize = 1_000;

fuzz_target!(|bytes: &[u8]| {
    let mut whole = ObjectReader::new(MAX_BYTES);
    let at_once = whole.feed(bytes);
    assert!(whole.received() <= MAX_BYTES);
    let mut reader = ObjectReader::new(MAX_BYTES);
    let mut in_pieces = Ok(None);
    for byte in bytes.chunks(1) {
        in_pieces = reader.feed(byte);
        if !matches!(in_pieces, Ok(None)) {
            break;
        }
    }
    assert_eq!(at_once, in_pieces);
    if let Ok(Some(object)) = at_once {
        let text = Value::Object(object.clone()).to_string();
        let again = ObjectReader::new(usize::MAX).feed(text.as_bytes());
        assert_eq!(again, Ok(Some(object)));
    }
});
