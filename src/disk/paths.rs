//! [`Paths`]: the only place that knows the names of Marvin's files. Reads nothing.

use std::path::{Path, PathBuf};

use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::base::variables::MARVIN_CONFIG_DIR;

/// The folder below `~/.config`; the project's former name, kept for compatibility.
const CONFIG: &str = ".config/local-finder";

/// Below a project, as a fence takes them: the folder that is Marvin's own. Conversations are stored
/// there.
pub(crate) const PROJECT_FOLDER: &str = ".marvin";
/// Backups of contexts, and output that was too long.
pub(crate) const PROJECT_LOGS: &str = ".marvin/logs";
/// What was dropped from contexts.
pub(crate) const PROJECT_MEMORIES: &str = ".marvin/memories";
/// Notes of coding mode.
pub(crate) const PROJECT_NOTES: &str = ".marvin/notes";
/// What a project says about itself.
pub(crate) const PROJECT_DOCUMENTS: [&str; 3] =
    [".marvin/spec.md", ".marvin/ux.md", ".marvin/design.md"];
/// The features of a project, each in a folder of its own.
pub(crate) const FEATURES: &str = "specs";
/// In a feature's folder: its tests.
pub(crate) const FEATURE_TESTS: &str = "tests.md";
/// In a project's or a feature's folder: the last phase of the pipeline that is done.
pub(crate) const PIPELINE_STATE: &str = "pipeline_state";
/// Beside it: the task for which it is.
pub(crate) const PIPELINE_TASK: &str = "pipeline_task";
/// How the names of the histories of reviews begin there.
pub(crate) const REVIEW_HISTORY: &str = "review-history-";
/// Records of background jobs.
pub(crate) const PROJECT_JOBS: &str = ".marvin/jobs";
/// Documents of the project above, which nobody here changes.
pub(crate) const PROJECT_UPSTREAM: &str = ".marvin/upstream";
/// Skills of a project, the first place first; the last one is that of another program.
pub(crate) const PROJECT_SKILLS: [&str; 3] = [".agents/skills", ".marvin/skills", ".claude/skills"];
/// Hooks of a project.
pub(crate) const PROJECT_HOOKS: &str = ".marvin/hooks.json";
/// MCP servers of a project.
pub(crate) const PROJECT_SERVERS: &str = ".mcp.json";
pub(crate) const TICKETS: &str = ".tickets";
/// How the name of a context's backup begins, in the logs of a project or profile.
pub(crate) const CONTEXT_BACKUP: &str = "context-backup-";

/// The locations of one user's files.
#[derive(Debug, Clone)]
pub struct Paths {
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl Paths {
    /// Takes `HOME` and `MARVIN_CONFIG_DIR` from the environment. A `HOME` that is not absolute counts as unset: its meaning
    /// would change with the working directory.
    pub fn new(env: &Env) -> Self {
        let home = env
            .get("HOME")
            .map(PathBuf::from)
            .filter(|home| home.is_absolute());
        let config = MARVIN_CONFIG_DIR
            .read(env)
            .map(PathBuf::from)
            .or_else(|| home.as_ref().map(|home| home.join(CONFIG)));
        Self { home, config }
    }

    /// The home folder.
    pub fn home(&self) -> Outcome<&Path> {
        self.home.as_deref().ok_or_else(|| {
            Problem::config("HOME is not set to an absolute path, so the home folder is unknown.")
                .next("Set HOME.")
        })
    }

    /// The folder of Marvin's own files.
    pub fn config(&self) -> Outcome<&Path> {
        self.config.as_deref().ok_or_else(|| {
            Problem::config(
                "Neither HOME nor MARVIN_CONFIG_DIR is set, so there is no place for Marvin's files.",
            )
            .next("Set HOME, or MARVIN_CONFIG_DIR to a folder.")
        })
    }

    /// A file or folder directly below the configuration folder.
    fn base(&self, name: &str) -> Outcome<PathBuf> {
        Ok(self.config()?.join(name))
    }

    /// The file with the name of the active profile, plain text.
    pub fn last_profile(&self) -> Outcome<PathBuf> {
        self.base("last_profile")
    }

    /// The file with the name of the theme that the user chose, plain text.
    pub fn theme(&self) -> Outcome<PathBuf> {
        self.base("theme")
    }

    /// Exists once the user chose to work without a language model.
    pub fn no_model(&self) -> Outcome<PathBuf> {
        self.base("no_model")
    }

    /// Lifetime totals.
    pub fn usage(&self) -> Outcome<PathBuf> {
        self.base("usage.json")
    }

    /// Settings.
    pub fn settings(&self) -> Outcome<PathBuf> {
        self.base("config.yaml")
    }

    /// Settings of the reply flow.
    pub fn reply_settings(&self) -> Outcome<PathBuf> {
        self.base("reply.json")
    }

    /// Which projects the user trusts.
    pub fn trusted_projects(&self) -> Outcome<PathBuf> {
        self.base("trusted-projects.json")
    }

    /// Hooks of the user.
    pub fn hooks(&self) -> Outcome<PathBuf> {
        self.base("hooks.json")
    }

    /// Servers of the Model Context Protocol.
    pub fn mcp_servers(&self) -> Outcome<PathBuf> {
        self.base("mcp.json")
    }

    /// What is remembered of them between sessions.
    pub fn mcp_cache(&self) -> Outcome<PathBuf> {
        self.base("mcp-cache.json")
    }

    /// Skills of the user.
    pub fn skills(&self) -> Outcome<PathBuf> {
        self.base("skills")
    }

    /// Skills that several programs of the user share.
    pub fn shared_skills(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join(".agents/skills"))
    }

