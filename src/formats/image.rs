//! The header of a picture: what kind it is, and its width and height. Nothing is decoded.
//!
//! PNG: <https://www.w3.org/TR/png-3/#11IHDR>; JPEG: ITU-T T.81 annex B; GIF: <https://www.w3.org/Graphics/GIF/spec-gif89a.txt>;
//! WebP: <https://developers.google.com/speed/webp/docs/riff_container>.

use serde::{Deserialize, Serialize};

/// A kind of picture that language models take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageKind {
    /// Portable Network Graphics.
    #[serde(rename = "image/png")]
    Png,
    /// JPEG.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// GIF, animated or not.
    #[serde(rename = "image/gif")]
    Gif,
    /// WebP.
    #[serde(rename = "image/webp")]
    Webp,
}

impl ImageKind {
    /// Its media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    /// Its name, as users know it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Png => "PNG",
            Self::Jpeg => "JPEG",
            Self::Gif => "GIF",
            Self::Webp => "WebP",
        }
    }

    /// The kind that files with this ending are of.
    pub fn of_ending(ending: &str) -> Option<Self> {
        Some(match ending.to_ascii_lowercase().as_str() {
            "png" => Self::Png,
            "jpg" | "jpeg" => Self::Jpeg,
            "gif" => Self::Gif,
            "webp" => Self::Webp,
            _ => return None,
        })
    }

    /// The kind that begins like `bytes`; a few bytes are enough.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(PNG) {
            Some(Self::Png)
        } else if bytes.starts_with(&[0xff, 0xd8, 0xff]) {
            Some(Self::Jpeg)
        } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// What the header of a picture says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageHeader {
    /// The kind, by content.
    pub kind: ImageKind,
    /// Width in pixels, at least one.
    pub width: u32,
    /// Height in pixels, at least one.
    pub height: u32,
}

/// Why bytes are no picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageError {
    /// They begin like none of the known kinds.
    UnknownKind,
    /// They begin like this kind, but the header is cut or wrong.
    Broken(ImageKind),
}

impl ImageHeader {
    /// Reads the header at the beginning of `bytes`. Only a JPEG's may be far from the beginning, behind what a camera has written.
    pub fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        let kind = ImageKind::of(bytes).ok_or(ImageError::UnknownKind)?;
        let size = match kind {
            ImageKind::Png => png(bytes),
            ImageKind::Jpeg => jpeg(bytes),
            ImageKind::Gif => gif(bytes),
            ImageKind::Webp => webp(bytes),
        };
        match size {
            Some((width, height)) if width > 0 && height > 0 => Ok(Self {
                kind,
                width,
                height,
            }),
            _ => Err(ImageError::Broken(kind)),
        }
    }
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.get(8..24)?;
    (header.get(..8)? == b"\0\0\0\x0dIHDR")
        .then(|| Some((be_u32(header, 8)?, be_u32(header, 12)?)))?
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    Some((le_u16(bytes, 6)?, le_u16(bytes, 8)?))
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        // Lossy: after three bytes of frame tag and three of start code, 14 bits each.
        b"VP8 " if bytes.get(23..26)? == b"\x9d\x01\x2a" => {
            Some((le_u16(bytes, 26)? & 0x3fff, le_u16(bytes, 28)? & 0x3fff))
        }
        // Lossless: after the signature 14 bits each, less one.
        b"VP8L" if bytes.get(20)? == &0x2f => {
            let low = le_u16(bytes, 21)?;
            let high = le_u16(bytes, 23)?;
            let bits = low | high << 16;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        // Extended: the canvas, 24 bits each, less one.
        b"VP8X" => Some((le_u24(bytes, 24)? + 1, le_u24(bytes, 27)? + 1)),
        _ => None,
    }
}

/// Goes from segment to segment up to the frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        match marker {
            // Fill bytes may stand before a marker.
            0xff => at += 1,
            // Markers without a segment.
            0x01 | 0xd0..=0xd7 => at += 2,
            // Frame headers; the three left out define tables and extensions.
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((be_u16(bytes, at + 7)?, be_u16(bytes, at + 5)?));
            }
            // The picture itself, its end, or another beginning.
            0x00 | 0xd8..=0xda => return None,
            _ => {
                let length = be_u16(bytes, at + 2)? as usize;
                at += 2 + length.max(2);
            }
        }
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn be_u16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_be_bytes(array(bytes, at)?).into())
}

fn le_u16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(array(bytes, at)?).into())
}

