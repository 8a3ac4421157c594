//! Whether the reply flow answers, in words: for `/flow` and for `marvin doctor`.

use crate::reply::applies::{FlowQuestion, applies};
use crate::reply::settings::FlowMode;

/// A sentence or two about whether the flow answers, and why.
pub(crate) fn words(question: &FlowQuestion<'_>, model: &str) -> String {
    let on = if applies(question) { "on" } else { "off" };
    format!("The reply flow is {on}: {}.", reason(question, model))
}

/// Why the flow answers, or does not.
pub(crate) fn reason(question: &FlowQuestion<'_>, model: &str) -> String {
    let provider = question.provider;
    if question.is_coding {
        return "coding mode never uses it".to_owned();
    }
    if question.is_shell {
        return "in shell mode lines are commands".to_owned();
    }
    if question.mode == FlowMode::Off {
        return "it was switched off (flow = off)".to_owned();
    }
    if applies(question) {
        return match question.mode {
            FlowMode::On => "it was switched on (flow = on)".to_owned(),
            _ if provider == "ollama" => "it answers for every model on ollama".to_owned(),
            _ => format!("{model} is a small model"),
        };
    }
    // `on` forces the flow: whatever still keeps it off is in the provider.
    let forced = FlowQuestion {
        mode: FlowMode::On,
        ..*question
    };
    if applies(&forced) {
        format!(
            "{model} is a large model, and {provider} is not ollama; flow = on uses it all the same"
        )
    } else {
        format!("{provider} answers in a way that the flow cannot drive")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_names_what_decides() {
        for (mode, provider, is_small, is_coding, want) in [
            (
                FlowMode::Auto,
                "ollama",
                false,
                false,
                "on: it answers for every model on ollama.",
            ),
            (
                FlowMode::Auto,
                "groq",
                true,
                false,
                "on: m is a small model.",
            ),
            (
                FlowMode::Auto,
                "groq",
                false,
                false,
                "off: m is a large model, and groq is not ollama; flow = on uses it all the same.",
            ),
            (
                FlowMode::On,
                "groq",
                false,
                false,
                "on: it was switched on (flow = on).",
            ),
            (
                FlowMode::Off,
                "ollama",
                true,
                false,
                "off: it was switched off (flow = off).",
            ),
            (
                FlowMode::On,
                "ollama",
                true,
                true,
                "off: coding mode never uses it.",
            ),
            (
                FlowMode::On,
                "anthropic",
                true,
                false,
                "off: anthropic answers in a way that the flow cannot drive.",
            ),
        ] {
            let question = FlowQuestion {
                mode,
                provider,
                is_small,
                is_interactive: true,
                is_coding,
                is_shell: false,
            };
            assert_eq!(words(&question, "m"), format!("The reply flow is {want}"));
        }
    }
}
