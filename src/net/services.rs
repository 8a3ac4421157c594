//! Outside services as a table: base address, override variable, key variable and purpose.

use std::time::Duration;

use crate::base::env::Env;
use crate::base::text::escape_controls;
use crate::net::keys;

#[derive(Debug)]
pub struct Service {
    /// Its id; `MARVIN_URL_<ID>` overrides its base.
    pub id: &'static str,
    /// As sentences use it.
    pub name: &'static str,
    pub base: &'static str,
    /// The variable of its key, if it accepts one.
    pub key: Option<&'static str>,
    /// What Marvin uses it for.
    pub about: &'static str,
    /// Minimum time between two requests.
    pub gap: Duration,
    /// The usage policy of the public server demands a contact in the User-Agent.
    pub contact: bool,
}

impl Service {
    const fn new(
        id: &'static str,
        name: &'static str,
        base: &'static str,
        about: &'static str,
    ) -> Self {
        Self {
            id,
            name,
            base,
            key: None,
            about,
            gap: Duration::from_millis(200),
            contact: false,
        }
    }

    const fn key(mut self, variable: &'static str) -> Self {
        self.key = Some(variable);
        self
    }

    const fn every(mut self, seconds: u64) -> Self {
        self.gap = Duration::from_secs(seconds);
        self
    }

    const fn with_contact(mut self) -> Self {
        self.contact = true;
        self
    }
}

