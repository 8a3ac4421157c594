//! `!memory`: what is remembered about the user, from within a conversation.

use super::Session;
use crate::app::memory::ProfileMemory;
use crate::app::memory::command::MemoryCommand;
use crate::base::problem::Outcome;
use crate::base::text::one_line;

impl Session {
    /// Runs a command of the memory on a thread of its own. Erasing needs `--yes`; without it the user sees what would go.
    pub(super) fn memory_command(&mut self, words: &[String]) -> Outcome<()> {
        let command = MemoryCommand::parse(words)?;
        let dir = self.command_dir();
        let again = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
        self.list(move |context| {
            let memory = ProfileMemory::open(&context.paths, &context.profile(), &context.clock)?;
            let text = match &command {
                MemoryCommand::Forget { target, yes: false } => {
                    let mut text = memory.preview(target)?;
                    if memory.has(target)? {
                        let command = one_line(&again);
                        text.push_str(&format!("\n!memory {command} --yes erases this.\n"));
                    }
                    Ok(text)
                }
                command => memory.run(command, &dir),
            };
            let warnings = memory.store.take_warnings();
            let warnings: String = warnings
                .iter()
                .map(|text| format!("Warning: {text}\n"))
                .collect();
            text.map(|text| warnings + &text)
        });
        Ok(())
    }
}
