//! Push messages about a run. Anyone who knows the name of the topic can read them, so they hold the names of phases, counts, times, dollars and the id of
//! the ticket, and nothing of the task or the project.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::progress::{RunProgress, Usage};
use crate::app::run_notice;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::text::head;
use crate::chat::pipeline_event::PipelineEvent;
use crate::chat::usage::dollars;
use crate::formats::duration;

/// Maximum time for a message.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the end of a run waits for messages that are not sent yet; after the user stopped the run.
const END_TIMEOUT: Duration = Duration::from_secs(10);
const STOPPED_TIMEOUT: Duration = Duration::from_secs(1);
/// Messages that may wait for a slow server; further ones are dropped.
const MAX_WAITING: usize = 64;

/// Sends messages from a thread of its own, so that the run never waits for a server.
pub(super) struct PushNotices {
    queue: Option<Sender<String>>,
    thread: Option<JoinHandle<()>>,
    /// Ends the message that is being sent.
    give_up: Cancel,
    /// The run's token.
    stop: Cancel,
}

impl PushNotices {
    pub(super) fn new(env: Env, topic: String, stop: Cancel) -> Self {
        let (queue, messages): (_, Receiver<String>) = bounded(MAX_WAITING);
        let give_up = Cancel::new();
        let until = give_up.clone();
        let send = move || {
            for words in messages {
                if until.is_fired() {
                    return;
                }
                run_notice::send(&env, &topic, &words, SEND_TIMEOUT, &until);
            }
        };
        let thread = thread::Builder::new().name("ntfy".to_owned()).spawn(send);
        Self {
            queue: Some(queue),
            thread: thread.ok(),
            give_up,
            stop,
        }
    }

    /// Sends what an event is worth a message, if it is.
    pub(super) fn take(&self, event: &PipelineEvent, progress: &RunProgress) {
        if let (Some(queue), Some(words)) = (&self.queue, message(event, progress)) {
            let _ = queue.try_send(words);
        }
    }
}

impl Drop for PushNotices {
    /// Waits until everything is sent, but not for long.
    fn drop(&mut self) {
        drop(self.queue.take());
        let Some(thread) = self.thread.take() else {
            return;
        };
        let limit = match self.stop.is_fired() {
            true => STOPPED_TIMEOUT,
            false => END_TIMEOUT,
        };
        let until = Instant::now() + limit;
        while !thread.is_finished() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        self.give_up.fire();
    }
}

/// The message about an event.
fn message(event: &PipelineEvent, progress: &RunProgress) -> Option<String> {
    let time = |seconds| duration::words(Duration::from_secs(seconds));
    Some(match event {
        PipelineEvent::RunStarted { ticket, .. } => {
            let (done, all) = progress.count();
            let ticket = plain(ticket);
            match progress.resumed {
                true => {
                    format!("Pipeline resumed, ticket {ticket}: {done} of {all} phases are done.")
                }
                false => format!("Pipeline started, ticket {ticket}: {all} phases."),
            }
        }
        PipelineEvent::PhaseStarted { phase } => format!("Phase {} started.", plain(phase)),
        PipelineEvent::PhaseSkipped { phase, .. } => format!("Phase {} skipped.", plain(phase)),
        PipelineEvent::PhaseDone { phase, seconds } => {
            format!("Phase {} done in {}.", plain(phase), time(*seconds))
        }
        PipelineEvent::RoundStarted {
            phase,
            subject,
            round,
            most,
        } if phase.ends_with("_review") || subject == "code" => {
            format!("Phase {}: review round {round} of {most}.", plain(phase))
        }
        PipelineEvent::RunEnded { done, .. } => {
            let Usage {
                cost, estimated, ..
            } = progress.all_usage();
            let seconds = progress.elapsed(progress.latest).as_secs();
            let tail = format!(
                "after {}, {}. Ticket {}.",
                time(seconds),
                dollars(cost, estimated),
                plain(&progress.ticket)
            );
            match (done, progress.stopped_in()) {
                (true, _) => format!("Pipeline done {tail}"),
                (false, Some(phase)) => {
                    format!("Pipeline aborted in phase {} {tail}", plain(&phase.name))
                }
                (false, None) => format!("Pipeline aborted {tail}"),
            }
        }
        PipelineEvent::RoundStarted { .. }
        | PipelineEvent::ChildStarted { .. }
        | PipelineEvent::ChildTools { .. }
        | PipelineEvent::ChildUsage { .. }
        | PipelineEvent::ChildEnded { .. }
        | PipelineEvent::TestsRun { .. }
        | PipelineEvent::Checkpoint { .. }
        | PipelineEvent::Warning { .. } => return None,
    })
}

/// A name or an id, whatever it is: letters, digits, `-`, `_`, and not many of them.
fn plain(word: &str) -> String {
    let word: String = word
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    head(&word, 40).to_owned()
}
