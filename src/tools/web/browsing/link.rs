//! The target of a link on a result page: DuckDuckGo wraps links in its own redirects.

use std::fmt::Write as _;

use crate::formats::address::decoded;

const REDIRECT_HOST: &str = "duckduckgo.com";

/// The address behind `href`, whose entities are already decoded; `None` for advertisements and for anything that is not a web address.
pub(super) fn target(href: &str) -> Option<String> {
    let href = href.trim();
    let (host, rest) = match href.strip_prefix("//") {
        Some(rest) => split_host(rest),
        None if href.starts_with("/l/") => (REDIRECT_HOST, href),
        None => split_host(after_scheme(href)?),
    };
    if !is_own(host) {
        return match href.strip_prefix("//") {
            Some(rest) => web_address(&format!("https://{rest}")),
            None => web_address(href),
        };
    }
    if rest.starts_with("/l/") {
        let (_, query) = rest.split_once('?')?;
        let query = query.split('#').next()?;
        let wrapped = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("uddg="))?;
        let inner = decoded(wrapped);
        let (host, rest) = split_host(after_scheme(inner.trim())?);
        return web_address(inner.trim()).filter(|_| !is_advertisement(host, rest));
    }
    let address = format!("https://{host}{rest}");
    web_address(&address).filter(|_| !is_advertisement(host, rest))
}

/// An address from a service's response, ready to be shown; `None` for anything that is not a web address.
pub(super) fn web_address(address: &str) -> Option<String> {
    let address = address.trim();
    let (host, _) = split_host(after_scheme(address)?);
    if host.is_empty() {
        return None;
    }
    let mut shown = String::with_capacity(address.len());
    for c in address.chars() {
        if c.is_whitespace() || c.is_control() {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                let _ = write!(shown, "%{byte:02X}");
            }
        } else {
            shown.push(c);
        }
    }
    Some(shown)
}

/// The part after `http://` or `https://`.
fn after_scheme(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    is_web.then_some(rest)
}

/// The host, and what follows it.
fn split_host(rest: &str) -> (&str, &str) {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    rest.split_at_checked(end).unwrap_or((rest, ""))
}

fn is_own(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == REDIRECT_HOST
        || host
            .strip_suffix(REDIRECT_HOST)
            .is_some_and(|sub| sub.ends_with('.'))
}

fn is_advertisement(host: &str, rest: &str) -> bool {
    is_own(host) && rest.starts_with("/y.js")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn links_are_unwrapped_once() {
        for (href, wanted) in [
            (
                "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2Fb%2Dc%3Fd%3De%2526f&rut=0f",
                Some("https://a.test/b-c?d=e%26f"),
            ),
            (
                "/l/?kh=-1&uddg=http%3A%2F%2Fa.test%2F#top",
                Some("http://a.test/"),
            ),
            (
                "https://duckduckgo.com/l/?rut=0f&uddg=https%3A%2F%2Fa.test",
                Some("https://a.test"),
            ),
            (
                "HTTPS://HTML.DuckDuckGo.com/l/?uddg=https%3A%2F%2Fa.test%2F%C3%A9%0A2",
                Some("https://a.test/é%0A2"),
            ),
            (
                " https://a.test/x y?q=1&r=2 ",
                Some("https://a.test/x%20y?q=1&r=2"),
            ),
            ("//a.test/l/?uddg=1", Some("https://a.test/l/?uddg=1")),
            (
                "https://notduckduckgo.com/y.js",
                Some("https://notduckduckgo.com/y.js"),
            ),
            (
                "https://duckduckgo.com/about",
                Some("https://duckduckgo.com/about"),
            ),
            ("https://duckduckgo.com/y.js?ad_domain=a.test", None),
            ("//duckduckgo.com/y.js?u3=x", None),
            (
                "/l/?uddg=https%3A%2F%2Fduckduckgo.com%2Fy.js%3Fad_domain%3Da.test",
                None,
            ),
            ("/l/?uddg=javascript%3Aalert(1)", None),
            ("/l/?rut=0f", None),
            ("/?q=related", None),
            ("javascript:alert(1)", None),
            ("ftp://a.test/x", None),
            ("https://", None),
            ("#top", None),
            ("", None),
        ] {
            assert_eq!(target(href).as_deref(), wanted, "{href}");
        }
    }

    proptest! {
        #[test]
        fn a_target_is_one_word_of_the_web(href in "((https?:)?//)?(duckduckgo\\.com)?(/l/\\?uddg=)?(%[0-9A-F]{2}|.){0,40}") {
            if let Some(address) = target(&href) {
                prop_assert!(after_scheme(&address).is_some());
                prop_assert!(!address.chars().any(|c| c.is_whitespace() || c.is_control()));
            }
        }
    }
}
