//! Agents without a process: what is launched is looked at, and what would happen is reported by hand.

use std::collections::VecDeque;
use std::time::Duration;

use crossbeam_channel::{Receiver, bounded};

use super::*;
use crate::app::session::orders::Order;
use crate::app::session::ui_update::UiUpdate;
use crate::base::testing::assert_has;
use crate::disk::beneath::Root;
use crate::tools::engine::agent_task::{AgentModel, AgentTask, CheckedTask, ReviewOrder};
use crate::tools::engine::context::Agents as RunsAgents;

/// Ends at once, with its task; as soon as it has an answer, if the task is a question. Lines of it are asked at once.
struct Echo;

impl RunsAgents for Echo {
    fn check(&self, _: &ToolContext, _: &AgentTask) -> Outcome<CheckedTask> {
        Ok(CheckedTask::default())
    }

    fn launch(&self, ctx: &ToolContext, task: &AgentTask) -> Outcome<String> {
        match (&ctx.answerer, task.prompt.ends_with('?')) {
            (Some(answerer), true) => {
                let ask = |question| {
                    let answer = answerer.answer(question, &ctx.stop).unwrap();
                    format!("{question} {}", answer.unwrap_or_default())
                };
                let answered: Vec<String> = std::thread::scope(|threads| {
                    let asking = task.prompt.lines();
                    let asking: Vec<_> = asking
                        .map(|line| threads.spawn(move || ask(line)))
                        .collect();
                    asking.into_iter().map(|one| one.join().unwrap()).collect()
                });
                Ok(answered.join("; "))
            }
            _ => Ok(format!("did: {}", task.prompt)),
        }
    }

    fn research(&self, _: &ToolContext, _: &str, _: AgentModel) -> Outcome<String> {
        Err(Problem::missing("Nobody researches here."))
    }

    fn start_review(&self, _: &ToolContext, _: &ReviewOrder) -> Outcome<String> {
        Err(Problem::missing("Nobody reviews here."))
    }
}

struct Alone {
    agents: Agents,
    run: Run,
    orders: Orders,
    dir: tempfile::TempDir,
}

impl Alone {
    fn new() -> Self {
        let run = Run::for_tests();
        run.context.set_agents(Some(Arc::new(Echo)));
        Self {
            agents: Agents::default(),
            run,
            orders: Orders::default(),
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// For a ticket that no agent works for.
    fn task(&self, prompt: &str) -> AgentTask {
        AgentTask {
            root: Arc::new(Root::open(self.dir.path()).unwrap()),
            ticket: format!("a-{}", self.agents.last + 1),
            prompt: prompt.to_owned(),
            model: AgentModel::Auto,
            design_first: false,
            tdd: false,
        }
    }

    fn launch(&mut self, prompt: &str) -> Receiver<Outcome<u64>> {
        let task = self.task(prompt);
        let (reply, started) = bounded(1);
        let launch = AgentLaunch { task, reply };
        (self.agents).launch(launch, 1, &self.run, &mut self.orders);
        started
    }

    fn started(&mut self, prompt: &str) -> u64 {
        self.launch(prompt).try_recv().unwrap().unwrap()
    }

    /// What the command shows.
    fn command(&mut self, rest: &str) -> String {
        self.orders.take_updates();
        let done = self.agents.command(rest, &self.run, &mut self.orders);
        if let Err(problem) = done {
            return problem.one_line();
        }
        while let Some(order) = self.orders.next() {
            if let Order::Work(work) = order {
                work.run(&self.run.inbox);
            }
        }
        let reports = self.run.inbox.take().into_iter();
        let listed = reports.filter_map(|(_, event)| match event {
            WorkerEvent::Listing(text) => Some(text.unwrap()),
            _ => None,
        });
        let shown = self.orders.take_updates().into_iter();
        let shown = shown.filter_map(|update| match update {
            UiUpdate::Listing(text) | UiUpdate::Remark(text) => Some(text),
            _ => None,
        });
        listed.chain(shown).collect()
    }

    /// Takes what the agents report, until one asks.
    fn until_asked(&mut self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.agents.running[0].questions.is_none() {
            assert!(Instant::now() < until, "nothing was asked");
            for (_, event) in self.run.inbox.take() {
                if let WorkerEvent::Agent(AgentEvent::Asks(questions)) = event {
                    self.agents.ask(questions, &mut self.orders);
                }
            }
            std::thread::yield_now();
        }
    }

    /// The report of the first agent.
    fn report(&self) -> String {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < until, "no end");
            let ended = self.run.inbox.take().into_iter();
            let mut ended = ended.filter_map(|(_, event)| match event {
                WorkerEvent::Agent(AgentEvent::Ended(1, outcome)) => Some(outcome),
                _ => None,
            });
            if let Some(outcome) = ended.next() {
                return outcome.unwrap();
            }
            std::thread::yield_now();
        }
    }

