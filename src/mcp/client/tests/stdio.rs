//! Servers that are processes.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, json};

use super::{Ada, Kept, LIMIT, call, connect, each_message, entry, host, shell, text_of, wait};
use crate::base::cancel::Cancel;
use crate::base::problem::ProblemKind;
use crate::mcp::client::connection::{Connection, List, Progress, ServerEvent, Spoken, Wait};
use crate::mcp::client::dial::{ClientHost, dial};
use crate::mcp::config::entry::{EntrySecrets, Reach, ServerEntry};

/// What a legacy server does beside its calls.
const LEGACY: &str = r#"server/discover) error -32601 'no such method';; initialize) hello;;"#;
const MODERN: &str = r#"server/discover) discovered;;"#;

fn server(cases: &str) -> String {
    each_message(cases)
}

fn opened(script: &str) -> (Arc<dyn Connection>, String) {
    let connection = connect(shell(script));
    let facts = connection.open(wait(&Cancel::new())).unwrap();
    (connection, facts.version)
}

#[test]
fn the_era_is_found_whatever_the_probe_meets() {
    let by_version = r#"server/discover) say "{\"id\":$id,\"error\":{\"code\":-32022,\"message\":\"no\",\"data\":{\"supported\":[\"2025-06-18\"]}}}";;
initialize) case $line in *2025-06-18*) result '{"protocolVersion":"2025-06-18","capabilities":{}}';; esac;;"#;
    // Took the probe for a first message of the new era, and answers it after the handshake.
    let late = r#"server/discover) if [ "$asked" ]; then discovered; else asked=1; echo up >&2; fi;; initialize) error -32022 'no';;"#;
    let very_late = r#"server/discover) probe=$id; echo up >&2;; initialize) id=$probe; discovered; id=$((probe + 1)); hello;;"#;
    for (name, script, version) in [
        ("modern", server(MODERN), "2026-07-28"),
        ("legacy", server(LEGACY), "2025-11-25"),
        ("by its list", server(by_version), "2025-06-18"),
        (
            "silent",
            format!("echo up >&2\n{}", server("initialize) hello;;")),
            "2025-11-25",
        ),
        ("refuses the handshake", server(late), "2026-07-28"),
        ("late", server(very_late), "2026-07-28"),
        (
            "odd result",
            server("server/discover) result '{}';; initialize) hello;;"),
            "2025-11-25",
        ),
    ] {
        let (_, found) = opened(&script);
        assert_eq!(found, version, "{name}");
    }
}

#[test]
fn a_server_that_dies_on_the_probe_is_started_again() {
    let (connection, version) = opened(&server(
        "server/discover) exit 1;; initialize) hello;; tools/call) text yes;;",
    ));
    assert_eq!(version, "2025-11-25");
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), "yes");
}

#[test]
fn what_was_found_is_tried_first_and_does_not_bind() {
    let spoken = |version: &str| Spoken {
        version: version.to_owned(),
        by_event_stream: false,
    };
    for (known, script, found) in [
        // It would die on the probe for ever.
        (
            "2025-11-25",
            "server/discover) exec sleep 60;; initialize) hello;;",
            "2025-11-25",
        ),
        (
            "2025-11-25",
            "initialize) exit 1;; server/discover) discovered;;",
            "2026-07-28",
        ),
        ("2026-07-28", LEGACY, "2025-11-25"),
        (
            "2026-07-28",
            "server/discover) result '{}';; initialize) hello;;",
            "2025-11-25",
        ),
    ] {
        let host = ClientHost {
            spoken: Some(spoken(known)),
            ..host()
        };
        let connection = dial(&entry(shell(&server(script))), host);
        let facts = connection.open(wait(&Cancel::new())).unwrap();
        assert_eq!(facts.spoken(), spoken(found));
    }
}

