//! Images in messages, from the command line and from a conversation, over every wire.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::conversation::{playing, says};
use crate::support::copilot_peer;
use crate::support::home::Home;
use crate::support::image::png;
use crate::support::run::Marvin;
use crate::support::server::{Answer, Server};
use crate::support::wire::openai;
use crate::support::words::TextAssertions;

const LOG: &str = "config/profiles/main/chat_log.json";

/// Marvin in the non-interactive mode with two images for `provider`, whose base is `base`.
fn with_images(home: &Home, provider: &str, model: &str, base: &str) -> Marvin {
    home.write("work/one.png", png(640, 480));
    // The name says nothing; the content does.
    home.write("work/two.txt", png(10, 20));
    let id = provider.to_uppercase().replace('-', "_");
    home.marvin()
        .env(&format!("MARVIN_URL_{id}"), base)
        .env(&format!("{id}_API_KEY"), "test-key")
        .args(["--non-interactive", "--provider", provider])
        .args(["--model", model, "--prompt", "compare them"])
        .args(["-i", "one.png", "--image", "two.txt"])
}

fn base64(width: u32, height: u32) -> String {
    STANDARD.encode(png(width, height))
}

fn url(width: u32, height: u32) -> String {
    format!("data:image/png;base64,{}", base64(width, height))
}

#[test]
fn images_of_the_command_line_stand_behind_the_words() {
    let (home, server) = (Home::new(), playing([says("Alike.")]));
    let done = with_images(&home, "openai-compat", "test-model", &server.url("/v1")).run();
    assert_eq!(done.expect(0).text(), "Alike.\n");
    let messages = &server.request(0).json()["messages"];
    assert_eq!(
        messages.as_array().unwrap().last().unwrap()["content"],
        json!([
            {"type": "text", "text": "compare them"},
            {"type": "image_url", "image_url": {"url": url(640, 480)}},
            {"type": "image_url", "image_url": {"url": url(10, 20)}},
        ])
    );
}

#[test]
fn copilot_gets_images_as_attachments() {
    let home = Home::new();
    home.write("work/one.png", png(64, 48));
    let folder = home.path().join("cli");
    let fixture = |name: &str| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/copilot/");
        std::fs::read_to_string(format!("{path}{name}.jsonl")).unwrap()
    };
    let script = fixture("begin") + &fixture("answer");
    let cli = copilot_peer::install(&folder, &script, "copilot::peer");
    home.marvin()
        .env("MARVIN_COPILOT_CLI", cli)
        .args(["--non-interactive", "--provider", "copilot"])
        .args(["--prompt", "hi", "-i", "one.png"])
        .run()
        .expect(0);
    let calls = copilot_peer::calls(&folder).into_iter();
    let mut sent = calls.filter(|call| call["method"] == "session.send");
    assert_eq!(
        sent.next().unwrap()["params"]["attachments"],
        json!([{
            "type": "blob",
            "data": base64(64, 48),
            "mimeType": "image/png",
            "displayName": "one.png",
        }])
    );
}

#[test]
fn a_model_without_eyes_is_not_asked_and_another_one_is_named() {
    let home = Home::new();
    let server = Server::start();
    let done = with_images(&home, "openai", "o3-mini", &server.url("/v1"));
    done.fails(&["o3-mini takes no images.", "/model openai gpt-"]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn what_is_no_image_is_refused_before_anything_is_sent() {
    let home = Home::new();
    let server = Server::start();
    home.write("work/text.png", "only text");
    home.write("work/cut.png", b"\x89PNG\r\n\x1a\n");
    for (file, words) in [
        ("missing.png", "Cannot read the image \"missing.png\""),
        ("text.png", "\"text.png\" is no image"),
        ("cut.png", "its header is damaged"),
        (".", "is not a file"),
    ] {
        let done = home
            .ask(&server.url("/v1"), "look")
            .args(["-i", file])
            .run();
        let errors = done.expect(1).errors();
        assert!(errors.contains(words), "{file}: {errors}");
        errors.assert_has(&["MARVIN_COST:"]);
    }
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_conversation_keeps_the_image_and_its_log_only_the_name() {
    let home = Home::new();
    home.write("work/my shot.png", png(640, 480));
    let server = playing([says("A grey area."), says("Still grey.")]);
    let done = home
        .chat(&server)
        .stdin("what is on @\"my shot.png\"\nand now?\n")
        .run()
        .expect(0);
    done.text()
        .assert_has(&["@my shot.png  PNG, 640x480, ", "about 410 tokens"]);
    for request in 0..2 {
        let body = server.request(request).json();
        let message = &body["messages"][1];
        assert_eq!(
            message["content"][1]["image_url"]["url"],
            url(640, 480),
            "request {request}"
        );
    }
    let log: Value = serde_json::from_str(&home.read(LOG)).unwrap();
    let text = log[0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("what is on @\"my shot.png\"\n[image my shot.png, 640x480, "),
        "{text}"
    );
    assert!(!home.read(LOG).contains(&base64(640, 480)));
}

#[test]
fn an_image_of_the_command_line_goes_with_the_first_message() {
    let home = Home::new();
    home.write("work/one.png", png(640, 480));
    let server = playing([says("Grey.")]);
    home.chat(&server)
        .args(["-i", "one.png"])
        .stdin("what is it?\n")
        .prints(&["Goes with your next message: one.png"]);
    let content = &server.request(0).json()["messages"][1]["content"];
    assert_eq!(content[1]["image_url"]["url"], url(640, 480));
}

#[test]
fn a_message_with_a_missing_file_is_not_sent() {
    let home = Home::new();
    let server = playing([says("Fine.")]);
    let done = home
        .chat(&server)
        .stdin("read @src/mian.rs and @mian.rs\nhello\n")
        .run();
    done.output()
        .assert_has(&["There is no file \"src/mian.rs\"."]);
    assert_eq!(server.requests().len(), 1);
    let body = server.request(0).json();
    assert_eq!(body["messages"].as_array().unwrap().len(), 2);
    assert_eq!(body["messages"][1]["content"], "hello");
}

#[test]
fn whoever_goes_on_with_a_session_is_told_that_its_images_are_not_sent_again() {
    let server = Server::always(Answer::sse(openai::text(&["Seen."])));
    let home = Home::new();
    home.write("work/one.png", png(640, 480));
    let chat = |args: &[&str], text: &str| {
        home.chat(&server)
            .args(args.iter().copied())
            .stdin(text.to_owned())
            .run()
            .expect(0)
    };
    let words = "Images of this session are not sent again.";
    let first = chat(&["-i", "one.png"], "look\n");
    assert!(!first.text().contains(words), "{}", first.text());
    let second = chat(&["--continue"], "and now\n");
    assert!(second.text().contains(words), "{}", second.text());
}

#[test]
fn a_missing_image_of_the_command_line_is_told_before_the_conversation() {
    let home = Home::new();
    home.marvin()
        .args(["--plain", "-i", "nope.png"])
        .stdin("hi\n")
        .fails(&["Cannot read the image \"nope.png\""])
        .stdout_lacks(&["hi"]);
}
