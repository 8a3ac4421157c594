//! What commands must not change unseen, around each command in the sandbox and between them: what git runs is put back, unless a person keeps it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::ids::hex;
use crate::base::text::clip;
use crate::chat::event::{Event, Level, NullSink};
use crate::disk::beneath::Root;
use crate::disk::paths::{PROJECT_HOOKS, PROJECT_SKILLS};
use crate::proc::descendants;
use crate::proc::sandbox::git_watch::{GitWatch, WatchedChanges, WatchedPlaces, list};
use crate::proc::sandbox::session_sandbox::CommandSandbox;
use crate::tools::engine::approval::{Approval, ApprovalRequest};
use crate::tools::engine::context::{SessionContext, ToolContext};

/// Workspaces as they were when a command ended that left processes behind, outside its group: these may still change something. Where none was left, what
/// changes between two commands is the user's.
#[derive(Default)]
struct LeftBehind(Mutex<BTreeMap<PathBuf, GitWatch>>);

impl LeftBehind {
    fn take(&self, dir: &Path) -> Option<GitWatch> {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watches.remove(dir)
    }

    fn take_all(&self) -> BTreeMap<PathBuf, GitWatch> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, dir: PathBuf, watch: GitWatch) {
        let mut watches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watches.insert(dir, watch);
    }
}

/// Workspaces as they were before their last commands, so that before the next one only what has changed is read again.
#[derive(Default)]
struct SeenBefore {
    watches: Mutex<BTreeMap<PathBuf, GitWatch>>,
    /// It was told that not everything is seen.
    has_told: AtomicBool,
}

