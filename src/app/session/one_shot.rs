//! A session of one turn, for a run in which nobody is there: the same core, whose only order is to answer the message. It is carried out here, on the
//! caller's thread. Such a run is not part of the user's conversation: the chat log has nothing of it.

use std::sync::Arc;

use super::attachments::attach::Attachments;
use super::conversation::Conversation;
use super::conversation::saved_session::SavedSession;
use super::core::Core;
use super::model::Model;
use super::orders::{Order, Orders};
use super::queued::{Queued, QueuedKind};
use super::run::Run;
use super::turn_job::Notice;
use super::turns::Turns;
use crate::app::sessions::BegunSession;
use crate::app::settings::Settings;
use crate::app::setup::Spending;
use crate::base::cancel::Cancel;
use crate::chat::event::EventSink;
use crate::chat::image::Image;
use crate::llm::failure::Failure;
use crate::llm::provider::Effort;
use crate::model_call::model_target::ModelTarget;
use crate::store::sessions::record::Spent;
use crate::tools::engine::context::SessionContext;

/// A session of one turn.
pub(crate) struct OneShot {
    run: Run,
    core: Core,
}

impl OneShot {
    /// It ends with `stop`, and is written to the session that was begun, if there is one.
    pub(crate) fn new(
        settings: Arc<Settings>,
        context: Arc<SessionContext>,
        stop: Cancel,
        begun: Option<&BegunSession>,
        (spending, effort): (Spending, Option<Effort>),
    ) -> Self {
        let saved = begun.map(|begun| SavedSession::of(begun, Spent::default()));
        let mut conversation = Conversation::new(saved.unwrap_or_default());
        if let Some(replay) = begun.and_then(|begun| begun.replay.as_ref()) {
            conversation.resume_with(replay.context());
        }
        let model = Model::new(spending, effort);
        Self {
            run: Run::one_shot(settings, context, stop),
            core: Core::new(conversation, Turns::default(), model),
        }
    }

    /// Has `target` answer the message; `listener` gets what happens meanwhile.
    ///
    /// # Errors
    /// There is no whole answer.
    pub(crate) fn answer(
        mut self,
        target: Arc<ModelTarget>,
        (text, images): (String, Vec<Image>),
        listener: Arc<dyn EventSink>,
        notice: &Notice,
    ) -> Result<(), Failure> {
        let mut orders = Orders::default();
        self.core.model.use_target(Arc::clone(&target), &self.run);
        let message = Queued::new(QueuedKind::Message, text);
        let attached = Attachments::of_images(images);
        (self.core).begin_turn(message, target, Some(attached), &self.run, &mut orders);
        while let Some(order) = orders.next() {
            if let Order::Turn(_, job) = order {
                let end = job.answer(listener, notice);
                return end.failure.map_or(Ok(()), Err);
            }
        }
        Ok(())
    }
}
