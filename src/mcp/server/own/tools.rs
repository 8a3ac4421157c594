//! Tools as clients see them, and their calls.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, bounded, select};
use serde_json::{Map, Value, json};

use crate::base::ids;
use crate::base::json::put;
use crate::base::text::{capitalize, did_you_mean, one_line};
use crate::chat::event::{Event, EventSink};
use crate::chat::message::{ToolCall, ToolOutput};
use crate::llm::image_data::Base64;
use crate::mcp::server::exchange::Exchange;
use crate::mcp::server::offering::{Answer, invalid_params};
use crate::tools::engine::batch;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::rules::SideEffect;

/// Tools that change or end a conversation, or start agents with its model: here is none.
const OF_CONVERSATIONS: [&str; 7] = [
    "compact_history",
    "exit_app",
    "launch_agent",
    "launch_research_agent",
    "review_codebase",
    "set_working_dir",
    "switch_profile",
];

pub(super) struct Tools {
    session: Arc<SessionContext>,
    /// Those alone that change nothing anywhere.
    only_readers: bool,
    /// Calls that change files run one at a time, whatever a client sends at once: it holds one item while one does.
    turns: (Sender<()>, Receiver<()>),
}

/// Tells the client of a call's progress.
struct Progress(Exchange);

impl EventSink for Progress {
    fn emit(&self, event: Event) {
        match event {
            Event::Progress { words, .. } | Event::Notice(_, words) => self.0.progress(&words),
            Event::Output { lines, .. } => {
                let last = lines.trim_end().lines().next_back();
                self.0.progress(&one_line(last.unwrap_or_default()));
            }
            _ => {}
        }
    }
}

impl Tools {
    pub(super) fn new(session: Arc<SessionContext>, only_readers: bool) -> Self {
        Self {
            session,
            only_readers,
            turns: bounded(1),
        }
    }

    fn offered(&self) -> impl Iterator<Item = ToolRef> {
        let tools = self.session.registry().allowed(&self.session.policy);
        let is_offered = |tool: &ToolRef| {
            !OF_CONVERSATIONS.contains(&tool.name())
                && (!self.only_readers || tool.rules().annotations().read_only)
        };
        tools.into_iter().filter(is_offered)
    }

    /// In the order of the catalogue.
    pub(super) fn listed(&self) -> Vec<Value> {
        self.offered().map(|tool| listed(&tool)).collect()
    }

    pub(super) fn call(
        &self,
        exchange: &Exchange,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Answer {
        let Some(tool) = self.offered().find(|tool| tool.name() == name) else {
            return Err(invalid_params(self.unknown(name)));
        };
        let call = ToolCall {
            id: ids::call(),
            name: name.to_owned(),
            args: Value::Object(arguments).to_string(),
            provider_state: None,
        };
        let listener = Arc::new(Progress(exchange.clone()));
        let context = ToolContext::new(Arc::clone(&self.session), exchange.stop.clone(), listener);
        let _turn = match tool.rules().effect {
            SideEffect::None | SideEffect::Programs | SideEffect::Outside => None,
            _ => self.turn(exchange),
        };
        Ok(result(batch::run_one(&context, &call).output))
    }

    fn unknown(&self, name: &str) -> String {
        let is_ours = |tool: ToolRef| tool.name() == name;
        if self.only_readers && self.session.registry().all().into_iter().any(is_ours) {
            return format!(
                "{name} is not served: it may change something, and this server serves only what changes nothing."
            );
        }
        let tools: Vec<ToolRef> = self.offered().collect();
        match did_you_mean(name, tools.iter().map(ToolRef::name)) {
            Some(near) => format!("Unknown tool. {}", capitalize(&near)),
            None => "Unknown tool.".to_owned(),
        }
    }

    /// Waits until no other call writes. None if the client does not want the call any more, which the call then notices itself.
    fn turn(&self, exchange: &Exchange) -> Option<Turn> {
        let (fired, stopped) = bounded(1);
        let _guard = exchange.stop.on_fire(move || {
            let _ = fired.try_send(());
        });
        select! {
            send(self.turns.0, ()) -> _ => Some(Turn(self.turns.1.clone())),
            recv(stopped) -> _ => None,
        }
    }
}

/// The right to write; dropping it gives it to the next call.
struct Turn(Receiver<()>);

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.0.try_recv();
    }
}

fn listed(tool: &ToolRef) -> Value {
    json!({
        "name": tool.name(),
        "title": capitalize(&tool.name().replace('_', " ")),
        "description": tool.about(),
        "inputSchema": serde_json::from_str(&tool.schema()).unwrap_or_else(|_| json!({"type": "object"})),
        "annotations": tool.rules().annotations(),
    })
}

/// A failure of the tool is a result, so that the model can do something about it. A result that is a JSON object is told as data too.
fn result(output: ToolOutput) -> Value {
    let data: Option<Map<String, Value>> = match !output.failed && output.text.starts_with('{') {
        true => serde_json::from_str(&output.text).ok(),
        false => None,
    };
    let images = output.sent_images().map(|(image, bytes)| {
        json!({"type": "image", "mimeType": image.kind.media_type(), "data": Base64(bytes)})
    });
    let content = std::iter::once(json!({"type": "text", "text": output.text})).chain(images);
    let mut result = json!({
        "content": content.collect::<Value>(),
        "isError": output.failed,
    });
    if let Some(data) = data {
        put(&mut result, "structuredContent", data);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::image::Image;
    use crate::formats::image::ImageKind;

    #[test]
    fn images_of_a_result_stand_behind_its_text() {
        let output = ToolOutput {
            images: vec![Image {
                name: "a".to_owned(),
                kind: ImageKind::Png,
                width: 1,
                height: 1,
                bytes: 2,
                tokens: 0,
                data: Some(b"hi".as_slice().into()),
            }],
            ..ToolOutput::ok("1", "a", "[image a]")
        };
        let image = json!({"type": "image", "mimeType": "image/png", "data": "aGk="});
        assert_eq!(
            result(output)["content"],
            json!([{"type": "text", "text": "[image a]"}, image])
        );
    }

    #[test]
    fn what_is_left_out_are_tools() {
        for name in OF_CONVERSATIONS {
            assert!(crate::tools::all().any(|tool| tool.name == name), "{name}");
        }
    }
}
