//! Owners: every file that Marvin keeps for a user is named by one module; everything else goes through it.

use regex::Regex;

use super::floors::{all, product};

/// Methods of `Paths` and `ProfilePaths`, and the file or folder below src that alone may call them.
const OWNERS: [(&str, &str); 12] = [
    ("bookmarks", "store/bookmarks"),
    ("copilot_state", "llm/copilot/availability.rs"),
    ("cost_log", "store/cost_log.rs"),
    ("mcp_tokens", "store/mcp_tokens.rs"),
    ("notes", "store/notes.rs"),
    ("notes_lock", "store/notes.rs"),
    ("old_spotify_token", "store/spotify_account.rs"),
    ("saved_places", "store/places.rs"),
    ("shared_bookmarks", "store/bookmarks"),
    ("spotify_sign_in", "store/spotify_account.rs"),
    ("trusted_projects", "store/trusted_projects.rs"),
    ("usage", "store/usage.rs"),
];

#[test]
fn every_file_of_the_user_is_named_by_its_owner_alone() {
    let mut faults = Vec::new();
    let code = all().into_iter();
    let code: Vec<(String, String)> = code.map(|(file, text)| (file, product(&text))).collect();
    for (method, owner) in OWNERS {
        let call = format!(".{method}()");
        let mut owned = false;
        for (file, code) in &code {
            // Where the names are, the help's list of files is too.
            if file == "disk/paths.rs" || !code.contains(&call) {
                continue;
            }
            if file.starts_with(owner) {
                owned = true;
            } else {
                faults.push(format!("{file} calls {call}, which is for {owner}"));
            }
        }
        if !owned {
            faults.push(format!("{owner} does not call {call}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn folders_of_a_project_are_named_below_the_fence_alone() {
    let folder = Regex::new(r#""\.(marvin["/]|tickets")"#).unwrap();
    let faults: Vec<String> = all()
        .into_iter()
        // Tests spell paths out, so that a wrong constant does not agree with itself.
        .filter(|(file, _)| !file.starts_with("disk/") && !file.contains("/tests"))
        .filter(|(_, text)| folder.is_match(&product(text)))
        .map(|(file, _)| format!("{file} spells out a folder that disk::paths names"))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
