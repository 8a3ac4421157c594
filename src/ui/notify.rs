//! Calling the user back when an answer ends or a question waits: by the terminal's bell or by a notification of the desktop, and in the window's title.
//!
//! Sequences: OSC 9 is iTerm2's, OSC 777 rxvt-unicode's (<https://iterm2.com/documentation-escape-codes.html>), OSC 2 and the title stack are in xterm's
//! ctlseqs; tmux passes on what is wrapped as its manual says (allow-passthrough).

use std::time::{Duration, Instant};

use crate::base::env::Env;
use crate::base::text::did_you_mean;
use crate::base::variables::MARVIN_NOTIFY;

/// Who waits longer than this for an answer does something else meanwhile.
const LONG_WAIT: Duration = Duration::from_secs(10);

/// Why the user is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Occasion {
    /// An answer is complete, or has failed.
    Answer,
    /// A question needs an answer.
    Question,
}

impl Occasion {
    fn words(self) -> &'static str {
        match self {
            Self::Answer => "Marvin has answered",
            Self::Question => "Marvin has a question",
        }
    }
}

/// How the user is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotifyMethod {
    Bell,
    Osc9,
    Osc777,
    Off,
}

/// The values of the variable.
const METHODS: [(&str, Option<NotifyMethod>); 5] = [
    ("auto", None),
    ("bell", Some(NotifyMethod::Bell)),
    ("osc9", Some(NotifyMethod::Osc9)),
    ("osc777", Some(NotifyMethod::Osc777)),
    ("off", Some(NotifyMethod::Off)),
];

/// Makes the sequences that call the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Notifier {
    method: NotifyMethod,
    in_tmux: bool,
    has_title: bool,
}

impl Notifier {
    /// Decides by `MARVIN_NOTIFY`, else by the terminal; `has_title` says that it has a window title.
    pub(super) fn new(env: &Env, has_title: bool, warn: &mut dyn FnMut(String)) -> Self {
        let word = MARVIN_NOTIFY.read(env).unwrap_or("auto");
        let mut methods = METHODS.iter();
        let found = methods.find(|(name, _)| word.eq_ignore_ascii_case(name));
        if found.is_none() {
            let names = METHODS.map(|(name, _)| name);
            let near =
                did_you_mean(word, names).map_or_else(String::new, |near| format!("; {near}"));
            let list = names.join(", ");
            warn(format!(
                "MARVIN_NOTIFY is one of {list}, not \"{word}\"{near}."
            ));
        }
        let in_tmux = env.get("TMUX").is_some();
        let chosen = found.and_then(|(_, method)| *method);
        Self {
            method: chosen.unwrap_or_else(|| automatic(env, in_tmux)),
            in_tmux,
            has_title,
        }
    }

    /// Calls the user; empty when they do not want that.
    pub(super) fn call(&self, occasion: Occasion) -> String {
        let words = occasion.words();
        let signal = match self.method {
            NotifyMethod::Off => return String::new(),
            NotifyMethod::Bell => "\x07".to_owned(),
            NotifyMethod::Osc9 => self.passed(format!("\x1b]9;{words}\x1b\\")),
            NotifyMethod::Osc777 => self.passed(format!("\x1b]777;notify;Marvin;{words}\x1b\\")),
        };
        self.title(words) + &signal
    }

    /// The user is back: the title of every day.
    pub(super) fn calm(&self) -> String {
        match self.method {
            NotifyMethod::Off => String::new(),
            NotifyMethod::Bell | NotifyMethod::Osc9 | NotifyMethod::Osc777 => self.title("Marvin"),
        }
    }

    /// The bell alone, for lines; empty when the user does not want that.
    pub(super) fn bell(&self) -> &'static str {
        match self.method {
            NotifyMethod::Off => "",
            NotifyMethod::Bell | NotifyMethod::Osc9 | NotifyMethod::Osc777 => "\x07",
        }
    }

    fn title(&self, words: &str) -> String {
        if self.has_title {
            format!("\x1b]2;{words}\x1b\\")
        } else {
            String::new()
        }
    }

    /// Through tmux to the terminal around it.
    fn passed(&self, sequence: String) -> String {
        if self.in_tmux {
            format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b"))
        } else {
            sequence
        }
    }
}

/// Notifications where the terminal is known to show them, else the bell. tmux shows the bell in its status line, and passes notifications on only where the
/// user allows it.
fn automatic(env: &Env, in_tmux: bool) -> NotifyMethod {
    if in_tmux {
        return NotifyMethod::Bell;
    }
    let term = env.get("TERM").unwrap_or_default();
    match env.get("TERM_PROGRAM") {
        Some("iTerm.app" | "WezTerm" | "ghostty") => NotifyMethod::Osc9,
        _ if matches!(term, "xterm-kitty" | "xterm-ghostty") => NotifyMethod::Osc9,
        _ if term.starts_with("foot") || term.starts_with("rxvt-unicode") => NotifyMethod::Osc777,
        _ => NotifyMethod::Bell,
    }
}

