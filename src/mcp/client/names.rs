//! The names under which models call tools of servers: `SERVER__TOOL`, in the characters and the length that every provider takes.

use ring::digest::{SHA256, digest};

/// The longest name.
const MAX_NAME: usize = 64;
/// What stays of one that is longer, or taken.
const HEAD: usize = 55;

/// The name of a tool of a server, which begins with the [`part`] that stands for the server; `None` when even the one that is made of both names' hash is
/// taken. It depends on nothing but the two names and whether it is taken.
pub(crate) fn tool_name(
    server_part: &str,
    (server, tool): (&str, &str),
    is_taken: impl Fn(&str) -> bool,
) -> Option<String> {
    let name = format!("{server_part}__{}", part(tool));
    if name.len() <= MAX_NAME && !is_taken(&name) {
        return Some(name);
    }
    let hash = digest(&SHA256, format!("{server}\0{tool}").as_bytes());
    let hash: String = (hash.as_ref().iter().take(4))
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let head: String = name.chars().take(HEAD).collect();
    let name = format!("{head}_{hash}");
    (!is_taken(&name)).then_some(name)
}

/// One of the two names: every run of other characters is one `_`, and it begins like a name.
pub(crate) fn part(name: &str) -> String {
    let mut part = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') => part.push(c),
            _ if part.ends_with('_') => {}
            _ => part.push('_'),
        }
    }
    let begins_otherwise = |c: char| c.is_ascii_digit() || c == '-';
    if part.starts_with(begins_otherwise) {
        part.insert(0, '_');
    }
    part
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_made_of_both_and_of_characters_that_all_take() {
        for (server, tool, name) in [
            ("calc", "add", "calc__add"),
            ("my server!", "get.user/name", "my_server___get_user_name"),
            ("3d", "-x", "_3d___-x"),
            ("größe", "日本", "gr_e___"),
        ] {
            let made = tool_name(&part(server), (server, tool), |_| false).unwrap();
            assert_eq!(made, name);
        }
    }

    #[test]
    fn a_long_or_taken_name_ends_with_a_hash_of_both() {
        let long = "x".repeat(80);
        let named = |server, tool: &str| tool_name("calc", (server, tool), |_| false).unwrap();
        let made = named("calc", &long);
        assert_eq!(made.len(), MAX_NAME);
        assert!(made.starts_with("calc__xxx"), "{made}");
        assert_ne!(made, named("calc", &"x".repeat(81)));
        // Of the names as they are, not of what is made of them.
        let (space, slash) = (named("my srv", &long), named("my/srv", &long));
        assert!(space.ends_with("_d503980e") && space != slash, "{space}");
        let taken = tool_name("calc", ("calc", "add"), |name| name == "calc__add").unwrap();
        assert_eq!(taken, "calc__add_237879af");
        assert_eq!(tool_name("calc", ("calc", "add"), |_| true), None);
    }

    proptest! {
        #[test]
        fn every_name_is_one_that_a_provider_takes(server in "\\PC{0,40}", tool in "\\PC{0,80}") {
            let named = || tool_name(&part(&server), (&server, &tool), |_| false).unwrap();
            let name = named();
            prop_assert!((1..=MAX_NAME).contains(&name.len()));
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-')));
            prop_assert_eq!(&name, &named());
        }
    }
}
