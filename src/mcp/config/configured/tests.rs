//! Entries of configured servers, and what of them can be started.

use serde_json::json;

use super::*;
use crate::base::env::Env;

fn server(entry: Value) -> ConfiguredServer {
    ConfiguredServer {
        name: "s".to_owned(),
        source: Source::User,
        entry,
    }
}

fn resolved(entry: Value) -> Outcome<(ServerEntry, Vec<String>)> {
    let env = Env::from([("HOME", "/home/ann"), ("KEY", "k-1")]);
    server(entry).resolve(Variables {
        env: &env,
        folder: Some(Path::new("/src/app")),
        is_literal: false,
    })
}

fn told(entry: Value) -> String {
    match resolved(entry) {
        Ok((entry, notices)) => format!("{:?} {notices:?}", entry.reach),
        Err(problem) => problem.one_line(),
    }
}

#[test]
fn every_way_to_write_an_entry_is_understood() {
    for (entry, words) in [
        (
            json!({"command": "npx", "args": ["-y", "${KEY}", 3], "env": {"A": "${KEY}", "B": 1}, "cwd": "sub"}),
            r#"Stdio { command: "npx", args: ["-y", "k-1", "3"], env: [("A", "k-1"), ("B", "1")], cwd: Some("/src/app/sub") } []"#,
        ),
        (
            json!({"type": "stdio", "command": "uvx 'my server' --x \"a b\""}),
            r#"Stdio { command: "uvx", args: ["my server", "--x", "a b"], env: [], cwd: None } ["Its command is taken"#,
        ),
        (
            json!({"url": "https://h/${KEY}", "headers": {"X-Key": "${KEY}"}, "oauth": {"scopes": ["${KEY}"]}}),
            r#"Http(HttpReach { url: "https://h/k-1", headers: [("X-Key", "k-1")], oauth: Object {"scopes": Array [String("k-1")]} }) []"#,
        ),
        (json!({"httpUrl": "http://h/mcp"}), "Http(HttpReach"),
        (
            json!({"type": "streamable-http", "url": "http://h"}),
            "Http(",
        ),
        (json!({"type": "sse", "url": "http://h"}), "Sse("),
        (
            json!({"command": "x", "env": {"A": "${MISSING}"}}),
            "MISSING is not set",
        ),
        (
            json!({"type": "grpc", "url": "x"}),
            "type \"grpc\" is unknown",
        ),
        (json!({}), "neither a command nor a url"),
        (json!(3), "no object"),
        (json!({"command": ["x"]}), "command is no text"),
        (json!({"command": "x", "args": "y"}), "args is no list"),
        (json!({"command": "x 'y"}), "not closed"),
        (
            json!({"command": "x", "env": {"A=B": "c"}}),
            "no variable can have",
        ),
        (json!({"url": "ftp://h"}), "url cannot be used"),
        (
            json!({"url": "http://h", "headers": {"A": "b\r\nC: d"}}),
            "line break",
        ),
        (
            json!({"command": "x", "protocol": "2031-01-01"}),
            "no revision",
        ),
    ] {
        let told = told(entry.clone());
        assert!(told.contains(words), "{entry}: {told}");
    }
}

#[test]
fn small_limits_are_seconds_and_downloads_get_time() {
    let (entry, notices) = resolved(json!({
        "command": "/usr/bin/npx", "timeout": 30, "maxTotalTimeout": 90_000, "startupTimeout": "no", "idleTimeout": 7_000,
        "tools": ["a*"], "excludeTools": ["ab"], "alwaysLoad": true, "enabled": false,
    }))
    .unwrap();
    let limits = entry.limits;
    let seconds =
        [limits.startup, limits.call, limits.total, limits.idle].map(|limit| limit.as_secs());
    assert_eq!(seconds, [60, 30, 90, 7]);
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[1].contains("30000"), "{notices:?}");
    assert!(entry.is_always_loaded);
    assert_eq!(
        (entry.included, entry.excluded),
        (vec!["a*".to_owned()], vec!["ab".to_owned()])
    );
    let (entry, _) = resolved(json!({"command": "node"})).unwrap();
    assert_eq!(entry.limits.startup.as_secs(), 30);
}

