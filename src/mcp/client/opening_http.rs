//! Finds out over HTTP which era a server speaks, and by which of the two transports.

use std::sync::Arc;

use serde_json::Value;

use super::http::event_stream::EventStream;
use super::http::streamable::Streamable;
use super::http::web::Web;
use super::legacy;
use super::modern::{self, Versions};
use super::opening::{DISCOVER, INITIALIZE, Live, Opening};
use super::transport::{Failure, Transport};
use crate::base::problem::Outcome;
use crate::mcp::revision::MODERN;

impl Opening<'_> {
    /// Opens a connection to an address.
    pub(super) fn http(&self, web: &Arc<Web>, by_event_stream: bool) -> Outcome<Live> {
        let told = |failure: Failure| failure.problem(self.server(), INITIALIZE);
        if by_event_stream {
            return self.event_stream(web).map_err(told);
        }
        if let Some(version) = self.protocol {
            return self.settled(web, version, true).map_err(told);
        }
        if let Some(spoken) = self.remembered {
            let live = match spoken.by_event_stream {
                true => self.event_stream(web),
                false => self.settled(web, &spoken.version, false),
            };
            match live {
                Ok(live) => return Ok(live),
                // It may have been updated since, and says so.
                Err(Failure::Status(..) | Failure::Rpc(_)) => {}
                Err(failure) => return Err(told(failure)),
            }
        }
        self.probe_http(web).map_err(told)
    }

    fn settled(&self, web: &Arc<Web>, version: &str, is_settled: bool) -> Result<Live, Failure> {
        let transport: Arc<dyn Transport> = Streamable::new(Arc::clone(web));
        match version {
            MODERN => self.discover(&transport, is_settled),
            version => self.greet(&transport, version),
        }
    }

    fn event_stream(&self, web: &Arc<Web>) -> Result<Live, Failure> {
        let transport: Arc<dyn Transport> = EventStream::open(web, self.wait)?;
        let mut live = self.greet(&transport, legacy::newest())?;
        live.facts.by_event_stream = true;
        Ok(live)
    }

    fn probe_http(&self, web: &Arc<Web>) -> Result<Live, Failure> {
        let transport: Arc<dyn Transport> = Streamable::new(Arc::clone(web));
        let ask = || self.ask(&*transport, DISCOVER, &self.meta(), Some(MODERN));
        let mut result = ask();
        if let Err(failure) = &result
            && failure.code().is_some_and(modern::is_of_modern)
        {
            match self.versions_of(failure).transpose()? {
                Some(Versions::Legacy(version)) => return self.handshake(web, version),
                // Only a server of this era answers like that; once more, and its word counts.
                Some(Versions::Modern) | None => {
                    result = ask();
                    if let Err(failure) = result {
                        return Err(failure);
                    }
                }
            }
        }
        match result {
            Ok(result) => {
                let versions = modern::common(result.get("supportedVersions"), self.server());
                match versions.transpose()? {
                    Some(Versions::Modern) => Ok(Live {
                        facts: modern::facts(&result),
                        transport,
                    }),
                    Some(Versions::Legacy(version)) => self.handshake(web, version),
                    None => self.handshake(web, legacy::newest()),
                }
            }
            Err(Failure::Status(200..500, ..) | Failure::Rpc(_)) => {
                self.handshake(web, legacy::newest())
            }
            Err(failure) => Err(failure),
        }
    }

    fn versions_of(&self, failure: &Failure) -> Option<Outcome<Versions>> {
        let (Failure::Rpc(error) | Failure::Status(_, Some(error), _)) = failure else {
            return None;
        };
        let supported: Option<&Value> = error.data.as_ref()?.get("supported");
        modern::common(supported, self.server())
    }

    /// The handshake; where even that is unknown, the transport of 2024-11-05.
    fn handshake(&self, web: &Arc<Web>, version: &str) -> Result<Live, Failure> {
        let transport: Arc<dyn Transport> = Streamable::new(Arc::clone(web));
        match self.greet(&transport, version) {
            Err(failure @ Failure::Status(400 | 404 | 405, None, _)) => {
                self.event_stream(web).map_err(|_| failure)
            }
            other => other,
        }
    }
}
