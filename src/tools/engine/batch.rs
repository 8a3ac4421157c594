//! Runs the calls of one round: readers and research in parallel, writers alone and in call order, unless each of them has a place of its own to write in.
//! Results keep the order of the calls.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, never, select, unbounded};

use super::context::ToolContext;
use super::registry::{self, FinishedCall};
use crate::base::cancel::Cancel;
use crate::base::pauses::Pauses;
use crate::base::problem::{Outcome, Problem};
use crate::chat::display::Display;
use crate::chat::event::Event;
use crate::chat::message::ToolCall;
use crate::net::service::AnsweredBy;
use crate::tools::engine::result::ToolOk;

const AT_ONCE: usize = 8;
/// How long a cancelled call has to end before its thread is abandoned.
const GRACE: Duration = Duration::from_millis(500);

/// Runs every call and returns one result per call, in order. `on_end` is told of each result as soon as there is one, before the user is.
///
/// A writer waits for everything before it and runs alone, so that a round of read, write, read means what it says.
pub(crate) fn run(
    ctx: &ToolContext,
    calls: &[ToolCall],
    on_end: &mut dyn FnMut(&FinishedCall),
) -> Vec<FinishedCall> {
    let mut ended: Vec<FinishedCall> = Vec::with_capacity(calls.len());
    let mut ctx = ctx.clone();
    let mut rest = calls;
    while !rest.is_empty() {
        let readers = rest
            .iter()
            .take_while(|call| ctx.session.registry().plan(call).parallel)
            .count();
        ctx.is_beside_others = false;
        let mut count = readers;
        if readers == 0 {
            count = rest
                .iter()
                .take_while(|call| ctx.session.registry().plan(call).beside)
                .count();
            let agents = ctx.session.agents();
            ctx.is_beside_others = count > 1 && agents.is_ok_and(|agents| agents.have_places(&ctx));
            if !ctx.is_beside_others {
                count = 1;
            }
        }
        let (phase, later) = rest.split_at(count);
        let finished = CallPhase::new(&ctx, phase, on_end).run();
        // The user's time to answer a question is not taken from the calls after it.
        ctx.deadline = ctx.deadline.map(|at| at + waited(&finished));
        ended.extend(finished);
        rest = later;
    }
    ended
}

/// How long the calls have waited for the user.
pub(crate) fn waited(ended: &[FinishedCall]) -> Duration {
    ended.iter().map(|call| call.waited).sum()
}

/// Runs one call outside a round, with its timeout: for `marvin tool` and for providers that drive their own loop.
pub fn run_one(ctx: &ToolContext, call: &ToolCall) -> FinishedCall {
    let mut unwatched = |_: &FinishedCall| {};
    let phase = CallPhase::new(ctx, std::slice::from_ref(call), &mut unwatched);
    let ended = phase.run().pop();
    ended.unwrap_or_else(|| registry::finish_call(ctx, call, Err(abandoned(call)), Duration::ZERO))
}

/// What a call's thread sends when it is done.
struct CallReport {
    index: usize,
    outcome: Outcome<ToolOk>,
}

struct CallThread {
    index: usize,
    started: Instant,
    limit: Duration,
    /// When its timeout expires, not counting pauses.
    until: Instant,
    pauses: Arc<Pauses>,
    answered_by: Arc<AnsweredBy>,
    stop: Cancel,
    /// It exceeded its timeout, and its token was fired.
    late: bool,
}

impl CallThread {
    /// When its timeout expires; pauses no longer count once it was stopped.
    fn deadline(&self) -> Instant {
        if self.stop.is_fired() {
            self.until
        } else {
            self.until + self.pauses.total()
        }
    }

    /// Running time without pauses.
    fn took(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.pauses.total())
    }
}

/// How long a call has run, and how long it has waited for the user.
#[derive(Default)]
struct CallTimes {
    took: Duration,
    waited: Duration,
}