    /// The works that were ordered.
    fn works(&mut self) -> VecDeque<crate::app::session::work::Work> {
        let mut works = VecDeque::new();
        while let Some(order) = self.orders.next() {
            if let Order::Work(work) = order {
                works.push_back(work);
            }
        }
        works
    }
}

fn stopped(agents: &Agents) -> Vec<bool> {
    let running = agents.running.iter();
    running.map(|agent| agent.stop.is_fired()).collect()
}

#[test]
fn the_ninth_agent_is_refused_until_one_has_ended() {
    let mut alone = Alone::new();
    for number in 1..=8 {
        assert_eq!(alone.started("Do it."), number);
    }
    let refused = alone.launch("Do it.").try_recv().unwrap().unwrap_err();
    assert_has(&refused.one_line(), &["8 agents run"]);
    assert!(alone.agents.ended(3, Ok("done".to_owned())).is_some());
    assert_eq!(alone.started("Do it."), 9);
    assert_eq!(alone.works().len(), 9, "one work for each that was started");
}

#[test]
fn one_is_stopped_by_its_number_or_all_of_them() {
    let mut alone = Alone::new();
    for _ in 0..3 {
        alone.started("Do it.");
    }
    for word in ["7", "two", "-1"] {
        let words = alone.agents.stop(word).unwrap_err().one_line();
        assert!(words.contains(&format!("No agent {word} runs.")), "{words}");
    }
    alone.agents.stop("2").unwrap();
    assert_eq!(stopped(&alone.agents), [false, true, false]);
    let ended = alone.agents.ended(2, Err(Problem::cancelled())).unwrap();
    assert!(
        ended.head.starts_with("Agent 2 was stopped"),
        "{}",
        ended.head
    );
    assert_eq!(alone.agents.stop_all(), 2);
    assert_eq!(stopped(&alone.agents), [true, true]);
}

#[test]
fn the_list_tells_what_each_does_and_costs() {
    let mut alone = Alone::new();
    assert_eq!(alone.command(""), "No agent runs in the background.");
    alone.started("Fix the parser.\nThen test it.");
    alone.started("Write the manual.");
    let child = |id: &str| PipelineEvent::ChildStarted {
        id: id.to_owned(),
        label: "agent".to_owned(),
        model: "m".to_owned(),
        attempt: 1,
    };
    let usage = |id: &str, cost: f64| PipelineEvent::ChildUsage {
        id: id.to_owned(),
        tokens: 10,
        cost,
        estimated: false,
    };
    for event in [
        child("agent-1"),
        usage("agent-1", 0.25),
        usage("agent-1", 0.5),
        child("agent-2"),
        usage("agent-2", 1.0),
        PipelineEvent::ChildTools {
            id: "agent-2".to_owned(),
            tools: vec!["read_file".to_owned(), "run_command".to_owned()],
        },
    ] {
        alone.agents.follow(1, &event, &mut alone.orders);
    }
    let updates = alone.orders.take_updates().into_iter();
    let redrawn = updates.filter(|update| matches!(update, UiUpdate::StatusChanged));
    assert_eq!(redrawn.count(), 6, "the status line shows it");
    let list = alone.command("");
    let rows: Vec<&str> = list.lines().collect();
    assert!(
        rows[0].starts_with("1  0s  $1.5000  read_file, run_command  Fix the parser."),
        "{list}"
    );
    assert!(
        rows[1].starts_with("2  0s  starting  Write the manual."),
        "{list}"
    );
    let names: Vec<String> = alone.agents.rows().map(|row| row.name).collect();
    assert_eq!(names[0], "agent 1: read_file, run_command, $1.5000");
    assert_eq!(alone.agents.told(1).count(), 2);
    assert_eq!(alone.agents.told(2).count(), 0, "another conversation");
}

