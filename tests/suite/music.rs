//! Music at MusicBrainz and recipes at TheMealDB through the built binary: every sample, and made-up answers for documented cases.

use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::Done;
use crate::support::samples::{self, Sample, each};
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
fn samples_of_musicbrainz() {
    let search = |sample: &Sample, kind: &str| {
        text(
            &sample.server(),
            "music_search",
            &json!({"query": "x y", "entity": kind}),
        )
    };
    let lookup = |sample: &Sample, kind: &str| {
        text(
            &sample.server(),
            "music_lookup",
            &json!({"mbid": ARTIST, "entity": kind}),
        )
    };
    let refused = |sample: &Sample| fails(&sample.server(), "music_search", &json!({"query": "x"}));
    each(
        "samples_of_musicbrainz",
        "musicbrainz",
        &[
            ("artist-search.json", &|sample| {
                search(sample, "artist").assert_has(&[
                        "2 artists at MusicBrainz for \"x y\"",
                        "\n 1. Ed Sheeran, Person, GB, since 1991-02-17, MBID b8a7c51f-362c-4dcb-a259-bc6e0095f0a6\n",
                        "\n 2. Ed Sheeran Tribute (tribute act), MBID 00000000-0000-4000-8000-000000000001\n",
                    ]);
            }),
            ("release-search.json", &|sample| {
                search(sample, "release").assert_has(&[
                        "1 of 9 releases",
                        "\n 1. SAGITARIO by El Alfa, Album, 2022-11-22, XW, Official, 18 tracks, MBID 8e4de7b3-e107-4545-a5ce-7190086b1f2b\n",
                    ]);
            }),
            ("recording-search.json", &|sample| {
                search(sample, "recording").assert_has(&[
                        "\n 1. Blow Your Mind (Mwah) by Dua Lipa, 2:58, on Blow Your Mind (Mwah) (2016-08-26), MBID 026fa041-3917-4c73-9079-ed16e36f20f8\n",
                    ]);
            }),
            ("search-none.json", &|sample| {
                assert_eq!(
                    search(sample, "artist"),
                    "No artists found for \"x y\" at MusicBrainz.\n"
                );
            }),
            ("artist-lookup.json", &|sample| {
                lookup(sample, "artist").assert_has(&[
                        "Ed Sheeran (famous UK singer-songwriter)\nType: Person, Male\nFrom: Hebden Bridge, United Kingdom (GB)\nLife: since 1991-02-17\nGenres: pop\nTags: pop\n",
                        "\nAlbums (1):\n  2011-09-09  +\n\nEPs (1):\n  2010        Live at the Bedford [Live]\n",
                        "Of other kinds: 1, not listed.",
                    ]);
            }),
            ("release-lookup.json", &|sample| {
                lookup(sample, "release").assert_has(&[
                        "SAGITARIO\nDate: 2022-11-22\nCountry: XW\nStatus: Official\nTracks: 18 tracks\n",
                        "\nCD\n    1. Suénala\n    2. El Tubo\n   18. Curazao  4:00\n",
                    ]);
            }),
            ("recording-lookup.json", &|sample| {
                let text = lookup(sample, "recording");
                text.assert_has(&[
                        "Thinking Out Loud\nBy: Ed Sheeran\nLength: 4:41\nFirst release: 2014-06-20\nISRC: GBAHS1400099\n",
                    ]);
                if text.contains("Releases (") {
                    text.assert_has(&["MBID "]);
                }
            }),
            ("rate-limited.json", &|sample| {
                let server = sample.server();
                fails(&server, "music_search", &json!({"query": "x"})).assert_has(&[
                    "503",
                    "exceeding the allowable rate limit",
                    "Try again in",
                ]);
                assert_eq!(server.requests().len(), 3);
            }),
            ("busy.json", &|sample| {
                refused(sample).assert_has(&["currently busy", "Try again later"]);
            }),
            ("not-found.json", &|sample| {
                fails(&sample.server(), "music_lookup", &json!({"mbid": ARTIST}))
                    .assert_has(&["has no artist with the MBID", "entity"]);
            }),
            ("invalid-mbid.json", &|sample| {
                let server = sample.server();
                fails(&server, "music_lookup", &json!({"mbid": "abc"}))
                    .assert_has(&["\"abc\" is not an MBID"]);
                assert_eq!(server.requests().len(), 0);
                fails(&server, "music_lookup", &json!({"mbid": ARTIST}))
                    .assert_has(&["Invalid mbid"]);
            }),
        ],
    );
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
        (200, "<html>", &["a web page where data"]),
        (200, r#"{"error": "odd"}"#, &["refused: odd."]),
        (200, "{}", &["without a list of artists"]),
        (200, "[]", &["cannot be read"]),
        (200, "", &["with nothing"]),
    ] {
        let server = Server::always(Answer::text("text/html", body).with_status(status));
        fails(&server, "music_search", &json!({"query": "x"})).assert_has(parts);
    }
    let deep = "[".repeat(10_000);
    let server = Server::always(Answer::text("application/json", deep.clone()));
    fails(&server, "music_search", &json!({"query": "x"})).assert_has(&["cannot be read"]);
    for query in ["", " \n "] {
        fails(&server, "music_search", &json!({"query": query})).assert_has(&["empty"]);
    }
    let long = "x".repeat(100_000);
    fails(&server, "music_search", &json!({"query": long})).assert_has(&["bytes long"]);
}

