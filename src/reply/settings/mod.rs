//! The switches of the reply flow.

pub(crate) mod rows;
pub(crate) mod sources;

use std::time::Duration;

/// When the flow answers instead of the plain loop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FlowMode {
    /// For Ollama and for small models elsewhere.
    #[default]
    Auto,
    On,
    Off,
}

/// The class of a model that the user set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum SizeSetting {
    #[default]
    Auto,
    Small,
    Large,
}

/// How tools are picked for a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ToolStrategy {
    All,
    Keyword,
    Embedding,
    /// By keyword and by embedding.
    Both,
    #[default]
    Llm,
}

/// Which memories are searched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum MemorySource {
    #[default]
    All,
    Diary,
    Graph,
}

/// How much the trace says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TraceLevel {
    Off,
    #[default]
    Brief,
    Full,
}

/// The switches of the reply flow: `reply.json`, then the profile's `reply` section, then the environment (`MARVIN_REPLY_<KEY>`).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReplySettings {
    pub flow: FlowMode,
    pub assistant_name: String,
    pub model_size: SizeSetting,
    /// Models of stages; empty for the chat model, and for no embeddings.
    pub router_model: String,
    pub judge_model: String,
    pub planner_model: String,
    pub embed_model: String,
    /// The chat model may think.
    pub thinking_enabled: bool,
    /// Context window of chat, planner, resolver and router, in tokens.
    pub num_ctx: u64,
    /// Passes of the loop.
    pub max_turns: usize,
    pub tool_selection_strategy: ToolStrategy,
    /// Calls of `tool_search` in a reply; 0 hides it.
    pub tool_search_max_calls: usize,
    /// Runs of one tool in a reply.
    pub same_tool_cap: usize,
    /// Tools that a small model is shown when none could be picked.
    pub tool_advertise_max: usize,
    pub planner_enabled: bool,
    /// Planned steps are run without the chat model, where that is safe.
    pub direct_exec: bool,
    /// How long said things are sent, and how long the user is idle before the diary is written.
    pub dialogue_window: Duration,
    pub dialogue_max_messages: usize,
    pub tool_carryover_max_turns: usize,
    pub tool_carryover_per_entry_chars: usize,
    pub memory_enabled: bool,
    pub memory_source: MemorySource,
    pub memory_max_results: usize,
    /// `None`: for small models.
    pub memory_digest_enabled: Option<bool>,
    pub tool_result_digest_enabled: Option<bool>,
    pub chat_limit: Duration,
    /// Of router and extractor.
    pub tools_limit: Duration,
    /// Of planner and resolver.
    pub planner_limit: Duration,
    pub digest_limit: Duration,
    pub embed_limit: Duration,
    pub summariser_limit: Duration,
    /// How often the background thread looks for something to remember.
    pub diary_check: Duration,
    /// How long the end of a session waits until what was said is remembered.
    pub exit_limit: Duration,
    pub location_enabled: bool,
    /// Where the user is; empty when it has to be found out.
    pub location: String,
    /// A local chat model may be replaced by one in the cloud when it fails.
    pub cloud_fallback: bool,
    pub trace: TraceLevel,
    /// Chat requests are written below the profile's memory folder.
    pub prompt_dump: bool,
}

impl Default for ReplySettings {
    fn default() -> Self {
        Self {
            flow: FlowMode::Auto,
            assistant_name: "Marvin".to_owned(),
            model_size: SizeSetting::Auto,
            router_model: String::new(),
            judge_model: String::new(),
            planner_model: String::new(),
            embed_model: String::new(),
            thinking_enabled: false,
            num_ctx: 8_192,
            max_turns: 8,
            tool_selection_strategy: ToolStrategy::Llm,
            tool_search_max_calls: 3,
            same_tool_cap: 4,
            tool_advertise_max: 24,
            planner_enabled: true,
            direct_exec: true,
            dialogue_window: Duration::from_secs(300),
            dialogue_max_messages: 20,
            tool_carryover_max_turns: 2,
            tool_carryover_per_entry_chars: 1_200,
            memory_enabled: true,
            memory_source: MemorySource::All,
            memory_max_results: 3,
            memory_digest_enabled: None,
            tool_result_digest_enabled: None,
            chat_limit: Duration::from_secs(180),
            tools_limit: Duration::from_secs(30),
            planner_limit: Duration::from_secs(6),
            digest_limit: Duration::from_secs(8),
            embed_limit: Duration::from_secs(10),
            summariser_limit: Duration::from_secs(30),
            diary_check: Duration::from_secs(60),
            exit_limit: Duration::from_secs(45),
            location_enabled: true,
            location: String::new(),
            cloud_fallback: false,
            trace: TraceLevel::Brief,
            prompt_dump: false,
        }
    }
}
