//! The `oauth` object of a configured server.

use serde_json::Value;

use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};

/// What the user set about signing in.
#[derive(Default)]
pub(super) struct OauthEntry {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub metadata_url: Option<String>,
    pub scopes: Vec<String>,
    /// Where the browser is to come back to; 0 for any port.
    pub port: u16,
}

impl OauthEntry {
    /// # Errors
    /// The port is none.
    pub(super) fn read(oauth: &Value) -> Outcome<Self> {
        let text = |key: &str| oauth.text(key).map(str::to_owned);
        let scopes = match oauth.text("scopes") {
            Some(scopes) => scopes.split_whitespace().collect(),
            None => oauth.texts("scopes"),
        };
        let port = match oauth.at("callbackPort") {
            None => 0,
            Some(_) => (oauth.whole("callbackPort"))
                .and_then(|port| u16::try_from(port).ok())
                .ok_or_else(|| {
                    Problem::config("\"callbackPort\" is not the number of a port.")
                        .next("Set it to a number from 1 to 65535, or remove it for a free one.")
                })?,
        };
        Ok(Self {
            client_id: text("clientId"),
            client_secret: text("clientSecret"),
            metadata_url: text("clientMetadataUrl"),
            scopes: scopes.into_iter().map(str::to_owned).collect(),
            port,
        })
    }
}
