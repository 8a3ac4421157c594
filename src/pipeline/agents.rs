//! Agents: children that a model launches by a tool. The tools know only the trait of their floor; this is behind it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::Run;
use super::agent_worktrees;
use super::child::environment::check_depth;
use super::child::{self, Access, ChildReport, ChildTask};
use super::context::{self, View};
use super::documents;
use super::places::{DocumentKind, RunPlaces};
use super::review_job::start::{self as review_start, JobProcess};
use super::run::{self, RunRequest};
use super::steering::Steering;
use super::tier::{OwnModel, Tier, TierModels, TierOverrides};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::base::template::fill;
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::formats::duration;
use crate::store::tickets::change;
use crate::store::tickets::folder::Folder;
use crate::store::tickets::graph::Graph;
use crate::store::tickets::location::TicketLocation;
use crate::tools::engine::agent_task::{AgentModel, AgentTask, CheckedTask, ReviewOrder};
use crate::tools::engine::context::{Agents, ToolContext};
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::hooks::turns::agent_ends;

const LAUNCH: &str = include_str!("../prompts/agents/launch.md");
/// For an agent that has a shell.
const LAUNCH_RUNNING: &str = include_str!("../prompts/agents/launch_running.md");
const RESEARCH: &str = include_str!("../prompts/agents/research.md");

/// How long a first attempt may take.
const LAUNCH_LIMIT: Duration = Duration::from_secs(1_200);
const RESEARCH_LIMIT: Duration = Duration::from_secs(600);
/// Words of a task that concerns many files at once.
const WIDE: [&str; 9] = [
    "refactor",
    "architect",
    "redesign",
    "restructure",
    "multi-file",
    "multiple files",
    "several files",
    "many files",
    "across the code",
];

/// Runs the agents of a session.
pub(crate) struct PipelineAgents {
    /// The program that children run: this one.
    pub program: PathBuf,
    /// The provider and model of the session.
    pub provider: String,
    pub model: String,
    /// Models that the user gave to tiers.
    pub tiers: TierOverrides,
    /// No child is started once this much was spent, in US dollars.
    pub max_cost: Option<f64>,
}

impl Agents for PipelineAgents {
    fn check(&self, ctx: &ToolContext, task: &AgentTask) -> Outcome<CheckedTask> {
        let (_, ticket) = begin(ctx, task)?;
        let place = agent_worktrees::foretold(ctx, task, &ticket)?;
        Ok(CheckedTask { ticket, place })
    }

    fn launch(&self, ctx: &ToolContext, task: &AgentTask) -> Outcome<String> {
        let (folder, ticket) = begin(ctx, task)?;
        let tier = tier(task.model, &task.prompt);
        let tiers = self.tiers(ctx);
        let used = tiers.of(tier);
        let head = format!(
            "Ticket: {ticket}\nTier: {} ({}, {})",
            used.tier, used.provider, used.model
        );
        let is_phased = task.design_first || task.tdd;
        let set_status = |status| change::set_status(&folder, &ticket, status, &ctx.stop);
        let place = match ctx.is_beside_others {
            true => agent_worktrees::place(ctx, task, &ticket)?,
            false => None,
        };
        let told = match place {
            Some(place) => {
                set_status("in_progress")?;
                let root = Arc::clone(&place.places.root);
                let run = Run {
                    branch: place.record.branch.clone(),
                    tickets: Some(folder.dir().to_owned()),
                    ..self.run(ctx, root, &task.prompt, &ticket, tiers.clone())
                };
                let ended = agent_worktrees::work(&run, &task.root, &place, &|| match is_phased {
                    true => self.run_phases(ctx, task, &run, tiers.clone()),
                    false => {
                        agent_worktrees::record_work(&run, &place.record, &|| run_one(&run, tier))
                    }
                });
                let ended = ended.inspect_err(|_| {
                    if is_phased {
                        // The phases may have closed it, and its work is on its branch alone. The token may have fired.
                        let stop = Cancel::new();
                        let _ = change::set_status(&folder, &ticket, "in_progress", &stop);
                    }
                })?;
                // The phases have closed it.
                if ended.is_merged != is_phased {
                    set_status(match ended.is_merged {
                        true => "closed",
                        false => "in_progress",
                    })?;
                }
                ended.told
            }
            None => {
                let root = Arc::clone(&task.root);
                // The phases look in the project's repository; the ticket may be of a folder above.
                let tickets = is_phased.then(|| folder.dir().to_owned());
                let run = Run {
                    tickets,
                    ..self.run(ctx, root, &task.prompt, &ticket, tiers.clone())
                };
                if is_phased {
                    self.run_phases(ctx, task, &run, tiers)?
                } else {
                    set_status("in_progress")?;
                    let told = run_one(&run, tier)?;
                    set_status("closed")?;
                    told
                }
            }
        };
        Ok(format!("{head}\n{told}"))
    }

