//! Floor 4: what the model can do. A tool is a row of a table, with its function beside it; one module of tools is one file.

pub mod args;
pub mod batch;
pub mod bell;
pub mod bounds;
pub mod calendar;
pub mod call_log;
pub mod context;
pub mod gate;
pub mod patch;
pub mod registry;
pub mod scratch;
pub mod tickets;

mod academic;
mod alarms;
mod bookmarks;
mod coding;
mod distance;
mod downloads;
mod files;
mod files_notes;
mod geocode;
mod git;
mod github;
mod history;
mod location;
mod maps;
mod measures;
mod media;
mod music;
mod notes;
pub mod ntfy;
#[cfg(test)]
mod odd;
mod osm;
mod packages;
mod places;
mod point;
mod profiles;
mod recipes;
mod result_cap;
mod search;
mod sheet;
mod shell;
mod spotify;
mod stack;
mod steam;
mod system;
mod timers;
mod travel;
mod units;
mod untrusted;
mod utilities;
mod weather;
pub mod web;
mod wiki;

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::base::error::Outcome;
use crate::base::params::Field;
use crate::chat::event::CallEnd;
use crate::net::services::Service;
use context::Ctx;

/// Every tool, one slice a module. A new module adds its line.
pub static ALL: &[&[Tool]] = &[
    location::TOOLS,
    places::TOOLS,
    travel::TOOLS,
    weather::TOOLS,
    web::TOOLS,
    media::TOOLS,
    steam::TOOLS,
    music::TOOLS,
    recipes::TOOLS,
    notes::TOOLS,
    files::TOOLS,
    files_notes::TOOLS,
    coding::TOOLS,
    git::TOOLS,
    shell::TOOLS,
    github::TOOLS,
    calendar::TOOLS,
    wiki::TOOLS,
    academic::TOOLS,
    system::TOOLS,
    alarms::TOOLS,
    timers::TOOLS,
    ntfy::TOOLS,
    spotify::TOOLS,
    maps::TOOLS,
    stack::TOOLS,
    tickets::TOOLS,
    bookmarks::TOOLS,
    downloads::TOOLS,
    utilities::TOOLS,
    history::TOOLS,
    profiles::TOOLS,
    packages::TOOLS,
];

/// Every tool in catalogue order.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    ALL.iter().flat_map(|module| module.iter())
}

/// The modules, in catalogue order: what `--tools` takes.
pub fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&'static str> = all().map(|tool| tool.module).collect();
    groups.dedup();
    groups
}

/// One tool.
#[derive(Debug)]
pub struct Tool {
    /// Name that models call.
    pub name: &'static str,
    /// Module of the catalogue; `--tools` takes these.
    pub module: &'static str,
    /// What it does, one sentence.
    pub summary: &'static str,
    /// Side effect, limits, modes.
    pub rules: Rules,
    /// Parameters in published order.
    pub fields: &'static [Field],
    /// Their JSON Schema.
    pub schema: &'static str,
    /// Phrases that call it without a model: words, `{parameter}` slots, and at their end values that they fix, `{path=inbox.md}`
    /// (decisions.md 4).
    pub phrases: &'static [&'static str],
    /// Takes arguments that are one text instead of named parameters.
    pub whole: Option<fn(&Ctx, &str) -> Outcome<Done>>,
    /// Does the work.
    pub run: fn(&Ctx, &Map<String, Value>) -> Outcome<Done>,
}

impl Tool {
    /// What it does, trimmed of the doc comment's space.
    pub fn about(&self) -> &'static str {
        self.summary.trim()
    }
}

/// What a tool changes, at most. Which processes may use it, and which calls of a round run side by side, is read from this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// Nothing; it runs together with other readers.
    None,
    /// What Marvin itself remembers of the work: the session, timers, tickets, fetched articles.
    Memory,
    /// Notes: memory too, but files that nobody listed as writable.
    Notes,
    /// What the user keeps in the profile: preferences, places, bookmarks, subscriptions.
    Records,
    /// Files of the project, each checked against `MARVIN_WRITABLE_FILES`.
    ProjectFiles,
    /// Other files of the user.
    UserFiles,
    /// Whatever the programs change that it runs.
    Programs,
    /// Something beyond: a message, an account, a download, the system's scheduler with its alarms and reminders.
    Outside,
}