impl SeenBefore {
    fn watches(&self) -> MutexGuard<'_, BTreeMap<PathBuf, GitWatch>> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Who changed something when it was none of the commands themselves.
const LEFT_BEHIND: &str = "A process that an earlier command left behind";
/// Characters of a file that a question shows.
const MAX_SHOWN_CHARS: usize = 1_000;

/// A command that is about to run.
pub(super) struct CommandWatch {
    places: WatchedPlaces,
    watch: GitWatch,
    /// What is to be said of commands before it.
    remarks: String,
}

/// The workspace before a command in the sandbox; none where it runs outside.
pub(super) fn watch(
    ctx: &ToolContext,
    sandbox: Option<&CommandSandbox>,
    root: &Root,
) -> Option<CommandWatch> {
    sandbox?;
    // Who leaves the group of a command is seen below this process from now on.
    descendants::keep_in_sight();
    let added = ctx.session.sandbox.fence();
    let places = WatchedPlaces {
        dir: root.path().to_owned(),
        added: added
            .map(|choice| choice.writable.clone())
            .unwrap_or_default(),
        files: vec![PathBuf::from(PROJECT_HOOKS)],
        folders: PROJECT_SKILLS.map(PathBuf::from).to_vec(),
        programs: ctx
            .session
            .hooks
            .programs()
            .into_iter()
            .map(PathBuf::from)
            .collect(),
        user_config: user_config(&ctx.session.env),
    };
    let left = ctx.session.modules.get::<LeftBehind>();
    let before = left.take(root.path());
    let remarks = before
        .as_ref()
        .map(|watch| undo(ctx, watch, LEFT_BEHIND).remarks);
    let seen = ctx.session.modules.get::<SeenBefore>();
    let earlier = before.or_else(|| seen.watches().remove(root.path()));
    let watch = GitWatch::note_after(places.clone(), earlier);
    if let Some(words) = watch.cut_words()
        && !seen.has_told.swap(true, Ordering::Relaxed)
    {
        ctx.listener.emit(Event::Notice(Level::Warning, words));
    }
    Some(CommandWatch {
        watch,
        places,
        remarks: remarks.unwrap_or_default(),
    })
}

impl CommandWatch {
    /// Looks at what the command, which has ended, has changed; the remarks for the result.
    pub(super) fn settle(self, ctx: &ToolContext) -> String {
        self.watch.conclude();
        let mut remarks = self.remarks;
        let settled = undo(ctx, &self.watch, "The command");
        remarks.push_str(&settled.remarks);
        let was_put_back = settled.kept.is_none() && !settled.remarks.is_empty();
        if was_put_back && descendants::has_sandboxed() && !self.watch.changes().git.is_empty() {
            // What was left behind changes it again at once: as long as it lives nothing stays put back.
            descendants::end_sandboxed(descendants::GRACE);
            let again = undo(ctx, &self.watch, "A process that the command left behind");
            remarks.push_str(&again.remarks);
        }
        if descendants::has_sandboxed() {
            let left = ctx.session.modules.get::<LeftBehind>();
            // As it was before the command, but for what a person has kept: what was left behind may have changed something again since it was looked at.
            let watch = match &settled.kept {
                Some(agreed) => self.watch.after_keeping(agreed),
                None => self.watch,
            };
            left.put(self.places.dir, watch.after_telling());
        } else {
            let seen = ctx.session.modules.get::<SeenBefore>();
            seen.watches().insert(self.places.dir, self.watch);
        }
        remarks
    }
}

/// What a process that a command left behind has changed is put back as the session ends: no command comes any more before which somebody would look. What the
/// user is to be told of it.
pub(crate) fn settle_at_end(session: &Arc<SessionContext>) -> Option<String> {
    let left = session.modules.get::<LeftBehind>().take_all();
    if left.is_empty() {
        return None;
    }
    // Where they end with this process they change nothing afterwards.
    descendants::end_all(descendants::GRACE);
    let mut ctx = ToolContext::new(Arc::clone(session), Cancel::new(), Arc::new(NullSink));
    ctx.approval = Approval::Deny;
    let remarks = left
        .values()
        .map(|watch| undo(&ctx, watch, LEFT_BEHIND).remarks);
    let remarks: String = remarks.collect();
    let lines = remarks.lines().filter(|line| !line.is_empty());
    let lines = lines.map(|line| line.trim_matches(['[', ']']));
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Where the user's own configuration of git usually is; see git-config(1).
fn user_config(env: &Env) -> Vec<PathBuf> {
    let home = env.get("HOME").map(PathBuf::from);
    let config = env.get("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
    let config = config.map(|config| config.join("git/config"));
    let own = home.map(|home| home.join(".gitconfig"));
    config.into_iter().chain(own).collect()
}

/// What became of changes.
struct Settled {
    /// For the result.
    remarks: String,
    /// What a person wanted to keep.
    kept: Option<WatchedChanges>,
}

/// Puts back what `who` changed of what git runs, unless a person wants to keep it.
fn undo(ctx: &ToolContext, watch: &GitWatch, who: &str) -> Settled {
    let mut changes = watch.changes();
    let mut remarks = String::new();
    let mut is_kept = false;
    if !changes.git.is_empty() {
        let has_program = watch.has_program(&changes.git);
        let (runs, question, act) = match has_program {
            true => (
                "what git or a hook runs",
                "Keep what the command changed of what git or a hook runs?",
                "keep what the command changed of what git or a hook runs",
            ),
            false => (
                "what git runs",
                "Keep what the command changed of what git runs?",
                "keep what the command changed of what git runs",
            ),
        };
        let request = ApprovalRequest::new(question, act, list(&changes.git));
        let can_be_asked = matches!(ctx.approval, Approval::Ask(_)) && !ctx.is_agreed;
        let is_agreed = can_be_asked && ctx.approve(with_contents(request, &changes)).is_ok();
        let mut again = "";
        if is_agreed {
            // A process that was left behind may have changed it while the question was open.
            let later = watch.changes();
            is_kept = changes.is_as_in(&later);
            if !is_kept {
                again = " again, after the user was asked about it";
                changes.git = later.git;
            }
        }
        if !is_kept {
            let shown = list(&changes.git);
            let done = watch.put_back(&changes.git, kept_in(ctx).as_deref());
            let kept = done.where_words();
            remarks = match done.failed.is_empty() {
                true => format!(
                    "\n[{who} changed {shown}{again}: put back; a command may not change {runs}.{kept}]"
                ),
                false => format!(
                    "\n[{who} changed {shown}{again}: a command may not change {runs}, and {} could not be put back. Tell the user, before they use git here.{kept}]",
                    list(&done.failed)
                ),
            };
        }
    }
    for words in changes.folder_words(who) {
        remarks.push_str(&format!("\n[{words}]"));
    }
    if !changes.told.is_empty() {
        remarks.push_str(&format!(
            "\n[{who} changed {}, which other programs run or obey. Tell the user.]",
            list(&changes.told)
        ));
    }
    Settled {
        remarks,
        kept: is_kept.then_some(changes),
    }
}

/// The question with what is there now: an answer for good is about this, and not about what another command makes of it.
fn with_contents(request: ApprovalRequest, changes: &WatchedChanges) -> ApprovalRequest {
    let detail = clip(&changes.shown(MAX_SHOWN_CHARS), 4 * MAX_SHOWN_CHARS);
    match changes.version() {
        Some(version) => request.with_detail(detail, &version),
        None => request.with_detail(detail, &[]).only_once(),
    }
}

/// A new folder for the other versions of what is put back, where no command writes.
pub(crate) fn kept_in(ctx: &ToolContext) -> Option<PathBuf> {
    let profile = ctx.session.paths.profile(&ctx.session.profile());
    let logs = profile.ok()?.logs();
    Some(logs.join(format!("put-back-{}", hex(4))))
}