#[test]
fn looking_into_one_shows_its_steps_and_the_end_of_its_log() {
    let mut alone = Alone::new();
    alone.started("Fix the parser.");
    let logs = alone.dir.path().join(crate::disk::paths::PROJECT_LOGS);
    std::fs::create_dir_all(&logs).unwrap();
    let lines: String = (0..2_000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(logs.join("agent-7.log"), lines).unwrap();
    let started = PipelineEvent::ChildStarted {
        id: "agent-7".to_owned(),
        label: "agent".to_owned(),
        model: "m".to_owned(),
        attempt: 2,
    };
    alone.agents.follow(1, &started, &mut alone.orders);
    let shown = alone.command("1");
    for words in [
        "agent (m), attempt 2",
        "agent-7.log",
        "\nline 1970\n",
        "line 1999\n",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(!shown.contains("line 1969"), "{shown}");
    assert!(alone.command("5").contains("No agent 5 runs."));
}

#[test]
fn the_user_answers_what_an_agent_asks() {
    let mut alone = Alone::new();
    let number = alone.started("Which port?");
    let work = alone.works().pop_front().unwrap();
    assert!(alone.command("1 8080").contains("asks nothing"));
    work.start(&alone.run.inbox);
    alone.until_asked();
    assert!(alone.command("").contains("asks you"));
    assert!(alone.command("1").contains("Which port?"));
    // Its end may come at once.
    let answer = "1 8080, as always";
    let answered = (alone.agents).command(answer, &alone.run, &mut alone.orders);
    answered.unwrap();
    let report = alone.report();
    assert_eq!(report, "Which port? 8080, as always");
    let ended = alone.agents.ended(number, Ok(report)).unwrap();
    assert!(
        ended.head.starts_with("Agent 1 is done, after"),
        "{}",
        ended.head
    );
    assert!(alone.agents.is_empty());
}

#[test]
fn what_children_of_one_agent_ask_at_once_is_answered_one_after_the_other() {
    let mut alone = Alone::new();
    alone.started("Which port?\nWhich host?");
    alone.works().pop_front().unwrap().start(&alone.run.inbox);
    for _ in 0..2 {
        alone.until_asked();
        let questions = alone.agents.running[0].questions.as_ref();
        let (first, other, answer) = match questions.unwrap().text.as_str() {
            "Which port?" => ("Which port?", "Which host?", "1 8080"),
            _ => ("Which host?", "Which port?", "1 here"),
        };
        let shown = alone.orders.take_updates().into_iter();
        let shown: Vec<String> = shown
            .filter_map(|update| match update {
                UiUpdate::System(text) => Some(text),
                _ => None,
            })
            .collect();
        let asks = |question: &str| {
            let words = format!(" asks:\n{question}\nAnswer");
            shown.iter().any(|text| text.contains(&words))
        };
        assert!(asks(first) && !asks(other), "{shown:?}");
        let answered = (alone.agents).command(answer, &alone.run, &mut alone.orders);
        answered.unwrap();
    }
    assert_eq!(alone.report(), "Which port? 8080; Which host? here");
}

#[test]
fn one_ticket_has_one_agent_at_a_time() {
    let mut alone = Alone::new();
    alone.started("Do it.");
    let task = AgentTask {
        ticket: "a-1".to_owned(),
        ..alone.task("Do it again.")
    };
    let launch = |alone: &mut Alone| {
        let (reply, started) = bounded(1);
        let task = task.clone();
        let launch = AgentLaunch { task, reply };
        (alone.agents).launch(launch, 1, &alone.run, &mut alone.orders);
        started.try_recv().unwrap()
    };
    let refused = launch(&mut alone).unwrap_err().for_model();
    assert_has(
        &refused,
        &["Agent 1 works for the ticket a-1 already.", "/stop 1"],
    );
    assert!(alone.agents.ended(1, Ok("done".to_owned())).is_some());
    assert_eq!(launch(&mut alone).unwrap(), 2);
}

#[test]
fn a_launch_that_nobody_waits_for_any_more_is_stopped() {
    let mut alone = Alone::new();
    let task = alone.task("Do it.");
    let (reply, started) = bounded(1);
    drop(started);
    let launch = AgentLaunch { task, reply };
    (alone.agents).launch(launch, 1, &alone.run, &mut alone.orders);
    assert_eq!(stopped(&alone.agents), [true]);
}
