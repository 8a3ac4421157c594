//! A picture of a message.
//!
//! Its bytes are held in memory, once for all copies of the message, and for the life of the session. What is saved of a conversation has only its name
//! and size: a picture in base64 would be larger than everything that was said.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::text::file_size;
use crate::formats::image::ImageKind;

/// A picture of a message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The name by which the user attached it.
    pub name: String,
    /// The kind, by content.
    pub kind: ImageKind,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// Size in bytes.
    pub bytes: u64,
    /// About how many tokens it takes, for the model that it was attached for.
    pub tokens: u64,
    /// Its bytes; `None` when it is of a saved conversation, or no longer sent.
    #[serde(skip)]
    pub data: Option<Arc<[u8]>>,
}

impl Image {
    /// What stands in its place where there is only text.
    pub fn marker(&self) -> String {
        format!(
            "[image {}, {}x{}, {}]",
            self.name,
            self.width,
            self.height,
            file_size(self.bytes)
        )
    }
}

/// Those of `images` that can be sent, with their bytes.
pub(super) fn with_bytes(images: &[Image]) -> impl Iterator<Item = (&Image, &[u8])> {
    let images = images.iter();
    images.filter_map(|image| Some((image, image.data.as_deref()?)))
}

/// About how many tokens `images` take.
pub(super) fn tokens(images: &[Image]) -> u64 {
    images.iter().map(|image| image.tokens).sum()
}

/// Bytes of text that take as many tokens as `images`.
pub(super) fn text_bytes(images: &[Image]) -> usize {
    usize::try_from(tokens(images).saturating_mul(4)).unwrap_or(usize::MAX / 4)
}

/// Without the bytes, which nobody wants to read.
impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.marker())
    }
}

/// `text` without the markers of images at its end.
pub(crate) fn without_markers(text: &str) -> &str {
    let mut text = text;
    while let Some((before, last)) = text.rsplit_once('\n')
        && last.starts_with("[image ")
        && last.ends_with(']')
    {
        text = before;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_neither_saved_nor_printed() {
        let image = Image {
            name: "a.png".into(),
            kind: ImageKind::Png,
            width: 640,
            height: 480,
            bytes: 12_000,
            tokens: 400,
            data: Some([7; 12_000].into()),
        };
        let saved = serde_json::to_string(&image).unwrap();
        assert_eq!(
            saved,
            r#"{"name":"a.png","kind":"image/png","width":640,"height":480,"bytes":12000,"tokens":400}"#
        );
        let read: Image = serde_json::from_str(&saved).unwrap();
        assert_eq!(
            read,
            Image {
                data: None,
                ..image.clone()
            }
        );
        assert_eq!(format!("{image:?}"), "[image a.png, 640x480, 12 KB]");
    }

    #[test]
    fn markers_are_taken_off_again() {
        assert_eq!(
            without_markers("a\n[image x, 1x1, 1 KB]\n[image y, 2x2, 3 KB]"),
            "a"
        );
        assert_eq!(without_markers("a\n[image"), "a\n[image");
        assert_eq!(without_markers("[image x]"), "[image x]");
    }
}
