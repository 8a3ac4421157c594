//! Headers of pictures from any program: a size is never zero, more bytes change nothing, and a beginning is never taken for another picture.
#![no_main]

use libfuzzer_sys::fuzz_target;
use marvin::testing::image::{ImageHeader, ImageKind};

fuzz_target!(|bytes: &[u8]| {
    let Ok(header) = ImageHeader::read(bytes) else {
        return;
    };
    assert!(header.width > 0 && header.height > 0);
    assert_eq!(ImageKind::of(bytes), Some(header.kind));
    for cut in (0..bytes.len()).take(256) {
        if let Ok(part) = ImageHeader::read(&bytes[..cut]) {
            assert_eq!(part, header, "{cut}");
        }
    }
});
