//! Bodies of the type multipart/form-data (RFC 7578, with the boundaries of RFC 2046 section 5.1).

/// A body under construction.
pub(crate) struct Multipart {
    boundary: String,
    body: Vec<u8>,
}

impl Multipart {
    /// An empty body. `boundary` must occur in none of the parts; see [`unused_boundary`].
    pub(crate) fn new(boundary: String) -> Self {
        Self {
            boundary,
            body: Vec::new(),
        }
    }

    #[must_use]
    pub(crate) fn field(mut self, name: &str, value: &str) -> Self {
        self.begin(name, "");
        self.body.extend_from_slice(value.as_bytes());
        self.body.extend_from_slice(b"\r\n");
        self
    }

    /// Adds a file, whose content comes in pieces.
    #[must_use]
    pub(crate) fn file(mut self, name: &str, filename: &str, kind: &str, pieces: &[&[u8]]) -> Self {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.body.reserve_exact(length + 1_000);
        let rest = format!(
            "; filename=\"{}\"\r\nContent-Type: {kind}",
            quoted(filename)
        );
        self.begin(name, &rest);
        for piece in pieces {
            self.body.extend_from_slice(piece);
        }
        self.body.extend_from_slice(b"\r\n");
        self
    }

    fn begin(&mut self, name: &str, rest: &str) {
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; name=\"{}\"{rest}\r\n\r\n",
            self.boundary,
            quoted(name)
        );
        self.body.extend_from_slice(head.as_bytes());
    }

    /// The content type and the body.
    pub(crate) fn finish(mut self) -> (String, Vec<u8>) {
        let end = format!("--{}--\r\n", self.boundary);
        self.body.extend_from_slice(end.as_bytes());
        let kind = format!("multipart/form-data; boundary={}", self.boundary);
        (kind, self.body)
    }
}

/// A boundary that occurs in none of `parts`, made of what `random` returns: letters and digits.
pub(crate) fn unused_boundary(parts: &[&[u8]], mut random: impl FnMut() -> String) -> String {
    let mut boundary = String::from("marvin-");
    loop {
        boundary.push_str(&random());
        // Each round makes it longer, so it ends whatever the parts hold.
        let occurs = |part: &&[u8]| memchr::memmem::find(part, boundary.as_bytes()).is_some();
        if !parts.iter().any(occurs) {
            return boundary;
        }
    }
}

/// What would end a quoted name is written as browsers write it (RFC 7578 section 4.2).
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parts_are_framed_as_the_specification_says() {
        let body = Multipart::new("b".to_owned())
            .field("model", "whisper")
            .file("file", "a\"b.wav", "audio/wav", &[b"\0\r\n", b"x"])
            .finish();
        assert_eq!(body.0, "multipart/form-data; boundary=b");
        assert_eq!(
            String::from_utf8(body.1).unwrap(),
            "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a%22b.wav\"\r\nContent-Type: audio/wav\r\n\r\n\0\r\nx\r\n--b--\r\n"
        );
    }

    #[test]
    fn a_boundary_that_occurs_is_not_used() {
        let mut ids = ["aa", "bb"].into_iter();
        let parts: [&[u8]; 2] = [b"...marvin-aa...", b"marvin-bb"];
        let boundary = unused_boundary(&parts, || ids.next().unwrap().to_owned());
        assert_eq!(boundary, "marvin-aabb");
    }

    proptest! {
        #[test]
        fn a_file_comes_through_unchanged(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut count = 0;
            let boundary = unused_boundary(&[&bytes], || { count += 1; count.to_string() });
            let (_, body) = Multipart::new(boundary.clone()).file("file", "a.wav", "audio/wav", &[&bytes]).finish();
            let start = memchr::memmem::find(&body, b"\r\n\r\n").unwrap() + 4;
            let end = format!("\r\n--{boundary}--\r\n");
            prop_assert_eq!(&body[start..body.len() - end.len()], &bytes[..]);
            prop_assert!(body.ends_with(end.as_bytes()));
        }
    }
}
