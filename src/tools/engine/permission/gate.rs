//! The gate that each call passes before its tool runs: what the permissions of the session decide, and the question if there is one.

use std::path::Path;

use serde_json::{Map, Value};

use super::call_approver::{CallAnswer, CallApproval, CallQuestion};
use super::call_facts::{CallFacts, CallPath, CallSubject, KnownTool, SubjectKind};
use super::mode::{CallKind, PermissionMode};
use super::path_glob::normalised;
use super::permissions::{Decision, Denial};
use super::second_names::SKILL_TOOL;
use crate::base::params::{Field, Param, given};
use crate::base::problem::{Outcome, Problem, ProblemKind};
use crate::base::text::{breaks_shown, clip, one_line};
use crate::chat::event::{CallState, DenialReason, Event, Level};
use crate::disk::beneath::Root;
use crate::disk::paths::PROJECT_NOTES;
use crate::formats::patch::{self, Section};
use crate::store::notes::NotesDir;
use crate::tools::engine::approval::{Approval, ApprovalRequest};
use crate::tools::engine::arguments::ParsedArguments;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::hooks::calls::{self, HookedCall};
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::hooks::hook_set::HookOrigin;
use crate::tools::engine::hooks::output::HookDecision;
use crate::tools::engine::hooks::turns;
use crate::tools::engine::hooks::verdict::as_told;
use crate::tools::engine::owned_tool::ToolRef;
use crate::tools::engine::rules::MeantNote;

#[derive(Debug)]
pub(crate) struct ClearedCall {
    /// Its arguments, which whoever was asked may have changed.
    pub args: ParsedArguments,
    /// A rule, a mode, a hook or somebody has agreed already, so that its tool need not ask.
    pub is_agreed: bool,
    /// What has agreed is no person: nobody has read it.
    pub is_unread: bool,
    /// Its arguments are others than those of the call.
    pub is_changed: bool,
    /// What hooks tell the model with its result.
    pub remarks: Option<String>,
}

impl ClearedCall {
    fn new(args: ParsedArguments, is_agreed: bool) -> Self {
        Self {
            args,
            is_agreed,
            is_unread: false,
            is_changed: false,
            remarks: None,
        }
    }

    fn unread(self, is_unread: bool) -> Self {
        Self { is_unread, ..self }
    }
}

/// The tools as rules may name them.
pub(crate) fn known_tools(tools: &[ToolRef]) -> Vec<KnownTool> {
    let known = |tool: &ToolRef| KnownTool {
        name: tool.name().to_owned(),
        subject: subject_field(tool).map(|(kind, _)| kind),
    };
    tools.iter().map(known).collect()
}

/// A call as somebody sees it before it runs.
#[derive(Debug, Clone)]
pub(crate) struct CallDescription {
    /// What would happen, in a few words: of a command the command itself.
    pub title: String,
    /// Its arguments.
    pub input: Map<String, Value>,
    /// The files that it is about, as they were given.
    pub paths: Vec<String>,
    /// The command that it runs.
    pub command: Option<String>,
}

/// Describes a call of `tool`. Arguments that cannot be read are left out.
pub(crate) fn describe(session: &SessionContext, tool: &ToolRef, args: &str) -> CallDescription {
    let args = tool.parse_arguments(args).ok();
    let args = args.unwrap_or_else(|| ParsedArguments::Named(Map::new()));
    let call = facts(session, tool, &args);
    let (command, paths) = match &call.subject {
        CallSubject::Command(command) => (Some(command.clone()), Vec::new()),
        CallSubject::Paths(paths) => {
            let given = paths.iter().map(|path| path.given.clone());
            (None, given.collect())
        }
        _ => (None, Vec::new()),
    };
    CallDescription {
        title: match &command {
            // What comes after a line break is no part of a comment before it.
            Some(command) => breaks_shown(command),
            None => title(&call),
        },
        input: input(&args),
        paths,
        command,
    }
}