    fn have_places(&self, ctx: &ToolContext) -> bool {
        let check = || -> Outcome<bool> { agent_worktrees::are_possible(ctx, &*ctx.root()?) };
        check().unwrap_or(false)
    }

    fn research(&self, ctx: &ToolContext, query: &str, model: AgentModel) -> Outcome<String> {
        check_hooks(ctx)?;
        check_depth(&ctx.session)?;
        let tiers = self.tiers(ctx);
        let run = self.run(ctx, ctx.root()?, query, "", tiers);
        let report = child::run(
            &run,
            &ChildTask {
                label: "research".to_owned(),
                tier: tier(model, query),
                access: Access::Research,
                prompt: context::prompt(&run, &Access::Research, View::Project, RESEARCH),
                texts: View::Project.texts(),
                withhold: &[],
                limit: RESEARCH_LIMIT,
                after_failure: None,
                check: &said_something,
            },
        )?;
        let said = report.text.trim().to_owned();
        agent_ends(ctx, "research", &report.log.to_string_lossy(), &said);
        Ok(said)
    }

    fn start_review(&self, ctx: &ToolContext, order: &ReviewOrder) -> Outcome<String> {
        check_hooks(ctx)?;
        let process = JobProcess {
            program: &self.program,
            provider: &self.provider,
            model: &self.model,
            tiers: &self.tiers,
            max_cost: self.max_cost,
        };
        review_start::start(ctx, order, &process)
    }
}

impl PipelineAgents {
    /// The model of each tier. Looked up when an agent is launched: most sessions launch none.
    fn tiers(&self, ctx: &ToolContext) -> TierModels {
        let own = OwnModel {
            provider: &self.provider,
            model: &self.model,
        };
        TierModels::resolve(&self.tiers, &ctx.session.env, &own, &ctx.session.clock)
    }

    fn run(
        &self,
        ctx: &ToolContext,
        root: Arc<Root>,
        task: &str,
        ticket: &str,
        tiers: TierModels,
    ) -> Run {
        Run {
            ctx: ToolContext {
                listener: Arc::new(CallProgress::new(ctx)),
                ..ctx.clone()
            },
            program: self.program.clone(),
            supervisor: Some(self.program.clone()),
            places: RunPlaces::of_project(root),
            task: task.to_owned(),
            ticket: ticket.to_owned(),
            tiers,
            max_cost: self.max_cost,
            is_staged: false,
            branch: String::new(),
            tickets: None,
            spent_before: None,
        }
    }

    /// The phases of the pipeline do the task of `run`; they start and close the ticket themselves.
    fn run_phases(
        &self,
        ctx: &ToolContext,
        task: &AgentTask,
        run: &Run,
        tiers: TierModels,
    ) -> Outcome<String> {
        let progress = Arc::new(CallProgress::new(ctx));
        let heard = Arc::clone(&progress);
        let ctx = ToolContext {
            listener: progress,
            ..ctx.clone()
        };
        run::run(
            &ctx,
            RunRequest {
                places: run.places.clone(),
                task: task.prompt.clone(),
                ticket: Some(run.ticket.clone()),
                tickets: run.tickets.clone(),
                design_first: task.design_first,
                tdd: task.tdd,
                branch: None,
                allow_dirty: false,
                tiers,
                max_cost: self.max_cost,
                program: self.program.clone(),
                supervisor: Some(self.program.clone()),
                steering: Steering::default(),
            },
        )?;
        let told = heard.told();
        agent_ends(&ctx, &run.ticket, "", &told);
        Ok(told)
    }
}

/// What an agent is told; who cannot run a program is not told to run the tests.
fn instructions(run: &Run) -> String {
    let session = &run.ctx.session;
    let tools = session.registry().allowed(&session.policy);
    let running = match tools.iter().any(|tool| tool.name() == "run_command") {
        true => LAUNCH_RUNNING,
        false => "",
    };
    fill(LAUNCH, &[("running", running)])
}

