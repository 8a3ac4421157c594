//! Floor 6: what the model can do. A tool is a row of a table, with its function beside it; one module of tools is one file or folder.
//!
//! The modules stand in groups by what a person would look for. A new one is its file, its `mod` line and its line in [`ALL`].

pub mod engine {
    //! Finding a tool, judging a call, running it: what every tool goes through.

    pub mod arguments;
    pub mod batch;
    pub mod call_log;
    pub mod context;
    pub mod policy;
    pub mod registry;
    pub mod result;
    pub mod result_cap;
    pub mod rules;
    pub mod tool;
    pub mod write_allowlist;
}

pub mod output {
    //! Words that the results of several modules share.

    pub mod distance;
    pub mod labeled;
    pub mod measures;
    pub mod untrusted;
    pub mod web_links;
}

pub mod project {
    //! The project in the working directory: its files, its repository, its commands.

    pub mod apply_patch;
    pub mod coding;
    pub mod files;
    pub mod git;
    pub mod github;
    pub mod packages;
    #[cfg(test)]
    mod patch_cases;
    pub mod scratch;
    pub mod shell;
}

pub mod personal {
    //! What Marvin keeps for the user: notes, calendar, alarms, tickets, bookmarks, profiles, messages.

    pub mod alarms;
    pub mod bookmarks;
    pub mod calendar;
    pub mod files_notes;
    pub mod notes;
    pub mod ntfy;
    pub mod profiles;
    pub mod tickets;
    pub mod timers;
}

pub mod reference {
    //! Works of reference: encyclopedia, papers, answers, dictionaries, units, recipes.

    pub mod academic;
    pub mod recipes;
    pub mod stack;
    pub mod utilities;
    pub mod wiki;
}

pub mod geo {
    //! The world outside: where the user is, places, ways, weather.

    pub mod geocode;
    pub mod location;
    pub mod maps;
    pub mod osm;
    pub mod places;
    pub mod point;
    pub mod travel;
    pub mod weather;
}

pub mod media {
    //! Films, games and music.

    pub mod music;
    pub mod spotify;
    pub mod steam;
    pub mod titles;
}

pub mod web {
    //! The web: searches, news, pages, downloads.

    pub mod browsing;
    pub mod downloads;
}

pub mod session {
    //! This session: the machine it runs on, its history, leaving it.

    pub mod history;
    pub mod system;
}

#[cfg(test)]
mod test_mutate;

pub use engine::result::{Done, Effect};
pub use engine::rules::{
    MEMORY, NOTES, OUTSIDE, PROGRAMS, PROJECT_FILES, READ, RECORDS, Rules, SideEffect, USER_FILES,
};
pub use engine::tool::Tool;

/// Every tool, one slice a module. A new module adds its line.
pub static ALL: &[&[Tool]] = &[
    geo::location::TOOLS,
    geo::places::TOOLS,
    geo::travel::TOOLS,
    geo::weather::TOOLS,
    web::browsing::TOOLS,
    media::titles::TOOLS,
    media::steam::TOOLS,
    media::music::TOOLS,
    reference::recipes::TOOLS,
    personal::notes::TOOLS,
    project::files::TOOLS,
    personal::files_notes::TOOLS,
    project::coding::TOOLS,
    project::git::TOOLS,
    project::shell::TOOLS,
    project::github::TOOLS,
    personal::calendar::TOOLS,
    reference::wiki::TOOLS,
    reference::academic::TOOLS,
    session::system::TOOLS,
    personal::alarms::TOOLS,
    personal::timers::TOOLS,
    personal::ntfy::TOOLS,
    media::spotify::TOOLS,
    geo::maps::TOOLS,
    reference::stack::TOOLS,
    personal::tickets::TOOLS,
    personal::bookmarks::TOOLS,
    web::downloads::TOOLS,
    reference::utilities::TOOLS,
    session::history::TOOLS,
    personal::profiles::TOOLS,
    project::packages::TOOLS,
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
