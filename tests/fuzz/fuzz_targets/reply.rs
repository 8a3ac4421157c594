//! Complete bodies through the decoder of each wire: wherever the first byte says to cut them, the reply is the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::llm::{Delta, Dialect, ErrorContext, ProviderSpec, Reply, row};

/// The reply in these reads, and the text that was shown while it came; `None` for a failure.
fn reply(row: &'static ProviderSpec, reads: &[&[u8]]) -> Option<(Reply, String)> {
    let mut shown = String::new();
    let mut show = |delta: Delta<'_>| {
        if let Delta::Text(text) = delta {
            shown.push_str(text);
        }
    };
    let mut decoder = Dialect::of(row, row.base).decoder(ErrorContext::new(row));
    for read in reads {
        decoder.feed(read);
        decoder.deltas().for_each(&mut show);
    }
    decoder.end();
    decoder.deltas().for_each(&mut show);
    let mut reply = decoder.into_result().ok()?;
    // Ids that the wire omitted are generated.
    for call in &mut reply.calls {
        call.id.clear();
    }
    Some((reply, shown))
}

fuzz_target!(|data: &[u8]| {
    let (Some(cut), body) = (data.first(), data.get(1..).unwrap_or_default()) else {
        return;
    };
    for name in ["openai", "openai-compat", "ollama", "anthropic"] {
        let Some(row) = row(name) else { continue };
        let (head, tail) = body.split_at(usize::from(*cut).min(body.len()));
        assert_eq!(reply(row, &[body]), reply(row, &[head, tail]), "{name}");
    }
});
