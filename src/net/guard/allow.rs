//! `MARVIN_ALLOW_PRIVATE`: hosts and networks that the user exempts from the check for private addresses.

use std::net::IpAddr;

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};
use crate::formats::address::Host;
use crate::net::ip_range::IpRange;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Allowed {
    /// A host with any address, optionally on one port only.
    Host(Host, Option<u16>),
    Network(IpRange),
}

impl Allowed {
    /// Whether this entry allows the host, whatever its addresses are.
    pub(super) fn names(&self, host: &Host, port: u16) -> bool {
        matches!(self, Self::Host(own, only) if own == host && only.is_none_or(|only| only == port))
    }

    /// Whether this entry allows the address.
    pub(super) fn holds(&self, ip: IpAddr, port: u16) -> bool {
        match (self, ip.to_canonical()) {
            (Self::Host(host, _), ip) => self.names(&Host::Ip(ip), port) && *host == Host::Ip(ip),
            (Self::Network(range), ip) => range.contains(ip),
        }
    }
}

/// Parses the variable.
///
/// # Errors
/// `Config` with the first invalid entry.
pub(super) fn entries(text: &str) -> Outcome<Vec<Allowed>> {
    text.split([',', ' ', '\n'])
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            read(entry).ok_or_else(|| {
                Problem::config(format!(
                    "MARVIN_ALLOW_PRIVATE has \"{}\", which is not a host, host:port or network.",
                    clip(&escape_controls(entry), 60)
                ))
                .next("Write it as 127.0.0.1:8080, nas.local or 10.0.0.0/8, several separated by commas.")
            })
        })
        .collect()
}

fn read(entry: &str) -> Option<Allowed> {
    if entry.contains('/') {
        return IpRange::parse(entry).map(Allowed::Network);
    }
    if let Ok(ip) = entry.parse::<IpAddr>() {
        return Some(Allowed::Host(Host::Ip(ip.to_canonical()), None));
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port))
            if !host.ends_with(':') && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, Some(port.parse().ok()?))
        }
        _ => (entry, None),
    };
    let host = match Host::parse(host).ok()? {
        Host::Ip(ip) => Host::Ip(ip.to_canonical()),
        name @ Host::Name(_) => name,
    };
    Some(Allowed::Host(host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_let_through_what_they_name() {
        let list = entries("127.0.0.1:8080, NAS.local., 10.0.0.0/8 [::1]:81,fd00::/8,192.168.1.1")
            .unwrap();
        let holds = |ip: &str, port| list.iter().any(|one| one.holds(ip.parse().unwrap(), port));
        assert!(
            holds("127.0.0.1", 8080)
                && holds("::ffff:127.0.0.1", 8080)
                && !holds("127.0.0.1", 8081)
        );
        assert!(
            holds("10.9.8.7", 1) && !holds("11.0.0.1", 1) && holds("::1", 81) && !holds("::1", 80)
        );
        assert!(holds("fd12::1", 5) && !holds("fe80::1", 5) && holds("192.168.1.1", 7));
        let nas = Host::parse("nas.local").unwrap();
        assert!(list.iter().any(|one| one.names(&nas, 4)));
        for wrong in ["10.0.0.0/33", "a b/c", "x:y", "http://127.0.0.1"] {
            assert!(entries(wrong).is_err(), "{wrong}");
        }
        assert_eq!(entries(" , ").unwrap(), []);
    }
}
