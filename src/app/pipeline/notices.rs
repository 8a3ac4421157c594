//! Push messages about a run. Anyone who knows the name of the topic can read them, so they hold the names of phases, counts, times, dollars and the id of
//! the ticket, and nothing of the task or the project.

use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::progress::{RunProgress, Usage};
use super::summary::time;
use crate::app::run_notice;
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::text::head;
use crate::chat::pipeline_event::PipelineEvent;
use crate::chat::usage::dollars;
use crate::pipeline::approval::name_of;

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
    /// The phase of whose wait for an approval was told, until work goes on: one that is asked about again is no other wait.
    told_wait: Mutex<Option<String>>,
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
            told_wait: Mutex::default(),
        }
    }

    /// Sends what an event is worth a message, if it is.
    pub(super) fn take(&self, event: &PipelineEvent, progress: &RunProgress) {
        if self.was_told(event) {
            return;
        }
        if let (Some(queue), Some(words)) = (&self.queue, message(event, progress)) {
            let _ = queue.try_send(words);
        }
    }

    /// Whether the event is of a wait of which the user was told.
    fn was_told(&self, event: &PipelineEvent) -> bool {
        let mut told = self
            .told_wait
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match event {
            PipelineEvent::ApprovalAwaited { phase, .. }
            | PipelineEvent::RunPaused {
                phase, waits: true, ..
            } => told.replace(phase.clone()).as_ref() == Some(phase),
            PipelineEvent::PhaseStarted { .. } | PipelineEvent::ChildStarted { .. } => {
                *told = None;
                false
            }
            _ => false,
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
        PipelineEvent::PhaseDone { phase, took } => {
            format!("Phase {} done in {}.", plain(phase), time(*took))
        }
        PipelineEvent::RoundStarted {
            phase,
            subject,
            round,
            most,
        } if let Some(what) = reviewed(phase, subject) => {
            format!(
                "Phase {}: review of {what}, round {round} of {most}.",
                plain(phase)
            )
        }
        PipelineEvent::ApprovalAwaited { phase, .. } => {
            format!(
                "{} To go on, in its folder: {}",
                awaited(phase),
                approve(phase)
            )
        }
        PipelineEvent::RunPaused {
            phase, waits: true, ..
        } => format!(
            "{} The run has ended until then; its command again approves it and goes on. To approve it alone, in its folder: {}",
            awaited(phase),
            approve(phase)
        ),
        PipelineEvent::RunPaused { phase, .. } => {
            format!("Pipeline paused after phase {}.", plain(phase))
        }
        PipelineEvent::RunEnded { done, .. } => {
            let Usage {
                cost, estimated, ..
            } = progress.all_usage();
            let tail = format!(
                "after {}, {}. Ticket {}.",
                time(progress.elapsed(progress.times.latest)),
                dollars(cost, estimated),
                plain(&progress.ticket)
            );
            match (done, progress.stopped_in()) {
                (true, _) => format!("Pipeline done {tail}"),
                (false, Some(phase)) => {
                    format!("Pipeline aborted in phase {} {tail}", plain(&phase.name))
                }
                (false, None) if matches!(progress.product.tests, Some((false, _))) => {
                    format!("Pipeline not done, its tests do not pass, {tail}")
                }
                (false, None) => format!("Pipeline aborted {tail}"),
            }
        }
        PipelineEvent::RoundStarted { .. }
        | PipelineEvent::Steered { .. }
        | PipelineEvent::ChildStarted { .. }
        | PipelineEvent::ChildTools { .. }
        | PipelineEvent::ChildUsage { .. }
        | PipelineEvent::ChildEnded { .. }
        | PipelineEvent::ProviderWait { .. }
        | PipelineEvent::TestsRun { .. }
        | PipelineEvent::Checkpoint { .. }
        | PipelineEvent::InWorktree { .. }
        | PipelineEvent::Warning { .. } => return None,
    })
}

fn awaited(phase: &str) -> String {
    format!("Phase {} waits for your approval.", plain(phase))
}

/// The command without the folder, which is the project's own affair.
fn approve(phase: &str) -> String {
    format!("marvin pipeline approve {}", plain(name_of(phase)))
}

/// What a round of reviews is about, if it is one; only in words that are the same in every project.
fn reviewed(phase: &str, subject: &str) -> Option<&'static str> {
    match subject {
        "spec.md" => Some("the specification"),
        "ux.md" => Some("the user experience"),
        "design.md" => Some("the architecture"),
        "code" => Some("the code"),
        "tests" if phase.starts_with('2') => Some("the tests"),
        _ if phase.ends_with("_review") => Some("a document"),
        _ => None,
    }
}

