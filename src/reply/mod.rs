//! Floor 8: the reply flow, another way a reply comes about: stages around the model that let a small local one pick tools, finish questions of two
//! parts, remember its user and never show raw JSON.
//!
//! [`engine`] is the order of the stages; each stage is a file, a function from what it needs to what it found. None of them can stop a reply: what
//! fails is left out. The plain loop ([`crate::agent::turn`]) and the flow do not know each other; both call models by [`crate::model_call`].

pub(crate) mod aliases;
pub(crate) mod allow_list;
pub(crate) mod applies;
pub(crate) mod call;
pub(crate) mod carry_over;
pub(crate) mod catalogue;
pub(crate) mod clean;
pub(crate) mod context_line;
pub(crate) mod dialogue;
pub(crate) mod engine;
pub(crate) mod enrichment;
pub(crate) mod guard;
pub(crate) mod json_span;
pub(crate) mod load_settings;
pub(crate) mod memory_digest;
pub(crate) mod memory_update;
pub(crate) mod model_size;
pub(crate) mod notes;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod preparation;
mod prompt_dump;
pub(crate) mod prompts;
mod provider_chat;
pub(crate) mod recall_gate;
pub(crate) mod report;
pub(crate) mod router;
pub(crate) mod scratch;
pub(crate) mod setting_rows;
pub(crate) mod settings;
pub(crate) mod speech;
pub(crate) mod split;
pub(crate) mod stage;
pub(crate) mod stage_call;
pub(crate) mod step;
pub(crate) mod system_message;
#[cfg(test)]
mod testing;
pub(crate) mod thinking;
pub(crate) mod tool_vectors;
pub(crate) mod tool_words;
pub(crate) mod trace;
pub(crate) mod turns;
pub(crate) mod warm_profile;
pub(crate) mod written_calls;
