//! Properties of a tool besides its parameters: side effect, limits, services.

use std::time::Duration;

use serde::Serialize;

use crate::base::problem::Outcome;
use crate::disk::beneath::RelPath;
use crate::net::services::Service;
use crate::store::notes::NotesDir;

/// The strongest side effect of a tool. It decides which processes may use the tool and which calls of a round run in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideEffect {
    /// None; it runs in parallel with other readers.
    None,
    /// Marvin's own working state: the session, timers, tickets, fetched articles.
    Memory,
    /// Notes: like memory, but not subject to the list of writable files.
    Notes,
    /// The user's data in the profile: preferences, places, bookmarks, subscriptions.
    Records,
    /// Files of the project, each checked against `MARVIN_WRITABLE_FILES`.
    ProjectFiles,
    /// Other files of the user.
    UserFiles,
    /// Whatever the programs that it runs change.
    Programs,
    /// Anything beyond: a message, an account, a download, the system's scheduler with its alarms and reminders.
    Outside,
}

impl SideEffect {
    pub const fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// Changes files or runs programs; the catalogue marks it as a write operation.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::ProjectFiles | Self::UserFiles | Self::Programs)
    }

    /// Allowed in a read-only process: a reviewer takes notes and writes tickets.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::None | Self::Memory | Self::Notes)
    }

    /// Allowed in a process that may write only listed files.
    pub const fn keeps_to_named_files(self) -> bool {
        matches!(self, Self::None | Self::Memory | Self::ProjectFiles)
    }
}

/// Finds the note or the folder of notes that a path means.
pub(crate) type MeantNote = fn(&NotesDir, &str) -> Outcome<RelPath>;

/// Properties of a tool besides its parameters, built as `READ.coding().seconds(10)`.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub struct Rules {
    pub effect: SideEffect,
    /// Works in the working directory, behind its fence.
    pub coding: bool,
    /// Runs in parallel with readers although it has an effect: several of them do not disturb each other.
    pub parallel: bool,
    /// Whoever started the run has brought it along: `--tools`, which chooses among the others, does not take it away.
    pub of_run: bool,
    /// Whether requests carry it before a search has found it.
    pub placement: Placement,
    /// A tool of the run takes arguments that are no object too, and says itself what is wrong with them.
    pub takes_any_arguments: bool,
    /// Calls that come one after the other run side by side where each can write in a place of its own, unless one of these arguments is given.
    pub beside_unless: Option<&'static [&'static str]>,
    /// Sub-agents have it too, unless their caller selected other groups.
    pub in_children: bool,
    /// Can take long; the interface shows progress.
    pub long: bool,
    /// Timeout of a call.
    pub limit: Duration,
    /// The parameter (in seconds) that sets the timeout instead.
    pub limit_from: Option<&'static str>,
    /// Parameters that are offered only where a person can be asked about leaving the sandbox.
    pub attended: &'static [&'static str],
    /// The program or outside service it needs, for the catalogue.
    pub service: Option<&'static str>,
    /// The outside services it uses.
    pub asks: &'static [&'static Service],
    /// Its results are short and made of figures: a summary would only lose some.
    pub compact: bool,
    /// Works on the conversation itself: what the model thinks with.
    pub of_conversation: bool,
    /// Arguments that the result's display shows, so that the one-line summary of the call omits them.
    pub displayed: &'static [&'static str],
    /// It changes files only through `project_text`, so that its change can be shown before it is made.
    pub previewed: bool,
    /// Its path is one of the notes; this says which note is meant.
    pub(crate) note: Option<MeantNote>,
    /// It changes files of the user, the system's scheduler or a repository, and the sandbox does not hold it, unlike others of its effect.
    pub saves_files: bool,
    /// When a planned step may run it, where the effect does not decide.
    planned: Option<PlannedUse>,
    /// Whether it can remove or replace existing data, where the effect does not decide.
    destructive: Option<bool>,
    /// Whether a repeated call changes nothing more, where the effect does not decide.
    idempotent: Option<bool>,
    /// Whether it reaches beyond this machine, where effect and services do not decide.
    open_world: Option<bool>,
}

/// Whether requests carry a tool where others wait for a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// A built-in tool waits, one of a server does where servers have many.
    ByKind,
    Direct,
}

/// When a step of a plan, which a model wrote before it saw any result, may run a tool without a call of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlannedUse {
    Always,
    /// When the step has all arguments: they come from the user, never from what another tool returned.
    AsWritten,
    /// Never: the model has to call it, and the user may be asked first.
    Never,
}

