//! Parses web addresses strictly: attackers hide a host behind an address that two programs read differently.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::base::problem::{Outcome, Problem};
use crate::base::text::{clip, escape_controls};

/// Longest accepted address, in bytes.
const MAX_ADDRESS_BYTES: usize = 8 * 1024;

/// An `http` or `https` address without user name, password and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `https`.
    pub secure: bool,
    /// The host.
    pub host: Host,
    /// The port; the scheme's default if none was given.
    pub port: u16,
    /// Path and query, beginning with a slash; everything outside ASCII is percent-encoded.
    pub target: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name: lower case, no dot at its end.
    Name(String),
    /// An IP address, in any notation that browsers accept.
    Ip(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Ip(IpAddr::V4(ip)) => write!(f, "{ip}"),
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.target)
    }
}

impl Address {
    /// Parses an address from the user, the model or a page.
    ///
    /// # Errors
    /// `Input` if it is not an address, `Refused` for other schemes and for user names and passwords in it.
    pub fn parse(text: &str) -> Outcome<Self> {
        let text = text.trim();
        let shown = || clip(&escape_controls(text), 200);
        if text.len() > MAX_ADDRESS_BYTES {
            return Err(Problem::input(format!(
                "The address is {} bytes long; the limit is {MAX_ADDRESS_BYTES}.",
                text.len()
            )));
        }
        if text.chars().any(char::is_control) {
            return Err(Problem::input(format!(
                "The address {} has control characters in it.",
                shown()
            )));
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            let colon = text.split_once(':').map(|(scheme, _)| scheme);
            let words = colon.is_some_and(|s| {
                !s.is_empty() && s.bytes().all(|b| b.is_ascii_alphabetic()) && !text.contains('/')
            });
            return Err(if words {
                no_scheme(colon.unwrap_or_default())
            } else {
                Problem::input(format!("\"{}\" is not a web address.", shown()))
                    .next("Give it whole, for example https://example.org/file.pdf")
            });
        };
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            other => return Err(no_scheme(other)),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        if authority.contains('@') {
            return Err(Problem::refused(
                "The address has a name or password before its host, which hides where it leads.",
            )
            .next("Give it without the part before the @."));
        }
        let invalid = |reason: &str| {
            Problem::input(format!(
                "\"{}\" is not a valid host: {reason}.",
                clip(&escape_controls(authority), 100)
            ))
        };
        let (host, port) = split_port(authority).map_err(invalid)?;
        Ok(Self {
            secure,
            host: Host::parse(host).map_err(invalid)?,
            port: port.unwrap_or(if secure { 443 } else { 80 }),
            target: encoded(target),
        })
    }

    /// The address that a redirect's `Location`, relative or absolute, leads to.
    pub fn join(&self, location: &str) -> Outcome<Self> {
        let location = location.trim();
        let scheme_end = location.find(':').unwrap_or(usize::MAX);
        let path_start = location.find(['/', '?', '#']).unwrap_or(usize::MAX);
        if scheme_end < path_start {
            return Self::parse(location);
        }
        let scheme = if self.secure { "https" } else { "http" };
        if location.starts_with("//") {
            return Self::parse(&format!("{scheme}:{location}"));
        }
        let path = self.target.split('?').next().unwrap_or("/");
        let target = if location.starts_with('/') {
            location.to_owned()
        } else if location.starts_with('?') {
            format!("{path}{location}")
        } else if location.is_empty() || location.starts_with('#') {
            self.target.clone()
        } else {
            let folder = path.rfind('/').and_then(|at| path.get(..=at));
            format!("{}{location}", folder.unwrap_or("/"))
        };
        Self::parse(&format!("{}{}", self.origin(), without_dots(&target)))
    }

    /// Scheme, host and port.
    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        if self.port == if self.secure { 443 } else { 80 } {
            format!("{scheme}://{}", self.host)
        } else {
            format!("{scheme}://{}:{}", self.host, self.port)
        }
    }

    /// The last segment of the path, decoded; empty when there is none.
    pub fn last_part(&self) -> String {
        let path = self.target.split('?').next().unwrap_or_default();
        decoded(path.rsplit('/').next().unwrap_or_default())
    }
}

