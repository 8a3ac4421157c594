//! Children played by shell scripts, which are real processes.

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
use crate::chat::event::{Event, EventSink};
use crate::chat::pipeline_event::PipelineEvent;
use crate::disk::beneath::Root;
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
        let vars = [("PATH", path.as_str())]
            .into_iter()
            .chain(vars.iter().copied());
        let env = Env::new(vars.map(|(name, value)| (name.into(), value.into())));
        let policy = ToolPolicy::new(&env, &mut |_| {});
        let session = Arc::new(SessionContext::new(env.clone(), policy));
        let root = Root::open(&work).unwrap();
        session.working_dir.set(root.clone(), true);
        let mut overrides = TierOverrides::default();
        overrides.add("all", "own").unwrap();
        overrides.add("fallback", "better").unwrap();
        let own = OwnModel {
            provider: "ollama",
            model: "own",
        };
        let events = Arc::new(Recorder::default());
        let run = Run {
            ctx: ToolContext::new(session, Cancel::new(), events.clone()),
            program: child,
            root: Arc::new(root),
            task: "Build it.".to_owned(),
            ticket: "t-1".to_owned(),
            tiers: TierModels::resolve(&overrides, &env, &own, &Clock::new(&env)),
            max_cost: None,
            is_staged: true,
        };
        Self { dir, events, run }
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
    for part in [
        "label: writer\nmodel: own (ollama)\nattempt: 1\n",
        "--- prompt ---\nWrite the document.\n",
        "First I look.\n  🔧 read_file, tree\n",
        "\nDone\n",
        "stderr: a note\n",
        "exit code: 0\n",
        "200 tokens in, 20 out, $0.5000",
    ] {
        assert!(log.contains(part), "{part:?} in {log}");
    }

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
fn what_is_missing_is_told_and_the_fourth_attempt_is_the_fallback_tiers() {
    let project = Project::new("echo \"I did part $n. SPEC_VERIFIED, spec_verified.\"");
    let calls = AtomicUsize::new(0);
    let check = |_: &ChildReport| match calls.fetch_add(1, Ordering::SeqCst) {
        3 => Ok(()),
        n => Err(format!("Part {n} is missing.")),
    };
    let task = ChildTask {
        withhold: &["SPEC_VERIFIED"],
        ..task(&check)
    };
    run(&project.run, &task).unwrap();
    let models: Vec<String> = project
        .events
        .started()
        .into_iter()
        .map(|(_, m)| m)
        .collect();
    assert_eq!(models, ["own", "own", "own", "better"]);
    assert_eq!(project.saw("prompt", 1), "Write the document.");
    let last = project.saw("prompt", 4);
    assert!(
        last.starts_with("Write the document.\n\n# An earlier attempt")
            && last.contains("Part 2 is missing.")
            && last.contains("<output>\nI did part 3. …, ….\n</output>"),
        "{last}"
    );
    assert_eq!(project.logs(".log").len(), 4, "each attempt has its log");
}

#[test]
fn an_attempt_after_an_attempt_is_told_the_end_of_what_was_printed() {
    let project = Project::new("echo BEGINNING; yes 'a line' | head -n 2000; echo THE END");
    let check = |_: &ChildReport| Err("There is no document.".to_owned());
    let problem = run(&project.run, &task(&check)).unwrap_err();
    let prompt = project.saw("prompt", 2);
    assert!(prompt.contains("THE END") && !prompt.contains("BEGINNING"));
    assert!(prompt.chars().count() < 3_700, "{}", prompt.chars().count());
    assert!(
        problem
            .what
            .contains("writer did not do its work in 4 attempts: There is no document."),
        "{problem}"
    );
    assert!(
        problem.one_line().contains(".marvin/logs/writer-"),
        "{problem}"
    );
}

#[test]
fn a_child_that_fails_has_not_done_its_work_even_if_the_files_are_there() {
    let project = Project::new(
        "echo x > document; [ $n = 2 ] || { echo 'Error: The provider is gone.' >&2; exit 1; }",
    );
    let checked = AtomicUsize::new(0);
    let check = |_: &ChildReport| {
        checked.fetch_add(1, Ordering::SeqCst);
        Ok(())
    };
    run(&project.run, &task(&check)).unwrap();
    assert_eq!(
        checked.load(Ordering::SeqCst),
        1,
        "asked after the failure too"
    );
    assert_eq!(
        project.events.ended()[0],
        (
            false,
            "It failed (exit code: 1): The provider is gone.".to_owned()
        )
    );
    assert!(project.saw("prompt", 2).contains("The provider is gone."));
}

