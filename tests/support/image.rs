//! Pictures for tests, made when they are needed.

use std::io::Write as _;

use flate2::{Compression, Crc, write::ZlibEncoder};

/// A PNG of this size, grey all over.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        let length = u32::try_from(data.len()).expect("a short chunk");
        bytes.extend(length.to_be_bytes());
        bytes.extend(kind);
        bytes.extend(data);
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(data);
        bytes.extend(sum.sum().to_be_bytes());
    };
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits of grey.
    header.extend([8, 0, 0, 0, 0]);
    chunk(b"IHDR", &header);
    let mut pixels = ZlibEncoder::new(Vec::new(), Compression::fast());
    let row = vec![0x80; width as usize + 1];
    for _ in 0..height {
        // No filter, then the pixels.
        pixels.write_all(&[0]).expect("in memory");
        pixels.write_all(&row[1..]).expect("in memory");
    }
    chunk(b"IDAT", &pixels.finish().expect("in memory"));
    chunk(b"IEND", &[]);
    bytes
}
