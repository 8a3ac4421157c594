//! Marvin: a terminal assistant, a coding agent and a sub-agent, in one binary.
//!
//! # Floors
//! A file may use its own folder and the floors below it; `tests/suite/floors.rs` reads every import and fails on an upward one.
//!
//! | floor | folders | what lives there |
//! |---|---|---|
//! | 0 | [`base`] | problems, cancel tokens, environment, parameters declared once, text |
//! | 1 | [`formats`] | bytes from outside and the formats of others, read and written: pure |
//! | 2 | [`disk`], [`net`], [`proc`] | files and the path fence; sockets; child processes |
//! | 3 | [`chat`] | messages, events, usage, token counts: pure data |
//! | 4 | [`store`], [`llm`] | Marvin's files about a user, one module per file; providers: wire formats, choice, retry decisions |
//! | 5 | [`alerts`], [`voice`] | alarms, timers, reminders, push messages: scheduled and announced; recording, speech to text, text to speech |
//! | 6 | [`tools`] | what the model can do: one table row per tool |
//! | 7 | [`model_call`] | one call of the model within a turn: which model, what it may cost, retries, the model that takes over |
//! | 8 | [`agent`], [`reply`], [`pipeline`], [`mcp`] | three ways to an answer: the plain loop of requests and tool rounds; the reply flow, stages around the model that make small local models reliable; the phases in which child Marvins build software. Beside them the Model Context Protocol: tools from and for other programs |
//! | 9 | [`app`] | one run: settings, profile, the non-interactive mode, the session of a conversation |
//! | 10 | [`ui`], [`cli`] | the full screen and the plain lines; the command line |
//!
//! [`testing`] is not a floor: it names what tests, benchmarks and fuzz targets may reach.
//!
//! # Life of a prompt
//! `main` → [`run`] → [`cli::run`] parses by the flag table → [`app::settings`] says what flags and environment mean, once →
//! [`app::headless`] has [`app::session::one_shot`] answer it, while [`app::watch`] watches for signals and a closed standard output → the core makes a
//! [`app::session::turn_job`] of it, as of every message → [`agent::turn`] builds the system prompt, sends a request by [`model_call::ask`], which retries what
//! [`llm`] could not do and counts what it cost, runs the calls of a round by [`crate::tools::engine::batch`], and repeats → [`app::stream`] writes the text as
//! it arrives.
//!
//! # Life of a run that a program drives
//! With `--output-format json` or `stream-json` [`app::headless`] hands the run to [`app::json_stream`]: its caller's lines are read on a thread of their own,
//! messages wait in a queue, requests such as `interrupt` are answered at once → each message is answered by the same [`app::session::one_shot`] → its events
//! become lines ([`app::json_stream::answer_lines`]), its end a result → a call that neither a rule nor the mode lets run is asked of the caller
//! ([`tools::engine::permission`]), while its time limit is paused. Hooks of the caller are asked before and after events ([`tools::engine::hooks`]), and the
//! tools of its servers join the session's ([`mcp::client::servers`]).
//!
//! # Life of an editor's session
//! `marvin acp` is [`app::acp`]: lines are read on a thread of their own, and each is a row of its table of methods → a session is opened on a thread, with its
//! own context, conversation and [`app::session::one_shot`]; its prompts wait in its queue → events become updates ([`app::acp::updates`]), which a thread
//! writes ([`app::acp::out`]) → calls are asked about as in a run that a program drives.
//!
//! # Life of a run of the pipeline
//! [`app::headless`] hands the prompt to [`app::pipeline`] → [`pipeline::worktree`] finds or makes the folder and the branch in which it works →
//! [`pipeline::run`] goes through the phases there; its events go to [`app::pipeline`] again: a record in that folder, push messages, and the display that
//! [`ui::pipeline`] draws.
//!
//! # Life of a conversation
//! [`run`] → [`ui::run`] picks the full screen or the plain lines → both drive one [`app::session`]: they call it for what the user does, and
//! display the [`crate::app::session::ui_update`]s it yields. Its core decides, its parts own their state, and what there is to do is an order for a worker:
//! answers, commands, lists and writes to disk have threads of their own and report to the session's inbox; the interface's thread never waits for any of
//! them. [`ui::term`] owns the terminal and restores it on every exit path. The non-interactive mode has the same core answer its one message
//! ([`app::session::one_shot`]).
//!
//! # Life of what a project brings along
//! Hooks, skills and servers of a project act by themselves, so they are closed at first → [`app::extensions`] reads hooks files as a session is opened, and
//! asks [`tools::engine::project_trust`] what of the project is agreed to: in [`store::trusted_projects`], by `--trust-project`, or by the Marvin above → where
//! somebody is there, `app::session::project_question` asks them before the first message is sent → a hook runs as [`tools::engine::hooks`] says; skills are
//! found by [`tools::session::skills`] when the first turn begins.
//!
//! # Life of a permission question
//! A tool builds an [`ApprovalRequest`](crate::tools::engine::approval::ApprovalRequest) and calls `ToolContext::approve`, on the call's thread → the session's
//! [`app::session::approve`] sends it to the inbox and waits, while the call's time limit is paused → the interface shows it and sends the verdict back;
//! dropping the question means no → the tool goes on, or its result is the refusal. A pipe, a script and a child have nobody to ask: there `Approval` says so
//! from the start.
//!
//! Before its tool runs, each call passes [`tools::engine::permission`]: rules and the mode let it run, refuse it, or have whoever runs Marvin be asked about
//! the whole call.
//!
//! # Life of a background job
//! `!make &` is read by `app::session::commands` → the workplace orders a job → `app::session::jobs` gives it a number and a token that `/stop` and the end of
//! the session fire (that of a command in the foreground is Esc's) → a thread runs it by [`proc::shell`] in a process group of its own, and its last lines go
//! to the status line → its end is an entry of the chat log and a row on the screen, and the model is told of it if the conversation is still the one in which
//! it began. A review that `review_codebase` starts is a process of its own: it outlives the session, and [`store::review_jobs`] is where both look. An agent
//! that `launch_agent` starts in the background is a thread here with its children: `app::session::jobs` has its row, its questions and its end.
//!
//! # Life of a session on disk
//! The first message of a conversation, or of a run with a flag of sessions, makes a file ([`store::sessions`]): a header, then one record for each thing that
//! happens, appended on the turn's thread before the model is asked → pieces of the answer, calls and results are records as they come, so that what was on the
//! screen outlives a kill (of an answer of the reply flow only the whole is free of secrets, so nothing of it is written before) → [`store::sessions`]'s replay
//! makes the messages of it again, [`app::sessions`] what a screen shows → a copy (`--fork-session`) and an export read the same records.
//!
//! # Life of a spoken message
//! `app::session::voice` starts a thread that records ([`voice::record`]), has it written down ([`voice::transcribe`]) and queues it as the user's message,
//! never as a command → the answer's pieces go through [`reply::speech`] to [`voice::speech`], which speaks them sentence by sentence.
//!
//! # Life of a message in the reply flow
//! [`app::session`] asks [`reply::applies`] and hands the message to [`reply::engine`] on the turn's thread → [`reply::preparation`] runs the stages before
//! the chat model → [`reply::turns`] runs planned steps, the chat model and its calls until there is a checked answer. Stages and chat model are called by
//! [`reply::models::stage_call`], once for each try ([`model_call::ask`]). What was said becomes memory on a thread of its own ([`reply::memory::update`],
//! [`store::memory`]).
//!
//! # Life of a configured server
//! [`mcp::config`] reads the files when the first prompt is on the screen, or before the message of a run → [`mcp::session`] starts the servers of which
//! nothing is remembered, on threads of their own → before each message `app::session::turn_job` has what they offer join the session's tools
//! ([`tools::engine::owned_tool`]) → a call asks unless the tool only reads, and opens the connection where it is not open yet. What the user types is
//! completed by what a server has ([`mcp::session`]'s completion), and a program of which nothing is asked for long ends until it is needed again.
//!
//! # Life of a request of another program
//! `marvin mcp serve` → [`mcp::server::stdio`] or [`mcp::server::http`] reads a message → [`mcp::server`] admits it by the era of its client and the table of
//! methods → a call of a tool runs on a thread of its own by [`tools::engine::batch`], as every call does; what it reports meanwhile are notifications → the
//! answer has the form of the era.
//!
//! # Life of a call to a server of others
//! [`mcp::client::dial`] makes a connection of a configured entry, and nothing happens yet → the first operation opens it: a process or an address, whose era
//! is found by what it answers → an operation becomes a message of that era ([`mcp::client::server_connection`]), a transport carries it, and whatever comes
//! back is brought to who waits for it, to the person who is asked, or to who wants to hear of changes → a server that was lost is opened once more, and only
//! what does no harm twice is sent again.
//!
//! # Life of a sign-in to a server
//! A request of [`mcp::client`] is refused → [`mcp::auth::signed_in`] has a token of another process, a refreshed one, or signs in → [`mcp::auth::sign_in`]
//! asks the server and its authorization server who grants access, sends the user to the browser, which comes back to [`net::oauth::callback`], and changes the
//! code that it brings into a token → [`store::mcp_tokens`] keeps it, and the request is sent again. `marvin mcp login` takes the same steps without a request.
//!
//! # Invariants
//! - Nothing below `app` prints, but the layer of the sandbox that could not be set up; only `main` reads the environment of the process.
//! - Every wait has a limit and ends when the turn's [`base::cancel::Cancel`] fires.
//! - No child Marvin outlives its parent, and no command of a child outlives the child, however either ends ([`proc::supervise`]), nor does a daemon that left
//!   its group ([`proc::descendants`]); none that a project's tests started outlives their run in a pipeline, and none that a command in a sandbox left behind
//!   outlives Marvin.
//! - Servers of the Model Context Protocol end with the session that uses them ([`mcp::session`]), whose end is before every exit.
//! - A command that a model wrote and nobody read runs in [`proc::sandbox`], or does not run. What Marvin starts by itself is taken from no folder that such a
//!   command may change ([`proc::writable_by_commands`]).
//! - The Copilot CLI ends with Marvin: [`llm::copilot::close_all`] runs before every exit, and a killed Marvin closes its standard input.
//! - Every path from a model goes through [`disk::beneath`]; every program that is run for its output through [`proc::child`]; the others in [`proc`] hold a
//!   pipe or give up the terminal.
//! - Tools know what their session shares ([`crate::tools::engine::context`]), never the session: what they want of it are effects. Providers know tools only
//!   as schemas.
//! - Text from outside reaches a terminal only through [`ui::text::clean`].
//! - A tool's failure is a result; only a provider's failure ends a turn.

