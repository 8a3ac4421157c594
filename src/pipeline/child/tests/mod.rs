//! Children played by shell scripts, which are real processes.

mod attempts;
mod outages;
mod parallel;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::base::cancel::Cancel;
use crate::base::clock::Clock;
use crate::base::env::Env;
use crate::base::problem::ProblemKind;
use crate::base::testing::{assert_has, assert_lacks};
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
use crate::pipeline::places::RunPlaces;
use crate::pipeline::tier::{OwnModel, TierModels, TierOverrides};
use crate::tools::engine::context::{SessionContext, ToolContext};
use crate::tools::engine::policy::ToolPolicy;

/// Long enough for any script here.
const LONG: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Recorder(Mutex<Vec<PipelineEvent>>);

impl EventSink for Recorder {
    fn emit(&self, event: Event) {
        if let Event::Pipeline(event) = event {
            self.events().push(event);
        }
    }
}

impl Recorder {
    fn events(&self) -> std::sync::MutexGuard<'_, Vec<PipelineEvent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The attempts that were started: label and model.
    fn started(&self) -> Vec<(String, String)> {
        let events = self.events();
        let started = events.iter().filter_map(|event| match event {
            PipelineEvent::ChildStarted { label, model, .. } => {
                Some((label.clone(), model.clone()))
            }
            _ => None,
        });
        started.collect()
    }

    /// How children ended.
    fn ended(&self) -> Vec<(bool, String)> {
        let events = self.events();
        let ended = events.iter().filter_map(|event| match event {
            PipelineEvent::ChildEnded { done, words, .. } => Some((*done, words.clone())),
            _ => None,
        });
        ended.collect()
    }
}

/// A project whose children run a script. In the script `$prompt` is the prompt file, `$n` how many children have started, this one included.
struct Project {
    dir: TempDir,
    events: Arc<Recorder>,
    run: Run,
}

/// One model for all, and another one for the last attempt.
fn tiers(env: &Env, last_resort: &str) -> TierModels {
    let mut overrides = TierOverrides::default();
    overrides.add("all", "own").unwrap();
    overrides.add("fallback", last_resort).unwrap();
    let own = OwnModel {
        provider: "ollama",
        model: "own",
    };
    TierModels::resolve(&overrides, env, &own, &Clock::new(env))
}

impl Project {
    fn new(script: &str) -> Self {
        Self::with(script, &[])
    }

    fn with(script: &str, vars: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (work, bin) = (dir.path().join("work"), dir.path().join("bin"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&bin).unwrap();
        let text = format!(
            "#!/bin/sh\nout={}\nprompt=$5\nn=$(mktemp \"$out/start.XXXXXX\" > /dev/null; ls \"$out\" | grep -c start)\ncp \"$prompt\" \"$out/prompt.$n\"\nprintf '%s\\n' \"$*\" > \"$out/args.$n\"\n{script}\n",
            bin.display()
        );
        // Written by another process: a descriptor of this one could be inherited by another test's child, and a program that is open for writing cannot run.
        let child = bin.join("child");
        let mut writer = Command::new("sh")
            .args([
                "-c",
                "cat > \"$0\"; chmod 755 \"$0\"",
                child.to_str().unwrap(),
            ])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut writer.stdin.take().unwrap(), text.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        let path = std::env::var("PATH").unwrap();
        let vars = [("PATH", path.as_str()), ("MARVIN_PROVIDER_PAUSE", "0")]
            .into_iter()
            .chain(vars.iter().copied());
        let env = Env::new(vars.map(|(name, value)| (name.into(), value.into())));
        let policy = ToolPolicy::new(&env, &mut |_| {});
        let session = Arc::new(SessionContext::new(env.clone(), policy));
        let root = Root::open(&work).unwrap();
        session.working_dir.set(root.clone(), true);
        let events = Arc::new(Recorder::default());
        let run = Run {
            ctx: ToolContext::new(session, Cancel::new(), events.clone()),
            supervisor: None,
            program: child,
            places: RunPlaces::of_project(Arc::new(root)),
            task: "Build it.".to_owned(),
            ticket: "t-1".to_owned(),
            tiers: tiers(&env, "better"),
            max_cost: None,
            is_staged: true,
            branch: String::new(),
            tickets: None,
            spent_before: None,
        };
        Self { dir, events, run }
    }

    fn with_last_resort(&mut self, model: &str) {
        self.run.tiers = tiers(&self.run.ctx.session.env, model);
    }

    /// The same with a ceiling on cost.
    fn ceiling(mut self, dollars: f64) -> Self {
        self.run.max_cost = Some(dollars);
        self
    }

    fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// What the script wrote about the `n`th child.
    fn saw(&self, what: &str, n: usize) -> String {
        fs::read_to_string(self.dir.path().join(format!("bin/{what}.{n}"))).unwrap()
    }

    fn logs(&self, suffix: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.work().join(".marvin/logs")) else {
            return Vec::new();
        };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.to_str().unwrap().ends_with(suffix))
            .collect()
    }
}

