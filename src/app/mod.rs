//! Floor 9: the state of one run: settings, profile, usage, and the modes that drive a turn.

pub(crate) mod direct_call;
pub(crate) mod flow_report;
pub(crate) mod headless;
pub(crate) mod help;
pub(crate) mod images;
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
