//! JSON pointers (RFC 6901).

/// The pointer to a member below `place`.
pub(super) fn below(place: &str, name: &str) -> String {
    let mut pointer = String::with_capacity(place.len() + name.len() + 1);
    pointer.push_str(place);
    pointer.push('/');
    for c in name.chars() {
        match c {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
    pointer
}

/// What a reference into the same document says, without percent encoding (RFC 3986 section 2.1).
pub(super) fn fragment(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    String::from_utf8(bytes).ok()
}
