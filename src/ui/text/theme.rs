//! Colours by meaning, so that light and dark backgrounds, sixteen colours and none all work.
//!
//! While the background is not known, only the terminal's sixteen named colours are used, never black or white: the user chose how they look. Roles that
//! differ by colour also differ by a modifier, unless bold would make their colour unreadable. The themes' own colours are in [`palette`].

pub(crate) mod palette;

use ratatui::style::{Color, Modifier, Style};

use crate::app::theme_choice::ThemeChoice;
use palette::{Background, Band, Palette, Tints};

/// How many colours the terminal supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorMode {
    /// No colours; bold, underline and the like stay.
    None,
    /// The sixteen names.
    Ansi16,
    /// The table of 256.
    Ansi256,
    /// 24 bits.
    True,
}

impl ColorMode {
    /// Decides by the values of `NO_COLOR`, `TERM` and `COLORTERM`. A non-empty `NO_COLOR` wins; so does a dumb terminal.
    pub fn detect(no_color: Option<&str>, term: Option<&str>, colorterm: Option<&str>) -> Self {
        let term = term.unwrap_or_default().to_ascii_lowercase();
        let colorterm = colorterm.unwrap_or_default().to_ascii_lowercase();
        if no_color.is_some_and(|value| !value.is_empty()) || matches!(term.as_str(), "" | "dumb") {
            return Self::None;
        }
        if matches!(colorterm.as_str(), "truecolor" | "24bit") || term.ends_with("-direct") {
            return Self::True;
        }
        if term.contains("256") {
            return Self::Ansi256;
        }
        Self::Ansi16
    }
}

/// One style for each kind of text that should be distinguishable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// The colour mode it was made for.
    pub mode: ColorMode,
    /// Ordinary text: the terminal's own colours.
    pub text: Style,
    /// The label of what the user wrote, without its band.
    pub you: Style,
    /// Fills the rows of what the user wrote. Without colours it fills nothing.
    pub band: Style,
    /// The label in it.
    pub band_label: Style,
    /// Secondary text in it.
    pub band_dim: Style,
    /// What is attached to a message: files, images, folded pastes.
    pub band_mark: Style,
    /// The label of what the model wrote.
    pub assistant: Style,
    /// Notices.
    pub system: Style,
    /// Tool lines.
    pub tool: Style,
    /// Failures.
    pub error: Style,
    /// The accent: what is selected or active.
    pub accent: Style,
    /// Secondary text: times, hints, addresses after links.
    pub dim: Style,
    /// Inline code, and code in an unknown language.
    pub code: Style,
    /// Headings.
    pub heading: Style,
    /// The text of a link.
    pub link: Style,
    /// Quoted text.
    pub quote: Style,
    /// Bullets, list numbers, table lines.
    pub marker: Style,
    /// Lines that a change adds.
    pub added: Style,
    /// Lines that a change removes.
    pub removed: Style,
    /// Behind the whole row of an added line, where the theme has a tint for it.
    pub added_row: Style,
    /// Behind the whole row of a removed line.
    pub removed_row: Style,
    /// The part of an added line that differs.
    pub added_part: Style,
    /// The part of a removed line that differs.
    pub removed_part: Style,
    /// Keywords.
    pub keyword: Style,
    /// Strings.
    pub string: Style,
    /// Comments.
    pub comment: Style,
    /// Numbers and constants.
    pub number: Style,
    /// Names: keys, tags, types, variables.
    pub name: Style,
}

impl Theme {
    /// The theme of the terminal's own colours.
    pub fn new(mode: ColorMode) -> Self {
        Self::with(mode, &palette::NAMED, None)
    }

    /// The theme that was chosen, as far as the terminal has its colours; `background` is the terminal's, if it is known.
    pub(crate) fn choose(
        mode: ColorMode,
        choice: ThemeChoice,
        background: Option<Background>,
    ) -> Self {
        let tints = palette::tints(mode, choice, background);
        Self::with(mode, palette::palette(mode, choice, background), tints)
    }

