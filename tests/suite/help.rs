//! `--help`, `marvin help`, the help of subcommands, and flags before a subcommand.

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::words::TextAssertions;

const SUBCOMMANDS: &str =
    "tool tools tk models pipeline memory sessions export services doctor completions help man";

fn run(home: &Home, args: &[&str]) -> Done {
    home.marvin().args(args.to_vec()).run()
}

/// The topics, as `marvin help` lists them.
fn topics(home: &Home) -> Vec<String> {
    let list = run(home, &["help"]).expect(0);
    let rows = list
        .text()
        .lines()
        .filter_map(|line| line.strip_prefix("  "));
    let names = rows.filter_map(|row| row.split_whitespace().next());
    names.map(str::to_owned).collect()
}

#[test]
fn the_help_is_one_screen() {
    let home = Home::new();
    for flag in ["--help", "-h"] {
        let help = run(&home, &[flag]).expect(0);
        let text = help.text();
        assert!(
            text.lines().count() <= 42,
            "{}\n{text}",
            text.lines().count()
        );
        let wide = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None);
        for name in SUBCOMMANDS.split_ascii_whitespace() {
            assert!(text.contains(&format!("\n  {name} ")), "{name}");
        }
        let (_, statuses) = text.split_once("\nExit status").unwrap();
        let rows = statuses.lines().skip(1).take_while(|line| !line.is_empty());
        assert_eq!(rows.count(), 3, "{statuses}");
        text.assert_has(&["marvin help TOPIC", "marvin man"]);
    }
}

#[test]
fn every_subcommand_has_usage() {
    let home = Home::new();
    for name in SUBCOMMANDS.split_ascii_whitespace() {
        for words in [
            &[name, "--help"][..],
            &[name, "-h"],
            &["help", name],
            &["--help", name],
        ] {
            let help = run(&home, words).expect(0);
            let usage = help.text().to_lowercase();
            usage.assert_has_for(&words, &["usage:", name]);
        }
    }
    for words in [
        &["memory", "search", "--help"][..],
        &["pipeline", "status", "-h"],
        &["sessions", "--delete", "--help"],
        &["export", "--help"],
    ] {
        let help = run(&home, words).expect(0);
        assert!(help.text().contains("Usage:"), "{words:?}");
    }
}

#[test]
fn every_topic_is_printed_and_in_the_manual() {
    let home = Home::new();
    let names = topics(&home);
    for wanted in
        "providers models tools services sessions pipeline flow memory voice privacy fence \
        scripts keys files variables"
            .split_ascii_whitespace()
    {
        assert!(
            names.iter().any(|name| name == wanted),
            "{wanted}: {names:?}"
        );
    }
    let page = run(&home, &["man"]).expect(0);
    for name in &names {
        let text = run(&home, &["help", name]).expect(0);
        assert!(text.text().lines().count() > 5, "{name}");
        assert!(
            !text.text().contains('\u{1b}'),
            "{name}: no sequences in a pipe"
        );
        let title = match name.as_str() {
            "flags" => "OPTIONS".to_owned(),
            "variables" => "ENVIRONMENT".to_owned(),
            name => name.to_uppercase(),
        };
        assert!(page.text().contains(&format!("\n.SH {title}\n")), "{title}");
    }
}

#[test]
fn lists_of_topics_come_from_the_tables() {
    let home = Home::new();
    let lists = |topic: &str, words: &[&str]| {
        let text = run(&home, &["help", topic]).expect(0);
        for word in words {
            assert!(text.text().contains(word), "{topic}: {word}");
        }
    };
    lists(
        "providers",
        &[
            "OPENAI_API_KEY",
            "llama-server",
            "GOOGLE_API_KEY",
            "kimi",
            "OLLAMA_CONTEXT",
        ],
    );
    lists(
        "tools",
        &[
            "git_blame",
            "calendar_view",
            "yt_dlp_download",
            "show the tree",
        ],
    );
    lists("services", &["GNEWS_API_KEY", "nominatim", "themealdb"]);
    lists(
        "scripts",
        &[
            "EXIT STATUS",
            "130",
            "reasoning_tokens",
            "still asks for tools",
        ],
    );
    lists("keys", &["Ctrl-R", "/compact", "color-blind", "undo"]);
    lists(
        "files",
        &["config.yaml", "chat_log.json", ".marvin-instructions"],
    );
    lists("flow", &["planner_enabled", "num_ctx"]);
    lists(
        "pipeline",
        &["1a_review", "MARVIN_CODE_MODEL_LOW", "MARVIN_QA_ROUNDS"],
    );
    lists("flags", &["--fork-session", "--design-first", "--max-cost"]);
}

