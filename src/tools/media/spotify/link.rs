//! Identifiers of Spotify objects: ids, URIs, links and ISRCs as people paste them.

/// An object at Spotify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpotifyLink {
    /// `track`, `playlist` and so on.
    pub(super) kind: String,
    pub(super) id: String,
}

/// Whether the text consists of the characters of ids.
pub(super) fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric())
}

impl SpotifyLink {
    /// Parses a URI or a link, with any query.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches(['<', '>', '"']);
        let plain = text.split(['?', '#']).next()?;
        let parts: Vec<&str> = if let Some(rest) = plain.strip_prefix("spotify:") {
            rest.split(':').collect()
        } else {
            let rest = plain
                .strip_prefix("https://")
                .or_else(|| plain.strip_prefix("http://"));
            let rest = rest.unwrap_or(plain);
            let (host, path) = rest.split_once('/')?;
            (host == "open.spotify.com" || host == "play.spotify.com").then_some(())?;
            path.split('/').filter(|part| !part.is_empty()).collect()
        };
        // The last two parts: links may begin with a language, and old playlist links with the owner.
        let [.., kind, id] = parts.as_slice() else {
            return None;
        };
        let known = [
            "track", "episode", "playlist", "album", "artist", "show", "user",
        ];
        (known.contains(kind) && is_id(id)).then(|| Self {
            kind: (*kind).to_owned(),
            id: (*id).to_owned(),
        })
    }

    pub(super) fn uri(&self) -> String {
        format!("spotify:{}:{}", self.kind, self.id)
    }
}

/// An ISRC in the catalogue's form: country, owner, year and number without hyphens.
pub(super) fn isrc(text: &str) -> Option<String> {
    let text = text.trim();
    let text = text
        .get(..5)
        .filter(|start| start.eq_ignore_ascii_case("isrc:"))
        .map_or(text, |_| text.get(5..).unwrap_or_default());
    let code: String = text
        .trim()
        .chars()
        .filter(|c| *c != '-')
        .collect::<String>()
        .to_uppercase();
    let form = code.len() == 12
        && code.bytes().enumerate().all(|(index, b)| match index {
            0 | 1 => b.is_ascii_uppercase(),
            2..=4 => b.is_ascii_uppercase() || b.is_ascii_digit(),
            _ => b.is_ascii_digit(),
        });
    form.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_are_read_in_every_form() {
        for (text, kind, id) in [
            (
                "spotify:track:32OlwWuMpZ6b0aN2RZOeMS",
                "track",
                "32OlwWuMpZ6b0aN2RZOeMS",
            ),
            (
                "https://open.spotify.com/track/32Olw?si=abc",
                "track",
                "32Olw",
            ),
            (
                "https://open.spotify.com/intl-de/playlist/7d2D",
                "playlist",
                "7d2D",
            ),
            ("open.spotify.com/album/1a2b#x", "album", "1a2b"),
            ("spotify:user:ann:playlist:7d2D", "playlist", "7d2D"),
        ] {
            let link = SpotifyLink::read(text).unwrap();
            assert_eq!((link.kind.as_str(), link.id.as_str()), (kind, id), "{text}");
        }
        for text in [
            "",
            "spotify:track",
            "https://evil.test/track/abc",
            "spotify:track:a/b",
            "track/abc",
            "spotify:track:",
        ] {
            assert_eq!(SpotifyLink::read(text), None, "{text}");
        }
    }

    #[test]
    fn isrcs_are_distinguished_from_words() {
        assert_eq!(isrc("GBAHS1400099").as_deref(), Some("GBAHS1400099"));
        assert_eq!(
            isrc(" isrc:gb-ahs-14-00099 ").as_deref(),
            Some("GBAHS1400099")
        );
        for text in [
            "Thinking Out",
            "GBAHS14000",
            "12AHS1400099",
            "isrc:",
            "ébcd",
        ] {
            assert_eq!(isrc(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in ".{0,60}") {
            if let Some(link) = SpotifyLink::read(&text) {
                prop_assert_eq!(SpotifyLink::read(&link.uri()), Some(link));
            }
            if let Some(code) = isrc(&text) {
                prop_assert_eq!(isrc(&code), Some(code));
            }
        }
    }
}
