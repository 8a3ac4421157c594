//! What conversations know of earlier ones.

use super::*;

/// What a conversation in `workspace` may know, in short.
fn known(folder: &Folder, workspace: Option<&str>, n: usize) -> Vec<String> {
    let said = folder.store.said_in(workspace, None, n);
    said.into_iter().map(|entry| entry.text).collect()
}

#[test]
fn what_was_said_in_one_project_is_known_in_no_other() {
    let folder = folder();
    let (a, b) = (Some("/a"), Some("/b"));
    exchange(&folder.begin_in("/a", a), &mut Vec::new(), "one");
    exchange(&folder.begin_in("/a/src", a), &mut Vec::new(), "two");
    exchange(&folder.begin_in("/b", b), &mut Vec::new(), "secret");
    exchange(&folder.begin_in("/", None), &mut Vec::new(), "outside");
    assert_eq!(known(&folder, a, 9), ["one", "To one.", "two", "To two."]);
    assert_eq!(known(&folder, a, 3), ["To one.", "two", "To two."]);
    assert_eq!(known(&folder, b, 9), ["secret", "To secret."]);
    assert_eq!(known(&folder, None, 9), ["outside", "To outside."]);
    assert_eq!(known(&folder, Some("/c"), 9), [] as [&str; 0]);
    assert!(!folder.store.are_all_in(a) && !folder.store.are_all_in(None));
}

#[test]
fn a_session_that_went_on_in_another_project_is_known_in_none() {
    let folder = folder();
    let log = folder.begin_in("/", None);
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "outside");
    assert_eq!(known(&folder, None, 9).len(), 2);
    assert!(folder.store.are_latest_in(None) && folder.store.are_all_in(None));
    log.begin_turn().enter("/a".to_owned());
    exchange(&log, &mut messages, "in the project");
    exchange(&log, &mut messages, "again");
    assert!(!folder.store.are_latest_in(None) && !folder.store.are_all_in(Some("/a")));
    assert_eq!(folder.text(&log).matches("\"workspace\"").count(), 1);
    assert_eq!(known(&folder, None, 9), [] as [&str; 0]);
    assert_eq!(known(&folder, Some("/a"), 9), [] as [&str; 0]);
    // A copy brings with it where it was held.
    let (id, place) = (SessionId::random(), in_folder("/"));
    let copy = OpenedSession::fork(&folder.store, log.id(), id, place).unwrap();
    exchange(&copy.log, &mut copy.replay.context(), "copied");
    assert_eq!(known(&folder, None, 9), [] as [&str; 0]);
}

#[test]
fn a_file_of_an_older_version_is_placed_by_its_folder() {
    let folder = folder();
    let project = tempfile::tempdir().unwrap();
    let path = project.path().to_str().unwrap();
    let log = folder.begin_in(path, None);
    exchange(&log, &mut Vec::new(), "said");
    assert_eq!(known(&folder, None, 9).len(), 2);
    fs::create_dir(project.path().join(".git")).unwrap();
    assert_eq!(known(&folder, None, 9).len(), 0);
    assert_eq!(known(&folder, Some(path), 9).len(), 2);
    drop(project);
    assert_eq!(known(&folder, None, 9).len(), 0, "nobody knows any more");
}

#[test]
fn the_end_of_a_long_session_is_found_behind_any_result() {
    let (folder, log) = begun();
    let mut messages = Vec::new();
    exchange(&log, &mut messages, "one");
    let turn = log.begin_turn();
    turn.say(&messages, &user("two"), BY);
    messages.extend([user("two"), call("c1"), summary(&"x".repeat(3_000_000))]);
    turn.sync(&messages, ContextCause::Change);
    assert_eq!(known(&folder, None, 2).last().unwrap(), "two");
    assert_eq!(known(&folder, None, 9), ["one", "To one.", "two"]);
}
