//! Web pages that results and errors link to. Marvin itself never requests them.

/// A title's page; its id follows.
pub(crate) const IMDB_TITLE: &str = "https://www.imdb.com/title/";
/// A game's page; its short name follows.
pub(crate) const RAWG_GAME: &str = "https://rawg.io/games/";
/// The attribution that RAWG's terms require.
pub(crate) const RAWG: &str = "https://rawg.io";
/// A page of the store; `app`, `sub` or `bundle` and an id follow.
pub(crate) const STEAM_STORE: &str = "https://store.steampowered.com/";
/// Where Steam users find their own id.
pub(crate) const STEAM_ACCOUNT: &str = "https://store.steampowered.com/account/";
/// Where to get a key for OMDb.
pub(crate) const OMDB_KEY: &str = "https://www.omdbapi.com/apikey.aspx";
/// Where to get a key for RAWG.
pub(crate) const RAWG_KEY: &str = "https://rawg.io/apidocs";
/// Where to get a key for the Steam Web API.
pub(crate) const STEAM_KEY: &str = "https://steamcommunity.com/dev/apikey";
/// Pages of OpenStreetMap's elements (`/node/123`).
pub(crate) const OPENSTREETMAP: &str = "https://www.openstreetmap.org";
/// Google's map of a coordinate.
pub(crate) const GOOGLE_MAPS: &str = "https://www.google.com/maps/search/?api=1&query=";
/// The page of a paper at arXiv.
pub(crate) fn arxiv_page(id: &str) -> String {
    format!("https://arxiv.org/abs/{id}")
}

/// The address of a Stack Exchange site by its name in the API.
pub(crate) fn stack_site(name: &str) -> String {
    match name {
        "stackoverflow" | "serverfault" | "superuser" | "askubuntu" => {
            format!("https://{name}.com")
        }
        name => format!("https://{name}.stackexchange.com"),
    }
}

/// How to get a service's key at `page`, and where to put it.
pub(crate) fn how_to_get_key(page: &str, variable: &str) -> String {
    format!("Get a free key at {page} and set {variable} (or write it into ~/.ssh/{variable}).")
}
