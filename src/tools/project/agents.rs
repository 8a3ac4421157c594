//! Module `agents`: work for child Marvins.

use crate::base::problem::{Outcome, not_empty};
use crate::tools::engine::agent_task::{AgentModel, AgentTask, CheckedTask};
use crate::tools::engine::approval::ApprovalRequest;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::project::coding;
use crate::tools::{NOTES, PROGRAMS};

/// Each attempt of a child has a limit of its own; these only end what never ends.
const LAUNCH_SECONDS: u64 = 24 * 3600;
const RESEARCH_SECONDS: u64 = 2 * 3600;

/// What is told of an agent that could not go on beside a conversation.
const IN_FOREGROUND: &str =
    "There is no conversation that goes on beside it, so the agent ran in the foreground.";
/// What is told of an agent that does.
const GO_ON: &str =
    "You are told when it ends. Go on with something else, or end your answer; do not wait for it.";
/// What is told of one that works in the folder of the conversation.
const IN_FOLDER: &str = "Leave alone the files that it works on.";

tools! { "agents", in_children;
    /// Run a task in a child Marvin.
    launch_agent(LaunchAgent; PROGRAMS.coding().beside_unless(&["background", "working_dir", "design_first", "tdd"]).seconds(LAUNCH_SECONDS).slow()) {
        /// ticket id
        ticket_id: String, example: "ma-x1y2", alias: &["id", "ticket"];
        /// task
        prompt: String, example: "Add a --json flag to the list command, with tests", alias: &["task"];
        /// tier
        model: AgentModel = "auto", alias: &["tier"];
        /// default current
        working_dir: Option<String>, example: "tools/lister", alias: &["dir"];
        /// run the document phases first
        design_first: bool = false;
        /// tests first, debug loop; needs a design document
        tdd: bool = false;
        /// go on without waiting; its end is told later
        background: bool = false;
    } => launch;

    /// Run a read-only investigation in a child Marvin.
    launch_research_agent(LaunchResearchAgent; NOTES.coding().parallel().seconds(RESEARCH_SECONDS).slow().additive().open_world(true)) {
        /// question
        query: String, example: "Where is the retry of a failed request decided?", alias: &["prompt", "question"];
        /// tier
        model: AgentModel = "auto", alias: &["tier"];
    } => research;
}

fn launch(ctx: &ToolContext, args: LaunchAgent) -> Outcome<String> {
    let agents = ctx.session.agents()?;
    let task = AgentTask {
        root: coding::project(ctx, args.working_dir.as_deref())?,
        ticket: args.ticket_id,
        prompt: not_blank(args.prompt, "prompt", "Say what the agent is to do.")?,
        model: args.model,
        design_first: args.design_first,
        tdd: args.tdd,
    };
    // Its commands are not asked about one by one, so this is what the user approves.
    let request = ApprovalRequest::new(
        "Launch an agent, which writes files and runs commands without asking?",
        "launch an agent",
        &task.prompt,
    );
    ctx.approve(request.in_dir(task.root.path()))?;
    if !args.background {
        return agents.launch(ctx, &task);
    }
    let Some(host) = &ctx.session.agent_host else {
        // The run would end before it.
        let told = agents.launch(ctx, &task)?;
        return Ok(format!("{IN_FOREGROUND}\n{told}"));
    };
    let CheckedTask { ticket, place } = agents.check(ctx, &task)?;
    let number = host.start(AgentTask { ticket, ..task }, &ctx.stop)?;
    let place = place.as_deref().unwrap_or(IN_FOLDER);
    Ok(format!(
        "Agent {number} started in the background. {GO_ON} {place}"
    ))
}

fn research(ctx: &ToolContext, args: LaunchResearchAgent) -> Outcome<String> {
    let agents = ctx.session.agents()?;
    let query = not_blank(args.query, "query", "Say what the agent is to find out.")?;
    agents.research(ctx, &query, args.model)
}

fn not_blank(text: String, field: &str, next: &str) -> Outcome<String> {
    not_empty(field, &text, next)?;
    Ok(text)
}
