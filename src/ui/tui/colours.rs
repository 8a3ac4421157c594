//! The colours of the full screen: the theme that was chosen, on the background that the terminal reports.

use crate::app::theme_choice::ThemeChoice;
use crate::base::env::Env;
use crate::ui::term::Rgb;
use crate::ui::text::theme::palette::{self, Background};
use crate::ui::text::theme::{ColorMode, Theme};

/// Asks for the background colour (OSC 11 of xterm's ctlseqs). The answer comes among the keys, if at all.
pub(super) const BACKGROUND_QUESTION: &str = "\x1b]11;?\x1b\\";

/// What decides the theme.
pub(super) struct ScreenColours {
    mode: ColorMode,
    choice: ThemeChoice,
    background: Option<Background>,
}

impl ScreenColours {
    /// Before the terminal has answered, `COLORFGBG` says what it is like.
    pub(super) fn new(mode: ColorMode, choice: ThemeChoice, env: &Env) -> Self {
        Self {
            mode,
            choice,
            background: env.get("COLORFGBG").and_then(Background::of_variable),
        }
    }

    /// Whether the background makes a difference.
    pub(super) fn depend_on_background(&self) -> bool {
        self.mode != ColorMode::None
    }

    pub(super) fn set_background(&mut self, colour: Rgb) {
        self.background = Some(Background::of(colour));
    }

    /// Takes another theme; says why, if it does not look like itself here.
    pub(super) fn choose(&mut self, choice: ThemeChoice) -> Option<&'static str> {
        self.choice = choice;
        palette::limitation(self.mode, choice)
    }

    pub(super) fn theme(&self) -> Theme {
        Theme::choose(self.mode, self.choice, self.background)
    }
}
