//! Properties of a tool besides its parameters: side effect, limits, services.

use std::time::Duration;

use crate::net::services::Service;

/// The strongest side effect of a tool. It decides which processes may use the tool, and which calls of a round run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// None; it runs in parallel with other readers.
    None,
    /// Marvin's own working state: the session, timers, tickets, fetched articles.
    Memory,
    /// Notes: memory too, but not restricted by the list of writable files.
    Notes,
    /// The user's data in the profile: preferences, places, bookmarks, subscriptions.
    Records,
    /// Files of the project, each checked against `MARVIN_WRITABLE_FILES`.
    ProjectFiles,
    /// Other files of the user.
    UserFiles,
    /// Whatever the programs it runs change.
    Programs,
    /// Something beyond: a message, an account, a download, the system's scheduler with its alarms and reminders.
    Outside,
}

impl SideEffect {
    /// True without side effects.
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Changes files or runs programs: what the catalogue marks as a write operation.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::ProjectFiles | Self::UserFiles | Self::Programs)
    }

    /// A read-only process may do it: a reviewer takes notes and writes tickets.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::None | Self::Memory | Self::Notes)
    }

    /// A process that may write only the files named to it may do it.
    pub const fn keeps_to_named_files(self) -> bool {
        matches!(self, Self::None | Self::Memory | Self::ProjectFiles)
    }
}

/// Properties of a tool besides its parameters. Built as `READ.coding().seconds(10)`.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Its side effect.
    pub effect: SideEffect,
    /// Works in the working directory, behind its fence.
    pub coding: bool,
    /// May run long; the front end shows progress.
    pub long: bool,
    /// Upper bound of one call.
    pub limit: Duration,
    /// Parameter (seconds) that sets the bound instead.
    pub limit_from: Option<&'static str>,
    /// The program or outside service it needs, for the catalogue.
    pub service: Option<&'static str>,
    /// The outside services it uses.
    pub asks: &'static [&'static Service],
}

/// No side effects.
pub(crate) const READ: Rules = Rules::new(SideEffect::None);
/// Changes what Marvin remembers of the work.
pub(crate) const MEMORY: Rules = Rules::new(SideEffect::Memory);
/// Changes notes.
pub(crate) const NOTES: Rules = Rules::new(SideEffect::Notes);
/// Changes what the user keeps in the profile.
pub(crate) const RECORDS: Rules = Rules::new(SideEffect::Records);
/// Changes files of the project.
pub(crate) const PROJECT_FILES: Rules = Rules::new(SideEffect::ProjectFiles);
/// Changes other files of the user.
pub(crate) const USER_FILES: Rules = Rules::new(SideEffect::UserFiles);
/// Runs programs that change what they like.
pub(crate) const PROGRAMS: Rules = Rules::new(SideEffect::Programs);
/// Changes something beyond this machine's project and profile.
pub(crate) const OUTSIDE: Rules = Rules::new(SideEffect::Outside);

impl Rules {
    const fn new(effect: SideEffect) -> Self {
        Self {
            effect,
            coding: false,
            long: false,
            limit: Duration::from_secs(30),
            limit_from: None,
            service: None,
            asks: &[],
        }
    }

    /// Works in the working directory.
    #[must_use]
    pub const fn coding(mut self) -> Self {
        self.coding = true;
        self
    }

    /// Upper bound of one call.
    #[must_use]
    pub const fn seconds(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Needs this program or service.
    #[must_use]
    pub const fn service(mut self, id: &'static str) -> Self {
        self.service = Some(id);
        self
    }

    /// Asks these services of the table.
    #[must_use]
    pub const fn asks(mut self, services: &'static [&'static Service]) -> Self {
        self.asks = services;
        self
    }

    /// May run long.
    #[must_use]
    pub const fn slow(mut self) -> Self {
        self.long = true;
        self
    }

    /// May run long, as long as its parameter `name` says.
    #[must_use]
    pub const fn long(mut self, name: &'static str) -> Self {
        self.long = true;
        self.limit_from = Some(name);
        self
    }
}
