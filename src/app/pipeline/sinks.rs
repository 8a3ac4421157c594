//! The event sink of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::event_log::{self, EventLog};
use super::notices::PushNotices;
use super::progress::RunProgress;
use super::summary::{self, SummaryFacts};
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::base::redact::logged;
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::review::findings;
use crate::tools::engine::context::SessionContext;

/// Makes the display for a process; the floor that can draw supplies it.
pub(crate) type MakeDisplay = fn(&Settings) -> Box<dyn EventSink>;

/// Passes every event on to the display, to the record in the project and, with a topic, to ntfy; in the order in which they came.
pub(crate) struct PipelineSinks {
    session: Arc<SessionContext>,
    places: RunPlaces,
    began: Instant,
    state: Mutex<SinkState>,
    notices: Option<PushNotices>,
}

struct SinkState {
    progress: RunProgress,
    display: Box<dyn EventSink>,
    /// `None` once it could not be written.
    log: Option<EventLog>,
}

impl PipelineSinks {
    /// The sinks of a run. Nothing happens before the first event, so a run that is refused leaves no trace. `stop` is the run's token: once it has
    /// fired, the end waits less for push messages.
    pub(crate) fn new(
        session: &Arc<SessionContext>,
        places: &RunPlaces,
        display: Box<dyn EventSink>,
        topic: Option<&str>,
        stop: &Cancel,
    ) -> Arc<Self> {
        let notices = topic
            .map(|topic| PushNotices::new(session.env.clone(), topic.to_owned(), stop.clone()));
        Arc::new(Self {
            session: Arc::clone(session),
            places: places.clone(),
            began: Instant::now(),
            state: Mutex::new(SinkState {
                progress: RunProgress::default(),
                display,
                log: Some(EventLog::new(places.clone(), session.clock.clone())),
            }),
            notices,
        })
    }

    /// Whether the run has begun; before that nothing is done for it.
    pub(crate) fn has_begun(&self) -> bool {
        self.lock().progress.times.started.is_some()
    }

