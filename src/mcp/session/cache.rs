//! `mcp-cache.json`: what servers offered the last time, so that a session can offer it before they are started.

use std::time::Duration;

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::base::problem::{Outcome, Problem};
use crate::disk::atomic;
use crate::disk::lock;
use crate::disk::paths::Paths;
use crate::mcp::client::connection::{Freshness, ServerFacts, Spoken};
use crate::mcp::config::entry::ServerEntry;

/// Largest file in bytes.
const MAX_FILE: u64 = 64 << 20;
/// Bytes that are kept of one server.
const MAX_SERVER: usize = 4 << 20;
/// Servers that are kept.
const MAX_SERVERS: usize = 100;
/// How long to wait for another process that writes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// What a server says and offers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    pub spoken: Option<Spoken>,
    /// `{name, version}`, for showing.
    pub info: Value,
    pub instructions: Option<String>,
    pub has_resources: bool,
    pub tools: Vec<Value>,
    pub prompts: Vec<Value>,
    /// Until then, in Unix seconds, it need not be asked for again.
    pub fresh_until: i64,
    /// The server says that all of it is the same for everybody.
    pub is_public: bool,
}

impl Snapshot {
    /// `freshness` is that of the lists; what the server says of itself has its own.
    pub(crate) fn of(
        facts: &ServerFacts,
        tools: Vec<Value>,
        prompts: Vec<Value>,
        freshness: Freshness,
    ) -> Self {
        let freshness = facts.freshness.strictest(freshness);
        let ttl = i64::try_from(freshness.ttl.as_secs()).unwrap_or(i64::MAX);
        Self {
            spoken: Some(facts.spoken()),
            info: facts.info.clone(),
            instructions: facts.instructions.clone(),
            has_resources: facts.has("resources"),
            tools,
            prompts,
            fresh_until: now().saturating_add(ttl),
            is_public: facts.is_modern && !freshness.is_private,
        }
    }

    pub(super) fn is_fresh(&self) -> bool {
        !self.is_out_of_date(0)
    }

    /// Whether it has not held for so many seconds.
    pub(super) fn is_out_of_date(&self, seconds: i64) -> bool {
        self.fresh_until.saturating_add(seconds) <= now()
    }

    /// Whether it says what `old` says, and holds at most `seconds` longer.
    pub(crate) fn only_prolongs(&self, old: &Self, seconds: i64) -> bool {
        self.fresh_until.saturating_sub(old.fresh_until) <= seconds
            && Self {
                fresh_until: self.fresh_until,
                ..old.clone()
            } == *self
    }
}

fn now() -> i64 {
    Timestamp::now().as_second()
}

/// What a server is remembered under: its entry, and the values that its variables have now. Another key for a server may show other tools.
pub(crate) fn key(entry: &ServerEntry) -> String {
    let text = format!("{}\n{:?}", entry.hash, entry.reach);
    let hash = digest(&SHA256, text.as_bytes());
    hash.as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// All that is remembered. Of most servers nothing is read but their names.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct KnownServers {
    /// The last one that was written stands at the end.
    servers: Vec<KnownServer>,
}

#[derive(Serialize, Deserialize)]
struct KnownServer {
    key: String,
    /// A [`Snapshot`].
    snapshot: Box<RawValue>,
}

impl KnownServers {
    /// A file that cannot be understood is as good as none: it is written again.
    pub(crate) fn read(paths: &Paths) -> Self {
        let read = || {
            let bytes = atomic::read(&paths.mcp_cache().ok()?, MAX_FILE).ok()??;
            Self::parse(&bytes)
        };
        read().unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        // Text is checked for UTF-8 once, bytes for each server again.
        serde_json::from_str(std::str::from_utf8(bytes).ok()?).ok()
    }

    /// What is remembered under this key for the account that is signed in: what the server offered it, or what it offers everybody.
    pub(crate) fn find(&self, key: &str, account: Option<&str>) -> Option<Snapshot> {
        let under = |key: &str| -> Option<Snapshot> {
            let known = self.servers.iter().find(|known| known.key == key)?;
            serde_json::from_str(known.snapshot.get()).ok()
        };
        match account {
            None => under(key),
            Some(account) => under(&of_account(key, account))
                .or_else(|| under(key).filter(|snapshot| snapshot.is_public)),
        }
    }

    fn insert(&mut self, key: String, snapshot: Option<Box<RawValue>>) {
        self.servers.retain(|known| known.key != key);
        let known = snapshot.map(|snapshot| KnownServer { key, snapshot });
        self.servers.extend(known);
        let surplus = self.servers.len().saturating_sub(MAX_SERVERS);
        self.servers.drain(..surplus);
    }
}

fn of_account(key: &str, account: &str) -> String {
    format!("{key}:{account}")
}