/// Lets a call pass, or not: rules that deny, hooks, rules that allow, the mode.
///
/// # Errors
/// It is refused, by a rule, by a hook, by the mode, or by whoever was asked; or the arguments that they gave instead are none.
pub(crate) fn clear(
    ctx: &ToolContext,
    tool: &ToolRef,
    args: ParsedArguments,
) -> Outcome<ClearedCall> {
    if let Some((origin, why)) = ctx.session.hooks.refusal() {
        let call = facts(&ctx.session, tool, &args);
        if CallKind::of(call.effect) != CallKind::Read {
            return Err(refuse_by_hook(ctx, &call, origin, &why));
        }
    }
    match calls::concern(ctx, HookEvent::PreToolUse) {
        true => clear_with_hooks(ctx, tool, args),
        false => decide(ctx, tool, args),
    }
}

/// Lets a call pass, or not, after the hooks were heard.
fn clear_with_hooks(
    ctx: &ToolContext,
    tool: &ToolRef,
    args: ParsedArguments,
) -> Outcome<ClearedCall> {
    let permissions = &ctx.session.permissions;
    let call = facts(&ctx.session, tool, &args);
    if let Some(denial) = permissions.denial(&call) {
        return Err(refuse(ctx, &call, &denial));
    }
    let told = HookedCall {
        tool: call.tool.to_owned(),
        input: input(&args),
    };
    let Some(verdict) = calls::before(ctx, &told) else {
        return decide(ctx, tool, args);
    };
    ctx.stop.check()?;
    let objector = verdict.objector;
    if let Some(reason) = verdict.end.or(verdict.block) {
        return Err(refuse_by_hook(ctx, &call, objector, &reason));
    }
    let remarks = verdict.context.map(|words| as_told(verdict.teller, &words));
    let is_changed = verdict.updated_input.is_some();
    let args = match verdict.updated_input {
        Some(updated) => tool.parse_arguments(&Value::Object(updated).to_string())?,
        None => args,
    };
    let call = facts(&ctx.session, tool, &args);
    let cleared = match verdict.decision {
        Some((HookDecision::Deny, reason)) => {
            return Err(refuse_by_hook(ctx, &call, objector, &reason));
        }
        Some((HookDecision::Allow, _)) => match permissions.refusal(&call) {
            Some(denial) => return Err(refuse(ctx, &call, &denial)),
            None => ClearedCall::new(args, true).unread(!is_by_user(ctx)),
        },
        Some((HookDecision::Ask, reason)) => {
            if let Some(denial) = permissions.refusal(&call) {
                return Err(refuse(ctx, &call, &denial));
            }
            ask_for_hook(ctx, tool, args, objector, &reason)?
        }
        None => decide(ctx, tool, args)?,
    };
    Ok(ClearedCall {
        is_changed: is_changed || cleared.is_changed,
        remarks,
        ..cleared
    })
}

/// What the user calls themselves they want, but not what a sub-agent calls in their place.
fn is_by_user(ctx: &ToolContext) -> bool {
    ctx.approval.is_user_invoked() && ctx.session.policy.depth == 0
}

/// Asks about a call because a hook wants that.
fn ask_for_hook(
    ctx: &ToolContext,
    tool: &ToolRef,
    args: ParsedArguments,
    origin: HookOrigin,
    reason: &str,
) -> Outcome<ClearedCall> {
    let call = facts(&ctx.session, tool, &args);
    let why = match reason {
        "" => format!("A {} wants this call to be asked about.", origin.words()),
        reason => format!(
            "A {} wants this call to be asked about: {reason}",
            origin.words()
        ),
    };
    if ctx.session.permissions.approver().is_some() {
        return ask(ctx, tool, &call, (why, true), args);
    }
    match ctx.approval {
        Approval::Ask(_) => {
            let request = ApprovalRequest::new("Run this call?", "run this call", title(&call));
            ctx.approve(request)?;
            Ok(ClearedCall::new(args, true))
        }
        _ => Err(refuse_by_hook(
            ctx,
            &call,
            origin,
            &format!("{why} Nobody can be asked here."),
        )),
    }
}

