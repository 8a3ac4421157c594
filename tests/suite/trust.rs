//! `marvin trust`: which projects may act by themselves.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::home::Home;
use crate::support::words::TextAssertions as _;

#[test]
fn what_was_decided_is_listed_and_forgotten() {
    let home = Home::new();
    fs::set_permissions(home.work(), Permissions::from_mode(0o755)).unwrap();
    let work = home.work().canonicalize().unwrap();
    let path = work.to_str().unwrap();
    home.marvin()
        .args(["trust", "--list"])
        .prints(&["Nothing was decided"]);
    home.marvin().arg("trust").prints(&[path, "nothing yet"]);
    home.marvin()
        .args(["trust", "--list"])
        .prints(&["trusted", path]);
    let listed = home
        .marvin()
        .args(["trust", "--list", "--json"])
        .run()
        .expect(0);
    let rows: Vec<Value> = serde_json::from_str(listed.text()).unwrap();
    assert_eq!(
        (&rows[0]["folder"], &rows[0]["decision"]),
        (&Value::from(path), &Value::from("trusted"))
    );
    let mode = fs::metadata(home.config().join("trusted-projects.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    home.marvin()
        .args(["trust", "--remove", "."])
        .prints(&["Nothing is known"]);
    home.marvin()
        .args(["trust", "--remove", "."])
        .fails(&["Nothing was decided"]);
    home.marvin()
        .args(["trust", "--list"])
        .prints(&["Nothing was decided"]);
}

#[test]
fn neither_the_home_folder_nor_what_is_above_it_is_trusted() {
    let home = Home::new();
    for dir in ["..", "/", "nowhere"] {
        home.marvin().args(["trust", dir]).run().expect(1);
    }
    home.marvin()
        .args(["trust", "--everything"])
        .fails(&["Usage: marvin trust"]);
}

#[test]
fn what_acts_and_others_may_write_is_not_trusted_for_good() {
    let home = Home::new();
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(home.work().join(path), Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    home.write(
        "work/.agents/skills/deploy/SKILL.md",
        "---\ndescription: x\n---\nx\n",
    );
    home.write("work/.marvin/hooks.json", "{\"hooks\": {}}");
    home.write("work/.mcp.json", "{\"mcpServers\": {}}");
    home.write("work/.claude/skills/a/SKILL.md", "");
    let parts = [
        (".agents", 0o755),
        (".agents/skills", 0o755),
        (".claude/skills", 0o755),
        (".marvin", 0o755),
        (".marvin/hooks.json", 0o644),
        (".mcp.json", 0o644),
    ];
    for (part, own) in parts {
        mode(part, own);
    }
    for (part, own) in parts {
        for (bit, who) in [(0o002, "everybody"), (0o020, "its group")] {
            mode(part, own | bit);
            home.marvin().arg("trust").fails(&[
                "cannot be trusted for good",
                &format!("{who} may write there ({part})"),
            ]);
        }
        mode(part, own);
    }
    home.marvin().arg("trust").prints(&["is trusted"]);
    // Nor does what was said before count any longer.
    mode(".agents/skills", 0o777);
    let listed = home.marvin().args(["trust", "--list"]).run().expect(0);
    listed
        .text()
        .assert_has(&["does not count: everybody may write there (.agents/skills)"]);
}