#[test]
fn the_help_is_searched() {
    let home = Home::new();
    let found = run(&home, &["help", "-s", "User-Agent"]).expect(0);
    found.stdout_has(&["marvin help privacy"]);
    assert!(!found.text().contains('\u{1b}'));
    run(&home, &["help", "-s", "completion", "script"])
        .expect(0)
        .stdout_has(&["marvin completions --help"]);
    run(&home, &["help", "-s", "prxy"])
        .expect(1)
        .stderr_has(&["Nearest words: proxy"]);
    for (words, named) in [
        (&["help", "provders"][..], "\"providers\""),
        (&["help", "sesions"], "\"sessions\"?"),
        (&["help", "qqqqqq"], "Topics: providers"),
        (&["help", "-s"], "no word to search for"),
        (&["help", "--frobnicate"], "has no flag"),
        (
            &["help", "me", "write", "a", "letter"],
            "marvin -- help me write a letter",
        ),
        (&["man", "page"], "takes no words"),
    ] {
        let done = run(&home, words).expect(1);
        done.errors().assert_has_for(&words, &[named]);
    }
}

/// Flags with their values, and the subcommands that they are for.
const FLAGS: [(&[&str], &[&str]); 12] = [
    (
        &["--provider", "offline"],
        &["models", "memory", "doctor", "pipeline"],
    ),
    (
        &["--provider=offline"],
        &["models", "memory", "doctor", "pipeline"],
    ),
    (&["--model", "m"], &["memory", "doctor", "pipeline"]),
    (&["--working-dir", "."], &["tool", "pipeline"]),
    (&["--max-cost", "1"], &["memory", "pipeline"]),
    (&["--non-interactive"], &[]),
    (&["--prompt", "x"], &[]),
    (&["-c"], &[]),
    (&["--plain"], &[]),
    (&["--verbose"], &[]),
    (&["--tools", "git"], &[]),
    (&["--effort", "low"], &[]),
];

#[test]
fn a_flag_before_a_subcommand_works_or_is_an_error_and_never_asks_a_model() {
    let home = Home::new();
    for (flag, takers) in FLAGS {
        for name in SUBCOMMANDS.split_ascii_whitespace() {
            let words = [flag, &[name, "--help"]].concat();
            let done = run(&home, &words);
            if takers.contains(&name) {
                done.expect(0)
                    .text()
                    .to_lowercase()
                    .assert_has_for(&words, &["usage:"]);
            } else {
                let done = done.expect(1);
                let spelled = flag[0].split('=').next().unwrap();
                let words_of = format!("marvin {name} has no use for {spelled}");
                done.errors().assert_has_for(&words, &[&words_of]);
            }
        }
    }
}

#[test]
fn flags_before_a_subcommand_have_their_effect() {
    let home = Home::new();
    home.write("work/there/a.txt", "needle\n");
    let grep = [
        "--working-dir",
        "there",
        "tool",
        "code_grep",
        "pattern=needle",
    ];
    run(&home, &grep).expect(0).stdout_has(&["a.txt"]);
    run(&home, &["--provider", "offline", "doctor"])
        .expect(0)
        .stdout_has(&["offline would answer now"]);
    run(&home, &["--working-dir", "there", "pipeline", "status"])
        .expect(1)
        .stderr_has(&["there"]);
    run(&home, &["--provider", "offline", "models"])
        .expect(1)
        .stderr_has(&["No provider"]);
}

#[test]
fn a_first_word_is_a_subcommand_after_flags_too_and_dashes_make_it_a_prompt() {
    let home = Home::new();
    home.write("work/a.txt", "x\n");
    run(&home, &["--provider", "offline", "models", "of", "reality"])
        .expect(1)
        .stderr_has(&["If it is a prompt: marvin -- models of reality"]);
    let asks = ["--non-interactive", "--provider", "offline"];
    run(&home, &[&asks[..], &["--", "tools", "shed"]].concat())
        .expect(1)
        .stderr_has(&["No language model is set up"]);
    run(&home, &[&asks[..], &["show", "the", "tree"]].concat())
        .expect(0)
        .stdout_has(&["a.txt"]);
    // A machine still gets its cost line.
    run(&home, &[&asks[..], &["export", "the", "table"]].concat())
        .expect(1)
        .stderr_has(&["MARVIN_COST:"]);
}

#[test]
fn a_conversation_shows_the_same_text() {
    let home = Home::new();
    let chat = home.marvin().args(["--plain", "--provider", "offline"]);
    let done = chat
        .stdin("/help fence\n/help keys\n/help fenc\n")
        .run()
        .expect(0);
    let text = done.text();
    text.assert_has(&["The fence is not a sandbox.", "Ctrl-R", "/compact"]);
    format!("{text}{}", done.errors()).assert_has(&["\"fence\""]);
}
