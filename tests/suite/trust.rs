//! `marvin trust`: which projects may act by themselves.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::home::Home;

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