impl Host {
    /// Reads a host as browsers do: numbers in any base and shortened forms are addresses.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or("a bracket is missing")?;
            let ip: Ipv6Addr = inner.parse().map_err(|_| "this is not an IPv6 address")?;
            return Ok(Self::Ip(ip.into()));
        }
        if !text.is_ascii() {
            return Err("only ASCII is accepted; write the name in its xn-- form");
        }
        let name = text.to_ascii_lowercase();
        let name = name.strip_suffix('.').unwrap_or(&name);
        if name.is_empty() {
            return Err("there is none");
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if !name.bytes().all(plain) {
            return Err("a host has letters, digits, hyphens and dots");
        }
        if name.len() > 253
            || name
                .split('.')
                .any(|label| label.is_empty() || label.len() > 63)
        {
            return Err("a part of it is empty or too long");
        }
        if name.starts_with('-') {
            return Err("it begins with a hyphen");
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        let hex = last.strip_prefix("0x");
        let numeric = last.bytes().all(|b| b.is_ascii_digit())
            || hex.is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if numeric {
            let ip = numbers(name).ok_or("these numbers are not an IP address")?;
            return Ok(Self::Ip(ip.into()));
        }
        Ok(Self::Name(name.to_owned()))
    }
}

/// One to four numbers, decimal, octal or hexadecimal, the last one filling the remaining bytes.
fn numbers(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u64> = text
        .split('.')
        .map(|part| match part.strip_prefix("0x") {
            Some("") => Some(0),
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None if part.len() > 1 && part.starts_with('0') => u64::from_str_radix(part, 8).ok(),
            None => part.parse().ok(),
        })
        .collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    if first.len() > 3 || first.iter().any(|part| *part > 255) {
        return None;
    }
    let bits = 8 * (4 - u32::try_from(first.len()).ok()?);
    if *last >= 1u64 << bits {
        return None;
    }
    let high = first
        .iter()
        .zip([24u32, 16, 8])
        .fold(0, |all, (part, shift)| all | (part << shift));
    u32::try_from(high | last).ok().map(Ipv4Addr::from_bits)
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let after = authority.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match authority.get(after..).and_then(|rest| rest.find(':')) {
        Some(at) => {
            let at = after + at;
            (
                authority.get(..at).unwrap_or_default(),
                authority.get(at + 1..).unwrap_or_default(),
            )
        }
        None => (authority, ""),
    };
    if port.is_empty() {
        return Ok((host, None));
    }
    let digits = port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number) if digits && number > 0 => Ok((host, Some(number))),
        _ => Err("the port is not a number from 1 to 65535"),
    }
}

fn no_scheme(scheme: &str) -> Problem {
    Problem::refused(format!(
        "Only http and https addresses are fetched, not \"{}\".",
        clip(&escape_controls(scheme), 20)
    ))
}

