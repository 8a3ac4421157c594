//! Jobs: what the user started and waits for, a shell command, a tool, a question to Blender. Each runs on a thread of its own. Esc stops
//! the last one that the user waits for, `/stop` those in the background. Among these are [`agents`] that the model launched.

mod agent;
pub(super) mod agent_host;
pub(super) mod agents;

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use agents::Agents;

use super::orders::{CoreRequest, JobWork, Orders};
use super::queued::Queued;
use super::run::Run;
use super::ui_update::{RunningCall, UiUpdate};
use super::worker_event::WorkerEvent;
use crate::app::direct_call::words::{DirectCommand, DirectRequest};
use crate::app::direct_call::{self, catalogue};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem};
use crate::base::text::one_line;
use crate::chat::event::NullSink;
use crate::tools::blender;
use crate::tools::engine::approval::Approval;
use crate::tools::engine::batch;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::registry::FinishedCall;

/// The tool that does what `/profile` does.
const SWITCH_PROFILE: &str = "switch_profile";

pub(super) struct Job {
    id: u64,
    /// The conversation in which it was started, and its profile.
    pub(super) conversation: u64,
    pub(super) profile: String,
    /// As the status line shows it.
    pub(super) command: String,
    background: bool,
    since: Instant,
    /// The last lines that it has written.
    output: String,
    stop: Cancel,
    _with_session: OnFire,
}

#[derive(Default)]
pub(super) struct Jobs {
    running: Vec<Job>,
    pub(super) agents: Agents,
}

impl Jobs {
    pub(super) fn start(
        &mut self,
        (command, background): (String, bool),
        work: JobWork,
        conversation: u64,
        run: &Run,
        orders: &mut Orders,
    ) {
        let id = run.number();
        let (stop, with_session) = run.child_stop();
        self.running.push(Job {
            id,
            conversation,
            profile: run.context.profile(),
            command,
            background,
            since: Instant::now(),
            output: String::new(),
            stop: stop.clone(),
            _with_session: with_session,
        });
        orders.start(work(id, stop));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.running.is_empty() && self.agents.is_empty()
    }

    /// Whether one runs that the user waits for.
    pub(super) fn is_busy(&self) -> bool {
        self.running.iter().any(|job| !job.background)
    }

    /// The commands and agents of this conversation that run in the background.
    pub(super) fn background(&self, conversation: u64) -> Vec<String> {
        let is_told = |job: &&Job| job.background && job.conversation == conversation;
        let jobs = self.running.iter().filter(is_told);
        let commands = jobs.map(|job| job.command.clone());
        commands.chain(self.agents.told(conversation)).collect()
    }

    /// The rows of the status line.
    pub(super) fn rows(&self) -> impl Iterator<Item = RunningCall> {
        let jobs = self.running.iter().map(|job| RunningCall {
            name: job.command.clone(),
            since: job.since,
            background: job.background,
            output: job.output.clone(),
        });
        jobs.chain(self.agents.rows())
    }

    /// A job has written these lines.
    pub(super) fn wrote(&mut self, id: u64, lines: String) {
        if let Some(job) = self.running.iter_mut().find(|job| job.id == id) {
            job.output = lines;
        }
    }

    pub(super) fn ended(&mut self, id: u64) -> Option<Job> {
        let index = self.running.iter().position(|job| job.id == id)?;
        Some(self.running.remove(index))
    }

    /// Stops the last one that the user waits for. False when there is none.
    pub(super) fn stop_last(&self) -> bool {
        let mut jobs = self.running.iter().rev();
        let job = jobs.find(|job| !job.background && !job.stop.is_fired());
        job.map(|job| job.stop.fire()).is_some()
    }

    /// `/stop`: stops what runs in the background, or the agent of this number.
    ///
    /// # Errors
    /// There is no agent of this number.
    pub(super) fn stop_background(&self, number: &str, orders: &mut Orders) -> Outcome<()> {
        if !number.is_empty() {
            return self.agents.stop(number);
        }
        let running = self.running.iter().filter(|job| job.background);
        let commands = running.inspect(|job| job.stop.fire()).count();
        if commands + self.agents.stop_all() == 0 {
            orders.remark("Nothing runs in the background.");
        }
        Ok(())
    }
}

impl Job {
    /// What the user is shown of the end of a shell command.
    pub(super) fn ending(self, output: String) -> UiUpdate {
        match (self.background, output.trim_end()) {
            // Of a command in the background that wrote nothing, it is enough that it has ended.
            (true, ending) if !ending.contains('\n') => UiUpdate::Remark(format!(
                "$ {} &  {}",
                one_line(&self.command),
                one_line(ending)
            )),
            (background, _) => UiUpdate::CommandOutput {
                command: self.command,
                output,
                background,
            },
        }
    }
}

