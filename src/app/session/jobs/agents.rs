//! Agents in the background: children that the model launched and goes on without. The user looks into them, answers and stops them by their numbers; what
//! each has done reaches the conversation when it ends.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::agent::{Agent, Progress, took};
use super::agent_host::AgentRelay;
use crate::app::session::orders::Orders;
use crate::app::session::run::Run;
use crate::app::session::ui_update::{RunningCall, UiUpdate};
use crate::app::session::worker_event::agent::{AgentEvent, AgentLaunch, AgentQuestions};
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::own_command;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line, plural};
use crate::chat::pipeline_event::PipelineEvent;
use crate::tools::engine::agent_task::AgentTask;
use crate::tools::engine::context::ToolContext;

/// How many run at once.
const MAX_AGENTS: usize = 8;
/// Characters of a task, where it is only named.
const TITLE_CHARS: usize = 60;
/// Characters of a report that the user is shown at its end.
const REPORT_CHARS: usize = 4_000;

#[derive(Default)]
pub(in crate::app::session) struct Agents {
    running: Vec<Agent>,
    /// The number that was given last.
    last: u64,
}

pub(in crate::app::session) struct EndedAgent {
    pub(in crate::app::session) conversation: u64,
    pub(in crate::app::session) profile: String,
    /// Who has ended, how, and after how long.
    pub(in crate::app::session) head: String,
    /// Its report, or why there is none.
    pub(in crate::app::session) report: String,
}

impl EndedAgent {
    /// What the user is shown, and the chat log keeps.
    pub(in crate::app::session) fn entry(&self) -> String {
        let report = clip(&self.report, REPORT_CHARS);
        format!("{}\n{report}", self.head).trim_end().to_owned()
    }
}

impl Agents {
    /// Starts one, unless there are as many as there may be; whoever asked for it gets the answer.
    pub(in crate::app::session) fn launch(
        &mut self,
        launch: AgentLaunch,
        conversation: u64,
        run: &Run,
        orders: &mut Orders,
    ) {
        let AgentLaunch { task, reply } = launch;
        let started = self.check_room(&task).and_then(|()| run.context.agents());
        let agents = match started {
            Ok(agents) => agents,
            Err(problem) => {
                let _ = reply.try_send(Err(problem));
                return;
            }
        };
        self.last += 1;
        let number = self.last;
        let (stop, with_session) = run.child_stop();
        let title = clip(&one_line(&task.prompt), TITLE_CHARS);
        let relay = Arc::new(AgentRelay::new(number, Arc::clone(&run.inbox)));
        let ctx = ToolContext {
            answerer: Some(Arc::clone(&relay) as _),
            // The user goes on with their files.
            is_beside_others: true,
            ..ToolContext::new(Arc::clone(&run.context), stop.clone(), relay)
        };
        orders.remark(format!(
            "Agent {number} works in the background: {title}  /agents shows what it does, /stop {number} stops it."
        ));
        let (root, ticket) = (Arc::clone(&task.root), task.ticket.clone());
        let work = move || agents.launch(&ctx, &task);
        let report = move |outcome| WorkerEvent::Agent(AgentEvent::Ended(number, outcome));
        orders.work("agent", AwaitedBy::Nobody, work, report);
        self.running.push(Agent {
            number,
            root,
            ticket,
            conversation,
            profile: run.context.profile(),
            title,
            since: Instant::now(),
            progress: Progress::default(),
            questions: None,
            stop,
            _with_session: with_session,
        });
        // A call that was stopped meanwhile has let go of it.
        if reply.try_send(Ok(number)).is_err() {
            self.stop_one(number);
        }
    }

    fn check_room(&self, task: &AgentTask) -> Outcome<()> {
        let is_same =
            |one: &&Agent| one.ticket == task.ticket && one.root.path() == task.root.path();
        if let Some(other) = self.running.iter().find(is_same) {
            return Err(Problem::refused(format!(
                "Agent {} works for the ticket {} already.",
                other.number, task.ticket
            ))
            .next("Wait until it has ended, which you are told, or name another ticket.")
            .next(format!("The user stops it with /stop {}.", other.number)));
        }
        match self.running.len() < MAX_AGENTS {
            true => Ok(()),
            false => Err(Problem::limit(format!(
                "{MAX_AGENTS} agents run in the background already."
            ))
            .next("Launch this one when one of them has ended, or without background.")),
        }
    }

    pub(in crate::app::session) fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// Follows what happens to an agent.
    pub(in crate::app::session) fn follow(
        &mut self,
        number: u64,
        event: &PipelineEvent,
        orders: &mut Orders,
    ) {
        if let Some(agent) = self.find(number) {
            agent.progress.follow(event);
            orders.show(UiUpdate::StatusChanged);
        }
    }

    pub(in crate::app::session) fn ask(&mut self, questions: AgentQuestions, orders: &mut Orders) {
        let number = questions.number;
        let Some(agent) = self.find(number) else {
            return;
        };
        orders.system(format!(
            "Agent {number} ({}) asks:\n{}\nAnswer it with /agents {number} and what to say. Without an answer within ten minutes it goes by the project's documents.",
            agent.title,
            questions.text.trim_end()
        ));
        agent.questions = Some(questions);
    }

