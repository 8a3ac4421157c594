//! Shortening a stored conversation with the model that answers it.

use std::sync::Arc;
use std::time::Duration;

use super::setup::Answering;
use crate::agent::ask::{Asked, ask};
use crate::agent::prompts;
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::{Event, Listener};
use crate::chat::message::Message;
use crate::llm::fallback::Situation;
use crate::llm::models::{self, Prices};
use crate::llm::provider::{Effort, Offer, Request};
use crate::net::service::time_limit::limited;
use crate::tools::engine::context::{Ctx, Summarizer};

/// Less than the time limit of the calling tool, which then still has time to shorten without a model.
const LIMIT: Duration = Duration::from_secs(45);

/// The model of a session, for [`Summarizer`].
struct ModelSummarizer {
    /// Provider and model.
    answering: Arc<Answering>,
    /// The price table, to count its cost.
    prices: Arc<Prices>,
    /// US dollars after which no further call is made.
    max_cost: Option<f64>,
}

/// Sets the model of `answering` as summarizer of conversations in `world`; without a model there is none.
pub(super) fn summarizer(
    answering: &Arc<Answering>,
    prices: &Arc<Prices>,
    max_cost: Option<f64>,
) -> Option<Arc<dyn Summarizer>> {
    answering.provider.is_model().then(|| {
        Arc::new(ModelSummarizer {
            answering: Arc::clone(answering),
            prices: Arc::clone(prices),
            max_cost,
        }) as Arc<dyn Summarizer>
    })
}

impl Summarizer for ModelSummarizer {
    fn max_chars(&self) -> usize {
        // Two characters a token and half of the window leave room in any language.
        let window = models::facts(self.answering.local, &self.answering.model).window;
        usize::try_from(window).unwrap_or(usize::MAX)
    }

    fn summarize(&self, ctx: &Ctx, text: &str) -> Outcome<String> {
        let asked = Asked {
            provider: self.answering.provider.as_ref(),
            model: &self.answering.model,
            local: self.answering.local,
            prices: &self.prices,
            max_cost: self.max_cost,
        };
        let messages = [Message::user(text)];
        let offer = Offer::none();
        let request = Request {
            model: asked.model,
            system: prompts::SUMMARY.trim_end(),
            messages: &messages,
            offer: &offer,
            effort: Effort::Low,
        };
        let reply = limited(&ctx.stop, LIMIT, asked.model, |stop| {
            let ctx = Ctx {
                stop: stop.clone(),
                listener: Arc::new(Aside(Arc::clone(&ctx.listener))),
                ..ctx.clone()
            };
            ask(&ctx, asked, &request, Situation::default()).map_err(|failure| *failure.problem)
        })?;
        let text = reply.text.trim();
        if text.is_empty() {
            return Err(Problem::network(format!(
                "{} wrote no summary.",
                asked.model
            )));
        }
        Ok(text.to_owned())
    }
}

/// Passes on what a call costs and what it waits for: its text is not a part of the answer.
struct Aside(Arc<dyn Listener>);

impl Listener for Aside {
    fn hear(&self, event: Event) {
        if matches!(event, Event::Turn(_) | Event::Notice(..)) {
            self.0.hear(event);
        }
    }
}
