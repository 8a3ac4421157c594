//! Blender's socket through the built binary: framing, misbehaving add-ons, screenshots, approval and the reports on the connection.

use std::io::Write as _;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::blender_pictures::leftovers;
use crate::support::blender::{Peer, send};
use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples::{Sample, each};
use crate::support::server::{Answer, Exchange, Server};
use crate::support::tcp::closed_port;
use crate::support::wait::until;
use crate::support::wire::openai;
use crate::support::words::{TextAssertions, error_text, success_text};

const LIMIT: Duration = Duration::from_secs(20);
pub(crate) const PICTURES: &str = ".cache/marvin/blender";

pub(crate) fn tool(home: &Home, peer: &Peer, name: &str, args: &Value) -> Marvin {
    peer.named_to(home.tool(name, args)).limit(LIMIT)
}

fn scene(home: &Home, peer: &Peer) -> Marvin {
    tool(home, peer, "blender_get_scene", &json!({}))
}

/// The error of a call that this reply answers.
fn error_after(reply: &str) -> String {
    let (home, peer) = (Home::new(), Peer::replying(reply));
    error_text(scene(&home, &peer).run(), &[])
}

#[test]
fn every_sample_is_shown_or_explained() {
    let ask = |sample: &Sample, name: &str, args: Value| {
        let (home, peer) = (Home::new(), Peer::replying(sample.bytes.clone()));
        (
            tool(&home, &peer, name, &args).run(),
            peer.requests().remove(0),
        )
    };
    let fine = |name: &'static str,
                args: Value,
                command: &'static str,
                sent: Value,
                says: &'static [&'static str]| {
        move |sample: &Sample| {
            let (done, request) = ask(sample, name, args.clone());
            sample.assert_shown_in(&success_text(done, &[]), says);
            assert_eq!(request, json!({"type": command, "params": sent}));
        }
    };
    let fails = |name: &'static str, args: Value, says: &'static [&'static str]| {
        move |sample: &Sample| {
            let (done, _) = ask(sample, name, args.clone());
            sample.assert_shown_in(&done.expect(1).errors(), says);
        }
    };
    let (cube, code) = (json!({"name": "Cube"}), json!({"code": "print('x')"}));
    each(
        "blender",
        "blender",
        &[
            (
                "scene.json",
                &fine(
                    "blender_get_scene",
                    json!({}),
                    "get_scene_info",
                    json!({}),
                    &["\"object_count\": 3", "4.08", "\"CAMERA\""],
                ),
            ),
            (
                "object-cube.json",
                &fine(
                    "blender_get_object",
                    json!({"object_name": "Cube"}),
                    "get_object_info",
                    cube,
                    &["\"vertices\": 8", "\"Material\""],
                ),
            ),
            (
                "object-missing.json",
                &fails(
                    "blender_get_object",
                    json!({"object_name": "Nope"}),
                    &["Object not found: Nope", "blender_get_scene"],
                ),
            ),
            (
                "object-wrong-parameter.json",
                &fails(
                    "blender_get_object",
                    json!({"object_name": "Cube"}),
                    &["unexpected keyword argument"],
                ),
            ),
            (
                "code-ok.json",
                &fine(
                    "blender_execute_code",
                    code.clone(),
                    "execute_code",
                    code.clone(),
                    &["\"executed\": true", "made Ball\\n"],
                ),
            ),
            (
                "code-error.json",
                &fails(
                    "blender_execute_code",
                    code,
                    &["Blender reported an error: division by zero."],
                ),
            ),
            (
                "unknown-command.json",
                &fails(
                    "blender_get_scene",
                    json!({}),
                    &[
                        "Unknown command type: create_object",
                        "Update the BlenderMCP add-on",
                    ],
                ),
            ),
            (
                "screenshot-no-path.json",
                &fails("blender_screenshot", json!({}), &["No filepath provided"]),
            ),
            (
                "screenshot-ok.json",
                &fails("blender_screenshot", json!({}), &["there is no picture"]),
            ),
        ],
    );
}

#[test]
fn a_result_is_json_that_programs_can_read() {
    let result = json!({"name": "Scène \u{1f600}", "objects": [{"name": "a\"b\n", "location": [1.5, 0, -2]}]});
    let (home, peer) = (Home::new(), Peer::with_result(&result));
    let text = success_text(scene(&home, &peer).run(), &[]);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), result);
    assert!(text.starts_with("{\n  \"name\""), "{text}");
}

