//! Server-sent events: the events do not depend on where the stream is cut.
#![no_main]

use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use marvin::testing::sse::SseEvents;

fn events(parts: &[&[u8]]) -> Vec<String> {
    let mut seen = Vec::new();
    let mut events = SseEvents::with_cap(1 << 16);
    let mut take = |item: marvin::testing::sse::SseItem<'_>| {
        seen.push(format!("{item:?}"));
        ControlFlow::Continue(())
    };
    for part in parts {
        if events.feed(part, &mut take).is_err() {
            return Vec::new();
        }
    }
    let _ = events.finish(&mut take);
    seen
}

fuzz_target!(|data: &[u8]| {
    let (Some(cut), body) = (data.first(), data.get(1..).unwrap_or_default()) else {
        return;
    };
    let (head, tail) = body.split_at(usize::from(*cut).min(body.len()));
    assert_eq!(events(&[body]), events(&[head, tail]));
});
