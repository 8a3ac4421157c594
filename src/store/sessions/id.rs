//! Ids of sessions: random UUIDs (RFC 9562, version 4) in lower case.

use std::fmt;

use crate::base::ids;

/// Characters of an id that people are shown; the beginning of an id is enough to name a session.
const SHORT: usize = 8;

/// The id of a session, which is also the name of its file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// A new one.
    pub(crate) fn random() -> Self {
        Self(ids::uuid())
    }

    /// Reads a UUID, in either case.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        ids::is_uuid(text).then(|| Self(text.to_ascii_lowercase()))
    }

    /// The whole id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its beginning, as people are shown it.
    pub(crate) fn short(&self) -> &str {
        self.0.get(..SHORT).unwrap_or(&self.0)
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_uuids_are_ids() {
        let id = SessionId::random();
        assert_eq!(SessionId::parse(id.as_str()), Some(id.clone()));
        assert_eq!(id.as_str().as_bytes()[14], b'4');
        assert!(matches!(
            id.as_str().as_bytes()[19],
            b'8' | b'9' | b'a' | b'b'
        ));
        let upper = "3F2A91C4-0000-4000-8000-0123456789AB";
        assert_eq!(SessionId::parse(upper).unwrap().short(), "3f2a91c4");
        for text in [
            "",
            "3f2a91c4",
            "../../../../etc/passwd-0000-00000000",
            "3f2a91c4-0000-4000-8000-0123456789ag",
        ] {
            assert_eq!(SessionId::parse(text), None, "{text}");
        }
    }
}
