//! What commands must not change unseen, around each command in the sandbox and between them: what git runs is put back, unless a person keeps it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::cancel::Cancel;
use crate::base::ids::hex;
use crate::base::text::escape_controls;
use crate::chat::event::NullSink;
use crate::disk::beneath::Root;
use crate::disk::paths::{PROJECT_HOOKS, PROJECT_SKILLS};
use crate::proc::descendants;
use crate::proc::sandbox::git_watch::{GitWatch, WatchedPlaces};
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

/// Who changed something when it was none of the commands themselves.
const LEFT_BEHIND: &str = "A process that an earlier command left behind";

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
    };
    let left = ctx.session.modules.get::<LeftBehind>();
    let before = left.take(root.path());
    let remarks = before.map(|watch| undo(ctx, &watch, LEFT_BEHIND));
    Some(CommandWatch {
        watch: GitWatch::note(places.clone()),
        places,
        remarks: remarks.unwrap_or_default(),
    })
}

impl CommandWatch {
    /// Looks at what the command, which has ended, has changed; the remarks for the result.
    pub(super) fn settle(self, ctx: &ToolContext) -> String {
        let mut remarks = self.remarks;
        remarks.push_str(&undo(ctx, &self.watch, "The command"));
        if descendants::has_sandboxed() {
            let left = ctx.session.modules.get::<LeftBehind>();
            left.put(self.places.dir.clone(), GitWatch::note(self.places));
        }
        remarks
    }
}

/// What a process that a command left behind has changed is put back as the session ends: no command comes any more before which somebody would look. What the user
/// is to be told of it.
pub(crate) fn settle_at_end(session: &Arc<SessionContext>) -> Option<String> {
    let left = session.modules.get::<LeftBehind>().take_all();
    if left.is_empty() {
        return None;
    }
    // Where they end with this process they change nothing afterwards.
    descendants::end_all(descendants::GRACE);
    let mut ctx = ToolContext::new(Arc::clone(session), Cancel::new(), Arc::new(NullSink));
    ctx.approval = Approval::Deny;
    let remarks = left.values().map(|watch| undo(&ctx, watch, LEFT_BEHIND));
    let remarks: String = remarks.collect();
    let lines = remarks.lines().filter(|line| !line.is_empty());
    let lines = lines.map(|line| line.trim_matches(['[', ']']));
    let lines: Vec<&str> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Puts back what `who` changed of what git runs, unless a person wants to keep it; the remarks for the result.
fn undo(ctx: &ToolContext, watch: &GitWatch, who: &str) -> String {
    let changes = watch.changes();
    let list = |paths: &[PathBuf]| {
        let paths = paths.iter().map(|path| path.display().to_string());
        escape_controls(&paths.collect::<Vec<_>>().join(", "))
    };
    let mut remarks = String::new();
    if !changes.git.is_empty() {
        let shown = list(&changes.git);
        let request = ApprovalRequest::new(
            "Keep what the command changed of what git runs?",
            "keep what the command changed of what git runs",
            &shown,
        );
        let can_be_asked = matches!(ctx.approval, Approval::Ask(_)) && !ctx.is_agreed;
        if !(can_be_asked && ctx.approve(request).is_ok()) {
            let done = watch.put_back(&changes.git, kept_in(ctx).as_deref());
            let kept = done.kept.map(|kept| {
                format!(
                    " The other version is in {}.",
                    escape_controls(&kept.display().to_string())
                )
            });
            let kept = kept.unwrap_or_default();
            remarks = match done.failed.is_empty() {
                true => format!(
                    "\n[{who} changed {shown}: put back; a command may not change what git runs.{kept}]"
                ),
                false => format!(
                    "\n[{who} changed {shown}: a command may not change what git runs, and {} could not be put back. Tell the user, before they use git here.{kept}]",
                    list(&done.failed)
                ),
            };
        }
    }
    if !changes.told.is_empty() {
        remarks.push_str(&format!(
            "\n[{who} changed {}, which other programs run or obey. Tell the user.]",
            list(&changes.told)
        ));
    }
    remarks
}

/// A new folder for the other versions of what is put back, where no command writes.
pub(crate) fn kept_in(ctx: &ToolContext) -> Option<PathBuf> {
    let profile = ctx.session.paths.profile(&ctx.session.profile());
    let logs = profile.ok()?.logs();
    Some(logs.join(format!("put-back-{}", hex(4))))
}