/// A name or an id, whatever it is: letters, digits, `-`, `_`, and not many of them.
fn plain(word: &str) -> String {
    let word: String = word
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        .collect();
    head(&word, 40).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::pipeline_event::PhaseOutline;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;

    fn events() -> Vec<PipelineEvent> {
        let phase = |name: &str| PhaseOutline {
            name: name.to_owned(),
            about: "private".to_owned(),
            done: false,
            omitted: false,
        };
        let phases = vec![phase("1a"), phase("1a_review"), phase("4c")];
        let round = |phase: &str, subject: &str| PipelineEvent::RoundStarted {
            phase: phase.to_owned(),
            subject: subject.to_owned(),
            round: 2,
            most: 4,
        };
        let started = |resumed| PipelineEvent::RunStarted {
            task: "private".to_owned(),
            ticket: "todo-4f2a\nprivate?".to_owned(),
            tiers: Vec::new(),
            phases: phases.clone(),
            resumed,
        };
        let phase = || "1a_review".to_owned();
        vec![
            started(false),
            PipelineEvent::PhaseStarted { phase: phase() },
            round("1a_review", "private.md"),
            round("1b_review", "design.md"),
            round("3", "code"),
            round("4a", "private"),
            PipelineEvent::Warning {
                words: "private".to_owned(),
            },
            PipelineEvent::PhaseDone {
                phase: phase(),
                took: Duration::from_secs(61),
            },
            PipelineEvent::PhaseSkipped {
                phase: "4c".to_owned(),
                reason: "private".to_owned(),
            },
            started(true),
            PipelineEvent::PhaseStarted { phase: phase() },
            PipelineEvent::RunEnded {
                done: false,
                words: "private".to_owned(),
            },
        ]
    }

    fn messages() -> Vec<String> {
        let mut progress = RunProgress::default();
        let take = |event: PipelineEvent| {
            progress.apply(&event, Duration::ZERO);
            message(&event, &progress)
        };
        events().into_iter().filter_map(take).collect()
    }

    #[test]
    fn messages_tell_what_happens_and_nothing_of_the_project() {
        assert_eq!(
            messages(),
            [
                "Pipeline started, ticket todo-4f2aprivate: 3 phases.",
                "Phase 1a_review started.",
                "Phase 1a_review: review of a document, round 2 of 4.",
                "Phase 1b_review: review of the architecture, round 2 of 4.",
                "Phase 3: review of the code, round 2 of 4.",
                "Phase 1a_review done in 1 min 1 s.",
                "Phase 4c skipped.",
                "Pipeline resumed, ticket todo-4f2aprivate: 0 of 3 phases are done.",
                "Phase 1a_review started.",
                "Pipeline aborted in phase 1a_review after 0 s, $0.0000. Ticket todo-4f2aprivate.",
            ]
        );
    }

    #[test]
    fn a_wait_for_approval_is_told_once_with_what_goes_on() {
        let notices = PushNotices::new(Env::default(), "topic".to_owned(), Cancel::new());
        let phase = || "1b_review".to_owned();
        let words = || "private".to_owned();
        let asked = || PipelineEvent::ApprovalAwaited {
            phase: phase(),
            words: words(),
        };
        let paused = |waits| PipelineEvent::RunPaused {
            phase: phase(),
            words: words(),
            waits,
        };
        let child = PipelineEvent::ChildStarted {
            id: words(),
            label: words(),
            model: words(),
            attempt: 1,
        };
        let again = PipelineEvent::PhaseStarted { phase: phase() };
        // Asked, asked again after an edit, and left; a correction; then without a terminal; then where it was to stop.
        let events = [
            asked(),
            asked(),
            paused(true),
            child,
            asked(),
            again,
            paused(true),
            paused(false),
        ];
        let told: Vec<String> = events
            .iter()
            .filter(|event| !notices.was_told(event))
            .filter_map(|event| message(event, &RunProgress::default()))
            .collect();
        let approve = "marvin pipeline approve design";
        let waits =
            format!("Phase 1b_review waits for your approval. To go on, in its folder: {approve}");
        assert_eq!(
            told,
            [
                &waits,
                &waits,
                "Phase 1b_review started.",
                &format!(
                    "Phase 1b_review waits for your approval. The run has ended until then; its command again approves it and goes on. To approve it alone, in its folder: {approve}"
                ),
                "Pipeline paused after phase 1b_review.",
            ]
        );
    }

    #[test]
    fn messages_arrive_in_order_and_the_run_does_not_wait_for_them() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let env = Env::from([(
            "MARVIN_URL_NTFY",
            format!("http://{}", server.local_addr().unwrap()).as_str(),
        )]);
        let notices = PushNotices::new(env, "topic".to_owned(), Cancel::new());
        let mut progress = RunProgress::default();
        for event in events() {
            progress.apply(&event, Duration::ZERO);
            // Nobody has accepted a connection yet.
            notices.take(&event, &progress);
        }
        let count = messages().len();
        let receive = thread::spawn(move || {
            let bodies = (0..count).map(|_| {
                let (mut peer, _) = server.accept().unwrap();
                let mut reader = BufReader::new(peer.try_clone().unwrap());
                let mut length = 0;
                loop {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    let line = line.trim().to_lowercase();
                    if let Some(number) = line.strip_prefix("content-length:") {
                        length = number.trim().parse().unwrap();
                    }
                    if line.is_empty() {
                        break;
                    }
                }
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                peer.write_all(answer).unwrap();
                String::from_utf8(body).unwrap()
            });
            bodies.collect::<Vec<String>>()
        });
        drop(notices);
        assert_eq!(receive.join().unwrap(), messages());
    }

    #[test]
    fn after_a_stop_a_silent_server_holds_nobody_up() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let env = Env::from([(
            "MARVIN_URL_NTFY",
            format!("http://{}", server.local_addr().unwrap()).as_str(),
        )]);
        let stop = Cancel::new();
        let notices = PushNotices::new(env, "topic".to_owned(), stop.clone());
        let started = events().remove(0);
        notices.take(&started, &RunProgress::default());
        stop.fire();
        let before = Instant::now();
        drop(notices);
        assert!(before.elapsed() < SEND_TIMEOUT, "{:?}", before.elapsed());
    }
}
