//! A caller whose lines are given one by one, and what is written back.

use std::fs::File;
use std::io::{Read, Seek, Write};

use super::*;
use crate::app::json_stream::control;
use crate::base::env::Env;
use crate::tools::engine::hooks::event::HookEvent;
use crate::tools::engine::policy::ToolPolicy;

struct Peer {
    file: File,
    caller: Arc<Caller>,
}

impl Peer {
    fn new() -> Self {
        let file = tempfile::tempfile().unwrap();
        let writer = LineWriter::to(file.try_clone().unwrap(), Cancel::new());
        let session = SessionContext::new(Env::default(), ToolPolicy::default());
        let caller = Caller::new(Arc::new(writer), Arc::new(session), control::answer);
        caller.set_model("m");
        Self { file, caller }
    }

    fn says(&self, line: Value) {
        self.caller.line(line.to_string().as_bytes());
    }

    fn orders(&mut self, request: Value) -> Value {
        self.says(json!({"type": "control_request", "request_id": "r", "request": request}));
        let response = self.read().pop().unwrap();
        assert_eq!(response["type"], "control_response");
        assert_eq!(response["response"]["request_id"], "r");
        response["response"].clone()
    }

    fn read(&mut self) -> Vec<Value> {
        let mut text = String::new();
        self.file.rewind().unwrap();
        self.file.read_to_string(&mut text).unwrap();
        let read = |line| serde_json::from_str(line).unwrap();
        text.lines().map(read).collect()
    }
}

fn user(text: &str) -> Value {
    json!({"type": "user", "uuid": text, "message": {"role": "user", "content": text}})
}

#[test]
fn messages_wait_in_order_and_the_end_of_the_input_comes_after_them() {
    let peer = Peer::new();
    let stop = Cancel::new();
    peer.says(user("one"));
    peer.says(json!({"type": "future"}));
    peer.says(user("two"));
    peer.caller.close();
    let next = || peer.caller.next(&stop).map(|line| line.unwrap().text);
    assert_eq!(next().as_deref(), Some("one"));
    assert_eq!(next().as_deref(), Some("two"));
    assert_eq!(next(), None);
    assert!(!peer.caller.has_bad_line());
}

#[test]
fn waiting_for_a_message_ends_with_one_or_with_the_run() {
    let peer = Peer::new();
    let stop = Cancel::new();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| peer.caller.next(&stop));
        peer.says(user("one"));
        assert!(waiting.join().unwrap().is_some());
        let waiting = scope.spawn(|| peer.caller.next(&stop));
        stop.fire();
        assert!(waiting.join().unwrap().is_none());
    });
}

#[test]
fn more_messages_than_may_wait_are_refused_one_by_one() {
    let peer = Peer::new();
    for _ in 0..=MAX_WAITING {
        peer.says(user("x"));
    }
    let stop = Cancel::new();
    for _ in 0..MAX_WAITING {
        assert!(peer.caller.next(&stop).unwrap().is_ok());
    }
    let refused = peer.caller.next(&stop).unwrap().unwrap_err();
    assert!(
        refused.one_line().contains("1000 messages wait"),
        "{refused}"
    );
}

#[test]
fn lines_that_are_no_requests_are_noted_and_the_next_one_is_read() {
    let mut peer = Peer::new();
    for line in [&b"{"[..], b"[]", b"\xff", b"{\"type\":\"control_request\"}"] {
        peer.caller.line(line);
    }
    assert!(peer.caller.has_bad_line());
    assert_eq!(
        peer.orders(json!({"subtype": "mcp_status"}))["subtype"],
        "success"
    );
}

#[test]
fn initialize_comes_once_and_before_the_first_message() {
    let mut peer = Peer::new();
    let request = json!({"subtype": "initialize", "systemPrompt": ["a", "b"], "appendSystemPrompt": "c", "hooks": null, "future": 1});
    let answer = peer.orders(request.clone());
    assert_eq!(answer["response"]["models"][0]["value"], "m");
    let wishes = peer.caller.wishes().prompt;
    assert_eq!(wishes.instead.as_deref(), Some("a\nb"));
    assert_eq!(wishes.appended.as_deref(), Some("c"));
    assert_eq!(peer.orders(request)["subtype"], "error");
    let mut late = Peer::new();
    late.says(user("one"));
    assert_eq!(
        late.orders(json!({"subtype": "initialize"}))["subtype"],
        "error"
    );
    let mut empty = Peer::new();
    empty.orders(json!({"subtype": "initialize", "systemPrompt": [""]}));
    assert_eq!(empty.caller.wishes().prompt, CallerPrompt::default());
}

