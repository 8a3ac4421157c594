//! Frames of every element, each in every size.

use std::borrow::Cow;

use super::stage::{Stage, rows};
use crate::app::session::ui_update::{FoundFiles, Place, TurnOutcome, UiUpdate};
use crate::base::problem::Problem;
use crate::base::testing::assert_lacks;
use crate::chat::display::Display;
use crate::chat::event::{CallEnd, Event};
use crate::chat::reply_event::ReplyEvent;
use crate::chat::wait::Wait;
use crate::ui::editor::complete::Sources;
use crate::ui::keys::Action;
use crate::ui::text::theme::ColorMode;
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::Color;

const ANSWER: &str = "Yes, though **not enthusiastically**. Tomorrow `11-16 °C`, rain from *14:00* \
on, and a sentence that is long enough to be wrapped in most of the sizes that are looked at here.\n\n\
## What to take\n\n- a coat\n- an umbrella, [of this kind](https://example.org/umbrella)\n  1. black\n  2. large\n\n\
> Rain is only the sky's opinion.\n\n\
| day | from | to |\n|:----|-----:|---:|\n| Sat | 11 °C | 16 °C |\n| Sun | 10 °C | 15 °C |\n\n\
```rust\nfn coat(rain: f64) -> bool {\n    rain > 0.0 // always\n}\n```\n\nThat is all.\n";

const PATCH: &str = r#"{"path": "tests/retry.rs", "old_str": "    let server = Server::start();\n    sleep(50);\n    ask();\n", "new_str": "    let server = Server::start();\n    server.wait_ready()?;\n    ask();\n    check();\n"}"#;

fn talk() -> Stage {
    let mut stage = Stage::new();
    stage.you("Will I need a coat in Porto tomorrow?");
    stage.marvin(ANSWER);
    stage
}

#[test]
fn a_talk_with_markdown() {
    talk().assert_snapshot("talk");
}

