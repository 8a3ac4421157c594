//! Finds out which era a server speaks, in the order that works with all of them: many settle it by the first message that they get.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::connection::{PROBE, ServerEvent, ServerFacts, Spoken, Wait};
use super::inbound::Inbound;
use super::legacy;
use super::modern::{self, UNSUPPORTED_VERSION, Versions};
use super::router::{Heard, too_late};
use super::stdio::{Start, Stdio, gone, is_gone};
use super::transport::{Failure, Loss, Request, Transport};
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem};
use crate::formats::json_rpc::{Incoming, RpcError};
use crate::mcp::revision::MODERN;

/// Silence after which a server that has shown a sign of life does not know the probe.
const SILENCE: Duration = Duration::from_secs(2);
/// How long the handshake takes of a server that has had all this time to start.
const HANDSHAKE: Duration = Duration::from_secs(1);
/// How long one that has answered it takes for what comes next: the folders that it may use, and its lists.
const LISTS: Duration = Duration::from_secs(2);
/// How often it is looked whether there is a sign of life.
const LOOK: Duration = Duration::from_millis(50);

pub(super) const DISCOVER: &str = "server/discover";
pub(super) const INITIALIZE: &str = "initialize";

/// A server that can be asked.
pub(super) struct Live {
    pub transport: Arc<dyn Transport>,
    pub facts: ServerFacts,
}

/// What opening a connection needs.
pub(super) struct Opening<'a> {
    pub inbound: &'a Arc<Inbound>,
    pub env: &'a Env,
    pub supervisor: Option<&'a Path>,
    pub ids: &'a AtomicU64,
    pub log_level: Option<&'a str>,
    /// The entry settles the revision.
    pub protocol: Option<&'a str>,
    /// What an earlier connection found.
    pub remembered: Option<&'a Spoken>,
    pub wait: Wait<'a>,
}

/// How a probe ended.
enum Probed {
    Found(Box<ServerFacts>),
    /// The process died on it.
    Died,
}