#[test]
fn a_reply_is_read_however_it_is_split() {
    // Raw, so that some cuts fall inside a character.
    let reply = "{\"status\": \"success\", \"result\": {\"name\": \"Gä}\\\"😀\"}} \n";
    for at in [1, 10, 40, 44, 45, 49, 50, 51, 54, reply.len() - 3] {
        let home = Home::new();
        let peer = Peer::start(move |_, stream| {
            let (first, last) = reply.as_bytes().split_at(at);
            send(stream, first);
            std::thread::sleep(Duration::from_millis(30));
            send(stream, last);
        });
        success_text(scene(&home, &peer).run(), &[]).assert_has(&["Gä}\\\"😀"]);
        let home = Home::new();
        let peer = Peer::start(move |_, stream| {
            reply.bytes().for_each(|byte| send(stream, &[byte]));
        });
        success_text(scene(&home, &peer).run(), &[]);
    }
}

#[test]
fn a_long_request_arrives_whole_and_in_ascii() {
    let (home, peer) = (
        Home::new(),
        Peer::with_result(&json!({"executed": true, "result": ""})),
    );
    // Longer than the peer reads at once; its splits fall anywhere.
    let code = format!(
        "# {}\n{}",
        "é😀\"\\\u{7f}".repeat(3_000),
        "pass\n".repeat(3_000)
    );
    let args = json!({"code": code});
    success_text(tool(&home, &peer, "blender_execute_code", &args).run(), &[]);
    assert_eq!(
        peer.requests(),
        [json!({"type": "execute_code", "params": args})]
    );
}

#[test]
fn what_is_no_reply_is_explained() {
    for (reply, says) in [
        (
            "HTTP/1.1 400 Bad Request\r\n\r\n",
            "is not the BlenderMCP add-on",
        ),
        ("[1, 2]", "is not the BlenderMCP add-on"),
        ("\u{0}\u{1}", "is not the BlenderMCP add-on"),
        ("{\"status\": success}", "a reply that is not JSON"),
        ("{]", "a reply that is not JSON"),
        ("{}", "a form that is not known"),
    ] {
        error_after(reply).assert_has(&[says]);
    }
    let nested = format!(
        "{{\"status\": {}1{}}}",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    error_after(&nested).assert_has(&["a reply that is not JSON"]);
}

#[test]
fn the_first_of_two_replies_counts_and_what_python_adds_to_json_is_read() {
    for reply in [
        "{\"status\": \"success\", \"result\": {\"size\": NaN, \"name\": \"one\"}}{\"status\": \"error\", \"message\": \"two\"}",
        "{\"status\": \"success\", \"result\": {\"size\": -Infinity, \"name\": \"one\\udcff\"}}",
    ] {
        let (home, peer) = (Home::new(), Peer::replying(reply));
        scene(&home, &peer).prints(&["\"size\": null", "\"name\": \"one"]);
    }
}

#[test]
fn an_add_on_that_hangs_up_is_an_error_that_says_when() {
    let ends = |sent: &'static str| {
        let home = Home::new();
        let peer = Peer::start(move |_, stream| {
            send(stream, sent.as_bytes());
            let _ = stream.shutdown(Shutdown::Both);
        });
        let scene = error_text(scene(&home, &peer).run(), &[]);
        let args = json!({"code": "print(1)"});
        let code = error_text(tool(&home, &peer, "blender_execute_code", &args).run(), &[]);
        // Only code may have done something.
        scene.assert_lacks(&["may have run"]);
        code.assert_has(&["Blender may have run the code"]);
        scene
    };
    ends("").assert_has(&["closed the connection without an answer"]);
    ends("{\"status\": \"succ").assert_has(&["in the middle of its reply, after 16 bytes"]);
}

#[test]
fn a_flood_is_cut_off() {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    let home = Home::new();
    let peer = Peer::start(move |_, stream| {
        send(stream, b"{\"status\": \"");
        let piece = vec![b'x'; 1 << 16];
        while count.load(Ordering::SeqCst) < 100 << 20 && stream.write_all(&piece).is_ok() {
            count.fetch_add(piece.len(), Ordering::SeqCst);
        }
    });
    let (done, peak) = scene(&home, &peer).spawn().wait_measured();
    error_text(done, &[]).assert_has(&["longer than 4 MB"]);
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < 40 << 20, "{sent} bytes were read or buffered");
    assert!(peak < 64 << 20, "{peak} bytes of memory");
}