fn le_u24(bytes: &[u8], at: usize) -> Option<u32> {
    let [low, middle, high] = array(bytes, at)?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(array(bytes, at)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = [PNG, b"\0\0\0\x0dIHDR"].concat();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    fn gif_of(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(width.to_le_bytes());
        bytes.extend(height.to_le_bytes());
        bytes
    }

    /// With a segment of so many bytes of a camera before the frame header of this marker.
    fn jpeg_of(width: u16, height: u16, camera: u16, marker: u8) -> Vec<u8> {
        let mut bytes = vec![0xff, 0xd8, 0xff, 0xe1];
        bytes.extend((camera + 2).to_be_bytes());
        // It may contain anything, also what looks like a header.
        bytes.extend([0xff, 0xc0].iter().cycle().take(camera.into()));
        bytes.extend([0xff, 0xff, 0xff, marker, 0, 17, 8]);
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes
    }

    fn webp_of(chunk: &[u8; 4], data: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", chunk.as_slice(), b"\0\0\0\0", data].concat()
    }

    fn size(bytes: &[u8]) -> Option<(ImageKind, u32, u32)> {
        let header = ImageHeader::read(bytes).ok()?;
        Some((header.kind, header.width, header.height))
    }

    #[test]
    fn every_kind_says_its_size() {
        assert_eq!(size(&png_of(1280, 800)), Some((ImageKind::Png, 1280, 800)));
        assert_eq!(size(&gif_of(320, 7)), Some((ImageKind::Gif, 320, 7)));
        for marker in [0xc0, 0xc1, 0xc2, 0xcf] {
            let jpeg = jpeg_of(4000, 3000, 40_000, marker);
            assert_eq!(size(&jpeg), Some((ImageKind::Jpeg, 4000, 3000)));
        }
        let lossy = [0, 0, 0, 0x9d, 0x01, 0x2a, 0x20, 0x43, 0x58, 0x02];
        let lossy = webp_of(b"VP8 ", &lossy);
        assert_eq!(size(&lossy), Some((ImageKind::Webp, 0x320, 0x258)));
        let bits: u32 = (800 - 1) | (600 - 1) << 14;
        let lossless = [&[0x2f], bits.to_le_bytes().as_slice()].concat();
        let lossless = webp_of(b"VP8L", &lossless);
        assert_eq!(size(&lossless), Some((ImageKind::Webp, 800, 600)));
        let canvas = [0x10, 0, 0, 0, 0x1f, 0x03, 0, 0x57, 0x02, 0];
        let extended = webp_of(b"VP8X", &canvas);
        assert_eq!(size(&extended), Some((ImageKind::Webp, 800, 600)));
    }

    #[test]
    fn what_is_no_picture_is_told_from_a_broken_one() {
        for other in [
            &b""[..],
            b"text",
            b"\x89PN",
            b"RIFF\0\0\0\0WAVEfmt ",
            b"%PDF-1.7",
            b"<svg",
        ] {
            assert_eq!(ImageHeader::read(other), Err(ImageError::UnknownKind));
        }
        let broken = |bytes: &[u8], kind| {
            assert_eq!(ImageHeader::read(bytes), Err(ImageError::Broken(kind)));
        };
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 1].to_vec();
        broken(&cut(png_of(1, 1)), ImageKind::Png);
        broken(&cut(jpeg_of(1, 1, 9, 0xc0)), ImageKind::Jpeg);
        broken(&gif_of(0, 5), ImageKind::Gif);
        // The picture's data may contain what looks like a header.
        let data = [&[0xff, 0xd8, 0xff, 0xda][..], &jpeg_of(9, 9, 0, 0xc0)].concat();
        broken(&data, ImageKind::Jpeg);
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(head in 0usize..5, tail in proptest::collection::vec(any::<u8>(), 0..200)) {
            let heads: [&[u8]; 5] = [b"", PNG, b"\xff\xd8\xff", b"GIF89a", b"RIFF\0\0\0\0WEBPVP8X"];
            let bytes = [heads[head], &tail].concat();
            if let Ok(header) = ImageHeader::read(&bytes) {
                prop_assert!(header.width > 0 && header.height > 0);
                prop_assert_eq!(Some(header.kind), ImageKind::of(&bytes));
                // More bytes change nothing.
                let longer = [&bytes[..], b"more"].concat();
                prop_assert_eq!(ImageHeader::read(&longer), Ok(header));
            }
        }

        #[test]
        fn a_size_is_read_as_it_was_written(width in 1u16.., height in 1u16.., camera in 0u16..3000) {
            let expected = (u32::from(width), u32::from(height));
            for bytes in [png_of(expected.0, expected.1), gif_of(width, height), jpeg_of(width, height, camera, 0xc2)] {
                let header = ImageHeader::read(&bytes).unwrap();
                prop_assert_eq!((header.width, header.height), expected);
                // A beginning is never taken for another picture.
                for cut in 0..bytes.len() {
                    prop_assert!(ImageHeader::read(&bytes[..cut]).is_err());
                }
            }
        }
    }
}