/// Whether the user needs to be called.
#[derive(Debug, Default)]
pub(super) struct Attention {
    /// Whether the window is in front, where the terminal reports it.
    focus: Option<bool>,
    /// Since when an answer is awaited.
    since: Option<Instant>,
    /// They were called, and have not come back yet.
    is_called: bool,
}

impl Attention {
    /// A message was sent: the wait begins.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// The window came to the front or went away.
    pub(super) fn set_focus(&mut self, focus: bool) {
        self.focus = Some(focus);
    }

    /// True, once for each call, when the user is back.
    pub(super) fn comes_back(&mut self) -> bool {
        std::mem::take(&mut self.is_called)
    }

    /// Whether to call the user now.
    pub(super) fn calls(&mut self) -> bool {
        let is_long = self.since.is_some_and(|since| since.elapsed() >= LONG_WAIT);
        let calls = self.focus == Some(false) || is_long;
        self.is_called |= calls;
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notifier(vars: &[(&'static str, &'static str)]) -> (Notifier, Vec<String>) {
        let mut env = Env::default();
        for (name, value) in vars {
            env.set_below(name, (*value).to_owned());
        }
        let mut warnings = Vec::new();
        let notifier = Notifier::new(&env, true, &mut |text| warnings.push(text));
        (notifier, warnings)
    }

    #[test]
    fn the_terminal_decides_and_the_variable_wins() {
        use NotifyMethod::{Bell, Off, Osc9, Osc777};
        for (vars, expected) in [
            (&[][..], Bell),
            (&[("TERM", "xterm-256color")], Bell),
            (&[("TERM", "xterm-kitty")], Osc9),
            (&[("TERM", "foot")], Osc777),
            (&[("TERM", "foot"), ("TMUX", "/tmp/tmux")], Bell),
            (&[("TERM_PROGRAM", "WezTerm")], Osc9),
            (&[("TERM", "foot"), ("MARVIN_NOTIFY", "bell")], Bell),
            (&[("TERM", "foot"), ("MARVIN_NOTIFY", "auto")], Osc777),
            (&[("MARVIN_NOTIFY", "OSC9")], Osc9),
            (&[("MARVIN_NOTIFY", "osc777")], Osc777),
            (&[("MARVIN_NOTIFY", "off")], Off),
        ] {
            let (notifier, warnings) = notifier(vars);
            assert_eq!(notifier.method, expected, "{vars:?}");
            assert!(warnings.is_empty(), "{warnings:?}");
        }
        let (wrong, warnings) = notifier(&[("MARVIN_NOTIFY", "osc99")]);
        assert_eq!(wrong.method, Bell);
        assert!(
            warnings.concat().contains("did you mean \"osc9\""),
            "{warnings:?}"
        );
    }

    #[test]
    fn each_way_has_its_sequence() {
        for (vars, expected) in [
            (
                &[("MARVIN_NOTIFY", "bell")][..],
                "\x1b]2;Marvin has answered\x1b\\\x07",
            ),
            (
                &[("MARVIN_NOTIFY", "osc9")],
                "\x1b]2;Marvin has answered\x1b\\\x1b]9;Marvin has answered\x1b\\",
            ),
            (
                &[("MARVIN_NOTIFY", "osc777")],
                "\x1b]2;Marvin has answered\x1b\\\x1b]777;notify;Marvin;Marvin has answered\x1b\\",
            ),
            (
                &[("MARVIN_NOTIFY", "osc9"), ("TMUX", "x")],
                "\x1b]2;Marvin has answered\x1b\\\x1bPtmux;\x1b\x1b]9;Marvin has answered\x1b\x1b\\\x1b\\",
            ),
            (&[("MARVIN_NOTIFY", "off")], ""),
        ] {
            let (notifier, _) = notifier(vars);
            assert_eq!(notifier.call(Occasion::Answer), expected, "{vars:?}");
        }
    }

    #[test]
    fn the_user_is_called_when_away_and_after_a_long_wait() {
        let mut attention = Attention::default();
        attention.begin();
        assert!(!attention.calls() && !attention.comes_back());
        attention.set_focus(true);
        assert!(!attention.calls());
        attention.set_focus(false);
        assert!(attention.calls() && attention.comes_back() && !attention.comes_back());
        attention.set_focus(true);
        attention.since = Instant::now().checked_sub(LONG_WAIT);
        assert!(attention.calls());
    }
}