#![allow(
    rustdoc::private_intra_doc_links,
    reason = "this is the map of the inside"
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::print_stderr
    )
)]

mod agent;
mod alerts;
mod app;
mod base;
mod chat;
mod cli;
mod disk;
mod formats;
mod llm;
mod mcp;
mod model_call;
mod net;
mod pipeline;
mod proc;
mod reply;
mod store;
pub mod testing;
mod tools;
mod ui;
mod voice;

use std::ffi::OsString;

/// Runs Marvin with the arguments after its name and the environment; returns the exit status.
pub fn run(args: Vec<OsString>, vars: impl IntoIterator<Item = (OsString, OsString)>) -> u8 {
    if let [first, words @ ..] = args.as_slice()
        && first == proc::sandbox::layer::SUBCOMMAND
    {
        return proc::sandbox::layer::run(words);
    }
    let status = match cli::run::run(args, base::env::Env::new(vars), &ui::HELP_TABLES) {
        cli::run::CliOutcome::Done(status) => status,
        cli::run::CliOutcome::Interactive(settings) => ui::run(*settings),
        cli::run::CliOutcome::NonInteractive(settings) => {
            app::headless::run(*settings, ui::pipeline::display)
        }
    };
    llm::copilot::close_all(llm::copilot::CLOSE_TIMEOUT);
    mcp::session::end_all();
    proc::descendants::end_all(proc::descendants::GRACE);
    proc::sandbox::private_dir::remove();
    status
}
