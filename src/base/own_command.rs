//! Commands of this program in messages, to be copied as they are.

use std::path::Path;

/// `marvin pipeline` with `words`, about what is in the folder `dir`: whoever copies it may be anywhere.
pub(crate) fn of_pipeline(words: &[&str], dir: &Path) -> String {
    let dir = dir.to_string_lossy();
    let all = ["marvin", "pipeline"]
        .into_iter()
        .chain(words.iter().copied());
    // A shell has no words with the one character that this refuses, nor has a path.
    shlex::try_join(all.chain(["--working-dir", &dir])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_the_folder_and_can_be_copied() {
        assert_eq!(
            of_pipeline(&["merge", "a b", "--all"], Path::new("/home/ann/my work")),
            "marvin pipeline merge 'a b' --all --working-dir '/home/ann/my work'"
        );
    }
}
