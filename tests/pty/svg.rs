//! A terminal's screen as an SVG file, in a window with a title. Every word is an element of its own with its place and its length, so that columns are
//! the terminal's with any font: a browser stretches the letters, and what stretches none still starts each word in its column.

use std::fmt::Write as _;

/// Size of a cell in pixels, and of the font that fills it.
const CELL: (f64, f64) = (8.4, 19.0);
const FONT_SIZE: u32 = 14;
/// Baseline of a row's letters, from its top.
const BASELINE: f64 = 14.0;
/// Space around the screen, and the height of the title bar.
const MARGIN: f64 = 14.0;
const TITLE_BAR: f64 = 34.0;

const FONTS: &str =
    "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace";
/// The colours of a window.
pub(crate) struct Scheme {
    background: &'static str,
    foreground: &'static str,
    border: &'static str,
    title: &'static str,
    /// The terminal's sixteen colours, readable on the background.
    palette: [&'static str; 16],
}

pub(crate) const DARK: Scheme = Scheme {
    background: "#0d1117",
    foreground: "#d1d7e0",
    border: "#3d444d",
    title: "#9198a1",
    palette: [
        "#484f58", "#ff7b72", "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#b1bac4",
        "#6e7681", "#ffa198", "#7ee787", "#f2cc60", "#a5d6ff", "#e2c5ff", "#b3f0ff", "#f0f6fc",
    ],
};
pub(crate) const LIGHT: Scheme = Scheme {
    background: "#ffffff",
    foreground: "#1f2328",
    border: "#d1d9e0",
    title: "#59636e",
    palette: [
        "#24292f", "#cf222e", "#116329", "#7d4e00", "#0969da", "#8250df", "#1b7c83", "#6e7781",
        "#57606a", "#a40e26", "#1a7f37", "#633c01", "#218bff", "#a475f9", "#3192aa", "#8c959f",
    ],
};

/// Drawn instead of written, for not every machine has a font with it; in a square of 16.
const WRENCH: (&str, &str) = (
    "🔧",
    "M10.6 1.2a4.2 4.2 0 0 0-4 5.6L1.5 12a1.7 1.7 0 0 0 2.4 2.4l5.2-5.1a4.2 4.2 0 0 0 5.5-5.2l-2.5 2.5-2.2-.6-.6-2.2 2.5-2.5z",
);

/// The character of a line across the screen. Lines are drawn too: the letters of some fonts leave gaps.
const LINE: &str = "─";

/// Adjacent cells of one row with the same style: a word, a part of one, or a line.
struct Run {
    column: u16,
    columns: u16,
    text: String,
    style: String,
}

/// Draws the screen in a window with this title.
pub(crate) fn draw(screen: &vt100::Screen, title: &str, scheme: &Scheme) -> String {
    let Scheme {
        background,
        foreground,
        border,
        title: title_colour,
        palette,
    } = scheme;
    let (height, width) = screen.size();
    let (rows, columns) = (height.get(), width.get());
    let inner = (f64::from(columns) * CELL.0, f64::from(rows) * CELL.1);
    let size = (inner.0 + 2.0 * MARGIN, inner.1 + TITLE_BAR + MARGIN);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" fill=\"{foreground}\" role=\"img\" aria-label=\"{title}\">\n\
         <style>text{{font:{FONT_SIZE}px {FONTS};font-variant-ligatures:none}}</style>\n\
         <defs><path id=\"wrench\" d=\"{wrench}\"/></defs>\n\
         <rect x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"9\" fill=\"{background}\" stroke=\"{border}\"/>\n\
         <g fill=\"{border}\"><circle cx=\"20\" cy=\"18\" r=\"5.5\"/><circle cx=\"38\" cy=\"18\" r=\"5.5\"/><circle cx=\"56\" cy=\"18\" r=\"5.5\"/></g>\n\
         <text x=\"{}\" y=\"22\" text-anchor=\"middle\" style=\"fill:{title_colour}\">{title}</text>",
        number(size.0 - 1.0),
        number(size.1 - 1.0),
        number(size.0 / 2.0),
        w = number(size.0),
        h = number(size.1),
        title = escape(title),
        wrench = WRENCH.1,
    );
    for row in 0..rows {
        let top = TITLE_BAR + f64::from(row) * CELL.1;
        for (column, wide, colour) in fills(screen, row, columns, palette) {
            let _ = writeln!(
                out,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"/>",
                number(MARGIN + f64::from(column) * CELL.0),
                number(top),
                number(f64::from(wide) * CELL.0),
                number(CELL.1),
            );
        }
        for run in runs(screen, row, columns, palette) {
            let x = number(MARGIN + f64::from(run.column) * CELL.0);
            let width = number(f64::from(run.columns) * CELL.0);
            let style = run.style;
            let _ = match run.text.as_str() {
                text if text == WRENCH.0 => {
                    let y = number(top + 1.5);
                    writeln!(out, "<use href=\"#wrench\" x=\"{x}\" y=\"{y}\"{style}/>")
                }
                text if text.starts_with(LINE) => {
                    let y = number(top + CELL.1 / 2.0);
                    writeln!(
                        out,
                        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"1\"{style}/>"
                    )
                }
                text => {
                    let y = number(top + BASELINE);
                    let text = escape(text);
                    writeln!(
                        out,
                        "<text x=\"{x}\" y=\"{y}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"{style}>{text}</text>"
                    )
                }
            };
        }
    }
    out.push_str("</svg>\n");
    out
}

