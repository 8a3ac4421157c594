//! Files of sessions: whatever they hold, reading them ends, and what the model sees of them is in order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::sessions::Replay;

fuzz_target!(|bytes: &[u8]| {
    let replay = Replay::read(bytes);
    let context = replay.context();
    // Each line adds at most one message, and a repair at most a result for each call of it.
    assert!(context.len() <= bytes.len());
    assert!(replay.user_texts().len() <= bytes.split(|byte| *byte == b'\n').count());
    // Reading is the same a second time.
    assert_eq!(Replay::read(bytes).context(), context);
});
