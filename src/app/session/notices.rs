//! Notices of Marvin itself, and news from ntfy topics: those that come during an answer are shown after it.

use std::sync::Arc;

use super::orders::{CoreRequest, Orders};
use super::run::Run;
use super::worker_event::WorkerEvent;
use crate::alerts::ntfy::answer;
use crate::alerts::ntfy_inbox::NtfyInbox;
use crate::app::sessions::model_notes;
use crate::base::cancel::Cancel;
use crate::store::subscriptions;

#[derive(Default)]
pub(super) struct Notices {
    /// Those that came during an answer.
    held: Vec<String>,
    ntfy_inbox: NtfyInbox,
    /// Number of ntfy topics subscribed to.
    topics: usize,
}

impl Notices {
    pub(super) fn topics(&self) -> usize {
        self.topics
    }

    /// Whether some wait for the end of an answer.
    pub(super) fn has_held(&self) -> bool {
        !self.held.is_empty()
    }

    /// Shows a notice, after the answer that is on its way.
    pub(super) fn add(&mut self, words: String, is_answering: bool, orders: &mut Orders) {
        match is_answering {
            true => self.held.push(words),
            false => orders.system(words),
        }
    }

    /// Shows a message of a topic, and tells the model of it.
    pub(super) fn push_message(
        &mut self,
        conversation: u64,
        words: String,
        is_answering: bool,
        orders: &mut Orders,
    ) {
        let text = model_notes::push_message(&words);
        orders.request(CoreRequest::TellModel { conversation, text });
        self.add(words, is_answering, orders);
    }

    /// The answer has ended: shows what came during it.
    pub(super) fn release(&mut self, orders: &mut Orders) {
        let held = std::mem::take(&mut self.held).into_iter();
        held.for_each(|words| orders.system(words));
    }

    /// Looks for news of the topics that the user subscribed to.
    pub(super) fn poll(&mut self, conversation: u64, run: &Run, orders: &mut Orders) {
        let context = &run.context;
        let Ok(profile) = context.paths.profile(&context.profile()) else {
            return;
        };
        let mut warn = |text: String| orders.system(text);
        let file = profile.ntfy_subscriptions();
        self.topics = subscriptions::read(&file, &context.clock, &mut warn).len();
        let inbox = Arc::clone(&run.inbox);
        let deliver = move |messages: Vec<String>| {
            for text in messages {
                inbox.send(match answer::is_message(&text) {
                    true => WorkerEvent::NtfyMessage(conversation, text),
                    false => WorkerEvent::Notice(text),
                });
            }
        };
        let (env, clock) = (&context.env, &context.clock);
        self.ntfy_inbox
            .poll(env, &profile, clock, &Cancel::new(), deliver);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::session::ui_update::UiUpdate;

    #[test]
    fn what_comes_during_an_answer_is_shown_after_it_in_order() {
        let (mut notices, mut orders) = (Notices::default(), Orders::default());
        notices.add("one".to_owned(), true, &mut orders);
        notices.push_message(4, "two".to_owned(), true, &mut orders);
        assert!(orders.take_updates().is_empty() && notices.has_held());
        let (request, _) = orders.next_request().unwrap();
        assert!(matches!(
            request,
            CoreRequest::TellModel {
                conversation: 4,
                ..
            }
        ));
        notices.release(&mut orders);
        notices.add("three".to_owned(), false, &mut orders);
        let shown = orders.take_updates();
        let shown: Vec<&str> = shown
            .iter()
            .filter_map(|update| match update {
                UiUpdate::System(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(shown, ["one", "two", "three"]);
        assert!(!notices.has_held());
    }
}