#[test]
fn colours_carry_meaning_and_never_alone() {
    talk().assert_style_snapshot("talk", ColorMode::Ansi256);
    // NO_COLOR: bold, underline and the rest remain, no cell has a colour.
    talk().assert_style_snapshot("talk-no-color", ColorMode::None);
    let (buffer, _) = talk().draw((80, 24), ColorMode::None);
    let plain = |cell: &Cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset);
    assert!(buffer.content().iter().all(plain));
    let (coloured, _) = talk().draw((80, 24), ColorMode::True);
    let symbols = |buffer: &Buffer| {
        buffer
            .content()
            .iter()
            .map(|cell| cell.symbol().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(symbols(&buffer), symbols(&coloured));
}

#[test]
fn an_answer_that_arrives() {
    let mut stage = Stage::new();
    stage.you("Go on.");
    stage.delta("A paragraph that is whole.\n\nAnd one with **bold words that are not");
    stage.runs("", false);
    stage.assert_snapshot("arriving");
    let mut stage = Stage::new();
    stage.you("Think first.");
    stage.runs("", false);
    stage.assert_snapshot("thinking");
    let mut stage = Stage::new();
    stage.you("Say much.");
    stage.delta("What was said so");
    stage.show(&UiUpdate::AnswerEnd(TurnOutcome::Stopped));
    stage.you("Once more.");
    stage.show(&UiUpdate::AnswerEnd(TurnOutcome::Failed));
    stage.show(&UiUpdate::Failed(
        Problem::network("groq cannot be reached.").next("Check the network."),
    ));
    stage.assert_snapshot("stopped-and-failed");
}

#[test]
fn a_reply_of_the_flow_shows_its_trace_and_its_draft_until_it_is_checked() {
    let mut stage = Stage::new();
    stage.you("Will I need a coat in Porto tomorrow?");
    for line in [
        "🔧 Tools (llm): 4 selected — weather_forecast, web_search, stop, tool_search",
        "🗺️ Plan: 2 step(s) — weather_forecast location='Porto' | Reply to the user.",
        "🪴 Warm profile: 120 user chars, 0 directive chars",
        "💬 Working…",
    ] {
        stage.reply(ReplyEvent::Trace {
            text: line.to_owned(),
        });
    }
    for piece in ["Yes. ", "**Rain**, as ever, from two in the afternoon on, "] {
        stage.reply(ReplyEvent::Draft {
            piece: piece.to_owned(),
        });
    }
    stage.runs("", false);
    stage.assert_snapshot("reply-draft");
    stage.reply(ReplyEvent::DraftDropped);
    stage.status.running.clear();
    stage.marvin("Yes. It will rain.");
    stage.reply(ReplyEvent::Trace {
        text: "🧠 Knowledge graph: learned 1 new fact\n   The user owns a coat → User".to_owned(),
    });
    stage.you("That is all.");
    stage.reply(ReplyEvent::Trace {
        text: "💤 Until later.".to_owned(),
    });
    stage.show(&UiUpdate::AnswerEnd(TurnOutcome::Complete));
    stage.assert_snapshot("reply-checked");
}

#[test]
fn a_round_of_tools() {
    let mut stage = Stage::new();
    stage.you("The retry test is flaky, find out why and fix it.");
    stage.delta("I look where it sleeps.");
    let grep = r#"{"pattern": "retry", "glob_filter": "*.rs"}"#;
    let read = r#"{"path": "tests/retry.rs", "start_line": 1}"#;
    stage.calls(&[
        ("1", "code_grep", grep),
        ("2", "read_file", read),
        ("3", "nosuch", "{}"),
    ]);
    stage.done("1", CallEnd::Success, "tests/retry.rs:41: retry\n");
    stage.done(
        "3",
        CallEnd::Failure,
        "Error: There is no tool \"nosuch\".\nThe tools are: many.",
    );
    stage.runs("", false);
    stage.assert_snapshot("round-running");
    stage.done("2", CallEnd::Success, "1: use std;\n2: \n3: fn retry() {}");
    stage.calls(&[("4", "apply_patch", PATCH)]);
    let patched = Display::Diff {
        old: "    let server = Server::start();\n    sleep(50);\n    ask();\n".to_owned(),
        new: "    let server = Server::start();\n    server.wait_ready()?;\n    ask();\n    check();\n"
            .to_owned(),
        first_line: None,
    };
    stage.done_showing("4", CallEnd::Success, "Replaced.", Some(patched));
    let create = r#"{"path": "new.txt", "content": "one\ntwo\n"}"#;
    stage.calls(&[("5", "create_file", create)]);
    let written = Display::Diff {
        old: String::new(),
        new: "one\ntwo\n".to_owned(),
        first_line: Some(1),
    };
    stage.done_showing("5", CallEnd::Success, "Written.", Some(written));
    stage.status.running.clear();
    stage.marvin("Mended.");
    stage.assert_snapshot("round-with-changes");
    stage.assert_style_snapshot("round-with-changes", ColorMode::Ansi256);
    stage.chat.set_all_unfolded(true);
    stage.assert_snapshot("round-unfolded");
}

#[test]
fn a_question() {
    let mut stage = Stage::new();
    stage.you("Run the tests.");
    stage.delta("One thread would show whether the tests share a port.");
    stage.calls(&[("1", "run_command", r#"{"command": "cargo test retry"}"#)]);
    stage.ask(
        "cargo test retry -- --test-threads=1 && printf '\u{1b}[31m\u{202e}'\necho done",
        "One thread would show whether the tests share a port.",
    );
    stage.runs("", false);
    stage.assert_snapshot("question");
    stage.assert_style_snapshot("question", ColorMode::Ansi256);
    stage.editor.set_text("use just test");
    if let Some(open_question) = &mut stage.open_question {
        open_question.declining = true;
    }
    stage.assert_snapshot("question-why");
    let long: String = (0..40).map(|n| format!("echo {n} && \\\n")).collect();
    stage.ask(&long, "");
    stage.assert_snapshot("question-long");
}

#[test]
fn a_question_must_be_seen_in_full_before_a_key_approves() {
    let mut stage = Stage::new();
    stage.you("Run the tests.");
    for command in [
        "rm -r x",
        "rm -r x; echo this is a command that is long enough for several rows of a small screen",
    ] {
        for (width, height) in [(20, 4), (20, 5), (20, 6), (30, 7), (40, 12), (500, 200)] {
            stage.ask(
                command,
                "A reason of some words, because of which there is less room.",
            );
            let mut all = String::new();
            let mut pages = 0;
            loop {
                let (buffer, _) = stage.draw((width, height), ColorMode::None);
                let rows = buffer.content().chunks(usize::from(width));
                let rows = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
                let visible_rows = rows.collect::<Vec<_>>().join("\n");
                assert!(
                    pages > 0 || visible_rows.contains("rm -r x"),
                    "{visible_rows}"
                );
                all.push_str(&visible_rows);
                let open_question = stage.open_question.as_mut().expect("a question");
                let keys = visible_rows.contains(" y ");
                assert_eq!(
                    keys,
                    open_question.is_read(),
                    "{width}x{height}:\n{visible_rows}"
                );
                if keys {
                    break;
                }
                open_question.scroll(open_question.page());
                pages += 1;
                assert!(pages < 50, "no end at {width}x{height}:\n{all}");
            }
            let together = all.replace(['\n', ' '], "");
            for word in command.split(' ').chain(["fetcher", "less", "room."]) {
                // The smallest screens show a broken word's rows one at a time.
                let whole = together.contains(word) || width < 30;
                assert!(whole, "no {word} at {width}x{height}:\n{all}");
            }
        }
    }
    stage.assert_snapshot("question-two-rows");
}

#[test]
fn neither_a_long_change_nor_a_menu_hides_a_question() {
    let mut stage = Stage::new();
    stage.you("Write it and run it.");
    stage.calls(&[("1", "create_file", r#"{"path": "new.txt"}"#)]);
    let lines: String = (1..=120).map(|n| format!("line {n}\n")).collect();
    let change = Display::Diff {
        old: String::new(),
        new: lines,
        first_line: Some(1),
    };
    stage.done_showing("1", CallEnd::Success, "Created new.txt.", Some(change));
    stage.calls(&[("2", "run_command", r#"{"command": "cat new.txt"}"#)]);
    let drafts = ["", "/t", "look at @src/fi"];
    for (size, draft) in [(30, 7), (40, 12), (80, 24)]
        .into_iter()
        .flat_map(|size| drafts.map(|draft| (size, draft)))
    {
        stage.editor.set_text("");
        for c in draft.chars() {
            stage.editor.act(Action::Insert(c), &Files);
        }
        stage.editor.set_found_files(&FoundFiles {
            query: "src/fi".to_owned(),
            count: 1,
            paths: vec!["src/file.rs".to_owned()],
            is_complete: true,
        });
        let is_open = stage.editor.menu().is_some() || stage.editor.file_menu().is_some();
        assert_eq!(is_open, !draft.is_empty(), "{draft:?}");
        for unfolded in [false, true] {
            stage.chat.set_all_unfolded(unfolded);
            stage.ask("cat new.txt", "");
            let rows = visible_rows(&mut stage, size).join("\n");
            let keys = if size.0 == 30 { " y a n e" } else { " y once" };
            for shown in ["Run this command?", " cat new.txt", "fetcher", keys] {
                assert!(rows.contains(shown), "no {shown} with {draft:?}:\n{rows}");
            }
        }
    }
}

#[test]
fn what_is_seen_while_something_runs() {
    let mut stage = Stage::new();
    stage.status.place = Some(Place {
        folder: "fetcher".to_owned(),
        branch: Some("retry-fix".to_owned()),
    });
    stage.show(&UiUpdate::Remark(
        "groq answers, with llama-3.3-70b-versatile.".to_owned(),
    ));
    stage.you("Run the tests.");
    let thought = "The tests sleep.\nI should run them and look at what they print on the way.";
    stage.show(&UiUpdate::Event(Event::Thinking(thought.to_owned())));
    stage.runs("", false);
    stage.assert_snapshot("thinking-hidden");
    assert!(stage.chat.toggle_thinking());
    stage.calls(&[("1", "run_command", r#"{"command": "cargo test retry"}"#)]);
    let lines = "   Compiling fetcher v0.1.0\nrunning 2 tests\ntest a_refused_request_is_sent_again ... \u{1b}[32mok";
    stage.show(&UiUpdate::Event(Event::Output {
        id: "1".to_owned(),
        lines: lines.to_owned(),
        recent: Vec::new(),
    }));
    stage.assert_snapshot("live-output");
    stage.done("1", CallEnd::Success, "2 passed");
    stage.show(&UiUpdate::Event(Event::Wait(Wait::Retry {
        provider: "groq",
        is_rate_limit: true,
        wait: std::time::Duration::from_secs(40),
        attempt: 1,
        most: 2,
        status: Some(429),
    })));
    stage.assert_snapshot("rate-limit");
}

fn visible_rows(stage: &mut Stage, size: (u16, u16)) -> Vec<String> {
    rows(stage, size, ColorMode::None)
}

#[test]
fn updates_during_an_answer_appear_below_it() {
    let mut stage = Stage::new();
    stage.you("Show me the code.");
    stage.delta("Here:\n\n```rust\nfn first() {}\n");
    stage.show(&UiUpdate::System("🔔 deploy: done".to_owned()));
    stage.show(&UiUpdate::CommandOutput {
        command: "make".to_owned(),
        output: "built".to_owned(),
        background: false,
    });
    let row = |rows: &[String], text: &str| {
        let pos = rows.iter().position(|row| row.contains(text));
        pos.unwrap_or_else(|| panic!("no {text} in {rows:#?}"))
    };
    // It is visible at once, below the text so far.
    let rows = visible_rows(&mut stage, (60, 20));
    assert!(row(&rows, "fn first") < row(&rows, "deploy: done"));
    assert!(row(&rows, "deploy: done") < row(&rows, "built"));
    stage.delta("fn second() {}\n```\n\nThat is all.");
    let rows = visible_rows(&mut stage, (60, 20));
    assert_eq!(row(&rows, "fn second"), row(&rows, "fn first") + 1);
    assert!(row(&rows, "That is all.") < row(&rows, "deploy: done"));
    let rows = visible_rows(&mut stage, (60, 24));
    stage.show(&UiUpdate::AnswerEnd(TurnOutcome::Complete));
    let after = visible_rows(&mut stage, (60, 24));
    // The row of the wait has gone, and nothing else has changed.
    let said = |rows: Vec<String>| {
        let is_wait = |row: &String| row.is_empty() || row.contains("waiting for more");
        rows.into_iter()
            .filter(|row| !is_wait(row))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(after), said(rows));
    // What follows is added after it.
    stage.you("Thanks.");
    let rows = visible_rows(&mut stage, (60, 24));
    assert!(row(&rows, "built") < row(&rows, "Thanks."));
    assert_eq!(
        stage.chat.code().as_deref(),
        Some("fn first() {}\nfn second() {}\n")
    );
}

#[test]
fn a_blank_answer_adds_no_entry() {
    let mut stage = Stage::new();
    stage.you("Say nothing.");
    stage.delta(" \n\n");
    let rows = visible_rows(&mut stage, (60, 12));
    assert!(!rows.iter().any(|row| row.contains("marvin")), "{rows:#?}");
    stage.calls(&[("1", "tree", "{}")]);
    stage.done("1", CallEnd::Success, "src");
    stage.marvin("\n");
    let rows = visible_rows(&mut stage, (60, 12));
    assert!(!rows.iter().any(|row| row.contains("marvin")), "{rows:#?}");
    stage.you("Say something.");
    stage.marvin("\n\n  Something.");
    let rows = visible_rows(&mut stage, (60, 12));
    let pos = rows.iter().position(|row| row.contains("marvin")).unwrap();
    assert!(rows[pos + 1].contains("Something."), "{rows:#?}");
}

#[test]
fn undo_hides_the_last_exchange_of_the_profile() {
    let mut stage = Stage::new();
    let profile = |stage: &mut Stage, name: &str| {
        stage.show(&UiUpdate::Profile(name.to_owned()));
        stage.show(&UiUpdate::System(format!("Profile {name}.")));
    };
    profile(&mut stage, "main");
    stage.you("Of main.");
    stage.marvin("Answer of main.");
    profile(&mut stage, "work");
    stage.you("Of work.");
    stage.marvin("Answer of work.");
    profile(&mut stage, "main");
    stage.show(&UiUpdate::Undone("Of main.".to_owned()));
    let rows = visible_rows(&mut stage, (60, 24)).join("\n");
    assert_lacks(&rows, &["of main", "Of main"]);
    for kept in ["Of work.", "Answer of work.", "Profile work.", "Undone."] {
        assert!(rows.contains(kept), "no {kept}:\n{rows}");
    }
    // A message from before the visible conversation.
    stage.show(&UiUpdate::Undone("An earlier one.".to_owned()));
    let rows = visible_rows(&mut stage, (60, 24)).join("\n");
    assert!(rows.contains("Undone: An earlier one."), "{rows}");
    assert!(rows.contains("Of work."), "{rows}");
    profile(&mut stage, "work");
    stage.show(&UiUpdate::Undone("Of work.".to_owned()));
    let rows = visible_rows(&mut stage, (60, 24)).join("\n");
    assert_lacks(&rows, &["Of work.", "Answer of"]);
}

#[test]
fn the_help_overlay() {
    let mut stage = talk();
    stage.help = Some(0);
    stage.assert_snapshot("help");
    // To its end.
    stage.help = Some(usize::MAX / 2);
    stage.draw((80, 24), ColorMode::None);
    stage.assert_snapshot("help-end");
}

struct Files;

impl Sources for Files {
    fn commands(&self) -> Vec<String> {
        ["/help", "/tools", "/tool", "profiles"]
            .map(str::to_owned)
            .into()
    }

    fn about(&self, command: &str) -> Option<Cow<'static, str>> {
        match command {
            "/tools" => Some("the tools, or those that fit a word".into()),
            "/tool" => Some("run one tool without a model".into()),
            _ => None,
        }
    }
}

#[test]
fn the_completion_menu() {
    let mut stage = talk();
    stage.editor.set_text("look at @src/f");
    stage.editor.act(Action::Insert('i'), &Files);
    let paths: Vec<String> = (0..20).map(|n| format!("src/file_{n:02}.rs")).collect();
    stage.editor.set_found_files(&FoundFiles {
        query: "src/fi".to_owned(),
        count: paths.len(),
        paths,
        is_complete: true,
    });
    stage.editor.act(Action::Down, &Files);
    assert!(stage.editor.file_menu().is_some());
    stage.assert_snapshot("menu-paths");
    stage.editor.set_text("/t");
    stage.editor.act(Action::Insert('o'), &Files);
    stage.assert_snapshot("menu-commands");
}

#[test]
fn queued_messages_are_shown() {
    let mut stage = Stage::new();
    stage.you("First.");
    stage.delta("Slowly, as always");
    stage.queue = vec![
        "Second.".to_owned(),
        "Third, which is\nseveral lines long and does not fit into a row of the narrowest screen"
            .to_owned(),
    ];
    stage.editor.set_text("A draft\nof three\nlines");
    stage.runs("", false);
    stage.assert_snapshot("queue");
}

#[test]
fn wide_text_fits() {
    let mut stage = Stage::new();
    stage.you("日本語のテキストと 한국어 글자 그리고 emoji 👩‍👩‍👧‍👦 👍🏽 🇩🇪 e\u{301}a\u{308}");
    stage.marvin(
        "| 名前 | größe |\n|---|---|\n| 東京 | 13,960,000 |\n| Köln | 1 |\n\n\
         שלום עולם, and مرحبا, in one line with 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字.\n\n\
         ```\n全角ｆｕｌｌ\n```\n",
    );
    stage.editor.set_text("日本👨‍👩‍👧é");
    stage.status.model = super::stage::answering("模型-七十億");
    stage.assert_snapshot("wide");
}

#[test]
fn the_status_line_in_every_state() {
    let mut stage = Stage::new();
    stage.status.coding = true;
    stage.status.shell = Some("/home/arthur/src".into());
    stage.status.topics = 2;
    stage.status.context = Some(97);
    stage.runs("cargo build", true);
    stage.runs("sleep 100", true);
    stage.flash = Some("Copied the reply, 120 characters.");
    stage.show(&UiUpdate::System(
        "Shell mode, in /home/arthur/src.".to_owned(),
    ));
    stage.show(&UiUpdate::CommandOutput {
        command: "ls".to_owned(),
        output: "a  b\nc".to_owned(),
        background: false,
    });
    stage.assert_snapshot("status");
}
