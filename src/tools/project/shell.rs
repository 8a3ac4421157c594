//! Module `shell`: commands in the working directory.

use std::path::Path;
use std::time::Duration;

use crate::base::problem::{Outcome, Problem, ProblemKind, not_empty};
use crate::base::variables::MARVIN_TICKET;
use crate::chat::event::{CallEnd, CallState};
use crate::proc::child_env::NO_BYTE_CODE;
use crate::proc::sandbox::landlock_abi;
use crate::proc::sandbox::session_sandbox::CommandSandbox;
use crate::proc::sandbox::words::references_hint;
use crate::proc::shell::{ShellCommand, ShellOutput};
use crate::tools::engine::approval::{Approval, ApprovalRequest};
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::permission::call_approver::CallAnswer;
use crate::tools::engine::tool::tools;
use crate::tools::project::command_watch::watch;
use crate::tools::project::scratch;
use crate::tools::{PROGRAMS, ToolOk};

tools! { "shell", in_children;
    /// Run a shell command in the working directory.
    run_command(RunCommand; PROGRAMS.direct().coding().seconds(60).long("timeout").attended(&["outside_sandbox", "reason"])) {
        /// shell text
        command: String, example: "cargo test", alias: &["cmd"];
        /// seconds
        timeout: u64 = 60, min: 1, alias: &["timeout_s", "seconds"];
        /// run it outside the sandbox: the user is asked
        outside_sandbox: bool = false, unlisted: true;
        /// why it has to run outside
        reason: String = "", unlisted: true;
    } => run, says ["run {command}"];
}

/// Commands that delete immediately. The hint asks for care; it is not a protection.
const DELETE_COMMANDS: [&str; 3] = ["rm", "rmdir", "unlink"];

fn run(ctx: &ToolContext, args: RunCommand) -> Outcome<ToolOk> {
    let command = not_empty("command", &args.command, "For example: cargo test")?;
    let first = command.split_whitespace().next().unwrap_or_default();
    if DELETE_COMMANDS.contains(&first) {
        return Err(Problem::refused(format!("{first} as the first word of a command is refused, because agents have deleted the wrong files with it."))
            .next("Restore files with git_checkout, or leave them and say so."));
    }
    if first == "tk" && MARVIN_TICKET.read(&ctx.session.env).is_some() {
        return Err(
            Problem::refused("Tickets are not handled through the shell.")
                .next("Use the ticket tools."),
        );
    }
    let root = ctx.root()?;
    let asked = to_be_read(ctx);
    let ctx = asked.as_ref().unwrap_or(ctx);
    let sandbox = match sandbox_for(ctx, root.path())? {
        Some(sandbox) if args.outside_sandbox => {
            let request = ApprovalRequest::new(
                "Run this command outside the sandbox?",
                "run this command outside the sandbox",
                command,
            );
            leave_sandbox(
                ctx,
                request.in_dir(root.path()).because(&args.reason),
                &sandbox,
            )?;
            None
        }
        None => {
            let request = ApprovalRequest::new("Run this command?", "run this command", command);
            ctx.approve(request.in_dir(root.path()).because(&args.reason))?;
            None
        }
        fenced => fenced,
    };
    let spill = scratch::long_output(ctx)?;
    let watch = watch(ctx, sandbox.as_ref(), &root);
    let output = ShellCommand {
        text: command,
        dir: root.path(),
        variables: variables(ctx),
        limit: Duration::from_secs(args.timeout.min(24 * 3600)),
        spill: &spill,
        supervisor: ctx.session.supervisor.as_deref(),
        sandbox: sandbox.as_ref(),
    }
    .run(&ctx.session.env, &ctx.stop, &mut |lines| ctx.output(lines));
    // Long output was spilled, which created the folder.
    if spill.is_dir() {
        scratch::hide(ctx);
    }
    let remarks = watch.map(|watch| watch.settle(ctx)).unwrap_or_default();
    let mut output = output?;
    output.text.push_str(&remarks);
    if let Some(sandbox) = &sandbox
        && output.code != Some(0)
        && let Some(hint) = sandbox.policy.hint(&output.text)
    {
        output.text.push('\n');
        output.text.push_str(&hint);
    }
    if sandbox.is_some()
        && let Some(hint) = references_hint(&output.text)
    {
        output.text.push('\n');
        output.text.push_str(hint);
    }
    if output.cancelled {
        // A failure, so that it is not mistaken for the complete output.
        return Err(Problem::cancelled().facts(output.text));
    }
    Ok(ToolOk {
        end: end(&output),
        ..output.text.into()
    })
}