    fn with(mode: ColorMode, palette: &Palette, tints: Option<&Tints>) -> Self {
        let plain = Style::new();
        let bold = match palette.bold {
            true => plain.add_modifier(Modifier::BOLD),
            false => plain,
        };
        let color = |style: Style, color: Color| match mode {
            ColorMode::None => style,
            ColorMode::Ansi16 | ColorMode::Ansi256 | ColorMode::True => style.fg(color),
        };
        let dim = match (mode, palette.dim) {
            (ColorMode::None, _) | (_, None) => plain.add_modifier(Modifier::DIM),
            (_, Some(grey)) => plain.fg(grey),
        };
        let Band {
            background,
            text,
            dim: band_dim,
        } = palette.band;
        let on_band = |fg: Color| plain.fg(fg).bg(background);
        let (band, band_dim) = match mode {
            ColorMode::None => (plain, dim),
            // Whatever the sixteen look like, the terminal's own two can be read on each other.
            ColorMode::Ansi16 => {
                let reversed = plain.add_modifier(Modifier::REVERSED);
                (reversed, reversed)
            }
            ColorMode::Ansi256 | ColorMode::True => (on_band(text), on_band(band_dim)),
        };
        let row = |tint: Option<Color>| tint.map_or(plain, |tint| plain.bg(tint));
        // A tint of its own sets changed words apart better than a line below them.
        let part = |tint: Option<Color>| match tint {
            Some(tint) => bold.bg(tint),
            None => bold.add_modifier(Modifier::UNDERLINED),
        };
        Self {
            mode,
            text: plain,
            band,
            band_label: band.patch(bold),
            band_dim,
            band_mark: match palette.bold {
                true => band.add_modifier(Modifier::BOLD),
                false => band.add_modifier(Modifier::ITALIC),
            },
            you: color(bold, palette.cyan),
            assistant: color(bold, palette.green),
            system: color(plain, palette.yellow),
            tool: color(plain, palette.magenta),
            error: color(bold, palette.red),
            accent: color(bold, palette.cyan),
            dim,
            code: match mode {
                ColorMode::None => bold,
                ColorMode::Ansi16 | ColorMode::Ansi256 | ColorMode::True => plain.fg(palette.cyan),
            },
            heading: color(bold, palette.magenta),
            link: color(plain.add_modifier(Modifier::UNDERLINED), palette.blue),
            quote: plain.add_modifier(Modifier::ITALIC),
            marker: color(plain, palette.cyan),
            added: color(plain, palette.green),
            removed: color(plain, palette.red),
            added_row: row(tints.map(|tints| tints.added)),
            removed_row: row(tints.map(|tints| tints.removed)),
            added_part: color(
                part(tints.and_then(|tints| tints.added_part)),
                palette.green,
            ),
            removed_part: color(
                part(tints.and_then(|tints| tints.removed_part)),
                palette.red,
            ),
            keyword: color(bold, palette.magenta),
            string: color(plain, palette.green),
            comment: dim.add_modifier(Modifier::ITALIC),
            number: color(plain, palette.yellow),
            name: color(plain, palette.blue),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides() {
        use ColorMode::{Ansi16, Ansi256, None as Off, True};
        for (no_color, term, colorterm, expected) in [
            (None, Some("xterm-256color"), None, Ansi256),
            (None, Some("xterm-256color"), Some("truecolor"), True),
            (None, Some("xterm-direct"), None, True),
            (None, Some("linux"), None, Ansi16),
            (Some(""), Some("linux"), None, Ansi16),
            (Some("1"), Some("xterm-256color"), Some("truecolor"), Off),
            (None, Some("dumb"), Some("truecolor"), Off),
            (None, None, None, Off),
        ] {
            assert_eq!(
                ColorMode::detect(no_color, term, colorterm),
                expected,
                "{no_color:?} {term:?} {colorterm:?}"
            );
        }
    }

    #[test]
    fn without_colours_no_style_has_one() {
        let shown = format!("{:?}", Theme::new(ColorMode::None));
        for name in ["red", "green", "blue", "cyan", "magenta", "yellow"] {
            assert!(!shown.to_lowercase().contains(name), "{name}: {shown}");
        }
        let theme = Theme::new(ColorMode::None);
        assert_ne!(theme.heading, theme.text);
        assert_ne!(theme.code, theme.text);
        assert_ne!(theme.added_part, theme.added);
    }
}