/// Path and query as sent in a request line.
fn encoded(target: &str) -> String {
    let target = target.split('#').next().unwrap_or_default();
    let mut out = String::with_capacity(target.len() + 1);
    if !target.starts_with('/') {
        out.push('/');
    }
    for byte in target.bytes() {
        match byte {
            b'!'..=b'~'
                if !matches!(
                    byte,
                    b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}'
                ) =>
            {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// `text` with `%XX` decoded; what is no escape stays, and invalid UTF-8 is replaced.
pub fn decoded(text: &str) -> String {
    let (bytes, _) = unescaped(text);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `text` with `%XX` decoded; `None` when an escape is not complete or the result is not UTF-8.
pub(crate) fn decoded_whole(text: &str) -> Option<String> {
    let (bytes, is_whole) = unescaped(text);
    is_whole.then(|| String::from_utf8(bytes).ok()).flatten()
}

/// The bytes of `text` with `%XX` decoded, and whether each `%` began an escape.
fn unescaped(text: &str) -> (Vec<u8>, bool) {
    let bytes = text.as_bytes();
    let (mut out, mut is_whole) = (Vec::with_capacity(bytes.len()), true);
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let pair = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        let hex = pair.filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit()));
        match hex.and_then(|pair| u8::from_str_radix(pair, 16).ok()) {
            Some(value) => {
                out.push(value);
                at += 3;
            }
            None => {
                is_whole &= *byte != b'%';
                out.push(*byte);
                at += 1;
            }
        }
    }
    (out, is_whole)
}

/// The path with its `.` and `..` segments resolved.
fn without_dots(target: &str) -> String {
    let (path, query) = target
        .find('?')
        .and_then(|at| target.split_at_checked(at))
        .unwrap_or((target, ""));
    let mut parts: Vec<&str> = Vec::new();
    let mut pieces = path.split('/').skip(1).peekable();
    while let Some(piece) = pieces.next() {
        let last = pieces.peek().is_none();
        match piece {
            "." | ".." => {
                if piece == ".." {
                    parts.pop();
                }
                if last {
                    parts.push("");
                }
            }
            _ => parts.push(piece),
        }
    }
    format!("/{}{query}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::problem::ProblemKind;
    use proptest::prelude::*;

    fn shown(text: &str) -> String {
        Address::parse(text).map_or_else(|p| format!("{:?}", p.kind), |a| a.to_string())
    }

    #[test]
    fn an_address_has_one_reading() {
        for (text, want) in [
            ("https://Example.ORG", "https://example.org/"),
            (" http://a.test.:80/x?y#z ", "http://a.test/x?y"),
            ("http://a.test?q=\u{fc} x", "http://a.test/?q=%C3%BC%20x"),
            ("HTTP://a.test:8080/%41", "http://a.test:8080/%41"),
            (
                "http://[::FFFF:7f00:1]:81/",
                "http://[::ffff:127.0.0.1]:81/",
            ),
            ("http://2130706433/", "http://127.0.0.1/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://017700000001/", "http://127.0.0.1/"),
            ("http://127.1/", "http://127.0.0.1/"),
            ("http://0xA9.0376.0xA9FE/", "http://169.254.169.254/"),
            ("http://0/", "http://0.0.0.0/"),
            ("http://127.0.0.1./", "http://127.0.0.1/"),
            ("http://1.2.3.4.5/", "Input"),
            ("http://256.0.0.1/", "Input"),
            ("http://4294967296/", "Input"),
            ("http://08.1/", "Input"),
            ("http://a..b/", "Input"),
            ("http:///x", "Input"),
            ("http://a.test:0/", "Input"),
            ("http://a.test:+80/", "Input"),
            ("http://a.test:99999/", "Input"),
            ("http://a.test\\@b.test/", "Refused"),
            ("http://a.test\\b/", "Input"),
            ("http://127%2e0.0.1/", "Input"),
            ("http://\u{ff11}27.0.0.1/", "Input"),
            ("http://[fe80::1%25eth0]/", "Input"),
            ("http://me:pw@a.test/", "Refused"),
            ("http://good.test@127.0.0.1/", "Refused"),
            ("ftp://a.test/", "Refused"),
            ("file:///etc/passwd", "Refused"),
            ("javascript:alert(1)", "Refused"),
            ("-o/etc/x", "Input"),
            ("http://-o.test/", "Input"),
            ("example.org", "Input"),
            ("", "Input"),
            ("http://a.test/\r\nHost: b", "Input"),
        ] {
            assert_eq!(shown(text), want, "{text:?}");
        }
        let long = format!("http://a.test/{}", "x".repeat(1 << 20));
        assert_eq!(Address::parse(&long).unwrap_err().kind, ProblemKind::Input);
    }

    #[test]
    fn redirects_lead_where_they_say() {
        let from = Address::parse("https://a.test:444/b/c?d").unwrap();
        for (location, want) in [
            ("/x", "https://a.test:444/x"),
            ("x/../y?z", "https://a.test:444/b/y?z"),
            ("../../../..", "https://a.test:444/"),
            ("?q=1:2", "https://a.test:444/b/c?q=1:2"),
            ("", "https://a.test:444/b/c?d"),
            ("//b.test/x", "https://b.test/x"),
            ("http://127.1/", "http://127.0.0.1/"),
        ] {
            assert_eq!(from.join(location).unwrap().to_string(), want, "{location}");
        }
        for refused in ["file:///etc/passwd", "gopher://x/", "//u@b.test", "data:,x"] {
            assert!(from.join(refused).is_err(), "{refused}");
        }
    }

    proptest! {
        #[test]
        fn every_ipv4_notation_gives_the_same_address(bits: u32, parts in 1usize..=4, bases in proptest::collection::vec(0u8..3, 4), dot: bool) {
            let bytes = bits.to_be_bytes();
            let mut numbers: Vec<u64> = bytes[..parts - 1].iter().map(|b| u64::from(*b)).collect();
            numbers.push(bytes[parts - 1..].iter().fold(0, |n, b| n << 8 | u64::from(*b)));
            let text: Vec<String> = numbers.iter().zip(&bases).map(|(n, base)| match base {
                0 => n.to_string(),
                1 => format!("0{n:o}"),
                _ => format!("0X{n:x}"),
            }).collect();
            let text = format!("{}{}", text.join("."), if dot { "." } else { "" });
            prop_assert_eq!(Host::parse(&text), Ok(Host::Ip(Ipv4Addr::from_bits(bits).into())));
        }

        #[test]
        fn an_accepted_address_parses_to_itself(text in "(http|https|HTTP|ftp)?(://)?[a-z0-9.:@\\[\\]\\\\%/?#x-]{0,40}", location in "[a-z0-9.:@/?#\\\\%-]{0,20}") {
            if let Ok(address) = Address::parse(&text) {
                prop_assert_eq!(Address::parse(&address.to_string()).unwrap(), address.clone());
                prop_assert!(address.to_string().parse::<ureq::http::Uri>().is_ok());
                let _ = address.join(&location);
            }
        }

        #[test]
        fn decoding_never_fails(text in "(%[0-9a-g]{0,2}|[a-z\u{e9}%]){0,12}") {
            let _ = decoded(&text);
        }
    }
}