fn task<'a>(check: &'a (dyn Fn(&ChildReport) -> Result<(), String> + Sync)) -> ChildTask<'a> {
    ChildTask {
        label: "writer".to_owned(),
        tier: Tier::Plan,
        access: Access::Read,
        prompt: "Write the document.".to_owned(),
        texts: ProjectTexts::Instructions,
        withhold: &[],
        limit: LONG,
        after_failure: None,
        check,
    }
}

fn satisfied(_: &ChildReport) -> Result<(), String> {
    Ok(())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Waits until the process is gone, or a zombie that nobody has collected.
fn is_gone(pid: &str) -> bool {
    let start = Instant::now();
    let lives =
        || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() && start.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(5));
    }
    !lives()
}

#[test]
fn a_child_gets_its_prompt_and_limits_and_leaves_report_log_and_cost() {
    let project = Project::new(
        r#"stat -c %a "$prompt" > "$out/mode"
env > "$out/env"
printf 'First I look.\n  🔧 read_file, tree\nDone'
echo 'MARVIN_COST:{"session_cost":0.25,"llm_turns":1,"model_turns":{"own":1},"model_cost":{"own":0.25},"input_tokens":100,"output_tokens":10}' >&2
echo 'a note' >&2
echo 'MARVIN_COST:{"session_cost":0.5,"llm_turns":2,"model_turns":{"own":2},"model_cost":{"own":0.5},"input_tokens":200,"output_tokens":20}' >&2"#,
    );
    let project = project.ceiling(2.0);
    let report = run(&project.run, &task(&satisfied)).unwrap();
    assert_eq!(report.text, "First I look.\nDone");
    assert_eq!(report.last_line(), "Done");

    let arguments = project.saw("args", 1);
    let work = project.work().canonicalize().unwrap();
    assert!(
        arguments.starts_with(&format!(
            "--non-interactive --working-dir {} --prompt-file {}/.marvin/logs/writer-",
            work.display(),
            work.display()
        )) && arguments.ends_with(" --model=own --provider=ollama --max-cost=2.000000\n"),
        "{arguments}"
    );
    assert_eq!(project.saw("prompt", 1), "Write the document.");
    let out = project.dir.path().join("bin");
    assert_eq!(fs::read_to_string(out.join("mode")).unwrap(), "600\n");
    let env = fs::read_to_string(out.join("env")).unwrap();
    for line in ["MARVIN_DEPTH=1", "MARVIN_READONLY=1", "MARVIN_LEASH=1"] {
        assert!(env.lines().any(|own| own == line), "{line}: {env}");
    }
    assert!(
        project.logs("prompt.md").is_empty(),
        "the prompt file is left"
    );

    let totals = project.run.ctx.session.ledger.totals();
    assert_eq!((totals.cost, totals.turns), (0.5, 2));
    assert_eq!(project.run.ctx.session.ledger.unsaved().totals.turns, 0);

    assert_eq!(mode(&report.log), 0o600);
    let log = fs::read_to_string(&report.log).unwrap();
    assert_has(
        &log,
        &[
            "label: writer\nmodel: own (ollama)\nattempt: 1\n",
            "--- prompt ---\nWrite the document.\n",
            "First I look.\n  🔧 read_file, tree\n",
            "\nDone\n",
            "stderr: a note\n",
            "exit code: 0\n",
            "200 tokens in, 20 out, $0.5000",
        ],
    );

    let events = project.events.events();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| match event {
            PipelineEvent::ChildStarted { attempt: 1, .. } => "started",
            PipelineEvent::ChildTools { tools, .. } if tools == &["read_file", "tree"] => "tools",
            PipelineEvent::ChildUsage {
                tokens: 110 | 220, ..
            } => "usage",
            PipelineEvent::ChildEnded { done: true, .. } => "ended",
            other => panic!("{other:?}"),
        })
        .collect();
    // The two streams are read side by side.
    assert_eq!(kinds.len(), 5, "{kinds:?}");
    assert_eq!((kinds[0], kinds[4]), ("started", "ended"));
}

