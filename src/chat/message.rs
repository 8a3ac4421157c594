//! Messages, tool calls and tool results, as every provider, front end and saved conversation shares them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::image::{self, Image};

/// One entry of a conversation. The system prompt is not among them: it is rebuilt for each request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// A message of Marvin to the model between turns: a summary after compaction, a notice.
    System { text: String },
    /// What the user or the calling program wrote.
    User(User),
    /// The model's answer.
    Assistant(Assistant),
    /// The result of one tool call.
    Tool(ToolOutput),
}

/// A message of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    pub text: String,
    /// The part of it that they typed, where an editor put more beside that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typed: Option<String>,
    /// Its images, which belong after the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// An answer of the model: text, calls, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assistant {
    /// Visible text; empty when there are only calls.
    pub text: String,
    /// Tool calls in the order in which the model made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Opaque fields to send back to the provider with this message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<ProviderState>,
}

/// A tool call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id, or a generated one if it sent none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// Raw argument text, unparsed.
    pub args: String,
    /// Opaque fields to send back to the provider with this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<ProviderState>,
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// Id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The text for the model.
    pub text: String,
    /// True when the tool failed; never inferred from wording.
    #[serde(default)]
    pub failed: bool,
    /// Images that belong to it, each of which the text names as well: they are of this process alone, and not every model gets them.
    #[serde(skip)]
    pub images: Vec<Image>,
}

/// Opaque fields that must go back, unchanged, to the provider they came from, and to no other: Gemini's thought signatures, OpenRouter's `reasoning_details`,
/// DeepSeek's `reasoning_content`. Without them the next request is refused; other servers may refuse unknown fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderState {
    /// Name of the provider that sent them.
    pub provider: String,
    /// A JSON object as text; its members are merged into the message or call.
    pub json: String,
}

impl User {
    /// What it is called by: what was typed.
    pub(crate) fn title(&self) -> &str {
        self.typed.as_deref().unwrap_or(&self.text)
    }

    /// The text, with a marker for each image whose bytes are not there.
    pub(crate) fn text_and_missing(&self) -> Cow<'_, str> {
        self.marked(|image| image.data.is_none())
    }

    /// The text, with a marker for each image: for places where there is only text.
    pub(crate) fn text_and_markers(&self) -> Cow<'_, str> {
        self.marked(|_| true)
    }

    fn marked(&self, which: impl Fn(&Image) -> bool) -> Cow<'_, str> {
        let mut text = Cow::Borrowed(self.text.as_str());
        for image in self.images.iter().filter(|image| which(image)) {
            let text = text.to_mut();
            text.push('\n');
            text.push_str(&image.marker());
        }
        text
    }

    /// The images that can be sent, with their bytes.
    pub(crate) fn sent_images(&self) -> impl Iterator<Item = (&Image, &[u8])> {
        image::with_bytes(&self.images)
    }
}

impl Assistant {
    /// An answer with calls, without fields of a provider.
    pub(crate) fn new(text: impl Into<String>, calls: Vec<ToolCall>) -> Self {
        Self {
            text: text.into(),
            calls,
            provider_state: None,
        }
    }
}

impl ToolCall {
    /// A call without fields of a provider.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            args: args.into(),
            provider_state: None,
        }
    }
}

impl ToolOutput {
    /// The result of a call that worked.
    pub(crate) fn ok(
        id: impl Into<String>,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            text: text.into(),
            failed: false,
            images: Vec::new(),
        }
    }

    /// The images that can be sent, with their bytes.
    pub(crate) fn sent_images(&self) -> impl Iterator<Item = (&Image, &[u8])> {
        image::with_bytes(&self.images)
    }

    /// The result of a call that failed.
    pub(crate) fn failed(
        id: impl Into<String>,
        name: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            failed: true,
            ..Self::ok(id, name, text)
        }
    }
}

impl Message {
    /// True for what the user or Marvin said, as against calls and results.
    pub(crate) fn is_spoken(&self) -> bool {
        match self {
            Self::User(_) => true,
            Self::Assistant(assistant) => !assistant.text.trim().is_empty(),
            Self::System { .. } | Self::Tool(_) => false,
        }
    }

    /// A message of the user.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(User {
            text: text.into(),
            ..User::default()
        })
    }

    /// An answer that is only text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant(Assistant {
            text: text.into(),
            ..Assistant::default()
        })
    }

    /// Its images: those of the user, and those of a result.
    pub(crate) fn images(&self) -> &[Image] {
        match self {
            Self::User(user) => &user.images,
            Self::Tool(output) => &output.images,
            Self::System { .. } | Self::Assistant(_) => &[],
        }
    }

    /// The same, to change them.
    pub(crate) fn images_mut(&mut self) -> &mut [Image] {
        match self {
            Self::User(user) => &mut user.images,
            Self::Tool(output) => &mut output.images,
            Self::System { .. } | Self::Assistant(_) => &mut [],
        }
    }

    /// Bytes of text that the message adds to the model's context; of an image, as many as take its tokens.
    pub fn len(&self) -> usize {
        match self {
            Self::System { text } => text.len(),
            Self::User(user) => user.text.len() + image::text_bytes(&user.images),
            Self::Assistant(assistant) => {
                let calls: usize = assistant
                    .calls
                    .iter()
                    .map(|call| call.name.len() + call.args.len())
                    .sum();
                assistant.text.len()
                    + calls
                    + assistant
                        .provider_state
                        .as_ref()
                        .map_or(0, |keep| keep.json.len())
            }
            Self::Tool(output) => {
                output.text.len() + output.name.len() + image::text_bytes(&output.images)
            }
        }
    }

    /// True when the message has no text at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
