//! Floor 9: one run of Marvin: what its flags mean, its profile, and the modes that drive a turn.
//!
//! [`settings`] says what was typed and set, [`setup`] makes of it what tools share and the model that answers. Then [`headless`] answers one message,
//! [`json_stream`] those of a calling program, [`acp`] those of an editor, [`session`] holds a conversation, [`pipeline`] runs the pipeline, [`review_job`] a
//! review. Beside them stands what both the command line and a conversation show: [`direct_call`], [`help`], [`memory`], [`sessions`], [`model_report`].
//!
//! [`crate::cli`] and [`crate::ui`] call it. It draws nothing and knows no key and no colour; what it prints, [`stream`] prints, and the lines of a protocol
//! their writers in [`json_stream`] and [`acp`].

pub(crate) mod acp;
pub(crate) mod choice;
pub(crate) mod direct_call;
pub(crate) mod extensions;
pub(crate) mod flow_report;
pub(crate) mod headless;
pub(crate) mod help;
pub(crate) mod images;
pub(crate) mod json_stream;
pub(crate) mod memory;
pub(crate) mod model_lists;
pub(crate) mod model_report;
pub(crate) mod pipeline;
pub(crate) mod profile;
pub(crate) mod review_job;
pub(crate) mod run_notice;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod setup;
pub(crate) mod stream;
mod summarize;
pub(crate) mod theme_choice;
pub(crate) mod variables;
pub(crate) mod watch;