/// Annotations for clients, in the terms of the Model Context Protocol (2025-06-18, `ToolAnnotations`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Annotations {
    /// It changes nothing.
    #[serde(rename = "readOnlyHint")]
    pub read_only: bool,
    /// It can remove or replace existing data rather than only add.
    #[serde(rename = "destructiveHint")]
    pub destructive: bool,
    /// A repeated call changes nothing more.
    #[serde(rename = "idempotentHint")]
    pub idempotent: bool,
    /// It reaches beyond this machine.
    #[serde(rename = "openWorldHint")]
    pub open_world: bool,
}

pub(crate) const READ: Rules = Rules::new(SideEffect::None);
/// Changes Marvin's own working state.
pub(crate) const MEMORY: Rules = Rules::new(SideEffect::Memory);
pub(crate) const NOTES: Rules = Rules::new(SideEffect::Notes);
/// Changes the user's data in the profile.
pub(crate) const RECORDS: Rules = Rules::new(SideEffect::Records);
pub(crate) const PROJECT_FILES: Rules = Rules::new(SideEffect::ProjectFiles);
pub(crate) const USER_FILES: Rules = Rules::new(SideEffect::UserFiles);
/// Runs programs, which can change anything.
pub(crate) const PROGRAMS: Rules = Rules::new(SideEffect::Programs);
/// Changes something beyond this machine's project and profile.
pub(crate) const OUTSIDE: Rules = Rules::new(SideEffect::Outside);

impl Rules {
    const fn new(effect: SideEffect) -> Self {
        Self {
            effect,
            coding: false,
            parallel: false,
            of_run: false,
            placement: Placement::ByKind,
            takes_any_arguments: false,
            beside_unless: None,
            in_children: false,
            long: false,
            limit: Duration::from_secs(30),
            limit_from: None,
            attended: &[],
            service: None,
            asks: &[],
            compact: false,
            of_conversation: false,
            displayed: &[],
            previewed: false,
            note: None,
            saves_files: false,
            planned: None,
            destructive: None,
            idempotent: None,
            open_world: None,
        }
    }

    /// The annotations of the tool. Where the effect leaves it open, the worse case is assumed.
    pub fn annotations(&self) -> Annotations {
        use SideEffect::{
            Memory, None, Notes, Outside, Programs, ProjectFiles, Records, UserFiles,
        };
        let (destructive, open_world) = match self.effect {
            None | Memory | Records => (false, !self.asks.is_empty()),
            Notes | ProjectFiles | UserFiles => (true, !self.asks.is_empty()),
            Programs | Outside => (true, true),
        };
        Annotations {
            read_only: self.effect.is_none(),
            destructive: self.destructive.unwrap_or(destructive),
            idempotent: self.idempotent.unwrap_or(self.effect.is_none()),
            open_world: self.open_world.unwrap_or(open_world),
        }
    }

    /// When a step of a plan may run the tool without a call of the model: what only looks something up always, anything else never, unless its row
    /// says otherwise.
    pub fn planned_use(&self) -> PlannedUse {
        let by_effect = if self.effect.is_none() {
            PlannedUse::Always
        } else {
            PlannedUse::Never
        };
        self.planned.unwrap_or(by_effect)
    }

    /// A planned step may run it although it changes something.
    pub const fn planned_always(mut self) -> Self {
        self.planned = Some(PlannedUse::Always);
        self
    }

    /// A planned step that has all arguments may run it.
    pub const fn planned_as_written(mut self) -> Self {
        self.planned = Some(PlannedUse::AsWritten);
        self
    }

    /// No planned step may run it, although it changes nothing that lasts.
    pub const fn planned_never(mut self) -> Self {
        self.planned = Some(PlannedUse::Never);
        self
    }

    /// Runs in parallel with readers.
    pub const fn parallel(mut self) -> Self {
        self.parallel = true;
        self
    }

