//! The colours of the themes: one table each for dark and for light backgrounds.
//!
//! They are numbers of xterm's table of 256, whose colours from 16 on are the same in every terminal. Each has a contrast of at least 4.5:1 with backgrounds
//! that are usual for its table (4.3:1 where the background is unknown), by the formula of WCAG 2 (<https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>); a test
//! counts. Of the sixteen named colours, which every terminal shows its own way, xterm's defaults on black and white are counted.

use ratatui::style::Color;

use super::ColorMode;
use crate::app::theme_choice::ThemeChoice;
use crate::ui::term::Rgb;

/// The colours of a theme, by the names that they have in the terminal's own.
pub(super) struct Palette {
    pub(super) red: Color,
    pub(super) green: Color,
    pub(super) yellow: Color,
    pub(super) blue: Color,
    pub(super) magenta: Color,
    pub(super) cyan: Color,
    /// Secondary text; `None` for the terminal's own dim text.
    pub(super) dim: Option<Color>,
    /// Fills the rows of what the user said.
    pub(super) band: Band,
    /// Coloured text may be bold. Many terminals brighten the named colours then, which makes dark ones unreadable on white.
    pub(super) bold: bool,
}

/// A background with the colours of what is written on it: those of the terminal are made for its own background. They are of the table of 256; of sixteen
/// colours no two can be trusted to differ.
#[derive(Clone, Copy)]
pub(super) struct Band {
    pub(super) background: Color,
    pub(super) text: Color,
    /// Secondary text.
    pub(super) dim: Color,
}

impl Band {
    const fn indexed(background: u8, text: u8, dim: u8) -> Self {
        Self {
            background: Color::Indexed(background),
            text: Color::Indexed(text),
            dim: Color::Indexed(dim),
        }
    }
}

const DARK_BAND: Band = Band::indexed(238, 255, 250);
const LIGHT_BAND: Band = Band::indexed(253, 234, 240);

/// What the terminal writes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Background {
    Dark,
    Light,
}

impl Background {
    pub(crate) fn of(colour: Rgb) -> Self {
        // Where black and white text are equally readable.
        if luminance(colour) > 0.179 {
            Self::Light
        } else {
            Self::Dark
        }
    }

    /// By the value of `COLORFGBG`, which rxvt and Konsole set: the numbers of the text's and of the background's colour.
    pub(crate) fn of_variable(value: &str) -> Option<Self> {
        match value.rsplit(';').next()?.parse().ok()? {
            0..=6_u8 | 8 => Some(Self::Dark),
            7 | 9..=15 => Some(Self::Light),
            _ => None,
        }
    }
}

/// The terminal's own colours.
pub(super) static NAMED: Palette = Palette {
    red: Color::Red,
    green: Color::Green,
    yellow: Color::Yellow,
    blue: Color::Blue,
    magenta: Color::Magenta,
    cyan: Color::Cyan,
    dim: None,
    band: DARK_BAND,
    bold: true,
};

/// Of the terminal's own colours those that can be read on black.
static NAMED_DARK: Palette = Palette {
    red: Color::LightRed,
    green: Color::Green,
    yellow: Color::Yellow,
    blue: Color::LightCyan,
    magenta: Color::LightMagenta,
    cyan: Color::Cyan,
    dim: None,
    band: DARK_BAND,
    bold: true,
};

/// Of the terminal's own colours those that can be read on white. That they are red and blue serves those as well who cannot tell red from green.
static NAMED_LIGHT: Palette = Palette {
    red: Color::Red,
    green: Color::Blue,
    yellow: Color::Magenta,
    blue: Color::Blue,
    magenta: Color::Magenta,
    cyan: Color::Blue,
    dim: None,
    band: LIGHT_BAND,
    bold: false,
};

/// What can be read on black and on white, for terminals that do not say which they have: of 4.5:1 with both only a few colours come close.
static EITHER: Palette = Palette {
    dim: None,
    ..indexed([131, 29, 130, 63, 163, 30], 0, Band::indexed(240, 231, 252))
};
static DARK: Palette = indexed([210, 114, 179, 111, 176, 80], 247, DARK_BAND);
static LIGHT: Palette = indexed([124, 22, 94, 25, 90, 23], 240, LIGHT_BAND);
static CONTRAST_DARK: Palette = indexed(
    [217, 120, 228, 153, 219, 123],
    252,
    Band::indexed(237, 231, 252),
);
static CONTRAST_LIGHT: Palette =
    indexed([52, 22, 236, 17, 53, 23], 238, Band::indexed(252, 16, 236));

