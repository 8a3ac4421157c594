//! What the user's own files and a project bring into a session, hooks first: read when a session is opened, as far as it is trusted.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use super::settings::Settings;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, counted, escape_controls, one_line};
use crate::disk::atomic;
use crate::disk::beneath::{RelPath, Root};
use crate::disk::paths::{PROJECT_HOOKS, Paths};
use crate::mcp::config::configured::ConfiguredServer;
use crate::mcp::config::files::ServerFile;
use crate::store::skills::{self, Skill};
use crate::store::trusted_projects::{ProjectFolder, TrustDecision, TrustItem, TrustKind, digest};
use crate::tools::engine::context::SessionContext;
use crate::tools::engine::hooks::command::{self, CommandSetting};
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::hooks::file::{self, FileHook, MAX_FILE_BYTES};
use crate::tools::engine::hooks::hook_set::HookOrigin;
use crate::tools::engine::project_trust::RunTrust;

/// A hooks file as it was read.
pub(crate) struct ReadHooks {
    /// Its SHA-256.
    pub digest: String,
    pub hooks: Outcome<Vec<FileHook>>,
    /// Where it cannot be understood: it wants something to fail where a hook fails.
    wants_blocking: bool,
}

impl ReadHooks {
    fn new(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let hooks = match std::str::from_utf8(bytes) {
            Ok(text) => file::parse(text),
            Err(error) => {
                let line = bytes.iter().take(error.valid_up_to());
                let line = line.filter(|byte| **byte == b'\n').count() + 1;
                Err(Problem::input(format!("Line {line} is not UTF-8 text.")))
            }
        };
        Self {
            digest: digest(bytes),
            wants_blocking: hooks.is_err() && file::wants_blocking(&text),
            hooks,
        }
    }

    /// One that cannot even be read: nobody knows what it wants.
    fn unreadable(problem: Problem) -> Self {
        Self {
            digest: String::new(),
            hooks: Err(problem),
            wants_blocking: false,
        }
    }

    /// The hooks as the user is asked about them.
    fn items(&self) -> Vec<TrustItem> {
        let item = |words: String| TrustItem {
            kind: TrustKind::Hook,
            words,
            digest: self.digest.clone(),
        };
        match &self.hooks {
            Ok(hooks) => hooks.iter().map(|hook| item(hook.line())).collect(),
            Err(_) => Vec::new(),
        }
    }
}

/// The user's hooks file, if there is one.
pub(crate) fn user_hooks(paths: &Paths) -> Option<ReadHooks> {
    let path = paths.hooks().ok()?;
    match atomic::read(&path, MAX_FILE_BYTES) {
        Ok(None) => None,
        Ok(Some(bytes)) => Some(ReadHooks::new(&bytes)),
        Err(problem) => Some(ReadHooks {
            wants_blocking: file::wants_blocking(
                &open::read(&path).map(beginning).unwrap_or_default(),
            ),
            ..ReadHooks::unreadable(problem)
        }),
    }
}