/// Lets a call pass, or not, as rules and the mode say.
fn decide(ctx: &ToolContext, tool: &ToolRef, args: ParsedArguments) -> Outcome<ClearedCall> {
    let permissions = &ctx.session.permissions;
    if permissions.is_unset() {
        return Ok(ClearedCall::new(args, false));
    }
    let call = facts(&ctx.session, tool, &args);
    let by_user = is_by_user(ctx);
    match permissions.decide(&call) {
        Decision::Run { chosen } => {
            let is_unread = chosen && !by_user && !permissions.is_read(&call);
            Ok(ClearedCall::new(args, chosen).unread(is_unread))
        }
        Decision::Refuse(Denial::Mode(_)) | Decision::Ask { .. } if by_user => {
            Ok(ClearedCall::new(args, true))
        }
        Decision::Refuse(denial) => Err(refuse(ctx, &call, &denial)),
        Decision::Ask { mode } => {
            if let Some(approver) = permissions.approver() {
                let is_command = matches!(call.subject, CallSubject::Command(_));
                let fence = ctx.session.sandbox.fence();
                let is_fenced = is_command && fence.is_some_and(|choice| !choice.is_default);
                return match is_fenced && !approver.wants_fenced_commands() {
                    true => Ok(ClearedCall::new(args, false)),
                    false => ask(ctx, tool, &call, (mode_words(&call, mode), false), args),
                };
            }
            match ctx.approval {
                // On a terminal the tools that need it ask by themselves.
                Approval::Ask(_) => Ok(ClearedCall::new(args, false)),
                _ => Err(refuse_unasked(ctx, &call, mode)),
            }
        }
    }
}

/// Asks about a call, while its time limit is paused.
fn ask(
    ctx: &ToolContext,
    tool: &ToolRef,
    call: &CallFacts<'_>,
    (reason, is_by_hook): (String, bool),
    args: ParsedArguments,
) -> Outcome<ClearedCall> {
    let permissions = &ctx.session.permissions;
    let Some(approver) = permissions.approver() else {
        return Err(refused_by_mode(call, "nobody can be asked any more"));
    };
    let question = CallQuestion {
        tool: call.tool.to_owned(),
        call: ctx.call.clone(),
        input: input(&args),
        title: title(call),
        description: tool.about().to_owned(),
        reason,
        is_by_hook,
    };
    turns::question_is_asked(ctx, &question.title);
    ctx.say_state(CallState::Waiting);
    let answer = ctx.pauses.during(|| approver.ask(&question, &ctx.stop));
    let approval = match answer {
        Ok(CallAnswer::Allow(approval)) => approval,
        Ok(CallAnswer::Deny { message, interrupt }) => {
            let message = match message.trim() {
                "" => format!("{} was not agreed to.", call.tool),
                message => message.to_owned(),
            };
            let problem = Problem::new(ProblemKind::Declined, message);
            deny(ctx, call, DenialReason::Asked, &problem);
            if interrupt {
                ctx.turn.fire();
            }
            return Err(problem);
        }
        Err(problem) => {
            if !problem.is_cancelled() {
                deny(ctx, call, DenialReason::Asked, &problem);
            }
            return Err(problem);
        }
    };
    let updated = approval.updated_input.clone();
    keep(ctx, approval);
    let updated = updated.filter(|updated| *updated != question.input);
    let is_changed = updated.is_some();
    let args = match updated {
        None => args,
        Some(updated) => {
            let args = tool.parse_arguments(&Value::Object(updated).to_string())?;
            // What may never run may not run with other arguments either.
            let call = facts(&ctx.session, tool, &args);
            if let Some(denial) = permissions.denial(&call) {
                return Err(refuse(ctx, &call, &denial));
            }
            args
        }
    };
    Ok(ClearedCall {
        is_changed,
        ..ClearedCall::new(args, true)
    })
}

/// Why a call is asked about in a mode.
fn mode_words(call: &CallFacts<'_>, mode: PermissionMode) -> String {
    format!(
        "In permission mode {} a call that {} is asked about.",
        mode.word(),
        CallKind::of(call.effect).words()
    )
}

/// Keeps what the answer says about later calls.
pub(super) fn keep(ctx: &ToolContext, approval: CallApproval) {
    let permissions = &ctx.session.permissions;
    permissions.deny(approval.deny);
    let mode = approval
        .mode
        .map_or(Ok(()), |mode| permissions.set_mode(mode));
    let kept = permissions.allow(approval.allow).and(mode);
    if let Err(problem) = kept {
        let words = problem.one_line();
        ctx.listener.emit(Event::Notice(Level::Warning, words));
    }
}

