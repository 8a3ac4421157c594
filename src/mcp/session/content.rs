//! What servers give beside the results of tools: the messages of a prompt and the contents of a resource, as text and images.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::mcp::client::results::{block, decoded_len};
use crate::mcp::client::text::{clean, clipped};

/// Bytes of one image.
const MAX_IMAGE: usize = 5 << 20;

/// Text, and images by a name for each.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ServerContent {
    pub text: String,
    pub images: Vec<(String, Vec<u8>)>,
    /// How much it is at the server: what is not text is only named in [`Self::text`].
    pub bytes: u64,
}

impl ServerContent {
    fn say(&mut self, words: &str) {
        if !self.text.is_empty() && !words.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(words);
    }

    /// Takes an image; false when it is none that can be shown.
    fn image(&mut self, name: &str, media_type: &str, base64: &str) -> bool {
        if !media_type.starts_with("image/") || base64.len() / 4 * 3 > MAX_IMAGE {
            return false;
        }
        match STANDARD.decode(base64) {
            Ok(bytes) => {
                self.images.push((clipped(name, 100), bytes));
                true
            }
            Err(_) => false,
        }
    }

    fn block(&mut self, block_value: &Value) {
        let text = |key: &str| {
            block_value
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let is_image =
            text("type") == "image" && self.image("image", text("mimeType"), text("data"));
        if text("type") == "resource"
            && let Some(resource) = block_value.get("resource")
        {
            return self.resource(resource);
        }
        if !is_image {
            self.say(&block(block_value));
        }
    }

    fn resource(&mut self, resource: &Value) {
        let text = |key: &str| resource.get(key).and_then(Value::as_str);
        let uri = text("uri").unwrap_or_default();
        let bytes = match (text("text"), text("blob")) {
            (Some(text), _) => text.len(),
            (None, blob) => blob.map_or(0, decoded_len),
        };
        self.bytes = self.bytes.saturating_add(bytes as u64);
        match (text("text"), text("blob")) {
            (Some(text), _) => self.say(&clean(text)),
            (None, Some(blob)) if self.image(uri, text("mimeType").unwrap_or_default(), blob) => {}
            _ => self.say(&block(
                &serde_json::json!({"type": "resource", "resource": resource}),
            )),
        }
    }

    /// The messages of a prompt's result. What the server has the assistant say is marked as that.
    pub(super) fn of_prompt(result: &Value) -> Self {
        let mut content = Self::default();
        let messages = result.get("messages").and_then(Value::as_array);
        for message in messages.into_iter().flatten() {
            if message.get("role").and_then(Value::as_str) == Some("assistant") {
                content.say("[as the assistant]");
            }
            match message.get("content") {
                Some(Value::Array(blocks)) => blocks.iter().for_each(|block| content.block(block)),
                Some(block) => content.block(block),
                None => {}
            }
        }
        content
    }

    /// The contents of a resource's result.
    pub(super) fn of_resource(result: &Value) -> Self {
        let mut content = Self::default();
        let contents = result.get("contents").and_then(Value::as_array);
        contents
            .into_iter()
            .flatten()
            .for_each(|resource| content.resource(resource));
        content
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn messages_and_contents_become_text_and_images() {
        let prompt = ServerContent::of_prompt(&json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "Review\u{1b} this."}},
            {"role": "assistant", "content": {"type": "text", "text": "Gladly."}},
            {"role": "user", "content": {"type": "image", "mimeType": "image/png", "data": "aGk="}},
            {"role": "user", "content": {"type": "resource", "resource": {"uri": "a", "text": "body"}}},
        ]}));
        assert_eq!(
            prompt.text,
            "Review this.\n[as the assistant]\nGladly.\nbody"
        );
        assert_eq!(prompt.images, [("image".to_owned(), b"hi".to_vec())]);
        let resource = ServerContent::of_resource(&json!({"contents": [
            {"uri": "a", "text": "one"}, {"uri": "b", "blob": "AAAA"}, {"uri": "c", "mimeType": "image/png", "blob": "aGk="},
        ]}));
        assert_eq!(resource.text, "one\n[resource, 3 bytes]");
        assert_eq!(resource.bytes, 3 + 3 + 2);
        assert_eq!(resource.images.len(), 1);
    }
}
