//! Where the user gives consent, for what, and where the browser goes then.

use crate::base::env::Env;
use crate::base::variables::MARVIN_SPOTIFY_PORT;
use crate::net::oauth::pkce::challenge;
use crate::net::service::encoded;

pub(super) const SCOPES: [&str; 2] = ["playlist-modify-private", "playlist-modify-public"];

/// The default port of the callback address, and the variable that overrides it.
const DEFAULT_PORT: u16 = 8888;
const VARIABLE: &str = MARVIN_SPOTIFY_PORT.name;

pub(super) fn port(env: &Env) -> u16 {
    let own = env.get(VARIABLE).and_then(|port| port.trim().parse().ok());
    own.unwrap_or(DEFAULT_PORT)
}

/// The address at which the user gives consent; `accounts` is the base of Spotify's accounts service.
pub(super) fn address(
    accounts: &str,
    id: &str,
    redirect: &str,
    state: &str,
    verifier: &str,
) -> String {
    let pairs = [
        ("client_id", id),
        ("response_type", "code"),
        ("redirect_uri", redirect),
        ("scope", &SCOPES.join(" ")),
        ("state", state),
        ("code_challenge_method", "S256"),
        ("code_challenge", &challenge(verifier)),
    ];
    let pairs = pairs.map(|(name, value)| format!("{name}={}", encoded(value)));
    format!("{accounts}/authorize?{}", pairs.join("&"))
}
