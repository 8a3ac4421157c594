//! The model that answers: its requests are streamed and may have tools.

use crate::chat::message::Message;
use crate::llm::failure::Failure;
use crate::llm::provider::{Offer, Reply};

pub(crate) trait ChatModel: Send + Sync {
    /// Sends a request; pieces of the text go to `on_piece` as they arrive.
    ///
    /// # Errors
    /// The model failed, took too long, or the reply was stopped.
    fn chat(
        &self,
        system: &str,
        messages: &[Message],
        offer: &Offer,
        on_piece: &mut dyn FnMut(&str),
    ) -> Result<Reply, Failure>;

    /// Tokens that a request may have; the largest number when the model looks after that itself.
    fn window(&self) -> u64 {
        u64::MAX
    }

    /// A request of about `used` tokens was refused as too long.
    fn learn_limit(&self, used: u64, failure: &Failure) {
        let _ = (used, failure);
    }

    /// Whether requests may have tools, as far as is known.
    fn takes_tools(&self) -> bool;

    /// Remembers that it refuses tools.
    fn remember_without_tools(&self);

    /// Who answers now, as people know it.
    fn name(&self) -> &str {
        "The other model"
    }

    /// Lets another model answer for the rest of the reply after `failure`, where one may and can; it would repeat what a tool `wrote`.
    fn fall_back(&self, failure: &Failure, wrote: bool) -> bool;
}
