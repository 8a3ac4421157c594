//! The chat model at its provider, and the one that takes over when it fails.

use std::sync::OnceLock;

use super::chat_model::ChatModel;
use super::protocol;
use super::stage::{ChatRequest, Stage};
use super::stage_call::StageCaller;
use crate::chat::message::Message;
use crate::llm::catalog::{self, Wire};
use crate::llm::failure::Failure;
use crate::llm::fallback::AttemptState;
use crate::llm::provider::{Delta, Offer, Reply};
use crate::model_call::fallback;
use crate::model_call::limits::limit_after;
use crate::model_call::model_target::ModelTarget;
use crate::reply::settings::ReplySettings;
use crate::tools::engine::context::ToolContext;

pub(crate) struct ProviderChat<'a> {
    ctx: &'a ToolContext,
    caller: &'a StageCaller,
    target: &'a ModelTarget,
    may_fall_back: bool,
    /// The window that Ollama loads the model with.
    num_ctx: u64,
    /// The model that answers for the rest of the reply, after the chosen one failed.
    successor: OnceLock<&'a ModelTarget>,
}

impl<'a> ProviderChat<'a> {
    pub(crate) fn new(
        ctx: &'a ToolContext,
        caller: &'a StageCaller,
        target: &'a ModelTarget,
        settings: &ReplySettings,
    ) -> Self {
        Self {
            ctx,
            caller,
            target,
            // What was said to a local model leaves the machine only where the user allows it.
            may_fall_back: !target.on_this_machine || settings.cloud_fallback,
            num_ctx: Stage::Chat.window(settings),
            successor: OnceLock::new(),
        }
    }

    fn current(&self) -> &'a ModelTarget {
        self.successor.get().copied().unwrap_or(self.target)
    }
}

impl ChatModel for ProviderChat<'_> {
    fn chat(
        &self,
        system: &str,
        messages: &[Message],
        offer: &Offer,
        on_piece: &mut dyn FnMut(&str),
    ) -> Result<Reply, Failure> {
        let request = ChatRequest {
            system,
            messages,
            offer,
            stream: true,
        };
        let mut on_delta = |delta: Delta<'_>| {
            if let Delta::Text(piece) = delta {
                on_piece(piece);
            }
        };
        self.caller.chat(self.current(), &request, &mut on_delta)
    }

    fn window(&self) -> u64 {
        let target = self.current();
        if target.provider.keeps_conversation() {
            return u64::MAX;
        }
        // Ollama loads the model with the window that a request names.
        let row = catalog::row(target.provider.name());
        match row.is_some_and(|row| row.wire == Wire::Ollama) {
            true => target.prompt_limit().min(self.num_ctx),
            false => target.prompt_limit(),
        }
    }

    fn learn_limit(&self, used: u64, failure: &Failure) {
        let limit = limit_after(used, &failure.problem.what);
        self.current().learn_limit(limit);
    }

    fn takes_tools(&self) -> bool {
        !protocol::is_without_tools(self.current())
    }

    fn remember_without_tools(&self) {
        protocol::remember_without_tools(self.current());
    }

    fn name(&self) -> &str {
        fallback::known_name(self.current())
    }

    fn fall_back(&self, failure: &Failure, wrote: bool) -> bool {
        if !self.may_fall_back || self.successor.get().is_some() {
            return false;
        }
        let now = AttemptState {
            wrote,
            ..AttemptState::default()
        };
        let Some(successor) = fallback::successor(self.ctx, self.target, failure, now) else {
            return false;
        };
        fallback::announce(self.ctx, self.target, failure, successor);
        self.successor.set(successor).is_ok()
    }
}