    /// Runs beside calls of its like, each in a place of its own, unless one of these arguments is given.
    pub const fn beside_unless(mut self, arguments: &'static [&'static str]) -> Self {
        self.beside_unless = Some(arguments);
        self
    }

    /// Returns a few figures.
    pub const fn compact(mut self) -> Self {
        self.compact = true;
        self
    }

    /// Works on the conversation itself.
    pub const fn of_conversation(mut self) -> Self {
        self.of_conversation = true;
        self
    }

    /// The result's display shows these arguments.
    pub const fn displays(mut self, arguments: &'static [&'static str]) -> Self {
        self.displayed = arguments;
        self
    }

    /// Its path is one of the notes, which `meant` finds.
    pub(crate) const fn of_note(mut self, meant: MeantNote) -> Self {
        self.note = Some(meant);
        self
    }

    /// Its change can be shown before it is made.
    pub const fn previewed(mut self) -> Self {
        self.previewed = true;
        self
    }

    /// It changes files that the sandbox does not keep from it.
    pub const fn saves_files(mut self) -> Self {
        self.saves_files = true;
        self
    }

    /// Only adds, unlike what its effect suggests.
    pub const fn additive(mut self) -> Self {
        self.destructive = Some(false);
        self
    }

    /// Can remove or replace data, unlike what its effect suggests.
    pub const fn destructive(mut self) -> Self {
        self.destructive = Some(true);
        self
    }

    /// A repeated call changes nothing more.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = Some(true);
        self
    }

    /// Reaches beyond this machine or does not, unlike what effect and services suggest.
    pub const fn open_world(mut self, is_open: bool) -> Self {
        self.open_world = Some(is_open);
        self
    }

    /// Works in the working directory.
    pub const fn coding(mut self) -> Self {
        self.coding = true;
        self
    }

    /// Belongs to the run, whatever else is offered.
    pub const fn of_run(mut self) -> Self {
        self.of_run = true;
        self
    }

    /// Every request carries it.
    pub const fn direct(mut self) -> Self {
        self.placement = Placement::Direct;
        self
    }

    /// Arguments that are no object come to it under [`super::owned_tool::NO_OBJECT`].
    pub const fn takes_any_arguments(mut self) -> Self {
        self.takes_any_arguments = true;
        self
    }

    /// Sub-agents have it too.
    pub const fn in_children(mut self) -> Self {
        self.in_children = true;
        self
    }

    /// Sets the timeout of a call.
    pub const fn seconds(mut self, seconds: u64) -> Self {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Needs this program or service.
    pub const fn service(mut self, id: &'static str) -> Self {
        self.service = Some(id);
        self
    }

    /// Uses these services of the table.
    pub const fn asks(mut self, services: &'static [&'static Service]) -> Self {
        self.asks = services;
        self
    }

    /// Can take long.
    pub const fn slow(mut self) -> Self {
        self.long = true;
        self
    }

    /// Offers these parameters only where a person can be asked about leaving the sandbox.
    pub const fn attended(mut self, names: &'static [&'static str]) -> Self {
        self.attended = names;
        self
    }

    /// Can take long; its parameter `name` sets the timeout.
    pub const fn long(mut self, name: &'static str) -> Self {
        self.long = true;
        self.limit_from = Some(name);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::PlannedUse;
    use crate::tools::all;

    /// Which of destructive, idempotent and open world hold.
    fn hints(of: &crate::tools::Tool) -> String {
        let hints = of.rules.annotations();
        let words = [
            (hints.destructive, "destructive"),
            (hints.idempotent, "idempotent"),
            (hints.open_world, "open"),
        ];
        let held = words
            .iter()
            .filter(|(holds, _)| *holds)
            .map(|(_, word)| *word);
        held.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_changes_nothing_destroys_nothing_and_may_be_repeated() {
        for tool in all() {
            let hints = tool.rules.annotations();
            assert_eq!(
                hints.read_only,
                tool.rules.effect.is_none(),
                "{}",
                tool.name
            );
            assert!(
                !hints.read_only || !hints.destructive && hints.idempotent,
                "{}",
                tool.name
            );
            assert!(
                tool.rules.asks.is_empty() || hints.open_world,
                "{}",
                tool.name
            );
        }
    }

    #[test]
    fn what_is_not_always_offered_is_listed_by_no_mistake() {
        for tool in all() {
            let fields = (tool.fields)();
            let unlisted = fields.iter().filter(|field| field.unlisted);
            let unlisted: Vec<&str> = unlisted.map(|field| field.name).collect();
            assert_eq!(unlisted, tool.rules.attended, "{}", tool.name);
        }
    }

    #[test]
    fn readers_without_a_service_of_the_table_that_reach_outside_say_so() {
        let readers =
            all().filter(|tool| tool.rules.effect.is_none() && tool.rules.asks.is_empty());
        let open = readers.filter(|tool| tool.rules.annotations().open_world);
        let names: Vec<&str> = open.map(|tool| tool.name).collect();
        assert_eq!(
            names,
            ["browse_web", "scrape_page", "github_search", "read_rss"]
        );
    }

    #[test]
    fn every_tool_that_changes_something_says_how() {
        let table: Vec<(&str, String)> = all()
            .filter(|tool| !tool.rules.effect.is_none())
            .map(|tool| (tool.name, hints(tool)))
            .collect();
        let expected = [
            ("setup_google_auth", "idempotent open"),
            ("save_place", "destructive idempotent"),
            ("remove_place", "destructive idempotent"),
            ("write_note", "destructive"),
            ("notes_mkdir", "idempotent"),
            ("create_file", ""),
            ("append_file", ""),
            ("apply_patch", "destructive"),
            ("file_apply_patch", "destructive"),
            ("set_working_dir", "idempotent"),
            ("review_codebase", "destructive open"),
            ("git_commit", ""),
            ("git_checkout", "destructive"),
            ("run_command", "destructive open"),
            ("github_clone", "open"),
            ("calendar_add_event", "open"),
            ("calendar_delete_event", "destructive"),
            ("wiki_full", "idempotent open"),
            ("exit_app", "idempotent"),
            ("set_alarm", "open"),
            ("cancel_alarm", "destructive idempotent"),
            ("timer_start", ""),
            ("timer_stop", "idempotent"),
            ("generate_ntfy_topic", ""),
            ("ntfy_subscribe", "idempotent"),
            ("ntfy_unsubscribe", "destructive idempotent"),
            ("ntfy_publish", "open"),
            ("ntfy_list", "open"),
            ("spotify_auth", "open"),
            ("spotify_create_playlist", "open"),
            ("spotify_add_tracks", "open"),
            ("create_ticket", ""),
            ("ticket_start", "idempotent"),
            ("ticket_close", "idempotent"),
            ("ticket_add_note", ""),
            ("ticket_add_dep", "idempotent"),
            ("tk", "destructive"),
            ("bookmark_save", ""),
            ("download_file", "open"),
            ("yt_dlp_download", "open"),
            ("compact_history", "destructive"),
            ("switch_profile", "idempotent"),
            ("update_preferences", "destructive idempotent"),
            ("blender_create_object", ""),
            ("blender_modify_object", "destructive idempotent"),
            ("blender_delete_object", "destructive idempotent"),
            ("blender_set_material", "destructive idempotent"),
            ("blender_execute_code", "destructive open"),
            ("blender_screenshot", ""),
            ("launch_agent", "destructive open"),
            ("launch_research_agent", "open"),
            ("install_packages", "open"),
        ];
        let table: Vec<(&str, &str)> = table.iter().map(|(name, held)| (*name, &**held)).collect();
        assert_eq!(table, expected);
    }

    fn names_where(holds: impl Fn(&crate::tools::Tool) -> bool) -> Vec<&'static str> {
        let tools = all().filter(|tool| holds(tool));
        tools.map(|tool| tool.name).collect()
    }

    #[test]
    fn a_plan_runs_what_looks_up_and_writes_only_what_the_user_asked_for() {
        let planned = |tool: &crate::tools::Tool| tool.rules.planned_use();
        assert_eq!(
            names_where(|tool| planned(tool) == PlannedUse::AsWritten),
            [
                "save_place",
                "write_note",
                "notes_mkdir",
                "calendar_add_event",
                "set_alarm",
                "timer_start",
                "timer_stop",
                "create_ticket",
                "ticket_add_note",
                "bookmark_save",
            ]
        );
        // They keep a copy or a mark of what was read.
        assert_eq!(
            names_where(|tool| planned(tool) == PlannedUse::Always && !tool.rules.effect.is_none()),
            ["wiki_full", "ntfy_list"]
        );
        // The scene is the user's work in another program, which only the model looks at.
        assert_eq!(
            names_where(|tool| planned(tool) == PlannedUse::Never && tool.rules.effect.is_none()),
            ["blender_get_scene", "blender_get_object"]
        );
        for tool in all().filter(|tool| tool.rules.effect.is_write()) {
            assert_eq!(planned(tool), PlannedUse::Never, "{}", tool.name);
        }
        for name in
            "exit_app switch_profile update_preferences remove_place ntfy_publish github_clone \
            spotify_auth tk blender_create_object blender_screenshot launch_research_agent"
                .split_ascii_whitespace()
        {
            let tool = all().find(|tool| tool.name == name).unwrap();
            assert_eq!(planned(tool), PlannedUse::Never, "{name}");
        }
    }

    #[test]
    fn results_of_figures_are_marked() {
        assert_eq!(
            names_where(|tool| tool.rules.compact),
            [
                "list_places",
                "weather_forecast",
                "calendar_add_event",
                "calendar_delete_event",
                "calendar_view",
                "calendar_list_upcoming",
                "system_info",
                "get_usage",
                "list_alarms",
                "timer_start",
                "timer_check",
                "timer_stop",
                "convert_units",
            ]
        );
    }
}
