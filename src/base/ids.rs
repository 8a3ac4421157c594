//! Random ids and jitter from the operating system.

use std::fmt::Write as _;

/// `count` random bytes as lower-case hexadecimal.
pub(crate) fn hex(count: usize) -> String {
    let mut bytes = vec![0u8; count];
    if getrandom::fill(&mut bytes).is_err() {
        // Without a random source ids only have to differ within this process and moment.
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let seed = now ^ u128::from(std::process::id());
        for (byte, from) in bytes.iter_mut().zip(seed.to_le_bytes().into_iter().cycle()) {
            *byte = from;
        }
    }
    bytes
        .iter()
        .fold(String::with_capacity(count * 2), |mut out, byte| {
            let _ = write!(out, "{byte:02x}");
            out
        })
}

/// A random UUID (RFC 9562, version 4), such as `3f2a91c4-5d17-4c0e-9a43-1b0c6d8e2f70`.
pub(crate) fn uuid() -> String {
    let digits = hex(16);
    let mut out = String::with_capacity(36);
    for (at, digit) in digits.chars().enumerate() {
        if matches!(at, 8 | 12 | 16 | 20) {
            out.push('-');
        }
        out.push(match at {
            12 => '4',
            // The variant: the two highest bits are 10.
            16 => match digit.to_digit(16).unwrap_or_default() & 3 {
                0 => '8',
                1 => '9',
                2 => 'a',
                _ => 'b',
            },
            _ => digit,
        });
    }
    out
}

/// Whether a text has the form of a UUID, of any version.
pub(crate) fn is_uuid(text: &str) -> bool {
    let fits = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

/// An id for a tool call whose provider sent none: some OpenAI-compatible servers leave it out or send `""`, and the result must refer to one.
pub(crate) fn call() -> String {
    format!("call_{}", hex(12))
}

/// A hash that stays the same over versions of the program, unlike the standard library's: FNV-1a
/// (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>). Not for secrets.
pub(crate) fn stable_hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn ids_differ() {
        assert_ne!(super::call(), super::call());
        assert_eq!(super::hex(4).len(), 8);
    }
}
