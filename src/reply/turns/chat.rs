//! The calls of the chat model: what is sent, what is shown of the answer while it arrives, and what happens when the server takes no tools.

use crate::chat::event::{Event, EventSink};
use crate::chat::message::Message;
use crate::chat::reply_event::ReplyEvent;
use crate::formats::model_text::draft::{DraftChange, DraftFilter};
use crate::llm::failure::Failure;
use crate::llm::provider::{Offer, Reply};
use crate::reply::models::chat_model::ChatModel;
use crate::reply::models::protocol::{ToolProtocol, may_refuse_tools, render};
use crate::reply::models::stage::Stage;
use crate::reply::report::ReplyRecorder;
use crate::reply::tools::catalogue::Catalogue;
use crate::reply::tools::tool_set::ToolSet;

/// Builds the system message for the tools of the moment; it begins with the line of time and place.
pub(crate) type SystemMessage<'a> = dyn Fn(&ToolSet, ToolProtocol) -> String + 'a;

pub(crate) struct ChatCalls<'a> {
    pub model: &'a dyn ChatModel,
    pub recorder: &'a ReplyRecorder,
    pub catalogue: &'a Catalogue,
    /// Tools that the provider takes in a request.
    pub max_tools: usize,
    pub listener: &'a dyn EventSink,
    pub system: &'a SystemMessage<'a>,
    pub protocol: ToolProtocol,
    /// Names of tools, and lines of the prompt: a draft shows neither calls nor echoes.
    pub names: Vec<String>,
    pub own_lines: Vec<String>,
    /// A piece of the latest answer was shown.
    pub has_draft: bool,
    /// The latest answer, as far as it arrived.
    pub arrived: String,
}

impl ChatCalls<'_> {
    /// The answer to `rows`. A server that refuses tools is asked again without them, and not offered any later.
    ///
    /// # Errors
    /// The model failed.
    pub(crate) fn ask(&mut self, rows: &[Message], tools: &ToolSet) -> Result<Reply, Failure> {
        let failure = match self.send(rows, tools) {
            Err(failure) if self.protocol == ToolProtocol::Native && may_refuse_tools(&failure) => {
                failure
            }
            other => return other,
        };
        self.drop_draft();
        self.protocol = ToolProtocol::Text;
        match self.send(rows, tools) {
            Ok(reply) => {
                self.model.remember_without_tools();
                Ok(reply)
            }
            // It was not the tools, so they are offered to the next message again.
            Err(again) if again.answer.is_none() => Err(again),
            Err(_) => Err(failure),
        }
    }

    /// Tells the listener that what was shown is no answer.
    pub(crate) fn drop_draft(&mut self) {
        if std::mem::take(&mut self.has_draft) {
            self.listener.emit(Event::Reply(ReplyEvent::DraftDropped));
        }
    }

    /// Bytes of what goes with the rows of a request.
    pub(crate) fn overhead(&self, tools: &ToolSet) -> usize {
        (self.system)(tools, self.protocol).len() + self.offer(tools).bytes()
    }

    fn offer(&self, tools: &ToolSet) -> Offer {
        match self.protocol {
            ToolProtocol::Native => {
                let names = tools.advertised().iter().map(String::as_str);
                self.catalogue.offer(names, self.max_tools)
            }
            ToolProtocol::Text => Offer::none(),
        }
    }

    fn send(&mut self, rows: &[Message], tools: &ToolSet) -> Result<Reply, Failure> {
        let system = (self.system)(tools, self.protocol);
        let messages = render(rows, self.protocol);
        let offer = self.offer(tools);
        let mut filter = DraftFilter::new(self.names.clone(), self.own_lines.clone());
        let listener = self.listener;
        let mut arrived = String::new();
        let mut show = |piece: &str| {
            arrived.push_str(piece);
            for change in filter.feed(piece) {
                listener.emit(Event::Reply(match change {
                    DraftChange::Show(piece) => ReplyEvent::Draft { piece },
                    DraftChange::Drop => ReplyEvent::DraftDropped,
                }));
            }
        };
        let reply = self.recorder.call(Stage::Chat.id(), || {
            self.model.chat(&system, &messages, &offer, &mut show)
        });
        self.has_draft |= filter.has_shown();
        if !arrived.is_empty() {
            self.arrived = arrived;
        }
        reply
    }
}
