//! `marvin mcp list|add|remove|enable|disable`: the files of servers, read in the shapes that people have and changed without harm.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;

fn mcp(home: &Home, words: &[&str]) -> Marvin {
    home.marvin().arg("mcp").args(words.to_vec())
}

fn list(home: &Home) -> Vec<Value> {
    let done = mcp(home, &["list", "--json"]).run().expect(0);
    serde_json::from_str(done.text()).unwrap()
}

fn names(home: &Home) -> Vec<String> {
    let name = |server: &Value| server["name"].as_str().unwrap().to_owned();
    list(home).iter().map(name).collect()
}

#[test]
fn servers_are_added_changed_and_removed() {
    let home = Home::new();
    mcp(&home, &["list"])
        .run()
        .expect(0)
        .stdout_has(&["There are no servers."]);
    mcp(
        &home,
        &[
            "add", "files", "--env", "A=b=c", "npx", "-y", "pkg", "--root", ".",
        ],
    )
    .run()
    .expect(0);
    mcp(
        &home,
        &[
            "add",
            "web",
            "--url",
            "https://example.org/mcp",
            "--header",
            "X-Key: ${KEY}",
        ],
    )
    .run()
    .expect(0);
    mcp(&home, &["add", "odd", "--", "--program"])
        .run()
        .expect(0);
    let written: Value = serde_json::from_str(&home.read("config/mcp.json")).unwrap();
    assert_eq!(
        written,
        json!({"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "pkg", "--root", "."], "env": {"A": "b=c"}},
            "web": {"type": "http", "url": "https://example.org/mcp", "headers": {"X-Key": "${KEY}"}},
            "odd": {"command": "--program"},
        }})
    );
    let mode = home
        .config()
        .join("mcp.json")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    mcp(&home, &["disable", "web"]).run().expect(0);
    assert_eq!(list(&home)[1]["disabled"], true);
    mcp(&home, &["test", "web"]).fails(&["web is disabled", "marvin mcp enable web"]);
    assert_eq!(list(&home)[1]["variables"], json!(["KEY"]));
    mcp(&home, &["enable", "web"]).run().expect(0);
    assert_eq!(
        serde_json::from_str::<Value>(&home.read("config/mcp.json")).unwrap(),
        written
    );
    mcp(&home, &["add", "web", "x"]).fails(&["\"web\"", "already", "marvin mcp remove"]);
    mcp(&home, &["remove", "wbe"]).fails(&["no server \"wbe\"", "web"]);
    mcp(&home, &["remove", "files"]).run().expect(0);
    assert_eq!(names(&home), ["web", "odd"]);
    for (words, said) in [
        (&["add", "x"][..], "A command or --url is missing."),
        (&["add", "x", "--url", "nonsense://"], "url"),
        (
            &["add", "x", "--header", "no", "--url", "http://h"],
            "NAME:VALUE",
        ),
        (&["add", "x", "--evn", "A=b", "y"], "--env"),
        (&["list", "--jsn"], "--json"),
    ] {
        mcp(&home, words).fails(&[said]);
    }
    assert_eq!(names(&home), ["web", "odd"]);
}

#[test]
fn what_others_wrote_into_a_file_stays_as_it_was() {
    let home = Home::new();
    let text = "{\n    // who knows\n    \"inputs\": [1, 2,],\n    \"servers\": {\n        \"a\": { \"command\": \"one\", \"trust\": true }, // mine\n    },\n}\n";
    home.write("config/mcp.json", text);
    mcp(&home, &["add", "b", "two"]).run().expect(0);
    let added = home.read("config/mcp.json");
    let new = "        \"b\": {\n            \"command\": \"two\"\n        },\n    },\n}\n";
    assert_eq!(added, text.replace("    },\n}\n", new));
    mcp(&home, &["disable", "a"]).run().expect(0);
    assert!(
        home.read("config/mcp.json")
            .contains("\"trust\": true, \"disabled\": true }, // mine")
    );
    mcp(&home, &["enable", "a"]).run().expect(0);
    mcp(&home, &["remove", "b"]).run().expect(0);
    assert_eq!(home.read("config/mcp.json"), text);
}

#[test]
fn a_broken_file_is_named_by_line_and_column_and_never_changed() {
    let home = Home::new();
    let broken = "{\n  \"mcpServers\": {\n    \"a\": oops\n  }\n}\n";
    home.write("config/mcp.json", broken);
    home.write(
        "work/.mcp.json",
        "{\"mcpServers\": {\"b\": {\"command\": \"two\"}, \"c\": 3}}",
    );
    let done = mcp(&home, &["list"]).run().expect(1);
    assert!(
        done.errors()
            .contains("mcp.json is no JSON in line 3, column 10"),
        "{}",
        done.errors()
    );
    assert!(
        done.text().contains("two") && done.text().contains("broken: "),
        "{}",
        done.text()
    );
    mcp(&home, &["add", "x", "y"]).fails(&["line 3, column 10"]);
    assert_eq!(home.read("config/mcp.json"), broken);
}

#[test]
fn the_file_of_the_project_is_that_of_its_own_root() {
    let home = Home::new();
    home.write(
        ".mcp.json",
        "{\"mcpServers\": {\"above\": {\"command\": \"no\"}}}",
    );
    assert!(names(&home).is_empty());
    home.write("work/.git/HEAD", "ref: refs/heads/main\n");
    home.write("work/sub/x", "");
    let below = |words: &[&str]| mcp(&home, words).dir(&home.work().join("sub"));
    below(&["add", "own", "--project", "prog"]).run().expect(0);
    assert!(home.read("work/.mcp.json").contains("\"own\""));
    assert!(!home.has("work/.mcp.json.lock") && !home.has("config/mcp.json"));
    below(&["list"]).run().expect(0).stdout_has(&["project"]);
    // Who names the wrong file, or none, is told the right one.
    below(&["remove", "own"]).fails(&["work/.mcp.json", "marvin mcp remove own --project"]);
    below(&["disable", "own", "--project"]).run().expect(0);
    below(&["test", "own"]).fails(&["marvin mcp enable own --project"]);
    below(&["enable", "own", "--project"]).run().expect(0);
    below(&["test", "own"]).fails(&["marvin trust"]);
    // A name that both have is the user's.
    mcp(&home, &["add", "own", "mine"]).run().expect(0);
    assert_eq!(list(&home)[0]["source"], "user");
    assert_eq!(list(&home).len(), 1);
}

#[test]
fn a_list_that_is_null_can_be_added_to() {
    let home = Home::new();
    home.write("config/mcp.json", "{\"mcpServers\": null}");
    mcp(&home, &["add", "k", "prog"]).run().expect(0);
    assert_eq!(names(&home), ["k"]);
}

#[test]
fn programs_that_add_at_once_lose_nothing() {
    let home = Home::new();
    home.write("config/mcp.json", "{\"mcpServers\": {}}");
    let running: Vec<_> = (0..8)
        .map(|n| mcp(&home, &["add", &format!("s{n}"), "prog"]).spawn())
        .collect();
    for one in running {
        one.wait().expect(0);
    }
    let mut all = names(&home);
    all.sort_unstable();
    assert_eq!(all, (0..8).map(|n| format!("s{n}")).collect::<Vec<_>>());
}
