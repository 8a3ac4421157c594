//! The commands as rows: what each takes, what the help says of it, and what it does.

use super::{CommandCall, CommandHandler, CommandSpec, SHELL, bare, help, taking};
use crate::app::direct_call::catalogue;
use crate::app::help as topics;
use crate::app::profile;
use crate::app::session::flow::Flow;
use crate::app::session::jobs;
use crate::app::session::lists::{profiles, theme, usage};
use crate::app::session::orders::CoreRequest;
use crate::app::session::queued::{Queued, QueuedKind};
use crate::app::session::servers;
use crate::app::session::ui_update::UiUpdate;
use crate::app::session::workplace;
use crate::base::problem::{Outcome, Problem};
use crate::tools::engine::offering;
use crate::tools::session::skills;

/// Every command, in the order of the help.
pub(crate) static ROWS: &[CommandSpec] = &[
    taking(
        &["help"],
        "[TOPIC]",
        "this list, or the help of a topic",
        CommandHandler::Free(|call| {
            call.orders.show(match call.rest {
                "" => UiUpdate::Listing(help()),
                topic => UiUpdate::Help(topics::named(topic)?),
            });
            Ok(())
        }),
    ),
    taking(
        &["tools"],
        "[WORD]",
        "the tools, or those that fit a word",
        CommandHandler::Free(|call| {
            let word: Vec<String> = one(call.rest).into_iter().collect();
            let list = catalogue::list(&word, &call.run.context.registry())?;
            let overview = match word.is_empty() {
                true => offering::overview(&call.run.context),
                false => String::new(),
            };
            call.orders.show(UiUpdate::Listing(overview + &list));
            Ok(())
        }),
    )
    .for_programs("tools"),
    taking(
        &["tool"],
        "NAME key=value …",
        "run one tool without a model",
        CommandHandler::Free(|call| jobs::call_tool(&words(call.rest)?, call.run, call.orders)),
    ),
    taking(
        &["mcp"],
        "[NAME]",
        "the MCP servers, or one with its log",
        CommandHandler::Free(|call| servers::command(call.rest, call.run, call.orders)),
    ),
    taking(
        &["model"],
        "[PROVIDER] [MODEL]",
        "show or change provider and model",
        CommandHandler::Model(|model, call| {
            model.change(words(call.rest)?, call.run, call.orders);
            Ok(())
        }),
    ),
    taking(
        &["pro"],
        "TEXT",
        "send one message to Copilot",
        CommandHandler::Flow(ask_copilot),
    ),
    bare(
        &["thinking"],
        "show or hide what the model thinks",
        CommandHandler::Free(|call| {
            call.orders.show(UiUpdate::ToggleThinking);
            Ok(())
        }),
    ),
    taking(
        &["effort"],
        "[LEVEL]",
        "show or change how hard the model thinks",
        CommandHandler::Model(|model, call| model.change_effort(call.rest, call.run, call.orders)),
    ),
    taking(
        &["flow"],
        "[on|off|auto]",
        "show or change when the reply flow answers",
        CommandHandler::Flow(|flow, call| {
            flow.change(call.rest, call.run, call.facts, call.orders)
        }),
    ),
    bare(
        &["why"],
        "how the last reply of the flow came about",
        CommandHandler::Flow(|flow, call| {
            flow.explain(call.orders);
            Ok(())
        }),
    )
    .for_programs("why"),
    taking(
        &["profile"],
        "[NAME]",
        "switch to another profile, created if new",
        CommandHandler::Free(|call| match call.rest {
            "" => list_profiles(call),
            name => {
                let change = Queued::profile_change(name, &call.run.context.paths)?;
                call.orders.request(CoreRequest::Queue(change));
                Ok(())
            }
        }),
    ),
    taking(
        &["memory"],
        "[COMMAND]",
        "show, search, export or erase what is remembered",
        CommandHandler::Flow(|flow, call| {
            flow.memory_command(&words(call.rest)?, call.run, call.facts, call.orders)
        }),
    )
    .for_programs("memory"),
    bare(
        &["blender"],
        "check the connection to Blender",
        CommandHandler::Free(|call| {
            jobs::check_blender(call.run, call.orders);
            Ok(())
        }),
    ),
    bare(
        &["new", "clear"],
        "begin a new session, with an empty conversation",
        CommandHandler::Conversation(|conversation, call| {
            conversation.may_be_left(call.facts)?;
            call.orders.request(CoreRequest::NewSession);
            Ok(())
        }),
    )
    .for_programs("clear"),
    taking(
        &["resume"],
        "[ID]",
        "go on with another session, or choose one from a list",
        CommandHandler::Conversation(|conversation, call| {
            conversation.resume(call.rest, call.run, call.facts, call.orders)
        }),
    ),
    taking(
        &["name"],
        "TEXT",
        "give this session a name",
        CommandHandler::Conversation(|conversation, call| {
            conversation.rename(call.rest, call.run, call.orders)
        }),
    ),
    bare(
        &["compact"],
        "summarize the older part of the conversation now",
        CommandHandler::Conversation(|conversation, call| {
            conversation.compact(call.run, call.facts, call.orders)
        }),
    )
    .for_programs("compact"),
    bare(
        &["undo"],
        "take back the last exchange",
        CommandHandler::Conversation(|conversation, call| {
            conversation.undo(call.run, call.facts, call.orders)
        }),
    )
    .for_programs("undo"),
    taking(
        &["trust"],
        "[ANSWER]",
        "what the project brings along, and whether it may act",
        CommandHandler::Project(|project, call| project.command(call.rest, call.run, call.orders)),
    )
    .for_programs("trust"),
    bare(
        &["skills"],
        "the skills, which /NAME calls",
        CommandHandler::Free(|call| {
            let list = skills::listing(&call.run.context.skills(), &super::names(), skills::state);
            call.orders.show(UiUpdate::Listing(list));
            Ok(())
        }),
    )
    .for_programs("skills"),
    taking(
        &["theme"],
        "[NAME]",
        "show or change the colours",
        CommandHandler::Free(|call| theme::change(call.rest, call.run, call.orders)),
    ),
    bare(
        &["code"],
        "coding mode on or off: more rounds, project instructions",
        CommandHandler::Free(|call| {
            workplace::toggle_coding(call.run, call.orders);
            Ok(())
        }),
    )
    .for_programs("code"),
    bare(
        &["shell", SHELL],
        "shell mode on or off: each line is a command",
        CommandHandler::Workplace(|workplace, call| {
            workplace.toggle_shell(call.run, call.orders);
            Ok(())
        }),
    ),
    taking(
        &[SHELL],
        "COMMAND",
        "run a command; with & at the end in the background",
        CommandHandler::Free(|call| workplace::run_command(call.rest, call.run, call.orders)),
    ),
    taking(
        &["v"],
        "[SECONDS]",
        "record (5 s unless you say), and send what you said",
        CommandHandler::Voice(|voice, call| voice.record_once(call.rest, call.run, call.orders)),
    ),
    taking(
        &["voice"],
        "",
        "voice mode on or off: listen, and speak the answers",
        CommandHandler::Voice(|voice, call| voice.toggle(call.rest, call.run, call.orders)),
    ),
    taking(
        &["agents"],
        "[N] [TEXT]",
        "list, look into or answer agents",
        CommandHandler::Jobs(|jobs, call| jobs.agents.command(call.rest, call.run, call.orders)),
    ),
    taking(
        &["stop"],
        "[N]",
        "stop agent N, or all in the background",
        CommandHandler::Jobs(|jobs, call| jobs.stop_background(call.rest, call.orders)),
    ),
    bare(
        &["preferences"],
        "edit your preferences in $EDITOR",
        CommandHandler::Free(|call| {
            let context = &call.run.context;
            let path = profile::preferences_file(&context.paths, &context.profile())?;
            call.orders.show(UiUpdate::Edit(path));
            Ok(())
        }),
    )
    .word(),
    bare(
        &["profiles"],
        "list the profiles",
        CommandHandler::Free(list_profiles),
    )
    .word(),
    bare(
        &["saved"],
        "list the saved places",
        CommandHandler::Free(|call| {
            let list = |context: &_| Ok(profiles::places(context));
            call.orders.list(call.run, list);
            Ok(())
        }),
    )
    .word(),
    bare(
        &["usage"],
        "usage and cost",
        CommandHandler::Conversation(|conversation, call| {
            let cost = conversation.saved().cost(call.run.spent());
            let report = move |context: &_| usage::report(context, cost);
            call.orders.list(call.run, report);
            Ok(())
        }),
    )
    .word()
    .for_programs("usage"),
    bare(
        &["quit", "exit"],
        "quit Marvin",
        CommandHandler::Free(|call| {
            call.orders.show(UiUpdate::Leave(String::new()));
            Ok(())
        }),
    )
    .word()
    .in_shell_mode(),
];

fn one(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn words(rest: &str) -> Outcome<Vec<String>> {
    shlex::split(rest).ok_or_else(|| {
        Problem::input("A quote is not closed.").next("Close it, or escape it with \\.")
    })
}

fn list_profiles(call: &mut CommandCall<'_>) -> Outcome<()> {
    let list = |context: &_| Ok(profiles::profiles(context));
    call.orders.list(call.run, list);
    Ok(())
}

/// Sends one message to Copilot, whatever answers otherwise. What is said among messages of the flow is kept with them.
fn ask_copilot(flow: &mut Flow, call: &mut CommandCall<'_>) -> Outcome<()> {
    if call.rest.is_empty() {
        return Err(Problem::input("There is no message after /pro.")
            .next("For example: /pro explain this error."));
    }
    let text = flow.for_conversation(call.rest, call.run, call.facts);
    let message = Queued::new(QueuedKind::ToCopilot, text);
    call.orders.request(CoreRequest::Queue(message));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        assert_eq!(words("tree path='a b'").unwrap(), ["tree", "path=a b"]);
        assert!(words("x a='b").is_err());
    }
}
