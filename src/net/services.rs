//! Outside services as a table: where they are, what overrides that, which key they take, which tools use them (decisions.md 7).

use crate::base::env::Env;

/// One service.
#[derive(Debug)]
pub struct Service {
    /// Its id; `MARVIN_URL_<ID>` overrides its base.
    pub id: &'static str,
    /// Default base.
    pub base: &'static str,
    /// Variable of its key, when it takes one.
    pub key: Option<&'static str>,
    /// What it is used for.
    pub about: &'static str,
}

const fn open(id: &'static str, base: &'static str, about: &'static str) -> Service {
    Service {
        id,
        base,
        key: None,
        about,
    }
}

const fn keyed(
    id: &'static str,
    base: &'static str,
    key: &'static str,
    about: &'static str,
) -> Service {
    Service {
        id,
        base,
        key: Some(key),
        about,
    }
}

/// Every service besides the language models' providers.
pub static SERVICES: &[Service] = &[
    keyed(
        "groq-whisper",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "speech to text",
    ),
    open("ip-api", "http://ip-api.com", "location by address"),
    open("ipapi-co", "https://ipapi.co", "location by address"),
    open("ipinfo", "https://ipinfo.io", "location by address"),
    keyed(
        "google-places",
        "https://places.googleapis.com",
        "GOOGLE_PLACES_API_KEY",
        "places",
    ),
    open(
        "nominatim",
        "https://nominatim.openstreetmap.org",
        "addresses and places",
    ),
    open("overpass", "https://overpass-api.de", "places nearby"),
    open(
        "osrm-car",
        "https://router.project-osrm.org",
        "routes by car",
    ),
    open(
        "osrm-foot",
        "https://routing.openstreetmap.de/routed-foot",
        "routes on foot",
    ),
    open(
        "osrm-bike",
        "https://routing.openstreetmap.de/routed-bike",
        "routes by bicycle",
    ),
    open("open-meteo", "https://api.open-meteo.com", "weather"),
    open(
        "open-meteo-geocoding",
        "https://geocoding-api.open-meteo.com",
        "towns",
    ),
    open("duckduckgo", "https://html.duckduckgo.com", "web search"),
    open(
        "duckduckgo-lite",
        "https://lite.duckduckgo.com",
        "web search",
    ),
    open("duckduckgo-news", "https://duckduckgo.com", "news"),
    keyed("gnews", "https://gnews.io", "GNEWS_API_KEY", "news"),
    keyed("newsapi", "https://newsapi.org", "NEWSAPI_KEY", "news"),
    open("wikipedia", "https://en.wikipedia.org", "articles"),
    open(
        "semantic-scholar",
        "https://api.semanticscholar.org",
        "papers",
    ),
    open("arxiv", "https://export.arxiv.org", "papers"),
    open(
        "stackexchange",
        "https://api.stackexchange.com",
        "questions and answers",
    ),
    keyed("omdb", "https://www.omdbapi.com", "OMDB_API_KEY", "films"),
    keyed("rawg", "https://api.rawg.io", "RAWG_API_KEY", "games"),
    open("steam-store", "https://store.steampowered.com", "games"),
    keyed(
        "steam-api",
        "https://api.steampowered.com",
        "STEAM_API_KEY",
        "games and players",
    ),
    open("musicbrainz", "https://musicbrainz.org", "music"),
    open("themealdb", "https://www.themealdb.com", "recipes"),
    keyed(
        "spotify-accounts",
        "https://accounts.spotify.com",
        "SPOTIFY_CLIENT_ID",
        "sign-in to Spotify",
    ),
    keyed(
        "spotify-api",
        "https://api.spotify.com",
        "SPOTIFY_CLIENT_ID",
        "Spotify",
    ),
    open("frankfurter", "https://api.frankfurter.dev", "currencies"),
    open("dictionaryapi", "https://api.dictionaryapi.dev", "words"),
    open(
        "mymemory",
        "https://api.mymemory.translated.net",
        "translation",
    ),
    open("ntfy", "https://ntfy.sh", "push messages"),
    open("github", "https://github.com", "clones of repositories"),
];

/// The service called `id`.
pub fn service(id: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| service.id == id)
}

/// The variable that overrides the base of `id`.
pub fn variable(id: &str) -> String {
    format!("MARVIN_URL_{}", id.to_uppercase().replace('-', "_"))
}

impl Service {
    /// The base in force.
    pub fn base_in<'a>(&'a self, env: &'a Env) -> &'a str {
        without_slash(env.get(&variable(self.id)).unwrap_or(self.base))
    }
}

/// A base as paths are appended to it.
pub fn without_slash(base: &str) -> &str {
    base.trim().trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_overridable() {
        for (i, service) in SERVICES.iter().enumerate() {
            assert!(
                !service.base.ends_with('/') && service.base.starts_with("http"),
                "{}",
                service.id
            );
            assert!(
                SERVICES
                    .iter()
                    .skip(i + 1)
                    .all(|other| other.id != service.id),
                "{} twice",
                service.id
            );
        }
        let env = Env::from([("MARVIN_URL_OPEN_METEO", "http://127.0.0.1:1/")]);
        assert_eq!(
            service("open-meteo").unwrap().base_in(&env),
            "http://127.0.0.1:1"
        );
    }
}
