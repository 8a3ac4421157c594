//! Floor 6: what the model can do. A tool is a table row with its function beside it; one module of tools is one file or folder.
//!
//! The modules are grouped by topic. A new one consists of its file, its `mod` line and its line in [`ALL`]. Callers reach tools through [`engine`]: the
//! registry finds one, the policy judges a call, `batch` runs a round. A tool holds no session and prints nothing: it gets a context, and hands back text,
//! effects and what a screen may paint.

pub(crate) mod engine {
    //! Finding a tool, judging a call, running it: what every tool goes through.

    pub(crate) mod agent_host;
    pub(crate) mod agent_task;
    pub(crate) mod approval;
    mod approve;
    pub(crate) mod arguments;
    pub(crate) mod batch;
    pub(crate) mod call_log;
    pub(crate) mod context;
    pub(crate) mod context_gauge;
    pub(crate) mod editor_files;
    mod everyday_words;
    pub(crate) mod history_scope;
    pub(crate) mod hooks;
    pub(crate) mod module_state;
    pub(crate) mod offering;
    pub(crate) mod owned_tool;
    pub(crate) mod parameter;
    pub(crate) mod permission;
    pub(crate) mod policy;
    pub(crate) mod preview;
    pub(crate) mod project_trust;
    pub(crate) mod read_budget;
    pub(crate) mod registry;
    pub(crate) mod result;
    pub(crate) mod result_cap;
    pub(crate) mod rules;
    pub(crate) mod session_skills;
    pub(crate) mod ticket_gate;
    pub(crate) mod tool;
    pub(crate) mod tool_ranking;
    pub(crate) mod tool_search;
    pub(crate) mod working_dir;
    pub(crate) mod write_allowlist;
}

pub(crate) mod output {
    //! Words that the results of several modules share.

    pub(crate) mod distance;
    pub(crate) mod file_edit;
    pub(crate) mod found;
    pub(crate) mod labeled;
    pub(crate) mod measures;
    pub(crate) mod untrusted;
    pub(crate) mod web_links;
}

pub(crate) mod project {
    //! The project in the working directory: its files, its repository, its commands.

    pub(crate) mod agents;
    pub(crate) mod apply_patch;
    pub(crate) mod coding;
    pub(crate) mod command_watch;
    pub(crate) mod files;
    pub(crate) mod git;
    pub(crate) mod git_index;
    pub(crate) mod github;
    pub(crate) mod packages;
    #[cfg(test)]
    mod patch_cases;
    mod program_folders;
    pub(crate) mod project_text;
    pub(crate) mod reviews;
    pub(crate) mod scratch;
    pub(crate) mod search;
    mod secret_folders;
    pub(crate) mod shell;
}

pub(crate) mod personal {
    //! Personal data: notes, calendar, alarms, tickets, bookmarks, profiles, messages.

    pub(crate) mod alarms;
    pub(crate) mod bookmarks;
    pub(crate) mod calendar;
    pub(crate) mod files_notes;
    pub(crate) mod notes;
    pub(crate) mod ntfy;
    pub(crate) mod profiles;
    pub(crate) mod tickets;
    pub(crate) mod timers;
}

pub(crate) mod reference {
    //! Works of reference: encyclopedia, papers, answers, dictionaries, units, recipes.

    pub(crate) mod academic;
    pub(crate) mod recipes;
    pub(crate) mod stack;
    pub(crate) mod utilities;
    pub(crate) mod wiki;
}

pub(crate) mod geo {
    //! The world outside: where the user is, places, ways, weather.

    pub(crate) mod geocode;
    pub(crate) mod location;
    pub(crate) mod maps;
    pub(crate) mod osm;
    pub(crate) mod places;
    pub(crate) mod point;
    pub(crate) mod travel;
    pub(crate) mod weather;
}

pub(crate) mod media {
    //! Films, games and music.

    pub(crate) mod music;
    pub(crate) mod spotify;
    pub(crate) mod steam;
    pub(crate) mod titles;
}

pub(crate) mod web {
    //! The web: searches, news, pages, downloads.

    pub(crate) mod browsing;
    pub(crate) mod downloads;
}

pub(crate) mod blender;

pub(crate) mod session {
    //! This session: the machine it runs on, its history, its skills, leaving it.

    pub(crate) mod history;
    pub(crate) mod skills;
    pub(crate) mod system;
}

#[cfg(test)]
mod test_mutate;

use crate::base::problem::{Outcome, Problem};
use engine::permission::second_names;
use engine::policy::SUB_AGENT;
use engine::registry::Registry;
pub(crate) use engine::result::{Effect, ToolOk};
pub(crate) use engine::rules::{
    MEMORY, NOTES, OUTSIDE, PROGRAMS, PROJECT_FILES, READ, RECORDS, USER_FILES,
};
use engine::tool::Tool;

/// Every tool, one slice a module. A new module adds its line.
pub(crate) static ALL: &[&[Tool]] = &[
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
    project::reviews::TOOLS,
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
    blender::TOOLS,
    project::agents::TOOLS,
    project::packages::TOOLS,
];

/// Every tool in catalogue order.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    ALL.iter().flat_map(|module| module.iter())
}

/// The built-in tool with this name.
pub fn find_tool(name: &str) -> Option<&'static Tool> {
    all().find(|tool| tool.name == name)
}

impl Default for Registry {
    /// The built-in tools.
    fn default() -> Self {
        Self::new(ALL)
    }
}

/// The modules, in catalogue order: what `--tools` takes.
pub(crate) fn groups() -> Vec<&'static str> {
    let mut groups: Vec<&'static str> = all().map(|tool| tool.module).collect();
    groups.dedup();
    groups
}

/// Parses `--tools GROUP,…`: `all` means no restriction, `none` no tools, `sub-agent` what a sub-agent has.
pub(crate) fn parse_groups(list: &str) -> Outcome<Option<Vec<&'static str>>> {
    let known = groups();
    let (mut chosen, mut is_all) = (Vec::new(), false);
    for word in list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        match word {
            "all" | "default" => is_all = true,
            "none" => {}
            SUB_AGENT => chosen.push(SUB_AGENT),
            _ if second_names::meant(word).is_some() => {
                chosen.extend(second_names::meant(word).into_iter().flatten());
            }
            _ => {
                let mut names = known.iter().copied().chain(all().map(|tool| tool.name));
                match names.find(|name| *name == word) {
                    Some(name) => chosen.push(name),
                    None => {
                        let problem = Problem::input(format!("There is no tool group \"{word}\"."));
                        let groups = format!(
                            "Groups: {}, {SUB_AGENT}, all, none. A tool can be named too; marvin tools lists them.",
                            known.join(", ")
                        );
                        let names = known.iter().copied().chain(all().map(|tool| tool.name));
                        return Err(problem.near(word, names).next(groups));
                    }
                }
            }
        }
    }
    Ok((!is_all).then_some(chosen))
}
