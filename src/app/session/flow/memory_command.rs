//! `/memory`: what is remembered about the user, from within a conversation.

use std::sync::Arc;

use super::Flow;
use crate::app::memory::ProfileMemory;
use crate::app::memory::command::MemoryCommand;
use crate::app::memory::maintain::maintain;
use crate::app::session::facts::Facts;
use crate::app::session::model_env::model_env;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::app::settings::ModelChoice;
use crate::app::setup;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::chat::event::NullSink;
use crate::tools::engine::context::{SessionContext, ToolContext};

impl Flow {
    /// Runs a command of the memory on a thread of its own, or shows the latest of it. Erasing needs `--yes`; without it the user sees what would go.
    ///
    /// # Errors
    /// There is no such command, or it needs a model and there is none.
    pub(in crate::app::session) fn memory_command(
        &self,
        words: &[String],
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> Outcome<()> {
        let command = match words {
            [] => MemoryCommand::overview(),
            words => MemoryCommand::parse(words)?,
        };
        if command.needs_model() {
            return self.maintain_memory(command, run, facts, orders);
        }
        let is_everywhere = matches!(
            command,
            MemoryCommand::Forget {
                everywhere: true,
                ..
            }
        );
        let dir = run.command_dir();
        let again = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
        let (engine, profile) = (self.engine(), run.context.profile());
        let make = move |context: &SessionContext| {
            let memory = ProfileMemory::open(&context.paths, &profile, &context.clock)?;
            let text = match &command {
                MemoryCommand::Forget {
                    target,
                    everywhere,
                    yes: false,
                } => {
                    let has = memory.has(target, *everywhere)?;
                    let holds = engine.is_some_and(|engine| engine.holds(target));
                    let nothing = match holds {
                        true => "The memory has nothing of it, but this conversation does.",
                        false => "There is nothing to erase.",
                    };
                    let mut text = memory.preview_or(target, *everywhere, nothing)?;
                    let command = one_line(&again);
                    match (has, holds) {
                        (true, _) => text.push_str(&format!(
                            "\n/memory {command} --yes erases it, here and in what this conversation still holds.\n"
                        )),
                        (false, true) => text.push_str(&format!(
                            "\n/memory {command} --yes takes it out of this conversation.\n"
                        )),
                        (false, false) => {}
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
        };
        if is_everywhere {
            // After what is to be written before: the input history and the chat log have what was typed and said last.
            let context = Arc::clone(&run.context);
            let erase = move || make(&context);
            let awaited_by = AwaitedBy::Interface;
            orders.write_and_report("memory", awaited_by, erase, WorkerEvent::Listing);
        } else {
            orders.list(run, make);
        }
        Ok(())
    }

    /// Runs a command of the memory that calls a model, one entry after the other; Esc stops it.
    fn maintain_memory(
        &self,
        command: MemoryCommand,
        run: &Run,
        facts: &Facts,
        orders: &mut Orders,
    ) -> Outcome<()> {
        let (Some(target), Some(spending)) = (&facts.target, &facts.spending) else {
            return Err(Problem::missing("No model answers yet.").next("/model chooses one."));
        };
        let choice = ModelChoice {
            provider: Some(target.provider.name().to_owned()),
            model: Some(target.model.clone()),
        };
        let (context, inbox) = (Arc::clone(&run.context), Arc::clone(&run.inbox));
        let (spending, profile) = (spending.clone(), run.context.profile());
        let work = move |_, stop| {
            let mut tell = |text: String| inbox.send(WorkerEvent::Notice(text));
            let ctx = ToolContext::new(Arc::clone(&context), stop, Arc::new(NullSink));
            // A call that is cut off closes the connections of its provider, so an answer that is on its way has another one.
            let target = setup::model_target(&choice, &spending, &model_env(&context), &mut tell)?;
            let memory = ProfileMemory::open(&context.paths, &profile, &context.clock)?;
            maintain(&command, &memory.store, &ctx, &Arc::new(target), &mut tell)
        };
        let report = |id, outcome| WorkerEvent::Report { id, outcome };
        orders.job("memory", false, work, report);
        Ok(())
    }
}