impl SideEffect {
    /// Changes nothing.
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

/// What holds for a tool besides its parameters. Built as `READ.coding().seconds(10)`.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// What it changes.
    pub effect: SideEffect,
    /// Works in the working directory, behind its fence.
    pub coding: bool,
    /// May run long; the front end shows progress.
    pub long: bool,
    /// Upper bound of one call.
    pub limit: Duration,
    /// Parameter (seconds) that sets the bound instead.
    pub limit_from: Option<&'static str>,
    /// Program or outside service it stands on, as the catalogue says.
    pub service: Option<&'static str>,
    /// Rows of the services' table that it asks.
    pub asks: &'static [&'static Service],
}

/// Changes nothing.
pub const READ: Rules = Rules::new(SideEffect::None);
/// Changes what Marvin remembers of the work.
pub const MEMORY: Rules = Rules::new(SideEffect::Memory);
/// Changes notes.
pub const NOTES: Rules = Rules::new(SideEffect::Notes);
/// Changes what the user keeps in the profile.
pub const RECORDS: Rules = Rules::new(SideEffect::Records);
/// Changes files of the project.
pub const PROJECT_FILES: Rules = Rules::new(SideEffect::ProjectFiles);
/// Changes other files of the user.
pub const USER_FILES: Rules = Rules::new(SideEffect::UserFiles);
/// Runs programs that change what they like.
pub const PROGRAMS: Rules = Rules::new(SideEffect::Programs);
/// Changes something beyond this machine's project and profile.
pub const OUTSIDE: Rules = Rules::new(SideEffect::Outside);

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

    /// Stands on this program or service.
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

/// What a tool that worked hands back.
#[derive(Debug, Default)]
pub struct Done {
    /// What the model reads.
    pub text: String,
    /// What the session must do now.
    pub effects: Vec<Effect>,
    /// How it ended: a program that it ran may have failed.
    pub end: CallEnd,
}

impl From<String> for Done {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl Done {
    /// Adds an effect.
    #[must_use]
    pub fn and(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// A change of the session that a tool asks for; tools never hold the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The working directory changed; the prompt must be built anew.
    WorkingDir(PathBuf),
    /// Leave after this reply, with these words.
    Exit(String),
    /// The stored conversation was compacted; load it again.
    HistoryCompacted,
    /// This profile is the active one now: load it, build the prompt anew and send the message that caused it again, once.
    SwitchProfile(String),
}

impl Effect {
    /// True for a switch of the profile.
    pub fn switches(&self) -> bool {
        matches!(self, Self::SwitchProfile(_))
    }
}

/// Declares a module's tools: `pub const TOOLS`, and a struct of arguments for each.
///
/// ```text
/// tools! { "system";
///     /// Facts about this machine.
///     system_info(SystemInfo; READ.seconds(5)) {} => facts, says ["system info"];
/// }
/// ```
#[macro_export]
macro_rules! tools {
    ($module:literal; $(
        $(#[doc = $about:literal])* $name:ident ( $args:ident ; $rules:expr ) { $($fields:tt)* }
        => $run:path $(, whole $whole:path)? $(, says [$($phrase:literal),* $(,)?])? ;
    )*) => {
        $( $crate::params! { #[doc = concat!("Arguments of `", stringify!($name), "`.")] pub struct $args { $($fields)* } } )*

        /// The tools of this module.
        pub(super) const TOOLS: &[$crate::tools::Tool] = &[ $( {
            #[allow(unused_mut, unused_assignments)]
            let mut whole: Option<fn(&$crate::tools::context::Ctx, &str) -> $crate::base::error::Outcome<$crate::tools::Done>> = None;
            $( whole = Some($whole); )?
            $crate::tools::Tool {
                name: stringify!($name),
                module: $module,
                summary: concat!($($about),*),
                rules: $rules,
                fields: $args::FIELDS,
                schema: $args::SCHEMA,
                phrases: &[$($($phrase),*)?],
                whole,
                run: |ctx, args| $run(ctx, $args::decode(stringify!($name), args)?).map(Into::into),
            }
        } ),* ];
    };
}