#[test]
fn what_initialize_wants_in_another_form_is_refused_by_name() {
    for (name, wrong, words) in [
        ("systemPrompt", json!(5), "no list of texts"),
        ("systemPrompt", json!(["A", 5]), "no list of texts"),
        (
            "systemPrompt",
            json!({"type": "preset"}),
            "no list of texts",
        ),
        ("appendSystemPrompt", json!(["x"]), "no text"),
        ("appendSystemPrompt", json!(false), "no text"),
        ("skills", json!(5), "no list of texts"),
        ("skills", json!("all"), "no list of texts"),
        ("skills", json!([null]), "no list of texts"),
        ("jsonSchema", json!(5), "no object"),
        ("jsonSchema", json!(false), "no object"),
        ("jsonSchema", json!("{}"), "no object"),
        ("hooks", json!(5), "no object"),
        ("hooks", json!([]), "no object"),
        ("mcpServers", json!(5), "no object"),
        ("mcpServers", json!({"a": 5}), "\"a\""),
        ("sdkMcpServers", json!(5), "no list of names"),
        ("sdkMcpServers", json!(["a", 5]), "no list of names"),
        (
            "plugins",
            json!([{"type": "local", "path": "/p"}]),
            "not supported",
        ),
    ] {
        let mut peer = Peer::new();
        let answer = peer.orders(json!({"subtype": "initialize", name: wrong}));
        assert_eq!(answer["subtype"], "error", "{name} {wrong}");
        let error = answer["error"].as_str().unwrap();
        let is_named = error.contains(name) || name == "mcpServers" && error.contains("initialize");
        assert!(is_named && error.contains(words), "{name} {wrong}: {error}");
        // Null is as absent.
        let answer = peer.orders(json!({"subtype": "initialize", name: null}));
        assert_eq!(answer["subtype"], "success", "{name}");
    }
}

#[test]
fn messages_are_refused_after_an_initialize_that_was_until_a_good_one() {
    let mut peer = Peer::new();
    let bad = json!({"subtype": "initialize", "jsonSchema": {"type": "foo"}});
    let next = |peer: &Peer| peer.caller.next(&Cancel::new()).unwrap();
    for _ in 0..2 {
        assert_eq!(peer.orders(bad.clone())["subtype"], "error");
        peer.says(user("one"));
        let refused = next(&peer).unwrap_err().one_line();
        assert!(
            refused.contains("initialize was refused: The JSON schema"),
            "{refused}"
        );
    }
    assert_eq!(
        peer.orders(json!({"subtype": "initialize"}))["subtype"],
        "success"
    );
    peer.says(user("two"));
    assert_eq!(next(&peer).unwrap().text, "two");
    // One that comes late changes nothing.
    assert_eq!(peer.orders(bad)["subtype"], "error");
    peer.says(user("three"));
    assert_eq!(next(&peer).unwrap().text, "three");
}

#[test]
fn what_is_not_built_is_refused_by_name() {
    let mut peer = Peer::new();
    let answer = peer.orders(json!({"subtype": "rewind_files"}));
    assert_eq!(answer["error"], "Unsupported control request: rewind_files");
}

#[test]
fn an_interrupt_stops_the_turn_and_says_what_waits() {
    let mut peer = Peer::new();
    let idle = peer.orders(json!({"subtype": "interrupt"}));
    assert_eq!(idle["response"], json!({"still_queued": []}));
    let turn = Cancel::new();
    peer.caller.set_turn(Some(turn.clone()));
    peer.says(user("next"));
    let answer = peer.orders(json!({"subtype": "interrupt"}));
    assert_eq!(answer["response"], json!({"still_queued": ["next"]}));
    assert!(turn.is_fired());
    let unclear = peer.orders(json!({"subtype": "interrupt", "cancel_queued": "yes"}));
    assert_eq!(unclear["subtype"], "error");
    let answer = peer.orders(json!({"subtype": "interrupt", "cancel_queued": true}));
    assert_eq!(answer["response"], json!({"still_queued": []}));
    peer.caller.close();
    assert!(peer.caller.next(&Cancel::new()).is_none());
}

