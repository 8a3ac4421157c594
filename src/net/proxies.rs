//! The route to a server: the proxy of the environment, and the trusted certificates.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ureq::http::Uri;

use crate::base::env::Env;
use crate::base::open;
use crate::base::problem::{Outcome, Problem};
use crate::base::variables::{ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE};
use crate::net::ip_range::IpRange;
use crate::net::transport::port_of;

/// How to reach one server.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProxyRoute {
    pub proxy: Option<Proxy>,
    /// Certificates (PEM) to trust instead of the built-in roots.
    pub roots: Option<Vec<u8>>,
    /// Connect only to these addresses, which were checked, without another lookup.
    pub pinned: Option<Vec<SocketAddr>>,
}

#[derive(Clone)]
pub(crate) struct Proxy {
    pub variable: &'static str,
    /// Its host and port, without name and password.
    pub host_port: String,
    /// It forwards requests as they are; otherwise it opens tunnels.
    pub(super) forwards: bool,
    pub(super) inner: ureq::Proxy,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.host_port, self.variable)
    }
}

impl Proxy {
    /// The header line with its credentials, or empty.
    pub(super) fn login(&self) -> String {
        let (name, password) = (self.inner.username(), self.inner.password());
        if name.is_none() && password.is_none() {
            return String::new();
        }
        let both = format!(
            "{}:{}",
            name.unwrap_or_default(),
            password.unwrap_or_default()
        );
        format!("Proxy-Authorization: Basic {}\r\n", STANDARD.encode(both))
    }
}

/// Largest certificate file in bytes; the bundle of a whole system has less than a megabyte.
const ROOTS_CAP: u64 = 16 << 20;

impl ProxyRoute {
    /// The route to `url`: the proxy is `HTTP_PROXY` for http and `HTTPS_PROXY` for https, else `ALL_PROXY`, in upper or lower case, unless
    /// `NO_PROXY` names the host; loopback never has one. Certificates for https come from `SSL_CERT_FILE`.
    ///
    /// # Errors
    /// When a variable that is needed cannot be used. A proxy's value is never repeated: it may hold a password.
    pub(crate) fn for_url(env: &Env, url: &str) -> Outcome<Self> {
        let Ok(uri) = url.parse::<Uri>() else {
            return Ok(Self::default());
        };
        let secure = uri.scheme_str() == Some("https");
        let roots = match SSL_CERT_FILE.read(env).filter(|_| secure) {
            Some(path) => Some(open::bytes(Path::new(path), ROOTS_CAP).map_err(|error| {
                Problem::system(format!("Cannot read SSL_CERT_FILE ({path})"), error)
            })?),
            None => None,
        };
        Ok(Self {
            proxy: proxy(env, &uri, secure)?,
            roots,
            pinned: None,
        })
    }
}

fn proxy(env: &Env, uri: &Uri, secure: bool) -> Outcome<Option<Proxy>> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let spared = ["no_proxy", NO_PROXY.name]
        .iter()
        .find_map(|name| env.get(name))
        .is_some_and(|list| no_proxy_matches(list, host, port_of(uri)));
    if spared || is_loopback(host) {
        return Ok(None);
    }
    let own: [&'static str; 2] = if secure {
        ["https_proxy", HTTPS_PROXY.name]
    } else {
        ["http_proxy", HTTP_PROXY.name]
    };
    let mut names = own.into_iter().chain(["all_proxy", ALL_PROXY.name]);
    let Some((variable, value)) = names.find_map(|name| env.get(name).map(|value| (name, value)))
    else {
        return Ok(None);
    };
    let unusable = || {
        Problem::config(format!("{variable} is not an address of a proxy that Marvin can use."))
            .next("Write it as http://HOST:PORT or http://USER:PASSWORD@HOST:PORT (other than letters and digits as %XX), or name the host in NO_PROXY.")
    };
    let inner = ureq::Proxy::new(value.trim()).map_err(|_| unusable())?;
    // The client is built without SOCKS and would silently bypass such a proxy.
    if !matches!(inner.uri().scheme_str(), Some("http" | "https")) {
        return Err(unusable());
    }
    let place = format!("{}:{}", inner.host(), inner.port());
    Ok(Some(Proxy {
        variable,
        host_port: place,
        forwards: !secure && inner.uri().scheme_str() == Some("http"),
        inner,
    }))
}

