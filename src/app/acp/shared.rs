//! What the sessions of a process share.

use std::sync::{Arc, Mutex};

use super::client::Client;
use super::models::Models;
use super::out::Out;
use crate::app::settings::Settings;
use crate::base::cancel::Cancel;
use crate::chat::ledger::Ledger;
use crate::store::sessions::SessionSummary;
use crate::tools::engine::permission::mode::PermissionMode;

/// What they share.
pub(super) struct Shared {
    pub(super) settings: Arc<Settings>,
    pub(super) out: Arc<Out>,
    pub(super) client: Arc<Client>,
    pub(super) models: Arc<Models>,
    /// The mode that the command line chose.
    pub(super) chosen_mode: PermissionMode,
    /// What all sessions have used.
    pub(super) ledger: Arc<Ledger>,
    /// The sessions of the list whose first page was asked for last.
    pub(super) listed: Mutex<Vec<SessionSummary>>,
    /// Ends everything.
    pub(super) stop: Cancel,
}
