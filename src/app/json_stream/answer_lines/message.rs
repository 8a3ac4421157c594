//! The message that a model is writing: its blocks as they grow, and its end.

use serde_json::Map;

use super::{AnswerLines, TurnState};
use crate::app::json_stream::content_blocks::ContentBlock;
use crate::app::json_stream::line_forms::{
    BlockDelta, MessageFields, MessageLine, StopFields, StreamEvent,
};
use crate::app::json_stream::line_writer::{MAX_TEXT, head_in_json, length_in_json};
use crate::base::ids;
use crate::chat::event::{Event, StopReason};
use crate::chat::message::ToolCall;
use crate::chat::usage::Tokens;

/// A message that the model is writing.
pub(super) struct OpenMessage {
    id: String,
    /// The index of the next block.
    next: usize,
    block: Option<OpenBlock>,
    /// It is no answer of the model: its request failed for this reason.
    error: Option<&'static str>,
    pub(super) usage: Tokens,
    /// The model has come to its end, and calls may follow.
    stop: Option<StopReason>,
}

struct OpenBlock {
    is_thinking: bool,
    text: String,
    /// Of a thought.
    signature: String,
    /// Bytes of the text as JSON.
    length: usize,
}

/// Whether an event is a part of a message, or of what a sub-agent says beside it.
pub(in crate::app::json_stream) fn is_part(event: &Event) -> bool {
    matches!(
        event,
        Event::Delta(_)
            | Event::Thinking(_)
            | Event::ThoughtSigned(_)
            | Event::Turn(_)
            | Event::ReplyEnded(_)
            | Event::ToolsStarted(_)
            | Event::ChildLine { .. }
    )
}

/// Whether an event belongs to the message that is open: after its end only its calls do.
pub(super) fn goes_on(event: &Event, message: Option<&OpenMessage>) -> bool {
    match event {
        Event::Delta(_) | Event::Thinking(_) | Event::ThoughtSigned(_) => {
            message.is_none_or(|message| message.stop.is_none())
        }
        Event::Notice(..) => true,
        event => is_part(event),
    }
}

impl AnswerLines {
    /// A piece of text or of a thought.
    pub(super) fn piece(&self, state: &mut TurnState, is_thinking: bool, piece: &str) {
        if piece.is_empty() {
            return;
        }
        if !is_thinking {
            state.tally.text.push_str(piece);
        }
        self.open_message(state);
        let mut rest = piece;
        while !rest.is_empty() {
            let Some(message) = &mut state.message else {
                return;
            };
            // A block fits into a line; the next one has the rest.
            let block = message.block.as_mut();
            let now = block.map_or("", |block| match block.is_thinking == is_thinking {
                true => head_in_json(rest, MAX_TEXT.saturating_sub(block.length)),
                false => "",
            });
            if now.is_empty() {
                self.close_block(state);
                self.open_block(state, is_thinking);
                continue;
            }
            let index = message.next;
            if let Some(block) = &mut message.block {
                block.text.push_str(now);
                block.length += length_in_json(now);
            }
            self.stream_event(StreamEvent::ContentBlockDelta {
                index,
                delta: match is_thinking {
                    true => BlockDelta::Thinking { thinking: now },
                    false => BlockDelta::Text { text: now },
                },
            });
            rest = rest.get(now.len()..).unwrap_or_default();
        }
    }

    /// A piece of the signature of a thought, which may have no text. One that a line has no room for would be of no use in part.
    pub(super) fn signed(&self, state: &mut TurnState, signature: &str) {
        self.open_message(state);
        let block = state
            .message
            .as_ref()
            .and_then(|message| message.block.as_ref());
        if !block.is_some_and(|block| block.is_thinking) {
            self.close_block(state);
            self.open_block(state, true);
        }
        let Some(message) = &mut state.message else {
            return;
        };
        let index = message.next;
        let Some(block) = &mut message.block else {
            return;
        };
        let length = block.length + length_in_json(signature);
        if signature.is_empty() || length > MAX_TEXT {
            return;
        }
        block.signature.push_str(signature);
        block.length = length;
        self.stream_event(StreamEvent::ContentBlockDelta {
            index,
            delta: BlockDelta::Signature { signature },
        });
    }