#[test]
fn versions_of_the_future_are_an_error_that_names_both() {
    let future = r#"server/discover) result '{"supportedVersions":["2031-01-01"]}';;"#;
    let connection = connect(shell(&server(future)));
    let problem = connection.open(wait(&Cancel::new())).unwrap_err();
    assert!(
        problem.what.contains("2031-01-01") && problem.what.contains("2025-11-25"),
        "{problem}"
    );
}

#[test]
fn a_start_that_fails_tells_the_last_words() {
    let connection = connect(shell("echo 'no such module: calc' >&2; exit 3"));
    let problem = connection.open(wait(&Cancel::new())).unwrap_err();
    assert!(problem.what.contains("calc has ended"), "{problem}");
    assert!(problem.what.contains("no such module"), "{problem}");
    let mut missing = entry(shell(""));
    if let Reach::Stdio { command, .. } = &mut missing.reach {
        *command = "no-such-program-here".to_owned();
    }
    let problem = dial(&missing, host())
        .open(wait(&Cancel::new()))
        .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Missing);
}

#[test]
fn noise_and_answers_of_others_are_passed_over() {
    let calls = r#"tools/call) echo 'Listening on port 1'; printf '{"half\n'; printf '\377\376\n'
own=$id; id=4711; text foreign; id=\"$own\"; text foreign; id=$own; text mine; text again;;
tools/list) result '{"tools":[]}';;"#;
    for era in [LEGACY, MODERN] {
        let (connection, _) = opened(&server(&format!("{era} {calls}")));
        for _ in 0..3 {
            assert_eq!(text_of(&call(&*connection, "x").unwrap()), "mine");
        }
        let stop = Cancel::new();
        let page = connection.page(List::Tools, None, wait(&stop)).unwrap();
        assert_eq!(page, json!({"tools": []}));
        // It has no prompts, so it is not asked.
        let page = connection.page(List::Prompts, None, wait(&stop)).unwrap();
        assert_eq!(page, json!({"prompts": []}));
        let words = connection.last_words(50).join("\n");
        assert!(
            words.contains("(no message) Listening on port 1"),
            "{words}"
        );
    }
}

#[test]
fn invalid_utf8_in_a_message_is_replaced() {
    let calls = r#"tools/call) printf '{"id":%s,"result":{"content":[{"type":"text","text":"a\377b"}]}}\n' "$id";;"#;
    let (connection, _) = opened(&server(&format!("{MODERN} {calls}")));
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), "a\u{fffd}b");
}

#[test]
fn several_requests_are_open_at_once() {
    // It answers in pairs, the second one first.
    let calls = r#"tools/call) if [ "$held" ]; then own=$id; text second; id=$held; held=; text first; else held=$id; fi;;"#;
    let (connection, _) = opened(&server(&format!("{MODERN} {calls}")));
    std::thread::scope(|scope| {
        let ask = || scope.spawn(|| text_of(&call(&*connection, "x").unwrap()).to_owned());
        let (one, two) = (ask(), ask());
        let mut both = [one.join().unwrap(), two.join().unwrap()];
        both.sort();
        assert_eq!(both, ["first", "second"]);
    });
}

#[test]
fn progress_begins_the_limit_anew_up_to_the_total() {
    let calls = r#"tools/call) case $line in *endless*) n=0; while sleep 0.1; do n=$((n + 1)); say "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$id,\"progress\":$n}}"; done;;
*) for n in 1 2 3 4 5 6; do sleep 0.4; say "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$id,\"progress\":$n,\"total\":6,\"message\":\"step\"}}"; done; text done;; esac;;"#;
    let (connection, _) = opened(&server(&format!("{MODERN} {calls}")));
    let seen = std::sync::Mutex::new(Vec::new());
    let hear = |progress: &Progress| seen.lock().unwrap().push(progress.words());
    let stop = Cancel::new();
    let limited = Wait::new(Duration::from_secs(2), &stop).set_by("timeout");
    let patient = limited.up_to(LIMIT).heard_by(&hear);
    let result = connection.call("steps", &Map::new(), patient).unwrap();
    assert_eq!(text_of(&result), "done");
    assert_eq!(seen.lock().unwrap().last().unwrap(), "step (6/6)");
    let problem = (connection.call(
        "endless",
        &Map::new(),
        limited.up_to(Duration::from_millis(2_500)),
    ))
    .unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Timeout);
    assert!(problem.one_line().contains("maxTotalTimeout"), "{problem}");
}