/// Calls that may run in parallel.
struct CallPhase<'a> {
    ctx: &'a ToolContext,
    calls: &'a [ToolCall],
    waiting: VecDeque<usize>,
    running: Vec<CallThread>,
    ended: Vec<Option<FinishedCall>>,
    on_end: &'a mut dyn FnMut(&FinishedCall),
    send: Sender<CallReport>,
    receive: Receiver<CallReport>,
}

impl<'a> CallPhase<'a> {
    fn new(
        ctx: &'a ToolContext,
        calls: &'a [ToolCall],
        on_end: &'a mut dyn FnMut(&FinishedCall),
    ) -> Self {
        let (send, receive) = unbounded();
        let ended = calls.iter().map(|_| None).collect();
        Self {
            ctx,
            calls,
            waiting: (0..calls.len()).collect(),
            running: Vec::new(),
            ended,
            on_end,
            send,
            receive,
        }
    }

    /// A call that exceeds its timeout is stopped. One that does not stop is abandoned, and gets an error as its result.
    fn run(mut self) -> Vec<FinishedCall> {
        let (wake, mut woken) = unbounded();
        let _wake = self.ctx.stop.on_fire(move || {
            let _ = wake.send(());
        });
        loop {
            self.start_waiting();
            let Some(next) = self.running.iter().map(CallThread::deadline).min() else {
                break;
            };
            select! {
                recv(self.receive) -> report => match report {
                    Ok(report) => self.take(report),
                    Err(_) => break,
                },
                recv(woken) -> _ => {
                    woken = never();
                    let until = Instant::now() + GRACE;
                    self.running.iter_mut().for_each(|call| call.until = call.until.min(until));
                }
                default(next.saturating_duration_since(Instant::now())) => self.stop_late(),
            }
        }
        let (ctx, calls) = (self.ctx, self.calls);
        let all = self.ended.into_iter().zip(calls);
        all.map(|(ended, call)| {
            ended.unwrap_or_else(|| {
                registry::finish_call(ctx, call, Err(abandoned(call)), Duration::ZERO)
            })
        })
        .collect()
    }

    fn start_waiting(&mut self) {
        while self.running.len() < AT_ONCE
            && let Some(index) = self.waiting.pop_front()
            && let Some(call) = self.calls.get(index)
        {
            match self.start(index, call.clone()) {
                Ok(running) => self.running.push(running),
                Err(problem) => self.keep(index, Err(problem), CallTimes::default(), Vec::new()),
            }
        }
    }

    /// Starts one call on a thread of its own, with a token that also fires when the turn's does.
    fn start(&self, index: usize, call: ToolCall) -> Outcome<CallThread> {
        let own = self.ctx.session.registry().plan(&call).limit;
        let left = self.ctx.deadline;
        let left = left.map(|at| at.saturating_duration_since(Instant::now()));
        let limit = left.map_or(own, |left| own.min(left));
        let (stop, with_turn) = self.ctx.stop.child();
        let pauses = Arc::new(Pauses::default());
        let answered_by = Arc::new(AnsweredBy::default());
        let ctx = ToolContext {
            stop: stop.clone(),
            pauses: Arc::clone(&pauses),
            answered_by: Arc::clone(&answered_by),
            call: call.id.clone(),
            ..self.ctx.clone()
        };
        let send = self.send.clone();
        let started = Instant::now();
        thread::Builder::new()
            .name("tool".to_owned())
            .spawn(move || {
                let _with_turn = with_turn;
                let outcome = registry::call_catching_panic(&ctx, &call);
                let _ = send.send(CallReport { index, outcome });
            })
            .map_err(|error| Problem::system("Cannot start a thread for the call", error))?;
        Ok(CallThread {
            index,
            started,
            limit,
            until: started + limit,
            pauses,
            answered_by,
            stop,
            late: false,
        })
    }

