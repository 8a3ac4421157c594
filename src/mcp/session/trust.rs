//! Which servers of the project a session may use: those to which the user agreed, as long as that holds.

use std::sync::Arc;

use super::SessionServers;
use crate::mcp::config::configured::{ConfiguredServer, Source};
use crate::mcp::config::files::ServerFile;
use crate::store::trusted_projects::TrustKind;
use crate::tools::engine::context::SessionContext;

/// Whether a session may use this server: those of others than the project were never asked about.
pub(super) fn is_agreed(session: &SessionContext, configured: &ConfiguredServer) -> bool {
    configured.source != Source::Project
        || (session.trust).agrees(&session.paths, TrustKind::Server, &configured.hash())
}

impl SessionServers {
    /// Whether the project has servers to which nobody agreed yet.
    pub(super) fn waits_for_trust(&self, session: &SessionContext) -> bool {
        let setup = self.setup.as_ref();
        let folder = setup
            .filter(|setup| !setup.has_only_brought)
            .and_then(|setup| setup.folder.as_deref());
        let servers = folder.and_then(|folder| ServerFile::of_project(folder).read().ok());
        let mut servers = servers.into_iter().flatten();
        servers.any(|server| !server.is_disabled() && !is_agreed(session, &server))
    }

    /// The user has said what of the project may be used: opens its servers, or ends them. Nobody waits for that.
    pub(crate) fn trust_changed(self: &Arc<Self>, session: &Arc<SessionContext>) {
        if self.setup.is_none() {
            return;
        }
        let (servers, session) = (Arc::clone(self), Arc::clone(session));
        self.aside(move || servers.follow_trust(&session));
    }

    fn follow_trust(self: &Arc<Self>, session: &SessionContext) {
        let Some(setup) = &self.setup else {
            return;
        };
        let mut known = None;
        for server in self.known() {
            let is_agreed = is_agreed(session, &server.configured);
            match server.agreed(is_agreed) {
                true if is_agreed && !server.is_opened() => {
                    self.open(server, setup, session, &mut known);
                }
                true if !is_agreed => {
                    if let Some(connection) = server.connection() {
                        connection.close();
                    }
                }
                _ => {}
            }
        }
        self.begin(session);
    }
}