    /// The questions of an agent are no longer waiting.
    pub(in crate::app::session) fn unanswered(&mut self, number: u64, orders: &mut Orders) {
        if let Some(agent) = self.find(number) {
            agent.questions = None;
            orders.show(UiUpdate::StatusChanged);
        }
    }

    fn find(&mut self, number: u64) -> Option<&mut Agent> {
        self.running.iter_mut().find(|one| one.number == number)
    }

    pub(in crate::app::session) fn ended(
        &mut self,
        number: u64,
        outcome: Outcome<String>,
    ) -> Option<EndedAgent> {
        let index = self.running.iter().position(|one| one.number == number)?;
        let agent = self.running.remove(index);
        let (how, report) = match outcome {
            Ok(report) => ("is done", report),
            Err(problem) if agent.stop.is_fired() => ("was stopped", problem.next.join("\n")),
            Err(problem) => ("has failed", problem.for_model()),
        };
        Some(EndedAgent {
            conversation: agent.conversation,
            head: format!(
                "Agent {number} {how}, after {}{}: {}",
                took(agent.since.elapsed()),
                agent.progress.cost(", "),
                agent.title
            ),
            profile: agent.profile,
            report: report.trim().to_owned(),
        })
    }

    /// Those of this conversation, for the model: a line each.
    pub(super) fn told(&self, conversation: u64) -> impl Iterator<Item = String> {
        let told = self.running.iter();
        let told = told.filter(move |agent| agent.conversation == conversation);
        told.map(|agent| format!("agent {}: {}", agent.number, agent.title))
    }

    /// The rows of the status line.
    pub(super) fn rows(&self) -> impl Iterator<Item = RunningCall> {
        self.running.iter().map(|agent| RunningCall {
            name: format!(
                "agent {}: {}{}",
                agent.number,
                agent.doing(),
                agent.progress.cost(", ")
            ),
            since: agent.since,
            background: true,
            output: String::new(),
        })
    }

    /// Stops all of them; returns how many.
    pub(super) fn stop_all(&self) -> usize {
        self.running.iter().inspect(|one| one.stop.fire()).count()
    }

    fn stop_one(&self, number: u64) -> bool {
        let agent = self.running.iter().find(|one| one.number == number);
        agent.map(|agent| agent.stop.fire()).is_some()
    }

    /// `/stop N`.
    ///
    /// # Errors
    /// There is no agent of this number.
    pub(super) fn stop(&self, word: &str) -> Outcome<()> {
        match word.parse().is_ok_and(|number| self.stop_one(number)) {
            true => Ok(()),
            false => Err(self
                .no_agent(word)
                .next("/stop alone stops everything in the background.")),
        }
    }

    fn no_agent(&self, word: &str) -> Problem {
        let problem = Problem::missing(format!("No agent {} runs.", clip(word, 20)));
        match self.running.is_empty() {
            true => problem,
            false => problem.next("/agents lists those that run."),
        }
    }

    /// `/agents`: lists those that run. With a number, shows what that one does; with words after it, answers its questions.
    ///
    /// # Errors
    /// There is no agent of this number, or it asks nothing.
    pub(in crate::app::session) fn command(
        &mut self,
        rest: &str,
        run: &Run,
        orders: &mut Orders,
    ) -> Outcome<()> {
        if rest.is_empty() {
            orders.listing(Ok(self.list()));
            return Ok(());
        }
        let (word, answer) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let number: Option<u64> = word.parse().ok();
        let unknown = self.no_agent(word);
        let Some(agent) = number.and_then(|number| self.find(number)) else {
            return Err(unknown);
        };
        match answer.trim() {
            "" => agent.look(run, orders),
            answer => {
                let Some(questions) = agent.questions.take() else {
                    return Err(Problem::refused(format!("Agent {word} asks nothing."))
                        .next("Say it in the ticket that it works for, or stop it and launch another one."));
                };
                let _ = questions.reply.try_send(answer.to_owned());
                agent
                    .progress
                    .step(format!("you answered: {}", one_line(answer)));
                orders.remark(format!("Agent {word} has your answer."));
            }
        }
        Ok(())
    }

    fn list(&self) -> String {
        if self.running.is_empty() {
            return "No agent runs in the background.".to_owned();
        }
        let rows = self.running.iter();
        let rows: Vec<String> = rows.map(Agent::row).collect();
        format!(
            "{}\n\n/agents N looks into one, /agents N TEXT answers it, /stop N stops it.",
            rows.join("\n")
        )
    }

    /// What is lost of them when the session ends, for the user.
    pub(in crate::app::session) fn farewell(&self, dir: Option<&Path>) -> Option<String> {
        let count = self.running.len();
        let has_worktree = self.running.iter().any(|one| one.progress.has_worktree());
        (count > 0).then(|| {
            format!(
                "{} that ran in the background {} stopped.{}",
                plural(count, "agent"),
                if count == 1 { "was" } else { "were" },
                match dir.filter(|_| has_worktree) {
                    Some(dir) => format!(
                        " What was done so far is kept: {}",
                        own_command::about(dir, &["pipeline", "worktrees"])
                    ),
                    None => String::new(),
                }
            )
        })
    }
}

#[cfg(test)]
mod tests;