/// `/tool`: runs one tool without a model.
///
/// # Errors
/// The words are wrong, or there is no such tool.
pub(super) fn call_tool(words: &[String], run: &Run, orders: &mut Orders) -> Outcome<()> {
    let command = DirectCommand::read(words)?;
    let (tool, args) = match command.resolve(&run.context)? {
        DirectRequest::Help(tool) => {
            orders.show(UiUpdate::Listing(catalogue::help(&tool)));
            return Ok(());
        }
        DirectRequest::Call { .. } if command.dir.is_some() => {
            return Err(Problem::input("--working-dir belongs to marvin tool.")
                .next("Here tools work in the session's directory; set_working_dir changes it."));
        }
        DirectRequest::Call { tool, args } => (tool, args),
    };
    // The tool changes the profile of the session at once, whatever is under way.
    if tool.name() == SWITCH_PROFILE
        && let Ok(args) = serde_json::from_str::<Value>(&args)
        && let Some(name) = args.get("profile_name").and_then(Value::as_str)
    {
        let change = Queued::profile_change(name, &run.context.paths)?;
        orders.request(CoreRequest::Queue(change));
        return Ok(());
    }
    let call = direct_call::call(tool.name(), args);
    let context = Arc::clone(&run.context);
    let run_tool = move |_, stop| {
        let ctx = ToolContext {
            approval: Approval::UserInvoked,
            ..ToolContext::new(context, stop, Arc::new(NullSink))
        };
        Ok(Box::new(batch::run_one(&ctx, &call)))
    };
    orders.job(tool.name(), false, run_tool, |id, ended| match ended {
        Ok(ended) => WorkerEvent::ToolCalled { id, ended },
        Err(problem) => WorkerEvent::Report {
            id,
            outcome: Err(problem),
        },
    });
    Ok(())
}

/// A tool that the user called has ended, in `job`.
pub(super) fn tool_called(
    job: Option<&Job>,
    ended: FinishedCall,
    conversation: u64,
    orders: &mut Orders,
) {
    orders.show(UiUpdate::Listing(ended.output.text));
    if job.is_some_and(|job| job.conversation == conversation) {
        orders.request(CoreRequest::Effects(ended.effects));
    }
}

/// `/blender`: asks Blender whether it is there.
pub(super) fn check_blender(run: &Run, orders: &mut Orders) {
    let context = Arc::clone(&run.context);
    let check = move |_, stop| blender::check(&context.env, &stop);
    let report = |id, outcome| WorkerEvent::Report { id, outcome };
    orders.job("blender", false, check, report);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::work::Work;
    use crate::app::session::worker_event::AwaitedBy;

    fn start(jobs: &mut Jobs, command: &str, background: bool, run: &Run) {
        let work: JobWork = Box::new(|id, _| {
            let report = move |outcome| WorkerEvent::Report { id, outcome };
            Work::new("job", AwaitedBy::Nobody, || Ok(String::new()), report)
        });
        let command = (command.to_owned(), background);
        jobs.start(command, work, 1, run, &mut Orders::default());
    }

    #[test]
    fn esc_stops_the_last_one_that_the_user_waits_for_and_stop_those_in_the_background() {
        let (mut jobs, run) = (Jobs::default(), Run::for_tests());
        assert!(!jobs.stop_last() && !jobs.is_busy());
        start(&mut jobs, "first", false, &run);
        start(&mut jobs, "second", false, &run);
        start(&mut jobs, "third", true, &run);
        let stopped = |jobs: &Jobs| -> Vec<bool> {
            let jobs = jobs.running.iter();
            jobs.map(|job| job.stop.is_fired()).collect()
        };
        assert!(jobs.stop_last());
        assert_eq!(stopped(&jobs), [false, true, false]);
        let mut orders = Orders::default();
        jobs.stop_background("", &mut orders).unwrap();
        assert_eq!(stopped(&jobs), [false, true, true]);
        assert!(orders.take_updates().is_empty());
        assert_eq!(jobs.background(1), ["third"]);
        assert_eq!(jobs.background(2), [] as [&str; 0], "another conversation");
    }

    #[test]
    fn the_end_of_a_quiet_command_in_the_background_is_one_line() {
        let (mut jobs, run) = (Jobs::default(), Run::for_tests());
        for (background, output, is_line) in [
            (true, "[exit status: 0]\n", true),
            (true, "made\n[exit status: 0]\n", false),
            (false, "[exit status: 0]\n", false),
        ] {
            start(&mut jobs, "make", background, &run);
            let id = jobs.running[0].id;
            let ending = jobs.ended(id).unwrap().ending(output.to_owned());
            assert_eq!(matches!(ending, UiUpdate::Remark(_)), is_line, "{output}");
        }
    }
}