/// The call as one that is asked about, where a rule, a mode or a hook agreed to it but this system cannot hold it.
fn to_be_read(ctx: &ToolContext) -> Option<ToolContext> {
    let can_be_asked = matches!(ctx.approval, Approval::Ask(_));
    let is_undecided = ctx.is_unread && ctx.session.sandbox.choice().is_none();
    (can_be_asked && is_undecided && landlock_abi().is_err()).then(|| ToolContext {
        is_agreed: false,
        is_unread: false,
        ..ctx.clone()
    })
}

/// The sandbox of a command of this call that runs in `dir`; none when a person agrees to it or typed it.
///
/// # Errors
/// The folder may not be writable, or there is none for temporary files.
pub(super) fn sandbox_for(ctx: &ToolContext, dir: &Path) -> Outcome<Option<CommandSandbox>> {
    let (sandbox, env) = (&ctx.session.sandbox, &ctx.session.env);
    match ctx.is_unread {
        true => sandbox.for_unread_command(dir, env),
        false => sandbox.for_command(dir, env),
    }
}

/// Asks the person whether a command may run outside; an agreement to the call as a whole is none to this.
///
/// # Errors
/// They do not want it, or nobody can be asked.
fn leave_sandbox(
    ctx: &ToolContext,
    request: ApprovalRequest,
    sandbox: &CommandSandbox,
) -> Outcome<()> {
    let refused = || {
        let summary = sandbox.policy.summary();
        let problem = Problem::refused(format!("Commands run in the sandbox here ({summary})."));
        Err(problem.next(sandbox.policy.ways()))
    };
    if !ctx.session.policy.can_ask_to_leave_sandbox {
        return refused();
    }
    if matches!(ctx.approval, Approval::Ask(_)) {
        let asked = ToolContext {
            is_agreed: false,
            ..ctx.clone()
        };
        return asked.approve(request);
    }
    let Some(approver) = ctx.session.permissions.approver() else {
        return refused();
    };
    ctx.say_state(CallState::Waiting);
    let ask = || approver.ask_outside(&ctx.call, &request, &ctx.stop);
    let answer = ctx.pauses.during(ask);
    ctx.say_state(CallState::Running);
    match answer.transpose()? {
        None => refused(),
        Some(CallAnswer::Allow(_)) => Ok(()),
        Some(CallAnswer::Deny { message, interrupt }) => {
            if interrupt {
                ctx.turn.fire();
            }
            Err(Problem::new(ProblemKind::Declined, message))
        }
    }
}

/// What bounds a Marvin that the command starts; and in a child, whose tests and corrections follow each other quickly, no byte code of Python.
fn variables(ctx: &ToolContext) -> Vec<(String, String)> {
    let policy = &ctx.session.policy;
    let mut variables = ctx.session.child_variables();
    if policy.depth > 0 {
        variables.push((NO_BYTE_CODE.0.to_owned(), NO_BYTE_CODE.1.to_owned()));
    }
    variables
}

fn end(output: &ShellOutput) -> CallEnd {
    match (output.timed_out, output.code, output.signal) {
        (true, _, _) => CallEnd::Timeout,
        (false, Some(0), _) => CallEnd::Success,
        (false, Some(code), _) => CallEnd::ExitCode(code),
        (false, None, Some(signal)) => CallEnd::Signal(signal),
        (false, None, None) => CallEnd::Failure,
    }
}