#[test]
fn samples_of_themealdb() {
    let search = |sample: &Sample, by: &str| {
        text(
            &sample.server(),
            "recipe_search",
            &json!({"query": "a dish", "search_type": by}),
        )
    };
    let lookup = |sample: &Sample| {
        text(
            &sample.server(),
            "recipe_lookup",
            &json!({"meal_id": "53049"}),
        )
    };
    each(
        "samples_of_themealdb",
        "themealdb",
        &[
            ("search-arrabiata.json", &|sample| {
                search(sample, "name").assert_has(&[
                        "1 recipe at TheMealDB for the dish \"a dish\"",
                        "\n 1. Spicy Arrabiata Penne, id 52771, Vegetarian, Italian\n    1 pound penne rigate, 1/4 cup olive oil, 3 cloves garlic, 1 tin chopped tomatoes, ",
                        ", sprinkling Parmigiano-Reggiano\n    Bring a large pot of water to a boil. ",
                    ]);
                let whole = lookup(sample);
                whole.assert_has(&[
                    "Tags: Pasta, Curry\n",
                    "\nIngredients (8):\n",
                    "\nIn a large skillet",
                    "watch?v=1IszT_guI08\n",
                ]);
                assert!(
                    !whole.contains("Source:") && !whole.contains('\r'),
                    "{whole}"
                );
            }),
            ("lookup-53049.json", &|sample| {
                lookup(sample).assert_has(&[
                        "Apam balik\nId: 53049\nCategory: Dessert\nCuisine: Malaysian\nSource: https://",
                        "\nIngredients (9):\n  200ml    Milk\n",
                        "  3 tbs    Peanut Butter\n\nMethod:\n",
                        "\nCut into wedges and best eaten when it is warm.\n---",
                    ]);
            }),
            ("filter-chicken-breast.json", &|sample| {
                search(sample, "ingredient").assert_has(&[
                    "6 recipes at TheMealDB for the main ingredient",
                    "recipe_lookup with the id",
                    "\n 5. Honey Balsamic Chicken with Crispy Broccoli & Potatoes, id 52993\n",
                ]);
            }),
            ("none.json", &|sample| {
                search(sample, "name")
                    .assert_has(&["No recipes found at TheMealDB for the dish \"a dish\""]);
                fails(&sample.server(), "recipe_lookup", &json!({"meal_id": "1"}))
                    .assert_has(&["has no recipe with the id \"1\""]);
            }),
            ("invalid-id.json", &|sample| {
                fails(
                    &sample.server(),
                    "recipe_lookup",
                    &json!({"meal_id": "abc"}),
                )
                .assert_has(&["has no recipe with the id \"abc\"", "recipe_search"]);
            }),
        ],
    );
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
fn a_themealdb_refusal_is_not_an_empty_result() {
    for (status, body, part) in [
        (
            502,
            "<html>bad gateway</html>",
            "is not answering: status 502",
        ),
        (
            200,
            "<!DOCTYPE html><html>",
            "is not answering: it sent a web page",
        ),
        (200, "", "is not answering: it sent nothing"),
        (200, "{}", "cannot be read"),
        (200, r#"{"meals": [1, 2]}"#, "cannot be read"),
        (
            200,
            r#"{"meals": "Quota exceeded"}"#,
            "refused: Quota exceeded.",
        ),
        (429, "{}", "Too many requests to"),
    ] {
        let server = Server::always(Answer::text("application/json", body).with_status(status));
        fails(&server, "recipe_search", &json!({"query": "x"})).assert_has(&[part]);
    }
    let server = Server::always(Answer::json(&json!({"meals": "no data found"})));
    text(&server, "recipe_search", &json!({"query": "x"})).assert_has(&["No recipes found"]);
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
