//! A hook that is a command: it reads the event as JSON on its standard input, and answers by its exit status, or by JSON on its standard output.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::event::HookEvent;
use super::file::FileHook;
use super::hook_set::{Hook, HookOrigin, HookRunner};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, one_line};
use crate::base::variables::MARVIN_NO_HOOKS;
use crate::proc::capture::KeepLimits;
use crate::proc::child::{ProgramOutput, ProgramSpec, Stdin};
use crate::proc::child_env::command_env;
use crate::proc::shell::shell;

/// Bytes that are read of each of its outputs.
const MAX_OUTPUT_BYTES: usize = 1 << 20;
/// The status by which a command objects.
const OBJECTION: i32 = 2;
/// Time between TERM and KILL when its time is over.
const GRACE: Duration = Duration::from_millis(500);

/// What the commands of a session's hooks have in common.
#[derive(Debug, Clone)]
pub(crate) struct CommandSetting {
    pub env: Env,
    /// Variables that bound a Marvin which a command starts.
    pub bounds: Vec<(String, String)>,
    /// The folder of the project, which commands are told.
    pub project: Option<PathBuf>,
    /// As in [`ProgramSpec::supervisor`].
    pub supervisor: Option<PathBuf>,
}

struct CommandRunner {
    event: HookEvent,
    command: String,
    setting: Arc<CommandSetting>,
}

/// The hooks of a file.
pub(crate) fn hooks(
    file: Vec<FileHook>,
    origin: HookOrigin,
    setting: &Arc<CommandSetting>,
) -> impl Iterator<Item = Hook> {
    file.into_iter().map(move |hook| {
        let runner = CommandRunner {
            event: hook.event,
            command: hook.command,
            setting: Arc::clone(setting),
        };
        Hook::new(hook.event, hook.matcher, Box::new(runner))
            .of(origin)
            .limit(hook.limit)
            .blocking_on_failure(hook.blocks_on_failure)
    })
}

impl CommandRunner {
    fn spec(&self, input: &Value, limit: Duration) -> Outcome<ProgramSpec> {
        let setting = &self.setting;
        let dir = input.get("cwd").and_then(Value::as_str);
        let dir = dir.filter(|dir| !dir.is_empty()).map(PathBuf::from);
        let mut variables = command_env(&setting.env);
        variables.extend(setting.bounds.clone());
        // A Marvin that a hook starts would ask the same hook, and so on.
        variables.push((MARVIN_NO_HOOKS.name.to_owned(), "1".to_owned()));
        let project = setting.project.as_ref().or(dir.as_ref());
        let project = project.map(|path| path.to_string_lossy().into_owned());
        for name in ["MARVIN_PROJECT_DIR", "CLAUDE_PROJECT_DIR"] {
            let value = project.clone().unwrap_or_default();
            variables.push((name.to_owned(), value));
        }
        let shell = shell(&setting.env)?;
        let mut spec = ProgramSpec::new(shell, ["-c", self.command.as_str()], variables);
        let mut bytes = input.to_string().into_bytes();
        bytes.push(b'\n');
        spec.dir = dir;
        spec.stdin = Stdin::Bytes(bytes);
        spec.supervisor.clone_from(&setting.supervisor);
        spec.limit = limit;
        spec.grace = GRACE;
        spec.stdout = KeepLimits::first(MAX_OUTPUT_BYTES);
        spec.stderr = KeepLimits::first(MAX_OUTPUT_BYTES);
        Ok(spec)
    }

    /// What a command that ended by itself says.
    fn answer(&self, output: &ProgramOutput) -> Outcome<Value> {
        let errors = output.stderr.text();
        match output.code {
            Some(0) => self.said(output.stdout.text().trim()),
            Some(OBJECTION) => Ok(json!({"decision": "block", "reason": errors.trim()})),
            _ => {
                let why = match errors.trim() {
                    "" => String::new(),
                    errors => format!(" It says: {}", clip(&one_line(errors), 300)),
                };
                Err(Problem::config(format!(
                    "It failed, {}.{why}",
                    output.ending().trim()
                )))
            }
        }
    }

    /// What standard output says: an object, or where the event has use for it a text for the model.
    fn said(&self, text: &str) -> Outcome<Value> {
        if text.starts_with('{') {
            return serde_json::from_str(text).map_err(|error| {
                Problem::input(format!("What it writes is no JSON: {error}.")).because(error)
            });
        }
        let is_context = matches!(
            self.event,
            HookEvent::SessionStart | HookEvent::UserPromptSubmit
        );
        Ok(match is_context && !text.is_empty() {
            true => json!({"hookSpecificOutput": {"additionalContext": text}}),
            false => Value::Null,
        })
    }
}

impl HookRunner for CommandRunner {
    fn run(&self, input: &Value, limit: Duration, stop: &Cancel) -> Outcome<Value> {
        let output = self.spec(input, limit)?.run(stop)?;
        if output.cancelled {
            return Err(Problem::cancelled());
        }
        if output.timed_out {
            return Err(Problem::timeout(format!(
                "It was ended after {} s.",
                limit.as_secs_f64()
            )));
        }
        self.answer(&output)
    }

    fn command(&self) -> Option<&str> {
        Some(&self.command)
    }

    fn runs_in_children(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("the hook {}", clip(&one_line(&self.command), 80))
    }
}