impl Opening<'_> {
    pub(super) fn id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The parameters of a request of the modern era that has none of its own.
    pub(super) fn meta(&self) -> Value {
        modern::with_meta(json!({}), self.inbound, self.log_level)
    }

    pub(super) fn server(&self) -> &str {
        &self.inbound.server
    }

    /// Sends a request and waits for its result.
    pub(super) fn ask(
        &self,
        transport: &dyn Transport,
        method: &str,
        params: &Value,
        version: Option<&str>,
    ) -> Result<Value, Failure> {
        let request = Request {
            id: self.id(),
            method,
            params,
            version,
            headers: &[],
        };
        transport.request(&request, self.wait)
    }

    /// The handshake, with `version` asked for.
    pub(super) fn greet(
        &self,
        transport: &Arc<dyn Transport>,
        version: &str,
    ) -> Result<Live, Failure> {
        let hello = legacy::hello(self.inbound, version);
        let answer = self.ask(&**transport, INITIALIZE, &hello, None)?;
        Ok(Live {
            facts: legacy::greeted(&answer, self.inbound, &**transport)?,
            transport: Arc::clone(transport),
        })
    }

    /// A server of the modern era: what it says of itself. Where the entry settles the era, it need not say anything.
    pub(super) fn discover(
        &self,
        transport: &Arc<dyn Transport>,
        is_settled: bool,
    ) -> Result<Live, Failure> {
        let result = self.ask(&**transport, DISCOVER, &self.meta(), Some(MODERN));
        let facts = match result {
            Ok(result) if is_settled => modern::facts(&result),
            Ok(result) => {
                match modern::common(result.get("supportedVersions"), self.server()).transpose()? {
                    Some(Versions::Modern) => modern::facts(&result),
                    _ => {
                        let words = format!("{} speaks another version by now.", self.server());
                        return Err(Failure::Status(200, None, Problem::network(words).into()));
                    }
                }
            }
            Err(Failure::Rpc(error) | Failure::Status(_, Some(error), _)) if is_settled => {
                self.undiscovered(&error)?
            }
            Err(failure) => return Err(failure),
        };
        Ok(Live {
            transport: Arc::clone(transport),
            facts,
        })
    }

    /// A server of the modern era that does not tell what it can.
    fn undiscovered(&self, error: &RpcError) -> Outcome<ServerFacts> {
        if error.code == UNSUPPORTED_VERSION {
            let supported = error.data.as_ref().and_then(|data| data.get("supported"));
            match modern::common(supported, self.server()) {
                Some(Err(problem)) => return Err(problem),
                Some(Ok(Versions::Legacy(theirs))) => {
                    return Err(modern::no_common(self.server(), theirs));
                }
                Some(Ok(Versions::Modern)) | None => {}
            }
        }
        Ok(modern::facts(&Value::Null))
    }

    /// Opens a connection to a process.
    pub(super) fn stdio(&self, start: &Start<'_>) -> Outcome<Live> {
        let begin = || Stdio::start(start, self.inbound, self.env, self.supervisor);
        let settled = |version: &str, is_settled: bool| -> Result<Live, Failure> {
            let transport: Arc<dyn Transport> = begin()?;
            let live = match version {
                MODERN => self.discover(&transport, is_settled),
                version => self.greet(&transport, version),
            };
            live.inspect_err(|_| transport.close())
        };
        let told = |failure: Failure| {
            let died = is_gone(&failure);
            let problem = failure.problem(self.server(), INITIALIZE);
            match died {
                true => gone(
                    self.inbound,
                    problem.next("Run its command by hand to see what is wrong."),
                ),
                false => gone(self.inbound, problem),
            }
        };
        if let Some(version) = self.protocol {
            return settled(version, true).map_err(told);
        }
        if let Some(spoken) = self.remembered {
            match settled(&spoken.version, false) {
                Ok(live) => return Ok(live),
                Err(Failure::Other(problem)) if problem.is_cancelled() => return Err(problem),
                // It may have been updated since.
                Err(_) => {}
            }
        }
        let stdio = begin()?;
        let probed = self.probe(&stdio).inspect_err(|_| stdio.close());
        match probed.map_err(told)? {
            Probed::Found(facts) => Ok(Live {
                transport: stdio,
                facts: *facts,
            }),
            Probed::Died => settled(legacy::newest(), true).map_err(told),
        }
    }

    /// Sends the probe, and the handshake when nothing comes of it.
    fn probe(&self, stdio: &Arc<Stdio>) -> Result<Probed, Failure> {
        let (mut probe, hello) = (self.id(), self.id());
        let second_probe = self.id();
        let pending = stdio.open(&[probe, hello, second_probe])?;
        let _wake = pending.wake_by(self.wait.stop);
        let whole_until = Instant::now() + self.wait.limit;
        let send_probe = |id: u64| stdio.send(Incoming::request(id, DISCOVER, &self.meta()));
        let mut is_greeted = false;
        let settled_by = |at: Instant| {
            (self.inbound).tell(ServerEvent::SettledBy(at));
        };
        let mut told = None;
        let greet = |version: &str, is_greeted: &mut bool| {
            if !std::mem::replace(is_greeted, true) {
                let params = legacy::hello(self.inbound, version);
                stdio.send(Incoming::request(hello, INITIALIZE, &params));
            }
        };
        send_probe(probe);
        loop {
            let now = Instant::now();
            let silent_until = match stdio.signs().first() {
                Some(first) => first + SILENCE,
                None => stdio.signs().started + PROBE,
            };
            if !is_greeted && told.replace(silent_until) != Some(silent_until) {
                settled_by(silent_until + HANDSHAKE);
            }
            if now >= whole_until {
                let wait = self.wait;
                return Err(too_late(self.server(), INITIALIZE, wait, false).into());
            }
            if !is_greeted && now >= silent_until {
                greet(legacy::newest(), &mut is_greeted);
            }
            let until = match is_greeted {
                true => whole_until,
                false => whole_until.min(now + LOOK),
            };
            let (id, result) = match pending.next(until) {
                None | Some((_, Heard::Progress(_))) => continue,
                Some((_, Heard::Stopped)) => return Err(Problem::cancelled().into()),
                // Some answer the probe with an error, and end all the same.
                Some((_, Heard::Failed(Failure::Lost(Loss::Gone, _)))) => return Ok(Probed::Died),
                Some((_, Heard::Failed(failure))) => return Err(failure),
                Some((id, Heard::Answer(result))) => (id, result),
            };
            if id == hello {
                match result {
                    Ok(answer) => {
                        let facts = legacy::greeted(&answer, self.inbound, &**stdio)?;
                        settled_by(Instant::now() + LISTS);
                        return Ok(Probed::Found(facts.into()));
                    }
                    // It took the probe for the beginning, and its answer is still to come or was none.
                    Err(error) if error.code == UNSUPPORTED_VERSION && probe != second_probe => {
                        probe = second_probe;
                        send_probe(probe);
                    }
                    Err(error) => return Err(Failure::Rpc(error)),
                }
                continue;
            }
            let versions = match &result {
                Ok(result) => modern::common(result.get("supportedVersions"), self.server()),
                Err(error) if modern::is_of_modern(error.code) => {
                    let supported = error.data.as_ref().and_then(|data| data.get("supported"));
                    let versions = modern::common(supported, self.server());
                    Some(versions.unwrap_or(Ok(Versions::Modern)))
                }
                Err(error) if id == second_probe => return Err(Failure::Rpc(error.clone())),
                Err(_) => None,
            };
            match versions.transpose()? {
                Some(Versions::Modern) => {
                    let result = result.unwrap_or_default();
                    return Ok(Probed::Found(modern::facts(&result).into()));
                }
                Some(Versions::Legacy(version)) => greet(version, &mut is_greeted),
                None => greet(legacy::newest(), &mut is_greeted),
            }
        }
    }
}

/// Opens a connection over a transport that somebody else has: with the handshake.
pub(super) fn given(opening: &Opening<'_>, transport: &Arc<dyn Transport>) -> Outcome<Live> {
    let live = opening.greet(transport, legacy::newest());
    live.map_err(|failure| failure.problem(opening.server(), INITIALIZE))
}