#[test]
fn silence_and_cancelling_end_a_call_and_the_server_learns_of_it() {
    let calls = r#"tools/call) case $line in *ask*) text "$cancelled";; esac;;
notifications/cancelled) cancelled="$cancelled+";;"#;
    let (connection, _) = opened(&server(&format!("{LEGACY} {calls}")));
    let stop = Cancel::new();
    let short = Wait::new(Duration::from_millis(100), &stop).set_by("timeout");
    let problem = connection.call("never", &Map::new(), short).unwrap_err();
    assert_eq!(problem.kind, ProblemKind::Timeout);
    assert!(problem.one_line().contains("\"timeout\""), "{problem}");
    std::thread::scope(|scope| {
        let cancelled = scope.spawn(|| connection.call("never", &Map::new(), wait(&stop)));
        std::thread::sleep(Duration::from_millis(50));
        stop.fire();
        assert!(cancelled.join().unwrap().unwrap_err().is_cancelled());
    });
    assert_eq!(text_of(&call(&*connection, "ask").unwrap()), "++");
}

#[test]
fn a_lost_server_is_started_once_more_and_only_safe_calls_are_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    // Each process answers only if another one was there before.
    let calls = format!(
        r#"tools/list) result '{{"tools":[{{"name":"safe","annotations":{{"readOnlyHint":true}}}},{{"name":"risky"}}]}}';;
tools/call) case $line in *die*) exit 1;; esac; if [ -e {0} ]; then text back; else : >{0}; exit 1; fi;;"#,
        mark.display()
    );
    let (connection, _) = opened(&server(&format!("{MODERN} {calls}")));
    let stop = Cancel::new();
    connection.page(List::Tools, None, wait(&stop)).unwrap();
    assert_eq!(text_of(&call(&*connection, "safe").unwrap()), "back");
    // Not again within a minute.
    let args = json!({"die": true});
    let args = args.as_object().unwrap();
    let problem = connection.call("risky", args, wait(&stop)).unwrap_err();
    assert!(problem.one_line().contains("carried out"), "{problem}");
    let problem = call(&*connection, "safe").unwrap_err();
    assert!(problem.what.contains("has ended again"), "{problem}");
    // But when somebody asks for it.
    connection.close();
    assert_eq!(text_of(&call(&*connection, "safe").unwrap()), "back");
}

#[test]
fn a_call_that_may_have_run_is_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let calls = format!("tools/call) echo x >>{}; exit 1;;", log.display());
    let (connection, _) = opened(&server(&format!("{LEGACY} {calls}")));
    call(&*connection, "risky").unwrap_err();
    assert_eq!(std::fs::read_to_string(log).unwrap(), "x\n");
}

#[test]
fn questions_are_answered_in_both_eras() {
    let modern = r#"server/discover) discovered;; tools/call) case $line in
*sampling*) result '{"resultType":"input_required","inputRequests":{"m":{"method":"sampling/createMessage","params":{}}}}';;
*inputResponses*Ada*requestState*s1*) result '{"resultType":"input_required","requestState":"s2"}';;
*requestState*s2*) case $line in *inputResponses*) text stale;; *) text ok;; esac;;
*) result '{"resultType":"input_required","requestState":"s1","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object"}}},"where":{"method":"roots/list"}}}';; esac;;"#;
    let legacy = r#"tools/call) call=$id; say '{"id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{}}}'
