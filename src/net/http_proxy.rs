//! Plain HTTP through a proxy in the form that proxies expect: the whole address in the request line (RFC 9112 section 3.2.2). ureq always uses
//! CONNECT, which many proxies refuse for ports other than 443.

use ureq::Error;
use ureq::http::Uri;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, NextTimeout, Transport};

use crate::net::proxies::Proxy;

/// Wraps connections to a forwarding proxy in [`HttpProxyTransport`].
#[derive(Debug)]
pub(super) struct HttpProxyConnector(pub(super) Option<Proxy>);

impl<In: Transport> Connector<In> for HttpProxyConnector {
    type Out = HttpProxyTransport<In>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let lines = self
            .0
            .as_ref()
            .map(|proxy| ProxyHeaders::new(details.uri, proxy));
        Ok(chained.map(|inner| HttpProxyTransport {
            inner,
            lines,
            fresh: true,
        }))
    }
}

/// What is added to the head of each request.
struct ProxyHeaders {
    /// `http://host:port`, before the path.
    origin: String,
    /// The header line with the proxy's credentials, or empty.
    login: String,
}

impl ProxyHeaders {
    fn new(target: &Uri, proxy: &Proxy) -> Self {
        let authority = target
            .authority()
            .map_or("", |authority| authority.as_str());
        // The address may contain a user name and password, which the Host header must not.
        let host = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        Self {
            origin: format!("http://{host}"),
            login: proxy.login(),
        }
    }

    /// `POST /path HTTP/1.1` and the headers, rewritten for the proxy.
    fn rewrite(&self, head: &[u8]) -> Vec<u8> {
        let path = head
            .iter()
            .position(|byte| *byte == b' ')
            .map_or(0, |at| at + 1);
        let line = head
            .windows(2)
            .position(|pair| pair == b"\r\n")
            .map_or(head.len(), |at| at + 2);
        let part = |from: usize, to: usize| head.get(from..to).unwrap_or_default();
        [
            part(0, path),
            self.origin.as_bytes(),
            part(path, line),
            self.login.as_bytes(),
            part(line, head.len()),
        ]
        .concat()
    }
}

/// A connection to a forwarding proxy. Any other connection passes through unchanged.
pub(super) struct HttpProxyTransport<T> {
    inner: T,
    lines: Option<ProxyHeaders>,
    /// The next write starts a request.
    fresh: bool,
}

impl<T: Transport> std::fmt::Debug for HttpProxyTransport<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forwarded")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for HttpProxyTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let fresh = std::mem::take(&mut self.fresh);
        let Some(lines) = self.lines.as_ref().filter(|_| fresh) else {
            return self.inner.transmit_output(amount, timeout);
        };
        let head = self
            .inner
            .buffers()
            .output()
            .get(..amount)
            .unwrap_or_default();
        let whole = lines.rewrite(head);
        // The longer head may not fit into the buffer in one go.
        let room = self.inner.buffers().output().len().max(1);
        for piece in whole.chunks(room) {
            if let Some(place) = self.inner.buffers().output().get_mut(..piece.len()) {
                place.copy_from_slice(piece);
            }
            self.inner.transmit_output(piece.len(), timeout)?;
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        // A new request follows a response.
        self.fresh = true;
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::env::Env;
    use crate::net::proxies::ProxyRoute;

    #[test]
    fn the_request_line_names_the_server_and_the_proxy_gets_its_login() {
        let env = Env::from([("HTTP_PROXY", "http://me:a%20b@proxy:1")]);
        let route = ProxyRoute::for_url(&env, "http://x.test:81/v1").unwrap();
        let uri = "http://who@x.test:81/v1".parse().unwrap();
        let lines = ProxyHeaders::new(&uri, route.proxy.as_ref().unwrap());
        assert_eq!(
            String::from_utf8(
                lines.rewrite(b"POST /v1?a=b c HTTP/1.1\r\nhost: x.test\r\n\r\nbody")
            )
            .unwrap(),
            "POST http://x.test:81/v1?a=b c HTTP/1.1\r\nProxy-Authorization: Basic bWU6YSBi\r\nhost: x.test\r\n\r\nbody"
        );
    }
}
