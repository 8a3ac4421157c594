//! Whether the terminal knows links (OSC 8, <https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>).

use crate::base::env::Env;
use crate::base::variables::FORCE_HYPERLINK;

/// The first VTE with links, 0.50.
const VTE: u32 = 5000;
/// The first tmux that keeps links.
const TMUX: (u32, u32) = (3, 4);

/// What `FORCE_HYPERLINK` says, else whether the terminal is one of those that are known to have them.
pub(in crate::ui) fn has_links(env: &Env) -> bool {
    if let Some(value) = FORCE_HYPERLINK.read(env) {
        return value != "0";
    }
    let term = env.get("TERM").unwrap_or_default();
    let program = env.get("TERM_PROGRAM").unwrap_or_default();
    if env.get("TMUX").is_some() {
        let version = env.get("TERM_PROGRAM_VERSION").and_then(version);
        return program == "tmux" && version.is_some_and(|version| version >= TMUX);
    }
    if term.starts_with("screen") || matches!(term, "" | "dumb" | "linux") {
        return false;
    }
    let vte = env.get("VTE_VERSION").and_then(|text| text.parse().ok());
    let is_known_term = [
        "xterm-kitty",
        "xterm-ghostty",
        "foot",
        "alacritty",
        "wezterm",
        "contour",
    ]
    .iter()
    .any(|name| term.starts_with(name));
    is_known_term
        || vte.is_some_and(|version: u32| version >= VTE)
        || ["WT_SESSION", "KONSOLE_VERSION"]
            .iter()
            .any(|name| env.get(name).is_some())
        || ["iTerm.app", "WezTerm", "ghostty", "vscode", "mintty", "rio"].contains(&program)
}

/// The two numbers that a version begins with, such as `3.5a`.
fn version(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.split_once('.')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    Some((major.parse().ok()?, rest.get(..digits)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(variables: &[(&str, &str)]) -> Env {
        Env::new(
            variables
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
    }

    #[test]
    fn links_are_written_where_they_are_known() {
        for (variables, expected) in [
            (&[("TERM", "xterm-256color")][..], false),
            (&[("TERM", "xterm-kitty")], true),
            (&[("TERM", "foot-extra")], true),
            (&[("TERM", "xterm-256color"), ("VTE_VERSION", "7006")], true),
            (
                &[("TERM", "xterm-256color"), ("VTE_VERSION", "4205")],
                false,
            ),
            (&[("TERM", "xterm-256color"), ("WT_SESSION", "0-1")], true),
            (
                &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "vscode")],
                true,
            ),
            (
                &[
                    ("TERM", "xterm-256color"),
                    ("TERM_PROGRAM", "Apple_Terminal"),
                ],
                false,
            ),
            (&[("TERM", "linux"), ("KONSOLE_VERSION", "230800")], false),
            (&[("TERM", "screen"), ("VTE_VERSION", "7006")], false),
            (
                &[
                    ("TERM", "tmux-256color"),
                    ("TMUX", "/a,1,0"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.5a"),
                ],
                true,
            ),
            (
                &[
                    ("TERM", "screen"),
                    ("TMUX", "/a,1,0"),
                    ("TERM_PROGRAM", "tmux"),
                    ("TERM_PROGRAM_VERSION", "3.3a"),
                ],
                false,
            ),
            (&[("TERM", "xterm-kitty"), ("TMUX", "/a,1,0")], false),
            (&[("TERM", "dumb"), ("FORCE_HYPERLINK", "1")], true),
            (&[("TERM", "xterm-kitty"), ("FORCE_HYPERLINK", "0")], false),
        ] {
            assert_eq!(has_links(&env(variables)), expected, "{variables:?}");
        }
    }
}