IFS= read -r answer; say '{"id":7,"method":"roots/list"}'; IFS= read -r roots; say '{"id":8,"method":"sampling/createMessage"}'; IFS= read -r refusal
case $answer$roots$refusal in *Ada*file:///tmp*-32601*) id=$call; text ok;; *) id=$call; text "no";; esac;;"#;
    for script in [modern.to_owned(), format!("{LEGACY} {legacy}")] {
        let host = ClientHost {
            questions: Some(Arc::new(Ada)),
            working_dir: Some("/tmp".into()),
            ..host()
        };
        let connection = dial(&entry(shell(&server(&script))), host);
        assert_eq!(text_of(&call(&*connection, "x").unwrap()), "ok");
        if script == modern {
            let problem = call(&*connection, "sampling").unwrap_err();
            assert_eq!(problem.what, "calc asked for a model; Marvin lends none.");
        }
    }
    // Nobody can be asked.
    let connection = connect(shell(&server(modern)));
    let problem = call(&*connection, "x").unwrap_err();
    assert!(problem.what.contains("Who?"), "{problem}");
}

#[test]
fn a_server_that_asks_for_ever_or_answers_unknown_kinds_is_an_error() {
    for (answer, words) in [
        (
            r#"{"resultType":"input_required","requestState":"s"}"#,
            "more than 10 times",
        ),
        (r#"{"resultType":"task"}"#, "type \"task\""),
        (r#"{"resultType":7}"#, "type"),
        (r#"{"resultType":"input_required"}"#, "does not say which"),
        ("[]", "no object"),
    ] {
        let calls = format!("tools/call) result '{answer}';;");
        let (connection, _) = opened(&server(&format!("{MODERN} {calls}")));
        let problem = call(&*connection, "x").unwrap_err();
        assert!(problem.what.contains(words), "{problem}");
    }
}

#[test]
fn what_a_server_tells_is_an_event() {
    let told = r#"tools/call) say '{"method":"notifications/tools/list_changed"}'
say '{"method":"notifications/resources/updated","params":{"uri":"a:b"}}'
say '{"method":"notifications/message","params":{"level":"warning","data":"low"}}'; say '{"method":"notifications/unheard-of"}'; text ok;;"#;
    let kept = Arc::new(Kept::default());
    let host = ClientHost {
        events: Some(Arc::clone(&kept) as Arc<_>),
        ..host()
    };
    let connection = dial(&entry(shell(&server(&format!("{LEGACY} {told}")))), host);
    call(&*connection, "x").unwrap();
    let expected = [
        ServerEvent::Changed(List::Tools),
        ServerEvent::ResourceUpdated("a:b".to_owned()),
        ServerEvent::Log {
            level: "warning".to_owned(),
            text: "low".to_owned(),
        },
    ];
    assert_eq!(*kept.0.lock().unwrap(), expected);
}

#[test]
fn a_server_of_which_nothing_is_asked_ends_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let cases = format!("{LEGACY} tools/call) case $line in *slow*) sleep 1;; esac; text back;;");
    let script = format!("echo $$ >>{}\n{}", log.display(), server(&cases));
    let mut entry = entry(shell(&script));
    entry.limits.idle = Duration::from_millis(300);
    let connection = dial(&entry, host());
    let stop = Cancel::new();
    // More often than a server that fails is started again, and never in the middle of a call.
    for n in 1..=3 {
        let args = json!({"slow": true});
        let result = connection.call("x", args.as_object().unwrap(), wait(&stop));
        assert_eq!(text_of(&result.unwrap()), "back");
        let started = std::fs::read_to_string(&log).unwrap();
        assert_eq!(started.lines().count(), n, "{started}");
        let process = format!("/proc/{}", started.lines().last().unwrap());
        let until = Instant::now() + LIMIT;
        while Path::new(&process).exists() {
            assert!(Instant::now() < until, "it still runs");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(!connection.is_open());
    }
}

#[test]
fn a_server_that_lets_go_of_nothing_is_ended_when_a_second_call_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let cases =
        format!("{LEGACY} tools/call) case $line in *hang*) sleep 1000;; esac; text back;;");
    let script = format!("echo $$ >>{}\n{}", log.display(), server(&cases));
    let connection = connect(shell(&script));
    let stop = Cancel::new();
    let short = Wait::new(Duration::from_millis(100), &stop);
    let hang = json!({"hang": true});
    let hang = hang.as_object().unwrap();
    assert!(connection.call("x", hang, short).is_err());
    assert!(connection.is_open());
    assert!(connection.call("x", &Map::new(), short).is_err());
    let until = Instant::now() + LIMIT;
    while connection.is_open() {
        assert!(Instant::now() < until, "it still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    // That was no failure of its own.
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), "back");
    let started = std::fs::read_to_string(&log).unwrap();
    assert_eq!(started.lines().count(), 2, "{started}");
}

#[test]
fn what_a_server_was_given_does_not_come_back_in_its_words() {
    let cases = format!(
        "{LEGACY} tools/call) case $line in *die*) echo \"bad key $K\" >&2; exit 1;; *wrong*) error -32000 \"no $K\";; esac; text \"key $K\";;"
    );
    let Reach::Stdio {
        command, args, cwd, ..
    } = shell(&server(&cases))
    else {
        panic!("a program")
    };
    let env = vec![("K".to_owned(), "xkeysecret999".to_owned())];
    let reach = Reach::Stdio {
        command,
        args,
        env,
        cwd,
    };
    let secrets = EntrySecrets {
        keys: vec!["xkeysecret999".to_owned()],
        ..EntrySecrets::default()
    };
    let entry = ServerEntry {
        secrets,
        ..entry(reach)
    };
    let connection = dial(&entry, host());
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), "key [hidden]");
    for tool in ["wrong", "die"] {
        let problem = call(&*connection, tool).unwrap_err();
        let words = format!("{problem:?}");
        assert!(
            words.contains("[hidden]") && !words.contains("secret999"),
            "{words}"
        );
    }
    assert_eq!(connection.last_words(9), ["bad key [hidden]"]);
}