#[test]
fn a_signal_ends_the_wait_for_a_busy_blender() {
    for half in ["", "{\"status\""] {
        let home = Home::new();
        let peer = Peer::start(move |_, stream| send(stream, half.as_bytes()));
        for (name, args) in [
            ("blender_get_scene", json!({})),
            ("blender_execute_code", json!({"code": "while True: pass"})),
            ("blender_screenshot", json!({})),
        ] {
            let before = peer.requests().len();
            let mut run = tool(&home, &peer, name, &args).spawn();
            until("the request", || peer.requests().len() > before);
            run.signal(Signal::INT);
            assert!(run.ends_within(Duration::from_secs(10)), "{name} goes on");
            until("the end of the connection", || peer.closed() > before);
        }
        assert_eq!(leftovers(&home), Vec::<PathBuf>::new());
    }
}

#[test]
fn no_blender_is_said_with_what_to_do() {
    let home = Home::new();
    let (port, _reserved) = closed_port();
    let port = port.to_string();
    let run = home
        .marvin()
        .env("BLENDER_MCP_PORT", &port)
        .args(["tool", "blender_get_scene"]);
    error_text(run.run(), &[]).assert_has(&[
        "Blender is not connected: enable the BlenderMCP add-on and press Connect.",
        &format!("127.0.0.1:{port}"),
        "BLENDER_MCP_PORT",
    ]);
    for (variable, value, says) in [
        ("BLENDER_MCP_PORT", "0", "BLENDER_MCP_PORT is not a port"),
        (
            "BLENDER_MCP_HOST",
            "a..b",
            "The host \"a..b\" of Blender is not known",
        ),
    ] {
        let run = home
            .marvin()
            .env(variable, value)
            .args(["tool", "blender_get_scene"]);
        error_text(run.run(), &[]).assert_has(&[says]);
    }
}

#[test]
fn the_port_may_be_in_the_settings() {
    let (home, peer) = (Home::new(), Peer::with_result(&json!({"name": "Scene"})));
    home.write(
        "config/config.yaml",
        format!("BLENDER_MCP_PORT: {}\n", peer.port()),
    );
    let run = home.marvin().args(["tool", "blender_get_scene"]);
    success_text(run.run(), &[]).assert_has(&["Scene"]);
}

#[test]
fn wrong_arguments_reach_no_blender() {
    let (home, peer) = (Home::new(), Peer::with_result(&json!({})));
    for (name, args, says) in [
        (
            "blender_get_object",
            json!({"object_name": ""}),
            "The name is empty",
        ),
        // Blender reads up to the NUL: this would delete the cube.
        (
            "blender_delete_object",
            json!({"object_name": "Cube\u{0}2"}),
            "a NUL character",
        ),
        (
            "blender_create_object",
            json!({"object_type": "teapot"}),
            "one of cube, sphere",
        ),
        (
            "blender_create_object",
            json!({"object_type": "cube", "location": [1, 2]}),
            "location needs three numbers",
        ),
        (
            "blender_create_object",
            json!({"object_type": "cube", "scale": [1e39]}),
            "too large for Blender",
        ),
        (
            "blender_modify_object",
            json!({"object_name": "Cube"}),
            "There is nothing to change",
        ),
        (
            "blender_modify_object",
            json!({"object_name": "Cube", "rotation": ["x", 0, 0]}),
            "a number",
        ),
        (
            "blender_set_material",
            json!({"object_name": "Cube", "color": [255, 0, 0]}),
            "from 0 to 1",
        ),
        (
            "blender_execute_code",
            json!({"code": " \n"}),
            "The code is empty",
        ),
    ] {
        tool(&home, &peer, name, &args).fails(&[says]);
    }
    assert!(peer.requests().is_empty());
}

fn code_call() -> Answer {
    Answer::sse(openai::call(
        "c1",
        "blender_execute_code",
        json!({"code": "print(1)"}),
    ))
}

fn playing() -> Server {
    let script = [code_call(), says("That was it.")];
    Server::with(script.map(|answer| Exchange::post("/chat/completions").answer(answer)))
}