/// Yellow and cyan instead of red and green, which differ in brightness too.
static COLOR_BLIND_DARK: Palette = Palette {
    red: Color::LightYellow,
    green: Color::LightCyan,
    yellow: Color::White,
    blue: Color::LightCyan,
    magenta: Color::LightMagenta,
    cyan: Color::LightCyan,
    dim: Some(Color::Gray),
    band: DARK_BAND,
    bold: true,
};

const fn indexed(
    [red, green, yellow, blue, magenta, cyan]: [u8; 6],
    dim: u8,
    band: Band,
) -> Palette {
    Palette {
        red: Color::Indexed(red),
        green: Color::Indexed(green),
        yellow: Color::Indexed(yellow),
        blue: Color::Indexed(blue),
        magenta: Color::Indexed(magenta),
        cyan: Color::Indexed(cyan),
        dim: Some(Color::Indexed(dim)),
        band,
        bold: true,
    }
}

/// The colours for a choice.
pub(super) fn palette(
    mode: ColorMode,
    choice: ThemeChoice,
    background: Option<Background>,
) -> &'static Palette {
    let background = match choice {
        ThemeChoice::Dark => Some(Background::Dark),
        ThemeChoice::Light => Some(Background::Light),
        ThemeChoice::Auto | ThemeChoice::Contrast | ThemeChoice::ColorBlind => background,
    };
    let is_light = background == Some(Background::Light);
    match (mode, choice) {
        (ColorMode::None, _) => &NAMED,
        (_, ThemeChoice::ColorBlind) if is_light => &NAMED_LIGHT,
        (_, ThemeChoice::ColorBlind) => &COLOR_BLIND_DARK,
        (ColorMode::Ansi16, _) => match background {
            Some(Background::Dark) => &NAMED_DARK,
            Some(Background::Light) => &NAMED_LIGHT,
            None => &NAMED,
        },
        (_, ThemeChoice::Contrast) if is_light => &CONTRAST_LIGHT,
        (_, ThemeChoice::Contrast) => &CONTRAST_DARK,
        _ => match background {
            Some(Background::Dark) => &DARK,
            Some(Background::Light) => &LIGHT,
            None => &EITHER,
        },
    }
}

/// What is behind changed lines and, if the text stays readable on it, behind the words that changed.
pub(super) struct Tints {
    pub(super) added: Color,
    pub(super) removed: Color,
    pub(super) added_part: Option<Color>,
    pub(super) removed_part: Option<Color>,
}

const fn rows(added: Color, removed: Color) -> Tints {
    Tints {
        added,
        removed,
        added_part: None,
        removed_part: None,
    }
}

const fn rows_and_parts(rows: [Color; 2], [added, removed]: [Color; 2]) -> Tints {
    let [added_row, removed_row] = rows;
    Tints {
        added: added_row,
        removed: removed_row,
        added_part: Some(added),
        removed_part: Some(removed),
    }
}

static TINTS_DARK: Tints = rows_and_parts(
    [Color::Rgb(24, 46, 34), Color::Rgb(60, 28, 28)],
    [Color::Rgb(36, 85, 57), Color::Rgb(101, 40, 40)],
);
static TINTS_LIGHT: Tints = rows_and_parts(
    [Color::Rgb(224, 248, 228), Color::Rgb(255, 236, 234)],
    [Color::Rgb(178, 236, 190), Color::Rgb(255, 206, 203)],
);
static TINTS_COLOR_BLIND_DARK: Tints = rows_and_parts(
    [Color::Rgb(14, 42, 56), Color::Rgb(54, 45, 8)],
    [Color::Rgb(26, 77, 99), Color::Rgb(92, 77, 0)],
);
/// Red text leaves no room for a second tint.
static TINTS_COLOR_BLIND_LIGHT: Tints = rows(Color::Rgb(221, 240, 255), Color::Rgb(255, 236, 234));
/// The table of 256 has no dark green and no dark red that is quiet behind text: both rows are grey there, and marks and letters tell them apart.
static TINTS_DARK_256: Tints = rows(Color::Indexed(237), Color::Indexed(237));
static TINTS_LIGHT_256: Tints = rows(Color::Indexed(194), Color::Indexed(224));
static TINTS_COLOR_BLIND_LIGHT_256: Tints = rows(Color::Indexed(189), Color::Indexed(230));

