//! What servers say of their own accord: changes of their lists, and lines that somebody is shown.

use std::sync::{PoisonError, Weak};

use super::SessionServers;
use super::server::SessionServer;
use crate::base::text::{clip, one_line};
use crate::mcp::client::connection::{List, ServerEvent, ServerEvents};

/// Lines that servers may show between two messages.
const MAX_TOLD: usize = 10;
/// Characters of such a line.
const MAX_LINE: usize = 300;
/// Notices that wait for the next message.
const MAX_NOTICES: usize = 20;

/// Hears of changes at one server.
pub(super) struct Events {
    pub servers: Weak<SessionServers>,
    pub server: Weak<SessionServer>,
}

impl ServerEvents for Events {
    fn happened(&self, event: ServerEvent) {
        let (Some(servers), Some(server)) = (self.servers.upgrade(), self.server.upgrade()) else {
            return;
        };
        match event {
            ServerEvent::Changed(List::Tools | List::Prompts) => servers.look_again(&server),
            ServerEvent::Changed(List::Resources | List::Templates) => server.forget_resources(),
            ServerEvent::Notice(words) => servers.note(format!("{}: {words}", server.shown)),
            ServerEvent::Log { level, text } if is_worth_showing(&level) => {
                servers.tell(
                    &server,
                    &format!("{level}: {}", clip(&one_line(&text), MAX_LINE)),
                );
            }
            ServerEvent::Log { .. } => {}
            ServerEvent::SettledBy(at) => server.set_settled_by(at),
            ServerEvent::ResourceUpdated(uri) if server.is_outdated(&uri) => {
                let shown = clip(&one_line(&uri), MAX_LINE);
                servers.tell(
                    &server,
                    &format!("{shown} has changed since it was attached."),
                );
            }
            ServerEvent::ResourceUpdated(_) => {}
        }
    }
}

/// Whether a line of a server's log is of a level that users see (RFC 5424 section 6.2.1).
fn is_worth_showing(level: &str) -> bool {
    matches!(
        level,
        "warning" | "error" | "critical" | "alert" | "emergency"
    )
}

impl SessionServers {
    pub(super) fn note(&self, words: String) {
        let mut work = self.work();
        if work.notices.len() < MAX_NOTICES {
            work.notices.push(words);
        }
    }

    /// Shows what a server says at once where somebody looks, else with the next message.
    fn tell(&self, server: &SessionServer, words: &str) {
        let mut work = self.work();
        work.told += 1;
        let told = work.told;
        drop(work);
        let words = match told {
            ..=MAX_TOLD => format!("{}: {words}", server.shown),
            _ if told == MAX_TOLD + 1 => {
                format!("{}: more is in /mcp {}.", server.shown, server.name)
            }
            _ => return,
        };
        let teller = self.teller.read().unwrap_or_else(PoisonError::into_inner);
        match teller.as_ref() {
            Some(teller) => teller(words),
            None => self.note(words),
        }
    }
}