    pub(super) fn open_message(&self, state: &mut TurnState) {
        if state.message.is_some() {
            return;
        }
        let message = OpenMessage {
            id: format!("msg_{}", ids::hex(12)),
            next: 0,
            block: None,
            error: None,
            usage: std::mem::take(&mut state.usage),
            stop: None,
        };
        self.stream_event(StreamEvent::MessageStart {
            message: MessageFields::new(&message.id, &state.model, [], Tokens::default()),
        });
        state.message = Some(message);
    }

    fn open_block(&self, state: &mut TurnState, is_thinking: bool) {
        let Some(message) = &mut state.message else {
            return;
        };
        message.block = Some(OpenBlock {
            is_thinking,
            text: String::new(),
            signature: String::new(),
            length: 0,
        });
        let content_block = match is_thinking {
            true => ContentBlock::Thinking {
                thinking: String::new(),
                signature: String::new(),
            },
            false => ContentBlock::Text {
                text: String::new(),
            },
        };
        self.stream_event(StreamEvent::ContentBlockStart {
            index: message.next,
            content_block: &content_block,
        });
    }

    /// The open block, if there is one, is whole.
    pub(super) fn close_block(&self, state: &mut TurnState) {
        let Some(message) = &mut state.message else {
            return;
        };
        let Some(block) = message.block.take() else {
            return;
        };
        self.stream_event(StreamEvent::ContentBlockStop {
            index: message.next,
        });
        message.next += 1;
        let block = match block.is_thinking {
            true => ContentBlock::Thinking {
                thinking: block.text,
                signature: block.signature,
            },
            false => ContentBlock::Text { text: block.text },
        };
        self.assistant(state, &block);
    }

    pub(super) fn call(&self, state: &mut TurnState, call: &ToolCall) {
        let Some(message) = &mut state.message else {
            return;
        };
        let index = message.next;
        message.next += 1;
        let block = ContentBlock::of_call(call);
        if let ContentBlock::ToolUse { id, name, input } = &block {
            let begun = ContentBlock::ToolUse {
                id: id.clone(),
                name: name.clone(),
                input: Map::new(),
            };
            self.stream_event(StreamEvent::ContentBlockStart {
                index,
                content_block: &begun,
            });
            let partial_json = serde_json::to_string(input).unwrap_or_default();
            // It is a text in the line, which takes more bytes than the arguments.
            let mut rest = partial_json.as_str();
            while !rest.is_empty() {
                let piece = head_in_json(rest, MAX_TEXT);
                self.stream_event(StreamEvent::ContentBlockDelta {
                    index,
                    delta: BlockDelta::InputJson {
                        partial_json: piece,
                    },
                });
                rest = rest.get(piece.len()..).unwrap_or_default();
            }
            self.stream_event(StreamEvent::ContentBlockStop { index });
        }
        self.assistant(state, &block);
    }

    fn assistant(&self, state: &TurnState, block: &ContentBlock) {
        let Some(message) = &state.message else {
            return;
        };
        self.line(&MessageLine {
            kind: "assistant",
            message: MessageFields::new(&message.id, &state.model, [block], message.usage),
            parent_tool_use_id: (),
            error: message.error,
        });
    }

    /// A request has failed: a message of its own says it in words, with the kind of failure.
    pub(in crate::app::json_stream) fn request_failed(&self, error: &'static str, words: &str) {
        let mut state = self.lock();
        let state = &mut *state;
        if !state.is_open {
            return;
        }
        self.close_message(state);
        self.open_message(state);
        if let Some(message) = &mut state.message {
            message.error = Some(error);
        }
        // What the result tells is what the model said.
        let said = std::mem::take(&mut state.tally.text);
        self.piece(state, false, words);
        self.close_message(state);
        state.tally.text = said;
    }

    pub(super) fn close_message(&self, state: &mut TurnState) {
        self.close_block(state);
        let Some(message) = state.message.take() else {
            return;
        };
        self.stream_event(StreamEvent::MessageDelta {
            delta: StopFields {
                stop_reason: message.stop,
                stop_sequence: (),
            },
            usage: message.usage.into(),
        });
        self.stream_event(StreamEvent::MessageStop);
    }

    /// A reply that may call tools stays open until they are known: one that was cut can have whole calls too.
    pub(super) fn end_reply(&self, state: &mut TurnState, stop: StopReason) {
        self.end_message(state, stop);
        self.close_block(state);
        if stop == StopReason::EndTurn {
            self.close_message(state);
        }
    }

    pub(super) fn end_message(&self, state: &mut TurnState, stop: StopReason) {
        state.tally.stop = Some(stop);
        if let Some(message) = &mut state.message {
            message.stop = Some(stop);
        }
    }
}