fn deny(ctx: &ToolContext, call: &CallFacts<'_>, reason: DenialReason, problem: &Problem) {
    ctx.listener.emit(Event::Denied {
        id: ctx.call.clone(),
        name: call.tool.to_owned(),
        reason,
        message: problem.one_line(),
    });
}

/// Tells that a call was refused because of what this process may do at all, whatever permissions say.
pub(crate) fn refused_by_bounds(ctx: &ToolContext, tool: &ToolRef, problem: Problem) -> Problem {
    ctx.listener.emit(Event::Denied {
        id: ctx.call.clone(),
        name: tool.name().to_owned(),
        reason: DenialReason::Other,
        message: problem.one_line(),
    });
    problem
}

fn refuse(ctx: &ToolContext, call: &CallFacts<'_>, denial: &Denial) -> Problem {
    let (problem, reason) = match denial {
        Denial::Rule(rule) => (
            Problem::refused(format!(
                "{} was not run: the rule {} of --disallowed-tools forbids it.",
                call.tool,
                clip(&one_line(rule), 200)
            ))
            .next(
                "Do without it; only whoever runs Marvin can allow it, by leaving out that rule.",
            ),
            DenialReason::Rule,
        ),
        Denial::Mode(mode) => {
            let why = format!(
                "in permission mode {} a call that {} is refused",
                mode.word(),
                CallKind::of(call.effect).words()
            );
            (refused_by_mode(call, &why), DenialReason::Mode)
        }
    };
    deny(ctx, call, reason, &problem);
    problem
}

fn refuse_by_hook(
    ctx: &ToolContext,
    call: &CallFacts<'_>,
    origin: HookOrigin,
    reason: &str,
) -> Problem {
    let reason = match reason {
        "" => "it gave no reason.",
        reason => reason,
    };
    let problem = Problem::refused(format!(
        "{} was not run: a {} refused it: {reason}",
        call.tool,
        origin.words()
    ));
    deny(ctx, call, DenialReason::Hook, &problem);
    problem
}

/// The refusal when somebody would have to be asked and nobody can be.
fn refuse_unasked(ctx: &ToolContext, call: &CallFacts<'_>, mode: PermissionMode) -> Problem {
    let why = format!(
        "in permission mode {} a call that {} is asked about, and nobody can be asked here",
        mode.word(),
        CallKind::of(call.effect).words()
    );
    let problem = refused_by_mode(call, &why);
    deny(ctx, call, DenialReason::Mode, &problem);
    problem
}

fn refused_by_mode(call: &CallFacts<'_>, why: &str) -> Problem {
    Problem::refused(format!("{} was not run: {why}.", call.tool)).next(format!(
        "Whoever runs Marvin can allow it with --allowed-tools '{}' or another --permission-mode; until then, say what you would do.",
        call.suggested_rule()
    ))
}

/// What would happen, in a few words.
fn title(call: &CallFacts<'_>) -> String {
    let subject = match &call.subject {
        CallSubject::Command(command) => command.clone(),
        CallSubject::Paths(paths) => {
            let given: Vec<&str> = paths.iter().map(|path| path.given.as_str()).collect();
            given.join(", ")
        }
        CallSubject::Name(name) => name.clone(),
        CallSubject::None | CallSubject::Unknown => return call.tool.to_owned(),
    };
    format!("{}: {}", call.tool, clip(&one_line(&subject), 200))
}

/// The arguments as an object.
pub(crate) fn input(args: &ParsedArguments) -> Map<String, Value> {
    match args {
        ParsedArguments::Named(map) => map.clone(),
        // The name under which the tools that take one text find it again.
        ParsedArguments::Whole(text) => {
            Map::from_iter([("input".to_owned(), Value::from(text.as_str()))])
        }
    }
}

fn facts<'a>(session: &SessionContext, tool: &'a ToolRef, args: &ParsedArguments) -> CallFacts<'a> {
    CallFacts {
        tool: tool.name(),
        effect: tool.rules().effect,
        subject: subject(session, tool, args),
    }
}

/// The parameter that rules about a tool are about. What those of a server mean nobody knows here.
fn subject_field(tool: &ToolRef) -> Option<(SubjectKind, Field)> {
    match tool {
        ToolRef::BuiltIn(built_in) => SubjectKind::of(&built_in.fields(), built_in.rules.effect),
        ToolRef::Owned(_) => None,
    }
}