/// True for names and addresses of this machine.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Whether `NO_PROXY` names the host: `*`, a domain including everything below it, an address or a network, each with an optional port.
fn no_proxy_matches(list: &str, host: &str, port: u16) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    list.split([',', ' '])
        .map(|entry| entry.trim().to_ascii_lowercase())
        .filter(|entry| !entry.is_empty())
        .any(|entry| {
            let (name, wanted) = with_port(&entry);
            let name = name.trim_start_matches('*').trim_start_matches('.');
            let everything = entry.starts_with('*') && name.is_empty();
            let below = host
                .strip_suffix(name)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
            wanted.is_none_or(|wanted| wanted == port)
                && (everything || !name.is_empty() && below || in_range(name, &host))
        })
}

/// Splits `host:port` and `[v6]:port`.
fn with_port(entry: &str) -> (&str, Option<u16>) {
    if entry.parse::<IpAddr>().is_ok() {
        return (entry, None);
    }
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() => match port.parse() {
            Ok(port) => (name.trim_matches(['[', ']']), Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry.trim_matches(['[', ']']), None),
    }
}

/// Whether `range` (`10.0.0.0/8`) contains the address `host`.
fn in_range(range: &str, host: &str) -> bool {
    let ip = host.parse::<IpAddr>();
    IpRange::parse(range).is_some_and(|range| ip.is_ok_and(|ip| range.contains(ip)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::testing::{assert_has, assert_lacks};

    fn way(vars: &[(&str, &str)], url: &str) -> Outcome<Option<&'static str>> {
        let env = Env::new(vars.iter().map(|(k, v)| (k.into(), v.into())));
        Ok(ProxyRoute::for_url(&env, url)?
            .proxy
            .map(|proxy| proxy.variable))
    }

    #[test]
    fn each_scheme_has_its_variable_and_lower_case_comes_first() {
        let all = [
            ("HTTP_PROXY", "http://a:1"),
            ("https_proxy", "b:2"),
            ("HTTPS_PROXY", "http://c:3"),
        ];
        assert_eq!(way(&all, "http://x.test").unwrap(), Some("HTTP_PROXY"));
        assert_eq!(way(&all, "https://x.test").unwrap(), Some("https_proxy"));
        assert_eq!(way(&all[..1], "https://x.test").unwrap(), None);
        let rest = [("ALL_PROXY", "http://d:4")];
        assert_eq!(way(&rest, "https://x.test").unwrap(), Some("ALL_PROXY"));
        for own in ["http://localhost:1", "http://127.0.0.9", "https://[::1]/v1"] {
            assert_eq!(way(&rest, own).unwrap(), None, "{own}");
        }
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_told_without_its_password() {
        for value in [
            "socks5://me:hunter2@x:1",
            "http://me:hunter2 @x",
            "ftp://me:hunter2@x",
        ] {
            let problem = way(&[("ALL_PROXY", value)], "https://x.test").unwrap_err();
            let words = format!("{} {problem:?}", problem.one_line());
            assert_has(&words, &["ALL_PROXY"]);
            assert_lacks(&words, &["hunter2"]);
        }
        let env = Env::from([("ALL_PROXY", "http://me:hunter2@x:1")]);
        let debug = format!("{:?}", ProxyRoute::for_url(&env, "https://x.test").unwrap());
        assert_has(&debug, &["x:1"]);
        assert_lacks(&debug, &["hunter2"]);
    }

    #[test]
    fn hosts_are_spared_by_name_domain_address_network_and_port() {
        for (list, host, port, spared) in [
            ("*", "x.test", 80, true),
            ("other, x.test", "x.test", 80, true),
            ("x.test", "api.X.test", 80, true),
            (".x.test", "api.x.test", 80, true),
            ("*.x.test", "api.x.test", 80, true),
            ("x.test", "notx.test", 80, false),
            ("x.test:81", "x.test", 80, false),
            ("x.test:81", "x.test", 81, true),
            ("10.0.0.0/8", "10.1.2.3", 80, true),
            ("10.0.0.0/8", "11.1.2.3", 80, false),
            ("fd00::/8", "fd12::1", 80, true),
            ("[fd12::1]:80", "fd12::1", 80, true),
            ("10.1.2.3", "10.1.2.3", 80, true),
            ("0.0.0.0/0", "x.test", 80, false),
            (" , ", "x.test", 80, false),
        ] {
            assert_eq!(
                no_proxy_matches(list, host, port),
                spared,
                "{list} {host}:{port}"
            );
        }
    }
}