/// What the model was told about its call.
fn told(server: &Server) -> String {
    let body = server.request(1).json();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().unwrap().to_owned()
}

#[test]
fn code_of_a_model_runs_without_a_question_only_in_non_interactive_mode() {
    let ran = json!({"executed": true, "result": "1\n"});
    let (home, server, peer) = (Home::new(), playing(), Peer::with_result(&ran));
    let run = peer.named_to(home.ask(&server.url("/v1"), "count"));
    run.run().expect(0);
    told(&server).assert_has(&["\"executed\": true"]);
    assert_eq!(peer.requests().len(), 1);
    // In a pipe there is nobody to ask.
    let (home, server, peer) = (Home::new(), playing(), Peer::with_result(&ran));
    let run = peer.named_to(home.chat(&server));
    run.stdin("count\n").run().expect(0);
    told(&server).assert_has(&["To run this Python code in Blender needs the user's agreement"]);
    assert!(peer.requests().is_empty());
}

#[test]
fn a_child_has_blender_only_when_its_parent_chose_it_and_bounds_hold_there() {
    let ran = json!({"executed": true, "result": ""});
    let args = json!({"code": "pass"});
    for (vars, says) in [
        (
            &[("MARVIN_DEPTH", "1")][..],
            Some("a sub-agent has only the tools for work on a project"),
        ),
        (&[("MARVIN_DEPTH", "1"), ("MARVIN_TOOLS", "blender")], None),
        (
            &[
                ("MARVIN_DEPTH", "1"),
                ("MARVIN_TOOLS", "blender"),
                ("MARVIN_READONLY", "1"),
            ],
            Some("read-only"),
        ),
        (
            &[("MARVIN_WRITABLE_FILES", "a.md")],
            Some("MARVIN_WRITABLE_FILES"),
        ),
    ] {
        let (home, peer) = (Home::new(), Peer::with_result(&ran));
        let run = tool(&home, &peer, "blender_execute_code", &args);
        let run = vars
            .iter()
            .fold(run, |run, (name, value)| run.env(name, value));
        match says {
            Some(says) => drop(run.fails(&[says])),
            None => drop(run.run().expect(0)),
        }
        assert_eq!(peer.requests().len(), usize::from(says.is_none()));
    }
}

#[test]
fn doctor_and_the_command_of_the_conversation_report_the_connection() {
    let (home, server) = (Home::new(), Server::start());
    let report = |run: Marvin| {
        let doctor = run.args(["doctor", "--json"]).run().expect(0);
        let findings: Vec<Value> = serde_json::from_str(doctor.text()).unwrap();
        let own = findings
            .iter()
            .find(|row| row["name"] == "blender")
            .unwrap();
        (
            own["ok"] == true,
            format!(
                "{} → {}",
                own["state"].as_str().unwrap(),
                own["advice"].as_str().unwrap()
            ),
        )
    };
    let chat = |run: Marvin| {
        let run = run.with_model(&server).arg("--plain");
        let done = run.stdin("!blender\n").limit(LIMIT).run().expect(0);
        done.output()
    };
    let peer = Peer::with_result(&json!({"name": "Gärten\u{1b}[2J", "object_count": 1}));
    let fine = format!(
        "Blender answers at 127.0.0.1:{}: scene Gärten\\x1b[2J with 1 object.",
        peer.port()
    );
    assert_eq!(
        report(peer.named_to(home.marvin())),
        (true, format!("{fine} → "))
    );
    chat(peer.named_to(home.marvin())).assert_has(&[&fine]);

    let (port, _reserved) = closed_port();
    let port = port.to_string();
    let absent = || home.marvin().env("BLENDER_MCP_PORT", &port);
    let (is_fine, text) = report(absent());
    assert!(!is_fine);
    text.assert_has(&[
        "Blender is not connected",
        "press Connect",
        "BLENDER_MCP_PORT",
    ]);
    chat(absent()).assert_has(&["Blender is not connected", "press Connect"]);

    let busy = Peer::start(|_, _| {});
    chat(busy.named_to(home.marvin())).assert_has(&["Blender did not answer within 2 s."]);
    let (is_fine, text) = report(busy.named_to(home.marvin()));
    assert!(!is_fine && text.contains("within 2 s"), "{text}");
    assert!(server.requests().is_empty());
}
