//! The phases, with real repositories and real processes: a shell script plays the children.

mod code;
mod context;
mod documents;
mod epics;
mod resume;
mod reviews;
mod steering;
mod test_runs;
mod tiers;
mod tree;
mod upstream;
mod worktrees;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::Run;
use super::places::RunPlaces;
use super::repository::{self, Uncommitted};
use super::run::RunRequest;
use super::steering::Steering;
use super::tier::{OwnModel, TierModels, TierOverrides};
use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::proc::tests::program;
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::policy::ToolPolicy;

/// What stands before every script. `is LABEL` asks which child it plays, `nth LABEL` how often that one was started, `told WORDS` whether its prompt has
/// them; `document FILE` writes one that is long enough, `report` prints one, and `called TOOL END` records a call of a tool. What the shell does itself
/// starts no program: a run has dozens of children.
const PRELUDE: &str = r#"#!/bin/bash
while [ $# -gt 0 ]; do
  case "$1" in --prompt-file) PROMPT=$2; shift;; esac
  shift
done
NAME=${MARVIN_SUBAGENT_LOG##*/}
now() { local time=$EPOCHREALTIME; REPLY=${time/[.,]/}; [ "$REPLY" ] || REPLY=$(date +%s%6N); }
now; CALL="$CALLS/$REPLY-$$"
IFS= read -r -d '' TOLD < "$PROMPT"
printf '%s' "$TOLD" > "$CALL.prompt"
echo "$NAME readonly=$MARVIN_READONLY writable=$MARVIN_WRITABLE_FILES ticket=$MARVIN_TICKET model=$MARVIN_MODEL" > "$CALL.call"
is() { case "$NAME" in "$1"-[0-9]*) return 0;; esac; return 1; }
told() { [[ $TOLD == *"$1"* ]]; }
nth() { local count=0 call; for call in "$CALLS"/*.call; do read -r call < "$call"; [[ $call == "$1"-[0-9]* ]] && : $((count++)); done; [ $count = "$2" ]; }
document() { [ -d "${1%/*}" ] || mkdir -p "${1%/*}"; for ((i = 1; i <= 60; i++)); do echo "Line $i of the document that $NAME wrote."; done > "$1"; }
called() { echo "{\"ts\":\"\",\"tool\":\"$1\",\"args\":\"command=./program\",\"result\":\"\",\"end\":\"$2\",\"elapsed_ms\":1}" >> "$MARVIN_SUBAGENT_LOG"; }
report() { for i in 1 2 3 4 5; do echo "Section $i was read from its beginning to its end."; done; for line in "$@"; do echo "$line"; done; }
"#;

/// A project with a repository, and a run in it.
pub(super) struct Stage {
    dir: tempfile::TempDir,
    pub run: Run,
    events: Arc<Events>,
}

#[derive(Default)]
struct Events(Mutex<Vec<PipelineEvent>>);

impl EventSink for Events {
    fn emit(&self, event: Event) {
        if let Event::Pipeline(event) = event {
            self.0.lock().unwrap().push(event);
        }
    }
}

/// A child that was started.
#[derive(Debug)]
pub(super) struct Call {
    /// Its label.
    pub label: String,
    /// What bounds it.
    pub bounds: String,
    pub prompt: String,
}

impl Stage {
    /// A run whose children are played by `script`, for the task "Build a clock."
    pub(super) fn new(script: &str) -> Self {
        Self::with(script, &[])
    }

    /// The same with environment variables.
    pub(super) fn with(script: &str, variables: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["project", "calls", "home"] {
            fs::create_dir(path(name)).unwrap();
        }
        let program = program(dir.path(), "child", &format!("{PRELUDE}\n{script}\n"));
        let calls = path("calls").display().to_string();
        let home = path("home").display().to_string();
        let search = std::env::var("PATH").unwrap();
        let mut all = vec![
            ("PATH", search.as_str()),
            ("HOME", home.as_str()),
            ("CALLS", calls.as_str()),
            ("MARVIN_PROVIDER_PAUSE", "0"),
        ];
        all.extend(variables);
        let env = Env::new(
            all.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        let session = Arc::new(SessionContext::new(env, ToolPolicy::default()));
        session
            .working_dir
            .set(Root::open(&path("project")).unwrap(), true);
        let own = OwnModel {
            provider: "openai",
            model: "m",
        };
        let mut overrides = TierOverrides::default();
        overrides.add("all", "openai:m").unwrap();
        overrides.add("opus", "openai:strong").unwrap();
        overrides.add("aux_reviewer", "openai:second").unwrap();
        let events = Arc::<Events>::default();
        let run = Run {
            supervisor: None,
            program,
            places: RunPlaces::of_project(session.working_dir.root().unwrap()),
            task: "Build a clock.".to_owned(),
            ticket: "cl-0001".to_owned(),
            tiers: TierModels::resolve(&overrides, &session.env, &own, &session.clock),
            max_cost: None,
            is_staged: true,
            branch: String::new(),
            tickets: None,
            spent_before: None,
            ctx: ToolContext::new(session, Cancel::new(), Arc::clone(&events) as _),
        };
        repository::prepare(&run, None, Uncommitted::Take, true).unwrap();
        Self { dir, run, events }
    }

    /// The same run, as its caller asks for it.
    pub(super) fn request(&self) -> RunRequest {
        RunRequest {
            places: self.run.places.clone(),
            task: self.run.task.clone(),
            ticket: None,
            tickets: None,
            design_first: true,
            tdd: false,
            branch: None,
            allow_dirty: false,
            tiers: self.run.tiers.clone(),
            max_cost: None,
            program: self.run.program.clone(),
            supervisor: None,
            steering: Steering::default(),
        }
    }

    /// The same up to a phase.
    pub(super) fn request_until(&self, phase: &'static str) -> RunRequest {
        RunRequest {
            steering: Steering {
                until: Some(phase),
                ..Steering::default()
            },
            ..self.request()
        }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("project").join(name)
    }

    pub(super) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A document that is long enough, and has `text` in it.
    pub(super) fn put_document(&self, name: &str, text: &str) {
        self.put(name, &format!("{text}\n{}", "A line.\n".repeat(200)));
    }

    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// All children in the order of their starts.
    pub(super) fn calls(&self) -> Vec<Call> {
        let folder = self.dir.path().join("calls");
        let mut names: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "call"))
            .collect();
        names.sort();
        let call = |path: &PathBuf| {
            let text = fs::read_to_string(path).unwrap();
            let (name, bounds) = text.trim().split_once(' ').unwrap();
            // label-date-time-random.tools.jsonl
            let label = name.rsplitn(4, '-').nth(3).unwrap();
            Call {
                label: label.to_owned(),
                bounds: bounds.to_owned(),
                prompt: fs::read_to_string(path.with_extension("prompt")).unwrap(),
            }
        };
        names.iter().map(call).collect()
    }

    pub(super) fn labels(&self) -> Vec<String> {
        self.calls().into_iter().map(|call| call.label).collect()
    }

    /// The prompts of the children with a label.
    pub(super) fn prompts(&self, label: &str) -> Vec<String> {
        let calls = self.calls().into_iter();
        calls
            .filter(|call| call.label == label)
            .map(|call| call.prompt)
            .collect()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let events = self.events.0.lock().unwrap();
        let words = events.iter().filter_map(|event| match event {
            PipelineEvent::Warning { words } => Some(words.clone()),
            _ => None,
        });
        words.collect()
    }

    /// Phase, subject and number of every round.
    pub(super) fn rounds(&self) -> Vec<String> {
        let events = self.events.0.lock().unwrap();
        let rounds = events.iter().filter_map(|event| match event {
            PipelineEvent::RoundStarted {
                phase,
                subject,
                round,
                most,
            } => Some(format!("{phase} {subject} {round}/{most}")),
            _ => None,
        });
        rounds.collect()
    }

    pub(super) fn checkpoints(&self) -> Vec<String> {
        let events = self.events.0.lock().unwrap();
        let messages = events.iter().filter_map(|event| match event {
            PipelineEvent::Checkpoint { message } => Some(message.clone()),
            _ => None,
        });
        messages.collect()
    }
}
