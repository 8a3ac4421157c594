//! An idle timeout inside ureq: how long one read of a body may wait, independent of the total time.
//!
//! ureq's own timeouts apply either to whole phases, which would cut off a healthy long stream, or to every read, which would also limit the wait for
//! the first byte. This connector is the last of the chain and only changes how long a body read may wait.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, NextTimeout, Transport, time::Duration as Wait,
};
use ureq::{Error, Timeout};

/// Called when a connection is open, before the request goes over it.
#[derive(Clone)]
pub(crate) struct ConnectHook(Arc<dyn Fn() + Send + Sync>);

impl ConnectHook {
    pub(crate) fn new(call: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }

    pub(crate) fn call(&self) {
        (self.0)();
    }
}

impl fmt::Debug for ConnectHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ConnectHook")
    }
}

/// The idle timeout, shared by every connection of a client and changeable between reads; and who wants to know of the next connection.
#[derive(Debug, Clone)]
pub(super) struct IdleTimeout {
    millis: Arc<AtomicU64>,
    usual: Duration,
    on_connect: Arc<Mutex<Option<ConnectHook>>>,
}

/// The idle timeout for the end of a body whose content is complete.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

impl IdleTimeout {
    pub(super) fn new(limit: Duration) -> Self {
        let silence = Self {
            millis: Arc::default(),
            usual: limit,
            on_connect: Arc::default(),
        };
        silence.reset();
        silence
    }

    pub(super) fn set(&self, limit: Duration) {
        self.millis.store(
            u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    pub(super) fn reset(&self) {
        self.set(self.usual);
    }

    /// `hook` is called for the next connection; `None` takes it back.
    pub(super) fn set_hook(&self, hook: Option<ConnectHook>) {
        *self
            .on_connect
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = hook;
    }

    fn connected(&self) {
        let hook = self
            .on_connect
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(hook) = hook {
            hook.call();
        }
    }

    fn get(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
}

/// Wraps the connection of the previous connector in [`IdleTimeoutTransport`].
#[derive(Debug)]
pub(super) struct IdleTimeoutConnector(pub(super) IdleTimeout);

impl<In: Transport> Connector<In> for IdleTimeoutConnector {
    type Out = IdleTimeoutTransport<In>;

    fn connect(
        &self,
        _: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if chained.is_some() {
            self.0.connected();
        }
        Ok(chained.map(|inner| IdleTimeoutTransport {
            inner,
            silence: self.0.clone(),
        }))
    }
}

/// A connection with an idle timeout for body reads.
#[derive(Debug)]
pub(super) struct IdleTimeoutTransport<T> {
    inner: T,
    silence: IdleTimeout,
}

impl<T: Transport> Transport for IdleTimeoutTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, Error> {
        // While headers are awaited, the timeout is that of the response; afterwards there is none, so the idle timeout applies, unless the request has a
        // limit of its own for the body.
        let idle = self.silence.get();
        let applies = match timeout.reason {
            Timeout::RecvResponse => false,
            Timeout::RecvBody => idle <= DRAIN_TIMEOUT,
            _ => true,
        };
        let idle = Wait::from(idle);
        if applies && timeout.after > idle {
            timeout.after = idle;
            timeout.reason = Timeout::RecvBody;
        }
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

/// The port of a URL; that of its scheme where it names none.
pub(crate) fn port_of(uri: &Uri) -> u16 {
    let of_scheme = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    uri.port_u16().unwrap_or(of_scheme)
}

/// How many addresses of a host are tried; ureq's own limit.
const MAX_ADDRESSES: usize = 16;

/// A resolver that parses numeric addresses itself, because ureq starts a thread for every lookup.
#[derive(Debug, Default)]
pub(super) struct Lookup {
    resolver: DefaultResolver,
    /// The proxy that all connections go to.
    via: Option<Uri>,
    /// The fixed result of every lookup.
    pinned: Option<Vec<SocketAddr>>,
}

impl Lookup {
    /// A resolver that returns the address of `via` for every name.
    pub(super) fn through(via: Option<Uri>) -> Self {
        Self {
            resolver: DefaultResolver::default(),
            via,
            pinned: None,
        }
    }

    /// A resolver that always returns these addresses.
    pub(super) fn pinned(addresses: Vec<SocketAddr>) -> Self {
        Self {
            pinned: Some(addresses),
            ..Self::default()
        }
    }
}

impl Resolver for Lookup {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        if let Some(pinned) = &self.pinned {
            let mut addresses = self.empty();
            for address in pinned.iter().take(MAX_ADDRESSES) {
                addresses.push(*address);
            }
            return if pinned.is_empty() {
                Err(Error::HostNotFound)
            } else {
                Ok(addresses)
            };
        }
        let uri = self.via.as_ref().unwrap_or(uri);
        let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let Ok(ip) = host.parse::<std::net::IpAddr>() else {
            return self.resolver.resolve(uri, config, timeout);
        };
        let port = port_of(uri);
        let mut addresses = self.empty();
        addresses.push((ip, port).into());
        Ok(addresses)
    }
}
