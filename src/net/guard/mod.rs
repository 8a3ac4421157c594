//! Guards requests to addresses from a model or a page against server-side request forgery: none of them reaches a private network, whatever the host
//! is called.
//!
//! A name is resolved here, once, and the connection goes to the addresses that were checked, so a DNS server that answers differently the second
//! time (DNS rebinding) gains nothing. Behind a proxy of the user's environment the lookup is only a check: the proxy resolves names itself, and
//! restricting it is its own task. Names that cannot be resolved here are then left to the proxy; local names, numeric addresses and names that
//! resolve to private addresses are still refused.
//!
//! Base addresses of services (`MARVIN_URL_<ID>`) are the user's own choice and are not checked.
//! `ranges` says what is private, `allow` what the user allows. Called by the guarded client, and by the tools that start a browser or yt-dlp.

mod allow;
mod ranges;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};

use crate::base::cancel::Cancel;
use crate::base::env::Env;
use crate::base::problem::{Outcome, Problem, io_words};
use crate::base::variables::MARVIN_ALLOW_PRIVATE;
use crate::base::word_list::WordList;
use crate::formats::address::{Address, Host};
use allow::Allowed;

/// Suffixes of names on this machine and the local network, whoever resolves them.
const LOCAL: WordList =
    WordList("localhost local localdomain internal intranet home.arpa lan corp private");

/// Resolves a host name; the port becomes part of each address.
pub(crate) type Resolver = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Guard {
    allowed: Vec<Allowed>,
    names: Resolver,
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

impl Guard {
    /// A guard with the exceptions of `MARVIN_ALLOW_PRIVATE`, from the environment or config.yaml.
    ///
    /// # Errors
    /// `Config` when the variable has an entry that cannot be read.
    pub(crate) fn new(env: &Env) -> Outcome<Self> {
        Ok(Self {
            allowed: allow::entries(MARVIN_ALLOW_PRIVATE.read(env).unwrap_or_default())?,
            names: Arc::new(|name, port| Ok((name, port).to_socket_addrs()?.collect())),
        })
    }

    #[cfg(test)]
    #[must_use]
    pub(crate) fn with_resolver(mut self, names: Resolver) -> Self {
        self.names = names;
        self
    }

    /// The checked addresses to which `address` may connect; empty when only the proxy can resolve the name.
    ///
    /// # Errors
    /// `Refused` for a private address; `Network` when the name cannot be resolved and there is no proxy; `Cancelled`.
    pub(crate) fn resolve_allowed(
        &self,
        address: &Address,
        proxied: bool,
        limit: Duration,
        stop: &Cancel,
    ) -> Outcome<Vec<SocketAddr>> {
        let (host, port) = (&address.host, address.port);
        let canonical = match host {
            Host::Ip(ip) => Host::Ip(ip.to_canonical()),
            Host::Name(name) => Host::Name(name.clone()),
        };
        let named = self.allowed.iter().any(|one| one.names(&canonical, port));
        let name = match host {
            Host::Ip(ip) => {
                self.judge_ip(host, *ip, port, named, false)?;
                return Ok(vec![(*ip, port).into()]);
            }
            Host::Name(name) => name,
        };
        let local = !named && is_local(name);
        // No exception can apply, so the name is not even resolved.
        if local && self.allowed.is_empty() {
            return Err(refused(host, "a name of this machine or its network"));
        }
        let found = match self.look_up(name, port, limit, stop) {
            Ok(found) if !found.is_empty() => found,
            Err(problem) if problem.is_cancelled() => return Err(problem),
            _ if local => return Err(refused(host, "a name of this machine or its network")),
            _ if proxied => return Ok(Vec::new()),
            Ok(_) => return Err(unknown(name)),
            Err(problem) => return Err(problem),
        };
        for place in &found {
            self.judge_ip(host, place.ip(), port, named, local)?;
        }
        Ok(found)
    }

    fn judge_ip(
        &self,
        host: &Host,
        ip: IpAddr,
        port: u16,
        named: bool,
        local: bool,
    ) -> Outcome<()> {
        if named || self.allowed.iter().any(|one| one.holds(ip, port)) {
            return Ok(());
        }
        match ranges::private(ip) {
            Some(what) => Err(refused(host, what)),
            None if local => Err(refused(host, "a name of this machine or its network")),
            None => Ok(()),
        }
    }

    /// Resolves on a thread of its own: a lookup cannot be interrupted, only abandoned.
    fn look_up(
        &self,
        name: &str,
        port: u16,
        limit: Duration,
        stop: &Cancel,
    ) -> Outcome<Vec<SocketAddr>> {
        stop.check()?;
        let (tell, told) = bounded(2);
        let (names, own, answer) = (Arc::clone(&self.names), name.to_owned(), tell.clone());
        thread::Builder::new()
            .name("look-up".into())
            .spawn(move || {
                let _ = answer.try_send(Some(names(&own, port)));
            })
            .map_err(|error| Problem::system("Cannot look a name up", error))?;
        let _closer = stop.on_fire(move || {
            let _ = tell.try_send(None);
        });
        match told.recv_timeout(limit) {
            Ok(Some(Ok(found))) => Ok(found),
            Ok(Some(Err(error))) => Err(unknown(name).because(io_words(&error))),
            Ok(None) => Err(Problem::cancelled()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(Problem::network(format!(
                    "Looking up {name} took longer than {} s.",
                    limit.as_secs()
                ))
                .next("Check the network connection, or try again later."))
            }
        }
    }
}

/// True for names of this machine and its network, and for names without a dot, which a search list of the network completes.
fn is_local(name: &str) -> bool {
    !name.contains('.')
        || LOCAL.iter().any(|end| {
            name.strip_suffix(end)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
}

fn refused(host: &Host, what: &str) -> Problem {
    Problem::refused(format!(
        "{host} is {}{what}; such addresses are not opened for a model or a page.",
        match host {
            Host::Name(_) if !what.starts_with("a name") => "a name for ",
            Host::Name(_) | Host::Ip(_) => "",
        }
    ))
    .next("If it can be trusted, the user can start Marvin with MARVIN_ALLOW_PRIVATE naming the host, host:port or network.")
}

fn unknown(name: &str) -> Problem {
    Problem::network(format!("The host {name} is not known."))
        .next("Check its spelling and the network connection.")
}