/// One child does the task.
fn run_one(run: &Run, tier: Tier) -> Outcome<String> {
    let access = Access::Write {
        ticket: run.ticket.clone(),
    };
    let report = child::run(
        run,
        &ChildTask {
            label: "agent".to_owned(),
            tier,
            prompt: context::prompt(run, &access, View::Project, &instructions(run)),
            access,
            texts: View::Project.texts(),
            withhold: &[],
            limit: LAUNCH_LIMIT,
            after_failure: None,
            check: &|_| Ok(()),
        },
    )?;
    agent_ends(
        &run.ctx,
        &run.ticket,
        &report.log.to_string_lossy(),
        report.text.trim(),
    );
    let said = match report.text.trim() {
        "" => "(It printed nothing.)",
        text => text,
    };
    Ok(format!("Phases: 3\n\n{said}"))
}

/// An agent is a process of its own. It reads hooks files itself; callbacks of the calling program are not told of its calls.
///
/// # Errors
/// There are hooks that decide about calls.
fn check_hooks(ctx: &ToolContext) -> Outcome<()> {
    match ctx.session.hooks.has_here_alone(HookEvent::PreToolUse) {
        true => Err(Problem::refused(
            "Agents cannot be started here: hooks of the calling program decide about calls, and do not see those of an agent.",
        )
        .next("Do the work yourself, or run without PreToolUse hooks.")),
        false => Ok(()),
    }
}

/// The tickets, and the id of the one that `task` is for.
///
/// # Errors
/// It cannot be begun.
fn begin(ctx: &ToolContext, task: &AgentTask) -> Outcome<(Folder, String)> {
    check_hooks(ctx)?;
    check_depth(&ctx.session)?;
    let folder = tickets(ctx, &task.root)?;
    let ticket = workable(&folder, &task.ticket, &ctx.stop)?;
    if task.tdd && !task.design_first && !has_design(&task.root) {
        return Err(Problem::missing(format!(
            "tdd needs a design document, and {} is missing or too short.",
            design(&task.root)
        ))
        .next("Set design_first too, or write the document first."));
    }
    Ok((folder, ticket))
}

/// The project's tickets.
fn tickets(ctx: &ToolContext, root: &Root) -> Outcome<Folder> {
    let place = TicketLocation::from(&ctx.session.env, root.path()).check_inside()?;
    let is_known = ctx.session.project().is_some();
    place.open().map_err(|problem| {
        let dir = root.path().display();
        match is_known {
            true => problem.next(format!("An agent works for a ticket of its project, {dir}.")),
            false => Problem::missing(
                "An agent works for a ticket of its project, and this conversation is in none: its tickets are the user's own.",
            )
            .next(format!("Make {dir} the project with set_working_dir, then create the ticket there.")),
        }
    })
}

/// The id of the ticket that `given` means, if it can be worked on.
///
/// # Errors
/// There is none, it is closed, or it waits for others.
fn workable(folder: &Folder, given: &str, stop: &Cancel) -> Outcome<String> {
    let id = folder.resolve(given)?;
    let graph = Graph::new(folder.load(stop)?);
    let Some(ticket) = graph.get(&id) else {
        return Ok(id);
    };
    if ticket.is_closed() {
        return Err(Problem::refused(format!("The ticket {id} is closed."))
            .next(format!("Reopen it (tk: reopen {id}), or name another one.")));
    }
    let waits = graph.open_deps(ticket);
    if waits.is_empty() {
        return Ok(id);
    }
    Err(Problem::refused(format!(
        "The ticket {id} is blocked: it waits for {}.",
        waits.join(", ")
    ))
    .next("Have those done first, or remove the dependency (tk: undep)."))
}

fn design(root: &Arc<Root>) -> String {
    RunPlaces::of_project(Arc::clone(root)).document(DocumentKind::Design)
}

fn has_design(root: &Arc<Root>) -> bool {
    let state = root
        .check(&design(root))
        .and_then(|rel| documents::state(root, &rel));
    matches!(state, Ok(Ok(())))
}

/// The tier for a task: as asked, else by its words.
fn tier(model: AgentModel, words: &str) -> Tier {
    let words = words.to_lowercase();
    match model {
        AgentModel::Opus => Tier::Opus,
        AgentModel::Auto if WIDE.iter().any(|wide| words.contains(wide)) => Tier::Opus,
        AgentModel::Auto | AgentModel::Codex => Tier::Codex,
    }
}