#[test]
fn a_failure_that_cannot_pass_is_told_at_once() {
    for (kind, attempts) in [("config", 1), ("auth", 1), ("input", 1), ("missing", 1)] {
        let project = Project::new(&format!(
            "echo 'MARVIN_FAILURE:\"{kind}\"' >&2; echo 'Error: There is no provider \"x\".' >&2; exit 1"
        ));
        let problem = run(&project.run, &task(&satisfied)).unwrap_err();
        assert_eq!(project.events.started().len(), attempts, "{kind}");
        assert!(
            problem
                .what
                .contains("in 1 attempt: It failed (exit code: 1): There is no provider"),
            "{problem}"
        );
        let log = project.logs(".log").remove(0);
        assert!(!fs::read_to_string(log).unwrap().contains("MARVIN_FAILURE"));
    }
    // What may pass is tried again.
    let project = Project::new("[ $n = 2 ] && exit; echo 'MARVIN_FAILURE:\"network\"' >&2; exit 1");
    run(&project.run, &task(&satisfied)).unwrap();
    assert_eq!(project.events.started().len(), 2);
}

#[test]
fn a_program_that_cannot_run_is_not_tried_again() {
    let project = Project::new("no-such-program");
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert!(problem.what.contains("in 1 attempt"), "{problem}");
    assert_eq!(project.events.started().len(), 1);

    let project = Project::new("");
    fs::remove_file(&project.run.program).unwrap();
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_eq!(project.events.started().len(), 1, "{problem}");
    assert_eq!(project.events.ended().len(), 1);
    assert!(project.logs("prompt.md").is_empty());
}

#[test]
fn a_child_that_hangs_is_killed_with_its_group_and_has_more_time_then() {
    let project = Project::new(
        "[ $n = 1 ] || { echo done; exit; }\ntrap '' TERM\nsleep 300 & echo $! > \"$out/pid\"; echo waiting; wait; wait",
    );
    let limit = Duration::from_millis(400);
    let task = ChildTask {
        limit,
        ..task(&satisfied)
    };
    run(&project.run, &task).unwrap();
    assert!(
        project.events.ended()[0].1.contains("did not end"),
        "{:?}",
        project.events.ended()
    );
    let pid = fs::read_to_string(project.dir.path().join("bin/pid")).unwrap();
    assert!(is_gone(pid.trim()));
    assert!(
        project
            .saw("prompt", 2)
            .contains("<output>\nwaiting\n</output>")
    );
}