    fn take(&mut self, report: CallReport) {
        let Some(index) = self
            .running
            .iter()
            .position(|call| call.index == report.index)
        else {
            return;
        };
        let call = self.running.swap_remove(index);
        let outcome = match report.outcome {
            Err(problem) if call.late && problem.is_cancelled() => Err(Problem {
                facts: problem.facts,
                ..self.too_long(&call)
            }),
            outcome => outcome,
        };
        self.finish(outcome, &call);
    }

    /// Stops calls whose timeout has expired, and gives up on those that were stopped and did not end.
    fn stop_late(&mut self) {
        let now = Instant::now();
        for mut call in std::mem::take(&mut self.running) {
            if call.deadline() > now {
                self.running.push(call);
            } else if call.late || self.ctx.stop.is_fired() {
                let problem = if call.late {
                    self.too_long(&call)
                } else {
                    Problem::cancelled()
                };
                self.finish(Err(problem), &call);
            } else {
                call.stop.fire();
                call.late = true;
                call.until = now + GRACE;
                self.running.push(call);
            }
        }
    }

    fn too_long(&self, running: &CallThread) -> Problem {
        let name = self
            .calls
            .get(running.index)
            .map_or("The call", |call| call.name.as_str());
        Problem::timeout(format!(
            "{name} was stopped after its limit of {} s.",
            running.limit.as_secs()
        ))
        .next("Ask for less at once, or do it in smaller steps.")
    }

    /// Ends a call that has run.
    fn finish(&mut self, outcome: Outcome<ToolOk>, call: &CallThread) {
        let times = CallTimes {
            took: call.took(),
            waited: call.pauses.total(),
        };
        self.keep(call.index, outcome, times, call.answered_by.ids());
    }

    /// Creates the call's result, reports it and stores it at its index.
    fn keep(
        &mut self,
        index: usize,
        outcome: Outcome<ToolOk>,
        CallTimes { took, waited }: CallTimes,
        answered_by: Vec<&'static str>,
    ) {
        let Some(call) = self.calls.get(index) else {
            return;
        };
        let ended = registry::finish_call(self.ctx, call, outcome, took);
        let mut ended = FinishedCall {
            waited,
            answered_by,
            ..ended
        };
        (self.on_end)(&ended);
        let mut display = ended.display.take();
        if self.ctx.session.editor.is_none() {
            display = display.map(Display::without_whole_texts);
        }
        let output = &ended.output;
        self.ctx.listener.emit(Event::ToolDone {
            id: output.id.clone(),
            name: output.name.clone(),
            failed: output.failed,
            end: ended.end,
            took,
            answered_by: ended.answered_by.clone(),
            text: output.text.clone(),
            images: output.images.clone(),
            display,
        });
        if let Some(place) = self.ended.get_mut(index) {
            *place = Some(ended);
        }
    }
}

