//! Spotify through the built binary: signing in with a test browser, token refreshes, and refusals.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Marvin;
use crate::support::samples;
use crate::support::server::{Answer, Request, Server};
use crate::support::words::{TextAssertions, error_text, success_text};

const ACCESS: &str = "old-access-token-0123456789";
const REFRESH: &str = "the-refresh-token-0123456789";
pub(crate) const FILE: &str = "profiles/main/tokens.json";

pub(crate) struct Setting {
    pub(crate) home: Home,
}

impl Setting {
    pub(crate) fn new() -> Self {
        Self { home: Home::new() }
    }

    pub(crate) fn signed_in(expires_in: i64) -> Self {
        let own = Self::new();
        let at = jiff::Timestamp::now().as_second() + expires_in;
        let tokens = json!({"spotify": {"access_token": ACCESS, "refresh_token": REFRESH, "expires_at": at,
            "scope": "playlist-modify-private playlist-modify-public", "pkce": true}, "google": {"k": 1}});
        crate::support::home::write(&own.home.config().join(FILE), tokens.to_string());
        own
    }

    pub(crate) fn tool(&self, server: &Server, name: &str, args: &Value) -> Marvin {
        samples::tool(
            &self.home,
            &["spotify-accounts", "spotify-api"],
            &server.url(""),
            name,
            args,
        )
        .env("SPOTIFY_CLIENT_ID", "client-id-1")
        .env("MARVIN_SPOTIFY_PORT", "0")
        .limit(Duration::from_secs(20))
    }

    pub(crate) fn text(&self, server: &Server, name: &str, args: &Value) -> String {
        success_text(self.tool(server, name, args).run(), ODD)
    }

    pub(crate) fn fails(&self, server: &Server, name: &str, args: &Value) -> String {
        error_text(self.tool(server, name, args).run(), ODD)
    }

    pub(crate) fn tokens(&self) -> Value {
        let path = self.home.config().join(FILE);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }
}

/// What no answer may contain in addition to the usual.
pub(crate) const ODD: &[&str] = &[ACCESS, REFRESH, "new-access", "new-refresh"];

pub(crate) fn granted() -> Answer {
    Answer::json(
        &json!({"access_token": "new-access", "token_type": "Bearer", "expires_in": 3600,
        "refresh_token": "new-refresh", "scope": "playlist-modify-private playlist-modify-public"}),
    )
}

fn item(title: &str, artist: &str, id: &str) -> Value {
    json!({"name": title, "artists": [{"name": artist}], "id": id, "uri": format!("spotify:track:{id}"), "duration_ms": 185_000})
}

