//! Spotify's part of `tokens.json`, and the pending sign-in. Only the owner can read either.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::base::clock::Clock;
use crate::base::json::JsonExt;
use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic::{self, Access};
use crate::disk::lock;
use crate::disk::paths::Paths;

const MAX_FILE_BYTES: u64 = 1 << 20;
/// How long to wait for another process's write.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);
/// Seconds until a pending sign-in expires.
const MAX_PENDING_SECONDS: i64 = 3_600;
/// A pending sign-in younger than this is reused, so that an address handed out earlier stays valid.
const REUSABLE_SECONDS: i64 = 2_700;
/// A token is refreshed this many seconds before it expires.
const RENEW_SECONDS_BEFORE_END: i64 = 60;

/// What is stored about the account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AccountToken {
    pub(crate) access: String,
    pub(crate) refresh: String,
    /// Expiry in Unix seconds.
    pub(crate) expires: i64,
    pub(crate) scope: String,
    /// Issued to Marvin's own sign-in, which has no client secret.
    pub(crate) ours: bool,
    /// Spotify reported that it lacks a scope.
    pub(crate) lacks_scope: bool,
}

impl AccountToken {
    fn of(value: &Value) -> Self {
        let text = |key: &str| {
            let text = value.text(key).unwrap_or_default();
            // A token must be a valid header value.
            let plain = text.bytes().all(|b| b.is_ascii_graphic() || b == b' ');
            if plain {
                text.to_owned()
            } else {
                String::new()
            }
        };
        Self {
            access: text("access_token"),
            refresh: text("refresh_token"),
            expires: value.whole("expires_at").unwrap_or(0),
            scope: text("scope"),
            ours: value.flag("pkce"),
            lacks_scope: value.flag("scope_missing"),
        }
    }

    /// Whether there is a token to use or refresh.
    pub(crate) fn is_there(&self) -> bool {
        !self.access.is_empty() || !self.refresh.is_empty()
    }