/// The tints of changed rows for a choice. There are none with few colours, on an unknown background, and where contrast is what counts: text has most of it
/// on the terminal's own background.
pub(super) fn tints(
    mode: ColorMode,
    choice: ThemeChoice,
    background: Option<Background>,
) -> Option<&'static Tints> {
    use Background::{Dark, Light};
    let background = match choice {
        ThemeChoice::Dark => Dark,
        ThemeChoice::Light => Light,
        ThemeChoice::Auto | ThemeChoice::ColorBlind => background?,
        ThemeChoice::Contrast => return None,
    };
    let is_color_blind = matches!(choice, ThemeChoice::ColorBlind);
    match (mode, background, is_color_blind) {
        (ColorMode::None | ColorMode::Ansi16, ..) => None,
        (ColorMode::True, Dark, false) => Some(&TINTS_DARK),
        (ColorMode::True, Light, false) => Some(&TINTS_LIGHT),
        (ColorMode::True, Dark, true) => Some(&TINTS_COLOR_BLIND_DARK),
        (ColorMode::True, Light, true) => Some(&TINTS_COLOR_BLIND_LIGHT),
        (ColorMode::Ansi256, Dark, _) => Some(&TINTS_DARK_256),
        (ColorMode::Ansi256, Light, false) => Some(&TINTS_LIGHT_256),
        (ColorMode::Ansi256, Light, true) => Some(&TINTS_COLOR_BLIND_LIGHT_256),
    }
}

/// Why a chosen theme does not look like itself here; `None` when it does.
pub(crate) fn limitation(mode: ColorMode, choice: ThemeChoice) -> Option<&'static str> {
    match (mode, choice) {
        (_, ThemeChoice::Auto) => None,
        (ColorMode::None, _) => Some("There are no colours here, so all themes look the same."),
        (ColorMode::Ansi16, ThemeChoice::Contrast) => {
            Some("This terminal has only 16 colours, with which contrast looks like auto.")
        }
        _ => None,
    }
}