fn abandoned(call: &ToolCall) -> Problem {
    Problem::internal(format!("{} ended without a result.", call.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::chat::event::{CallEnd, CallState, EventSink};
    use crate::disk::beneath::Root;
    use crate::tools::engine::approval::{Approval, ApprovalRequest, Approver};
    use crate::tools::engine::context::SessionContext;
    use crate::tools::engine::policy::ToolPolicy;
    use std::sync::{Mutex, PoisonError};

    /// A user who answers after a delay.
    struct User {
        verdict: fn() -> Outcome<()>,
        thought: Arc<Mutex<Duration>>,
    }

    impl Approver for User {
        fn ask(&self, _: ApprovalRequest, _: &Cancel) -> Outcome<()> {
            let since = Instant::now();
            thread::sleep(Duration::from_millis(300));
            *self.thought.lock().unwrap_or_else(PoisonError::into_inner) += since.elapsed();
            (self.verdict)()
        }
    }

    #[derive(Default)]
    struct Heard(Mutex<Vec<Event>>);

    impl EventSink for Heard {
        fn emit(&self, event: Event) {
            self.0.lock().unwrap().push(event);
        }
    }

    fn command(command: &str) -> ToolCall {
        let timeout = if command.starts_with("sleep") { 1 } else { 30 };
        let args = serde_json::json!({"command": command, "timeout": timeout});
        ToolCall::new("a", "run_command", args.to_string())
    }

    /// A session in a folder of its own, with this user.
    fn session(user: User) -> (tempfile::TempDir, SessionContext) {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([
            ("PATH", std::env::var("PATH").unwrap().as_str()),
            ("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap()),
        ]);
        let mut session = SessionContext::new(env, ToolPolicy::default());
        session
            .working_dir
            .set(Root::open(dir.path()).unwrap(), true);
        session.approval = Approval::Ask(Arc::new(user));
        (dir, session)
    }

    #[test]
    fn the_time_of_the_user_is_not_taken_from_the_calls_after_a_question() {
        let (_dir, session) = session(User {
            verdict: || {
                thread::sleep(Duration::from_millis(2_500));
                Ok(())
            },
            thought: Arc::default(),
        });
        let listener: Arc<dyn EventSink> = Arc::new(Heard::default());
        let mut ctx = ToolContext::new(Arc::new(session), Cancel::new(), listener);
        ctx.deadline = Some(Instant::now() + Duration::from_secs(2));
        let second = ToolCall {
            id: "b".to_owned(),
            ..command("echo second")
        };
        let mut told = Vec::new();
        let ended = run(&ctx, &[command("echo first"), second], &mut |call| {
            told.push(call.output.id.clone());
        });
        let ends: Vec<CallEnd> = ended.iter().map(|call| call.end).collect();
        assert_eq!(ends, [CallEnd::Success, CallEnd::Success]);
        assert_eq!(told, ["a", "b"]);
        assert!(waited(&ended) >= Duration::from_secs(5));
    }

    #[test]
    fn a_call_says_how_it_ended_and_its_time_leaves_out_the_wait_for_the_user() {
        let agrees: fn() -> Outcome<()> = || Ok(());
        let declines: fn() -> Outcome<()> = || {
            Err(Problem::new(
                crate::base::problem::ProblemKind::Declined,
                "No.",
            ))
        };
        for (verdict, text, end) in [
            (agrees, "true", CallEnd::Success),
            (agrees, "exit 3", CallEnd::ExitCode(3)),
            (agrees, "kill -9 $$", CallEnd::Signal(9)),
            (agrees, "sleep 20", CallEnd::Timeout),
            (declines, "true", CallEnd::Declined),
            (agrees, "rm x", CallEnd::Failure),
        ] {
            let thought = Arc::new(Mutex::default());
            let (_dir, session) = session(User {
                verdict,
                thought: Arc::clone(&thought),
            });
            let heard = Arc::new(Heard::default());
            let listener: Arc<dyn EventSink> = Arc::clone(&heard) as Arc<dyn EventSink>;
            let ctx = ToolContext::new(Arc::new(session), Cancel::new(), listener);
            let since = Instant::now();
            let ended = run_one(&ctx, &command(text));
            let whole = since.elapsed();
            assert_eq!(ended.end, end, "{text}: {}", ended.output.text);
            let thought = *thought.lock().unwrap();
            assert!(ended.took + thought <= whole, "{text}: {:?}", ended.took);
            let states: Vec<CallState> = heard.0.lock().unwrap().iter().filter_map(state).collect();
            let asked = [CallState::Running, CallState::Waiting, CallState::Running];
            let wanted = if thought.is_zero() {
                &asked[..1]
            } else {
                &asked
            };
            assert_eq!(states, wanted, "{text}");
        }
    }

    fn state(event: &Event) -> Option<CallState> {
        match event {
            Event::CallState { id, state } if id == "a" => Some(*state),
            _ => None,
        }
    }
}