/// The backgrounds of a row: first column, columns, colour.
fn fills(
    screen: &vt100::Screen,
    row: u16,
    columns: u16,
    palette: &[&str; 16],
) -> Vec<(u16, u16, String)> {
    let mut fills: Vec<(u16, u16, String)> = Vec::new();
    for column in 0..columns {
        let cell = screen.cell(row, column);
        let Some(colour) = cell.and_then(|cell| color(cell.bgcolor(), palette)) else {
            continue;
        };
        match fills.last_mut() {
            Some((from, wide, last)) if *last == colour && *from + *wide == column => *wide += 1,
            _ => fills.push((column, 1, colour)),
        }
    }
    fills
}

/// What a row shows. A character that is not ASCII is a run of its own, because another font may have it.
fn runs(screen: &vt100::Screen, row: u16, columns: u16, palette: &[&str; 16]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for column in 0..columns {
        let Some(cell) = screen.cell(row, column) else {
            continue;
        };
        let text = cell.contents();
        if text.trim().is_empty() {
            assert!(!cell.underline(), "underlined blanks are not drawn yet");
            continue;
        }
        let style = style(cell, palette);
        let joins = |last: &&mut Run| {
            last.style == style
                && last.column + last.columns == column
                && (text.is_ascii() && last.text.is_ascii()
                    || text == LINE && last.text.ends_with(LINE))
        };
        if let Some(last) = runs.last_mut().filter(joins) {
            last.text.push_str(text);
            last.columns += 1;
        } else {
            runs.push(Run {
                column,
                columns: if cell.is_wide() { 2 } else { 1 },
                text: text.to_owned(),
                style,
            });
        }
    }
    runs
}

/// The style attribute of a cell; empty for ordinary text.
fn style(cell: &vt100::Cell, palette: &[&str; 16]) -> String {
    assert!(
        !cell.inverse(),
        "reversed cells are not drawn yet, and {:?} is one",
        cell.contents()
    );
    let mut css = Vec::new();
    let color = color(cell.fgcolor(), palette);
    if let Some(color) = &color {
        css.push(format!("fill:{color}"));
    }
    if cell.bold() {
        css.push("font-weight:bold".to_owned());
    }
    if cell.dim() {
        css.push("opacity:.6".to_owned());
    }
    if cell.italic() {
        css.push("font-style:italic".to_owned());
    }
    if cell.underline() {
        css.push("text-decoration:underline".to_owned());
    }
    if css.is_empty() {
        return String::new();
    }
    format!(" style=\"{}\"", css.join(";"))
}

/// `None` is the ordinary colour.
fn color(color: vt100::Color, palette: &[&str; 16]) -> Option<String> {
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(at) => Some(match palette.get(usize::from(at)) {
            Some(named) => (*named).to_owned(),
            None => of_the_table(at),
        }),
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

/// A colour of xterm's table from 16 on: a cube of six steps a side, then greys.
fn of_the_table(at: u8) -> String {
    let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    let [red, green, blue] = match at {
        232.. => [8 + 10 * (at - 232); 3],
        _ => [(at - 16) / 36, (at - 16) / 6 % 6, (at - 16) % 6].map(step),
    };
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// At most two decimals, without trailing zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
