//! `mcp-tokens.json`: sign-ins to servers of the Model Context Protocol. Only the owner can read it.
//!
//! A token belongs to an issuer and a resource, a registration to an issuer alone; for each server the file says which of them it led to last. Several
//! processes share the file: whoever changes it reads it again under its lock.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::base::clock::Clock;
use crate::base::ids::stable_hash;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::lock;
use crate::disk::paths::Paths;

const MAX_FILE_BYTES: u64 = 4 << 20;
/// How long to wait for another process's write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);
/// A token is refreshed this many seconds before it expires.
const REFRESH_SECONDS_BEFORE_END: i64 = 60;

/// To whom a server led, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServerLink {
    pub issuer: String,
    /// What tokens are for; the server's own address where it does not say.
    pub resource: String,
    /// The client id of the configuration that was used with this issuer first.
    pub client: Option<String>,
    /// Tells this sign-in from an earlier one, which may have been another account's.
    pub sign_in: Option<String>,
}

/// How a client proves at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ClientAuth {
    #[default]
    None,
    Basic,
    Post,
}

impl ClientAuth {
    /// Its name in metadata (RFC 7591 section 2).
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        [Self::None, Self::Basic, Self::Post]
            .into_iter()
            .find(|auth| auth.name() == name)
    }
}

/// A client as an issuer knows it.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct ClientRecord {
    pub id: String,
    pub secret: Option<String>,
    pub auth: ClientAuth,
}

/// A client that was registered by Marvin.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Registration {
    pub client: ClientRecord,
    /// The port of the redirect address that was registered.
    pub port: u16,
    /// When its secret expires, in Unix seconds.
    pub expires: Option<i64>,
}

/// A token, and what is needed to refresh or revoke it.
#[derive(Clone, PartialEq, Eq, Default)]
pub(crate) struct StoredToken {
    pub access: String,
    pub refresh: Option<String>,
    /// Unix seconds.
    pub expires: Option<i64>,
    /// What was granted.
    pub scope: String,
    pub token_endpoint: String,
    pub revocation_endpoint: Option<String>,
    /// The value of `resource` that was sent, if one was.
    pub resource: Option<String>,
    pub client: ClientRecord,
}

impl StoredToken {
    /// Whether it should be refreshed before it is used.
    pub(crate) fn is_nearly_over(&self, now: i64) -> bool {
        self.expires
            .is_some_and(|end| end.saturating_sub(REFRESH_SECONDS_BEFORE_END) <= now)
    }
}

/// Tells one content of the file from another.
pub(crate) type FileStamp = Option<(u64, i64, i64, u64)>;

/// The file.
#[derive(Clone)]
pub(crate) struct McpTokens {
    path: PathBuf,
    clock: Clock,
}

#[derive(Clone, Default)]
pub(crate) struct TokenFile(Value);

impl McpTokens {
    /// Nothing is read or created yet.
    ///
    /// # Errors
    /// There is no folder for Marvin's files.
    pub(crate) fn of(paths: &Paths, clock: &Clock) -> Outcome<Self> {
        Ok(Self {
            path: paths.mcp_tokens()?,
            clock: clock.clone(),
        })
    }

    /// Unix time in seconds.
    pub(crate) fn now(&self) -> i64 {
        self.clock.now().timestamp().as_second()
    }

    /// Differs from an earlier one when the file was written in between.
    pub(crate) fn stamp(&self) -> FileStamp {
        let about = fs::metadata(&self.path).ok()?;
        Some((about.ino(), about.mtime(), about.mtime_nsec(), about.len()))
    }

    /// What tells the account from others that is signed in to this server; none is, or the file cannot be read.
    pub(crate) fn account(&self, server: &str) -> Option<String> {
        let file = self.read().ok()?;
        let link = file.link(server)?;
        file.token(&link)?;
        let sign_in = link.sign_in.unwrap_or_default();
        let hash = stable_hash(&format!("{}\0{}\0{sign_in}", link.issuer, link.resource));
        Some(format!("{hash:016x}"))
    }

    /// The path whose lock processes take to refresh the token of an issuer and a resource.
    pub(crate) fn refresh_lock(&self, link: &ServerLink) -> PathBuf {
        let hash = stable_hash(&format!("{}\0{}", link.issuer, link.resource));
        self.path.with_file_name(format!("mcp-refresh-{hash:016x}"))
    }

    /// Reads the file; one that does not exist is empty.
    ///
    /// # Errors
    /// It cannot be read or parsed.
    pub(crate) fn read(&self) -> Outcome<TokenFile> {
        match atomic::read(&self.path, MAX_FILE_BYTES)? {
            Some(bytes) => TokenFile::parse(&bytes).ok_or_else(|| {
                Problem::input(format!("{} is not a JSON object.", self.path.display())).next(
                    "Sign in again with \"marvin mcp login NAME\"; the file is then set aside.",
                )
            }),
            None => Ok(TokenFile::default()),
        }
    }

