//! The flags that a person gives, as rows: what each stores in [`super::CliArgs`]. Those of a program that drives a run are in [`json_flags`].

use std::path::PathBuf;

use super::flag::{Complete, Flag, FlagGroup, ValueMode, flag, text};
use super::{Interface, json_flags, session};
use crate::base::problem::Problem;
use crate::llm::provider::Effort;
use crate::pipeline::feature::FeatureName;
use crate::pipeline::{approval, phase};
use crate::proc::supervise::{self, SupervisedInput};
use crate::tools::engine::permission::mode::PermissionMode;
use crate::tools::engine::project_trust::RunTrust;

pub(crate) fn all() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().chain(json_flags::FLAGS)
}

/// Those that a person gives.
static FLAGS: &[Flag] = &[
    flag(
        "non-interactive",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Answer one prompt on standard output and end.",
        |args, _| {
            args.non_interactive = true;
            Ok(())
        },
    )
    .brief("Answer one prompt on standard output and end."),
    flag(
        "prompt",
        FlagGroup::Prompt,
        ValueMode::Value("TEXT"),
        "The prompt.",
        |args, value| {
            args.prompt.text = Some(text(value, "--prompt")?);
            Ok(())
        },
    ),
    flag(
        "prompt-file",
        FlagGroup::Prompt,
        ValueMode::Value("FILE"),
        "Read the prompt from a file.",
        |args, value| {
            args.prompt.file = Some(PathBuf::from(value));
            Ok(())
        },
    )
    .complete(Complete::File),
    flag(
        "image",
        FlagGroup::Prompt,
        ValueMode::Value("FILE"),
        "Send this image with the prompt; give it again for more images.",
        |args, value| {
            args.prompt.images.push(PathBuf::from(value));
            Ok(())
        },
    )
    .brief("Send an image with the prompt.")
    .short('i')
    .complete(Complete::File),
    flag(
        "stdin",
        FlagGroup::Prompt,
        ValueMode::Nothing,
        "Append standard input to the prompt, marked as data.",
        |args, _| {
            args.prompt.with_stdin = true;
            Ok(())
        },
    ),
    flag(
        "working-dir",
        FlagGroup::Prompt,
        ValueMode::Value("DIR"),
        "Work on the code in this folder; file tools cannot leave it.",
        |args, value| {
            args.working_dir = Some(PathBuf::from(value));
            Ok(())
        },
    )
    .brief("Work on the code in this folder.")
    .complete(Complete::Folder),
    flag(
        "provider",
        FlagGroup::Model,
        ValueMode::Value("NAME"),
        "The language model's provider; marvin help providers lists them.",
        |args, value| {
            args.model.provider = Some(text(value, "--provider")?);
            Ok(())
        },
    )
    .brief("Where the language model comes from.")
    .complete(Complete::Provider),
    flag(
        "model",
        FlagGroup::Model,
        ValueMode::Any("[TIER=]MODEL"),
        "The model, or the model of a tier of work; all=MODEL sets every tier.",
        |args, value| {
            let value = text(value, "--model")?;
            // What stands before the sign must look like a tier: names of models have dots, colons and dashes.
            if let Some((name, model)) = value.split_once('=')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            {
                return args.model.tiers.add(name, model);
            }
            args.model.model = Some(value);
            Ok(())
        },
    )
    .brief("The model; marvin models lists them."),
    flag(
        "design-first",
        FlagGroup::Pipeline,
        ValueMode::Nothing,
        "Build software: documents, tests, implementation and checks, each step by a child (the pipeline).",
        |args, _| {
            args.pipeline.is_wanted = true;
            args.non_interactive = true;
            Ok(())
        },
    )
    .brief("Build software in phases (the pipeline)."),
    flag(
        "allow-dirty",
        FlagGroup::Pipeline,
        ValueMode::Nothing,
        "Let the pipeline's first commit take changes that are not committed; a new run works in place then.",
        |args, _| {
            args.pipeline.allow_dirty = true;
            Ok(())
        },
    ),
    flag(
        "in-place",
        FlagGroup::Pipeline,
        ValueMode::Nothing,
        "Let the pipeline work in the folder and on the branch that is checked out there, not in a worktree of its own.",
        |args, _| {
            args.pipeline.in_place = true;
            Ok(())
        },
    ),
    flag(
        "branch",
        FlagGroup::Pipeline,
        ValueMode::Value("NAME"),
        "Let the pipeline work on this branch, which is made when there is none; implies --in-place.",
        |args, value| {
            args.pipeline.branch = Some(text(value, "--branch")?);
            Ok(())
        },
    ),
    flag(
        "feature",
        FlagGroup::Pipeline,
        ValueMode::Value("NAME"),
        "Let the pipeline build this feature, with documents in specs/NNN-NAME; one that was begun goes on.",
        |args, value| {
            args.pipeline.feature = Some(FeatureName::parse(&text(value, "--feature")?)?);
            Ok(())
        },
    ),
    flag(
        "until",
        FlagGroup::Pipeline,
        ValueMode::Value("PHASE"),
        "Let the pipeline stop after this phase; the same command without it goes on.",
        |args, value| {
            args.pipeline.until = Some(phase::named(&text(value, "--until")?)?.name);
            Ok(())
        },
    )
    .complete(Complete::Phase),
    flag(
        "from",
        FlagGroup::Pipeline,
        ValueMode::Value("PHASE"),
        "Let the pipeline do this phase and those after it again, although they are done.",
        |args, value| {
            args.pipeline.from = Some(phase::named(&text(value, "--from")?)?.name);
            Ok(())
        },
    )
    .complete(Complete::Phase),
    flag(
        "approve",
        FlagGroup::Pipeline,
        ValueMode::Value("POINT,…"),
        "Let the pipeline wait for your approval after spec, design, tests or code, or after a phase.",
        |args, value| {
            args.pipeline.approve.extend(approval::points(&text(value, "--approve")?)?);
            Ok(())
        },
    )
    .complete(Complete::Approval),
    flag(
        "effort",
        FlagGroup::Model,
        ValueMode::Value("LEVEL"),
        "How hard the model thinks: none, low, medium, high, xhigh or max; unless set, high for work on code and low otherwise.",
        |args, value| {
            args.model.effort = Some(Effort::parse(&text(value, "--effort")?)?);
            Ok(())
        },
    )
    .complete(Complete::Effort),
    flag(
        "tools",
        FlagGroup::Model,
        ValueMode::Any("GROUP,…"),
        "Offer only these groups of tools, or tools by their names; all, none and sub-agent work too.",
        |args, value| {
            let list = text(value, "--tools")?;
            args.access.tools = Some(match list.trim().is_empty() {
                true => "none".to_owned(),
                false => list,
            });
            Ok(())
        },
    )
    .complete(Complete::Group),
    flag(
        "allowed-tools",
        FlagGroup::Permissions,
        ValueMode::Any("RULES"),
        "Let calls run unasked that fit one of these rules: read_file, git_*, run_command(cargo test:*), create_file(docs/**).",
        |args, value| {
            args.access.permissions.allow.push(text(value, "--allowed-tools")?);
            Ok(())
        },
    )
    .second("allowedTools"),
    flag(
        "allow-tool",
        FlagGroup::Permissions,
        ValueMode::Any("NAME"),
        "The short form of --allowed-tools.",
        |args, value| {
            args.access.permissions.allow.push(text(value, "--allow-tool")?);
            Ok(())
        },
    )
    .hidden(),
    flag(
        "disallowed-tools",
        FlagGroup::Permissions,
        ValueMode::Any("RULES"),
        "Refuse calls that fit one of these rules; a tool that is named alone is not offered at all.",
        |args, value| {
            args.access.permissions.deny.push(text(value, "--disallowed-tools")?);
            Ok(())
        },
    )
    .second("disallowedTools"),
    flag(
        "permission-mode",
        FlagGroup::Permissions,
        ValueMode::Any("MODE"),
        "What happens with calls that no rule decides: bypassPermissions, acceptEdits, default, dontAsk or plan; marvin help permissions explains them.",
        |args, value| {
            args.access.permissions.mode = Some(PermissionMode::parse(&text(value, "--permission-mode")?)?);
            Ok(())
        },
    )
    .complete(Complete::PermissionMode),
    flag(
        "dangerously-skip-permissions",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "The same as --permission-mode bypassPermissions.",
        |args, _| {
            args.access.permissions.mode = Some(PermissionMode::Bypass);
            Ok(())
        },
    ),
    flag(
        "allow-dangerously-skip-permissions",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "Accepted: the mode bypassPermissions can be chosen without it.",
        |_, _| Ok(()),
    )
    .hidden(),
    flag(
        "sandbox",
        FlagGroup::Permissions,
        ValueMode::Any("MODE"),
        "What commands of the model may change: read-only, workspace-write (the folder and temporary files) or danger-full-access; marvin help sandbox explains them.",
        |args, value| args.access.sandbox.set_mode(&text(value, "--sandbox")?),
    )
    .complete(Complete::SandboxMode),
    flag(
        "sandbox-network",
        FlagGroup::Permissions,
        ValueMode::Any("on|off"),
        "Whether commands in the sandbox have the network.",
        |args, value| args.access.sandbox.set_network(&text(value, "--sandbox-network")?),
    ),
    flag(
        "trust-project",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "Use in this run what the project brings along: its hooks, skills and MCP servers; marvin help trust says what that means.",
        |args, _| {
            args.access.trust = RunTrust::Everything;
            Ok(())
        },
    ),
    flag(
        "trust-project-mcp",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "Use in this run the MCP servers of the project, and of the rest what you have agreed to.",
        |args, _| {
            if args.access.trust == RunTrust::AsStored {
                args.access.trust = RunTrust::Servers;
            }
            Ok(())
        },
    ),
    flag(
        "inherit-trust",
        FlagGroup::Permissions,
        ValueMode::Any("WORDS"),
        "Use of the project what the Marvin above uses; Marvin starts its children so.",
        |args, value| {
            args.access.trust = RunTrust::of_parent(&text(value, "--inherit-trust")?);
            Ok(())
        },
    )
    .hidden(),
    flag(
        "no-hooks",
        FlagGroup::Permissions,
        ValueMode::Nothing,
        "Run no hooks, neither yours nor the project's.",
        |args, _| {
            args.access.without_hooks = true;
            Ok(())
        },
    ),
    flag(
        "max-cost",
        FlagGroup::Run,
        ValueMode::Any("USD"),
        "Make no further model call once this much is spent.",
        |args, value| {
            let value = text(value, "--max-cost")?;
            let cost = value
                .trim_start_matches('$')
                .parse::<f64>()
                .ok()
                .filter(|cost| cost.is_finite() && *cost >= 0.0);
            args.model.max_cost = Some(cost.ok_or_else(|| {
                Problem::input(format!("--max-cost wants US dollars, not \"{value}\"."))
                    .next("For example: --max-cost 2.50")
            })?);
            Ok(())
        },
    )
    .second("max-budget-usd")
    .brief("Make no further call once this much is spent."),
    flag(
        "ntfy",
        FlagGroup::Run,
        ValueMode::Maybe("TOPIC"),
        "Send one message to this ntfy topic when the run ends; without a topic one is made up.",
        |args, value| {
            args.ntfy = Some(text(value, "--ntfy")?);
            Ok(())
        },
    ),
    flag(
        "continue",
        FlagGroup::Session,
        ValueMode::Nothing,
        "Go on with the latest session of this folder.",
        |args, _| {
            args.session.latest = true;
            Ok(())
        },
    )
    .brief("Go on with the latest session of this folder.")
    .short('c'),
    flag(
        "resume",
        FlagGroup::Session,
        ValueMode::Maybe("ID"),
        "Go on with a session: the beginning of its ID or its name, or choose from a list.",
        |args, value| {
            args.session.resume = Some(text(value, "--resume")?);
            Ok(())
        },
    )
    .brief("Go on with a session, or choose one.")
    .short('r')
    .complete(Complete::Session),
    flag(
        "fork-session",
        FlagGroup::Session,
        ValueMode::Nothing,
        "With --continue or --resume: go on with a copy, and leave the session as it is.",
        |args, _| {
            args.session.fork = true;
            Ok(())
        },
    ),
    flag(
        "session-id",
        FlagGroup::Session,
        ValueMode::Value("UUID"),
        "With --non-interactive: keep the conversation as this session, or go on with it.",
        |args, value| {
            args.session.id = Some(session::id(&text(value, "--session-id")?)?);
            Ok(())
        },
    ),
    flag(
        "plain",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Use the plain interface.",
        |args, _| {
            args.interface = Some(Interface::Plain);
            Ok(())
        },
    )
    .brief("Lines instead of the full screen."),
    flag(
        "curses",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Use the full-screen interface.",
        |args, _| {
            args.interface = Some(Interface::Screen);
            Ok(())
        },
    ),
    flag(
        "verbose",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Say on standard error what is done and why it failed.",
        |args, _| {
            args.verbose = true;
            Ok(())
        },
    ),
    flag("help",
        FlagGroup::Run, ValueMode::Nothing, "Show this help.", |args, _| {
        args.command.help = true;
        Ok(())
    })
    .short('h'),
    flag(
        "version",
        FlagGroup::Run,
        ValueMode::Nothing,
        "Show the version.",
        |args, _| {
            args.command.version = true;
            Ok(())
        },
    )
    .short('V'),
    flag(
        "fire-alarm",
        FlagGroup::Run,
        ValueMode::Value("ID"),
        "Ring an alarm that is due; the scheduler calls it.",
        |args, value| {
            args.command.fire_alarm = Some(text(value, "--fire-alarm")?);
            Ok(())
        },
    )
    .hidden(),
    flag(
        "review-job",
        FlagGroup::Run,
        ValueMode::Value("ID"),
        "Do the review of this id; Marvin starts itself so.",
        |args, value| {
            args.command.review_job = Some(text(value, "--review-job")?);
            Ok(())
        },
    )
    .hidden(),
    flag(
        supervise::FLAG,
        FlagGroup::Run,
        ValueMode::Maybe("BYTES"),
        "Run the program after -- and end it when standard input closes; Marvin starts itself so.",
        |args, value| {
            let value = text(value, "--supervise")?;
            args.command.supervise = Some(SupervisedInput::parse(&value).ok_or_else(|| {
                Problem::input(format!("--supervise wants a number of bytes or leash, not \"{value}\"."))
            })?);
            Ok(())
        },
    )
    .hidden(),
    flag("no-bytecode",
        FlagGroup::Run, ValueMode::Nothing, "Ignored.", |_, _| Ok(()))
        .short('B')
        .hidden(),
];

pub(crate) fn long(name: &str) -> Option<&'static Flag> {
    // A hidden flag that has a short name is known only by that.
    all().find(|flag| {
        let is_named = flag.long == name || flag.second == Some(name);
        is_named && (!flag.hidden || flag.short.is_none())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_in_order() {
        for (i, flag) in all().enumerate() {
            assert!(
                flag.doc.ends_with('.') && !flag.doc.trim_end_matches('.').contains(". "),
                "{}: one sentence",
                flag.long
            );
            assert!(
                flag.long
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-'),
                "{}",
                flag.long
            );
            for other in all().skip(i + 1) {
                assert!(
                    flag.long != other.long && (flag.short.is_none() || flag.short != other.short),
                    "{} twice",
                    flag.long
                );
            }
        }
    }
}
