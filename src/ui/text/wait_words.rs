//! What an answer waits for, in words.

use crate::chat::wait::Wait;

/// What is awaited, as the beginning of a sentence that a time may follow.
pub(crate) fn phrase(wait: &Wait) -> String {
    match wait {
        Wait::Start { program } => format!("starting {program}"),
        Wait::Connection { provider } => format!("connecting to {provider}"),
        Wait::FirstByte {
            provider,
            loads: None,
        } => format!("waiting for {provider}"),
        Wait::FirstByte {
            provider,
            loads: Some(model),
        } => format!("waiting for {provider}, which may be loading {model}"),
        Wait::Retry {
            provider,
            is_rate_limit: true,
            ..
        } => format!("rate limited by {provider}, next try in"),
        Wait::Retry { provider, .. } => format!("{provider} failed, next try in"),
        Wait::Compaction => "compacting the conversation".to_owned(),
    }
}
