//! Signing in to Spotify: with a browser, without one, refused, interrupted.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::json;

use crate::spotify::{FILE, ODD, Setting, granted};
use crate::support::run::Running;
use crate::support::server::{Answer, Server};
use crate::support::words::{TextAssertions, sound};

/// The address of the sign-in that a run shows, as soon as it does.
fn shown(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains("/authorize?"))?;
    Some(line[line.find("http")?..].split(' ').next()?.to_owned())
}

pub(crate) fn param(url: &str, name: &str) -> String {
    let pair = url
        .split(['?', '&'])
        .find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    marvin::testing::address::decoded(pair.unwrap_or_else(|| panic!("no {name} in {url}")))
}

pub(crate) fn waiting(run: &Running) -> String {
    run.wait_stderr("code_challenge=", Duration::from_secs(10));
    run.wait_stderr("\n", Duration::from_secs(10));
    shown(&run.stderr()).unwrap()
}

pub(crate) fn browse(redirect: &str, query: &str) -> String {
    let address = redirect
        .trim_start_matches("http://")
        .trim_end_matches("/callback");
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET /callback?{query} HTTP/1.1\r\nHost: {address}\r\n\r\n"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_user_signs_in_with_the_browser() {
    let own = Setting::new();
    let bin = own.home.path().join("bin");
    own.home.program(
        "bin/xdg-open",
        "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/opened\"\n",
    );
    let server = Server::always(granted());
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = own
        .tool(&server, "spotify_auth", &json!({}))
        .env("PATH", path)
        .spawn();
    let url = waiting(&run);
    let (redirect, state) = (param(&url, "redirect_uri"), param(&url, "state"));
    assert_eq!(param(&url, "client_id"), "client-id-1");
    assert_eq!(param(&url, "code_challenge_method"), "S256");
    assert_eq!(
        param(&url, "scope"),
        "playlist-modify-private playlist-modify-public"
    );
    assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
    assert!(browse(&redirect, "code=C0DE&state=other").starts_with("HTTP/1.1 400 "));
    assert_eq!(server.requests().len(), 0);
    browse(&redirect, &format!("code=C0DE&state={state}"))
        .assert_has(&["HTTP/1.1 200", "Spotify is connected"]);
    let output = run.wait().expect(0);
    sound(output.text(), ODD);
    output.stdout_has(&["Spotify is connected."]);
    assert_eq!(own.home.read("opened"), url);
    let form = server.request(0).text();
    form.assert_has(&[
        "grant_type=authorization_code",
        "code=C0DE",
        "client_id=client-id-1",
        "code_verifier=",
    ]);
    let verifier = form
        .split("code_verifier=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    assert!((43..=128).contains(&verifier.len()));
    let tokens = own.tokens();
    assert_eq!(tokens["spotify"]["refresh_token"], "new-refresh");
    assert!(
        !own.home
            .config()
            .join("profiles/main/spotify-sign-in.json")
            .exists()
    );
    own.text(&server, "spotify_auth", &json!({}))
        .assert_has(&["connected already", "UTC"]);
}

#[test]
fn a_refusal_ends_the_wait() {
    let own = Setting::new();
    let server = Server::always(granted());
    let run = own.tool(&server, "spotify_auth", &json!({})).spawn();
    let url = waiting(&run);
    let redirect = param(&url, "redirect_uri");
    browse(
        &redirect,
        &format!("error=access_denied&state={}", param(&url, "state")),
    );
    run.wait().expect(1).stderr_has(&["access denied"]);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_port_in_use_is_reported_and_the_address_can_be_pasted() {
    let own = Setting::new();
    let server = Server::answering(|request, _| {
        if request.text().contains("code=GOOD") {
            granted()
        } else {
            Answer::status(400).and_json(&json!({"error": "invalid_grant"}))
        }
    });
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let begin = || {
        own.tool(&server, "spotify_auth", &json!({}))
            .env("MARVIN_SPOTIFY_PORT", &port)
            .run()
            .expect(0)
            .text()
            .to_owned()
    };
    let paste = |code: &str| {
        own.tool(&server, "spotify_auth", &json!({"auth_code": code}))
            .run()
    };
    paste("GOOD")
        .expect(1)
        .stderr_has(&["No sign-in to Spotify was started"]);
    let text = begin();
    text.assert_has(&[
        &format!("Port {port} of this machine cannot be used"),
        "as auth_code",
    ]);
    let url = shown(&text).unwrap();
    assert_eq!(
        shown(&begin()).unwrap(),
        url,
        "an address that was given stays good"
    );
    let (redirect, state) = (param(&url, "redirect_uri"), param(&url, "state"));
    paste(&format!("{redirect}?code=GOOD&state=wrong"))
        .expect(1)
        .stderr_has(&["wrong state"]);
    paste(&format!("{redirect}?code=GOOD"))
        .expect(1)
        .stderr_has(&["wrong state"]);
    assert_eq!(server.requests().len(), 0);
    paste(&format!("{redirect}?code=GOOD&state={state}"))
        .expect(0)
        .stdout_has(&["Spotify is connected."]);
    paste("GOOD")
        .expect(1)
        .stderr_has(&["No sign-in to Spotify was started"]);
    // A code alone will do, once.
    fs::remove_file(own.home.config().join(FILE)).unwrap();
    begin();
    paste("BAD")
        .expect(1)
        .stderr_has(&["does not take this code"]);
    begin();
    paste("GOOD")
        .expect(0)
        .stdout_has(&["Spotify is connected."]);
    assert_eq!(own.tokens()["spotify"]["access_token"], "new-access");
}