    /// Changes the file under its lock.
    ///
    /// # Errors
    /// It cannot be locked, read or written.
    pub(crate) fn change(&self, change: impl FnOnce(&mut TokenFile)) -> Outcome<()> {
        lock::update_as(&self.path, Access::Private, LOCK_TIMEOUT, |old| {
            let mut file = match old.as_deref().map(TokenFile::parse) {
                Some(Some(file)) => file,
                Some(None) => {
                    // Reading has reported it.
                    atomic::set_aside(&self.path, &self.clock, "")?;
                    TokenFile::default()
                }
                None => TokenFile::default(),
            };
            change(&mut file);
            Ok(serde_json::to_vec_pretty(&file.0).ok())
        })
    }
}

impl TokenFile {
    fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.trim_ascii().is_empty() {
            return Some(Self::default());
        }
        let map: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
        Some(Self(Value::Object(map)))
    }

    fn get(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().try_fold(&self.0, |value, key| value.get(*key))
    }

    /// Sets what lies under the keys, or removes it.
    fn put(&mut self, keys: &[&str], value: Option<Value>) {
        let Some((last, way)) = keys.split_last() else {
            return;
        };
        let mut at = &mut self.0;
        for key in way {
            at = member(at, key);
        }
        if !at.is_object() {
            *at = json!({});
        }
        if let Some(map) = at.as_object_mut() {
            match value {
                Some(value) => map.insert((*last).to_owned(), value),
                None => map.remove(*last),
            };
        }
    }

    /// To whom a server led.
    pub(crate) fn link(&self, server: &str) -> Option<ServerLink> {
        let value = self.get(&["servers", server])?;
        Some(ServerLink {
            issuer: text(value, "issuer")?,
            resource: text(value, "resource")?,
            client: text(value, "client_id"),
            sign_in: text(value, "sign_in"),
        })
    }

    pub(crate) fn set_link(&mut self, server: &str, link: &ServerLink) {
        let mut value = json!({"issuer": link.issuer, "resource": link.resource});
        set(&mut value, "client_id", link.client.as_deref());
        set(&mut value, "sign_in", link.sign_in.as_deref());
        self.put(&["servers", server], Some(value));
    }

    /// Forgets a server with its token, and the registration that no other server uses.
    pub(crate) fn forget(&mut self, server: &str) {
        let Some(link) = self.link(server) else {
            return;
        };
        self.put(&["servers", server], None);
        let is_shared = |of: &dyn Fn(&ServerLink) -> bool| {
            let servers = self.get(&["servers"]).and_then(Value::as_object);
            let mut others = servers.into_iter().flat_map(Map::keys);
            others.any(|other| self.link(other).is_some_and(|link| of(&link)))
        };
        let token_is_shared =
            is_shared(&|other| (&other.issuer, &other.resource) == (&link.issuer, &link.resource));
        let issuer_is_shared = is_shared(&|other| other.issuer == link.issuer);
        if !token_is_shared {
            self.put(&["tokens", &link.issuer, &link.resource], None);
        }
        if !issuer_is_shared {
            self.put(&["registrations", &link.issuer], None);
        }
    }

    /// The token of an issuer for a resource.
    pub(crate) fn token(&self, link: &ServerLink) -> Option<StoredToken> {
        let value = self.get(&["tokens", &link.issuer, &link.resource])?;
        let plain = |text: &String| text.bytes().all(|byte| byte.is_ascii_graphic());
        Some(StoredToken {
            access: text(value, "access_token").filter(plain)?,
            refresh: text(value, "refresh_token"),
            expires: value.whole("expires_at"),
            scope: text(value, "scope").unwrap_or_default(),
            token_endpoint: text(value, "token_endpoint").unwrap_or_default(),
            revocation_endpoint: text(value, "revocation_endpoint"),
            resource: text(value, "resource"),
            client: client(value),
        })
    }

    pub(crate) fn set_token(&mut self, link: &ServerLink, token: Option<&StoredToken>) {
        let value = token.map(|token| {
            let mut value = json!({"access_token": token.access, "scope": token.scope, "token_endpoint": token.token_endpoint});
            set(&mut value, "refresh_token", token.refresh.as_deref());
            set(&mut value, "revocation_endpoint", token.revocation_endpoint.as_deref());
            set(&mut value, "resource", token.resource.as_deref());
            crate::base::json::put(&mut value, "expires_at", token.expires);
            set_client(&mut value, &token.client);
            value
        });
        self.put(&["tokens", &link.issuer, &link.resource], value);
    }

    /// The client that was registered with an issuer.
    pub(crate) fn registration(&self, issuer: &str) -> Option<Registration> {
        let value = self.get(&["registrations", issuer])?;
        let client = client(value);
        let port = value.whole("port").and_then(|port| port.try_into().ok())?;
        (!client.id.is_empty()).then_some(Registration {
            client,
            port,
            expires: value.whole("expires_at"),
        })
    }

    pub(crate) fn set_registration(&mut self, issuer: &str, registration: Option<&Registration>) {
        let value = registration.map(|own| {
            let mut value = json!({"port": own.port, "expires_at": own.expires});
            set_client(&mut value, &own.client);
            value
        });
        self.put(&["registrations", issuer], value);
    }
}