fn subject(session: &SessionContext, tool: &ToolRef, args: &ParsedArguments) -> CallSubject {
    if tool.name() == SKILL_TOOL
        && let ParsedArguments::Named(map) = args
        && let Some(name) = map.get("name").and_then(Value::as_str)
    {
        return CallSubject::Name(name.trim().to_owned());
    }
    let Some((kind, field)) = subject_field(tool) else {
        return CallSubject::None;
    };
    let root = session.working_dir.root();
    let root = root.filter(|_| tool.rules().coding);
    let path = |given: String| match tool.rules().note {
        Some(meant) => note_path(session, meant, given),
        None => call_path(root.as_deref(), given),
    };
    match args {
        ParsedArguments::Whole(text) => match changed_files(text) {
            Some(files) if kind == SubjectKind::Path => {
                CallSubject::Paths(files.into_iter().map(path).collect())
            }
            _ => CallSubject::Unknown,
        },
        ParsedArguments::Named(map) => {
            let default = field.default_value();
            let value = given(&field, map).or(default.as_ref());
            match (value.and_then(String::read), kind) {
                // Without it the tool does not run.
                (None, _) if field.required => CallSubject::None,
                (None, _) => CallSubject::Unknown,
                (Some(text), SubjectKind::Command) => CallSubject::Command(text),
                (Some(text), SubjectKind::Path) => CallSubject::Paths(vec![path(text)]),
                (Some(text), SubjectKind::Name) => CallSubject::Name(text),
            }
        }
    }
}

/// The files that a patch names.
fn changed_files(text: &str) -> Option<Vec<String>> {
    let patch = patch::parse(&patch::unwrap_patch_text(text)?).ok()?;
    let files = patch
        .sections
        .into_iter()
        .flat_map(|section| match section {
            Section::Add { path, .. } | Section::Delete { path } => [Some(path), None],
            Section::Update { path, to, .. } => [Some(path), to],
        });
    Some(files.flatten().collect())
}

fn call_path(root: Option<&Root>, given: String) -> CallPath {
    let relative = normalised(&given);
    let checked = root.and_then(|root| Some((root, root.check(&given).ok()?)));
    let through_link = checked
        .as_ref()
        .map(|(root, path)| root.goes_through_link(path));
    let real = match (&checked, through_link) {
        (Some((root, path)), Some(true)) => real_path(root.path(), path.as_str()),
        _ => None,
    };
    CallPath {
        is_direct: relative.is_some() && through_link == Some(false),
        given,
        relative,
        others: real.into_iter().collect(),
    }
}

/// The path of a note: in a project that of a file in it.
fn note_path(session: &SessionContext, meant: MeantNote, given: String) -> CallPath {
    let project = session.project();
    let Ok(dir) = NotesDir::open(&session.paths, project.clone()) else {
        return call_path(None, given);
    };
    let name = match meant(&dir, &given) {
        Ok(rel) => rel.as_str().to_owned(),
        // The tool makes it, or fails.
        Err(_) => dir.name(&given),
    };
    let mut path = match &project {
        Some(project) => call_path(Some(project), format!("{PROJECT_NOTES}/{name}")),
        None => {
            let whole = dir.root().map(|notes| notes.path().join(&name));
            CallPath {
                given: whole.map_or_else(|_| given.clone(), |whole| whole.display().to_string()),
                ..call_path(None, name.clone())
            }
        }
    };
    let names = [format!("{name}.md"), name, given];
    let names = names.iter().filter_map(|name| normalised(name));
    for name in names {
        if project.is_some() {
            path.others.push(format!("{PROJECT_NOTES}/{name}"));
        }
        path.others.push(name);
    }
    path
}

/// Where the links in a path lead, relative to `dir`. The last part need not exist.
fn real_path(dir: &Path, path: &str) -> Option<String> {
    let whole = dir.join(path);
    let real = whole.canonicalize().ok().or_else(|| {
        let parent = whole.parent()?.canonicalize().ok()?;
        Some(parent.join(whole.file_name()?))
    })?;
    let real = real.strip_prefix(dir.canonicalize().ok()?).ok()?;
    Some(real.to_string_lossy().into_owned())
}