/// The relative luminance of a colour, from 0 to 1.
fn luminance(Rgb(r, g, b): Rgb) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            libm::pow((part + 0.055) / 1.055, 2.4)
        }
    };
    0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::text::theme::Theme;

    /// From black over those of usual dark themes (VS Code, Solarized, One Dark).
    const DARKS: [Rgb; 4] = [
        Rgb(0, 0, 0),
        Rgb(30, 30, 30),
        Rgb(0, 43, 54),
        Rgb(40, 44, 52),
    ];
    /// From white to the darkest of usual light themes (Solarized).
    const LIGHTS: [Rgb; 3] = [Rgb(255, 255, 255), Rgb(250, 250, 250), Rgb(253, 246, 227)];

    fn contrast(one: Rgb, other: Rgb) -> f64 {
        let (one, other) = (luminance(one) + 0.05, luminance(other) + 0.05);
        one.max(other) / one.min(other)
    }

    /// A colour as xterm shows it; of the first sixteen its default table.
    fn rgb(colour: Color) -> Rgb {
        let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
        match colour {
            Color::Indexed(n @ 16..=231) => {
                let n = n - 16;
                Rgb(step(n / 36), step(n / 6 % 6), step(n % 6))
            }
            Color::Indexed(n @ 232..) => {
                Rgb(8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232))
            }
            Color::Red => Rgb(205, 0, 0),
            Color::Green => Rgb(0, 205, 0),
            Color::Yellow => Rgb(205, 205, 0),
            Color::Cyan => Rgb(0, 205, 205),
            Color::LightRed => Rgb(255, 0, 0),
            Color::Blue => Rgb(0, 0, 238),
            Color::Magenta => Rgb(205, 0, 205),
            Color::Gray => Rgb(229, 229, 229),
            Color::LightYellow => Rgb(255, 255, 0),
            Color::LightCyan => Rgb(0, 255, 255),
            Color::LightMagenta => Rgb(255, 0, 255),
            Color::White => Rgb(255, 255, 255),
            Color::Rgb(red, green, blue) => Rgb(red, green, blue),
            other => panic!("{other:?} is in no table"),
        }
    }

    fn colours(palette: &Palette) -> Vec<Color> {
        let Palette {
            red,
            green,
            yellow,
            blue,
            magenta,
            cyan,
            dim,
            band: _,
            bold: _,
        } = palette;
        let mut all = vec![*red, *green, *yellow, *blue, *magenta, *cyan];
        all.extend(*dim);
        all
    }

    #[test]
    fn every_colour_can_be_read_on_its_background() {
        let black = &DARKS[..1];
        let white = &LIGHTS[..1];
        for (name, palette, backgrounds, least) in [
            ("dark", &DARK, &DARKS[..], 4.5),
            ("light", &LIGHT, &LIGHTS[..], 4.5),
            ("unknown background", &EITHER, black, 4.4),
            ("unknown background", &EITHER, white, 4.3),
            ("contrast", &CONTRAST_DARK, &DARKS[..], 7.0),
            ("contrast, light", &CONTRAST_LIGHT, &LIGHTS[..2], 7.0),
            ("color-blind", &COLOR_BLIND_DARK, black, 4.5),
            ("16 colours, dark", &NAMED_DARK, black, 4.5),
            ("16 colours, light", &NAMED_LIGHT, white, 4.5),
        ] {
            for colour in colours(palette) {
                for background in backgrounds {
                    let found = contrast(rgb(colour), *background);
                    assert!(
                        found >= least,
                        "{name}: {colour:?} on {background:?} is {found:.2}:1"
                    );
                }
            }
        }
        assert!((contrast(Rgb(0, 0, 0), Rgb(255, 255, 255)) - 21.0).abs() < 1e-9);
        assert!((contrast(Rgb(119, 119, 119), Rgb(255, 255, 255)) - 4.478).abs() < 1e-3);
    }

    #[test]
    fn bands_stand_out_and_can_be_read() {
        // A band is seen by its edges, which need less contrast than letters.
        const EDGE: f64 = 1.2;
        for (name, palette, backgrounds, least) in [
            ("dark", &DARK, &DARKS[..], 4.5),
            ("light", &LIGHT, &LIGHTS[..], 4.5),
            ("unknown background", &EITHER, &DARKS[..], 4.5),
            ("unknown background", &EITHER, &LIGHTS[..], 4.5),
            ("contrast", &CONTRAST_DARK, &DARKS[..], 7.0),
            ("contrast, light", &CONTRAST_LIGHT, &LIGHTS[..], 7.0),
            ("color-blind", &COLOR_BLIND_DARK, &DARKS[..], 4.5),
            ("color-blind, light", &NAMED_LIGHT, &LIGHTS[..], 4.5),
        ] {
            let Band {
                background,
                text,
                dim,
            } = palette.band;
            for colour in [text, dim] {
                let found = contrast(rgb(colour), rgb(background));
                assert!(found >= least, "{name}: {colour:?} is {found:.2}:1");
            }
            for around in backgrounds {
                let found = contrast(rgb(background), *around);
                assert!(found >= EDGE, "{name}: {found:.2}:1 on {around:?}");
            }
        }
    }

    #[test]
    fn changed_lines_can_be_read_on_their_tints() {
        use Background::{Dark, Light};
        let modes = [ColorMode::Ansi256, ColorMode::True];
        let choices = ThemeChoice::ALL.map(|(choice, ..)| choice);
        let mut tinted = 0;
        for mode in modes {
            for choice in choices {
                for background in [None, Some(Dark), Some(Light)] {
                    let Some(tints) = tints(mode, choice, background) else {
                        continue;
                    };
                    tinted += 1;
                    let palette = palette(mode, choice, background);
                    let on = [
                        (palette.green, Some(tints.added)),
                        (palette.green, tints.added_part),
                        (palette.red, Some(tints.removed)),
                        (palette.red, tints.removed_part),
                    ];
                    for (text, tint) in on.into_iter().filter_map(|(t, b)| Some((t, b?))) {
                        let found = contrast(rgb(text), rgb(tint));
                        assert!(
                            found >= 4.5,
                            "{mode:?} {choice:?}: {text:?} on {tint:?} is {found:.2}:1"
                        );
                    }
                    let is_grey = tints.added == Color::Indexed(237);
                    assert!(is_grey || tints.added != tints.removed);
                }
            }
        }
        assert_eq!(tinted, 20);
        for choice in choices {
            assert!(tints(ColorMode::Ansi16, choice, Some(Dark)).is_none());
            assert!(tints(ColorMode::None, choice, Some(Dark)).is_none());
        }
    }

    #[test]
    fn the_theme_for_the_color_blind_has_no_red_beside_green() {
        for palette in [&COLOR_BLIND_DARK, &NAMED_LIGHT] {
            let has =
                |colours_of: &[Color]| colours(palette).iter().any(|c| colours_of.contains(c));
            assert!(!has(&[Color::Green, Color::LightGreen]));
            assert_ne!(palette.red, palette.green);
        }
    }

    #[test]
    fn backgrounds_are_told_apart() {
        for dark in DARKS {
            assert_eq!(Background::of(dark), Background::Dark);
        }
        for light in LIGHTS {
            assert_eq!(Background::of(light), Background::Light);
        }
        for (value, expected) in [
            ("15;0", Some(Background::Dark)),
            ("0;15", Some(Background::Light)),
            ("0;default;15", Some(Background::Light)),
            ("7;8", Some(Background::Dark)),
            ("0;7", Some(Background::Light)),
            ("12;default", None),
            ("", None),
            ("1;300", None),
        ] {
            assert_eq!(Background::of_variable(value), expected, "{value}");
        }
    }

    #[test]
    fn with_sixteen_colours_a_light_background_gets_dark_ones_that_are_not_bold() {
        use ratatui::style::Modifier;
        let light = Some(Background::Light);
        let theme = |choice, background| Theme::choose(ColorMode::Ansi16, choice, background);
        let expected = Theme::with(ColorMode::Ansi16, &NAMED_LIGHT, None);
        assert_eq!(theme(ThemeChoice::Auto, light), expected);
        assert_eq!(theme(ThemeChoice::Contrast, light), expected);
        assert_eq!(theme(ThemeChoice::Light, None), expected);
        assert_eq!(theme(ThemeChoice::Light, Some(Background::Dark)), expected);
        let dark = theme(ThemeChoice::Dark, light);
        assert_eq!(dark, Theme::with(ColorMode::Ansi16, &NAMED_DARK, None));
        assert!(dark.you.add_modifier.contains(Modifier::BOLD));
        for style in [
            expected.you,
            expected.assistant,
            expected.error,
            expected.accent,
            expected.heading,
            expected.added_part,
            expected.removed_part,
            expected.keyword,
        ] {
            assert!(!style.add_modifier.contains(Modifier::BOLD), "{style:?}");
            assert!(style.fg.is_some());
        }
    }

    #[test]
    fn a_theme_that_cannot_be_shown_has_a_reason() {
        use ThemeChoice::{Auto, Contrast, Light};
        assert!(limitation(ColorMode::None, Light).is_some());
        assert!(limitation(ColorMode::Ansi16, Contrast).is_some());
        for (mode, choice) in [
            (ColorMode::None, Auto),
            (ColorMode::Ansi16, Light),
            (ColorMode::Ansi256, Contrast),
        ] {
            assert_eq!(limitation(mode, choice), None, "{mode:?} {choice:?}");
        }
    }

    #[test]
    fn few_colours_and_none_stay_what_they_are() {
        for choice in ThemeChoice::ALL.map(|(choice, ..)| choice) {
            let theme = Theme::choose(ColorMode::None, choice, Some(Background::Light));
            assert_eq!(theme, Theme::new(ColorMode::None));
            let theme = Theme::choose(ColorMode::Ansi16, choice, None);
            let shown = format!("{theme:?}");
            assert!(!shown.contains("Indexed"), "{choice:?}");
        }
        let unknown = Theme::choose(ColorMode::Ansi16, ThemeChoice::Auto, None);
        assert_eq!(unknown, Theme::new(ColorMode::Ansi16));
        let unknown = Theme::choose(ColorMode::True, ThemeChoice::Auto, None);
        assert_eq!(unknown, Theme::with(ColorMode::True, &EITHER, None));
    }
}