#[test]
fn a_server_knows_its_folder_before_the_first_call() {
    // It asks when the handshake is done, and looks at what it is told as its messages come.
    let cases = r#"initialize) hello;; notifications/initialized) say '{"jsonrpc":"2.0","id":"r","method":"roots/list"}';;
ping) result '{}';; tools/call) text "$roots";; '{') case $line in *file:///tmp*) roots=known;; esac;;"#;
    for _ in 0..20 {
        let host = ClientHost {
            working_dir: Some("/tmp".into()),
            spoken: Some(Spoken {
                version: "2025-11-25".to_owned(),
                by_event_stream: false,
            }),
            ..host()
        };
        let connection = dial(&entry(shell(&server(cases))), host);
        assert_eq!(text_of(&call(&*connection, "x").unwrap()), "known");
    }
}

#[test]
fn an_open_server_hears_of_another_folder_before_the_next_call() {
    let asks = r#"say '{"jsonrpc":"2.0","id":"r","method":"roots/list"}'"#;
    let cases = format!(
        "{LEGACY} notifications/roots/list_changed) changed=$((changed + 1)); {asks};;
ping) result '{{}}';; tools/call) text \"$changed $roots\";;
'{{') case $line in *file:///usr*) roots=known;; esac;;"
    );
    let host = ClientHost {
        working_dir: Some("/tmp".into()),
        ..host()
    };
    let connection = dial(&entry(shell(&server(&cases))), host);
    let stop = Cancel::new();
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), " ");
    connection.move_to(Path::new("/tmp"), &stop);
    connection.move_to(Path::new("/usr"), &stop);
    assert_eq!(text_of(&call(&*connection, "x").unwrap()), "1 known");
    // One that does not run, or has the era without such a message, is told when it asks.
    connection.close();
    connection.move_to(Path::new("/tmp"), &stop);
    assert!(!connection.is_open());
}

#[test]
fn a_server_that_stays_is_ended() {
    let stays = format!("trap '' TERM\n{}\nsleep 60", server(LEGACY));
    let (connection, _) = opened(&stays);
    let begun = Instant::now();
    connection.close();
    assert!(!connection.is_open());
    // It would have stayed for a minute.
    assert!(begun.elapsed() < Duration::from_secs(30));
}
