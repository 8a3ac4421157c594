//! The modes of a terminal that Marvin switches on, each with what takes it back: one table, for every way out.

use super::keys::UnmarkedPastes;

/// What a terminal can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Needs {
    /// Any terminal ignores it if it does not know it.
    Any,
    /// Consoles may print it, or take it for something else.
    Emulator,
    /// Takes it for underlining: macOS's Terminal.
    NotApple,
}

/// A mode: switched on by one sequence, back by another.
struct Mode {
    on: &'static str,
    off: &'static str,
    needs: Needs,
}

const fn mode(on: &'static str, off: &'static str, needs: Needs) -> Mode {
    Mode { on, off, needs }
}

/// In the order in which they are switched on; they are taken back in reverse. Sequences of xterm's ctlseqs, but for the keyboard protocol, which is kitty's.
const MODES: &[Mode] = &[
    // The title goes to a stack, and comes back from there.
    mode("\x1b[22;0t", "\x1b[23;0t", Needs::Emulator),
    mode("\x1b[?1049h", "\x1b[?1049l", Needs::Any),
    mode("\x1b[?2004h", "\x1b[?2004l", Needs::Any),
    // The wheel sends arrow keys. Most terminals do that anyway, so the mode is saved and restored rather than switched off.
    mode("\x1b[?1007s\x1b[?1007h", "\x1b[?1007r", Needs::Emulator),
    mode("\x1b[?1004h", "\x1b[?1004l", Needs::Emulator),
    // Alt and a letter are Esc and the letter (metaSendsEscape): xterm by itself sends another letter.
    mode("\x1b[?1036s\x1b[?1036h", "\x1b[?1036r", Needs::Emulator),
    // xterm's way to tell Shift-Enter from Enter (modifyOtherKeys), then kitty's: keys that are ambiguous otherwise (1), and the key at the same place of a
    // US keyboard (4), without which Ctrl-C would be lost on a Greek one. Not that keys are let go (2): kitty 0.26 sends Enter, Tab and Backspace twice then.
    // The stack of kitty belongs to the alternate screen.
    mode("\x1b[>4;1m", "\x1b[>4m", Needs::NotApple),
    mode("\x1b[>5u", "\x1b[<u", Needs::NotApple),
];

/// Mouse reports: buttons and wheel, in the form that has no largest column.
const MOUSE: Mode = mode(
    "\x1b[?1000h\x1b[?1006h",
    "\x1b[?1006l\x1b[?1000l",
    Needs::Emulator,
);

/// First of what restores the terminal: end of a synchronized update, style reset, full scroll region, auto-wrap, cursor shown.
const RESET: &str = "\x1b[?2026l\x1b[m\x1b[r\x1b[?7h\x1b[?25h";

/// Nothing on the screen, and the cursor in its corner.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// The sequences for one terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalModes {
    /// Takes it over.
    pub(super) enter: String,
    /// Gives it back as it was.
    pub(super) restore: String,
    /// Whether it marks every paste.
    pub unmarked: UnmarkedPastes,
    /// It understands operating system commands: a title, notifications, questions about colours.
    pub has_commands: bool,
    /// It shows italics as such: GNU screen takes them for standing out, and inverts the colours.
    pub has_italics: bool,
}