/// Remembers a server; nothing of one that offers too much.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(
    paths: &Paths,
    key: &str,
    account: Option<&str>,
    snapshot: &Snapshot,
) -> Outcome<()> {
    let key = match account.filter(|_| !snapshot.is_public) {
        Some(account) => of_account(key, account),
        None => key.to_owned(),
    };
    let unwritten =
        |error| Problem::internal("The cache of MCP servers cannot be written.").because(error);
    let snapshot = to_raw_value(snapshot).map_err(unwritten)?;
    let snapshot = Some(snapshot).filter(|snapshot| snapshot.get().len() <= MAX_SERVER);
    lock::update(&paths.mcp_cache()?, LOCK_TIMEOUT, |old| {
        let mut known = old
            .and_then(|bytes| KnownServers::parse(&bytes))
            .unwrap_or_default();
        known.insert(key, snapshot);
        serde_json::to_vec(&known).map(Some).map_err(unwritten)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::env::Env;

    #[test]
    fn only_more_time_is_no_reason_to_write() {
        let old = Snapshot {
            tools: vec![json!({"name": "t"})],
            fresh_until: 1_000,
            ..Snapshot::default()
        };
        let until = |fresh_until: i64| Snapshot {
            fresh_until,
            ..old.clone()
        };
        assert!(until(1_060).only_prolongs(&old, 60));
        assert!(!until(1_061).only_prolongs(&old, 60));
        let other = Snapshot {
            tools: Vec::new(),
            ..old.clone()
        };
        assert!(!other.only_prolongs(&old, 60));
    }

    #[test]
    fn what_is_written_is_read_and_a_broken_file_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap())]);
        let paths = Paths::new(&env);
        assert!(KnownServers::read(&paths).servers.is_empty());
        std::fs::write(dir.path().join("mcp-cache.json"), "{\"servers\": [").unwrap();
        let snapshot = Snapshot {
            tools: vec![json!({"name": "t"})],
            instructions: Some("Be quick.".to_owned()),
            spoken: Some(Spoken {
                version: "2025-06-18".to_owned(),
                by_event_stream: true,
            }),
            fresh_until: now() + 60,
            ..Snapshot::default()
        };
        assert!(snapshot.is_fresh());
        for n in 0..=MAX_SERVERS {
            write(&paths, &format!("k{n}"), None, &snapshot).unwrap();
        }
        let all = KnownServers::read(&paths);
        let last = all.find(&format!("k{MAX_SERVERS}"), None);
        assert_eq!(last, Some(snapshot));
        assert_eq!(
            (all.servers.len(), all.find("k0", None)),
            (MAX_SERVERS, None)
        );
    }

    #[test]
    fn what_one_account_was_offered_is_not_offered_to_another() {
        let dir = tempfile::tempdir().unwrap();
        let env = Env::from([("MARVIN_CONFIG_DIR", dir.path().to_str().unwrap())]);
        let paths = Paths::new(&env);
        let snapshot = |name: &str, is_public: bool| Snapshot {
            tools: vec![json!({"name": name})],
            is_public,
            ..Snapshot::default()
        };
        let (ada, anybody) = (snapshot("of_ada", false), snapshot("of_all", true));
        write(&paths, "k", Some("ada"), &ada).unwrap();
        let all = KnownServers::read(&paths);
        assert_eq!(all.find("k", Some("ada")), Some(ada.clone()));
        assert_eq!(all.find("k", Some("bob")), None);
        assert_eq!(all.find("k", None), None);
        write(&paths, "k", Some("bob"), &anybody).unwrap();
        let all = KnownServers::read(&paths);
        assert_eq!(all.find("k", Some("ada")), Some(ada));
        assert_eq!(all.find("k", Some("bob")), Some(anybody.clone()));
        assert_eq!(all.find("k", None), Some(anybody));
        // What a server said before anybody signed in, and not of everybody, is that of nobody.
        write(&paths, "k", None, &snapshot("of_nobody", false)).unwrap();
        assert_eq!(KnownServers::read(&paths).find("k", Some("bob")), None);
    }

    #[test]
    fn what_holds_for_the_shortest_time_and_for_the_fewest_counts() {
        let freshness = |seconds: u64, is_private: bool| Freshness {
            ttl: Duration::from_secs(seconds),
            is_private,
        };
        for (facts, lists, seconds, is_public) in [
            (freshness(3_600, false), freshness(60, false), 60, true),
            (freshness(60, false), freshness(3_600, true), 60, false),
            (freshness(60, true), freshness(60, false), 60, false),
        ] {
            let facts = ServerFacts {
                is_modern: true,
                freshness: facts,
                ..ServerFacts::default()
            };
            let snapshot = Snapshot::of(&facts, Vec::new(), Vec::new(), lists);
            let left = snapshot.fresh_until - now();
            assert!((seconds - 5..=seconds).contains(&left), "{left}");
            assert_eq!(snapshot.is_public, is_public);
        }
    }
}
