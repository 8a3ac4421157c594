//! Whether the terminal is asked for mouse reports.

use crate::base::env::Env;
use crate::base::variables::MARVIN_MOUSE;

/// Decides by `MARVIN_MOUSE`. tmux with its own mouse mode takes the wheel for itself, and with it what is typed next, unless the program asks for the mouse;
/// without that mode it passes nothing on, and nothing changes.
pub(super) fn reports(env: &Env, in_tmux: bool, warn: &mut dyn FnMut(String)) -> bool {
    let word = MARVIN_MOUSE.read(env).unwrap_or("auto");
    match word.to_ascii_lowercase().as_str() {
        "on" => true,
        "off" => false,
        "auto" => in_tmux,
        _ => {
            warn(format!(
                "MARVIN_MOUSE is one of on, off, auto, not \"{word}\"."
            ));
            in_tmux
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mouse_is_asked_for_in_tmux_or_when_the_user_wants_it() {
        let mut warnings = Vec::new();
        for (word, in_tmux, expected) in [
            (None, true, true),
            (None, false, false),
            (Some("ON"), false, true),
            (Some("off"), true, false),
            (Some("yes"), true, true),
        ] {
            let env = match word {
                Some(word) => Env::from([("MARVIN_MOUSE", word)]),
                None => Env::from([]),
            };
            let found = reports(&env, in_tmux, &mut |text| warnings.push(text));
            assert_eq!(found, expected, "{word:?} {in_tmux}");
        }
        assert_eq!(
            warnings,
            ["MARVIN_MOUSE is one of on, off, auto, not \"yes\"."]
        );
    }
}
