//! How far the plan of a reply is, for whoever shows it: each result is a step, and the answer is the last one.

use crate::base::redact::scrub;
use crate::chat::event::{Event, EventSink};
use crate::chat::reply_event::ReplyEvent;
use crate::reply::preparation::plan::Plan;

pub(super) struct PlanProgress {
    /// None where there are not several.
    steps: Vec<String>,
    /// How many are done, as it was told last.
    told: Option<usize>,
}

impl PlanProgress {
    pub(super) fn new(plan: &Plan) -> Self {
        let steps = plan.without_memory().into_iter();
        let steps: Vec<String> = steps.map(scrub).collect();
        Self {
            steps: if steps.len() < 2 { Vec::new() } else { steps },
            told: None,
        }
    }

    /// The reply has so many results, and goes on.
    pub(super) fn is_at(&mut self, results: usize, listener: &dyn EventSink) {
        // Whatever comes after the last of the other steps belongs to the answer.
        let done = results.min(self.steps.len().saturating_sub(1));
        if self.told != Some(done) {
            self.told = Some(done);
            self.tell(done, true, listener);
        }
    }

    /// The reply has ended, with an answer or without.
    pub(super) fn end(&self, is_answer: bool, listener: &dyn EventSink) {
        if let Some(done) = self.told {
            let done = if is_answer { self.steps.len() } else { done };
            self.tell(done, false, listener);
        }
    }

    fn tell(&self, done: usize, is_running: bool, listener: &dyn EventSink) {
        if !self.steps.is_empty() {
            listener.emit(Event::Reply(ReplyEvent::Plan {
                steps: self.steps.clone(),
                done,
                is_running,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Told(Mutex<Vec<(usize, usize, bool)>>);

    impl EventSink for Told {
        fn emit(&self, event: Event) {
            if let Event::Reply(ReplyEvent::Plan {
                steps,
                done,
                is_running,
            }) = event
            {
                self.0.lock().unwrap().push((steps.len(), done, is_running));
            }
        }
    }

    /// Steps, those that are done, and whether the next is under way: what is told of a plan while results come.
    fn told(plan: &str, results: &[usize], is_answer: bool) -> Vec<(usize, usize, bool)> {
        let (listener, mut progress) = (Told::default(), PlanProgress::new(&Plan::parse(plan)));
        for results in results {
            progress.is_at(*results, &listener);
        }
        progress.end(is_answer, &listener);
        listener.0.into_inner().unwrap()
    }

    #[test]
    fn what_changes_is_told_once_and_the_last_step_is_the_answer() {
        let plan = "searchMemory topic='x'\nread_note path='a'\nread_note path='b'\nReply.";
        let all = [(3, 0, true), (3, 1, true), (3, 2, true), (3, 3, false)];
        assert_eq!(told(plan, &[0, 0, 1, 2, 5], true), all);
        assert_eq!(told(plan, &[0], true), [(3, 0, true), (3, 3, false)]);
        let cut = [(3, 0, true), (3, 2, true), (3, 2, false)];
        assert_eq!(told(plan, &[0, 4], false), cut);
        // It was cancelled before it began.
        assert_eq!(told(plan, &[], false), []);
        for plan in ["Reply.", "searchMemory topic='x'\nReply.", ""] {
            assert_eq!(told(plan, &[0, 1], true), [], "{plan}");
        }
    }
}
