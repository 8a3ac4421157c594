//! Web pages that answers and errors point to. Marvin itself never asks them.

/// A title's page; its id follows.
pub const IMDB_TITLE: &str = "https://www.imdb.com/title/";
/// A game's page; its short name follows.
pub const RAWG_GAME: &str = "https://rawg.io/games/";
/// The source that RAWG's terms ask to name.
pub const RAWG: &str = "https://rawg.io";
/// A page of the store; `app`, `sub` or `bundle` and an id follow.
pub const STEAM_STORE: &str = "https://store.steampowered.com/";
/// Where Steam users find their own id.
pub const STEAM_ACCOUNT: &str = "https://store.steampowered.com/account/";
/// Where keys for OMDb are given out.
pub const OMDB_KEY: &str = "https://www.omdbapi.com/apikey.aspx";
/// Where keys for RAWG are given out.
pub const RAWG_KEY: &str = "https://rawg.io/apidocs";
/// Where keys for the Steam Web API are given out.
pub const STEAM_KEY: &str = "https://steamcommunity.com/dev/apikey";
/// Pages of OpenStreetMap's elements (`/node/123`).
pub const OPENSTREETMAP: &str = "https://www.openstreetmap.org";
/// Google's map of a coordinate.
pub const GOOGLE_MAPS: &str = "https://www.google.com/maps/search/?api=1&query=";
/// The page of a paper at arXiv.
pub fn arxiv_page(id: &str) -> String {
    format!("https://arxiv.org/abs/{id}")
}

/// The address of a Stack Exchange site by its name in the API.
pub fn stack_site(name: &str) -> String {
    match name {
        "stackoverflow" | "serverfault" | "superuser" | "askubuntu" => {
            format!("https://{name}.com")
        }
        name => format!("https://{name}.stackexchange.com"),
    }
}