#[test]
fn an_interrupt_before_a_turn_can_be_stopped_stops_that_turn_alone() {
    let mut peer = Peer::new();
    let interrupted = |peer: &mut Peer| peer.orders(json!({"subtype": "interrupt"}));
    let begun = |peer: &Peer| {
        let turn = Cancel::new();
        peer.caller.set_turn(Some(turn.clone()));
        turn.is_fired()
    };
    peer.says(user("one"));
    peer.says(user("two"));
    interrupted(&mut peer);
    assert!(peer.caller.next(&Cancel::new()).is_some());
    assert!(!begun(&peer));
    peer.caller.set_turn(None);
    assert!(peer.caller.next(&Cancel::new()).is_some());
    interrupted(&mut peer);
    assert!(begun(&peer));
    // It is answered once more.
    peer.caller.pause_turn();
    assert!(!begun(&peer));
    peer.caller.pause_turn();
    interrupted(&mut peer);
    assert!(begun(&peer));
    peer.caller.set_turn(None);
    interrupted(&mut peer);
    assert!(!begun(&peer));
}

#[test]
fn questions_with_a_time_limit_and_those_without_are_counted_apart() {
    let peer = Peer::new();
    let open = |is_timed: bool| {
        let (answer, _) = bounded(1);
        let question = OpenQuestion { answer, is_timed };
        peer.caller.questions().open(question)
    };
    for (is_timed, most) in [(false, MAX_QUESTIONS), (true, MAX_TIMED)] {
        for _ in 0..most {
            open(is_timed).unwrap();
        }
        let problem = open(is_timed).unwrap_err();
        assert!(
            problem.what.contains(&format!("{most} questions")),
            "{problem}"
        );
    }
}

#[test]
fn a_question_that_is_too_long_for_a_line_is_not_asked() {
    let mut peer = Peer::new();
    let request = json!({"subtype": "x", "text": "a".repeat(MAX_TEXT)});
    let problem = peer.caller.ask(&request, None, &Cancel::new()).unwrap_err();
    assert!(problem.what.contains("1 MiB"), "{problem}");
    assert!(peer.read().is_empty());
}

#[test]
fn wishes_are_for_the_requests_that_follow() {
    let mut peer = Peer::new();
    peer.orders(json!({"subtype": "set_model", "model": "big"}));
    assert_eq!(peer.caller.wishes().model.as_deref(), Some("big"));
    for same in [
        json!({"subtype": "set_model", "model": "default"}),
        json!({"subtype": "set_model"}),
    ] {
        peer.orders(same);
        assert_eq!(peer.caller.wishes().model, None);
    }
    peer.orders(json!({"subtype": "set_max_thinking_tokens", "max_thinking_tokens": 1024}));
    assert_eq!(peer.caller.wishes().thinking_tokens, Some(1_024));
}

#[test]
fn hooks_are_registered_with_initialize_or_refused_whole() {
    let mut peer = Peer::new();
    let hooks = json!({
        "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h1", "h2"], "timeout": 0.5}],
        "Stop": [{"matcher": null, "hookCallbackIds": ["h3"], "onFailure": "block"}],
        "WorldEnds": [{"hookCallbackIds": ["h4"]}],
    });
    let answer = peer.orders(json!({"subtype": "initialize", "hooks": hooks}));
    assert_eq!(answer["response"]["hooks_applied"], true, "{answer}");
    assert!(peer.caller.session.hooks.has(HookEvent::PreToolUse));
    assert!(!peer.caller.session.hooks.has(HookEvent::SessionEnd));
    for hooks in [
        json!([1]),
        json!({"Stop": {}}),
        json!({"Stop": [3]}),
        json!({"Stop": [{}]}),
        json!({"Stop": [{"hookCallbackIds": [7]}]}),
        json!({"Stop": [{"hookCallbackIds": ["h"], "timeout": -1}]}),
        json!({"Stop": [{"hookCallbackIds": ["h"], "matcher": "a("}]}),
        json!({"Stop": [{"hookCallbackIds": ["h"], "matcher": 7}]}),
        json!({"Stop": [{"hookCallbackIds": vec!["h"; 1_001]}]}),
    ] {
        let mut peer = Peer::new();
        let answer = peer.orders(json!({"subtype": "initialize", "hooks": hooks}));
        assert_eq!(answer["subtype"], "error", "{answer}");
        assert!(!peer.caller.session.hooks.has(HookEvent::Stop));
        // It was not that, so it may be said again.
        assert_eq!(
            peer.orders(json!({"subtype": "initialize"}))["subtype"],
            "success"
        );
    }
}

#[test]
fn a_question_whose_time_is_over_is_withdrawn_and_its_late_answer_ignored() {
    let mut peer = Peer::new();
    let limit = Some(Duration::from_millis(10));
    let asked = peer
        .caller
        .ask(&json!({"subtype": "x"}), limit, &Cancel::new());
    let problem = asked.unwrap_err();
    assert!(problem.what.contains("did not answer"), "{problem}");
    assert_eq!(
        peer.read().pop().unwrap(),
        json!({"type": "control_cancel_request", "request_id": "marvin-1"})
    );
    peer.says(json!({"type": "control_response", "response": {"subtype": "success", "request_id": "marvin-1"}}));
    assert!(!peer.caller.has_bad_line());
}

