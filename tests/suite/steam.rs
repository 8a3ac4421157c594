//! Steam's store and Web API through the built binary: made-up answers for every documented case.

use std::sync::Arc;

use marvin::testing::tools::{SessionContext, ToolContext, ToolPolicy};
use marvin::testing::{Cancel, Env, NullSink};
use serde_json::{Value, json};

use crate::support::home::Home;
use crate::support::run::{Done, Marvin};
use crate::support::samples;
use crate::support::server::{Answer, Server};
use crate::support::words::{TextAssertions, error_text, success_text, unfenced};

const SECRET: &str = "s3cr3t-k3y-0123456789";
const USER: &str = "76561197960435530";

fn run(home: &Home, server: &Server, name: &str, args: &Value) -> Marvin {
    samples::tool(
        home,
        &["steam-store", "steam-api"],
        &server.url(""),
        name,
        args,
    )
    .env("STEAM_API_KEY", SECRET)
    .env("TZ", "UTC")
}

fn call(server: &Server, name: &str, args: &Value) -> Done {
    run(&Home::new(), server, name, args).run()
}

/// What no answer may contain in addition to the usual.
const ODD: &[&str] = &["$0.00", SECRET, "key="];

fn text(server: &Server, name: &str, args: &Value) -> String {
    success_text(call(server, name, args), ODD)
}

fn fails(server: &Server, name: &str, args: &Value) -> String {
    error_text(call(server, name, args), ODD)
}

fn user() -> Value {
    json!({"steam_id": USER})
}

const SEARCH: &str = "steam_search";
const APP: &str = "steam_app_details";
const FEATURED: &str = "steam_featured";
const STATS: &str = "steam_player_stats";
const OWNED: &str = "steam_user_games";
const SUMMARY: &str = "steam_user_summary";

const PLAYERS: &str = "/ISteamUserStats/GetNumberOfCurrentPlayers/v1/?appid=440";
const RATES: &str = "/ISteamUserStats/GetGlobalAchievementPercentagesForApp/v2/?gameid=440";

fn playing(count: u64) -> Answer {
    Answer::json(&json!({"response": {"player_count": count, "result": 1}}))
}

