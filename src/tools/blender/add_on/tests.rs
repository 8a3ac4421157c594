//! The socket with short limits. What the built binary does with a misbehaving add-on is in `tests/suite/blender.rs` and `blender_pictures.rs`.

use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::thread;

use proptest::prelude::*;

use super::*;
use crate::base::problem::ProblemKind;
use crate::tools::test_mutate::spoiled;

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(30);

/// An add-on that sends `reply` to the first request and keeps the connection open until the client closes it.
fn add_on(reply: &'static [u8]) -> AddOn {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut piece = [0; 4096];
        let _ = stream.read(&mut piece);
        let _ = stream.write_all(reply);
        while stream.read(&mut piece).is_ok_and(|count| count > 0) {}
    });
    AddOn {
        host: "127.0.0.1".to_owned(),
        port,
    }
}

fn ask(reply: &'static [u8], command: Command, limit: Duration) -> Outcome<Value> {
    add_on(reply).ask(command, &json!({}), limit, &Cancel::new())
}

#[test]
fn a_reply_ends_the_wait_though_the_connection_stays_open() {
    let reply = br#"{"status": "success", "result": {"name": "Scene"}}"#;
    let scene = ask(reply, Command::SceneInfo, LONG).unwrap();
    assert_eq!(scene, json!({"name": "Scene"}));
}

#[test]
fn silence_and_half_a_reply_end_at_the_limit() {
    let silent = ask(b"", Command::SceneInfo, SHORT).unwrap_err();
    assert_eq!(silent.kind, ProblemKind::Timeout);
    assert!(
        silent.what.starts_with("Blender did not answer"),
        "{silent}"
    );
    assert!(!silent.one_line().contains("may still"), "{silent}");
    let half = ask(b"{\"status\": \"succ", Command::ExecuteCode, SHORT).unwrap_err();
    assert_eq!(half.kind, ProblemKind::Timeout);
    assert!(half.what.contains("16 bytes arrived"), "{half}");
    assert!(half.one_line().contains("may still do so"), "{half}");
}

#[test]
fn cancelling_ends_the_wait_for_a_reply() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let own = AddOn {
        host: "127.0.0.1".to_owned(),
        port: listener.local_addr().unwrap().port(),
    };
    let (stop, (tell, told)) = (Cancel::new(), channel());
    let halt = stop.clone();
    thread::spawn(move || tell.send(own.ask(Command::SceneInfo, &json!({}), LONG, &halt)));
    let (mut stream, _) = listener.accept().unwrap();
    assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
    stream.write_all(b"{\"status\"").unwrap();
    stop.fire();
    let outcome = told.recv_timeout(LONG / 3).unwrap();
    assert!(outcome.unwrap_err().is_cancelled());
    // The connection is closed, and not only left alone.
    stream.set_read_timeout(Some(LONG / 3)).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
}

#[test]
fn a_reply_is_a_result_or_an_error_whatever_its_status_says() {
    for (reply, expected) in [
        (
            json!({"status": "success", "result": {"a": 1, "error": null}}),
            None,
        ),
        (
            json!({"status": "error", "message": "Object not found: Nope"}),
            Some("Blender reported an error: Object not found: Nope. blender_get_scene lists"),
        ),
        (
            json!({"status": "success", "result": {"error": "No filepath provided"}}),
            Some("Blender reported an error: No filepath provided."),
        ),
        (
            json!({"status": "error", "message": "Unknown command type: x"}),
            Some("Update the BlenderMCP add-on"),
        ),
        (
            json!({"status": "error", "message": {"code": 3}}),
            Some("{\"code\":3}"),
        ),
        (
            json!({"status": "error", "message": "a\u{1b}[31mb"}),
            Some("a\\x1b[31mb"),
        ),
        (json!({"status": "error"}), Some("without saying which")),
        (
            json!({"status": "error", "message": " "}),
            Some("without saying which"),
        ),
        (
            json!({"status": "success"}),
            Some("a form that is not known"),
        ),
        (
            json!({"status": "success", "result": null}),
            Some("a form that is not known"),
        ),
        (
            json!({"status": "success", "result": "done"}),
            Some("a form that is not known"),
        ),
        (
            json!({"status": "success", "result": [1]}),
            Some("a form that is not known"),
        ),
        (
            json!({"status": 1, "result": {}}),
            Some("a form that is not known"),
        ),
        (
            json!({"status": "done", "result": {}}),
            Some("a form that is not known"),
        ),
        (json!({}), Some("a form that is not known")),
    ] {
        let map = reply.as_object().unwrap().clone();
        match (result(map), expected) {
            (Ok(result), None) => assert_eq!(result, reply["result"]),
            (Err(problem), Some(text)) => {
                let line = problem.one_line();
                assert!(line.contains(text), "{text:?} is not in {line:?}");
            }
            (outcome, _) => panic!("{reply}: {outcome:?}"),
        }
    }
    let division = json!({"status": "error", "message": "Code execution error: division by zero"});
    let problem = result(division.as_object().unwrap().clone());
    assert_eq!(
        problem.unwrap_err().what,
        "Blender reported an error: division by zero."
    );
}

#[test]
fn the_environment_names_host_and_port() {
    let address = |vars: [(&str, &str); 2]| AddOn::new(&Env::from(vars)).map(|own| own.address());
    let (host, port) = ("BLENDER_MCP_HOST", "BLENDER_MCP_PORT");
    assert_eq!(address([(host, ""), (port, "")]).unwrap(), "127.0.0.1:9876");
    assert_eq!(
        address([(host, " studio.test "), (port, "80")]).unwrap(),
        "studio.test:80"
    );
    assert_eq!(address([(host, "::1"), (port, "")]).unwrap(), "[::1]:9876");
    assert_eq!(
        address([(host, "[::1]"), (port, "")]).unwrap(),
        "[::1]:9876"
    );
    for wrong in ["0", "65536", "-1", "port", "98 76"] {
        let problem = address([(host, ""), (port, wrong)]).unwrap_err();
        assert!(problem.one_line().contains(port), "{wrong}: {problem}");
    }
}

fn reply() -> Value {
    let cube = json!({"name": "Cube", "type": "MESH", "location": [0.0, 1.5, -2.0]});
    json!({"status": "success", "message": "m", "result": {"name": "Scene", "objects": [cube], "error": null}})
}

proptest! {
    #[test]
    fn a_reply_that_is_almost_right_is_a_result_or_explained(reply in spoiled(reply())) {
        let Value::Object(map) = reply.clone() else {
            return Ok(());
        };
        match result(map) {
            Ok(result) => {
                prop_assert_eq!(&reply["status"], "success");
                prop_assert_eq!(&result, &reply["result"]);
                prop_assert!(result["error"].is_null() && result.is_object());
            }
            Err(problem) => {
                let line = problem.one_line();
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
                prop_assert!(problem.what.starts_with("Blender"));
            }
        }
    }
}
