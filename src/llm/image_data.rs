//! The bytes of images, as wires write them into JSON.

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

use crate::chat::image::Image;

/// The bytes of an image, written as base64 without a copy.
pub(crate) struct Base64<'a>(pub(crate) &'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// An image as a `data:` URL (RFC 2397).
pub(crate) struct DataUrl<'a>(pub(crate) (&'a Image, &'a [u8]));

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (image, bytes) = self.0;
        let base64 = Base64Display::new(bytes, &STANDARD);
        to.collect_str(&format_args!(
            "data:{};base64,{base64}",
            image.kind.media_type()
        ))
    }
}