    /// Sign-ins to them.
    pub fn mcp_tokens(&self) -> Outcome<PathBuf> {
        self.base("mcp-tokens.json")
    }

    /// Crash reports.
    pub fn crash_log(&self) -> Outcome<PathBuf> {
        self.base("crash.log")
    }

    /// The bookmarks file that all profiles once shared; imported once.
    pub fn shared_bookmarks(&self) -> Outcome<PathBuf> {
        self.base("bookmarks.json")
    }

    /// The Spotify token file of the original; imported once.
    pub fn old_spotify_token(&self) -> Outcome<PathBuf> {
        self.base("spotify_token.json")
    }

    /// Scripts and records of alarms.
    pub fn alarms(&self) -> Outcome<PathBuf> {
        self.base("alarms")
    }

    /// The script of one alarm.
    pub fn alarm_script(&self, label: &str) -> Outcome<PathBuf> {
        let name = file_name("alarm label", label)?;
        Ok(self.alarms()?.join(format!("{name}.sh")))
    }

    /// The record of one alarm.
    pub fn alarm_record(&self, label: &str) -> Outcome<PathBuf> {
        let name = file_name("alarm label", label)?;
        Ok(self.alarms()?.join(format!("{name}.json")))
    }

    /// Scripts of calendar reminders.
    pub fn reminders(&self) -> Outcome<PathBuf> {
        self.base("calendar_reminders")
    }

    /// The folder of all profiles.
    pub fn profiles(&self) -> Outcome<PathBuf> {
        self.base("profiles")
    }

    /// The script of one reminder.
    pub fn reminder_script(&self, id: &str) -> Outcome<PathBuf> {
        let name = file_name("reminder's id", id)?;
        Ok(self.reminders()?.join(format!("{name}.sh")))
    }

    /// The record of one reminder.
    pub fn reminder_record(&self, id: &str) -> Outcome<PathBuf> {
        let name = file_name("reminder's id", id)?;
        Ok(self.reminders()?.join(format!("{name}.json")))
    }

    /// The files of one profile.
    pub fn profile(&self, name: &str) -> Outcome<ProfilePaths> {
        let name = file_name("profile name", name)?;
        Ok(ProfilePaths(self.profiles()?.join(name)))
    }

    /// `~/Notes`.
    pub fn notes(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join("Notes"))
    }

    /// The lock for writers of notes; outside the notes folder, which holds nothing but notes.
    pub fn notes_lock(&self) -> Outcome<PathBuf> {
        self.base("notes")
    }

    /// `~/Downloads`.
    pub fn downloads(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join("Downloads"))
    }

    /// `~/Downloads/yt-dlp`.
    pub fn videos(&self) -> Outcome<PathBuf> {
        Ok(self.downloads()?.join("yt-dlp"))
    }

    /// `~/github-clones`; a clone lies in `<owner>/<repo>` below.
    pub fn clones(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join("github-clones"))
    }

    /// Working trees of runs of the pipeline and of reviews, by repository. Not in the folder of Marvin's own files, which no model may choose.
    pub fn worktrees(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join(".local/share/marvin/worktrees"))
    }

    /// Saved articles.
    pub fn wiki(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join(".cache/marvin/wiki"))
    }

    /// Data that can be fetched or computed again.
    pub fn cache(&self) -> Outcome<PathBuf> {
        Ok(self.home()?.join(".cache/marvin"))
    }

    /// Pictures of Blender's viewport.
    pub fn viewports(&self) -> Outcome<PathBuf> {
        Ok(self.cache()?.join("blender"))
    }

    /// Whether Copilot could answer when it was asked last.
    pub fn copilot_state(&self) -> Outcome<PathBuf> {
        Ok(self.cache()?.join("copilot.json"))
    }

    /// The folder of rate limit files shared by processes.
    pub fn gates(&self) -> Outcome<PathBuf> {
        Ok(self.cache()?.join("gates"))
    }

    /// `~/.marvin/instructions/<path>.md` for a project folder given as absolute path.
    pub fn instructions_for(&self, project: &Path) -> Outcome<PathBuf> {
        let text = project.to_string_lossy();
        let name = text.trim_matches('/').replace('/', "_");
        let folder = self.home()?.join(".marvin/instructions");
        Ok(folder.join(format!("{name}.md")))
    }

    /// Where instructions for a project are looked for; the first hit wins. Without a home folder the project's own places remain.
    pub fn instructions(&self, project: &Path) -> Vec<PathBuf> {
        let own = ProjectPaths::new(project);
        self.instructions_for(project)
            .into_iter()
            .chain([own.instructions_beside(), own.instructions()])
            .collect()
    }
}

