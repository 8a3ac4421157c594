//! Module `music`: artists, releases and recordings from MusicBrainz (<https://musicbrainz.org/doc/MusicBrainz_API>).

mod ask;
mod lookup;
mod search;
mod words;

use serde_json::Value;

use crate::base::params::{Param, Type};
use crate::net::services::{MUSICBRAINZ, Service};
use crate::tools::READ;
use crate::tools::engine::tool::tools;
use lookup::lookup;
use search::search;

/// The services used.
const ASKS: &[&Service] = &[&MUSICBRAINZ];

/// Kind of record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entity {
    /// A person or group.
    Artist,
    /// An album, EP or single as it was sold.
    Release,
    /// One take of a song.
    Recording,
}

impl Param for Entity {
    const TYPE: Type = Type::Choice(&["artist", "release", "recording"]);

    /// Unknown values mean artist, as documented; common synonyms of the other kinds are accepted.
    fn read(value: &Value) -> Option<Self> {
        Some(match value.as_str()?.trim().to_lowercase().as_str() {
            "release" | "releases" | "album" | "albums" => Self::Release,
            "recording" | "recordings" | "song" | "songs" | "track" | "tracks" => Self::Recording,
            _ => Self::Artist,
        })
    }
}

impl Entity {
    /// Its name in addresses and sentences.
    fn word(self) -> &'static str {
        match self {
            Self::Artist => "artist",
            Self::Release => "release",
            Self::Recording => "recording",
        }
    }

    /// The key of its list in search results.
    fn list(self) -> &'static str {
        match self {
            Self::Artist => "artists",
            Self::Release => "releases",
            Self::Recording => "recordings",
        }
    }

    /// The `inc` parameter of its lookup.
    fn with(self) -> &'static str {
        match self {
            Self::Artist => "release-groups+genres+tags",
            Self::Release => "recordings+artist-credits+labels+genres",
            Self::Recording => "releases+artist-credits+genres",
        }
    }
}

tools! { "music";
    /// Search MusicBrainz.
    music_search(MusicSearch; READ.seconds(10).service("musicbrainz").asks(ASKS)) {
        /// artist, album or song
        query: String, example: "Nina Simone";
        /// kind of record; unknown values mean artist
        entity: Entity = "artist", alias: &["type"];
        /// how many
        max_results: u32 = 10, min: 1, max: 25, alias: &["limit"];
    } => search, says ["find the artist {query}", "find the album {query}{entity=release}", "find the song {query} {entity=recording}"];

    /// Details of one MusicBrainz record.
    music_lookup(MusicLookup; READ.seconds(10).service("musicbrainz").asks(ASKS)) {
        /// MusicBrainz UUID
        mbid: String, example: "b8a7c51f-362c-4dcb-a259-bc6e0095f0a6", alias: &["id"];
        /// kind of record; unknown values mean artist
        entity: Entity = "artist", alias: &["type"];
    } => lookup, says ["look up the artist {mbid}", "look up the release {mbid}{entity=release}"];
}
