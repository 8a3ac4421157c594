//! The folder of a run without a user, which the model does not leave.

use std::fs;

use serde_json::{Value, json};

use crate::support::conversation::says;
use crate::support::home::Home;
use crate::support::server::{Answer, Exchange, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

fn playing(path: &str) -> Server {
    let answers = [
        Answer::sse(openai::call(
            "call_1",
            "set_working_dir",
            json!({"path": path}),
        )),
        Answer::sse(openai::call(
            "call_2",
            "read_file",
            json!({"path": "id_test"}),
        )),
        says("Done."),
    ];
    let exchange = |answer| Exchange::post("/chat/completions").answer(answer);
    Server::with(answers.into_iter().map(exchange))
}

/// The results of the two calls.
fn results(server: &Server) -> Vec<String> {
    let body = server.request(2).json();
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
        .collect()
}

#[test]
fn a_run_without_a_user_stays_in_the_folder_it_was_started_in() {
    for (folder, is_left) in [("../.ssh", false), ("../other", false), ("sub", true)] {
        let home = Home::new();
        for name in [".ssh", "other", "work/sub"] {
            home.write(&format!("{name}/id_test"), format!("the text in {name}"));
        }
        let path = home.work().join(folder).display().to_string();
        let server = playing(&path);
        home.ask(&server.url("/v1"), "go on").run().expect(0);
        let results = results(&server);
        assert_eq!(results[0].contains("is bound"), !is_left, "{results:?}");
        assert_eq!(results[1].contains("the text in"), is_left, "{results:?}");
    }
}

#[test]
fn a_run_started_at_home_has_no_folder_but_gets_at_no_secrets() {
    for folder in [".ssh", ".config/gh", "config", "", "/proc/self"] {
        let home = Home::new();
        fs::create_dir_all(home.path().join(".config/gh")).unwrap();
        for name in [
            ".ssh/id_test",
            "id_test",
            "config/id_test",
            ".config/gh/id_test",
        ] {
            home.write(name, "the text of a key");
        }
        let path = home.path().join(folder).display().to_string();
        let server = playing(&path);
        let run = home.ask(&server.url("/v1"), "go on").dir(&home.path());
        run.run().expect(0);
        let results = results(&server);
        results[0].assert_has_for(&results, &["cannot be the working directory"]);
        assert!(!results[1].contains("the text of a key"), "{results:?}");
    }
    let home = Home::new();
    home.write("other/id_test", "the text of a project");
    let server = playing(&home.path().join("other").display().to_string());
    let run = home.ask(&server.url("/v1"), "go on").dir(&home.path());
    run.run().expect(0);
    results(&server)[1].assert_has(&["the text of a project"]);
}
