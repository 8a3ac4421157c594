//! Music at MusicBrainz and recipes at TheMealDB through the built binary: made-up answers for documented cases.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples;
use crate::support::server::{Answer, Server};
use crate::support::words::{TextAssertions, error_text, success_text};

const ARTIST: &str = "11111111-2222-4333-8444-555555555555";

fn call(server: &Server, name: &str, args: &Value) -> Done {
    let home = Home::new();
    let services = ["musicbrainz", "themealdb"];
    samples::tool(&home, &services, &server.url(""), name, args).run()
}

/// What no answer may contain in addition to the usual.
const ODD: &[&str] = &[", ,", "  \n"];

fn text(server: &Server, name: &str, args: &Value) -> String {
    success_text(call(server, name, args), ODD)
}

fn fails(server: &Server, name: &str, args: &Value) -> String {
    error_text(call(server, name, args), ODD)
}

#[test]
fn musicbrainz_requests_are_valid() {
    let server = Server::always(Answer::json(
        &json!({"count": 0, "artists": [], "releases": [], "recordings": []}),
    ));
    text(
        &server,
        "music_search",
        &json!({"query": "AC/DC (live)", "entity": "recording", "max_results": 99}),
    );
    text(
        &server,
        "music_search",
        &json!({"query": "Björk", "entity": "band"}),
    );
    let request = server.request(0);
    assert_eq!(
        request.path,
        "/ws/2/recording/?query=AC%5C%2FDC%20%5C%28live%5C%29&limit=25&fmt=json"
    );
    let agent = request.header("user-agent").unwrap();
    assert!(
        agent.starts_with("Marvin/") && agent.contains("tests@example.org"),
        "{agent}"
    );
    assert_eq!(
        server.request(1).path,
        "/ws/2/artist/?query=Bj%C3%B6rk&limit=10&fmt=json"
    );
    let page = format!("https://musicbrainz.org/release/{ARTIST}");
    fails(
        &server,
        "music_lookup",
        &json!({"mbid": page, "entity": "release"}),
    );
    assert_eq!(
        server.request(2).path,
        format!("/ws/2/release/{ARTIST}?inc=recordings+artist-credits+labels+genres&fmt=json")
    );
}

#[test]
fn a_long_discography_is_browsed() {
    let group = |n: usize| json!({"id": n, "title": format!("Album {n}"), "primary-type": "Album", "first-release-date": format!("{}", 1950 + n)});
    let server = Server::answering(move |request, _| {
        if request.path.starts_with("/ws/2/artist/") {
            let groups: Vec<Value> = (0..25).map(group).collect();
            return Answer::json(
                &json!({"id": ARTIST, "name": "Old Band", "release-groups": groups}),
            );
        }
        let groups: Vec<Value> = (0..30).map(group).collect();
        Answer::json(&json!({"release-group-count": 30, "release-groups": groups}))
    });
    text(&server, "music_lookup", &json!({"mbid": ARTIST})).assert_has(&[
        "Albums (30):\n  1950        Album 0\n",
        "\n  and 10 later ones",
    ]);
    assert_eq!(
        server.request(1).path,
        format!("/ws/2/release-group?artist={ARTIST}&limit=100&offset=0&fmt=json")
    );
}

#[test]
fn a_musicbrainz_refusal_is_not_an_empty_result() {
    let xml = "<?xml version=\"1.0\"?><error><text>Rate limit, wait.</text></error>";
    for (status, body, parts) in [
        (
            403,
            "<html>blocked</html>",
            &["refused", "MARVIN_CONTACT"][..],
        ),
        (400, r#"{"error": "bad query"}"#, &["(400): bad query."]),
        (500, xml, &["failed (500): Rate limit, wait."]),
        (200, r#"{"error": "odd"}"#, &["refused: odd."]),
        (200, "{}", &["without a list of artists"]),
    ] {
        let server = Server::always(Answer::text("text/html", body).with_status(status));
        fails(&server, "music_search", &json!({"query": "x"})).assert_has(parts);
    }
    let server = Server::start();
    fails(&server, "music_search", &json!({"query": " \n "})).assert_has(&["empty"]);
}

#[test]
fn themealdb_requests_are_valid() {
    let server = Server::always(Answer::json(&json!({"meals": null})));
    text(
        &server,
        "recipe_search",
        &json!({"query": " chicken  breast ", "search_type": "ingredient"}),
    );
    text(&server, "recipe_search", &json!({"query": "crème brûlée"}));
    assert_eq!(
        server.request(0).path,
        "/api/json/v1/1/filter.php?i=chicken_breast"
    );
    assert_eq!(
        server.request(1).path,
        "/api/json/v1/1/search.php?s=cr%C3%A8me%20br%C3%BBl%C3%A9e"
    );
    fails(&server, "recipe_search", &json!({"query": " "})).assert_has(&["empty"]);
}

#[test]
fn an_html_page_means_that_themealdb_is_down() {
    for status in [200, 403, 404] {
        let server =
            Server::always(Answer::text("text/html", "<html>Blocked</html>").with_status(status));
        fails(&server, "recipe_lookup", &json!({"meal_id": "5"}))
            .assert_has(&["TheMealDB is not answering: "]);
    }
    let server = Server::always(Answer::json(
        &json!({"meals": [{"idMeal": "5", "strMeal": "Soup", "strYoutube": "javascript:x"}]}),
    ));
    text(&server, "recipe_lookup", &json!({"meal_id": "5"})).assert_lacks(&["Video"]);
}
