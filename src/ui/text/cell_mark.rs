//! What a cell says beside its look: the address that it leads to, and that its row goes on in the next one.
//!
//! ratatui's styles have no place for either. Both travel as the colour of an underline, which no theme sets; the screen makes of them links and rows that
//! the terminal itself has wrapped.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use ratatui::style::{Color, Style};

/// Longest address in bytes: terminals drop links from about 2,080 on.
const MAX_ADDRESS: usize = 2_000;
/// Addresses that are kept; what comes after them is text without a link.
const MAX_ADDRESSES: usize = 100_000;
/// The bit of a row that goes on; the others are the number of the link, 0 without one.
const CONTINUES: u32 = 1 << 23;

/// The addresses of all links; the first has the number 1.
static LINKS: Mutex<Option<LinkTable>> = Mutex::new(None);

#[derive(Default)]
struct LinkTable {
    addresses: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CellMark {
    /// The number of the link, 0 without one.
    pub link: u32,
    /// It is the last cell of a row that goes on in the next one: no line break is between the two.
    pub continues: bool,
}

impl CellMark {
    /// The marks that this underline colour carries.
    pub(crate) fn of(color: Color) -> Self {
        let bits = match color {
            Color::Rgb(high, middle, low) => u32::from_be_bytes([0, high, middle, low]),
            _ => 0,
        };
        Self {
            link: bits & !CONTINUES,
            continues: bits & CONTINUES != 0,
        }
    }

    /// The colour that carries these marks.
    pub(crate) fn color(self) -> Color {
        let bits = self.link | if self.continues { CONTINUES } else { 0 };
        match bits.to_be_bytes() {
            [_, 0, 0, 0] => Color::Reset,
            [_, high, middle, low] => Color::Rgb(high, middle, low),
        }
    }
}

fn mark(style: Style) -> CellMark {
    CellMark::of(style.underline_color.unwrap_or_default())
}

/// The style, leading to this address; as it was when the address is not one that a terminal should open.
pub(crate) fn linked(style: Style, address: &str) -> Style {
    match encoded(address).and_then(number) {
        Some(link) => style.underline_color(
            CellMark {
                link,
                ..mark(style)
            }
            .color(),
        ),
        None => style,
    }
}

/// Whether the style leads to an address.
pub(crate) fn is_linked(style: Style) -> bool {
    mark(style).link > 0
}

/// The style of the last cell of a row, which goes on in the next one if `continues`.
pub(crate) fn continued(style: Style, continues: bool) -> Style {
    let before = mark(style);
    if before.continues == continues {
        return style;
    }
    style.underline_color(
        CellMark {
            continues,
            ..before
        }
        .color(),
    )
}

/// The address of a link, in ASCII without blanks.
pub(crate) fn address(link: u32) -> Option<Arc<str>> {
    let index = usize::try_from(link.checked_sub(1)?).ok()?;
    let table = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    table.as_ref()?.addresses.get(index).cloned()
}

fn number(address: String) -> Option<u32> {
    let mut table = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    let table = table.get_or_insert_default();
    if let Some(number) = table.numbers.get(address.as_str()) {
        return Some(*number);
    }
    if table.addresses.len() >= MAX_ADDRESSES {
        return None;
    }
    let address: Arc<str> = address.into();
    table.addresses.push(Arc::clone(&address));
    let number = u32::try_from(table.addresses.len()).ok()?;
    table.numbers.insert(address, number);
    Some(number)
}

/// The address in ASCII, if it is one of the web or of mail.
fn encoded(address: &str) -> Option<String> {
    let (scheme, rest) = address.split_once(':')?;
    let is_known = ["http", "https", "mailto"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known));
    if !is_known || rest.trim_matches('/').is_empty() {
        return None;
    }
    let mut out = String::with_capacity(address.len());
    for byte in address.bytes() {
        if byte.is_ascii_graphic() {
            out.push(char::from(byte));
        } else {
            // Writing to a text does not fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    (out.len() <= MAX_ADDRESS).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ratatui::style::Modifier;

    fn link_of(address: &str) -> Option<String> {
        let link = mark(linked(Style::new(), address)).link;
        super::address(link).map(|address| address.to_string())
    }

    #[test]
    fn only_addresses_of_the_web_and_of_mail_are_links() {
        for (address, expected) in [
            ("https://a.example/x", Some("https://a.example/x")),
            ("HTTP://a.example", Some("HTTP://a.example")),
            ("mailto:me@a.example", Some("mailto:me@a.example")),
            (
                "https://ü.example/a b",
                Some("https://%C3%BC.example/a%20b"),
            ),
            (
                "https://a.example/\x1b]0;x\x07",
                Some("https://a.example/%1B]0;x%07"),
            ),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("https://", None),
            ("#part", None),
            ("", None),
        ] {
            assert_eq!(link_of(address).as_deref(), expected, "{address:?}");
        }
        assert_eq!(
            link_of(&format!("https://a.example/{}", "x".repeat(2_000))),
            None
        );
    }

    #[test]
    fn both_marks_fit_into_a_style_that_has_a_look() {
        let look = Style::new()
            .fg(Color::Red)
            .add_modifier(Modifier::UNDERLINED);
        let style = continued(linked(look, "https://both.example"), true);
        let both = mark(style);
        assert!(both.continues && both.link > 0);
        assert_eq!((style.fg, style.add_modifier), (look.fg, look.add_modifier));
        assert_eq!(mark(continued(style, false)).link, both.link);
        assert_eq!(continued(look, false), look);
        assert_eq!(
            mark(linked(look, "https://both.example")).link,
            both.link,
            "one number an address"
        );
    }

    proptest! {
        #[test]
        fn marks_survive_their_colour(link in 0u32..CONTINUES, continues: bool) {
            let mark = CellMark { link, continues };
            prop_assert_eq!(CellMark::of(mark.color()), mark);
        }

        #[test]
        fn no_address_ends_its_own_sequence(address in "(https://)?\\PC{0,20}[\\x00-\\x1f]?\\PC{0,20}") {
            if let Some(written) = link_of(&address) {
                prop_assert!(written.bytes().all(|byte| byte.is_ascii_graphic()), "{written:?}");
            }
        }
    }
}