    /// Whether the token can be used without a refresh.
    pub(crate) fn is_fresh(&self, now: i64) -> bool {
        !self.access.is_empty() && self.expires.saturating_sub(RENEW_SECONDS_BEFORE_END) > now
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PendingAuth {
    pub(crate) state: String,
    pub(crate) verifier: String,
    pub(crate) redirect: String,
    pub(crate) client: String,
}

pub(crate) struct TokenStore {
    tokens: PathBuf,
    sign_in: PathBuf,
    /// The token file of the original program.
    old: Option<PathBuf>,
    /// Unix seconds.
    now: i64,
    clock: Clock,
}

impl TokenStore {
    /// Opens the files of the profile; nothing is read or created yet.
    ///
    /// # Errors
    /// The name cannot be a profile's, or there is not set.
    pub(crate) fn of(paths: &Paths, profile: &str, clock: &Clock) -> Outcome<Self> {
        let profile = paths.profile(profile)?;
        Ok(Self {
            tokens: profile.tokens(),
            sign_in: profile.spotify_sign_in(),
            old: paths.old_spotify_token().ok(),
            now: clock.now().timestamp().as_second(),
            clock: clock.clone(),
        })
    }

    /// Unix time in seconds.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// The lock that several processes take to refresh the token.
    pub(crate) fn renewal(&self) -> PathBuf {
        self.tokens.with_file_name("spotify-renewal")
    }

    /// Reads the account's token. The file of the original program is imported once.
    ///
    /// # Errors
    /// The file cannot be read or parsed.
    pub(crate) fn read(&self) -> Outcome<AccountToken> {
        let whole = match atomic::read(&self.tokens, MAX_FILE_BYTES)? {
            Some(bytes) => object(&bytes).ok_or_else(|| {
                Problem::input(format!("{} is not a JSON object.", self.tokens.display()))
                    .next("Call spotify_auth to sign in again; the file is then set aside.")
            })?,
            None => Map::new(),
        };
        let own = whole.get("spotify").unwrap_or(&Value::Null);
        let token = AccountToken::of(own);
        if token.is_there() || own.flag("imported") {
            return Ok(token);
        }
        let Some(old) = self.old.as_deref().and_then(import) else {
            return Ok(token);
        };
        self.change(|own| {
            if !AccountToken::of(&Value::Object(own.clone())).is_there() {
                set(own, &old);
                own.insert("imported".to_owned(), true.into());
            }
        })?;
        Ok(old)
    }

    /// Writes the token; other keys stay.
    pub(crate) fn write(&self, token: &AccountToken) -> Outcome<()> {
        self.change(|own| set(own, token))
    }

    /// Deletes the token if it is still the refused one.
    pub(crate) fn forget(&self, refused: &AccountToken) -> Outcome<()> {
        self.change(|own| {
            if AccountToken::of(&Value::Object(own.clone())).refresh == refused.refresh {
                set(own, &AccountToken::default());
                // An imported token that was refused is not imported again.
                own.insert("imported".to_owned(), true.into());
            }
        })
    }

    fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) -> Outcome<()> {
        lock::update_as(&self.tokens, Access::Private, LOCK_TIMEOUT, |old| {
            let mut whole = match old.as_deref().map(object) {
                Some(Some(whole)) => whole,
                Some(None) => {
                    // Reading has reported it.
                    atomic::set_aside(&self.tokens, &self.clock, "")?;
                    Map::new()
                }
                None => Map::new(),
            };
            let own = whole.entry("spotify").or_insert_with(|| json!({}));
            if !own.is_object() {
                *own = json!({});
            }
            if let Some(own) = own.as_object_mut() {
                change(own);
            }
            whole.entry("google").or_insert_with(|| json!({}));
            Ok(serde_json::to_vec_pretty(&whole).ok())
        })
    }

    /// The pending sign-in, unless it has expired.
    pub(crate) fn pending(&self) -> Outcome<Option<PendingAuth>> {
        Ok(self
            .pending_within(MAX_PENDING_SECONDS)?
            .filter(|pending| !pending.verifier.is_empty()))
    }

    /// The pending sign-in if it is recent and belongs to this application and address.
    pub(crate) fn reusable(&self, client: &str, redirect: &str) -> Outcome<Option<PendingAuth>> {
        let same = |pending: &PendingAuth| pending.client == client && pending.redirect == redirect;
        Ok(self.pending_within(REUSABLE_SECONDS)?.filter(same))
    }

    fn pending_within(&self, age: i64) -> Outcome<Option<PendingAuth>> {
        let Some(bytes) = atomic::read(&self.sign_in, MAX_FILE_BYTES)? else {
            return Ok(None);
        };
        let value = Value::Object(object(&bytes).unwrap_or_default());
        let old = self.now.saturating_sub(value.whole("started").unwrap_or(0));
        let text = |key: &str| value.text(key).map(str::to_owned);
        let pending = || {
            Some(PendingAuth {
                state: text("state")?,
                verifier: text("verifier")?,
                redirect: text("redirect")?,
                client: text("client")?,
            })
        };
        Ok((-60..=age).contains(&old).then(pending).flatten())
    }

    /// Saves a pending sign-in.
    pub(crate) fn begin(&self, pending: &PendingAuth) -> Outcome<()> {
        let value = json!({"state": pending.state, "verifier": pending.verifier, "redirect": pending.redirect,
            "client": pending.client, "started": self.now});
        atomic::write(&self.sign_in, value.to_string().as_bytes(), Access::Private)
    }

    /// Removes the pending sign-in.
    pub(crate) fn end(&self) {
        // On failure it expires anyway.
        let _ = std::fs::remove_file(&self.sign_in);
    }
}

fn object(bytes: &[u8]) -> Option<Map<String, Value>> {
    if bytes.trim_ascii().is_empty() {
        return Some(Map::new());
    }
    serde_json::from_slice(bytes).ok()
}

fn set(own: &mut Map<String, Value>, token: &AccountToken) {
    let mut put = |key: &str, value: Value| own.insert(key.to_owned(), value);
    put("access_token", token.access.as_str().into());
    put("refresh_token", token.refresh.as_str().into());
    put("expires_at", token.expires.into());
    put("scope", token.scope.as_str().into());
    put("pkce", token.ours.into());
    if token.lacks_scope {
        put("scope_missing", true.into());
    } else {
        own.remove("scope_missing");
    }
}

/// Reads the token file of the original program, which has a lifetime in seconds and the time of issue.
fn import(path: &Path) -> Option<AccountToken> {
    let value = Value::Object(object(&atomic::read(path, MAX_FILE_BYTES).ok()??)?);
    let saved = value.number("_saved_at").unwrap_or(0.0);
    let lives = value.number("expires_in").unwrap_or(0.0);
    let mut token = AccountToken::of(&value);
    #[allow(clippy::cast_possible_truncation)]
    let expires = (saved + lives) as i64;
    token.expires = expires;
    token.ours = false;
    token.is_there().then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn store(dir: &Path) -> TokenStore {
        TokenStore {
            tokens: dir.join("p/tokens.json"),
            sign_in: dir.join("p/spotify-sign-in.json"),
            old: Some(dir.join("spotify_token.json")),
            now: 1_000_000,
            clock: Clock::default(),
        }
    }

    fn token(n: usize) -> AccountToken {
        AccountToken {
            access: format!("access{n}"),
            refresh: "refresh".to_owned(),
            expires: 1_003_600,
            scope: "a b".to_owned(),
            ours: true,
            lacks_scope: false,
        }
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn foreign_keys_are_kept_and_the_file_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        std::fs::create_dir(dir.path().join("p")).unwrap();
        std::fs::write(
            &store.tokens,
            r#"{"google": {"a": 1}, "else": [2], "spotify": {"mine": 3}}"#,
        )
        .unwrap();
        std::fs::set_permissions(&store.tokens, std::fs::Permissions::from_mode(0o644)).unwrap();
        store.write(&token(1)).unwrap();
        assert_eq!(store.read().unwrap(), token(1));
        assert_eq!(mode(&store.tokens), 0o600);
        let value: Value = serde_json::from_slice(&std::fs::read(&store.tokens).unwrap()).unwrap();
        assert_eq!(
            (
                value.whole("google/a"),
                value.whole("else/0"),
                value.whole("spotify/mine")
            ),
            (Some(1), Some(2), Some(3))
        );
        assert_eq!(value.whole("spotify/expires_at"), Some(1_003_600));
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        std::thread::scope(|scope| {
            for n in 0..8 {
                let store = &store;
                scope.spawn(move || {
                    store
                        .change(|own| {
                            own.insert(format!("key{n}"), n.into());
                        })
                        .unwrap();
                    store.write(&token(n)).unwrap();
                });
            }
        });
        let value: Value = serde_json::from_slice(&std::fs::read(&store.tokens).unwrap()).unwrap();
        for n in 0..8 {
            assert_eq!(value.whole(&format!("spotify/key{n}")), Some(n));
        }
        assert!(store.read().unwrap().access.starts_with("access"));
    }

    #[test]
    fn the_original_programs_file_is_imported_once() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        std::fs::write(dir.path().join("spotify_token.json"),
            r#"{"access_token": "old", "refresh_token": "old-refresh", "expires_in": 3600, "_saved_at": 1000.5, "scope": "x"}"#).unwrap();
        let token = store.read().unwrap();
        assert_eq!(
            (token.access.as_str(), token.expires, token.ours),
            ("old", 4_600, false)
        );
        store.forget(&token).unwrap();
        assert!(!store.read().unwrap().is_there());
    }

    #[test]
    fn a_pending_sign_in_has_an_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = store(dir.path());
        let pending = PendingAuth {
            state: "s".into(),
            verifier: "v".into(),
            redirect: "r".into(),
            client: "c".into(),
        };
        store.begin(&pending).unwrap();
        assert_eq!(mode(&store.sign_in), 0o600);
        assert_eq!(store.reusable("c", "r").unwrap(), Some(pending.clone()));
        assert_eq!(store.reusable("other", "r").unwrap(), None);
        store.now += 3_000;
        assert_eq!(
            (store.reusable("c", "r").unwrap(), store.pending().unwrap()),
            (None, Some(pending))
        );
        store.now += 601;
        assert_eq!(store.pending().unwrap(), None);
        store.end();
        assert!(!store.sign_in.exists());
    }

    #[test]
    fn a_corrupt_file_is_reported_and_set_aside_on_write() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        std::fs::create_dir(dir.path().join("p")).unwrap();
        std::fs::write(&store.tokens, "{torn").unwrap();
        assert!(store.read().unwrap_err().what.contains("tokens.json"));
        store.write(&token(1)).unwrap();
        assert_eq!(store.read().unwrap(), token(1));
        let names: Vec<String> = std::fs::read_dir(dir.path().join("p"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            names
                .iter()
                .any(|name| name.starts_with("tokens.json.corrupt-")),
            "{names:?}"
        );
    }
}
