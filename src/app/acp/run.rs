//! A run of the agent: from the first line of the client to the end of its input.

use std::io::{self, BufReader};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::agent::Agent;
use super::methods;
use super::out::Out;
use crate::app::settings::Settings;
use crate::app::stream::say;
use crate::app::watch::{RunWatch, TURN_GRACE};
use crate::base::cancel::Cancel;
use crate::base::problem::{Outcome, Problem};
use crate::chat::usage::Totals;
use crate::formats::json_lines::{MAX_LINE_IN, NextLine, next_line};
use crate::formats::json_rpc::{RpcError, RpcId};
use crate::llm::copilot;
use crate::mcp::session as session_servers;
use crate::proc::descendants;

/// How long sessions have at the end to stop what they do and to write it.
const SESSIONS_LIMIT: Duration = Duration::from_millis(1_200);
/// How long the client has to read what is left.
const LINES_LIMIT: Duration = Duration::from_millis(300);
/// How long the end may take after a signal.
const SIGNAL_LIMIT: Duration = Duration::from_millis(1_700);
/// How long the main thread sleeps at once.
const LONG: Duration = Duration::from_secs(3_600);

/// Serves a client until it closes standard input, and returns the exit status. The cost is the last line on standard error.
pub(crate) fn run(settings: Settings) -> u8 {
    let stop = Cancel::new();
    let ended = Arc::new((Mutex::new(false), Condvar::new()));
    let of_watch = Arc::clone(&ended);
    let watch = RunWatch::start(stop.clone(), false, TURN_GRACE, move |status| {
        let (is_ended, changed) = &*of_watch;
        let is_ended = is_ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = changed.wait_timeout_while(is_ended, SIGNAL_LIMIT, |is_ended| !*is_ended);
        let is_ended = *waited.unwrap_or_else(PoisonError::into_inner).0;
        if is_ended {
            // The main thread is leaving.
            thread::park_timeout(SIGNAL_LIMIT);
        }
        copilot::close_all(copilot::HURRIED_CLOSE_TIMEOUT);
        session_servers::end_all();
        crate::proc::sandbox::private_dir::remove();
        descendants::end_all(Duration::ZERO);
        std::process::exit(status.into());
    });
    let (totals, outcome) = match watch {
        Ok(watch) => {
            let (totals, outcome) = serve(settings, &stop);
            (totals, outcome.map(|()| watch.status().unwrap_or(0)))
        }
        Err(error) => {
            let problem = Problem::system("Cannot watch for signals", error);
            (Totals::default(), Err(problem))
        }
    };
    let status = outcome.unwrap_or_else(|problem| {
        say(&format!("Error: {}", problem.one_line()));
        1
    });
    say(&totals.cost_line());
    let (is_ended, changed) = &*ended;
    *is_ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
    changed.notify_all();
    status
}

fn serve(settings: Settings, stop: &Cancel) -> (Totals, Outcome<()>) {
    let begun = Out::start(stop.clone()).and_then(|out| {
        let agent = Arc::new(Agent::new(settings, Arc::clone(&out), stop.clone())?);
        listen(&agent)?;
        Ok((out, agent))
    });
    let (out, agent) = match begun {
        Ok(begun) => begun,
        Err(problem) => return (Totals::default(), Err(problem)),
    };
    while stop.sleep(LONG) {}
    agent.shut_down(SESSIONS_LIMIT);
    out.finish(LINES_LIMIT);
    (agent.shared.ledger.totals(), Ok(()))
}

/// Ends everything when it is dropped: also where a line makes the thread that reads panic, because no other line comes in after that.
struct FiresAtEnd(Cancel);

impl Drop for FiresAtEnd {
    fn drop(&mut self) {
        self.0.fire();
    }
}

/// Reads standard input on a thread of its own, which ends with it, or with the process.
fn listen(agent: &Arc<Agent>) -> Outcome<()> {
    let agent = Arc::clone(agent);
    let read = move || {
        let _end = FiresAtEnd(agent.shared.stop.clone());
        let mut input = BufReader::new(io::stdin());
        loop {
            match next_line(&mut input, MAX_LINE_IN) {
                Ok(NextLine::Line(line)) if line.iter().all(u8::is_ascii_whitespace) => {}
                Ok(NextLine::Line(line)) => methods::take(&agent, &line),
                Ok(NextLine::TooLong) => {
                    let words = "The line is longer than 64 MiB.";
                    let error = RpcError::new(RpcError::PARSE, words);
                    agent.answer(&RpcId::Null, &Err(error));
                }
                Ok(NextLine::End) => break,
                Err(error) => {
                    say(&format!("Standard input cannot be read any more: {error}."));
                    break;
                }
            }
        }
    };
    let thread = thread::Builder::new()
        .name("client in".to_owned())
        .spawn(read);
    thread
        .map(drop)
        .map_err(|error| Problem::system("Cannot start a thread for standard input", error))
}
