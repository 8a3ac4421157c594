//! Summarizes a stored conversation with the model of the session.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::prompts;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{Event, EventSink};
use crate::chat::message::Message;
use crate::llm::fallback::AttemptState;
use crate::llm::provider::{CallOptions, Effort, FinishReason, Offer, Request};
use crate::model_call::ask::ask;
use crate::model_call::model_target::ModelTarget;
use crate::net::service::time_limit::limited;
use crate::tools::engine::context::{Summarizer, ToolContext};

/// Shorter than the timeout of the calling tool, which must still have time to shorten the conversation without a model.
const SUMMARY_TIMEOUT: Duration = Duration::from_secs(45);

struct ModelSummarizer {
    target: Arc<ModelTarget>,
}

/// A summarizer that uses the model of `target`; none when there is no model.
pub(super) fn summarizer(target: &Arc<ModelTarget>) -> Option<Arc<dyn Summarizer>> {
    target.provider.is_model().then(|| {
        let target = Arc::clone(target);
        Arc::new(ModelSummarizer { target }) as Arc<dyn Summarizer>
    })
}

impl Summarizer for ModelSummarizer {
    fn max_chars(&self) -> usize {
        // Two characters per token and half the window leave enough room in any language.
        let window = self.target.prompt_limit();
        usize::try_from(window).unwrap_or(usize::MAX)
    }

    fn summarize(&self, ctx: &ToolContext, text: &str) -> Outcome<String> {
        let target = &*self.target;
        let messages = [Message::user(text)];
        let offer = Offer::none();
        let request = Request {
            model: &target.model,
            system: prompts::SUMMARY.trim_end(),
            messages: &messages,
            offer: &offer,
            may_call: false,
            effort: Effort::Low,
            effort_chosen: false,
            info: &target.info,
            cache_key: "",
            on_connect: None,
            options: CallOptions::default(),
        };
        let reply = limited(&ctx.stop, SUMMARY_TIMEOUT, &target.model, |stop| {
            let ctx = ToolContext {
                stop: stop.clone(),
                listener: Arc::new(SummarySink(Arc::clone(&ctx.listener))),
                ..ctx.clone()
            };
            ask(&ctx, target, &request, AttemptState::default(), None)
                .map_err(|failure| *failure.problem)
        })?;
        let text = reply.text.trim();
        let declined = matches!(
            reply.finish,
            FinishReason::Refused(_) | FinishReason::Filtered(_)
        );
        if text.is_empty() || declined {
            return Err(Problem::network(format!(
                "{} wrote no summary.",
                target.model
            )));
        }
        Ok(text.to_owned())
    }
}

/// Forwards costs and waits of a call; its text is not part of the answer.
struct SummarySink(Arc<dyn EventSink>);

impl EventSink for SummarySink {
    fn emit(&self, event: Event) {
        if matches!(event, Event::Turn(_) | Event::Notice(..)) {
            self.0.emit(event);
        }
    }
}