fn said_something(report: &ChildReport) -> Result<(), String> {
    match report.text.trim().is_empty() {
        true => Err("It printed no findings.".to_owned()),
        false => Ok(()),
    }
}

/// Shows what children do as progress of the call that launched them, and passes it on.
struct CallProgress {
    ctx: ToolContext,
    phases: Mutex<Vec<String>>,
}

impl CallProgress {
    fn new(ctx: &ToolContext) -> Self {
        Self {
            ctx: ctx.clone(),
            phases: Mutex::default(),
        }
    }

    /// The phases that came, and what was said of them.
    fn told(&self) -> String {
        let phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
        format!("Phases:\n{}", phases.join("\n"))
    }
}

impl EventSink for CallProgress {
    fn emit(&self, event: Event) {
        if let Event::Pipeline(event) = &event {
            let line = match event {
                PipelineEvent::PhaseDone { phase, took } => {
                    let took = duration::words(duration::rounded(*took));
                    Some(format!("{phase}: done in {took}"))
                }
                PipelineEvent::PhaseSkipped { phase, reason } => {
                    Some(format!("{phase}: skipped. {reason}"))
                }
                PipelineEvent::Warning { words } => Some(format!("Warning: {words}")),
                _ => None,
            };
            if let Some(line) = line {
                let mut phases = self.phases.lock().unwrap_or_else(PoisonError::into_inner);
                phases.push(line);
            }
            if let Some(words) = progress(event) {
                self.ctx.progress(words);
            }
        }
        self.ctx.listener.emit(event);
    }

    fn takes_child_lines(&self) -> bool {
        self.ctx.listener.takes_child_lines()
    }
}

/// An event as the progress of a call.
fn progress(event: &PipelineEvent) -> Option<String> {
    Some(match event {
        PipelineEvent::PhaseStarted { phase } => format!("phase {phase}"),
        PipelineEvent::RoundStarted {
            subject,
            round,
            most,
            ..
        } => format!("{subject}, round {round} of {most}"),
        PipelineEvent::ChildStarted {
            label,
            model,
            attempt,
            ..
        } => format!("{label} ({model}), attempt {attempt}"),
        PipelineEvent::ChildTools { tools, .. } => tools.join(", "),
        PipelineEvent::ProviderWait {
            label,
            provider,
            milliseconds,
        } => format!(
            "{label} waits {} s for {provider}",
            milliseconds.div_ceil(1_000)
        ),
        PipelineEvent::ChildEnded { words, .. }
        | PipelineEvent::InWorktree { words, .. }
        | PipelineEvent::Warning { words } => words.clone(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_many_files_goes_to_the_stronger_tier_unless_the_caller_chose() {
        for (model, words, expected) in [
            (AgentModel::Auto, "Add a flag", Tier::Codex),
            (AgentModel::Auto, "Refactor the parser", Tier::Opus),
            (AgentModel::Auto, "rename it in multiple files", Tier::Opus),
            (AgentModel::Auto, "Decide on the ARCHITECTURE", Tier::Opus),
            (AgentModel::Codex, "Refactor the parser", Tier::Codex),
            (AgentModel::Opus, "Add a flag", Tier::Opus),
        ] {
            assert_eq!(tier(model, words), expected, "{words}");
        }
    }

    #[test]
    fn only_an_open_ticket_that_waits_for_nothing_is_worked_on() {
        let dir = tempfile::tempdir().unwrap();
        let put = |id: &str, status: &str, deps: &str| {
            let text = format!("---\nid: {id}\nstatus: {status}\ndeps: [{deps}]\n---\n# T\n");
            std::fs::write(dir.path().join(format!("{id}.md")), text).unwrap();
        };
        put("a-1", "open", "");
        put("b-2", "open", "a-1");
        put("c-3", "closed", "");
        put("d-4", "in_progress", "c-3");
        let folder = Folder::new(dir.path());
        let answer = |id: &str| {
            let answer = workable(&folder, id, &Cancel::new());
            answer.unwrap_or_else(|problem| problem.one_line())
        };
        assert_eq!(answer("1"), "a-1");
        assert_eq!(answer("d-4"), "d-4");
        assert!(answer("b-2").contains("waits for a-1"), "{}", answer("b-2"));
        assert!(answer("c-3").contains("is closed"), "{}", answer("c-3"));
        assert!(answer("e-5").contains("not found"), "{}", answer("e-5"));
    }
}