#[test]
fn a_question_gets_its_own_answer() {
    let peer = Peer::new();
    let stop = Cancel::new();
    let ask = |word: &str| peer.caller.ask(&json!({"subtype": word}), None, &stop);
    let answer = |id: &str, response: Value| {
        let mut response = response;
        response["request_id"] = json!(id);
        peer.says(json!({"type": "control_response", "response": response}));
    };
    let open = |count: usize| {
        while peer.caller.questions().open.len() < count {
            thread::yield_now();
        }
    };
    thread::scope(|scope| {
        let one = scope.spawn(|| ask("one"));
        open(1);
        let two = scope.spawn(|| ask("two"));
        open(2);
        answer("nobody-asked", json!({"subtype": "success"}));
        answer(
            "marvin-2",
            json!({"subtype": "success", "response": {"n": 2}}),
        );
        answer(
            "marvin-2",
            json!({"subtype": "success", "response": {"n": 3}}),
        );
        assert_eq!(two.join().unwrap().unwrap(), json!({"n": 2}));
        answer("marvin-1", json!({"subtype": "error", "error": "no\u{1b}"}));
        let refused = one.join().unwrap().unwrap_err().one_line();
        for word in [json!("weird"), json!(null), json!(1)] {
            let three = scope.spawn(|| ask("three"));
            open(1);
            let id = peer.caller.questions().open.keys().next().unwrap().clone();
            answer(
                &id,
                json!({"subtype": word, "response": {"behavior": "allow"}}),
            );
            let problem = three.join().unwrap().unwrap_err();
            assert!(problem.what.contains("neither"), "{problem}");
        }
        assert!(
            refused.contains("could not answer: no") && !refused.contains('\u{1b}'),
            "{refused}"
        );
    });
}

#[test]
fn a_question_is_withdrawn_with_the_turn_and_refused_without_a_caller() {
    let mut peer = Peer::new();
    let stop = Cancel::new();
    thread::scope(|scope| {
        let asked = scope.spawn(|| peer.caller.ask(&json!({"subtype": "x"}), None, &stop));
        while peer.caller.questions().open.is_empty() {
            thread::yield_now();
        }
        stop.fire();
        assert!(asked.join().unwrap().unwrap_err().is_cancelled());
        let asked = scope.spawn(|| {
            peer.caller
                .ask(&json!({"subtype": "y"}), None, &Cancel::new())
        });
        while peer.caller.questions().open.is_empty() {
            thread::yield_now();
        }
        peer.caller.close();
        assert!(
            asked
                .join()
                .unwrap()
                .unwrap_err()
                .one_line()
                .contains("closed standard input")
        );
    });
    assert!(peer.caller.ask(&json!({}), None, &Cancel::new()).is_err());
    let told = peer.read();
    for (at, id) in [(1, "marvin-1"), (3, "marvin-2")] {
        let withdrawn = json!({"type": "control_cancel_request", "request_id": id});
        assert_eq!(told[at], withdrawn);
    }
}

#[test]
fn an_interrupt_behind_other_requests_reaches_a_caller_that_does_not_read() {
    let (mut reader, mut pipe) = io::pipe().unwrap();
    let writer = LineWriter::to(pipe.try_clone().unwrap(), Cancel::new());
    let writer = Arc::new(writer);
    let session = SessionContext::new(Env::default(), ToolPolicy::default());
    let caller = Caller::new(Arc::clone(&writer), Arc::new(session), control::answer);
    let answers = AnswerQueue::new(Arc::clone(&writer)).unwrap();
    assert!(caller.answers.set(answers).is_ok());
    // Nothing more fits into the pipe.
    thread::spawn(move || pipe.write_all(&[b'\n'; 1 << 22]));
    let stop = Cancel::new();
    let (fired, on_fire) = bounded(1);
    let _guard = stop.on_fire(move || fired.send(()).unwrap());
    caller.set_turn(Some(stop));
    let asking = thread::spawn(move || {
        let order = |subtype: &str| {
            let line = json!({"type": "control_request", "request_id": "r", "request": {"subtype": subtype}});
            caller.line(line.to_string().as_bytes());
        };
        (0..100).for_each(|_| order("mcp_status"));
        order("interrupt");
    });
    // Were each answer waited for, it would take ten seconds.
    let heard = on_fire.recv_timeout(Duration::from_secs(5));
    thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
    asking.join().unwrap();
    assert!(heard.is_ok());
}