/// A server that gives an answer to each of these paths, query included.
fn at<const N: usize>(answers: [(&'static str, Answer); N]) -> Server {
    Server::answering(move |request, _| {
        let own = answers.iter().find(|(path, _)| *path == request.path);
        own.map_or(Answer::status(418), |(_, answer)| answer.clone())
    })
}

/// A server that answers both questions of the statistics.
fn both(players: Answer, rates: Answer) -> Server {
    at([(PLAYERS, players), (RATES, rates)])
}

fn stats(players: Answer, rates: Answer) -> String {
    text(&both(players, rates), STATS, &json!({"app_id": 440}))
}

#[test]
fn the_store_is_asked_in_english_for_prices_in_the_us() {
    let server = at([
        (
            "/api/storesearch/?term=P%26q%20%F0%9F%98%80&l=english&cc=US",
            Answer::json(&json!({
                "total": 30, "items": [
                    {"type": "app", "name": "A &amp; B", "id": 1, "price": {"currency": "EUR", "initial": 2000, "final": 1500}, "metascore": "7"},
                    {"type": "app", "name": "Free one", "id": 2, "price": {"currency": "EUR", "initial": 0, "final": 0}},
                    {"type": "app", "name": "Third", "id": 3}
                ]
            })),
        ),
        (
            "/api/appdetails?appids=5&cc=us&l=english",
            Answer::json(
                &json!({"5": {"success": true, "data": {"name": "N", "short_description": "&quot;A&quot; &amp; B"}}}),
            ),
        ),
    ]);
    assert_eq!(
        text(
            &server,
            SEARCH,
            &json!({"query": "P&q 😀", "max_results": 2})
        ),
        "2 of 30 hits for \"P&q 😀\" in the Steam store (prices in the US):\n 1. A & B, 15.00 EUR (-25%, was 20.00 EUR), Metascore 7, app 1\n    \
         https://store.steampowered.com/app/1/\n 2. Free one, free, app 2\n    https://store.steampowered.com/app/2/\n"
    );
    assert_eq!(
        unfenced(&text(&server, APP, &json!({"app_id": 5}))),
        "N (app 5)\nPrice in the US: no price listed\n\n\"A\" & B\nhttps://store.steampowered.com/app/5/\n"
    );
}

#[test]
fn featured_and_specials_are_two_requests() {
    let item = |id: u64| json!({"id": id, "type": 0, "name": format!("G{id}"), "final_price": 100, "currency": "USD", "discounted": false});
    let many = |from: u64, to: u64| Value::from((from..to).map(item).collect::<Vec<_>>());
    let window = json!({"large_capsules": many(1, 4), "featured_win": many(1, 7), "featured_mac": many(1, 20), "status": 1});
    let more = json!({"0": {"items": many(50, 52)}, "7": 3, "genres": {"id": "x"}, "specials": {"items": many(60, 90)}, "status": 1});
    let first = || ("/api/featured/?l=english&cc=us", Answer::json(&window));
    let second = "/api/featuredcategories/?l=english&cc=us";
    let server = at([first(), (second, Answer::json(&more))]);
    let out = text(&server, FEATURED, &json!({}));
    out.assert_has(&[
        " 1. G1, $1.00, app 1\n",
        " 8. G8, $1.00, app 8\nSpecials:\n 1. G60, $1.00, app 60\n",
        "10. G69, $1.00, app 69\n",
    ]);
    assert_eq!(out.lines().count(), 20, "{out}");

    let server = at([first(), (second, Answer::status(503))]);
    text(&server, FEATURED, &json!({})).assert_has(&[
        "app 8\nThe specials could not be read: Steam's store is not answering (status 503).",
    ]);
    let server = Server::always(Answer::json(
        &json!({"large_capsules": [], "specials": {"items": []}}),
    ));
    assert_eq!(
        text(&server, FEATURED, &json!({})),
        "The Steam store features nothing now.\n"
    );
    assert_eq!(server.requests().len(), 1);
    fails(
        &Server::always(Answer::json(&json!({"status": 1}))),
        FEATURED,
        &json!({}),
    )
    .assert_has(&["neither featured games nor specials"]);
}

#[test]
fn players_and_achievements_are_independent() {
    let many: Vec<Value> = (0..13)
        .map(|i| json!({"name": format!("A{i}"), "percent": i.to_string()}))
        .collect();
    let many = Answer::json(&json!({"achievementpercentages": {"achievements": many}}));
    stats(playing(1234), many.clone()).assert_has(&[
        "App 440: 1,234 players now.\n",
        " 1. A12: 12%\n",
        "10. A3: 3%\nand 3 more\n",
    ]);
    let unknown = Answer::json(&json!({"response": {"result": 42}})).with_status(404);
    stats(unknown, many.clone())
        .assert_has(&["App 440: Steam does not count its players.\n", " 1. A12"]);
    let unknown = Answer::json(&json!({"response": {"result": 42}}));
    stats(unknown, many.clone()).assert_has(&["Steam does not count its players."]);
    // A page with 404 is no app without players.
    let page = Answer::text("text/html", "<html>Not here</html>").with_status(404);
    for uncounted in [Answer::json(&json!({"response": {}})), page] {
        stats(uncounted, many.clone()).assert_has(&[
            "App 440.\nAchievements",
            "and 3 more\nThe players could not be counted: ",
        ]);
    }
    stats(playing(7), Answer::text("text/html", "<html>"))
        .assert_has(&["App 440: 7 players now.\nThe achievements could not be read: "]);
}

#[test]
fn a_random_refusal_is_retried_once() {
    let server = Server::answering(|_, n| match n {
        0 => Answer::text("text/html", "<html>").with_status(429),
        _ => Answer::json(
            &json!({"response": {"players": [{"steamid": USER, "personaname": "A", "communityvisibilitystate": 1, "personastate": 0}]}}),
        ),
    });
    assert_eq!(
        text(&server, SUMMARY, &user()),
        format!("A ({USER})\nThe profile is private: Steam tells little more than its name.\n")
    );
    let path = server.request(1).path;
    assert_eq!(
        path,
        format!("/ISteamUser/GetPlayerSummaries/v2/?key={SECRET}&steamids={USER}")
    );
}

#[test]
fn games_are_ranked_and_counted() {
    let games: Vec<Value> = (1..=30).map(|i| json!({"appid": i, "name": format!("G{i}"), "playtime_forever": i * 60, "rtime_last_played": 0})).collect();
    let server = Server::always(Answer::json(
        &json!({"response": {"game_count": 30, "games": games}}),
    ));
    let out = text(
        &server,
        OWNED,
        &json!({"steam_id": format!("https://steamcommunity.com/profiles/{USER}/")}),
    );
    out.assert_has(&[
        "30 games of the user 76561197960435530, 465 h played in all:\n 1. G30: 30 h, app 30\n",
        "\n20. G11: 11 h, app 11\nand 10 more\n",
    ]);
    assert_eq!(
        server.request(0).path,
        format!(
            "/IPlayerService/GetOwnedGames/v1/?key={SECRET}&steamid={USER}&include_appinfo=1&include_played_free_games=1&format=json"
        )
    );
    let none = Server::always(Answer::json(&json!({"response": {"game_count": 0}})));
    assert_eq!(
        text(&none, OWNED, &user()),
        format!("The user {USER} owns no games.\n")
    );
}

#[test]
fn both_rate_limit_responses_pause_the_store() {
    for status in [200, 429] {
        let server = Server::always(Answer::text("application/json", "null").with_status(status));
        let env = Env::from([("MARVIN_URL_STEAM_STORE", server.url("").as_str())]);
        let session = Arc::new(SessionContext::new(env, ToolPolicy::default()));
        let ctx = ToolContext::new(session, Cancel::new(), Arc::new(NullSink));
        let app = marvin::testing::tools::all()
            .find(|tool| tool.name == APP)
            .unwrap();
        let args = json!({"app_id": 5});
        let call = || (app.run)(&ctx, args.as_object().unwrap()).unwrap_err().what;
        assert_eq!(
            call(),
            "Steam is limiting requests, try again in a few minutes."
        );
        call().assert_has(&["asked for a pause"]);
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn invalid_calls_have_a_reason() {
    let server = Server::start();
    for (name, args, expected) in [
        (SEARCH, json!({"query": "\t"}), "The query is empty."),
        (APP, json!({"app_id": -5}), "app_id cannot be -5."),
        (STATS, json!({"app_id": 0}), "app_id cannot be 0."),
        (
            OWNED,
            json!({"steam_id": "gabelogannewell"}),
            "\"gabelogannewell\" is not the 64-bit id",
        ),
    ] {
        fails(&server, name, &args).assert_has(&[expected]);
    }
    // As a number it is still exact.
    let server = Server::always(Answer::json(&json!({"response": {"players": []}})));
    fails(
        &server,
        SUMMARY,
        &json!({"steam_id": 76_561_197_960_435_530_u64}),
    );
    assert!(server.request(0).path.ends_with(USER));
    let home = Home::new();
    let keyless = samples::tool(&home, &["steam-api"], &server.url(""), OWNED, &user()).run();
    keyless.expect(1).stderr_has(&[
        "STEAM_API_KEY is not set, and steam_user_games needs it.",
        "https://steamcommunity.com/dev/apikey",
        "marvin help services",
    ]);
}
