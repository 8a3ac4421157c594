//! Between the queue and the turn: what a message attaches is read before it is sent, so that a message that names a missing file, or an image that the
//! model does not take, goes back to the input instead.

use std::sync::Arc;

use crate::app::session::attachments::attach::{self, Attachments, MoreImages, OnFailure};
use crate::app::session::orders::Orders;
use crate::app::session::queued::Queued;
use crate::app::session::run::Run;
use crate::app::session::worker_event::{AwaitedBy, WorkerEvent};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::NullSink;
use crate::model_call::model_target::ModelTarget;
use crate::tools::engine::context::ToolContext;

/// A message whose attachments are being read.
pub(in crate::app::session) struct Preparation {
    id: u64,
    pub(in crate::app::session) queued: Queued,
    pub(in crate::app::session) target: Arc<ModelTarget>,
    stop: Cancel,
    _with_session: OnFire,
}

impl Preparation {
    /// Reads what `queued` mentions, and `more`.
    pub(super) fn begin(
        queued: Queued,
        target: Arc<ModelTarget>,
        (more, on_failure): (MoreImages, OnFailure),
        takes_images: bool,
        run: &Run,
        orders: &mut Orders,
    ) -> Self {
        let id = run.number();
        let (stop, with_session) = run.child_stop();
        let ctx = ToolContext::new(Arc::clone(&run.context), stop.clone(), Arc::new(NullSink));
        let (text, model) = (queued.text.clone(), Arc::clone(&target));
        let read = move || -> Outcome<Attachments> {
            ctx.session.reading.reset();
            let attached = attach::attach(&text, &more, &model, &ctx, on_failure)?;
            match takes_images || attached.images.is_empty() {
                true => Ok(attached),
                false => Err(
                    Problem::refused("The reply flow takes text only, no images.")
                        .next("!flow off lets the model answer without it."),
                ),
            }
        };
        let report = move |outcome| WorkerEvent::Prepared(id, outcome);
        orders.work("attach", AwaitedBy::Nobody, read, report);
        Self {
            id,
            queued,
            target,
            stop,
            _with_session: with_session,
        }
    }

    pub(super) fn is(&self, id: u64) -> bool {
        self.id == id
    }

    /// Stops reading; the message is as it was.
    pub(super) fn stop(self) -> Queued {
        self.stop.fire();
        self.queued
    }
}