#[test]
fn questions_are_answered_from_the_documents_and_cost_no_attempt() {
    let project = Project::new(
        r#"case $(cat "$prompt") in
*'has questions about its task'*) echo '1. Port 80.'; env > "$out/env.$n" ;;
*'Port 80'*) echo "I use port 80." ;;
*) printf 'QUESTIONS_FOR_PARENT:\n1. Which port?\n' ;;
esac"#,
    );
    fs::create_dir(project.work().join(".marvin")).unwrap();
    fs::write(project.work().join(".marvin/spec.md"), "The port is 80.").unwrap();
    let task = ChildTask {
        access: Access::Write {
            ticket: "t-1".to_owned(),
        },
        ..task(&satisfied)
    };
    let report = run(&project.run, &task).unwrap();
    assert_eq!(report.text, "I use port 80.\n");
    let labels: Vec<String> = project
        .events
        .started()
        .into_iter()
        .map(|(l, _)| l)
        .collect();
    assert_eq!(labels, ["writer", "writer-answers", "writer"]);
    let asked = project.saw("prompt", 2);
    assert_has(
        &asked,
        &[
            "<task>\nBuild it.\n</task>",
            "<document path=\".marvin/spec.md\">\nThe port is 80.\n</document>",
            "<questions>\n1. Which port?\n</questions>",
        ],
    );
    assert!(project.saw("env", 2).contains("MARVIN_READONLY=1"));
    let again = project.saw("prompt", 3);
    assert!(
        again.starts_with("Write the document.\n\n# Your questions"),
        "{again}"
    );
    let attempts: Vec<u64> = project
        .events
        .events()
        .iter()
        .filter_map(|event| match event {
            PipelineEvent::ChildStarted { attempt, .. } => Some(*attempt),
            _ => None,
        })
        .collect();
    assert_eq!(attempts, [1, 1, 1]);
}

#[test]
fn a_child_that_only_asks_is_answered_three_times() {
    let project = Project::new(
        r#"case $(cat "$prompt") in
*'has questions about its task'*) echo '1. Choose.' ;;
*'No further questions'*) cat "$prompt" > "$out/last"; echo "I choose." ;;
*) printf 'QUESTIONS_FOR_PARENT:\n1. Which?\n' ;;
esac"#,
    );
    let report = run(&project.run, &task(&satisfied)).unwrap();
    assert_eq!(report.text, "I choose.\n");
    let answers = project.events.started();
    let answers = answers
        .iter()
        .filter(|(label, _)| label == "writer-answers");
    assert_eq!(answers.count(), 3);
}

#[test]
fn neither_questions_nor_answers_bring_a_withheld_word_into_the_prompt() {
    let project = Project::new(
        r#"case $(cat "$prompt") in
*'has questions about its task'*) echo '1. Port 80. Word_Passed' ;;
*'Port 80'*) echo "I use port 80." ;;
*) printf 'QUESTIONS_FOR_PARENT:\n1. May I say WORD_PASSED?\n' ;;
esac"#,
    );
    let task = ChildTask {
        withhold: &["WORD_PASSED"],
        ..task(&satisfied)
    };
    run(&project.run, &task).unwrap();
    let again = project.saw("prompt", 3);
    assert_has(&again, &["1. May I say …?", "1. Port 80. …"]);
    assert_lacks(&again.to_uppercase(), &["WORD_PASSED"]);
    // Who asks has not failed.
    let ended = project.events.ended();
    assert!(ended.iter().all(|(done, _)| *done), "{ended:?}");
}

#[test]
fn endless_output_is_kept_at_both_ends() {
    let project = Project::new(
        "echo THE BEGINNING; yes \"$(printf '%1000s' .)\" | head -c 20000000; echo; echo THE END",
    );
    let report = run(&project.run, &task(&satisfied)).unwrap();
    assert!(report.text.len() < 3 << 20, "{}", report.text.len());
    assert!(report.text.starts_with("THE BEGINNING\n"));
    assert_eq!(report.last_line(), "THE END");
    assert!(fs::metadata(&report.log).unwrap().len() < 18 << 20);
    let log = fs::read_to_string(&report.log).unwrap();
    assert!(log.ends_with("$0.0000\n") && log.contains("is left out"));
}

#[test]
fn secrets_reach_neither_log_nor_report() {
    let project = Project::new("cat \"$prompt\"; echo 'Error: key sk-abcdefghijklmnop1234' >&2");
    let task = ChildTask {
        prompt: "Use sk-abcdefghijklmnop1234.".to_owned(),
        ..task(&satisfied)
    };
    let report = run(&project.run, &task).unwrap();
    let log = fs::read_to_string(&report.log).unwrap();
    for text in [&report.text, &log] {
        assert_has(text, &["[hidden]"]);
        assert_lacks(text, &["sk-abc"]);
    }
}

#[test]
fn a_log_folder_that_leads_out_of_the_project_starts_no_child() {
    let project = Project::new("");
    let outside = project.dir.path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir(project.work().join(".marvin")).unwrap();
    std::os::unix::fs::symlink(&outside, project.work().join(".marvin/logs")).unwrap();
    run(&project.run, &task(&satisfied)).unwrap_err();
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    assert_eq!(project.events.started().len(), 0);
}

#[test]
fn at_the_limit_of_depth_no_child_is_started() {
    let project = Project::with("", &[("MARVIN_DEPTH", "5")]);
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Refused, "{problem}");
    assert_eq!(
        (project.events.started().len(), project.logs("").len()),
        (0, 0)
    );
}