#[test]
fn without_an_application_or_a_sign_in_the_steps_are_explained() {
    let server = Server::always(Answer::status(500)).lenient();
    let own = Setting::new();
    let args = json!({"query": "x"});
    own.fails(&server, "spotify_search", &args)
        .assert_has(&["not connected", "spotify_auth"]);
    own.tool(&server, "spotify_auth", &json!({}))
        .without("SPOTIFY_CLIENT_ID")
        .fails(&["SPOTIFY_CLIENT_ID", "redirect address"]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn an_expired_token_is_refreshed_and_omitted_fields_are_kept() {
    for (left, refused) in [(30, false), (3_000, true)] {
        let own = Setting::signed_in(left);
        let server = Server::answering(move |request, _| match request.path.as_str() {
            "/api/token" => {
                Answer::json(&json!({"access_token": "new-access", "expires_in": 3600}))
            }
            _ if request.header("authorization") == Some("Bearer new-access") => Answer::json(
                &json!({"tracks": {"items": [item("Song", "Ann", "abc")], "total": 1, "next": null}}),
            ),
            _ if refused => Answer::status(401).and_json(
                &json!({"error": {"status": 401, "message": "The access token expired"}}),
            ),
            _ => Answer::status(500),
        });
        let text = own.text(&server, "spotify_search", &json!({"query": "x"}));
        assert_eq!(
            text,
            "1 track at Spotify for \"x\":\n 1. Song by Ann, 3:05, spotify:track:abc\n"
        );
        let tokens = own.tokens();
        assert_eq!(
            (
                &tokens["spotify"]["access_token"],
                &tokens["spotify"]["refresh_token"]
            ),
            (&json!("new-access"), &json!(REFRESH))
        );
        assert_eq!(tokens["google"]["k"], 1);
        let renewals = server
            .requests()
            .iter()
            .filter(|request| request.path == "/api/token")
            .count();
        assert_eq!(renewals, 1);
    }
}

#[test]
fn twenty_hits_are_paged_and_nulls_are_skipped() {
    let own = Setting::signed_in(3_000);
    let server = Server::answering(|request, _| {
        let offset: usize = request.query("offset").unwrap_or("0").parse().unwrap();
        let limit: usize = request.query("limit").unwrap().parse().unwrap();
        assert!(limit <= 10);
        let items: Vec<Value> = (offset..offset + limit)
            .map(|n| {
                if n == 3 {
                    Value::Null
                } else {
                    item(&format!("T{n}"), "A", &format!("id{n}"))
                }
            })
            .collect();
        Answer::json(&json!({"tracks": {"items": items, "total": 900, "next": "more"}}))
    });
    own.text(
        &server,
        "spotify_search",
        &json!({"query": "x", "max_results": 20}),
    )
    .assert_has(&["20 of 900 tracks at Spotify", "\n20. T20 by A, "]);
    let limits: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.path.clone())
        .collect();
    assert_eq!(limits[0], "/v1/search?q=x&type=track&limit=10");
    assert_eq!(limits[2], "/v1/search?q=x&type=track&limit=1&offset=20");
    assert_eq!(limits.len(), 3);
}

fn adding(request: &Request) -> Answer {
    if request.path.starts_with("/v1/playlists/") {
        return Answer::json(&json!({"snapshot_id": "s"})).with_status(201);
    }
    let items = match request.query("q").unwrap() {
        "uptown%20funk%20bruno%20mars" => json!([
            item("Uptown Funk - Karaoke", "Sing", "bad"),
            item("Uptown Funk", "Bruno Mars", "good")
        ]),
        "isrc%3AGBAHS1400099" => json!([item("Thinking Out Loud", "Ed Sheeran", "byisrc")]),
        "adele%20hello" => json!([item("Skyfall", "Adele", "sky")]),
        _ => json!([]),
    };
    Answer::json(&json!({"tracks": {"items": items, "total": 2, "next": null}}))
}

#[test]
fn tracks_are_found_by_words_codes_and_links() {
    let own = Setting::signed_in(3_000);
    let server = Server::answering(|request, _| adding(request));
    let text = own.text(&server, "spotify_add_tracks", &json!({"playlist_id": "https://open.spotify.com/playlist/7d2D2S?si=x",
        "track_queries": ["uptown funk bruno mars", "GB-AHS-14-00099", "https://open.spotify.com/track/linked?si=1", "spotify:track:good",
            "adele hello", "zzz", "spotify:album:abc", " "]}));
    assert_eq!(
        text,
        "Added 3 of 7 tracks to the playlist 7d2D2S:\n\
         \x20 \"uptown funk bruno mars\": Uptown Funk by Bruno Mars, spotify:track:good\n\
         \x20 \"GB-AHS-14-00099\": Thinking Out Loud by Ed Sheeran, spotify:track:byisrc\n\
         \x20 spotify:track:linked\n\
         Failed (4):\n\
         \x20 \"spotify:track:good\": the same track as one before\n\
         \x20 \"adele hello\": nothing like it found; the first hit is Skyfall by Adele (spotify:track:sky)\n\
         \x20 \"zzz\": nothing found\n\
         \x20 \"spotify:album:abc\": a link of the kind album, not to a track\n"
    );
    let last = server.requests().pop().unwrap();
    assert_eq!(
        (last.method.as_str(), last.path.as_str()),
        ("POST", "/v1/playlists/7d2D2S/items")
    );
    assert_eq!(
        last.json(),
        json!({"uris": ["spotify:track:good", "spotify:track:byisrc", "spotify:track:linked"]})
    );
    own.fails(
        &server,
        "spotify_add_tracks",
        &json!({"playlist_id": "7d2D", "track_queries": ["zzz"]}),
    )
    .assert_has(&["No track was added", "\"zzz\": nothing found"]);
    own.fails(
        &server,
        "spotify_add_tracks",
        &json!({"playlist_id": "a b", "track_queries": ["x"]}),
    )
    .assert_has(&["is not a playlist"]);
}

#[test]
fn many_tracks_go_in_batches_and_partial_success_is_reported() {
    let own = Setting::signed_in(3_000);
    let server = Server::answering(|_, n| match n {
        0 => Answer::json(&json!({"snapshot_id": "s"})).with_status(201),
        _ => Answer::status(500),
    });
    let queries: Vec<String> = (0..150).map(|n| format!("spotify:track:t{n}")).collect();
    own.text(
        &server,
        "spotify_add_tracks",
        &json!({"playlist_id": "p", "track_queries": queries}),
    )
    .assert_has(&[
        "Added 100 of 150 tracks",
        "Failed (50):\n  \"spotify:track:t100\": Spotify failed (500)\n",
    ]);
    assert_eq!(
        server.request(0).json()["uris"].as_array().unwrap().len(),
        100
    );
}

#[test]
fn a_playlist_is_created_with_the_current_api() {
    let own = Setting::signed_in(3_000);
    let server = Server::always(
        Answer::json(&json!({"id": "abc", "name": "Trip", "public": false})).with_status(201),
    );
    let text = own.text(
        &server,
        "spotify_create_playlist",
        &json!({"name": " Trip "}),
    );
    assert_eq!(text, "Playlist \"Trip\" created, private.\nId: abc\n");
    let request = server.request(0);
    assert_eq!(
        (request.path.as_str(), request.json()),
        ("/v1/me/playlists", json!({"name": "Trip", "public": false}))
    );
    own.fails(&server, "spotify_create_playlist", &json!({"name": " "}))
        .assert_has(&["no name"]);
}

#[test]
fn refusals_are_reported_and_not_empty_results() {
    for (status, body, parts) in [
        (
            403,
            r#"{"error": {"status": 403, "message": "User not registered"}}"#,
            &["(403): User not registered.", "five at most"][..],
        ),
        (
            400,
            r#"{"error": {"status": 400, "message": "Invalid limit"}}"#,
            &["(400): Invalid limit."],
        ),
        (200, "{}", &["without a list of tracks"]),
        (200, r#"{"error": {"message": "odd"}}"#, &["refused: odd."]),
    ] {
        let own = Setting::signed_in(3_000);
        let server = Server::always(Answer::text("application/json", body).with_status(status));
        own.fails(&server, "spotify_search", &json!({"query": "x"}))
            .assert_has(parts);
    }
}

#[test]
fn a_general_refusal_is_not_repeated_for_each_search() {
    for (status, expected) in [(403, "not registered"), (429, "rate limit")] {
        let own = Setting::signed_in(3_000);
        let server = Server::always(
            Answer::json(&json!({"error": {"status": status, "message": expected}}))
                .with_status(status),
        );
        let args = json!({"playlist_id": "37i9dQZF1DX0XUsuxWHRQd", "track_queries": ["one", "two", "three"]});
        let text = own.fails(&server, "spotify_add_tracks", &args);
        text.assert_has(&[expected]);
        text.assert_lacks(&["Try other words"]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_change_is_never_sent_twice() {
    let own = Setting::signed_in(3_000);
    let server = Server::always(Answer::status(503).header("Retry-After", "0")).lenient();
    own.fails(
        &server,
        "spotify_create_playlist",
        &json!({"name": "Evening"}),
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_failed_page_of_hits_is_reported() {
    let own = Setting::signed_in(3_000);
    let server = Server::answering(|request, _| {
        if request.query("offset").is_some() {
            return Answer::status(500);
        }
        let items: Vec<Value> = (0..10)
            .map(|n| item(&format!("T{n}"), "A", &format!("id{n}")))
            .collect();
        Answer::json(&json!({"tracks": {"items": items, "total": 900, "next": "more"}}))
    });
    let args = json!({"query": "x", "max_results": 20});
    own.text(&server, "spotify_search", &args).assert_has(&[
        "10 of 900 tracks",
        "\nThe others could not be read: Spotify failed (500).",
    ]);
}