#[test]
fn each_attempt_has_more_time_than_the_one_before() {
    let project = Project::new("sleep 1.3; echo done");
    let task = ChildTask {
        limit: Duration::from_secs(1),
        ..task(&satisfied)
    };
    run(&project.run, &task).unwrap();
    assert!(project.events.started().len() > 1);
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
    assert!(
        asked.contains("<task>\nBuild it.\n</task>")
            && asked.contains("<document path=\".marvin/spec.md\">\nThe port is 80.\n</document>")
            && asked.contains("<questions>\n1. Which port?\n</questions>"),
        "{asked}"
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
fn only_read_only_children_run_side_by_side() {
    let project = Project::new("");
    let writer = ChildTask {
        access: Access::WriteFiles(vec!["a.md".to_owned()]),
        ..task(&satisfied)
    };
    let outcomes = run_parallel(&project.run, &[task(&satisfied), writer]);
    for outcome in &outcomes {
        assert_eq!(outcome.as_ref().unwrap_err().kind, ProblemKind::Internal);
    }
    assert_eq!((outcomes.len(), project.events.started().len()), (2, 0));
}

#[test]
fn children_side_by_side_share_what_is_left_and_have_names_of_their_own() {
    // Each waits for the other three.
    let project = Project::new(
        "while [ $(ls \"$out\" | grep -c start) -lt 4 ]; do sleep 0.01; done; printf '%s' \"$*\" > \"$out/all.$$\"",
    );
    let project = project.ceiling(2.0);
    let tasks: Vec<_> = (0..4).map(|_| task(&satisfied)).collect();
    for outcome in run_parallel(&project.run, &tasks) {
        outcome.unwrap();
    }
    assert_eq!(project.logs(".log").len(), 4);
    let entries = fs::read_dir(project.dir.path().join("bin")).unwrap();
    let arguments: Vec<String> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("all."))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(arguments.len(), 4);
    for line in arguments {
        assert!(line.ends_with("--max-cost=0.500000"), "{line}");
    }
}

#[test]
fn children_side_by_side_take_the_time_of_the_slowest() {
    let project = Project::new(
        "from=$(date +%s%N); sleep 0.$(($(cat \"$prompt\") * 2)); echo $(($(date +%s%N) - from)) > \"$out/took.$(cat \"$prompt\")\"",
    );
    let tasks: Vec<_> = (1..=4)
        .map(|n| ChildTask {
            prompt: n.to_string(),
            ..task(&satisfied)
        })
        .collect();
    let start = Instant::now();
    for outcome in run_parallel(&project.run, &tasks) {
        outcome.unwrap();
    }
    let all = start.elapsed().as_secs_f64();
    let took: Vec<f64> = (1..=4)
        .map(|n| project.saw("took", n).trim().parse::<f64>().unwrap() / 1e9)
        .collect();
    let (slowest, sum) = (
        took.iter().copied().fold(0.0, f64::max),
        took.iter().sum::<f64>(),
    );
    // One after the other they would take the sum, two and a half times as long as the slowest.
    assert!(
        all - slowest < (sum - slowest) / 2.0,
        "{all} s for {took:?}"
    );
}

#[test]
fn a_spent_share_ends_a_task() {
    let script = r#"echo 'MARVIN_COST:{"session_cost":0.75,"model_cost":{"own":0.75}}' >&2"#;
    let project = Project::new(script);
    let project = project.ceiling(1.0);
    let check = |_: &ChildReport| Err("Nothing is there.".to_owned());
    let problem = run_parallel(&project.run, &[task(&check), task(&satisfied)])
        .remove(0)
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit, "{problem}");
    // A share is spent although the run has enough left.
    let project = Project::new(
        r#"grep -q dear "$prompt" || exit 0
echo 'MARVIN_COST:{"session_cost":6,"model_cost":{"own":6}}' >&2"#,
    );
    let project = project.ceiling(10.0);
    let dear = ChildTask {
        prompt: "A dear task.".to_owned(),
        ..task(&check)
    };
    let mut outcomes = run_parallel(&project.run, &[dear, task(&satisfied)]);
    outcomes.remove(1).unwrap();
    let problem = outcomes.remove(0).unwrap_err();
    assert!(problem.what.contains("its share"), "{problem}");
    assert_eq!(project.events.started().len(), 2);
}

#[test]
fn a_spent_budget_starts_no_child() {
    let project =
        Project::new(r#"echo 'MARVIN_COST:{"session_cost":1,"model_cost":{"own":1}}' >&2"#);
    let project = project.ceiling(1.0);
    run(&project.run, &task(&satisfied)).unwrap();
    let before = project.events.started().len();
    let problem = run(&project.run, &task(&satisfied)).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Limit, "{problem}");
    assert_eq!(project.events.started().len(), before);
}

#[test]
fn a_stop_ends_children_side_by_side_and_waits_between_attempts() {
    let project =
        Project::new("trap '' TERM; echo $$ > \"$out/pid.$$\"; while :; do sleep 0.1; done");
    let tasks: Vec<_> = (0..3).map(|_| task(&satisfied)).collect();
    let stop = project.run.ctx.stop.clone();
    let out = project.dir.path().join("bin");
    let pids = || -> Vec<String> {
        let entries = fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .filter(|path| path.to_str().unwrap().contains("pid."))
            .filter_map(|path| fs::read_to_string(path).ok())
            .filter(|pid| pid.ends_with('\n'))
            .collect()
    };
    let outcomes = thread::scope(|scope| {
        let running = scope.spawn(|| run_parallel(&project.run, &tasks));
        let start = Instant::now();
        while pids().len() < 3 && start.elapsed() < LONG {
            thread::sleep(Duration::from_millis(5));
        }
        stop.fire();
        running.join().unwrap()
    });
    for outcome in outcomes {
        assert!(outcome.unwrap_err().is_cancelled());
    }
    for pid in pids() {
        assert!(is_gone(pid.trim()), "{pid}");
    }
    assert_eq!(
        project.events.started().len(),
        3,
        "nothing is tried after a stop"
    );
    let ended = project.events.ended();
    assert_eq!(ended, vec![(false, "It was stopped.".to_owned()); 3]);
}

#[test]
fn endless_output_is_kept_at_both_ends() {
    let project = Project::new(
        "echo THE BEGINNING; yes \"$(printf '%01000d' 7)\" | head -c 60000000; echo; echo THE END",
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
        assert!(
            text.contains("[hidden]") && !text.contains("sk-abc"),
            "{text}"
        );
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
