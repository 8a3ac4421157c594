//! Between the queue and the turn: what a message attaches is read before it is sent, so that a message that names a missing file, or an image that the
//! model does not take, goes back to the input instead.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::attach::{self, Attachments};
use super::inbox::WorkerEvent;
use super::{Queued, Session};
use crate::app::session::ui_update::{CopiedText, UiUpdate};
use crate::base::cancel::{Cancel, OnFire};
use crate::base::problem::{Outcome, Problem};
use crate::chat::event::NullSink;
use crate::model_call::model_target::ModelTarget;
use crate::proc::clipboard::{self, ClipboardContent, Copier};
use crate::tools::engine::context::ToolContext;

/// A message whose attachments are being read.
pub(super) struct Preparation {
    id: u64,
    pub(super) queued: Queued,
    target: Arc<ModelTarget>,
    stop: Cancel,
    _with_session: OnFire,
}

impl Session {
    /// Sends `queued`: at once, or as soon as what it attaches was read.
    pub(super) fn prepare(&mut self, queued: Queued, target: Arc<ModelTarget>) {
        let is_heard = queued.spoken.is_some();
        if is_heard || !self.attaching.may_attach(&queued.text) {
            // Nobody means a file by a misheard word.
            return self.begin(queued, target, None);
        }
        let (more, on_failure) = self.attaching.begin(&queued.text);
        let takes_images = self.flow_engine(&target).is_none();
        let id = self.number();
        let (stop, with_session) = self.stop_all.child();
        let ctx = ToolContext::new(Arc::clone(&self.context), stop.clone(), Arc::new(NullSink));
        let (text, model, inbox) = (
            queued.text.clone(),
            Arc::clone(&target),
            Arc::clone(&self.inbox),
        );
        let read = move || {
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
        self.preparation = Some(Preparation {
            id,
            queued,
            target,
            stop,
            _with_session: with_session,
        });
        let started = self.work("attach", move || {
            let outcome = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
                Err(Problem::internal(
                    "Marvin crashed while reading a file. This is a bug in Marvin.",
                ))
            });
            inbox.send(WorkerEvent::Prepared(id, outcome));
        });
        if !started {
            self.return_waiting();
        }
    }

    /// What a message attaches was read, or cannot be.
    pub(super) fn prepared(&mut self, id: u64, outcome: Outcome<Attachments>) {
        if self.exiting {
            return;
        }
        let Some(prepared) = self.preparation.take_if(|one| one.id == id) else {
            return;
        };
        match outcome {
            Ok(attached) => {
                self.attaching.attached();
                self.begin(prepared.queued, prepared.target, Some(attached));
            }
            Err(problem) => {
                let text = prepared.queued.text;
                self.failed = true;
                self.attaching.refuse(text.clone());
                self.save_waiting();
                self.updates.push(UiUpdate::Unsent(text));
                self.updates
                    .push(UiUpdate::Failed(problem.next("The message was not sent. Sent again as it is, it goes without the attachment.")));
                self.send_next();
            }
        }
    }

    /// Returns all messages that are not sent yet to the input, that whose attachments are being read among them. False when there are none.
    pub(super) fn return_waiting(&mut self) -> bool {
        let mut waiting: Vec<Queued> = Vec::new();
        if let Some(stopped) = self.preparation.take() {
            stopped.stop.fire();
            waiting.push(stopped.queued);
        }
        waiting.extend(self.queue.drain(..));
        let texts: Vec<String> = waiting
            .iter()
            .map(|queued| queued.typed().into_owned())
            .collect();
        if texts.is_empty() {
            return false;
        }
        self.save_waiting();
        self.updates.push(UiUpdate::Unsent(texts.join("\n\n")));
        true
    }

    /// Takes what is on the clipboard into the input: a name that stands for the image, or text.
    pub(crate) fn paste_clipboard(&mut self) {
        if self.is_pasting() {
            return;
        }
        let (env, inbox) = (self.context.env.clone(), Arc::clone(&self.inbox));
        let (stop, with_session) = self.stop_all.child();
        let reading = stop.clone();
        let started = self.work("clipboard", move || {
            let _with_session = with_session;
            inbox.send(WorkerEvent::Clipboard(clipboard::read(&env, &reading)));
        });
        if started {
            self.attaching.read_clipboard(stop);
        }
    }

    /// True while the clipboard is read.
    pub(crate) fn is_pasting(&self) -> bool {
        self.attaching.is_reading_clipboard()
    }

    /// Copies a text with a program, on a thread; it comes back as [`UiUpdate::Copied`].
    pub(crate) fn copy_with(&mut self, copier: Copier, copied: CopiedText) {
        let (env, inbox) = (self.context.env.clone(), Arc::clone(&self.inbox));
        let (stop, with_session) = self.stop_all.child();
        self.work("copy", move || {
            let _with_session = with_session;
            let is_done = copier.copy(&copied.text, &env, &stop).is_ok();
            inbox.send(WorkerEvent::Copied(CopiedText { is_done, ..copied }));
        });
    }

    /// The clipboard was read.
    pub(super) fn pasted(&mut self, outcome: Outcome<ClipboardContent>) {
        self.updates.extend(self.attaching.pasted(outcome));
    }
}