    /// The summary for standard output, once the run has ended. Nothing when it did not start: then its error says all.
    pub(crate) fn summary(&self, facts: &SummaryFacts<'_>) -> String {
        let state = self.lock();
        match state.progress.times.started {
            Some(_) => {
                let documents = summary::documents(&self.places);
                let commits = summary::commits(&self.places, &self.session.env);
                let findings = findings::read(&self.places).unwrap_or_default();
                let facts = SummaryFacts {
                    findings: findings::summary(&findings, &state.progress.ticket),
                    branch: facts.branch.clone(),
                    problem: facts.problem,
                    worktree: facts.worktree,
                    pause: facts.pause,
                    next: facts.next.clone(),
                };
                summary::text(&state.progress, &documents, &commits, &facts)
            }
            None => String::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, SinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn masked(&self, text: &mut String) {
        let masked = logged(text, &self.session.secrets.all()).into_owned();
        *text = masked;
    }

    /// Takes secrets out of every text that a model, a program or the user wrote.
    fn mask(&self, event: &mut PipelineEvent) {
        match event {
            PipelineEvent::RunStarted { task: text, .. }
            | PipelineEvent::PhaseSkipped { reason: text, .. }
            | PipelineEvent::RoundStarted { subject: text, .. }
            | PipelineEvent::ChildEnded { words: text, .. }
            | PipelineEvent::TestsRun { words: text, .. }
            | PipelineEvent::Checkpoint { message: text }
            | PipelineEvent::Warning { words: text }
            | PipelineEvent::Steered { words: text }
            | PipelineEvent::InWorktree { words: text, .. }
            | PipelineEvent::ApprovalAwaited { words: text, .. }
            | PipelineEvent::RunPaused { words: text, .. }
            | PipelineEvent::RunEnded { words: text, .. } => self.masked(text),
            PipelineEvent::ChildTools { tools, .. } => {
                tools.iter_mut().for_each(|tool| self.masked(tool));
            }
            PipelineEvent::PhaseStarted { .. }
            | PipelineEvent::PhaseDone { .. }
            | PipelineEvent::ChildStarted { .. }
            | PipelineEvent::ProviderWait { .. }
            | PipelineEvent::ChildUsage { .. } => {}
        }
    }

    fn record(&self, event: PipelineEvent) {
        let mut state = self.lock();
        let now = self.began.elapsed();
        let is_resumed = matches!(&event, PipelineEvent::RunStarted { resumed: true, .. });
        if is_resumed && state.progress.times.started.is_none() {
            // What earlier starts used counts; a log that cannot be read says nothing of them.
            let earlier = event_log::read(&self.places).unwrap_or_default();
            for (at, event) in &earlier.events {
                state.progress.apply(event, *at);
            }
        }
        state.progress.apply(&event, now);
        if let Some(notices) = &self.notices {
            notices.take(&event, &state.progress);
        }
        let problem = state.log.as_ref().and_then(|log| log.append(&event).err());
        state.display.emit(Event::Pipeline(event));
        if let Some(problem) = problem {
            state.log = None;
            let warning = PipelineEvent::Warning {
                words: format!(
                    "What happens is not recorded, so marvin pipeline status does not know this run: {}",
                    problem.one_line()
                ),
            };
            state.progress.apply(&warning, now);
            state.display.emit(Event::Pipeline(warning));
        }
    }
}

impl EventSink for PipelineSinks {
    fn emit(&self, event: Event) {
        match event {
            Event::Pipeline(mut event) => {
                self.mask(&mut event);
                self.record(event);
            }
            other => self.lock().display.emit(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::tools::engine::policy::ToolPolicy;
    use std::sync::mpsc::{Sender, channel};

    struct Shown(Mutex<Sender<Event>>);

    impl EventSink for Shown {
        fn emit(&self, event: Event) {
            let _ = self.0.lock().unwrap().send(event);
        }
    }

    fn warning(words: &str) -> PipelineEvent {
        let words = words.to_owned();
        PipelineEvent::Warning { words }
    }

    #[test]
    fn every_sink_gets_every_event_without_secrets_and_a_failing_record_is_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let places = RunPlaces::at(dir.path());
        let session = Arc::new(SessionContext::new(Env::default(), ToolPolicy::default()));
        let (tell, shown) = channel();
        let display = || Box::new(Shown(Mutex::new(tell.clone())));
        let stop = Cancel::new();
        let sinks = PipelineSinks::new(&session, &places, display(), None, &stop);
        assert!(!dir.path().join(".marvin").exists());
        sinks.emit(Event::Pipeline(warning("api_key=hunter2hunter2")));
        let masked = warning("api_key=[hidden]");
        assert_eq!(shown.recv().unwrap(), Event::Pipeline(masked.clone()));
        assert_eq!(event_log::read(&places).unwrap().events[0].1, masked);
        assert_eq!(sinks.summary(&SummaryFacts::default()), "");
        // A start that goes on tells what those before it cost.
        let usage = |id: &str, tokens| PipelineEvent::ChildUsage {
            id: id.to_owned(),
            tokens,
            cost: 0.5,
            estimated: false,
        };
        let begin = |id: &str, resumed| {
            let sinks = PipelineSinks::new(&session, &places, display(), None, &stop);
            sinks.emit(Event::Pipeline(PipelineEvent::RunStarted {
                task: "x".to_owned(),
                ticket: "x-1".to_owned(),
                tiers: Vec::new(),
                phases: Vec::new(),
                resumed,
            }));
            sinks.emit(Event::Pipeline(PipelineEvent::ChildStarted {
                id: id.to_owned(),
                label: id.to_owned(),
                model: "m".to_owned(),
                attempt: 1,
            }));
            sinks.emit(Event::Pipeline(usage(id, 1_000)));
            sinks.summary(&SummaryFacts::default())
        };
        let cost = "1,000 tokens, $0.50";
        assert!(begin("one", false).contains(cost));
        let again = begin("two", true);
        assert!(
            again.contains(cost) && again.contains("with the runs before it 2,000 tokens, $1.00"),
            "{again}"
        );
        while shown.try_recv().is_ok() {}
        let logs = dir.path().join(".marvin/logs");
        std::fs::remove_dir_all(&logs).unwrap();
        std::fs::write(&logs, "in the way").unwrap();
        let sinks = PipelineSinks::new(&session, &places, display(), None, &stop);
        for words in ["one", "two"] {
            sinks.emit(Event::Pipeline(warning(words)));
        }
        let words: Vec<String> = shown
            .try_iter()
            .map(|event| match event {
                Event::Pipeline(PipelineEvent::Warning { words }) => words,
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!((words.len(), &*words[0], &*words[2]), (3, "one", "two"));
        assert!(words[1].contains("not recorded"), "{}", words[1]);
    }
}
