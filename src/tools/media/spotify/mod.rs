//! Module `spotify`: signing in, searching, and filling playlists (<https://developer.spotify.com/documentation/web-api>).

mod account;
mod add;
mod api;
mod consent;
mod create;
mod link;
mod rank;
mod search;
mod sign_in;

use crate::base::params::choice;
use crate::base::problem::Outcome;
use crate::net::services::{SPOTIFY_ACCOUNTS, SPOTIFY_API, Service};
use crate::store::spotify_account::TokenStore;
use crate::tools::engine::context::ToolContext;
use crate::tools::engine::tool::tools;
use crate::tools::{OUTSIDE, READ};
use add::add;
use create::create;
use search::search;
use sign_in::sign_in;

/// Services of tools that use the catalogue or the account.
const BOTH: &[&Service] = &[&SPOTIFY_API, &SPOTIFY_ACCOUNTS];
/// Services for signing in.
const ACCOUNTS: &[&Service] = &[&SPOTIFY_ACCOUNTS];

choice! {
    /// Kind of catalogue object.
    pub(crate) enum CatalogType { Track = "track", Artist = "artist", Album = "album", Playlist = "playlist" }
}

tools! { "spotify";
    /// Connect a Spotify account.
    spotify_auth(SpotifyAuth; OUTSIDE.slow().seconds(130).service("spotify").asks(ACCOUNTS).additive()) {
        /// code or pasted redirect URL; empty starts the flow
        auth_code: String = "", alias: &["code", "url"];
    } => sign_in, says ["connect spotify", "sign in to spotify"];

    /// Search the catalogue.
    spotify_search(SpotifySearch; READ.seconds(10).service("spotify").asks(BOTH)) {
        /// text
        query: String, example: "Nina Simone Feeling Good";
        /// kind
        search_type: CatalogType = "track", alias: &["type"];
        /// how many
        max_results: u32 = 10, min: 1, max: 20, alias: &["limit"];
    } => search, says ["search spotify for {query}", "find {query} on spotify"];

    /// Create a playlist.
    spotify_create_playlist(SpotifyCreatePlaylist; OUTSIDE.seconds(10).service("spotify").asks(BOTH).additive()) {
        /// name
        name: String, example: "Road trip";
        /// text
        description: String = "";
        /// visibility
        public: bool = false;
    } => create, says ["create the spotify playlist {name}", "make a spotify playlist called {name}"];

    /// Search tracks and add the best matches.
    spotify_add_tracks(SpotifyAddTracks; OUTSIDE.seconds(60).service("spotify").asks(BOTH).additive()) {
        /// playlist id or URL
        playlist_id: String, example: "37i9dQZF1DX0XUsuxWHRQd", alias: &["playlist"];
        /// one query per track
        track_queries: Vec<String>, example: "[\"Nina Simone Feeling Good\"]", alias: &["tracks", "queries"];
    } => add, says ["add {track_queries} to the spotify playlist {playlist_id}"];
}

/// The tokens of the active profile.
fn token_store(ctx: &ToolContext) -> Outcome<TokenStore> {
    let session = &ctx.session;
    TokenStore::of(&session.paths, &session.profile(), &session.clock)
}
