//! Decodes the bytes of a page or feed: by byte-order mark (which wins in browsers), HTTP header, the document's own declaration, else UTF-8
//! (<https://encoding.spec.whatwg.org/#decode>).

use encoding_rs::{Encoding, UTF_8};

/// Bytes in which a document declares its charset.
const DECLARATION_BYTES: usize = 1024;

/// The bytes as text; what cannot be decoded is replaced, never an error.
pub fn decoded(bytes: &[u8], content_type: &str) -> String {
    let encoding = Encoding::for_bom(bytes)
        .map(|(encoding, _)| encoding)
        .or_else(|| named(content_type))
        .or_else(|| declared(bytes))
        .unwrap_or(UTF_8);
    let (text, ..) = encoding.decode(bytes);
    text.into_owned()
}

pub(crate) fn named(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        Encoding::for_label(value.as_bytes())
            .filter(|_| name.trim().eq_ignore_ascii_case("charset"))
    })
}

/// The charset that an XML declaration or a `meta` element names in ASCII.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..DECLARATION_BYTES).unwrap_or(bytes);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let start = head.trim_start();
    let after = match start.strip_prefix("<?xml") {
        Some(xml) => xml.split("?>").next()?.split_once("encoding")?.1,
        None => {
            let meta = head
                .match_indices("charset")
                .map(|(at, mark)| at + mark.len());
            let inside = |at: &usize| {
                let before = head.get(..*at).unwrap_or_default();
                before.rfind('<').is_some_and(|open| {
                    before
                        .get(open..)
                        .is_some_and(|tag| tag.starts_with("<meta"))
                })
            };
            head.get(meta.clone().find(inside)?..)?
        }
    };
    let value = after.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end =
        value.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')))?;
    let found = Encoding::for_label(value.get(..end)?.as_bytes())?;
    // A declaration that is readable as ASCII is not in UTF-16, even if it says so.
    Some(if found.is_ascii_compatible() {
        found
    } else {
        UTF_8
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_charset_source_wins() {
        let latin = b"caf\xe9";
        assert_eq!(decoded(latin, "text/html; Charset=\"ISO-8859-1\""), "café");
        assert_eq!(decoded("café".as_bytes(), ""), "café");
        assert_eq!(decoded(latin, ""), "caf\u{fffd}");
        assert_eq!(
            decoded(b"\xef\xbb\xbfcaf\xc3\xa9", "text/html; charset=latin1"),
            "café"
        );
        assert_eq!(decoded(b"\xff\xfec\0a\0", ""), "ca");
        let xml = b"<?xml version='1.0' encoding='windows-1252'?><a>\x93\xe9</a>";
        assert!(decoded(xml, "application/xml").ends_with("\u{201c}é</a>"));
        for page in [
            &b"<html><meta charset=iso-8859-1><p>\xe9"[..],
            b"<META HTTP-EQUIV=Content-Type content=\"text/html; charset=ISO-8859-1\">\xe9",
            b"<p>charset=utf-7 <meta charset='latin1'/>\xe9",
        ] {
            assert!(decoded(page, "text/html").ends_with('é'), "{page:?}");
        }
        assert!(decoded("<meta charset=utf-16>é".as_bytes(), "").ends_with('é'));
        assert_eq!(
            decoded(b"\x83e\x83X\x83g", "text/html; charset=Shift_JIS"),
            "テスト"
        );
        assert_eq!(decoded(b"a", "text/html; charset=nonsense"), "a");
    }

    proptest! {
        #[test]
        fn any_bytes_decode_to_text(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in ".{0,60}") {
            let _ = decoded(&bytes, &kind);
        }
    }
}