impl TerminalModes {
    /// Decides by the values of `TERM` and `TERM_PROGRAM`, and whether `TMUX` is set and `STY`, the variable of GNU screen, is not. What runs in one of
    /// the two inherits the variable of the other, so with both nothing tells which one is the inner; then it may be the one that marks no pastes. `mouse`
    /// asks for mouse reports.
    pub fn of(term: Option<&str>, program: Option<&str>, in_tmux: bool, mouse: bool) -> Self {
        let term = term.unwrap_or_default();
        let begins = |names: &[&str]| names.iter().any(|name| term.starts_with(name));
        let is_console = term.is_empty() || begins(&["linux", "vt", "cons", "ansi", "dumb"]);
        let can = match (is_console, program) {
            (true, _) => Needs::Any,
            (false, Some("Apple_Terminal")) => Needs::Emulator,
            (false, _) => Needs::NotApple,
        };
        let mouse = mouse.then_some(&MOUSE);
        let modes = || {
            let all = MODES.iter().chain(mouse);
            all.filter(move |mode| mode.needs <= can)
        };
        // Without another screen what was drawn would stay, and the shell write among it.
        let has_one_screen = is_console || (begins(&["screen"]) && !in_tmux);
        let clear = if has_one_screen { CLEAR } else { "" };
        let offs: String = modes().rev().map(|mode: &Mode| mode.off).collect();
        // GNU screen calls itself as tmux used to, and marks no pastes.
        let marks = in_tmux
            || begins(&[
                "xterm",
                "tmux",
                "foot",
                "alacritty",
                "rxvt-unicode",
                "konsole",
                "vte",
                "gnome",
                "wezterm",
                "contour",
                "st-",
                "iterm",
                "mintty",
                "ghostty",
            ]);
        Self {
            enter: modes().map(|mode| mode.on).collect(),
            restore: format!("{RESET}{clear}{offs}"),
            unmarked: if marks && !is_console {
                UnmarkedPastes::Never
            } else {
                UnmarkedPastes::Possible
            },
            has_commands: !is_console,
            has_italics: !begins(&["screen"]) || in_tmux,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_on_is_taken_back_in_reverse() {
        let modes = TerminalModes::of(Some("xterm-256color"), None, false, false);
        assert_eq!(
            modes.enter,
            "\x1b[22;0t\x1b[?1049h\x1b[?2004h\x1b[?1007s\x1b[?1007h\x1b[?1004h\x1b[?1036s\x1b[?1036h\x1b[>4;1m\x1b[>5u"
        );
        let restore = format!(
            "{RESET}\x1b[<u\x1b[>4m\x1b[?1036r\x1b[?1004l\x1b[?1007r\x1b[?2004l\x1b[?1049l\x1b[23;0t"
        );
        assert_eq!(modes.restore, restore);
    }

    #[test]
    fn gnu_screen_may_have_one_screen_only() {
        let found = |in_tmux: bool| {
            let modes = TerminalModes::of(Some("screen.xterm-256color"), None, in_tmux, false);
            (modes.restore.contains(CLEAR), modes.has_italics)
        };
        assert_eq!(found(false), (true, false));
        assert_eq!(found(true), (false, true));
    }

    #[test]
    fn mouse_reports_are_taken_back_first() {
        let modes = TerminalModes::of(Some("tmux-256color"), None, true, true);
        assert!(modes.enter.ends_with("\x1b[>5u\x1b[?1000h\x1b[?1006h"));
        let restore = format!("{RESET}\x1b[?1006l\x1b[?1000l\x1b[<u");
        assert!(modes.restore.starts_with(&restore), "{:?}", modes.restore);
        let console = TerminalModes::of(Some("linux"), None, false, true);
        assert!(!console.enter.contains("1000"));
    }

    #[test]
    fn consoles_get_only_what_they_ignore() {
        for term in ["linux", "vt220", "cons25", ""] {
            let modes = TerminalModes::of(Some(term), None, false, false);
            assert_eq!(modes.enter, "\x1b[?1049h\x1b[?2004h", "{term}");
            assert_eq!(modes.unmarked, UnmarkedPastes::Possible);
            assert!(modes.restore.contains(CLEAR), "it may have one screen only");
        }
        let apple = TerminalModes::of(Some("xterm-256color"), Some("Apple_Terminal"), false, false);
        assert!(!apple.enter.contains('>') && apple.enter.contains("?1004h"));
    }

    #[test]
    fn pastes_without_marks_are_possible_where_nothing_is_known() {
        for (term, in_tmux, expected) in [
            ("xterm-kitty", false, UnmarkedPastes::Never),
            ("tmux-256color", true, UnmarkedPastes::Never),
            ("screen-256color", true, UnmarkedPastes::Never),
            ("screen-256color", false, UnmarkedPastes::Possible),
            ("unheard-of", false, UnmarkedPastes::Possible),
            ("linux", false, UnmarkedPastes::Possible),
        ] {
            let modes = TerminalModes::of(Some(term), None, in_tmux, false);
            assert_eq!(modes.unmarked, expected, "{term} {in_tmux}");
        }
    }
}
