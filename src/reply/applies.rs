//! Which messages the flow answers.

use crate::llm::catalog::{self, Wire};
use crate::reply::settings::FlowMode;

/// What decides about a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowQuestion<'a> {
    pub mode: FlowMode,
    /// The name of the provider that would answer.
    pub provider: &'a str,
    pub is_small: bool,
    /// A person talks, and neither a program nor another Marvin.
    pub is_interactive: bool,
    pub is_coding: bool,
    /// Messages are commands for the shell.
    pub is_shell: bool,
}

/// Whether the flow answers; otherwise the plain loop does.
pub(crate) fn applies(question: &FlowQuestion<'_>) -> bool {
    if !question.is_interactive || question.is_coding || question.is_shell {
        return false;
    }
    // Copilot runs a loop of its own, and Anthropic's wire is not one that the flow speaks; neither has a row that matches.
    let Some(row) = catalog::row(question.provider).filter(|row| row.wire != Wire::Anthropic)
    else {
        return false;
    };
    match question.mode {
        FlowMode::Off => false,
        FlowMode::On => true,
        FlowMode::Auto => row.wire == Wire::Ollama || question.is_small,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_answers_where_it_helps() {
        use FlowMode::{Auto, Off, On};
        for (mode, provider, is_small, want) in [
            (Auto, "ollama", false, true),
            (Auto, "ollama", true, true),
            (Auto, "openai-compat", true, true),
            (Auto, "openai-compat", false, false),
            (Auto, "groq", true, true),
            (Auto, "gemini", false, false),
            (Auto, "openai", true, true),
            (Auto, "anthropic", true, false),
            (Auto, "copilot", true, false),
            (Auto, "offline", true, false),
            (On, "openai", false, true),
            (On, "openai-compat", false, true),
            (On, "anthropic", true, false),
            (On, "copilot", true, false),
            (On, "offline", true, false),
            (Off, "ollama", true, false),
        ] {
            let question = FlowQuestion {
                mode,
                provider,
                is_small,
                is_interactive: true,
                is_coding: false,
                is_shell: false,
            };
            assert_eq!(applies(&question), want, "{question:?}");
            for other in [
                FlowQuestion {
                    is_interactive: false,
                    ..question
                },
                FlowQuestion {
                    is_coding: true,
                    ..question
                },
                FlowQuestion {
                    is_shell: true,
                    ..question
                },
            ] {
                assert!(!applies(&other), "{other:?}");
            }
        }
    }
}