/// Files and folders with what is in them, for the help.
pub(crate) type DescribedPaths = Vec<(PathBuf, &'static str)>;

impl Paths {
    /// What a user may want to find, with the files of one profile.
    pub(crate) fn described(&self, profile: &str) -> Outcome<DescribedPaths> {
        let profile = self.profile(profile)?;
        Ok(vec![
            (
                self.config()?.to_owned(),
                "what Marvin keeps for you; MARVIN_CONFIG_DIR names another folder",
            ),
            (
                self.settings()?,
                "settings: any variable but keys, by its name",
            ),
            (self.reply_settings()?, "settings of the reply flow"),
            (self.mcp_servers()?, "servers of the Model Context Protocol"),
            (self.mcp_tokens()?, "sign-ins to them"),
            (self.usage()?, "lifetime totals of use and cost"),
            (profile.dir().to_owned(), "a profile"),
            (
                profile.preferences(),
                "preferences: what the model is told about you, contact, history, reply",
            ),
            (profile.sessions(), "sessions, one file each"),
            (profile.chat_log(), "the chat log: what was said, in short"),
            (profile.memory(), "memory: diary and graph"),
            (profile.calendar(), "the calendar, in iCalendar's format"),
            (profile.bookmarks(), "bookmarks"),
            (profile.saved_places(), "saved places"),
            (profile.tokens(), "sign-ins to services"),
            (profile.cost_log(), "one line for each call of a model"),
            (self.notes()?, "notes"),
            (self.downloads()?, "downloads"),
            (self.clones()?, "clones of repositories"),
            (
                self.worktrees()?,
                "worktrees of runs of the pipeline; marvin pipeline worktrees lists them",
            ),
            (self.cache()?, "what can be fetched or computed again"),
        ])
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfilePaths(PathBuf);

impl ProfilePaths {
    /// The profile's folder.
    pub fn dir(&self) -> &Path {
        &self.0
    }

    /// Preferences, as the user wrote them.
    pub fn preferences(&self) -> PathBuf {
        self.0.join("preferences.yaml")
    }

    /// The fallback name of the preferences file when `preferences.yaml` is missing.
    pub fn preferences_fallback(&self) -> PathBuf {
        self.0.join("prefs.yaml")
    }

    pub fn saved_places(&self) -> PathBuf {
        self.0.join("saved_places.json")
    }

    pub fn chat_log(&self) -> PathBuf {
        self.0.join("chat_log.json")
    }

    /// Sessions, one file each.
    pub fn sessions(&self) -> PathBuf {
        self.0.join("sessions")
    }

    /// What Marvin remembers about the user: diary, knowledge graph, their lock, and dumps of prompts.
    pub fn memory(&self) -> PathBuf {
        self.0.join("memory")
    }

    pub fn history(&self) -> PathBuf {
        self.0.join("history")
    }

    /// OAuth tokens; must be written with mode 0600.
    pub fn tokens(&self) -> PathBuf {
        self.0.join("tokens.json")
    }

    /// A pending sign-in to Spotify; must be written with mode 0600.
    pub fn spotify_sign_in(&self) -> PathBuf {
        self.0.join("spotify-sign-in.json")
    }

    pub fn ntfy_subscriptions(&self) -> PathBuf {
        self.0.join("ntfy_subscriptions.json")
    }

    /// A file whose presence means that reminders are not sent to ntfy.
    pub fn no_ntfy_reminders(&self) -> PathBuf {
        self.0.join("ntfy_reminders_off")
    }

    pub fn bookmarks(&self) -> PathBuf {
        self.0.join("bookmarks.json")
    }

    pub fn calendar(&self) -> PathBuf {
        self.0.join("calendar.ics")
    }

    /// The folder in which another program keeps events, one in each file.
    pub fn events(&self) -> PathBuf {
        self.0.join("calendar")
    }

    /// One line for each model turn.
    pub fn cost_log(&self) -> PathBuf {
        self.0.join("cost-log.jsonl")
    }

    /// Backups of contexts without a project.
    pub fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// Tickets without a project.
    pub fn tickets(&self) -> PathBuf {
        self.0.join(TICKETS)
    }
}

/// The files Marvin keeps in a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProjectPaths(PathBuf);

impl ProjectPaths {
    /// The project in this folder.
    pub(crate) fn new(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    pub(crate) fn marvin(&self) -> PathBuf {
        self.0.join(PROJECT_FOLDER)
    }

    /// What a user may want to find.
    pub(crate) fn described(&self) -> DescribedPaths {
        vec![
            (
                self.marvin(),
                "logs, backups of long conversations, memories, notes of coding mode, state of the pipeline",
            ),
            (
                self.instructions_beside(),
                "instructions that Marvin reads, in coding mode and outside it",
            ),
            (self.instructions(), "the same, where there is no such file"),
        ]
    }

    /// `.marvin-instructions`, the second place of project instructions.
    pub(crate) fn instructions_beside(&self) -> PathBuf {
        self.0.join(".marvin-instructions")
    }

    /// `.marvin/instructions.md`, the third place of project instructions.
    pub(crate) fn instructions(&self) -> PathBuf {
        self.marvin().join("instructions.md")
    }
}

/// A name that is used as a file name: letters, digits, `-` and `_`, at most 64, no leading `-`.
fn file_name<'a>(what: &str, name: &'a str) -> Outcome<&'a str> {
    let require_regular = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty()
        && name.len() <= 64
        && !name.starts_with('-')
        && name.chars().all(require_regular)
    {
        return Ok(name);
    }
    Err(Problem::input(format!(
        "\"{}\" cannot be used as {what}.",
        clip(&escape_controls(name), 80)
    ))
    .next("Use letters, digits, \"-\" and \"_\", at most 64 of them."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_the_specification() {
        let paths = Paths::new(&Env::from([("HOME", "/home/ann")]));
        let base = Path::new("/home/ann/.config/local-finder");
        assert_eq!(paths.config().unwrap(), base);
        let profile = paths.profile("main").unwrap();
        for (path, name) in [
            (profile.preferences(), "profiles/main/preferences.yaml"),
            (profile.preferences_fallback(), "profiles/main/prefs.yaml"),
            (profile.cost_log(), "profiles/main/cost-log.jsonl"),
            (paths.last_profile().unwrap(), "last_profile"),
            (paths.settings().unwrap(), "config.yaml"),
            (paths.alarm_script("tea").unwrap(), "alarms/tea.sh"),
        ] {
            assert_eq!(path, base.join(name));
        }
        let project = Path::new("/home/ann/work/app");
        assert_eq!(
            paths.instructions(project),
            [
                "/home/ann/.marvin/instructions/home_ann_work_app.md",
                "/home/ann/work/app/.marvin-instructions",
                "/home/ann/work/app/.marvin/instructions.md",
            ]
            .map(PathBuf::from)
        );
    }

    #[test]
    fn a_missing_home_fails_only_where_needed() {
        let none = Paths::new(&Env::default());
        let problem = none.config().unwrap_err().one_line();
        assert!(problem.contains("MARVIN_CONFIG_DIR"), "{problem}");
        assert!(none.profile("main").is_err());
        let env = Env::from([("MARVIN_CONFIG_DIR", "/srv/m"), ("HOME", "rel")]);
        let moved = Paths::new(&env);
        assert_eq!(moved.usage().unwrap(), Path::new("/srv/m/usage.json"));
        assert!(moved.notes().unwrap_err().what.contains("HOME"));
        assert_eq!(moved.instructions(Path::new("/p")).len(), 2);
    }

    #[test]
    fn names_that_would_leave_their_folder_are_refused() {
        let paths = Paths::new(&Env::from([("HOME", "/h")]));
        let long = "x".repeat(65);
        for name in ["", "..", "a/b", "../../x", "-rf", "a b", "ä", "a\0", &long] {
            assert!(paths.profile(name).is_err(), "{name:?}");
            assert!(paths.alarm_record(name).is_err(), "{name:?}");
        }
    }
}