#[test]
fn an_entry_is_described_without_what_its_variables_hold() {
    let server = server(json!({
        "command": "npx", "args": ["my server", "${A}"], "env": {"T": "${B:-x}${A}"}, "autoApprove": ["t"],
    }));
    assert_eq!(server.target(), "npx 'my server' ${A}");
    assert_eq!(server.variables(), ["A", "B", "T"]);
    assert_eq!(server.given(), " (gets A, B, T)");
    assert_eq!(server.ignored_consent(), Some("autoApprove"));
    assert_eq!(server.hash().len(), 64);
}

#[test]
fn what_a_program_is_given_is_named_whole() {
    for (entry, given) in [
        (
            json!({"command": "python3", "env": {"NODE_OPTIONS": "--require ./evil.js", "LD_PRELOAD": "./x.so"}, "envFile": "/home/me/.secrets", "cwd": "/tmp"}),
            " (gets NODE_OPTIONS, LD_PRELOAD, the variables of /home/me/.secrets; in /tmp)",
        ),
        (json!({"command": "x", "cwd": "a\nb"}), " (in a b)"),
        (json!({"command": "x"}), ""),
        (
            json!({"url": "https://${HOST}/", "env": {"A": "1"}, "cwd": "/"}),
            " (gets HOST)",
        ),
    ] {
        assert_eq!(server(entry.clone()).given(), given, "{entry}");
    }
}

#[test]
fn a_command_is_a_file_or_is_split_outside_of_its_variables() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("my dir")).unwrap();
    std::fs::write(dir.path().join("my dir/run"), "").unwrap();
    let home = dir.path().to_str().unwrap();
    let env = Env::from([("HOME", home)]);
    for (command, expected) in [
        ("${userHome}/my dir/run", vec![format!("{home}/my dir/run")]),
        (
            "${NOPE:-python3 /tmp/srv.py}",
            vec!["python3".to_owned(), "/tmp/srv.py".to_owned()],
        ),
        (
            "${userHome}/run -x",
            vec![format!("{home}/run"), "-x".to_owned()],
        ),
    ] {
        let variables = Variables {
            env: &env,
            folder: None,
            is_literal: false,
        };
        let (entry, _) = server(json!({ "command": command }))
            .resolve(variables)
            .unwrap();
        let Reach::Stdio {
            command: program,
            args,
            ..
        } = entry.reach
        else {
            panic!("no program")
        };
        let words: Vec<String> = std::iter::once(program).chain(args).collect();
        assert_eq!(words, expected, "{command}");
    }
}

#[test]
fn an_entry_with_both_shows_what_is_reached() {
    let both = |kind: &str| {
        let entry = json!({"type": kind, "command": "calc", "url": "https://example.org/mcp"});
        server(entry).target()
    };
    assert_eq!(both("http"), "https://example.org/mcp");
    assert_eq!(both("sse"), "https://example.org/mcp");
    assert_eq!(both("stdio"), "calc");
}

#[test]
fn a_file_of_variables_is_read_and_the_entry_beats_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join(".env"),
        "# mine\nexport A='a b'\nB = 2\n\nnothing\n",
    )
    .unwrap();
    let env = Env::default();
    let server =
        server(json!({"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"B": "3"}}));
    let variables = Variables {
        env: &env,
        folder: Some(dir.path()),
        is_literal: false,
    };
    let (entry, _) = server.resolve(variables).unwrap();
    let Reach::Stdio { env, .. } = entry.reach else {
        panic!("no program")
    };
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(env, [pair("A", "a b"), pair("B", "3")]);
}
