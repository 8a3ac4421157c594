//! Module `media`: films and series from OMDb, video games from RAWG, both with a key; a web search without one.

mod omdb;
mod rawg;
mod web_fallback;

use std::time::Duration;

use crate::base::params::choice;
use crate::base::problem::{Outcome, Problem, not_empty};
use crate::net::service::ServiceResponse;
use crate::net::services::{DUCKDUCKGO, DUCKDUCKGO_LITE, OMDB, RAWG, Service};
use crate::tools::READ;
use crate::tools::engine::tool::tools;

choice! {
    /// Kind of title, by the word that OMDb and people use; empty for any.
    pub(crate) enum TitleKind { Any = "", Movie = "movie", Series = "series", Episode = "episode" }
}

static FILMS: [&Service; 3] = [&OMDB, &DUCKDUCKGO, &DUCKDUCKGO_LITE];
static GAMES: [&Service; 3] = [&RAWG, &DUCKDUCKGO, &DUCKDUCKGO_LITE];
static GAME: [&Service; 1] = [&RAWG];

tools! { "media";
    /// Find films and series.
    search_movies(SearchMovies; READ.seconds(10).service("omdb, duckduckgo").asks(&FILMS)) {
        /// title
        query: String, example: "Metropolis", alias: &["title", "name"];
        /// restrict to a year
        year: String = "";
        /// restrict to a kind
        kind: TitleKind = "", named: "type";
    } => omdb::search, says [
        "search movies {query}", "search movies {query} from {year}", "find the movie {query}", "find the series {query} {type=series}",
    ];

    /// Ratings, plot, credits of one title.
    get_movie_details(GetMovieDetails; READ.seconds(10).service("omdb, duckduckgo").asks(&FILMS)) {
        /// title; one of title or imdb_id is needed
        title: String = "", example: "Metropolis", alias: &["query", "name"];
        /// IMDb id, e.g. tt1234567
        imdb_id: String = "", alias: &["id"];
    } => omdb::details, says ["movie details of {title}", "tell me about the movie {title}"];

    /// Find video games.
    search_games(SearchGames; READ.seconds(10).service("rawg, duckduckgo").asks(&GAMES)) {
        /// title
        query: String, example: "Tetris", alias: &["title", "name"];
        /// how many
        max_results: usize = 5, min: 1, max: 10;
    } => rawg::search, says ["search games {query}", "find the game {query}"];

    /// Everything RAWG knows about one game.
    get_game_details(GetGameDetails; READ.seconds(10).service("rawg").asks(&GAME)) {
        /// RAWG id
        game_id: i64, example: "2454", alias: &["id"];
    } => rawg::details, says ["game details of {game_id}"];
}

/// Time limit for a service, below the call's ten seconds, so that a timeout names the service.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(8);

/// The query, trimmed.
fn requested<'a>(query: &'a str, example: &str) -> Outcome<&'a str> {
    not_empty(
        "query",
        query,
        &format!("Give a title, for example {example}."),
    )
}

/// The problem with a service that fails, or sends a page instead of data.
fn bad_response(answer: &ServiceResponse) -> Problem {
    let name = answer.service.name;
    Problem::network(if answer.is_ok() {
        format!("{name} is not answering: it sent a web page where data was promised.")
    } else {
        format!("{name} is not answering (status {}).", answer.status)
    })
    .next("Try again later, or use web_search.")
}

/// True for responses from something in front of the service, whatever their status, or from a service that is down.
fn is_down(answer: &ServiceResponse) -> bool {
    answer.status >= 500 || (answer.status != 429 && answer.is_page())
}