/// Declares services: a constant for callers and a row of the table.
macro_rules! services {
    ($($name:ident = $row:expr;)*) => {
        $( #[doc = concat!("The row of ", stringify!($name), ".")] pub(crate) static $name: Service = $row; )*
        /// Every service except the providers of language models.
        pub static SERVICES: &[&Service] = &[$(&$name),*];
    };
}

#[rustfmt::skip]
services! {
    IP_API = Service::new("ip-api", "ip-api.com", "http://ip-api.com", "location by address");
    IPAPI_CO = Service::new("ipapi-co", "ipapi.co", "https://ipapi.co", "location by address");
    IPINFO = Service::new("ipinfo", "ipinfo.io", "https://ipinfo.io", "location by address");
    GOOGLE_PLACES = Service::new("google-places", "Google Places", "https://places.googleapis.com", "places").key("GOOGLE_PLACES_API_KEY");
    NOMINATIM = Service::new("nominatim", "Nominatim (OpenStreetMap)", "https://nominatim.openstreetmap.org", "addresses and places, by the policy at operations.osmfoundation.org/policies/nominatim").every(1).with_contact();
    OVERPASS = Service::new("overpass", "Overpass (OpenStreetMap)", "https://overpass-api.de", "places nearby").with_contact();
    OSRM_CAR = Service::new("osrm-car", "OSRM", "https://router.project-osrm.org", "routes by car").every(1);
    OSRM_FOOT = Service::new("osrm-foot", "OSRM", "https://routing.openstreetmap.de/routed-foot", "routes on foot").every(1);
    OSRM_BIKE = Service::new("osrm-bike", "OSRM", "https://routing.openstreetmap.de/routed-bike", "routes by bicycle").every(1);
    OPEN_METEO = Service::new("open-meteo", "Open-Meteo", "https://api.open-meteo.com", "weather");
    OPEN_METEO_GEOCODING = Service::new("open-meteo-geocoding", "Open-Meteo", "https://geocoding-api.open-meteo.com", "towns");
    DUCKDUCKGO = Service::new("duckduckgo", "DuckDuckGo", "https://html.duckduckgo.com", "web search").every(2);
    DUCKDUCKGO_LITE = Service::new("duckduckgo-lite", "DuckDuckGo", "https://lite.duckduckgo.com", "web search").every(2);
    DUCKDUCKGO_NEWS = Service::new("duckduckgo-news", "DuckDuckGo News", "https://duckduckgo.com", "news").every(2);
    GNEWS = Service::new("gnews", "GNews", "https://gnews.io", "news").key("GNEWS_API_KEY").every(1);
    NEWSAPI = Service::new("newsapi", "NewsAPI", "https://newsapi.org", "news").key("NEWSAPI_KEY");
    WIKIPEDIA = Service::new("wikipedia", "Wikipedia", "https://en.wikipedia.org", "articles");
    SEMANTIC_SCHOLAR = Service::new("semantic-scholar", "Semantic Scholar", "https://api.semanticscholar.org", "papers").key("SEMANTIC_SCHOLAR_API_KEY").every(1);
    ARXIV = Service::new("arxiv", "arXiv", "https://export.arxiv.org", "papers").every(3);
    STACKEXCHANGE = Service::new("stackexchange", "Stack Exchange", "https://api.stackexchange.com", "questions and answers").key("STACKEXCHANGE_KEY");
    OMDB = Service::new("omdb", "OMDb", "https://www.omdbapi.com", "films").key("OMDB_API_KEY");
    RAWG = Service::new("rawg", "RAWG", "https://api.rawg.io", "games").key("RAWG_API_KEY");
    STEAM_STORE = Service::new("steam-store", "Steam's store", "https://store.steampowered.com", "games");
    STEAM_API = Service::new("steam-api", "Steam", "https://api.steampowered.com", "games and players").key("STEAM_API_KEY");
    MUSICBRAINZ = Service::new("musicbrainz", "MusicBrainz", "https://musicbrainz.org", "music").every(1);
    THEMEALDB = Service::new("themealdb", "TheMealDB", "https://www.themealdb.com", "recipes");
    SPOTIFY_ACCOUNTS = Service::new("spotify-accounts", "Spotify", "https://accounts.spotify.com", "sign-in to Spotify").key("SPOTIFY_CLIENT_ID");
    SPOTIFY_API = Service::new("spotify-api", "Spotify", "https://api.spotify.com", "Spotify").key("SPOTIFY_CLIENT_ID");
    FRANKFURTER = Service::new("frankfurter", "Frankfurter", "https://api.frankfurter.dev", "currencies");
    DICTIONARYAPI = Service::new("dictionaryapi", "dictionaryapi.dev", "https://api.dictionaryapi.dev", "words");
    MYMEMORY = Service::new("mymemory", "MyMemory", "https://api.mymemory.translated.net", "translation");
    GROQ_WHISPER = Service::new("groq-whisper", "Groq Whisper", "https://api.groq.com", "speech to text").key("GROQ_API_KEY");
    NTFY = Service::new("ntfy", "ntfy", "https://ntfy.sh", "push messages");
    GITHUB = Service::new("github", "GitHub", "https://github.com", "clones of repositories");
}

pub(crate) fn wikipedia_in(language: &str) -> String {
    format!("https://{language}.wikipedia.org")
}

/// Where a user reads more about the key of a service, as an advice of a problem.
pub(crate) const KEY_ADVICE: &str = "marvin help services says more about keys.";

/// Looks up a service by its id.
pub fn service(id: &str) -> Option<&'static Service> {
    SERVICES.iter().copied().find(|service| service.id == id)
}

/// The variable that overrides the base of the service `id`.
pub fn variable(id: &str) -> String {
    format!("MARVIN_URL_{}", id.to_uppercase().replace('-', "_"))
}

impl Service {
    /// The base address in use.
    pub fn base_in<'a>(&'a self, env: &'a Env) -> &'a str {
        without_slash(env.get(&variable(self.id)).unwrap_or(self.base))
    }

    /// True when the user has replaced the base address.
    pub fn is_own(&self, env: &Env) -> bool {
        self.base_in(env) != self.base
    }

    /// The key, if one is set.
    pub fn key_in(&self, env: &Env) -> Option<String> {
        keys::find(env, self.key?)
    }
}

/// An address that the user set, as it is shown: without credentials.
pub(crate) fn shown_address(base: &str) -> String {
    let base = escape_controls(base);
    let Some((scheme, rest)) = base.split_once("://") else {
        return base;
    };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest.get(..end).and_then(|host| host.rfind('@')) {
        Some(at) => format!("{scheme}://{}", rest.get(at + 1..).unwrap_or_default()),
        None => base,
    }
}

/// A base address ready for a path to be appended.
pub(crate) fn without_slash(base: &str) -> &str {
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