/// As much of a file as a hooks file may have.
fn beginning(file: File) -> String {
    let mut bytes = Vec::new();
    // What came before an error counts.
    let _cut = file.take(MAX_FILE_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The hooks file of a project, if there is one. A link that leads out of the project is none.
pub(crate) fn project_hooks(folder: &ProjectFolder) -> Option<ReadHooks> {
    // Usually there is none.
    std::fs::symlink_metadata(folder.path.join(PROJECT_HOOKS)).ok()?;
    let open = || -> Outcome<(Root, RelPath)> {
        let root = Root::open(&folder.path)?;
        let path = root.check(PROJECT_HOOKS)?;
        Ok((root, path))
    };
    let (root, path) = match open() {
        Ok(opened) => opened,
        Err(problem) => return Some(ReadHooks::unreadable(problem)),
    };
    Some(match root.read(&path, MAX_FILE_BYTES) {
        Ok(bytes) => ReadHooks::new(&bytes),
        Err(problem) => {
            let beginning = root.open_read(&path).map(beginning).unwrap_or_default();
            ReadHooks {
                wants_blocking: file::wants_blocking(&beginning),
                ..ReadHooks::unreadable(problem)
            }
        }
    })
}

/// Why the hooks file of a project cannot be used, if there is one that cannot.
pub(crate) fn project_fault(folder: &ProjectFolder) -> Option<String> {
    let problem = project_hooks(folder)?.hooks.err()?;
    let path = folder.path.join(PROJECT_HOOKS);
    Some(cannot_be_used(&path.display().to_string(), &problem))
}

fn cannot_be_used(path: &str, problem: &Problem) -> String {
    format!(
        "{} cannot be used: {}",
        escape_controls(path),
        problem.one_line()
    )
}

/// The servers of a project, each with its command line or address, the names of the variables that it would get, and where it would run.
fn server_items(folder: &ProjectFolder) -> Vec<TrustItem> {
    let servers = ServerFile::of_project(&folder.path).read();
    // A file that cannot be read brings nothing; who uses servers is told.
    let servers = servers.unwrap_or_default().into_iter();
    let used = servers.filter(|server| !server.is_disabled());
    let item = |server: ConfiguredServer| TrustItem {
        kind: TrustKind::Server,
        words: format!(
            "{}: {}{}",
            one_line(&server.name),
            server.target(),
            server.given()
        ),
        digest: server.hash(),
    };
    used.map(item).collect()
}

/// What a project brings along that acts by itself, in the order of the question about it. `dir` is the folder below the project's in which somebody works.
pub(crate) fn items(folder: &ProjectFolder, dir: &Path) -> Vec<TrustItem> {
    let hooks = project_hooks(folder);
    let mut items: Vec<TrustItem> = hooks.iter().flat_map(ReadHooks::items).collect();
    items.extend(server_items(folder));
    let skills = skills::of_project(dir, folder);
    items.extend(
        skills
            .iter()
            .filter(|skill| skill.is_usable())
            .map(|skill| TrustItem {
                kind: TrustKind::Skill,
                words: skill_line(skill),
                digest: skill.rules_digest(),
            }),
    );
    items
}

/// A skill as the user is asked about it: its name, and the tools for which it wants no questions.
fn skill_line(skill: &Skill) -> String {
    let rules = skill.file.allowed_tools.join(" ");
    match rules.is_empty() {
        true => skill.name.clone(),
        false => format!(
            "{} (allowed-tools: {})",
            skill.name,
            clip(&one_line(&rules), 200)
        ),
    }
}

/// The same for the project in which a session began.
pub(crate) fn items_of(session: &SessionContext) -> Vec<TrustItem> {
    let dir = session.working_dir.first();
    match (session.trust.folder(), dir) {
        (Some(folder), Some(dir)) => items(folder, dir.path()),
        _ => Vec::new(),
    }
}

/// Reads what a session begins with. What is wrong, and what was left out because nobody agreed to it, is told with `warn`.
pub(crate) fn open(session: &SessionContext, settings: &Settings, warn: &mut dyn FnMut(String)) {
    if session.trust.run() == RunTrust::Everything && session.trust.folder().is_some() {
        session.trust.agree(&items_of(session));
    }
    if settings.access.without_hooks {
        session.hooks.switch_off();
    } else {
        open_hooks(session, warn);
    }
}

fn open_hooks(session: &SessionContext, warn: &mut dyn FnMut(String)) {
    if let Some(read) = user_hooks(&session.paths) {
        let path = session.paths.hooks();
        let path = path.map_or_else(|_| String::new(), |path| path.display().to_string());
        add(session, read, HookOrigin::User, &path, warn);
    }
    open_project(session, warn);
}

/// Has the project's hooks be those that its file has now, as far as they were agreed to.
pub(crate) fn open_project(session: &SessionContext, warn: &mut dyn FnMut(String)) {
    let Some(folder) = session.trust.folder().filter(|_| !session.hooks.is_off()) else {
        return;
    };
    session.hooks.remove(HookOrigin::Project);
    // A file with a fault runs nothing, so that the folder's trust is enough for what it says about failures: a fault must not switch off what was agreed to.
    let counts = |read: &ReadHooks| {
        let trust = &session.trust;
        match read.hooks {
            Ok(_) => trust.agrees(&session.paths, TrustKind::Hook, &read.digest),
            Err(_) => is_folder_trusted(session),
        }
    };
    if let Some(read) = project_hooks(folder)
        && counts(&read)
    {
        let path = folder.path.join(PROJECT_HOOKS).display().to_string();
        add(session, read, HookOrigin::Project, &path, warn);
    }
}

/// Nothing of the project is used any more in this session: what came of it with the session's beginning goes too.
pub(crate) fn close_project(session: &SessionContext) {
    session.trust.close();
    session.hooks.remove(HookOrigin::Project);
    session.skills.forget();
}

/// The events that a child's hooks are about: its messages are its parent's, not the user's.
const EVENTS_OF_CHILDREN: [HookEvent; 5] = [
    HookEvent::PreToolUse,
    HookEvent::PostToolUse,
    HookEvent::PostToolUseFailure,
    HookEvent::PreCompact,
    HookEvent::SubagentStop,
];

fn add(
    session: &SessionContext,
    read: ReadHooks,
    origin: HookOrigin,
    path: &str,
    warn: &mut dyn FnMut(String),
) {
    let mut hooks = match read.hooks {
        Ok(hooks) => hooks,
        Err(problem) => {
            let words = cannot_be_used(path, &problem);
            warn(match read.wants_blocking {
                true => format!(
                    "{words} It says that a failure blocks, so tools that change something are refused until it is fixed."
                ),
                false => format!("{words} The session goes on without its hooks."),
            });
            if read.wants_blocking {
                session.hooks.refuse_changes(origin, words);
            }
            return;
        }
    };
    if session.policy.depth > 0 {
        hooks.retain(|hook| EVENTS_OF_CHILDREN.contains(&hook.event));
    }
    let setting = CommandSetting {
        env: session.env.clone(),
        bounds: session.policy.child_variables(),
        project: session.trust.folder().map(|folder| folder.path.clone()),
        supervisor: session.supervisor.clone(),
    };
    session
        .hooks
        .add(command::hooks(hooks, origin, &Arc::new(setting)));
}

/// [`open`] where nobody can be asked: what the project has that is not used is told too.
pub(crate) fn open_unasked(
    session: &SessionContext,
    settings: &Settings,
    warn: &mut dyn FnMut(String),
) {
    open(session, settings, warn);
    if let Some((words, is_told)) = left_out(session, settings) {
        session.trust.note_left_out(words.clone());
        if !is_told {
            warn(words);
        }
    }
}

/// What the project has that this session does not use, in a sentence, and whether it was told already; `None` where there is nothing, or somebody said no.
fn left_out(session: &SessionContext, settings: &Settings) -> Option<(String, bool)> {
    let folder = session.trust.folder()?;
    if settings.is_leashed() || is_refused(session) {
        return None;
    }
    let fault = fault_of(session);
    let is_trusted = is_folder_trusted(session);
    let mut items = unused(session, items_of(session));
    // What a skill would allow counts for nobody here; the skill itself is used.
    items.retain(|item| item.kind != TrustKind::Skill || !is_trusted);
    let Some(words) = summary(&items) else {
        // That of a trusted project was told as the session was opened, with what follows.
        return fault.map(|words| (words, is_trusted));
    };
    let dir = escape_controls(&clip(&folder.path.display().to_string(), 200));
    let mut words = format!(
        "Not used, because nobody said that this project is trusted: {words}. \"marvin trust {dir}\" trusts it, --trust-project does for a run."
    );
    if let Some(fault) = fault {
        words = format!("{words} {fault}");
    }
    Some((words, false))
}

/// Why the hooks file of the session's project cannot be used, where hooks are.
pub(crate) fn fault_of(session: &SessionContext) -> Option<String> {
    let folder = session.trust.folder()?;
    (!session.hooks.is_off())
        .then(|| project_fault(folder))
        .flatten()
}

/// Whether the session uses of its project what is only text, whatever else has changed since somebody agreed.
pub(crate) fn is_folder_trusted(session: &SessionContext) -> bool {
    session.trust.agrees(&session.paths, TrustKind::Skill, "")
}

/// Whether somebody has said that nothing of the project is used.
pub(crate) fn is_refused(session: &SessionContext) -> bool {
    let stored = |folder: &ProjectFolder| {
        let known = session.trust.known(&session.paths).of(folder);
        known.is_some_and(|known| known.decision == TrustDecision::Refused)
    };
    match session.trust.run() {
        RunTrust::AsStored => session.trust.folder().is_some_and(stored),
        run => run == RunTrust::Nothing,
    }
}

/// What the session does not use of what its project has.
pub(crate) fn unused(session: &SessionContext, mut items: Vec<TrustItem>) -> Vec<TrustItem> {
    items.retain(|item| !(session.trust).agrees(&session.paths, item.kind, &item.digest));
    items
}

/// How many hooks and servers, and which skills.
pub(crate) fn summary(items: &[TrustItem]) -> Option<String> {
    let count = |kind: TrustKind| {
        let items = items.iter().filter(|item| item.kind == kind);
        items.count() as u64
    };
    let mut parts = Vec::new();
    for (kind, word) in [
        (TrustKind::Hook, "hook"),
        (TrustKind::Server, "MCP server"),
        (TrustKind::Skill, "skill"),
    ] {
        if count(kind) > 0 {
            parts.push(counted(count(kind), word));
        }
    }
    let last = parts.pop()?;
    Some(match parts.is_empty() {
        true => last,
        false => format!("{} and {last}", parts.join(", ")),
    })
}
