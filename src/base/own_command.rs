//! Commands of this program in messages, to be copied as they are.

use std::path::Path;

/// `marvin` with `words`, about what is in the folder `dir`: whoever copies it may be anywhere.
pub(crate) fn about(dir: &Path, words: &[&str]) -> String {
    let dir = dir.to_string_lossy();
    let all = ["marvin"].iter().chain(words).copied();
    // A shell has no words with the one character that this refuses, nor has a path.
    shlex::try_join(all.chain(["--working-dir", &dir])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_folder_and_can_be_copied() {
        assert_eq!(
            about(Path::new("/home/ann/my work"), &["merge", "a b", "--all"]),
            "marvin merge 'a b' --all --working-dir '/home/ann/my work'"
        );
    }
}
