//! What a terminal answers when it is asked for its background colour (OSC 11 of xterm's ctlseqs): `11;rgb:hhhh/hhhh/hhhh`, with one to four digits each.

/// A colour: red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

/// The background colour in the text of an operating system command.
pub(super) fn background(text: &[u8]) -> Option<Rgb> {
    let text = std::str::from_utf8(text).ok()?.strip_prefix("11;")?;
    if let Some(digits) = text.strip_prefix('#') {
        let each = digits.len() / 3;
        let part = |at: usize| component(digits.get(at * each..(at + 1) * each)?);
        return Some(Rgb(part(0)?, part(1)?, part(2)?)).filter(|_| digits.len() == each * 3);
    }
    let numbers = text
        .strip_prefix("rgb:")
        .or_else(|| text.strip_prefix("rgba:"))?;
    let mut parts = numbers.split('/').map(component);
    Some(Rgb(parts.next()??, parts.next()??, parts.next()??))
}

/// One to four hexadecimal digits as a part of 255.
fn component(digits: &str) -> Option<u8> {
    if !(1..=4).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let value = u32::from_str_radix(digits, 16).ok()?;
    let most = (1 << (4 * digits.len())) - 1;
    u8::try_from(value * 255 / most).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_form_of_the_answer_is_read() {
        for (text, colour) in [
            ("11;rgb:0000/0000/0000", Some(Rgb(0, 0, 0))),
            ("11;rgb:ffff/ffff/ffff", Some(Rgb(255, 255, 255))),
            ("11;rgb:fdfd/f6f6/e3e3", Some(Rgb(253, 246, 227))),
            ("11;rgb:1e/1e/2e", Some(Rgb(30, 30, 46))),
            ("11;rgb:f/0/8", Some(Rgb(255, 0, 136))),
            ("11;rgba:ffff/ffff/ffff/8080", Some(Rgb(255, 255, 255))),
            ("11;#1e1e2e", Some(Rgb(30, 30, 46))),
            ("11;#fff", Some(Rgb(255, 255, 255))),
            ("11;#ffff", None),
            ("11;rgb:ffff/ffff", None),
            ("11;rgb:fffff/0/0", None),
            ("11;rgb:+f/0/0", None),
            ("11;?", None),
            ("10;rgb:0/0/0", None),
            ("11;", None),
        ] {
            assert_eq!(background(text.as_bytes()), colour, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = background(&bytes);
        }

        #[test]
        fn two_digits_are_the_colour_itself(r: u8, g: u8, b: u8) {
            let text = format!("11;rgb:{r:02x}/{g:02x}/{b:02x}");
            prop_assert_eq!(background(text.as_bytes()), Some(Rgb(r, g, b)));
        }
    }
}