/// The member of an object; what is none becomes one.
fn member<'a>(value: &'a mut Value, key: &str) -> &'a mut Value {
    if !value.is_object() {
        *value = json!({});
    }
    &mut value[key]
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn set(value: &mut Value, key: &str, text: Option<&str>) {
    if let Some(text) = text {
        crate::base::json::put(value, key, text);
    }
}

fn client(value: &Value) -> ClientRecord {
    let auth = value.get("client_auth").and_then(Value::as_str);
    ClientRecord {
        id: text(value, "client_id").unwrap_or_default(),
        secret: text(value, "client_secret"),
        auth: auth.and_then(ClientAuth::of).unwrap_or_default(),
    }
}

fn set_client(value: &mut Value, client: &ClientRecord) {
    set(value, "client_id", Some(&client.id));
    set(value, "client_secret", client.secret.as_deref());
    set(value, "client_auth", Some(client.auth.name()));
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    use super::*;

    fn store(dir: &Path) -> McpTokens {
        McpTokens {
            path: dir.join("mcp-tokens.json"),
            clock: Clock::default(),
        }
    }

    fn link(issuer: &str) -> ServerLink {
        ServerLink {
            issuer: issuer.to_owned(),
            resource: "https://mcp.example/a/b".to_owned(),
            client: None,
            sign_in: Some(issuer.to_owned()),
        }
    }

    fn token(access: &str) -> StoredToken {
        StoredToken {
            access: access.to_owned(),
            refresh: Some("refresh".to_owned()),
            expires: Some(1_000),
            scope: "a b".to_owned(),
            token_endpoint: "https://as.example/token".to_owned(),
            client: ClientRecord {
                id: "client".to_owned(),
                secret: Some("secret".to_owned()),
                auth: ClientAuth::Basic,
            },
            ..StoredToken::default()
        }
    }

    #[test]
    fn tokens_and_registrations_are_kept_apart_by_issuer() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        let before = store.stamp();
        let registration = Registration {
            client: token("").client,
            port: 4_711,
            expires: None,
        };
        store
            .change(|file| {
                for (server, issuer) in [("https://x", "https://one"), ("https://y", "https://two")]
                {
                    file.set_link(server, &link(issuer));
                    file.set_token(&link(issuer), Some(&token(issuer)));
                    file.set_registration(issuer, Some(&registration));
                }
            })
            .unwrap();
        assert_ne!(store.stamp(), before);
        let mode = fs::metadata(&store.path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let file = store.read().unwrap();
        assert!(file.token(&link("https://one")) == Some(token("https://one")));
        assert_eq!(file.link("https://y"), Some(link("https://two")));
        let accounts = ["https://x", "https://y", "https://z"].map(|url| store.account(url));
        assert!(accounts[0].is_some() && accounts[1].is_some() && accounts[0] != accounts[1]);
        assert_eq!(accounts[2], None);
        store.change(|file| file.forget("https://x")).unwrap();
        let file = store.read().unwrap();
        assert!(file.token(&link("https://one")).is_none());
        assert!(file.registration("https://one").is_none());
        assert!(file.registration("https://two") == Some(registration));
        assert!(file.token(&link("https://two")).is_some());
    }

    #[test]
    fn what_others_wrote_into_the_file_stays_and_what_is_none_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        fs::write(&store.path, r#"{"tokens": 3, "later": {"a": 1}}"#).unwrap();
        let own = link("https://one");
        assert!(store.read().unwrap().token(&own).is_none());
        let set = |file: &mut TokenFile| file.set_token(&own, Some(&token("t")));
        store.change(set).unwrap();
        let file = store.read().unwrap();
        assert_eq!(file.0.whole("later/a"), Some(1));
        assert!(file.token(&own) == Some(token("t")));
        fs::write(&store.path, "{torn").unwrap();
        assert!(
            store
                .read()
                .is_err_and(|problem| problem.what.contains("mcp-tokens"))
        );
        store.change(set).unwrap();
        assert!(store.read().unwrap().token(&own).is_some());
    }

    #[test]
    fn a_token_is_nearly_over_in_its_last_minute() {
        let mut token = token("t");
        assert!(!token.is_nearly_over(939) && token.is_nearly_over(940));
        token.expires = None;
        assert!(!token.is_nearly_over(i64::MAX));
    }
}
